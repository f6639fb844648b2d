//! Time as the engine counts it: nanoseconds since the load began. Small enough for atomics, cheap to compare.

use std::time::{Duration, Instant};

/// Nanoseconds since the load began.
pub type Nanos = u64;

/// One second.
pub const SECOND: Nanos = 1_000_000_000;

/// A time that never comes.
pub const NEVER: Nanos = Nanos::MAX;

/// The clock of one load; every thread has a copy.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    base: Instant,
}

impl Clock {
    /// The load begins now.
    pub fn start() -> Self {
        Self { base: Instant::now() }
    }

    /// The time now.
    pub fn now(&self) -> Nanos {
        nanos(self.base.elapsed())
    }
}

/// A span in nanoseconds.
pub fn nanos(span: Duration) -> Nanos {
    span.as_secs()
        .saturating_mul(SECOND)
        .saturating_add(u64::from(span.subsec_nanos()))
}

/// A span given in seconds, in nanoseconds.
pub fn nanos_from_s(seconds: f64) -> Nanos {
    (seconds * 1e9) as Nanos
}

/// A span in whole microseconds.
pub fn micros(span: Nanos) -> u64 {
    span / 1_000
}

/// A span in seconds.
pub fn seconds(span: Nanos) -> f64 {
    span as f64 / 1e9
}

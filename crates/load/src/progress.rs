//! Following a load while it runs, and ending it early.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;

use serde::Serialize;

use crate::event::Event;

/// One second of a load, over all scripts and threads.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Progress {
    /// `connect`, `warm_up`, `measure` or `drain`.
    pub phase: &'static str,
    /// Counts from 0 in every phase.
    pub second: u64,
    /// How much of it the load lasted; less than 1 only where a phase ends.
    pub span_s: f64,
    pub transactions: u64,
    pub failed: u64,
    pub rolled_back: u64,
    /// Answered by the server.
    pub statements: u64,
    pub skipped: u64,
    pub late: u64,
    pub retried: u64,
    pub retries: u64,
    pub tps: f64,
    pub latency_us_sum: u64,
    /// Of the squares.
    pub latency_us2_sum: f64,
    /// Open loop: how late transactions began.
    pub lag_us_sum: u64,
    pub latency_us_mean: f64,
    pub latency_us_p50: u64,
    pub latency_us_p90: u64,
    pub latency_us_p95: u64,
    pub latency_us_p99: u64,
    pub latency_us_max: u64,
    /// How many clients have a session now.
    pub clients_connected: usize,
    pub clients: usize,
}

/// Whoever follows a load. Called by the thread that called [`crate::run`], never by the threads that make the load.
pub trait Observer {
    /// A second has passed.
    fn progress(&mut self, progress: &Progress);

    /// A client or the server has something to say; with [`crate::LoadSpec::events`].
    fn event(&mut self, _event: &Event) {}

    /// Asked after every second of the warm-up that was told. True ends the warm-up with a whole second to come.
    fn is_warm(&mut self) -> bool {
        false
    }

    /// Asked at least every 100 ms. True ends the load as [`Stopper::stop`] does.
    fn wants_stop(&mut self) -> bool {
        false
    }
}

/// Nobody follows.
impl Observer for () {
    fn progress(&mut self, _: &Progress) {}
}

/// Ends a load from anywhere: the measured part up to then is the result.
#[derive(Clone, Debug, Default)]
pub struct Stopper {
    requests: Arc<AtomicU8>,
}

impl Stopper {
    /// The first request ends measuring and drains; the second ends without waiting for anything.
    pub fn stop(&self) {
        let _ = self
            .requests
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| count.checked_add(1));
    }

    /// Whether measuring is to end.
    pub fn is_stopped(&self) -> bool {
        self.requests.load(Ordering::Acquire) > 0
    }

    /// Whether to end without draining.
    pub fn is_urgent(&self) -> bool {
        self.requests.load(Ordering::Acquire) > 1
    }
}

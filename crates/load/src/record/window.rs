//! When a load warms up, measures and ends.

use crate::clock::{Nanos, NEVER};

/// The stages of a load that has connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    WarmUp,
    Measure,
}

/// When the phases begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Warm-up begins.
    pub warm_up: Nanos,
    /// Warm-up ends and measuring begins.
    pub start: Nanos,
    /// No transaction begins any more.
    pub closing: Nanos,
    /// Measuring ends.
    pub end: Nanos,
}

impl Window {
    /// A window that has not been opened.
    pub const CLOSED: Self = Self {
        warm_up: NEVER,
        start: NEVER,
        closing: NEVER,
        end: NEVER,
    };

    /// The phase of this time, if any.
    pub fn phase(&self, now: Nanos) -> Option<Phase> {
        if now >= self.end || now < self.warm_up {
            None
        } else if now < self.start {
            Some(Phase::WarmUp)
        } else {
            Some(Phase::Measure)
        }
    }
}

//! When a load warms up, measures and ends.

use crate::clock::{Nanos, NEVER};
use crate::windows::LoadWindows;

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

    /// The same by the time that counts, which stands still outside of `windows`.
    pub fn counted(self, windows: Option<&LoadWindows>) -> Self {
        let Some(windows) = windows.filter(|_| self != Self::CLOSED) else {
            return self;
        };
        Self {
            warm_up: windows.counted(self.warm_up),
            start: windows.counted(self.start),
            closing: windows.counted(self.closing),
            end: windows.counted(self.end),
        }
    }
}

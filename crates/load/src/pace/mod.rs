//! When the next transaction is due.
//!
//! Closed loop: whenever a client is free. Open loop: at times fixed in advance, whatever the server does; a slot that
//! found no free client waits, and its transaction counts its latency from the time at which it was due.

mod closed;
mod open;

pub use closed::Closed;
pub use open::Open;

use crate::clock::Nanos;

/// What a free client is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Begin a transaction that was due at this time. The schedule has it at `slot`: between the two lies at most the
    /// turn of another load.
    Begin { due: Nanos, slot: Nanos },
    /// Pass over a slot that is later than the latency limit already; then ask again.
    Skip { due: Nanos, slot: Nanos },
    /// Nothing is due before this time.
    Wait { until: Nanos },
}

/// One thread's schedule.
#[derive(Debug)]
pub enum Pace {
    Closed(Closed),
    Open(Open),
}

impl Pace {
    /// Takes the next slot for a free client.
    pub fn take(&mut self, now: Nanos) -> Turn {
        match self {
            Self::Closed(closed) => closed.take(now),
            Self::Open(open) => open.take(now),
        }
    }

    /// When a free client can have its next transaction; none if it may always.
    pub fn next_due(&self) -> Option<Nanos> {
        match self {
            Self::Closed(_) => None,
            Self::Open(open) => Some(open.next_due()),
        }
    }

    /// The schedule begins.
    pub fn start(&mut self, now: Nanos) {
        if let Self::Open(open) = self {
            open.start(now);
        }
    }
}

//! What happened in each window of an interleaved load, and what was left out of the figures.
//!
//! A transaction counts where it ends, if it began in the same window, or in those that its window continues. As many
//! are running when counting begins as when it ends, so the count over the counted time is the throughput as long as the
//! guard is longer than a transaction takes.

use crate::clock::Nanos;
use crate::windows::{LoadWindows, Place};

/// One window.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowRecord {
    pub transactions: u64,
    pub failed: u64,
    pub rolled_back: u64,
    pub statements: u64,
    /// Ended in its guard.
    pub guarded: u64,
    /// Began in it and ended after it, and how much later in all and at most.
    pub overran: u64,
    pub overrun: Nanos,
    pub overrun_max: Nanos,
}

impl WindowRecord {
    fn add(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.failed += other.failed;
        self.rolled_back += other.rolled_back;
        self.statements += other.statements;
        self.guarded += other.guarded;
        self.overran += other.overran;
        self.overrun += other.overrun;
        self.overrun_max = self.overrun_max.max(other.overrun_max);
    }
}

/// All windows of one thread.
pub struct WindowTally {
    pub windows: LoadWindows,
    pub records: Vec<WindowRecord>,
}

impl WindowTally {
    pub(super) fn new(windows: LoadWindows) -> Self {
        let records = vec![WindowRecord::default(); windows.count()];
        Self { windows, records }
    }

    /// Whether what happens now counts.
    pub(super) fn counts(&self, now: Nanos) -> bool {
        matches!(self.windows.place(now), Place::Counted(_))
    }

    /// The record of the window that counts now.
    pub(super) fn record(&mut self, now: Nanos) -> Option<&mut WindowRecord> {
        match self.windows.place(now) {
            Place::Counted(number) => self.records.get_mut(number),
            _ => None,
        }
    }

    /// Whether a transaction that began then and ends now counts.
    pub(super) fn end_counts(&self, began: Nanos, now: Nanos) -> bool {
        matches!(self.windows.place(now), Place::Counted(number) if self.windows.holds(number, began))
    }

    /// Accounts for a transaction that does not.
    pub(super) fn leave_out(&mut self, began: Nanos, now: Nanos) {
        match self.windows.place(now) {
            Place::Guard(number) if self.windows.holds(number, began) => {
                if let Some(record) = self.records.get_mut(number) {
                    record.guarded += 1;
                }
            }
            _ => {
                if let Some((number, overrun)) = self.windows.overrun(began, now) {
                    if let Some(record) = self.records.get_mut(number) {
                        record.overran += 1;
                        record.overrun += overrun;
                        record.overrun_max = record.overrun_max.max(overrun);
                    }
                }
            }
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (ours, theirs) in self.records.iter_mut().zip(&other.records) {
            ours.add(theirs);
        }
    }
}

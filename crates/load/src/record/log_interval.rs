//! The lines of a log that tells intervals instead of single transactions.

use std::io::Write;

use super::failures::{Code, End};
use super::scripts::Course;
use crate::clock::{micros, Nanos};

/// Sums and extremes of microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    count: u64,
    sum: u64,
    sum2: u128,
    min: u64,
    max: u64,
}

impl Spread {
    fn add(&mut self, micros: u64) {
        self.min = if self.count == 0 { micros } else { self.min.min(micros) };
        self.max = self.max.max(micros);
        self.count += 1;
        self.sum = self.sum.saturating_add(micros);
        self.sum2 = self.sum2.saturating_add(u128::from(micros).pow(2));
    }

    fn write(&self, out: &mut Vec<u8>) -> std::io::Result<()> {
        write!(out, " {} {} {} {}", self.sum, self.sum2, self.min, self.max)
    }
}

/// What happened in one interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IntervalTotal {
    starts_us: u64,
    latency: Spread,
    lag: Spread,
    skipped: u64,
    retried: u64,
    retries: u64,
    serialization: u64,
    deadlock: u64,
}

impl IntervalTotal {
    /// Writes the line. Columns that do not apply are zero, as pgbench has it.
    pub(super) fn write(&self, failures_detailed: bool, skipped: bool, out: &mut Vec<u8>) -> std::io::Result<()> {
        write!(out, "{} {}", self.starts_us / 1_000_000, self.latency.count)?;
        self.latency.write(out)?;
        self.lag.write(out)?;
        let skipped = if skipped { self.skipped } else { 0 };
        write!(out, " {skipped} {} {}", self.retried, self.retries)?;
        let (serialization, deadlock) = if failures_detailed {
            (self.serialization, self.deadlock)
        } else {
            (0, 0)
        };
        write!(out, " {serialization} {deadlock}")
    }
}

/// The interval that is passing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    length_us: u64,
    total: IntervalTotal,
}

impl Interval {
    pub(super) fn new(seconds: u32) -> Self {
        Self {
            length_us: u64::from(seconds) * 1_000_000,
            total: IntervalTotal::default(),
        }
    }

    /// Intervals begin with whole seconds.
    pub(super) fn start(&mut self, epoch_us: u64) {
        self.total.starts_us = epoch_us / 1_000_000 * 1_000_000;
    }

    /// The interval that has passed by then; the next one begins.
    pub(super) fn take_passed(&mut self, epoch_us: u64) -> Option<IntervalTotal> {
        let next = self.total.starts_us + self.length_us;
        if self.total.starts_us == 0 || next > epoch_us {
            return None;
        }
        let following = IntervalTotal {
            starts_us: next,
            ..IntervalTotal::default()
        };
        Some(std::mem::replace(&mut self.total, following))
    }

    pub(super) fn add(&mut self, course: &Course, end: End, now: Nanos) {
        let total = &mut self.total;
        if end == End::Skipped {
            total.skipped += 1;
            return;
        }
        total.retried += u64::from(course.tries > 1);
        total.retries += u64::from(course.tries.saturating_sub(1));
        match end {
            End::Succeeded => {
                total.latency.add(micros(now.saturating_sub(course.due)));
                total.lag.add(course.lag_us());
            }
            End::Failed(Code::SERIALIZATION) => total.serialization += 1,
            End::Failed(Code::DEADLOCK) => total.deadlock += 1,
            End::Failed(_) | End::RolledBack | End::Skipped => {}
        }
    }
}

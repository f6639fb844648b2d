//! The run second by second. Each thread reports a second when it has passed; the folder waits for all threads,
//! adds their histograms up and keeps only what a second needs for ever.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

use super::histogram::{Histogram, Precision};
use crate::clock::{Nanos, NEVER, SECOND};

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
    /// Measuring ends.
    pub end: Nanos,
}

impl Window {
    /// A window that has not been opened.
    pub const CLOSED: Self = Self {
        warm_up: NEVER,
        start: NEVER,
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

/// One script in one second.
#[derive(Clone, Debug, Default)]
pub struct ScriptSecond {
    pub transactions: u64,
    pub failed: u64,
    pub skipped: u64,
    pub retries: u64,
    /// Latencies in microseconds and their counts.
    pub latencies: Vec<(u64, u64)>,
    pub latency_us_sum: u64,
    pub latency_us_max: u64,
}

/// What one thread did in one second: scripts by index, idle ones left out.
#[derive(Clone, Debug)]
pub struct SecondReport {
    pub thread: usize,
    /// The thread will report no more.
    pub last: bool,
    pub phase: Phase,
    pub second: u64,
    /// How many of the thread's clients had a session at its end.
    pub connected: usize,
    pub scripts: Vec<(u16, ScriptSecond)>,
}

struct Cell {
    counts: ScriptSecond,
    latency: Histogram,
}

/// The second that is passing, in one thread.
pub(super) struct Seconds {
    phase: Phase,
    second: u64,
    ends: Nanos,
    cells: Vec<Cell>,
    pub(super) connected: usize,
    thread: usize,
    /// None once the thread has nothing more to report.
    reports: Option<Sender<SecondReport>>,
}

impl Seconds {
    pub(super) fn new(thread: usize, scripts: usize, reports: Sender<SecondReport>) -> Self {
        let cell = || Cell {
            counts: ScriptSecond::default(),
            latency: Histogram::new(Precision::Coarse),
        };
        let cells = std::iter::repeat_with(cell).take(scripts).collect();
        Self {
            phase: Phase::WarmUp,
            second: 0,
            ends: NEVER,
            cells,
            connected: 0,
            thread,
            reports: Some(reports),
        }
    }

    pub(super) fn open(&mut self, window: &Window) {
        self.phase = Phase::WarmUp;
        self.second = 0;
        self.ends = window.start.min(window.warm_up.saturating_add(SECOND));
    }

    /// Reports the seconds that have passed.
    pub(super) fn roll(&mut self, now: Nanos, window: &Window) {
        while now >= self.ends && self.ends < window.end {
            self.report(false);
            if self.phase == Phase::WarmUp && self.ends >= window.start {
                self.phase = Phase::Measure;
                self.second = 0;
            } else {
                self.second += 1;
            }
            let next = self.ends.saturating_add(SECOND);
            self.ends = if self.phase == Phase::WarmUp {
                next.min(window.start)
            } else {
                next
            };
        }
    }

    /// Reports the second that was cut short by the end.
    pub(super) fn close(&mut self) {
        self.report(true);
        self.hang_up();
    }

    /// Lets the calling thread know that no more reports come.
    pub(super) fn hang_up(&mut self) {
        self.ends = NEVER;
        self.reports = None;
    }

    pub(super) fn script(&mut self, script: u16) -> Option<(&mut ScriptSecond, &mut Histogram)> {
        self.cells
            .get_mut(usize::from(script))
            .map(|cell| (&mut cell.counts, &mut cell.latency))
    }

    fn report(&mut self, last: bool) {
        let mut scripts = Vec::new();
        for (index, cell) in (0_u16..).zip(&mut self.cells) {
            let mut counts = std::mem::take(&mut cell.counts);
            if counts.transactions + counts.failed + counts.skipped == 0 {
                continue;
            }
            (counts.latency_us_sum, counts.latency_us_max) = cell.latency.sum_and_max();
            counts.latencies = cell.latency.seen().collect();
            cell.latency.clear();
            scripts.push((index, counts));
        }
        let Self {
            thread,
            phase,
            second,
            connected,
            ..
        } = *self;
        let report = SecondReport {
            thread,
            last,
            phase,
            second,
            connected,
            scripts,
        };
        if let Some(reports) = &self.reports {
            // Nobody listens any more when the load is being torn down.
            let _ = reports.send(report);
        }
    }
}

/// One second of one script, or of all, over all threads.
#[derive(Clone, Debug, Default)]
pub struct SecondTotal {
    pub transactions: u64,
    pub failed: u64,
    pub skipped: u64,
    pub retries: u64,
    pub latency_us_sum: u64,
    pub latency_us_p50: u64,
    pub latency_us_p99: u64,
    pub latency_us_max: u64,
}

/// How far one thread has reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reported {
    Nothing,
    UpTo(Phase, u64),
    All,
}

/// One second of one script, as far as threads have reported it.
#[derive(Default)]
struct Part {
    total: SecondTotal,
    latency: Option<Histogram>,
}

#[derive(Default)]
struct Pending {
    connected: usize,
    parts: BTreeMap<u16, Part>,
}

/// A second that all threads have reported.
#[derive(Clone, Debug)]
pub struct FoldedSecond {
    pub phase: Phase,
    pub second: u64,
    pub connected: usize,
    /// By script; idle ones are left out.
    pub scripts: Vec<(u16, SecondTotal)>,
    /// All scripts together.
    pub together: SecondTotal,
}

/// Adds up the reports of all threads. Memory: the seconds still open.
pub struct SecondFolder {
    reported: Vec<Reported>,
    pending: BTreeMap<(Phase, u64), Pending>,
}

impl SecondFolder {
    /// For so many threads.
    pub fn new(threads: usize) -> Self {
        Self {
            reported: vec![Reported::Nothing; threads],
            pending: BTreeMap::new(),
        }
    }

    /// Takes the report of one thread.
    pub fn add(&mut self, report: SecondReport) {
        if let Some(reported) = self.reported.get_mut(report.thread) {
            *reported = if report.last {
                Reported::All
            } else {
                Reported::UpTo(report.phase, report.second)
            };
        }
        let Pending { connected, parts } = self.pending.entry((report.phase, report.second)).or_default();
        *connected += report.connected;
        for (script, counts) in report.scripts {
            let Part { total, latency } = parts.entry(script).or_default();
            total.transactions += counts.transactions;
            total.failed += counts.failed;
            total.skipped += counts.skipped;
            total.retries += counts.retries;
            total.latency_us_sum += counts.latency_us_sum;
            total.latency_us_max = total.latency_us_max.max(counts.latency_us_max);
            let latency = latency.get_or_insert_with(|| Histogram::new(Precision::Coarse));
            for (micros, count) in counts.latencies {
                latency.record_many(micros, count);
            }
        }
    }

    /// The threads have ended, whatever they have reported.
    pub fn close(&mut self) {
        self.reported.fill(Reported::All);
    }

    /// The oldest second that all threads have reported.
    pub fn take(&mut self) -> Option<FoldedSecond> {
        let oldest = self.pending.first_entry()?;
        let (phase, second) = *oldest.key();
        if self
            .reported
            .iter()
            .any(|reported| *reported < Reported::UpTo(phase, second))
        {
            return None;
        }
        let Pending { connected, parts } = oldest.remove();
        let mut together = SecondTotal::default();
        let mut all_latencies = Histogram::new(Precision::Coarse);
        let mut scripts = Vec::with_capacity(parts.len());
        for (script, Part { mut total, latency }) in parts {
            if let Some(latency) = latency {
                set_quantiles(&mut total, &latency);
                all_latencies.add(&latency);
            }
            together.transactions += total.transactions;
            together.failed += total.failed;
            together.skipped += total.skipped;
            together.retries += total.retries;
            together.latency_us_sum += total.latency_us_sum;
            together.latency_us_max = together.latency_us_max.max(total.latency_us_max);
            scripts.push((script, total));
        }
        set_quantiles(&mut together, &all_latencies);
        Some(FoldedSecond {
            phase,
            second,
            connected,
            scripts,
            together,
        })
    }
}

fn set_quantiles(total: &mut SecondTotal, latency: &Histogram) {
    // Folded histograms know values only to their precision; the maximum is exact.
    total.latency_us_p50 = latency.quantile(0.5).min(total.latency_us_max);
    total.latency_us_p99 = latency.quantile(0.99).min(total.latency_us_max);
}

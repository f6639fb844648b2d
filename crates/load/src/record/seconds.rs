//! The run second by second. Each thread reports a second when it has passed; the folder waits for all threads,
//! adds their histograms up and keeps only what a second needs for ever.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

use super::failures::Code;
use super::histogram::{Exact, Histogram, Precision};
use super::window::{Phase, Window};
use crate::clock::{Nanos, NEVER, SECOND};
use crate::event::Report;

/// One script in one second.
#[derive(Clone, Debug, Default)]
pub struct ScriptSecond {
    pub transactions: u64,
    pub failed: u64,
    pub rolled_back: u64,
    /// Answered, whatever became of their transactions.
    pub statements: u64,
    pub skipped: u64,
    pub late: u64,
    pub retried: u64,
    pub retries: u64,
    pub lag_us_sum: u64,
    /// How the failed ones failed.
    pub failures: Vec<(Code, u64)>,
    /// Latencies in microseconds and their counts.
    pub latencies: Vec<(u64, u64)>,
    pub latency: Exact,
}

impl ScriptSecond {
    /// A transaction has failed for good.
    pub(super) fn count_failure(&mut self, code: Code) {
        self.failed += 1;
        add_failures(&mut self.failures, code, 1);
    }

    fn is_idle(&self) -> bool {
        self.transactions + self.failed + self.rolled_back + self.skipped + self.statements == 0
    }

    /// A transaction has ended at the `tries`-th try.
    pub(super) fn count_tries(&mut self, tries: u32) {
        self.retried += u64::from(tries > 1);
        self.retries += u64::from(tries.saturating_sub(1));
    }
}

/// What one thread did in one second: scripts by index, idle ones left out.
#[derive(Clone, Debug)]
pub struct SecondReport {
    pub thread: usize,
    /// The thread will report no more.
    pub last: bool,
    pub phase: Phase,
    pub second: u64,
    /// How much of it has passed.
    pub span: Nanos,
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
    begins: Nanos,
    ends: Nanos,
    cells: Vec<Cell>,
    pub(super) connected: usize,
    thread: usize,
    /// None once the thread has nothing more to report.
    reports: Option<Sender<Report>>,
}

impl Seconds {
    pub(super) fn new(thread: usize, scripts: usize, reports: Sender<Report>) -> Self {
        let cell = || Cell {
            counts: ScriptSecond::default(),
            latency: Histogram::new(Precision::Coarse),
        };
        let cells = std::iter::repeat_with(cell).take(scripts).collect();
        Self {
            phase: Phase::WarmUp,
            second: 0,
            begins: NEVER,
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
        self.begins = window.warm_up;
        self.ends = window.start.min(window.warm_up.saturating_add(SECOND));
    }

    /// Reports the seconds that have passed.
    pub(super) fn roll(&mut self, now: Nanos, window: &Window) {
        while now >= self.ends && self.ends < window.end {
            self.report(false, self.ends);
            if self.phase == Phase::WarmUp && self.ends >= window.start {
                self.phase = Phase::Measure;
                self.second = 0;
            } else {
                self.second += 1;
            }
            self.begins = self.ends;
            let next = self.ends.saturating_add(SECOND);
            self.ends = if self.phase == Phase::WarmUp {
                next.min(window.start)
            } else {
                next
            };
        }
    }

    /// Reports the second that was cut short by the end.
    pub(super) fn close(&mut self, now: Nanos) {
        self.report(true, now);
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

    fn report(&mut self, last: bool, now: Nanos) {
        let mut scripts = Vec::new();
        for (index, cell) in (0_u16..).zip(&mut self.cells) {
            let mut counts = std::mem::take(&mut cell.counts);
            if counts.is_idle() {
                continue;
            }
            counts.latency = cell.latency.exact();
            counts.latencies = cell.latency.seen().collect();
            cell.latency.clear();
            scripts.push((index, counts));
        }
        let Self {
            thread,
            phase,
            second,
            begins,
            connected,
            ..
        } = *self;
        let report = SecondReport {
            thread,
            last,
            phase,
            second,
            span: now.saturating_sub(begins),
            connected,
            scripts,
        };
        if let Some(reports) = &self.reports {
            // Nobody listens any more when the load is being torn down.
            let _ = reports.send(Report::Second(report));
        }
    }
}

/// One second of one script, or of all, over all threads.
#[derive(Clone, Debug, Default)]
pub struct SecondTotal {
    pub transactions: u64,
    pub failed: u64,
    pub rolled_back: u64,
    pub statements: u64,
    pub failures: Vec<(Code, u64)>,
    pub skipped: u64,
    pub late: u64,
    pub retried: u64,
    pub retries: u64,
    pub lag_us_sum: u64,
    pub latency_us_sum: u64,
    pub latency_us2_sum: u128,
    pub latency_us_p50: u64,
    pub latency_us_p90: u64,
    pub latency_us_p95: u64,
    pub latency_us_p99: u64,
    pub latency_us_max: u64,
    /// The interchange form, if it was asked for.
    pub hdr: Option<String>,
}

impl SecondTotal {
    fn add_thread(&mut self, counts: &ScriptSecond) {
        self.transactions += counts.transactions;
        self.failed += counts.failed;
        self.rolled_back += counts.rolled_back;
        self.statements += counts.statements;
        for (code, count) in &counts.failures {
            add_failures(&mut self.failures, *code, *count);
        }
        self.skipped += counts.skipped;
        self.late += counts.late;
        self.retried += counts.retried;
        self.retries += counts.retries;
        self.lag_us_sum += counts.lag_us_sum;
        self.latency_us_sum += counts.latency.sum_us;
        self.latency_us2_sum += counts.latency.sum_us2;
        self.latency_us_max = self.latency_us_max.max(counts.latency.max_us);
    }

    fn add_script(&mut self, script: &Self) {
        self.transactions += script.transactions;
        self.failed += script.failed;
        self.rolled_back += script.rolled_back;
        self.statements += script.statements;
        self.skipped += script.skipped;
        self.late += script.late;
        self.retried += script.retried;
        self.retries += script.retries;
        self.lag_us_sum += script.lag_us_sum;
        self.latency_us_sum += script.latency_us_sum;
        self.latency_us2_sum += script.latency_us2_sum;
        self.latency_us_max = self.latency_us_max.max(script.latency_us_max);
    }

    fn set_quantiles(&mut self, latency: &Histogram) {
        // Folded histograms know values only to their precision; the maximum is exact.
        let quantile = |share| latency.quantile(share).min(self.latency_us_max);
        (self.latency_us_p50, self.latency_us_p90) = (quantile(0.5), quantile(0.9));
        (self.latency_us_p95, self.latency_us_p99) = (quantile(0.95), quantile(0.99));
    }
}

/// There are few ways to fail within a second; more than a hundred are a server's that invents codes.
fn add_failures(failures: &mut Vec<(Code, u64)>, code: Code, count: u64) {
    let has_room = failures.len() < 100 || code == Code::Other;
    match failures.iter_mut().find(|(known, _)| *known == code) {
        Some((_, sum)) => *sum += count,
        None if has_room => failures.push((code, count)),
        None => add_failures(failures, Code::Other, count),
    }
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
    span: Nanos,
    connected: usize,
    parts: BTreeMap<u16, Part>,
}

/// A second that all threads have reported.
#[derive(Clone, Debug)]
pub struct FoldedSecond {
    pub phase: Phase,
    pub second: u64,
    /// How much of it has passed, by the thread that lasted longest.
    pub span: Nanos,
    pub connected: usize,
    /// By script; idle ones are left out.
    pub scripts: Vec<(u16, SecondTotal)>,
    /// All scripts together, without the ways in which they failed.
    pub together: SecondTotal,
}

/// Adds up the reports of all threads. Memory: the seconds still open.
pub struct SecondFolder {
    reported: Vec<Reported>,
    pending: BTreeMap<(Phase, u64), Pending>,
    keeps_histograms: bool,
}

impl SecondFolder {
    /// For so many threads.
    pub fn new(threads: usize, keeps_histograms: bool) -> Self {
        Self {
            reported: vec![Reported::Nothing; threads],
            pending: BTreeMap::new(),
            keeps_histograms,
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
        let Pending { span, connected, parts } = self.pending.entry((report.phase, report.second)).or_default();
        *span = report.span.max(*span);
        *connected += report.connected;
        for (script, counts) in report.scripts {
            let Part { total, latency } = parts.entry(script).or_default();
            total.add_thread(&counts);
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
        let Pending { span, connected, parts } = oldest.remove();
        let mut together = SecondTotal::default();
        let mut all_latencies = Histogram::new(Precision::Coarse);
        let mut scripts = Vec::with_capacity(parts.len());
        for (script, Part { mut total, latency }) in parts {
            if let Some(latency) = latency {
                total.failures.sort_unstable();
                total.set_quantiles(&latency);
                total.hdr = self.keeps_histograms.then(|| latency.to_base64());
                all_latencies.add(&latency);
            }
            together.add_script(&total);
            scripts.push((script, total));
        }
        together.set_quantiles(&all_latencies);
        Some(FoldedSecond {
            phase,
            second,
            span,
            connected,
            scripts,
            together,
        })
    }
}

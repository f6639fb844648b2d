//! `LoadResult`: what comes out of the engine. The Python side of this door is `pgclinic/model/load.py`.

use serde::{Deserialize, Serialize};

/// An HDR histogram of microseconds: summary values and, for merging, the V2-compressed base64 form.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HistogramResult {
    pub count: u64,
    pub min_us: u64,
    pub max_us: u64,
    pub mean_us: f64,
    /// Exact, not from the histogram.
    pub stddev_us: f64,
    pub p50_us: u64,
    pub p90_us: u64,
    pub p95_us: u64,
    pub p99_us: u64,
    pub p999_us: u64,
    pub p9999_us: u64,
    pub hdr: String,
}

/// Transactions, or connections, that failed in one way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FailureResult {
    /// Five characters from the server; or `connection` (lost or never had), `timeout` (no answer within
    /// `statement_timeout_s` or `connect_timeout_s`), `script` (the script itself is at fault), `protocol`.
    pub sqlstate: String,
    /// The script; empty if a connection could not be made.
    pub script: String,
    /// Which of the scripts, from 0; -1 while connecting. Two scripts may have the same name.
    pub script_number: i64,
    /// The index in the script's statements; -1 if no statement is at fault.
    pub statement: i64,
    /// The number among all commands of the script, from 0 as in pgbench's messages; -1 if no command is at fault.
    pub command: i64,
    pub count: u64,
    /// The first message of this kind.
    pub message: String,
}

/// What a command of a script is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatementKind {
    Sql,
    Meta,
}

/// One command of a script that takes time, or with `time_meta_commands` any command; `line` counts from 1.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StatementResult {
    pub line: u32,
    pub text: String,
    pub kind: StatementKind,
    pub executions: u64,
    /// Also those that a retry has cured.
    pub failures: u64,
    /// How often its failure made the transaction begin again.
    pub retries: u64,
    pub latency: HistogramResult,
}

/// What one script did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScriptResult {
    pub name: String,
    pub weight: u32,
    pub transactions: u64,
    pub failed: u64,
    pub skipped: u64,
    pub late: u64,
    pub retried: u64,
    pub retries: u64,
    /// Rolled back because their inputs wanted it: neither commits nor failures.
    pub rolled_back: u64,
    /// Of all that ended, those that had begun before measuring did.
    pub begun_before: u64,
    /// Of commits alone.
    pub latency: HistogramResult,
    pub statements: Vec<StatementResult>,
}

/// Transactions of a second that failed in one way; `sqlstate` as in [`FailureResult`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SecondFailureResult {
    pub sqlstate: String,
    pub count: u64,
}

/// One second of one script. A transaction counts in the second in which it ended, from the start of measuring.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SecondResult {
    pub second: u64,
    /// How much of the second the load lasted; less than 1 only at its end.
    pub span_s: f64,
    pub script: String,
    pub transactions: u64,
    pub failed: u64,
    pub rolled_back: u64,
    /// Answered in this second, whatever became of their transactions.
    pub statements: u64,
    /// How the failed ones failed.
    pub failures: Vec<SecondFailureResult>,
    pub skipped: u64,
    pub late: u64,
    pub retried: u64,
    pub retries: u64,
    /// Open loop: how late its transactions began, whatever the reason.
    pub lag_us_sum: u64,
    pub latency_us_sum: u64,
    pub latency_us_p50: u64,
    pub latency_us_p99: u64,
    pub latency_us_max: u64,
    /// With `second_histograms`: the second's latencies in two digits, V2-compressed base64.
    pub hdr: Option<String>,
}

/// One error, when it happened; with `verbose_errors`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MessageResult {
    /// From the start of the load, connecting included.
    pub at_s: f64,
    pub client: usize,
    pub script: String,
    /// As in `FailureResult`.
    pub statement: i64,
    pub command: i64,
    pub sqlstate: String,
    /// Which try of the transaction it was, from 1.
    pub tries: u32,
    pub message: String,
}

/// A transaction that was still running when measuring ended, and its age then.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InFlightResult {
    pub client: usize,
    pub script: String,
    pub statement: i64,
    pub age_us: u64,
}

/// What came of the log of transactions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogResult {
    pub files: Vec<String>,
    pub lines: u64,
    /// Lines that could not be written.
    pub lines_lost: u64,
    /// Why; a thread that could not write once does not try again.
    pub problem: Option<String>,
}

/// Which engine measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EngineResult {
    pub version: String,
    pub profile: String,
    /// `io_uring` or `epoll`; with `+spin` if it never waited.
    pub io: String,
}

/// One window of an interleaved load. A transaction counts where it ends, if it began in the same window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WindowResult {
    /// Its index among the windows of the spec.
    pub number: usize,
    /// When it began to count, from the start of measuring; the guard lies before.
    pub at_s: f64,
    pub counted_s: f64,
    pub transactions: u64,
    pub failed: u64,
    pub rolled_back: u64,
    /// Answered in its counted time.
    pub statements: u64,
    /// Transactions that ended in its guard.
    pub guarded: u64,
    /// Transactions that began in it and ended after it; the longest of these took so much longer.
    pub overran: u64,
    pub overrun_us_max: u64,
}

/// What became of an interleaved load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WindowsResult {
    /// Those that were measured.
    pub each: Vec<WindowResult>,
    pub guard_s: f64,
    /// From the start of measuring to its end, with the pauses between windows.
    pub span_s: f64,
    /// The time of these in which transactions could begin: what counts, and guards.
    pub loaded_s: f64,
    /// Transactions that ended after their window, and how much later in all: work in the windows of others.
    pub overran: u64,
    pub overrun_us_sum: u64,
    /// All that ended in guards or after their window.
    pub uncounted: u64,
}

/// What one load did between the start and the end of measuring.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadResult {
    pub engine: EngineResult,
    /// When measuring began; seconds count from here, and between the windows of an interleaved load they stand still.
    pub started_epoch_us: u64,
    pub connect_s: f64,
    /// How long the warm-up took; less than was asked for if the observer found it warm.
    pub warm_up_s: f64,
    /// The counted time alone, if the load was interleaved.
    pub measured_s: f64,
    /// `time`, `transactions`, `interrupted`, `clients_lost`, `aborted` or `limit`.
    pub stopped: String,
    pub clients: usize,
    pub clients_lost: usize,
    pub reconnects: u64,
    /// With `reconnect`: the time that all connections took.
    pub reconnect_s: f64,
    pub transactions: u64,
    pub failed: u64,
    pub rolled_back: u64,
    /// Answered while measuring, whatever became of their transactions.
    pub statements: u64,
    pub skipped: u64,
    pub late: u64,
    pub retried: u64,
    pub retries: u64,
    pub latency: HistogramResult,
    pub scripts: Vec<ScriptResult>,
    pub seconds: Vec<SecondResult>,
    pub failures: Vec<FailureResult>,
    /// With `verbose_errors`: errors in the order of time, the first of many only.
    pub messages: Vec<MessageResult>,
    /// How many more there were.
    pub messages_dropped: u64,
    /// With `log`.
    pub log: Option<LogResult>,
    pub in_flight: Vec<InFlightResult>,
    pub client_cpu_user_s: f64,
    pub client_cpu_system_s: f64,
    /// The busiest thread's share of the measuring time that it did not spend waiting.
    pub occupancy: f64,
    /// How late the engine began transactions that were due and had a free client; open loop only.
    pub lag: Option<HistogramResult>,
    /// How late transactions that succeeded had begun, whatever the reason; open loop only.
    pub schedule_lag: Option<HistogramResult>,
    /// Transactions due during measuring; open loop only.
    pub offered: Option<u64>,
    /// Of these, how many had not begun when measuring ended; open loop only.
    pub unserved: Option<u64>,
    pub warm_up_transactions: u64,
    /// How long the engine was stopped while measuring, without waiting for a processor: by a signal, by a suspended
    /// machine. Pauses below 100 ms are left out.
    pub paused_s: f64,
    pub longest_pause_s: f64,
    /// Of an interleaved load; every figure is then of its counted time.
    pub windows: Option<WindowsResult>,
    pub format: u32,
}

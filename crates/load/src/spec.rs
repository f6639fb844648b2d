//! `LoadSpec`: what goes into the engine. The Python side of this door is `pgclinic/model/load.py`; the JSON is the same.

mod shell;
mod tls;
mod tpcc;
mod values;
mod windows;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::LoadError;

pub use shell::ShellAccount;
pub use tls::{ChannelBindingPolicy, Negotiation, TlsMode, TlsSpec};
pub use tpcc::{Convention, Isolation, TpccSpec};
pub use values::ScriptValues;
pub use windows::{WindowSpan, WindowsSpec};

/// The newest format of the spec that this engine reads.
pub const FORMAT: u32 = 1;

/// More clients than any machine can serve: a typo, not a load.
const CLIENTS_MAX: usize = 1_000_000;
const SCRIPTS_MAX: usize = 128;
const SECONDS_MAX: f64 = 365.0 * 86_400.0;

/// How statements travel, as in pgbench `-M`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// One text message a statement.
    #[default]
    Simple,
    /// Parse, bind, describe, execute, sync for every statement.
    Extended,
    /// Parsed once a session, then bind, describe, execute, sync.
    Prepared,
}

/// Where the engine connects. `host` is a socket directory when it starts with a slash.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub database: String,
    #[serde(default)]
    pub password: Option<String>,
    #[serde(default = "default_application_name")]
    pub application_name: String,
    #[serde(default)]
    pub options: Option<String>,
    #[serde(default)]
    pub tls: Option<TlsSpec>,
}

/// One pgbench script; `weight` is its share among all scripts, `values` what its `\draw` commands deal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    pub name: String,
    pub text: String,
    #[serde(default = "default_one")]
    pub weight: u32,
    #[serde(default)]
    pub values: Vec<ScriptValues>,
}

/// When the next transaction is due: closed loop when `rate_tps` is none, else open loop at that total rate.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    #[serde(default)]
    pub rate_tps: Option<f64>,
    #[serde(default)]
    pub latency_limit_us: Option<u64>,
}

/// What a client does after a transaction that failed for good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// Count it and go on with the next transaction.
    #[default]
    Continue,
    /// Count it and give the client up, unless it was a serialization failure or a deadlock; as pgbench does.
    AbortClient,
    /// As `abort_client`, and end the whole load.
    AbortLoad,
}

/// How bytes move between the engine and the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IoChoice {
    /// The best that this machine allows.
    #[default]
    Auto,
    /// Readiness by epoll.
    Epoll,
    /// Completions by io_uring.
    IoUring,
    /// Readiness by poll, which is all that macOS has.
    Poll,
}

/// Where the output of `\shell` goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellOutput {
    #[default]
    Discard,
    Stdout,
    Stderr,
}

/// A log of single transactions in pgbench's format: `{prefix}.{process}` for the first thread, and
/// `{prefix}.{process}.{thread}` for the others.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSpec {
    pub prefix: String,
    /// The share of transactions that is logged; none is all.
    #[serde(default)]
    pub sampling_rate: Option<f64>,
    /// A line for every interval of so many seconds, instead of one for every transaction.
    #[serde(default)]
    pub aggregate_interval_s: Option<u32>,
    /// Tells serialization failures and deadlocks apart.
    #[serde(default)]
    pub failures_detailed: bool,
}

/// One load: who connects, what runs, how long. Times are seconds unless the name says otherwise.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    pub target: Target,
    #[serde(default)]
    pub scripts: Vec<Script>,
    #[serde(default = "default_one_usize")]
    pub clients: usize,
    #[serde(default = "default_one_usize")]
    pub threads: usize,
    #[serde(default)]
    pub protocol: Protocol,
    #[serde(default)]
    pub pace: Pace,
    #[serde(default)]
    pub warm_up_s: f64,
    /// How long to measure; none when `transactions_per_client` ends the load.
    #[serde(default)]
    pub measure_s: Option<f64>,
    #[serde(default)]
    pub transactions_per_client: Option<u64>,
    /// The end of a load whose `measure_s` is none, whatever happens.
    #[serde(default = "default_limit")]
    pub limit_s: f64,
    /// How long transactions in flight at the end may still take before they are cancelled.
    #[serde(default = "default_drain")]
    pub drain_s: f64,
    /// Transactions that run when `measure_s` is over go on to their end and count, as in pgbench; this is how long they
    /// may take. None: they have `drain_s` and do not count.
    #[serde(default)]
    pub finish_s: Option<f64>,
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// How often a transaction that ended in 40001 or 40P01 is tried in all; 0 is without limit.
    #[serde(default = "default_one")]
    pub max_tries: u32,
    #[serde(default)]
    pub on_error: OnError,
    /// A new connection for every transaction, as pgbench `-C`.
    #[serde(default)]
    pub reconnect: bool,
    #[serde(default = "default_connect_timeout")]
    pub connect_timeout_s: f64,
    /// How long a statement may go unanswered before its connection is given up; none is without limit.
    #[serde(default)]
    pub statement_timeout_s: Option<f64>,
    /// A client without a session ends the load before it begins; else the load runs with the others.
    #[serde(default)]
    pub all_clients: bool,
    /// Prepared protocol: statements are parsed right after connecting. Else each is with its first use, as in pgbench.
    #[serde(default = "default_true")]
    pub prepare_at_connect: bool,
    /// Clients' errors and the server's remarks are passed to the observer when they happen.
    #[serde(default)]
    pub events: bool,
    #[serde(default)]
    pub shell_output: ShellOutput,
    /// Lists and times the meta commands that only compute, too: `LoadResult` then has every command, as pgbench `-r`.
    #[serde(default)]
    pub time_meta_commands: bool,
    /// Keeps the errors one by one, as pgbench `--verbose-errors` prints them.
    #[serde(default)]
    pub verbose_errors: bool,
    /// Gives every second its histogram.
    #[serde(default)]
    pub second_histograms: bool,
    #[serde(default)]
    pub log: Option<LogSpec>,
    #[serde(default)]
    pub io: IoChoice,
    /// Looks for answers without ever waiting: burns a processor for each thread, and finds them sooner.
    #[serde(default)]
    pub spin: bool,
    /// Who runs the scripts' shell commands; none is the engine's own account. Only root can change it.
    #[serde(default)]
    pub shell_account: Option<ShellAccount>,
    /// TPC-C; then there are no scripts.
    #[serde(default)]
    pub tpcc: Option<TpccSpec>,
    /// Transactions begin within these alone; `warm_up_s` and `measure_s` are then counted time of windows.
    #[serde(default)]
    pub windows: Option<WindowsSpec>,
    #[serde(default = "default_format")]
    pub format: u32,
}

fn default_application_name() -> String {
    "pgclinic-load".to_owned()
}

fn default_one() -> u32 {
    1
}

fn default_true() -> bool {
    true
}

fn default_one_usize() -> usize {
    1
}

fn default_limit() -> f64 {
    3600.0
}

fn default_drain() -> f64 {
    1.0
}

fn default_connect_timeout() -> f64 {
    10.0
}

fn default_format() -> u32 {
    FORMAT
}

impl LoadSpec {
    /// Reads a spec and checks it.
    pub fn from_json(text: &str) -> Result<Self, LoadError> {
        let spec: Self = serde_json::from_str(text)?;
        spec.validate()?;
        Ok(spec)
    }

    /// Whether a load can be run from these values.
    pub fn validate(&self) -> Result<(), LoadError> {
        if self.format != FORMAT {
            return Err(LoadError::spec(
                "format",
                format!("this engine reads format {FORMAT}, not {}", self.format),
            ));
        }
        self.validate_clients()?;
        self.validate_times()?;
        self.validate_log()?;
        self.validate_work()?;
        if let Some(windows) = &self.windows {
            windows.validate(self)?;
        }
        if let Some(rate) = self.pace.rate_tps {
            if !(rate > 0.0 && rate <= 1e6) {
                return Err(LoadError::spec(
                    "pace.rate_tps",
                    format!("must be above 0 and at most 1000000, not {rate}"),
                ));
            }
        }
        Ok(())
    }

    fn validate_work(&self) -> Result<(), LoadError> {
        if let Some(tpcc) = &self.tpcc {
            if !self.scripts.is_empty() {
                return Err(LoadError::spec("scripts", "there are none when the load is TPC-C"));
            }
            return tpcc.validate(&self.pace);
        }
        if self.scripts.is_empty() {
            return Err(LoadError::spec("scripts", "at least one is needed"));
        }
        if self.scripts.len() > SCRIPTS_MAX {
            return Err(LoadError::spec(
                "scripts",
                format!("at most {SCRIPTS_MAX}, not {}", self.scripts.len()),
            ));
        }
        for script in &self.scripts {
            for values in &script.values {
                values.validate(&script.name)?;
            }
        }
        if self.scripts.iter().all(|script| script.weight == 0) {
            return Err(LoadError::spec("scripts", "at least one needs a weight above 0"));
        }
        Ok(())
    }

    fn validate_clients(&self) -> Result<(), LoadError> {
        if self.clients == 0 || self.clients > CLIENTS_MAX {
            return Err(LoadError::spec(
                "clients",
                format!("must be 1 to {CLIENTS_MAX}, not {}", self.clients),
            ));
        }
        if self.threads == 0 || self.threads > 1024 {
            return Err(LoadError::spec(
                "threads",
                format!("must be 1 to 1024, not {}", self.threads),
            ));
        }
        for (field, text) in [("user", &self.target.user), ("database", &self.target.database)] {
            if text.is_empty() || text.contains('\0') {
                return Err(LoadError::spec(format!("target.{field}"), "must be a name"));
            }
        }
        if self.target.host.is_empty() {
            return Err(LoadError::spec(
                "target.host",
                "must be a host name, an address or a socket directory",
            ));
        }
        Ok(())
    }

    fn validate_times(&self) -> Result<(), LoadError> {
        let times = [
            ("warm_up_s", Some(self.warm_up_s), 0.0),
            ("measure_s", self.measure_s, 0.001),
            ("limit_s", Some(self.limit_s), 0.001),
            ("drain_s", Some(self.drain_s), 0.0),
            ("finish_s", self.finish_s, 0.0),
            ("connect_timeout_s", Some(self.connect_timeout_s), 0.001),
            ("statement_timeout_s", self.statement_timeout_s, 0.001),
        ];
        for (field, value, least) in times {
            if let Some(value) = value {
                if !(value >= least && value <= SECONDS_MAX) {
                    return Err(LoadError::spec(
                        field,
                        format!("must be {least} to {SECONDS_MAX} seconds, not {value}"),
                    ));
                }
            }
        }
        if self.measure_s.is_none() && self.transactions_per_client.is_none() {
            return Err(LoadError::spec(
                "measure_s",
                "either this or transactions_per_client must be given",
            ));
        }
        if self.transactions_per_client == Some(0) {
            return Err(LoadError::spec("transactions_per_client", "must be at least 1"));
        }
        Ok(())
    }

    fn validate_log(&self) -> Result<(), LoadError> {
        let Some(log) = &self.log else { return Ok(()) };
        if log.prefix.is_empty() || log.prefix.contains('\0') {
            return Err(LoadError::spec("log.prefix", "must be the beginning of a file name"));
        }
        if let Some(rate) = log.sampling_rate {
            if !(rate > 0.0 && rate <= 1.0) {
                return Err(LoadError::spec(
                    "log.sampling_rate",
                    format!("must be above 0 and at most 1, not {rate}"),
                ));
            }
            if log.aggregate_interval_s.is_some() {
                return Err(LoadError::spec(
                    "log.sampling_rate",
                    "cannot be had together with aggregate_interval_s",
                ));
            }
        }
        if log.aggregate_interval_s == Some(0) {
            return Err(LoadError::spec("log.aggregate_interval_s", "must be at least 1"));
        }
        Ok(())
    }

    /// How long measuring lasts at most.
    pub fn measure_limit(&self) -> Duration {
        Duration::from_secs_f64(self.measure_s.unwrap_or(self.limit_s))
    }
}

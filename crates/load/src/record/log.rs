//! The log of single transactions, in pgbench's format: a file for every thread, written by that thread.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::failures::{Code, End};
use super::log_interval::Interval;
use super::scripts::Course;
use crate::clock::{micros, Nanos};
use crate::error::LoadError;
use crate::script::Prng;
use crate::spec::LoadSpec;

/// What is written at once.
const BUFFER: usize = 64 * 1024;
/// No line is longer.
const LINE_MAX: usize = 256;

/// The thread that logs.
#[derive(Clone, Copy, Debug)]
pub struct LogOwner {
    pub thread: usize,
    pub first_client: usize,
    pub clients: usize,
    /// Which transactions are sampled.
    pub sampling: Prng,
    /// When the clock of the load stood at zero.
    pub epoch_us: u64,
}

/// What came of a log.
#[derive(Clone, Debug, Default)]
pub struct LogOutcome {
    pub files: Vec<PathBuf>,
    pub lines: u64,
    pub lines_lost: u64,
    /// What the file system said first.
    pub problem: Option<String>,
}

impl LogOutcome {
    /// Adds the log of another thread.
    pub fn add(&mut self, other: Self) {
        self.files.extend(other.files);
        self.lines += other.lines;
        self.lines_lost += other.lines_lost;
        self.problem = self.problem.take().or(other.problem);
    }
}

/// Which columns a line has.
#[derive(Clone, Copy, Debug)]
struct Columns {
    lag: bool,
    retries: bool,
    failures_detailed: bool,
    skipped: bool,
}

/// See the module.
#[derive(Debug)]
pub struct TransactionLog {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    columns: Columns,
    sampling_rate: Option<f64>,
    owner: LogOwner,
    /// Transactions so far, by client.
    counts: Vec<u64>,
    interval: Option<Interval>,
    lines: u64,
    /// What was lost and why; nothing more is written then.
    lines_lost: u64,
    problem: Option<String>,
}

impl TransactionLog {
    /// Creates the thread's file, if a log is wanted.
    pub fn open(spec: &LoadSpec, owner: LogOwner) -> Result<Option<Self>, LoadError> {
        let Some(log) = &spec.log else { return Ok(None) };
        let process = std::process::id();
        let path = match owner.thread {
            0 => format!("{}.{process}", log.prefix),
            thread => format!("{}.{process}.{thread}", log.prefix),
        };
        let path = Path::new(&path);
        let file = File::create(path).map_err(|source| LoadError::Log {
            path: path.to_owned(),
            source,
        })?;
        Ok(Some(Self {
            path: path.to_owned(),
            file,
            buffer: Vec::with_capacity(BUFFER),
            columns: Columns {
                lag: spec.pace.rate_tps.is_some(),
                retries: spec.max_tries != 1,
                failures_detailed: log.failures_detailed,
                skipped: spec.pace.latency_limit_us.is_some(),
            },
            sampling_rate: log.sampling_rate,
            owner,
            counts: vec![0; owner.clients],
            interval: log.aggregate_interval_s.map(Interval::new),
            lines: 0,
            lines_lost: 0,
            problem: None,
        }))
    }

    /// Measuring begins.
    pub(super) fn start(&mut self, now: Nanos) {
        let epoch_us = self.epoch_us(now);
        if let Some(interval) = &mut self.interval {
            interval.start(epoch_us);
        }
    }

    /// A transaction has come to its end.
    pub(super) fn transaction(&mut self, course: &Course, end: End, now: Nanos) {
        let number = match self
            .counts
            .get_mut(course.client.saturating_sub(self.owner.first_client))
        {
            Some(count) => {
                *count += 1;
                *count
            }
            None => 0,
        };
        let is_left_out = |rate: f64| self.owner.sampling.double() > rate;
        if self.sampling_rate.is_some_and(is_left_out) {
            return;
        }
        if self.interval.is_some() {
            self.roll(now);
            if let Some(interval) = &mut self.interval {
                interval.add(course, end, now);
            }
        } else {
            self.write_line(course, number, end, now);
        }
    }

    /// The end: what is complete is written.
    pub(super) fn close(&mut self, now: Nanos) {
        self.roll(now);
        self.flush();
    }

    /// What came of it.
    pub fn into_outcome(mut self) -> LogOutcome {
        self.flush();
        LogOutcome {
            files: vec![self.path],
            lines: self.lines,
            lines_lost: self.lines_lost,
            problem: self.problem,
        }
    }

    fn epoch_us(&self, now: Nanos) -> u64 {
        self.owner.epoch_us.saturating_add(micros(now))
    }

    /// Writes the intervals that have passed.
    fn roll(&mut self, now: Nanos) {
        let epoch_us = self.epoch_us(now);
        let columns = self.columns;
        while let Some(passed) = self
            .interval
            .as_mut()
            .and_then(|interval| interval.take_passed(epoch_us))
        {
            self.line(|out| passed.write(columns.failures_detailed, columns.skipped, out));
        }
    }

    fn write_line(&mut self, course: &Course, number: u64, end: End, now: Nanos) {
        let epoch_us = self.epoch_us(now);
        let (latency_us, lag_us) = match end {
            End::Skipped => (0, 0),
            End::Succeeded | End::Failed(_) | End::RolledBack => {
                (micros(now.saturating_sub(course.due)), course.lag_us())
            }
        };
        let columns = self.columns;
        let Course {
            client, script, tries, ..
        } = *course;
        self.line(|out| {
            write!(out, "{client} {number} ")?;
            match word(end, columns.failures_detailed) {
                Some(word) => write!(out, "{word}")?,
                None => write!(out, "{latency_us}")?,
            }
            write!(out, " {script} {} {}", epoch_us / 1_000_000, epoch_us % 1_000_000)?;
            if columns.lag {
                write!(out, " {lag_us}")?;
            }
            if columns.retries {
                write!(out, " {}", tries.saturating_sub(1))?;
            }
            Ok(())
        });
    }

    fn line(&mut self, write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) {
        if self.problem.is_some() {
            self.lines_lost += 1;
            return;
        }
        // Memory takes every line.
        let _ = write(&mut self.buffer);
        self.buffer.push(b'\n');
        if self.buffer.len() + LINE_MAX > BUFFER {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let mut rest = self.buffer.as_slice();
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => break,
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.problem = Some(format!("{}: {error}", self.path.display()));
                    break;
                }
            }
        }
        let lost = lines(rest);
        self.lines_lost += lost;
        self.lines += lines(&self.buffer) - lost;
        self.buffer.clear();
    }
}

/// What stands in the place of the latency.
fn word(end: End, failures_detailed: bool) -> Option<&'static str> {
    match end {
        End::Succeeded => None,
        End::Skipped => Some("skipped"),
        // pgbench has no word for it: its scripts cannot.
        End::RolledBack => Some("rolled_back"),
        End::Failed(Code::SERIALIZATION) if failures_detailed => Some("serialization"),
        End::Failed(Code::DEADLOCK) if failures_detailed => Some("deadlock"),
        End::Failed(_) => Some("failed"),
    }
}

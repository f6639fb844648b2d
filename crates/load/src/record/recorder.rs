//! The recorder of one thread.

use std::sync::mpsc::Sender;

use super::errors::ErrorMessages;
use super::failures::{Code, End, FailureKey, Failures, Fault};
use super::histogram::{Histogram, Precision};
use super::log::{LogOutcome, TransactionLog};
use super::scripts::{Course, ScriptRecord, StatementRecord};
use super::seconds::Seconds;
use super::window::{Phase, Window};
use super::windows::{WindowRecord, WindowTally};
use crate::clock::{micros, Nanos};
use crate::event::{EventKind, EventSender, Report};
use crate::windows::LoadWindows;

/// With more histograms than this each thread keeps statements in two digits, so that memory stays small.
const FINE_HISTOGRAMS_MAX: usize = 64;
/// With more than this they begin small.
const WHOLE_HISTOGRAMS_MAX: usize = 2000;

/// What a recorder has to know of its load.
#[derive(Clone, Debug)]
pub struct RecorderPlan<'a> {
    pub thread: usize,
    /// How many statements each script has.
    pub statements: &'a [usize],
    pub latency_limit_us: Option<u64>,
    /// Transactions have a time at which they are due.
    pub is_open: bool,
    /// Errors are kept one by one.
    pub keeps_errors: bool,
    /// Where events go, if anybody wants them.
    pub events: Option<EventSender>,
    /// Of an interleaved load.
    pub windows: Option<LoadWindows>,
}

/// Counts what happens between the start and the end of measuring; the warm-up only for progress.
pub struct Recorder {
    window: Window,
    /// The same by the time that counts.
    counted: Window,
    events: Option<EventSender>,
    seconds: Seconds,
    latency_limit_us: Option<u64>,
    log: Option<TransactionLog>,
    /// What came of the logs; none if there were none.
    pub logged: Option<LogOutcome>,
    /// Of an interleaved load.
    pub windows: Option<WindowTally>,
    /// One for each script.
    pub scripts: Vec<ScriptRecord>,
    pub failures: Failures,
    /// The errors one by one, if they are kept.
    pub errors: Option<ErrorMessages>,
    pub lag: Histogram,
    /// Of transactions that succeeded, in an open loop.
    pub schedule_lag: Option<Histogram>,
    pub offered: u64,
    pub warm_up_transactions: u64,
    pub reconnects: u64,
    /// What the connections of single transactions took.
    pub connecting: Nanos,
    /// Whether a client was given up.
    pub clients_lost: usize,
}

impl Recorder {
    /// An empty recorder.
    pub fn new(plan: RecorderPlan<'_>, log: Option<TransactionLog>, reports: Sender<Report>) -> Self {
        let statements = plan.statements;
        let histograms: usize = statements.len() + statements.iter().sum::<usize>();
        let precision = if histograms <= FINE_HISTOGRAMS_MAX {
            Precision::Fine
        } else if histograms <= WHOLE_HISTOGRAMS_MAX {
            Precision::Coarse
        } else {
            Precision::Growing
        };
        let script = |count: &usize| ScriptRecord::new(*count, precision);
        Self {
            window: Window::CLOSED,
            counted: Window::CLOSED,
            events: plan.events,
            seconds: Seconds::new(plan.thread, statements.len(), reports),
            latency_limit_us: plan.latency_limit_us,
            log,
            logged: None,
            windows: plan.windows.map(WindowTally::new),
            scripts: statements.iter().map(script).collect(),
            failures: Failures::default(),
            errors: plan.keeps_errors.then(ErrorMessages::default),
            lag: Histogram::new(Precision::Fine),
            schedule_lag: plan.is_open.then(|| Histogram::new(Precision::Fine)),
            offered: 0,
            warm_up_transactions: 0,
            reconnects: 0,
            connecting: 0,
            clients_lost: 0,
        }
    }

    /// Begins to count, or moves the end of warming up or of counting.
    pub fn set_window(&mut self, window: Window) {
        let windows = self.windows.as_ref().map(|tally| &tally.windows);
        self.counted = window.counted(windows);
        if self.window == Window::CLOSED {
            self.seconds.open(&self.counted);
        }
        if let Some(log) = self.log.as_mut().filter(|_| self.window.start != window.start) {
            log.start(window.start);
        }
        self.window = window;
    }

    /// Whether what ends now is measured.
    pub fn is_measuring(&self, now: Nanos) -> bool {
        self.phase(now) == Some(Phase::Measure)
    }

    /// Whether no transaction may begin any more, nor begin again.
    pub fn is_over(&self, now: Nanos) -> bool {
        now >= self.window.closing
    }

    /// The phase in which something counts now; none between the windows of an interleaved load.
    fn phase(&self, now: Nanos) -> Option<Phase> {
        let phase = self.window.phase(now);
        phase.filter(|_| self.windows.as_ref().is_none_or(|tally| tally.counts(now)))
    }

    /// The phase for which a transaction that ends now counts. In an interleaved load it must also have begun there.
    fn phase_of_end(&mut self, course: &Course, now: Nanos) -> Option<Phase> {
        let phase = self.window.phase(now)?;
        if let Some(tally) = &mut self.windows {
            if !tally.end_counts(course.began, now) {
                tally.leave_out(course.began, now);
                return None;
            }
        }
        Some(phase)
    }

    fn window_record(&mut self, now: Nanos) -> Option<&mut WindowRecord> {
        self.windows.as_mut()?.record(now)
    }

    /// The time as far as it counts: it stands still between windows, and without them it is the clock.
    fn counted_time(&self, now: Nanos) -> Nanos {
        self.windows.as_ref().map_or(now, |tally| tally.windows.counted(now))
    }

    /// Lets the seconds pass that have passed.
    pub fn roll(&mut self, now: Nanos) {
        if self.window != Window::CLOSED {
            self.seconds.roll(self.counted_time(now), &self.counted);
        }
    }

    /// The end: the last second is reported as it stands.
    pub fn close(&mut self, now: Nanos) {
        if self.window != Window::CLOSED {
            self.seconds.close(self.counted_time(now));
            if let Some(log) = &mut self.log {
                log.close(now);
            }
        }
    }

    /// No report will follow, whether there was any or not.
    pub fn hang_up(&mut self) {
        self.seconds.hang_up();
        self.events = None;
        self.logged = self.log.take().map(TransactionLog::into_outcome);
    }

    /// A client has got its session, or lost it.
    pub fn set_connected(&mut self, is_connected: bool) {
        let connected = &mut self.seconds.connected;
        *connected = if is_connected {
            *connected + 1
        } else {
            connected.saturating_sub(1)
        };
    }

    /// Something that is to be said at once.
    pub fn event(&self, kind: EventKind, text: impl FnOnce() -> String) {
        if let Some(events) = &self.events {
            events.send(kind, text());
        }
    }

    /// A transaction has succeeded.
    pub fn transaction(&mut self, course: &Course, now: Nanos) {
        self.roll(now);
        let Some(phase) = self.phase_of_end(course, now) else {
            return;
        };
        let latency_us = micros(now.saturating_sub(course.due));
        let lag_us = course.lag_us();
        let late = self.latency_limit_us.is_some_and(|limit| latency_us > limit);
        if let Some((second, latencies)) = self.seconds.script(course.script) {
            second.transactions += 1;
            second.late += u64::from(late);
            second.lag_us_sum += lag_us;
            second.count_tries(course.tries);
            latencies.record(latency_us);
        }
        if phase == Phase::WarmUp {
            self.warm_up_transactions += 1;
            return;
        }
        self.log(course, End::Succeeded, now);
        if let Some(record) = self.window_record(now) {
            record.transactions += 1;
        }
        if let Some(lag) = &mut self.schedule_lag {
            lag.record(lag_us);
        }
        if let Some(record) = self.scripts.get_mut(usize::from(course.script)) {
            record.transactions += 1;
            record.late += u64::from(late);
            record.latency.record(latency_us);
            record.count_end(course, self.window.start);
        }
    }

    /// A transaction has rolled back as its inputs wanted: neither a commit nor a failure.
    pub fn rolled_back(&mut self, course: &Course, now: Nanos) {
        self.roll(now);
        let Some(phase) = self.phase_of_end(course, now) else {
            return;
        };
        if let Some((second, _)) = self.seconds.script(course.script) {
            second.rolled_back += 1;
            second.count_tries(course.tries);
        }
        if phase == Phase::WarmUp {
            return;
        }
        self.log(course, End::RolledBack, now);
        if let Some(record) = self.window_record(now) {
            record.rolled_back += 1;
        }
        if let Some(record) = self.scripts.get_mut(usize::from(course.script)) {
            record.rolled_back += 1;
            record.count_end(course, self.window.start);
        }
    }

    /// Something went wrong in a transaction; whether it fails of it is told later.
    pub fn trouble(&mut self, course: &Course, fault: Fault, message: &[u8], now: Nanos) {
        let key = FailureKey {
            script: Some(course.script),
            fault,
        };
        self.failures.note(key, message);
        if let Some(errors) = &mut self.errors {
            let (client, tries) = (course.client, course.tries);
            errors.add(now, client, key, tries, message);
        }
    }

    /// A transaction has failed for good. `is_logged` says whether the log has a line for it: pgbench's has none for one
    /// that ends its client.
    pub fn transaction_failed(&mut self, course: &Course, fault: Fault, is_logged: bool, now: Nanos) {
        let script = course.script;
        self.roll(now);
        let Some(phase) = self.phase_of_end(course, now) else {
            return;
        };
        if let Some((second, _)) = self.seconds.script(script) {
            second.count_failure(fault.code);
            second.count_tries(course.tries);
        }
        if phase == Phase::WarmUp {
            return;
        }
        if is_logged {
            self.log(course, End::Failed(fault.code), now);
        }
        if let Some(record) = self.window_record(now) {
            record.failed += 1;
        }
        if let Some(record) = self.scripts.get_mut(usize::from(script)) {
            record.failed += 1;
            record.count_end(course, self.window.start);
        }
        self.failures.count(FailureKey {
            script: Some(script),
            fault,
        });
    }

    /// A slot was passed over because it was too late.
    pub fn skipped(&mut self, client: usize, script: u16, due: Nanos, now: Nanos) {
        self.roll(now);
        let Some(phase) = self.phase(now) else { return };
        if let Some((second, _)) = self.seconds.script(script) {
            second.skipped += 1;
        }
        if phase == Phase::Measure {
            let course = Course {
                client,
                script,
                due,
                began: due,
                tries: 1,
            };
            self.log(&course, End::Skipped, now);
            if let Some(record) = self.scripts.get_mut(usize::from(script)) {
                record.skipped += 1;
            }
        }
    }

    /// A slot was taken that the schedule has at `slot`, this late although its client was free.
    pub fn slot(&mut self, now: Nanos, slot: Nanos, lag: Option<Nanos>) {
        if self.phase(slot) == Some(Phase::Measure) {
            self.offered += 1;
        }
        if let (Some(lag), Some(Phase::Measure)) = (lag, self.phase(now)) {
            self.lag.record(micros(lag));
        }
    }

    /// The server has answered a statement.
    pub fn answered(&mut self, script: u16, statement: Option<u32>, now: Nanos, latency: Nanos) {
        self.roll(now);
        if let (Some(_), Some(_)) = (statement, self.phase(now)) {
            if let Some((second, _)) = self.seconds.script(script) {
                second.statements += 1;
            }
            if let Some(record) = self.window_record(now) {
                record.statements += 1;
            }
        }
        self.statement(script, statement, now, latency);
    }

    /// A command is done, whoever did it.
    pub fn statement(&mut self, script: u16, statement: Option<u32>, now: Nanos, latency: Nanos) {
        if let Some(record) = self.statement_record(script, statement, now) {
            record.executions += 1;
            record.latency.record(micros(latency));
        }
    }

    /// A statement was refused, or never answered.
    pub fn statement_failed(&mut self, script: u16, statement: Option<u32>, now: Nanos) {
        if let Some(record) = self.statement_record(script, statement, now) {
            record.failures += 1;
        }
    }

    /// The transaction begins again because of this statement.
    pub fn statement_retried(&mut self, script: u16, statement: Option<u32>, now: Nanos) {
        if let Some(record) = self.statement_record(script, statement, now) {
            record.retries += 1;
        }
    }

    /// A client is given up because of a failure: while nothing is counted this is, so that the reason is told.
    pub fn given_up(&mut self, course: &Course, fault: Fault, now: Nanos) {
        let windows = self.windows.as_ref();
        let counts = windows.is_none_or(|tally| tally.end_counts(course.began, now));
        if !counts || self.window.phase(now) != Some(Phase::Measure) {
            self.aborted(course, fault);
        }
    }

    /// A client is given up for this reason, although no transaction failed.
    pub fn aborted(&mut self, course: &Course, fault: Fault) {
        self.failures.count(FailureKey {
            script: Some(course.script),
            fault,
        });
    }

    /// A connection could not be made, for good.
    pub fn client_lost(&mut self, code: Code, message: &[u8]) {
        let key = FailureKey {
            script: None,
            fault: Fault {
                statement: None,
                code,
                command: None,
            },
        };
        self.failures.note(key, message);
        self.failures.count(key);
        self.clients_lost += 1;
    }

    fn log(&mut self, course: &Course, end: End, now: Nanos) {
        if let Some(log) = &mut self.log {
            log.transaction(course, end, now);
        }
    }

    fn statement_record(&mut self, script: u16, statement: Option<u32>, now: Nanos) -> Option<&mut StatementRecord> {
        if self.phase(now) != Some(Phase::Measure) {
            return None;
        }
        self.scripts
            .get_mut(usize::from(script))?
            .statements
            .get_mut(statement? as usize)
    }

    /// Adds what another thread has counted.
    pub fn add(&mut self, other: Self) {
        for (ours, theirs) in self.scripts.iter_mut().zip(other.scripts) {
            ours.add(&theirs);
        }
        self.failures.add(other.failures);
        if let (Some(ours), Some(theirs)) = (&mut self.logged, other.logged) {
            ours.add(theirs);
        }
        if let (Some(ours), Some(theirs)) = (&mut self.errors, other.errors) {
            ours.append(theirs);
        }
        self.lag.add(&other.lag);
        if let (Some(ours), Some(theirs)) = (&mut self.windows, &other.windows) {
            ours.add(theirs);
        }
        if let (Some(ours), Some(theirs)) = (&mut self.schedule_lag, &other.schedule_lag) {
            ours.add(theirs);
        }
        self.offered += other.offered;
        self.warm_up_transactions += other.warm_up_transactions;
        self.reconnects += other.reconnects;
        self.connecting += other.connecting;
        self.clients_lost += other.clients_lost;
    }
}

//! The server's answers.

use super::{Next, Session, State, Work};
use crate::clock::Nanos;
use crate::record::Code;
use crate::script::{Capture, Command};
use crate::spec::{OnError, Protocol};
use crate::wire::{backend, frontend, Message};

impl Session {
    /// Whether the rows of the running command are read.
    pub(super) fn rows_wanted(&self) -> bool {
        matches!(self.state, State::Busy)
            && (self.rows.as_ref().is_some_and(|rows| rows.wanted) || self.terminal.is_some())
    }

    /// One message of the server. None if the client goes on waiting for what it waited for.
    pub(super) fn message(&mut self, message: Message<'_>, now: Nanos, work: &mut Work<'_>) -> Option<Next> {
        if message.tag == b'N' {
            self.say_notice(message.body, work);
            return None;
        }
        match self.state {
            State::Busy | State::Rollback => self.reply(message, now, work),
            State::Login(_) => self.login_message(message, work),
            State::Preparing(at) => self.preparing_message(message, at, work),
            // A pipeline that sleeps has its answers all the same.
            State::Asleep | State::Shell if self.in_pipeline => self.reply(message, now, work),
            // Notifications, and the last words of a server that hangs up; the end of the stream follows.
            State::Free | State::Resting | State::Asleep | State::Shell | State::Closed => None,
        }
    }

    fn reply(&mut self, message: Message<'_>, now: Nanos, work: &mut Work<'_>) -> Option<Next> {
        match message.tag {
            b'Z' => {
                self.status = message.body.first().copied().unwrap_or(b'I');
                self.syncs = self.syncs.saturating_sub(1);
                self.copy_refused = false;
                if self.in_pipeline {
                    self.transaction.results += 1;
                }
                if self.syncs == 0 && matches!(self.state, State::Busy | State::Rollback) {
                    return Some(self.answered(now, work));
                }
            }
            b'E' => self.error(message.body, now, work),
            b'C' | b'I' => {
                if let Some(terminal) = &mut self.terminal {
                    terminal.answer.complete(message.body);
                }
                self.result(now, work);
            }
            b'T' | b'D' => self.row(message, now, work),
            b'1' => {
                if let Some(index) = self.parsing.pop_front() {
                    self.set_prepared(index);
                }
            }
            // One COPY fails, and what follows it up to the end of the request is not run.
            b'G' if std::mem::replace(&mut self.copy_refused, true) => {
                return Some(Next::Broken {
                    message: "the server went on asking for data that COPY had been refused".to_owned(),
                });
            }
            b'H' => self.refuse_copy(now, work),
            b'G' => {
                self.refuse_copy(now, work);
                frontend::copy_fail(&mut work.out);
                // The server has thrown the Sync away with which the request ended.
                if work.program.protocol != Protocol::Simple {
                    frontend::sync(&mut work.out);
                }
            }
            _ => {}
        }
        None
    }

    /// A row that somebody reads, or what the rows look like. Others come with an empty body.
    fn row(&mut self, message: Message<'_>, now: Nanos, work: &mut Work<'_>) {
        let mut fits = !message.is_cut;
        if let Some(terminal) = self.terminal.as_mut().filter(|_| fits && message.tag == b'D') {
            fits = terminal.answer.add_row(message.body);
        }
        if let Some(rows) = self.rows.as_mut().filter(|rows| fits && rows.wanted) {
            rows.message(message);
        }
        if !fits && self.transaction.error.is_none() && matches!(self.state, State::Busy) {
            let problem = match self.command(work) {
                Some(command) => format!("line {}: the rows are too long to be kept", command.line()),
                None => "the rows are too many or too long to be TPC-C's".to_owned(),
            };
            self.say_not_kept("the rows are too long to be kept", work);
            let fault = self.fault(self.statement(work), Code::Script, work);
            work.recorder.trouble(&self.course(), fault, problem.as_bytes(), now);
            self.transaction.error = Some(fault);
        }
    }

    /// One result of the command, or of a pipeline, is complete.
    fn result(&mut self, now: Nanos, work: &mut Work<'_>) {
        // As pgbench counts: in a pipeline from the last Sync.
        self.transaction.results = if self.in_pipeline {
            0
        } else {
            self.transaction.results + 1
        };
        if self.in_pipeline {
            if let Some((statement, began)) = self.sent.pop_front() {
                work.recorder
                    .answered(self.transaction.script, statement, now, now.saturating_sub(began));
            }
        } else if self.rows_wanted() {
            let capture = self.capture(work);
            let place = (self.transaction.script, self.transaction.command);
            if let (Some(rows), Some(capture)) = (&mut self.rows, capture) {
                rows.result();
                if let Capture::Aset { prefix } = capture {
                    if rows.count > 0 {
                        let columns = work.columns.entry(place).or_default();
                        let kept = rows.assign(columns, prefix, &work.program.names, &mut self.variables);
                        if let Err(column) = kept {
                            self.refuse_column("aset", &column, now, work);
                        }
                    }
                }
            }
        }
    }

    /// A column whose name no variable can have.
    fn refuse_column(&mut self, command: &str, column: &str, now: Nanos, work: &mut Work<'_>) {
        if self.transaction.error.is_some() {
            return;
        }
        let cause = format!("{command}: invalid variable name: \"{column}\"");
        self.say_not_stored(&cause, column, work);
        self.note_fault(Code::Script, cause.as_bytes(), now, work);
    }

    /// pgbench has no use for COPY and aborts the client. Where errors only count, COPY TO is a load like another.
    fn refuse_copy(&mut self, now: Nanos, work: &mut Work<'_>) {
        if work.rules.on_error == OnError::Continue || self.transaction.error.is_some() {
            return;
        }
        self.say_aborted("COPY is not supported in scripts", work);
        self.note_fault(Code::Script, b"COPY is not supported in scripts", now, work);
    }

    /// The transaction fails of this as soon as everything is answered.
    fn note_fault(&mut self, code: Code, message: &[u8], now: Nanos, work: &mut Work<'_>) {
        let statement = match self.sent.front() {
            Some((statement, _)) if self.in_pipeline => *statement,
            _ => self.place(work).statement,
        };
        let fault = self.fault(statement, code, work);
        work.recorder.trouble(&self.course(), fault, message, now);
        self.transaction.error = Some(fault);
    }

    fn error(&mut self, body: &[u8], now: Nanos, work: &mut Work<'_>) {
        if matches!(self.state, State::Rollback) || self.transaction.error.is_some() {
            return;
        }
        let error = backend::server_error(body);
        let code = Code::State(error.sqlstate);
        self.say_refused(body, code, work);
        self.note_fault(code, error.message, now, work);
    }

    fn capture<'a>(&self, work: &Work<'a>) -> Option<&'a Capture> {
        match self.command(work) {
            Some(Command::Sql(sql)) => sql.capture(),
            _ => None,
        }
    }

    /// Everything that was asked has been answered.
    fn answered(&mut self, now: Nanos, work: &mut Work<'_>) -> Next {
        self.parsing.clear();
        if matches!(self.state, State::Rollback) {
            return self.rolled_back(now, work);
        }
        if self.transaction.error.is_some() {
            return self.failed(now, work);
        }
        let was_pipeline = std::mem::take(&mut self.in_pipeline);
        self.sent.clear();
        if self.terminal.is_some() {
            return self.go_on_tpcc(now, work);
        }
        let statement = self.place(work).statement;
        let latency = now.saturating_sub(self.transaction.statement_began);
        let script = self.transaction.script;
        if was_pipeline {
            // Its statements were counted one by one; this is the command that ends it.
            work.recorder.statement(script, statement, now, latency);
        } else {
            work.recorder.answered(script, statement, now, latency);
        }
        if let Err(problem) = self.keep_row(work) {
            let line = self.command(work).map_or(0, Command::line);
            return self.fail_script(line, &problem, now, work);
        }
        self.transaction.command += 1;
        self.step(now, work)
    }

    /// `\gset`: the columns of the only row become variables.
    fn keep_row(&mut self, work: &mut Work<'_>) -> Result<(), String> {
        if !self.rows_wanted() {
            return Ok(());
        }
        let capture = self.capture(work);
        let place = (self.transaction.script, self.transaction.command);
        let Some(rows) = &mut self.rows else { return Ok(()) };
        rows.wanted = false;
        let Some(Capture::Gset { prefix }) = capture else {
            return Ok(());
        };
        if rows.count != 1 {
            let problem = format!("expected one row, got {}", rows.count);
            self.say_not_kept(&problem, work);
            return Err(problem);
        }
        let columns = work.columns.entry(place).or_default();
        let kept = rows.assign(columns, prefix, &work.program.names, &mut self.variables);
        kept.map_err(|column| {
            let cause = format!("gset: invalid variable name: \"{column}\"");
            self.say_not_stored(&cause, &column, work);
            cause
        })
    }
}

//! The server's answers.

use super::{Fault, Next, Session, State, Work};
use crate::clock::Nanos;
use crate::record::Code;
use crate::script::{Capture, Command};
use crate::spec::Protocol;
use crate::wire::{backend, frontend, Message};

impl Session {
    /// Whether the rows of the running command are read.
    pub(super) fn rows_wanted(&self) -> bool {
        matches!(self.state, State::Busy)
            && (self.rows.as_ref().is_some_and(|rows| rows.wanted) || self.terminal.is_some())
    }

    /// One message of the server. None if the client goes on waiting for what it waited for.
    pub(super) fn message(&mut self, message: Message<'_>, now: Nanos, work: &mut Work<'_>) -> Option<Next> {
        match self.state {
            State::Busy | State::Rollback => self.reply(message, now, work),
            State::Login(_) => self.login_message(message, work),
            State::Preparing(at) => self.preparing_message(message, at, work),
            // Notices, notifications, and the last words of a server that hangs up; the end of the stream follows.
            State::Free | State::Resting | State::Asleep | State::Shell | State::Closed => None,
        }
    }

    fn reply(&mut self, message: Message<'_>, now: Nanos, work: &mut Work<'_>) -> Option<Next> {
        match message.tag {
            b'Z' => {
                self.status = message.body.first().copied().unwrap_or(b'I');
                self.syncs = self.syncs.saturating_sub(1);
                self.copy_refused = false;
                if self.syncs == 0 {
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
            b'G' => {
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
            let statement = self.statement(work);
            let problem = match self.command(work) {
                Some(command) => format!("line {}: the rows are too long to be kept", command.line()),
                None => "the rows are too many or too long to be TPC-C's".to_owned(),
            };
            let course = self.course();
            work.recorder
                .trouble(&course, statement, Code::Script, problem.as_bytes(), now);
            self.transaction.error = Some(Fault {
                code: Code::Script,
                statement,
            });
        }
    }

    /// One result of the command, or of a pipeline, is complete.
    fn result(&mut self, now: Nanos, work: &mut Work<'_>) {
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
                        rows.assign(columns, prefix, &work.program.names, &mut self.variables);
                    }
                }
            }
        }
    }

    fn error(&mut self, body: &[u8], now: Nanos, work: &mut Work<'_>) {
        if matches!(self.state, State::Rollback) || self.transaction.error.is_some() {
            return;
        }
        let error = backend::server_error(body);
        let statement = match self.sent.front() {
            Some((statement, _)) if self.in_pipeline => *statement,
            _ => self.place(work).statement,
        };
        let code = Code::State(error.sqlstate);
        work.recorder
            .trouble(&self.course(), statement, code, error.message, now);
        self.transaction.error = Some(Fault { code, statement });
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
            return Err(format!("\\gset needs one row and got {}", rows.count));
        }
        let columns = work.columns.entry(place).or_default();
        rows.assign(columns, prefix, &work.program.names, &mut self.variables);
        Ok(())
    }
}

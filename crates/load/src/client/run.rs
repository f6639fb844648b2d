//! The commands of a script, one after another, until one needs the server or a rest.

use super::words::Complaint;
use super::{Next, Session, State, Work};
use crate::clock::Nanos;
use crate::program::{Place, Prepared};
use crate::record::Code;
use crate::script::{Capture, Command, SqlCommand};
use crate::spec::{OnError, Protocol};
use crate::wire::frontend::{self, TooLong};

impl Session {
    pub(super) fn begin(&mut self, script: u16, due: Nanos, now: Nanos, work: &mut Work<'_>) -> Next {
        if let Some(rest) = self.rest_before(script, work) {
            return self.rest_until(script, now.saturating_add(rest));
        }
        self.start(script, due, now, work)
    }

    pub(super) fn start(&mut self, script: u16, due: Nanos, now: Nanos, work: &mut Work<'_>) -> Next {
        let transaction = &mut self.transaction;
        transaction.script = script;
        transaction.command = 0;
        transaction.tries = 1;
        transaction.due = due;
        transaction.began = now;
        transaction.prng = self.prng;
        transaction.error = None;
        self.step(now, work)
    }

    pub(super) fn wake(&mut self, now: Nanos, work: &mut Work<'_>) -> Next {
        match self.state {
            State::Asleep => self.pass_statement(now, work),
            // Latency counts from the end of the rest.
            State::Resting => self.start(self.transaction.script, self.transaction.due, now, work),
            _ => Next::Answer,
        }
    }

    /// The statement that waited for something other than the server is over: count it and go on.
    pub(super) fn pass_statement(&mut self, now: Nanos, work: &mut Work<'_>) -> Next {
        let statement = self.place(work).statement;
        let latency = now.saturating_sub(self.transaction.statement_began);
        work.recorder
            .statement(self.transaction.script, statement, now, latency);
        self.transaction.command += 1;
        self.step(now, work)
    }

    /// The place of the command that runs.
    pub(super) fn place(&self, work: &Work<'_>) -> Place {
        let routine = work.program.routines.get(usize::from(self.transaction.script));
        let place = routine.and_then(|routine| routine.places.get(self.transaction.command as usize));
        place.copied().unwrap_or_default()
    }

    /// The index of the statement that runs.
    pub(super) fn statement(&self, work: &Work<'_>) -> Option<u32> {
        if self.terminal.is_none() {
            return self.place(work).statement;
        }
        let failed = self.transaction.error.and_then(|fault| fault.statement);
        self.sent.iter().find_map(|(statement, _)| *statement).or(failed)
    }

    /// The command that runs.
    pub(super) fn command<'a>(&self, work: &Work<'a>) -> Option<&'a Command> {
        let routine = work.program.routines.get(usize::from(self.transaction.script))?;
        routine.commands.get(self.transaction.command as usize)
    }

    /// Runs commands until the client has to wait.
    pub(super) fn step(&mut self, now: Nanos, work: &mut Work<'_>) -> Next {
        if self.terminal.is_some() {
            return self.begin_tpcc(now, work);
        }
        loop {
            if work.ending {
                self.state = State::Free;
                return Next::Free;
            }
            let Some(command) = self.command(work) else {
                return self.end_of_script(now, work);
            };
            let outcome = match command {
                Command::Sql(sql) => self.send(sql, now, work),
                Command::Sleep { sleep, .. } => {
                    let micros = sleep.microseconds(&self.variables);
                    micros
                        .map(|micros| self.rest(micros, now))
                        .map_err(|error| Complaint::Execution(error.describe(&work.program.names, &self.variables)))
                }
                Command::Shell { shell, .. } => self.ask_shell(shell, false, now, work),
                Command::SetShell { shell, .. } => self.ask_shell(shell, true, now, work),
                Command::StartPipeline { .. } | Command::SyncPipeline { .. } | Command::EndPipeline { .. } => {
                    self.pipeline(command, now, work).map_err(Complaint::Misplaced)
                }
                _ => self
                    .compute(command, work)
                    .map(|()| None)
                    .map_err(Complaint::Evaluation),
            };
            match outcome {
                Ok(None) => {}
                Ok(Some(next)) => return next,
                Err(complaint) => {
                    self.say_complaint(&complaint, work);
                    return self.fail_script(command.line(), &complaint.cause(), now, work);
                }
            }
        }
    }

    /// Commands that only compute; their time is taken if they are listed.
    fn compute(&mut self, command: &Command, work: &mut Work<'_>) -> Result<(), String> {
        let statement = self.place(work).statement;
        if statement.is_none() {
            self.transaction.command = self.evaluate(command, work)?;
            return Ok(());
        }
        let began = work.clock.now();
        let following = self.evaluate(command, work)?;
        let now = work.clock.now();
        work.recorder
            .statement(self.transaction.script, statement, now, now.saturating_sub(began));
        self.transaction.command = following;
        Ok(())
    }

    fn evaluate(&mut self, command: &Command, work: &Work<'_>) -> Result<u32, String> {
        let outcome = self.following(command, work);
        if self.variables.has_debug() {
            self.print_debug(work);
        }
        outcome
    }

    /// Does what the command says, and gives the index of the next.
    fn following(&mut self, command: &Command, work: &Work<'_>) -> Result<u32, String> {
        let mut following = self.transaction.command as usize + 1;
        match command {
            Command::Set { slot, expr, .. } => {
                let value = expr.eval(&mut self.variables, &mut self.prng);
                let value = value.map_err(|error| error.describe(&work.program.names, &self.variables))?;
                self.variables.set(*slot, value);
            }
            Command::If {
                condition, otherwise, ..
            } => {
                let holds = condition.is_true(&mut self.variables, &mut self.prng);
                if !holds.map_err(|error| error.describe(&work.program.names, &self.variables))? {
                    following = *otherwise;
                }
            }
            Command::Draw { .. } => {
                let values = self
                    .place(work)
                    .values
                    .and_then(|index| work.program.values.get(index as usize));
                if let Some(values) = values {
                    values.draw(&mut self.variables);
                }
            }
            Command::Jump { target, .. } => following = *target,
            _ => return Err("this command is not supported".to_owned()),
        }
        Ok(u32::try_from(following).unwrap_or(u32::MAX))
    }

    fn send(&mut self, sql: &SqlCommand, now: Nanos, work: &mut Work<'_>) -> Result<Option<Next>, Complaint> {
        if let (true, Some(capture)) = (self.in_pipeline, sql.capture()) {
            return Err(Complaint::Misplaced(match capture {
                Capture::Gset { .. } => "\\gset is not allowed in pipeline mode",
                Capture::Aset { .. } => "\\aset is not allowed in pipeline mode",
            }));
        }
        let place = self.place(work);
        self.transaction.results = 0;
        self.transaction.statement_began = now;
        match work.program.protocol {
            Protocol::Simple => frontend::query(sql, &self.variables, &mut work.out)?,
            Protocol::Extended => {
                frontend::parse("", sql.prepared_text(), &mut work.out)?;
                frontend::bind_describe_execute("", sql, &self.variables, &mut work.out)?;
            }
            Protocol::Prepared => self.send_prepared(place.prepared, sql, work)?,
        }
        if self.in_pipeline {
            self.sent.push_back((place.statement, now));
            self.transaction.command += 1;
            return Ok(None);
        }
        if work.program.protocol != Protocol::Simple {
            frontend::sync(&mut work.out);
        }
        if sql.capture().is_some() {
            self.rows.get_or_insert_default().begin();
        }
        self.syncs = 1;
        self.state = State::Busy;
        Ok(Some(Next::Answer))
    }

    fn send_prepared(&mut self, prepared: Option<u32>, sql: &SqlCommand, work: &mut Work<'_>) -> Result<(), TooLong> {
        let Some(index) = prepared else { return Ok(()) };
        let Some(statement) = work.program.prepared.get(index as usize) else {
            return Ok(());
        };
        self.parse_once(index, statement, &mut work.out)?;
        frontend::bind_describe_execute(&statement.name, sql, &self.variables, &mut work.out)
    }

    /// A statement that this session has not prepared is prepared with its first use; whether it was now.
    pub(super) fn parse_once(&mut self, index: u32, statement: &Prepared, out: &mut Vec<u8>) -> Result<bool, TooLong> {
        let is_new = !self.is_prepared(index) && !self.parsing.contains(&index);
        if is_new {
            frontend::parse(&statement.name, &statement.sql, out)?;
            self.parsing.push_back(index);
        }
        Ok(is_new)
    }

    fn rest(&mut self, micros: i64, now: Nanos) -> Option<Next> {
        self.transaction.statement_began = now;
        let Some(micros) = u64::try_from(micros).ok().filter(|micros| *micros > 0) else {
            self.transaction.command += 1;
            return None;
        };
        self.state = State::Asleep;
        Some(Next::At(now.saturating_add(micros.saturating_mul(1_000))))
    }

    fn pipeline(&mut self, command: &Command, now: Nanos, work: &mut Work<'_>) -> Result<Option<Next>, &'static str> {
        match command {
            Command::StartPipeline { .. } => {
                if work.program.protocol == Protocol::Simple {
                    return Err("cannot use pipeline mode with the simple query protocol");
                }
                if self.in_pipeline {
                    return Err("already in pipeline mode");
                }
                self.in_pipeline = true;
                self.transaction.results = 0;
                self.prepare_pipeline(work);
            }
            _ if !self.in_pipeline => return Err("not in pipeline mode"),
            Command::SyncPipeline { .. } => {
                frontend::sync(&mut work.out);
                self.syncs += 1;
            }
            _ => {
                self.transaction.statement_began = now;
                frontend::sync(&mut work.out);
                self.syncs += 1;
                self.state = State::Busy;
                return Ok(Some(Next::Answer));
            }
        }
        self.transaction.command += 1;
        Ok(None)
    }

    /// The script itself is at fault.
    pub(super) fn fail_script(&mut self, line: u32, problem: &str, now: Nanos, work: &mut Work<'_>) -> Next {
        let statement = self.place(work).statement;
        let fault = self.fault(statement, Code::Script, work);
        let message = format!("line {line}: {problem}");
        work.recorder.trouble(&self.course(), fault, message.as_bytes(), now);
        self.transaction.error = Some(fault);
        let aborts = work.rules.on_error != OnError::Continue;
        if aborts && self.in_pipeline {
            // The end of the connection undoes what the pipeline has done since its last Sync.
            return self.after_failure(now, work);
        }
        if self.in_pipeline {
            // What was sent must be answered before anything else.
            self.transaction.statement_began = now;
            frontend::sync(&mut work.out);
            self.syncs += 1;
            self.state = State::Busy;
            return Next::Answer;
        }
        self.failed(now, work)
    }
}

//! A client that is a terminal of TPC-C: it sends the batches of its transactions and hands over what is answered.

use super::{Next, Session, State, Work};
use crate::clock::Nanos;
use crate::record::Code;
use crate::tpcc::{End, Kind, Missing, Terminal, Turn};
use crate::wire::frontend::{self, TooLong};

impl Session {
    /// How long the terminal rests before this transaction, if terminals rest at all.
    pub(super) fn rest_before(&mut self, script: u16, work: &Work<'_>) -> Option<Nanos> {
        let tpcc = work.program.tpcc.as_ref().filter(|tpcc| tpcc.plan.waits)?;
        let terminal = self.terminal.as_ref()?;
        Some(terminal.rest(Kind::of(script)?, &tpcc.plan, &mut self.prng))
    }

    /// Nothing runs until then.
    pub(super) fn rest_until(&mut self, script: u16, at: Nanos) -> Next {
        self.transaction.script = script;
        self.transaction.due = at;
        self.state = State::Resting;
        Next::At(at)
    }

    /// Begins the transaction, or begins it again.
    pub(super) fn begin_tpcc(&mut self, now: Nanos, work: &mut Work<'_>) -> Next {
        let began = match (
            &mut self.terminal,
            &work.program.tpcc,
            Kind::of(self.transaction.script),
        ) {
            (Some(terminal), Some(tpcc), Some(kind)) => terminal.begin(kind, &tpcc.plan, &mut self.prng),
            _ => Ok(()),
        };
        match began {
            Ok(()) => self.send_batch(now, work),
            Err(missing) => self.fail_tpcc(missing, now, work),
        }
    }

    /// The batch has been answered.
    pub(super) fn go_on_tpcc(&mut self, now: Nanos, work: &mut Work<'_>) -> Next {
        match self.terminal.as_mut().map(|terminal| terminal.next()) {
            Some(Ok(Turn::Ask)) => self.send_batch(now, work),
            Some(Ok(Turn::Ended(End::RolledBack))) => {
                work.recorder.rolled_back(&self.course(), now);
                self.ended(now, work)
            }
            Some(Ok(Turn::Ended(End::Committed))) | None => self.end_of_script(now, work),
            Some(Err(missing)) => self.fail_tpcc(missing, now, work),
        }
    }

    /// Sends what the terminal wants to say, in one go.
    fn send_batch(&mut self, now: Nanos, work: &mut Work<'_>) -> Next {
        if work.ending {
            self.state = State::Free;
            return Next::Free;
        }
        self.in_pipeline = true;
        if let Some(terminal) = self.terminal.take() {
            let written = self.write_batch(&terminal, now, work);
            self.terminal = Some(terminal);
            if let Err(error) = written {
                return self.fail_script(0, &error.to_string(), now, work);
            }
        }
        frontend::sync(&mut work.out);
        self.transaction.statement_began = now;
        self.syncs = 1;
        self.state = State::Busy;
        Next::Answer
    }

    fn write_batch(&mut self, terminal: &Terminal, now: Nanos, work: &mut Work<'_>) -> Result<(), TooLong> {
        let program = work.program;
        for (sql, parameters, values) in terminal.batch.calls() {
            let number = sql.number();
            let Some(statement) = program.prepared.get(usize::from(number)) else {
                continue;
            };
            self.parse_once(u32::from(number), statement, &mut work.out)?;
            frontend::bind_execute(&statement.name, parameters, values, &mut work.out)?;
            self.sent.push_back((self.listed(number, work), now));
        }
        Ok(())
    }

    /// The index of a prepared statement among those of its transaction.
    fn listed(&self, number: u16, work: &Work<'_>) -> Option<u32> {
        let statements = &work.program.tpcc.as_ref()?.statements;
        statements.get(usize::from(number)).copied().flatten()
    }

    /// The database is not what it should be.
    fn fail_tpcc(&mut self, missing: Missing, now: Nanos, work: &mut Work<'_>) -> Next {
        let asked = self.terminal.as_ref().and_then(|terminal| terminal.asked());
        let statement = asked.and_then(|sql| self.listed(sql.number(), work));
        let message = missing.to_string();
        let course = self.course();
        let fault = self.fault(statement, Code::Script, work);
        work.recorder.trouble(&course, fault, message.as_bytes(), now);
        self.transaction.error = Some(fault);
        self.failed(now, work)
    }
}

//! How a transaction ends: it succeeded, it is tried again, or it has failed.

use super::{Next, Session, State, Work};
use crate::clock::{micros, Nanos};
use crate::record::Code;
use crate::spec::OnError;
use crate::wire::frontend;

impl Session {
    /// All commands are done.
    pub(super) fn end_of_script(&mut self, now: Nanos, work: &mut Work<'_>) -> Next {
        if self.in_pipeline {
            let problem = "end of script reached with pipeline open";
            self.say_aborted(problem, work);
            return self.fail_script(self.last_line(work), problem, now, work);
        }
        if self.status != b'I' {
            let problem = "end of script reached without completing the last transaction";
            self.say_aborted(problem, work);
            if work.rules.on_error == OnError::Continue {
                return self.fail_script(self.last_line(work), problem, now, work);
            }
            // pgbench counts it before it looks.
            let (course, fault) = (self.course(), self.fault(None, Code::Script, work));
            work.recorder.transaction(&course, now);
            work.recorder.trouble(&course, fault, problem.as_bytes(), now);
            work.recorder.aborted(&course, fault);
            self.state = State::Free;
            return Next::GivenUp;
        }
        work.recorder.transaction(&self.course(), now);
        self.ended(now, work)
    }

    fn last_line(&self, work: &Work<'_>) -> u32 {
        let routine = work.program.routines.get(usize::from(self.transaction.script));
        routine
            .and_then(|routine| routine.commands.last())
            .map_or(0, crate::script::Command::line)
    }

    /// Something went wrong, `transaction.error` says what: leave the transaction block, if there is one.
    pub(super) fn failed(&mut self, now: Nanos, work: &mut Work<'_>) -> Next {
        self.in_pipeline = false;
        self.sent.clear();
        if let Some(rows) = &mut self.rows {
            rows.wanted = false;
        }
        if let Some(fault) = self.transaction.error {
            work.recorder
                .statement_failed(self.transaction.script, fault.statement, now);
        }
        if self.status != b'I' && !work.ending {
            self.transaction.statement_began = now;
            frontend::rollback(&mut work.out);
            self.syncs = 1;
            self.state = State::Rollback;
            return Next::Answer;
        }
        self.after_failure(now, work)
    }

    pub(super) fn rolled_back(&mut self, now: Nanos, work: &mut Work<'_>) -> Next {
        let next = self.after_failure(now, work);
        if self.status != b'I' && next == Next::Free {
            return Next::Reconnect;
        }
        next
    }

    /// The session is out of the failed transaction: try again, or count it.
    pub(super) fn after_failure(&mut self, now: Nanos, work: &mut Work<'_>) -> Next {
        let Some(fault) = self.transaction.error.take() else {
            return self.ended(now, work);
        };
        if may_be_cured(fault.code, work) && self.may_retry(now, work) {
            let script = self.transaction.script;
            work.recorder.statement_retried(script, fault.statement, now);
            self.say_tried(true, self.age_us(now), work);
            self.transaction.tries += 1;
            self.transaction.command = 0;
            if keeps_inputs(work) {
                // The same numbers again; the variables stay as they are.
                self.prng = self.transaction.prng;
            }
            return self.step(now, work);
        }
        let course = self.course();
        let aborts = work.rules.on_error != OnError::Continue && !fault.code.is_retryable();
        if !aborts {
            self.say_tried(false, self.age_us(now), work);
        }
        work.recorder.transaction_failed(&course, fault, !aborts, now);
        let next = self.ended(now, work);
        // Nobody is given up for a statement that the end of the load has cancelled.
        if !aborts || work.ending {
            return next;
        }
        work.recorder.given_up(&course, fault, now);
        Next::GivenUp
    }

    fn age_us(&self, now: Nanos) -> u64 {
        micros(now.saturating_sub(self.transaction.due))
    }

    fn may_retry(&self, now: Nanos, work: &Work<'_>) -> bool {
        let rules = &work.rules;
        let tries_left = rules.max_tries == 0 || self.transaction.tries < rules.max_tries;
        let in_time = rules
            .latency_limit
            .is_none_or(|limit| now.saturating_sub(self.transaction.due) <= limit);
        tries_left && in_time && !work.recorder.is_over(now)
    }

    pub(super) fn ended(&mut self, now: Nanos, work: &Work<'_>) -> Next {
        self.state = State::Free;
        self.count_done(now, work);
        if work
            .rules
            .transactions_per_client
            .is_some_and(|limit| self.done >= limit)
        {
            Next::Finished
        } else if work.rules.reconnect {
            Next::Reconnect
        } else {
            Next::Free
        }
    }

    pub(super) fn count_done(&mut self, now: Nanos, work: &Work<'_>) {
        self.done += u64::from(work.recorder.is_measuring(now));
    }
}

/// Whether a transaction that ended like this may be tried again.
fn may_be_cured(code: Code, work: &Work<'_>) -> bool {
    match &work.program.tpcc {
        Some(tpcc) => tpcc.plan.may_cure(code),
        None => code.is_retryable(),
    }
}

/// Whether it is tried again with what it was tried with before.
fn keeps_inputs(work: &Work<'_>) -> bool {
    let tpcc = work.program.tpcc.as_ref();
    tpcc.is_none_or(|tpcc| tpcc.plan.keeps_inputs())
}

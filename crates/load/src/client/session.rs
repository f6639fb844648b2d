//! From a connection to a session that has prepared its statements.

use super::{Next, Session, State, Work};
use crate::clock::Nanos;
use crate::record::Code;
use crate::script::Command;
use crate::spec::OnError;
use crate::wire::{backend, frontend, Binding, Login, Message};

impl Session {
    /// The server can be asked for a session. `binding` is what a password can be bound to.
    pub(super) fn connected(&mut self, binding: Binding, work: &mut Work<'_>) -> Next {
        self.reset();
        match Login::start(work.identity, binding, &mut work.out) {
            Ok(login) => {
                self.state = State::Login(Box::new(login));
                Next::Answer
            }
            Err(error) => Next::Refused {
                code: Code::Protocol,
                message: error.to_string(),
            },
        }
    }

    /// Forgets what belonged to the old connection.
    pub(super) fn reset(&mut self) {
        self.state = State::Closed;
        self.status = b'I';
        self.key = None;
        self.prepared.fill(0);
        self.syncs = 0;
        self.in_pipeline = false;
        self.copy_refused = false;
        self.sent.clear();
        self.parsing.clear();
        self.transaction.error = None;
    }

    pub(super) fn lost(&mut self, code: Code, message: &str, now: Nanos, work: &mut Work<'_>) {
        if matches!(self.state, State::Busy | State::Rollback | State::Asleep | State::Shell) {
            let known = self.transaction.error;
            let statement = self.statement(work);
            let fault = known.unwrap_or_else(|| self.fault(statement, code, work));
            let script = self.transaction.script;
            if known.is_none() {
                work.recorder.trouble(&self.course(), fault, message.as_bytes(), now);
                self.say_lost(message, work);
            }
            let aborts = work.rules.on_error != OnError::Continue;
            work.recorder.statement_failed(script, fault.statement, now);
            work.recorder.transaction_failed(&self.course(), fault, !aborts, now);
            if aborts {
                work.recorder.given_up(&self.course(), fault, now);
            }
            self.count_done(now, work);
        }
        self.reset();
    }

    pub(super) fn login_message(&mut self, message: Message<'_>, work: &mut Work<'_>) -> Option<Next> {
        let State::Login(login) = &mut self.state else {
            return None;
        };
        match message.tag {
            b'R' => {
                let answered = login.answer(message.body, work.identity, &mut work.out);
                answered.err().map(|error| Next::Refused {
                    code: Code::Protocol,
                    message: error.to_string(),
                })
            }
            b'S' | b'K' | b'Z' if !login.is_done() => Some(Next::Refused {
                code: Code::Protocol,
                message: "the server began a session before authentication was complete".to_owned(),
            }),
            b'K' => {
                self.key = backend::cancel_key(message.body);
                None
            }
            b'E' => {
                let error = backend::server_error(message.body);
                let message = String::from_utf8_lossy(error.message).into_owned();
                Some(Next::Refused {
                    code: Code::State(error.sqlstate),
                    message,
                })
            }
            b'Z' => Some(self.prepare_all(work)),
            _ => None,
        }
    }

    /// Sends one Parse for every statement, each with its own Sync: what cannot be prepared yet, because the script
    /// creates its table first, is prepared when it is used.
    fn prepare_all(&mut self, work: &mut Work<'_>) -> Next {
        // A session for a single transaction prepares only what that transaction uses.
        if work.program.prepared.is_empty() || work.rules.reconnect || !work.rules.prepare_at_connect {
            self.state = State::Free;
            return Next::Ready;
        }
        for statement in &work.program.prepared {
            if let Err(error) = frontend::parse(&statement.name, &statement.sql, &mut work.out) {
                let message = error.to_string();
                return Next::Refused {
                    code: Code::Script,
                    message,
                };
            }
            frontend::sync(&mut work.out);
        }
        self.state = State::Preparing(0);
        Next::Answer
    }

    /// Before a pipeline what it uses is prepared, each statement in a transaction of its own: in the pipeline's
    /// transaction its snapshot would keep BEGIN from choosing an isolation level.
    pub(super) fn prepare_pipeline(&mut self, work: &mut Work<'_>) {
        let Some(routine) = work.program.routines.get(usize::from(self.transaction.script)) else {
            return;
        };
        let after = self.transaction.command as usize + 1;
        let commands = routine.commands.iter().zip(&routine.places).skip(after);
        let inside = commands.take_while(|(command, _)| !matches!(command, Command::EndPipeline { .. }));
        for index in inside.filter_map(|(_, place)| place.prepared) {
            let Some(statement) = work.program.prepared.get(index as usize) else {
                continue;
            };
            // What no message can hold is refused where it is used.
            if self.parse_once(index, statement, &mut work.out).unwrap_or(false) {
                frontend::sync(&mut work.out);
                self.syncs += 1;
            }
        }
    }

    pub(super) fn preparing_message(&mut self, message: Message<'_>, at: u32, work: &Work<'_>) -> Option<Next> {
        match message.tag {
            b'1' => self.set_prepared(at),
            b'Z' if at as usize + 1 < work.program.prepared.len() => self.state = State::Preparing(at + 1),
            b'Z' => {
                self.state = State::Free;
                return Some(Next::Ready);
            }
            _ => {}
        }
        None
    }

    pub(super) fn set_prepared(&mut self, index: u32) {
        if let Some(bits) = self.prepared.get_mut((index / 64) as usize) {
            *bits |= 1 << (index % 64);
        }
    }

    pub(super) fn is_prepared(&self, index: u32) -> bool {
        self.prepared
            .get((index / 64) as usize)
            .is_some_and(|bits| bits & (1 << (index % 64)) != 0)
    }
}

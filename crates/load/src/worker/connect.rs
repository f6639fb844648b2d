//! Connecting: a limited number at once, again after a pause when the server is not ready, until the time is up.

use std::collections::VecDeque;

use super::{Phase, Worker};
use crate::clock::{seconds, Nanos};
use crate::event::EventKind;
use crate::io::{Address, Io};
use crate::record::Code;

const PAUSE_FIRST: Nanos = 5_000_000;
const PAUSE_MAX: Nanos = 500_000_000;
/// After so many sessions of a client that ended in nonsense the server is taken for something else than PostgreSQL.
const BROKEN_MAX: u32 = 3;

/// How a thread connects.
#[derive(Clone, Copy)]
pub struct ConnectPlan<'a> {
    /// Tried in turn.
    pub addresses: &'a [Address],
    /// How many connections may be on their way at once.
    pub window: usize,
    /// How long one may take, from the first try to a session.
    pub patience: Nanos,
}

/// How far one client has come.
#[derive(Clone, Default)]
struct Attempt {
    tries: u32,
    /// Which of the addresses the latest try went to.
    address: usize,
    /// It has had a session before.
    settled: bool,
    /// How many of its sessions ended in what is not PostgreSQL's protocol.
    broken: u32,
    began: Nanos,
    /// The server was asked, and has until then.
    ends: Nanos,
    /// What the last try failed of.
    problem: Option<(Code, String)>,
}

/// See the module.
pub(super) struct Connector<'a> {
    plan: ConnectPlan<'a>,
    waiting: VecDeque<usize>,
    underway: Vec<usize>,
    attempts: Vec<Attempt>,
    unsettled: usize,
    last_success: Nanos,
}

impl<'a> Connector<'a> {
    pub(super) fn new(plan: ConnectPlan<'a>, clients: usize) -> Self {
        Self {
            plan,
            waiting: (0..clients).collect(),
            underway: Vec::with_capacity(plan.window),
            attempts: vec![Attempt::default(); clients],
            unsettled: clients,
            last_success: 0,
        }
    }

    /// Every client has had a session, or was given up.
    pub(super) fn is_settled(&self) -> bool {
        self.unsettled == 0
    }

    /// The client wants a connection.
    pub(super) fn request(&mut self, client: usize) {
        self.waiting.push_back(client);
    }

    /// The client's next connection begins anew, with its first pause.
    pub(super) fn reset(&mut self, client: usize) {
        if let Some(attempt) = self.attempts.get_mut(client) {
            attempt.tries = 0;
            attempt.problem = None;
        }
    }

    /// Nobody waits for a connection any more.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.underway.clear();
    }

    /// Where the client is connected, or tries to be.
    pub(super) fn address(&self, client: usize) -> Option<&'a Address> {
        self.plan.addresses.get(self.attempts.get(client)?.address)
    }

    /// A session of the client ended in nonsense. True if another one is of no use.
    pub(super) fn is_broken_for_good(&mut self, client: usize) -> bool {
        let Some(attempt) = self.attempts.get_mut(client) else {
            return true;
        };
        attempt.broken += 1;
        attempt.broken >= BROKEN_MAX
    }

    /// The client is on its way to a session.
    pub(super) fn is_underway(&self, client: usize) -> bool {
        self.underway.contains(&client)
    }

    fn remove_underway(&mut self, client: usize) {
        if let Some(at) = self.underway.iter().position(|other| *other == client) {
            self.underway.swap_remove(at);
        }
    }

    fn settle(&mut self, client: usize) {
        if let Some(attempt) = self.attempts.get_mut(client).filter(|attempt| !attempt.settled) {
            attempt.settled = true;
            self.unsettled -= 1;
        }
    }
}

impl<I: Io> Worker<'_, I> {
    /// Begins as many connections as the window allows.
    pub(super) fn connect_more(&mut self, now: Nanos) {
        while self.connector.underway.len() < self.connector.plan.window {
            let Some(client) = self.connector.waiting.pop_front() else {
                return;
            };
            if self.is_gone(client) {
                continue;
            }
            let patience = self.connector.plan.patience;
            let Some(attempt) = self.connector.attempts.get_mut(client) else {
                continue;
            };
            if attempt.tries == 0 {
                attempt.began = now;
            }
            attempt.address = attempt.tries as usize % self.connector.plan.addresses.len().max(1);
            attempt.tries += 1;
            attempt.ends = if attempt.settled { now } else { attempt.began } + patience;
            self.connector.underway.push(client);
            let Some(address) = self.connector.address(client) else {
                continue;
            };
            if let Err(error) = self.io.connect(client, address) {
                let code = if is_hopeless(&error) {
                    Code::Protocol
                } else {
                    Code::Connection
                };
                self.refused(client, code, &format!("the server cannot be reached: {error}"), now);
            }
        }
    }

    /// A client has got a session.
    pub(super) fn connected(&mut self, client: usize, now: Nanos) {
        self.connector.remove_underway(client);
        if let (true, Some(attempt)) = (self.work.rules.reconnect, self.connector.attempts.get(client)) {
            self.work.recorder.connecting += now.saturating_sub(attempt.began);
        }
        self.connector.settle(client);
        self.connector.reset(client);
        self.connector.last_success = now;
        self.stage.add_connected();
        self.work.recorder.set_connected(true);
    }

    /// A try to connect has failed: another one later, or the client is given up.
    pub(super) fn refused(&mut self, client: usize, code: Code, message: &str, now: Nanos) {
        self.connector.remove_underway(client);
        self.io.close(client);
        if let Some(state) = self.clients.get_mut(client) {
            state.close();
        }
        if !matches!(self.phase, Phase::Connecting | Phase::Parked | Phase::Running) {
            return self.let_go(client);
        }
        let Some(attempt) = self.connector.attempts.get_mut(client) else {
            return;
        };
        let (began, settled) = (attempt.began, attempt.settled);
        if may_pass(code, settled) {
            attempt.problem = Some((code, message.to_owned()));
            let in_time = now + pause(attempt.tries) < began.saturating_add(self.connector.plan.patience);
            if settled || in_time {
                return self.reconnect_later(client, now);
            }
        }
        self.give_up(client, code, message);
    }

    /// Another try at once, in another way.
    pub(super) fn connect_anew(&mut self, client: usize) {
        self.connector.remove_underway(client);
        self.io.close(client);
        if let Some(state) = self.clients.get_mut(client) {
            state.close();
        }
        if matches!(self.phase, Phase::Connecting | Phase::Parked | Phase::Running) {
            self.connector.waiting.push_front(client);
        } else {
            self.let_go(client);
        }
    }

    /// Another try after a pause that grows with the number of tries.
    pub(super) fn reconnect_later(&mut self, client: usize, now: Nanos) {
        let tries = self.connector.attempts.get(client).map_or(0, |attempt| attempt.tries);
        // Another address of the same name is tried at once.
        let round = tries / u32::try_from(self.connector.plan.addresses.len().max(1)).unwrap_or(1);
        let another = round * u32::try_from(self.connector.plan.addresses.len().max(1)).unwrap_or(1) != tries;
        self.timers.set(client, if another { now } else { now + pause(round) });
    }

    /// Gives up connections that take too long.
    pub(super) fn check_connecting(&mut self, now: Nanos) {
        let patience = self.connector.plan.patience;
        let mut at = 0;
        let mut expired = false;
        while let Some(client) = self.connector.underway.get(at).copied() {
            let Some(attempt) = self.connector.attempts.get(client) else {
                return;
            };
            if now < attempt.ends {
                at += 1;
                continue;
            }
            expired = true;
            let settled = attempt.settled;
            let (code, message) = attempt.problem.clone().unwrap_or_else(|| timed_out(patience));
            if settled {
                self.refused(client, code, &message, now);
            } else {
                self.connector.remove_underway(client);
                self.io.close(client);
                self.give_up(client, code, &message);
            }
        }
        // A server that has let nobody in for so long will not begin now: the rest need not wait as long each.
        if expired && now >= self.connector.last_success.saturating_add(patience) {
            let (code, message) = timed_out(patience);
            for _ in 0..self.connector.waiting.len() {
                let Some(client) = self.connector.waiting.pop_front() else {
                    break;
                };
                if self
                    .connector
                    .attempts
                    .get(client)
                    .is_some_and(|attempt| attempt.settled)
                {
                    self.connector.waiting.push_back(client);
                } else {
                    self.give_up(client, code, &message);
                }
            }
        }
    }

    /// The client gets no session, ever.
    fn give_up(&mut self, client: usize, code: Code, message: &str) {
        if let Some(state) = self.clients.get_mut(client) {
            state.close();
        }
        self.work.recorder.client_lost(code, message.as_bytes());
        let number = self.first_client + client;
        self.work.recorder.event(EventKind::Error, || {
            format!("{message}\ncould not create connection for client {number}")
        });
        if self.all_clients {
            self.stage.abort(self.stage.clock.now());
        }
        self.connector.settle(client);
        self.let_go(client);
    }
}

fn timed_out(patience: Nanos) -> (Code, String) {
    (
        Code::Timeout,
        format!("the server did not answer within {} s", seconds(patience)),
    )
}

fn pause(tries: u32) -> Nanos {
    PAUSE_FIRST
        .saturating_mul(1 << tries.saturating_sub(1).min(16))
        .min(PAUSE_MAX)
}

/// Whether trying again may help: the server is starting, stopping, or full of sessions that were there before.
fn may_pass(code: Code, settled: bool) -> bool {
    match code {
        Code::Connection | Code::Timeout => true,
        Code::State(state) => {
            matches!(&state, b"57P01" | b"57P02" | b"57P03") || (settled && matches!(&state, b"53300" | b"53400"))
        }
        Code::Script | Code::Protocol | Code::Other => false,
    }
}

/// The fault is on our side and stays.
fn is_hopeless(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let hopeless = [Errno::MFILE, Errno::NFILE, Errno::ACCESS, Errno::PERM];
    error
        .raw_os_error()
        .is_some_and(|code| hopeless.iter().any(|errno| errno.raw_os_error() == code))
}

//! The end: what still runs is noted, may end within its grace, is cancelled, and is closed.

use std::collections::{HashMap, VecDeque};

use super::{Phase, Worker};
use crate::client::Client;
use crate::clock::{micros, Nanos, SECOND};
use crate::io::Io;
use crate::os;
use crate::pace::Pace;
use crate::result::InFlightResult;
use crate::tls::{Layer, TlsPlan};
use crate::wire::backend::CancelKey;
use crate::wire::frontend;

/// How long the server has to answer cancelled statements.
const CANCEL_GRACE: Nanos = SECOND;
/// How many requests to cancel are on their way at once.
const WINDOW: usize = 64;

/// Requests to cancel: each is a connection of its own, in the slots after the clients'.
#[derive(Default)]
pub(super) struct Cancels {
    waiting: VecDeque<(usize, CancelKey)>,
    underway: HashMap<usize, Cancel>,
}

/// One of them on its way; within TLS if the session is.
struct Cancel {
    key: CancelKey,
    is_encrypted: bool,
    layer: Layer,
    is_sent: bool,
}

impl<I: Io> Worker<'_, I> {
    /// Measuring is over: notes what runs, lets go what does not.
    pub(super) fn end_measuring(&mut self, now: Nanos) {
        let end = now.min(self.window.end);
        self.ended = end;
        self.cpu = self
            .cpu_before
            .map_or_else(Default::default, |before| os::thread_cpu().since(before));
        self.work.recorder.roll(end);
        self.work.recorder.close(end);
        if let Pace::Open(open) = &self.pace {
            self.unserved = open.unserved(self.window.start, end.min(self.window.closing));
        }
        for (client, state) in self.clients.iter().enumerate() {
            if let Some(running) = state.in_flight(&self.work) {
                self.in_flight.push(InFlightResult {
                    client: self.first_client + client,
                    script: self.work.program.script_name(running.script),
                    statement: running.statement.map_or(-1, i64::from),
                    age_us: micros(end.saturating_sub(running.due)),
                });
            }
        }
        self.phase = Phase::Draining {
            until: end.saturating_add(self.drain),
        };
        self.connector.clear();
        for client in 0..self.clients.len() {
            let Some(state) = self.clients.get(client) else { break };
            if state.is_free() || state.is_asleep() {
                self.retire(client);
            } else if !state.is_session() {
                self.io.close(client);
                self.let_go(client);
            }
        }
    }

    /// The time is over, and transactions that run may go on to their end: lets go who has none.
    pub(super) fn finish(&mut self) {
        self.phase = Phase::Finishing;
        self.connector.clear();
        for client in 0..self.clients.len() {
            let Some(state) = self.clients.get(client) else { break };
            if state.is_free() {
                self.retire(client);
            } else if !state.is_session() {
                self.io.close(client);
                self.let_go(client);
            }
        }
    }

    /// No client waits for the server.
    pub(super) fn nothing_runs(&self) -> bool {
        self.shells.is_empty() && !self.clients.iter().any(|client| client.waiting_since().is_some())
    }

    /// The grace is over: asks the server to cancel what still runs.
    pub(super) fn cancel_all(&mut self, now: Nanos) {
        self.work.ending = true;
        self.end_shells();
        self.phase = Phase::Cancelling {
            until: now + CANCEL_GRACE,
        };
        for client in 0..self.clients.len() {
            if self
                .clients
                .get(client)
                .is_some_and(|state| state.waiting_since().is_some())
            {
                self.cancel(client);
            }
        }
    }

    /// Asks the server to cancel what this client runs.
    pub(super) fn cancel(&mut self, client: usize) {
        if let Some(key) = self.clients.get(client).and_then(Client::cancel_key) {
            self.cancels.waiting.push_back((client, key));
            self.cancel_more();
        }
    }

    fn cancel_more(&mut self) {
        while self.cancels.underway.len() < WINDOW {
            let Some((client, key)) = self.cancels.waiting.pop_front() else {
                return;
            };
            let Some(address) = self.connector.address(client) else {
                continue;
            };
            if self.io.connect(self.clients.len() + client, address).is_ok() {
                let is_encrypted = self.clients.get(client).is_some_and(Client::is_encrypted);
                let cancel = Cancel {
                    key,
                    is_encrypted,
                    layer: Layer::Plain,
                    is_sent: false,
                };
                self.cancels.underway.insert(client, cancel);
            }
        }
    }

    /// Something happened to a connection that carries a request to cancel: bytes came (none: it stands), or it is gone.
    /// The server never answers, it hangs up.
    pub(super) fn cancel_event(&mut self, slot: usize, event: Option<Vec<u8>>) {
        let client = slot.saturating_sub(self.clients.len());
        let tls = self.work.tls;
        if let (Some(bytes), Some(cancel)) = (event, self.cancels.underway.get_mut(&client)) {
            let mut request = Vec::new();
            if cancel.advance(&bytes, tls, &mut request).is_ok() {
                self.io.send(slot, &request);
                return;
            }
        }
        self.io.close(slot);
        self.cancels.underway.remove(&client);
        self.cancel_more();
    }

    /// Closes everything at once.
    pub(super) fn stop(&mut self, now: Nanos) {
        if matches!(self.phase, Phase::Running | Phase::Finishing) {
            self.end_measuring(now);
        }
        self.ended = self.ended.max(self.window.warm_up.min(now));
        self.shells.kill_all();
        for client in 0..self.clients.len() {
            self.io.close(client);
            if self.clients.get(client).is_some_and(Client::is_session) {
                self.stage.remove_connected();
                self.work.recorder.set_connected(false);
            }
        }
        self.phase = Phase::Over;
    }
}

impl Cancel {
    fn advance(&mut self, bytes: &[u8], tls: Option<&TlsPlan>, out: &mut Vec<u8>) -> Result<(), String> {
        match tls.filter(|_| self.is_encrypted) {
            Some(plan) if !bytes.is_empty() => self.layer.receive(bytes, plan, &mut Vec::new())?,
            Some(plan) => self.layer = Layer::open(Some(plan), out)?,
            None => {}
        }
        if self.layer.is_ready() && !self.is_sent {
            frontend::cancel(self.key, out);
            self.is_sent = true;
        }
        self.layer.seal(out);
        Ok(())
    }
}

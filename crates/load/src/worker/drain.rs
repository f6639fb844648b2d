//! The end: what still runs is noted, may end within its grace, is cancelled, and is closed.

use std::collections::{HashMap, VecDeque};

use super::{Phase, Worker};
use crate::client::Client;
use crate::clock::{micros, Nanos, SECOND};
use crate::io::Io;
use crate::os;
use crate::pace::Pace;
use crate::result::InFlightResult;
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
    underway: HashMap<usize, CancelKey>,
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
        self.work.recorder.close();
        if let Pace::Open(open) = &self.pace {
            self.unserved = open.unserved(self.window.start, end);
        }
        for (client, state) in self.clients.iter().enumerate() {
            if let Some(running) = state.in_flight(&self.work) {
                self.in_flight.push(InFlightResult {
                    client: self.first_client + client,
                    script: self.work.program.script_name(running.script),
                    statement: running.statement.map_or(-1, i32::from),
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
            }
        }
    }

    /// No client waits for the server.
    pub(super) fn nothing_runs(&self) -> bool {
        !self.clients.iter().any(|client| client.waiting_since().is_some())
    }

    /// The grace is over: asks the server to cancel what still runs.
    pub(super) fn cancel_all(&mut self, now: Nanos) {
        self.work.ending = true;
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
                self.cancels.underway.insert(client, key);
            }
        }
    }

    /// Something happened to a connection that carries a request to cancel. The server never answers it, it hangs up.
    pub(super) fn cancel_event(&mut self, slot: usize, connected: bool) {
        let client = slot.saturating_sub(self.clients.len());
        if let (true, Some(key)) = (connected, self.cancels.underway.get(&client)) {
            let mut request = Vec::with_capacity(16);
            frontend::cancel(*key, &mut request);
            self.io.send(slot, &request);
            return;
        }
        self.io.close(slot);
        self.cancels.underway.remove(&client);
        self.cancel_more();
    }

    /// Closes everything at once.
    pub(super) fn stop(&mut self, now: Nanos) {
        if self.phase == Phase::Running {
            self.end_measuring(now);
        }
        self.ended = self.ended.max(self.window.warm_up.min(now));
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

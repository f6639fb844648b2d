//! Serving what the kernel reports, and doing what clients ask for.

use super::{Phase, Worker};
use crate::client::Next;
use crate::clock::{Nanos, NEVER, SECOND};
use crate::io::{Event, Io};
use crate::record::Code;
use crate::spec::OnError;

/// After how many events that came together the clock is read again.
const CLOCK_EVERY: usize = 16;

impl<I: Io> Worker<'_, I> {
    /// Serves all events of the last wait.
    pub(super) fn serve(&mut self, awake: Nanos) {
        let mut now = awake;
        let bell = self.bell_slot();
        for served in 1_usize.. {
            if matches!(self.phase, Phase::Running | Phase::Finishing) && now >= self.window.end {
                self.end_measuring(now);
            }
            let Some((slot, event)) = self.io.next() else { return };
            if slot == bell {
                self.serve_shells();
                continue;
            }
            // Fields, since the event borrows the reader.
            if self.gone.get(slot).copied().unwrap_or(false) {
                continue;
            }
            let Some(client) = self.clients.get_mut(slot) else {
                let event = match event {
                    Event::Connected => Some(Vec::new()),
                    Event::Received(bytes) => Some(bytes.to_vec()),
                    Event::Closed(_) => None,
                };
                self.cancel_event(slot, event);
                continue;
            };
            match event {
                Event::Connected => {
                    let next = client.connected(&mut self.work);
                    self.settle(slot, next, now, false);
                }
                Event::Received(bytes) => {
                    let next = client.receive(bytes, now, &mut self.work);
                    self.settle(slot, next, now, false);
                }
                Event::Closed(error) => {
                    let message = format!("the connection was lost: {error}");
                    self.hung_up(slot, Code::Connection, &message, now);
                }
            }
            if !I::IS_BATCHED || served % CLOCK_EVERY == 0 {
                now = self.stage.clock.now();
            }
        }
    }

    /// Does what the client needs next. `begun` says that it has begun a transaction in this turn already: a client
    /// whose transactions need no server must not keep the others waiting.
    pub(super) fn settle(&mut self, client: usize, next: Next, now: Nanos, begun: bool) {
        let (mut next, mut begun) = (next, begun);
        loop {
            if !self.work.out.is_empty() {
                self.io.send(client, &self.work.out);
                self.work.out.clear();
            }
            next = match next {
                Next::Answer => return,
                Next::Ready | Next::Free => {
                    if next == Next::Ready {
                        self.connected(client, now);
                    }
                    match self.free(client, now, begun) {
                        Some(next) => next,
                        None => return,
                    }
                }
                other => return self.leave(client, other, now),
            };
            begun = true;
        }
    }

    /// A client has a session and no transaction.
    fn free(&mut self, client: usize, now: Nanos, begun: bool) -> Option<Next> {
        match self.phase {
            // Who is free after the time was over, but before this thread has looked, begins nothing more.
            Phase::Running if now >= self.window.closing || !self.is_on(now) => self.idle.push_back((client, now)),
            Phase::Running if begun => self.again.push_back(client),
            Phase::Running => return self.begin(client, now, None),
            Phase::Connecting | Phase::Parked => self.idle.push_back((client, now)),
            Phase::Finishing | Phase::Draining { .. } | Phase::Cancelling { .. } | Phase::Over => self.retire(client),
        }
        None
    }

    /// A client that goes on otherwise than with the next transaction.
    fn leave(&mut self, client: usize, next: Next, now: Nanos) {
        match next {
            Next::Answer | Next::Ready | Next::Free => {}
            Next::At(at) => self.timers.set(client, at),
            Next::Shell => self.start_shell(client),
            Next::Reconnect if self.phase == Phase::Running => {
                self.drop_session(client);
                self.connector.request(client);
            }
            Next::Reconnect => self.retire(client),
            Next::Finished => {
                self.done += 1;
                self.retire(client);
            }
            Next::GivenUp => {
                self.work.recorder.clients_lost += 1;
                self.retire(client);
                if self.work.rules.on_error == OnError::AbortLoad {
                    self.stage.abort(now);
                }
            }
            Next::Anew => self.connect_anew(client),
            Next::Refused { code, message } => self.refused(client, code, &message, now),
            Next::Broken { message } => self.hung_up(client, Code::Protocol, &message, now),
        }
    }

    /// The connection is of no use any more.
    pub(super) fn hung_up(&mut self, client: usize, code: Code, message: &str, now: Nanos) {
        let Some(state) = self.clients.get_mut(client) else {
            return;
        };
        // A server may say that a session has begun and break it in the same breath: then it never counted.
        if !state.is_session() || self.connector.is_underway(client) {
            return self.refused(client, code, message, now);
        }
        let was_free = state.is_free();
        self.shells.kill(client);
        state.lost(code, message, now, &mut self.work);
        let done = state.is_done(&self.work.rules);
        self.io.close(client);
        self.stage.remove_connected();
        self.work.recorder.set_connected(false);
        let is_hopeless = code == Code::Protocol && self.connector.is_broken_for_good(client);
        let aborts = !was_free && self.work.rules.on_error != OnError::Continue;
        if aborts || (is_hopeless && !done) {
            match was_free {
                true => self.work.recorder.client_lost(code, message.as_bytes()),
                false => self.work.recorder.clients_lost += 1,
            }
            self.let_go(client);
            if self.work.rules.on_error == OnError::AbortLoad {
                self.stage.abort(now);
            }
        } else if done {
            self.done += 1;
            self.let_go(client);
        } else if matches!(self.phase, Phase::Connecting | Phase::Parked | Phase::Running) {
            self.work.recorder.reconnects += 1;
            self.connector.reset(client);
            self.reconnect_later(client, now);
        } else {
            self.let_go(client);
        }
    }

    /// Says good-bye and closes the session; the client does nothing more.
    pub(super) fn retire(&mut self, client: usize) {
        self.drop_session(client);
        self.let_go(client);
    }

    /// The client does nothing more: what it has asked to be woken for is void, and what comes for it is not read.
    pub(super) fn let_go(&mut self, client: usize) {
        if let Some(gone) = self.gone.get_mut(client).filter(|gone| !**gone) {
            *gone = true;
            self.alive -= 1;
            self.timers.clear(client);
        }
    }

    pub(super) fn is_gone(&self, client: usize) -> bool {
        self.gone.get(client).copied().unwrap_or(false)
    }

    /// Says good-bye and closes the session.
    fn drop_session(&mut self, client: usize) {
        if let Some(state) = self.clients.get_mut(client) {
            state.good_bye(&mut self.work);
        }
        self.io.send(client, &self.work.out);
        self.work.out.clear();
        self.io.close(client);
        if let Some(state) = self.clients.get_mut(client) {
            if state.is_session() {
                self.stage.remove_connected();
                self.work.recorder.set_connected(false);
            }
            state.close();
        }
    }

    /// Wakes clients from `\sleep` and from the pause before another try to connect.
    pub(super) fn wake_due(&mut self, now: Nanos) {
        while let Some(client) = self.timers.pop(now) {
            let is_off = self.phase == Phase::Running && !self.is_on(now);
            let Some(state) = self.clients.get_mut(client) else {
                continue;
            };
            if is_off && state.is_resting() {
                let next = self.windows.as_ref().map_or(NEVER, |windows| windows.next_begin(now));
                state.rest_longer(next);
                self.timers.set(client, next);
            } else if state.is_asleep() {
                let next = state.wake(now, &mut self.work);
                self.settle(client, next, now, false);
            } else if !state.is_session() && matches!(self.phase, Phase::Connecting | Phase::Parked | Phase::Running) {
                self.connector.request(client);
            }
        }
    }

    /// Gives up what has waited too long.
    pub(super) fn tick(&mut self, now: Nanos) {
        if now < self.next_tick {
            return;
        }
        self.next_tick = now + super::TICK;
        self.check_connecting(now);
        self.serve_shells();
        let Some(limit) = self.statement_timeout else { return };
        for client in 0..self.clients.len() {
            let Some(state) = self.clients.get(client) else {
                continue;
            };
            if state
                .waiting_since()
                .is_some_and(|since| now.saturating_sub(since) > limit)
            {
                let message = format!("no answer within {} s", limit as f64 / SECOND as f64);
                self.cancel(client);
                self.hung_up(client, Code::Timeout, &message, now);
            }
        }
    }
}

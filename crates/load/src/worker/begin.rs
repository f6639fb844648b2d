//! Giving transactions to free clients.

use super::{Phase, Worker};
use crate::client::Next;
use crate::clock::Nanos;
use crate::io::Io;
use crate::pace::{Pace, Turn};
use crate::script::choose_script;

impl<I: Io> Worker<'_, I> {
    /// Begins what is due: first for clients that have just ended a transaction, then for those that wait.
    pub(super) fn begin_due(&mut self, now: Nanos) {
        if self.phase != Phase::Running {
            return;
        }
        if !self.is_on(now) {
            self.idle.extend(self.again.drain(..).map(|client| (client, now)));
            return;
        }
        for _ in 0..self.again.len() {
            let Some(client) = self.again.pop_front() else { break };
            self.begin_or_wait(client, now, None);
        }
        while let Some((client, since)) = self.idle.front().copied() {
            if self.pace.next_due().is_some_and(|due| due > now) {
                break;
            }
            self.idle.pop_front();
            self.begin_or_wait(client, now, Some(since));
        }
    }

    /// Begins the client's next transaction, or lets it wait for one.
    fn begin_or_wait(&mut self, client: usize, now: Nanos, idle_since: Option<Nanos>) {
        if !self.clients.get(client).is_some_and(crate::client::Client::is_free) {
            return;
        }
        if let Some(next) = self.begin(client, now, idle_since) {
            self.settle(client, next, now, true);
        }
    }

    /// Begins the client's next transaction if one is due; else the client joins those that wait.
    pub(super) fn begin(&mut self, client: usize, now: Nanos, idle_since: Option<Nanos>) -> Option<Next> {
        let script = self.chosen.take().unwrap_or_else(|| self.choose());
        loop {
            match self.pace.take(now) {
                Turn::Begin { due, slot } => {
                    if let Pace::Open(_) = self.pace {
                        // A slot that found no free client is late because of the server, not of the generator.
                        let lag = idle_since.map(|since| now.saturating_sub(due.max(since)));
                        self.work.recorder.slot(now, slot, lag);
                    }
                    return Some(self.clients.get_mut(client)?.begin(script, due, now, &mut self.work));
                }
                Turn::Skip { due, slot } => {
                    self.work.recorder.slot(now, slot, None);
                    let number = self.first_client + client;
                    self.work.recorder.skipped(number, script, due, now);
                    let state = self.clients.get_mut(client)?;
                    state.skip(now, &self.work);
                    if state.is_done(&self.work.rules) {
                        return Some(Next::Finished);
                    }
                }
                Turn::Wait { .. } => {
                    self.chosen = Some(script);
                    self.idle.push_back((client, idle_since.unwrap_or(now)));
                    return None;
                }
            }
        }
    }

    /// Whether transactions may begin: between the windows of an interleaved load they may not.
    pub(super) fn is_on(&self, now: Nanos) -> bool {
        self.windows.as_ref().is_none_or(|windows| windows.is_on(now))
    }

    fn choose(&mut self) -> u16 {
        u16::try_from(choose_script(&self.work.program.weights, &mut self.choice)).unwrap_or(0)
    }
}

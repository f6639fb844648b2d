//! The shell commands of a thread's clients. A command that has ended rings a bell, a connection that the thread has to
//! itself, so that one wait serves the server and the shell.

use std::collections::HashMap;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, OnceLock};

use super::Worker;
use crate::io::{Address, Io};
use crate::os::PrivateListener;
use crate::shell::{ShellOutcome, ShellProcess, ShellRequest};

/// Tells the bells of this process apart.
static BELLS: AtomicU64 = AtomicU64::new(0);

/// Rung by the threads that watch commands.
struct Bell {
    at: PrivateListener,
    stream: OnceLock<Option<UnixStream>>,
}

impl Bell {
    fn new() -> std::io::Result<(Self, Address)> {
        let number = BELLS.fetch_add(1, Ordering::Relaxed);
        let name = format!("pgclinic-load-{}-{number}", std::process::id());
        let (at, address) = PrivateListener::new(&name)?;
        let stream = OnceLock::new();
        Ok((Self { at, stream }, Address::Unix(address)))
    }

    fn ring(&self) {
        use std::io::Write;
        let stream = self
            .stream
            .get_or_init(|| self.at.listener.accept().ok().map(|(stream, _)| stream));
        // Without it the thread looks at its next tick.
        if let Some(mut stream) = stream.as_ref() {
            let _ = stream.write_all(&[0]);
        }
    }
}

/// A command that has ended.
struct Finished {
    client: usize,
    ticket: u64,
    outcome: ShellOutcome,
}

/// See the module.
pub(super) struct Shells {
    bell: Option<Arc<Bell>>,
    sender: Sender<Finished>,
    finished: Receiver<Finished>,
    /// By client: the number of the command, and the command.
    running: HashMap<usize, (u64, ShellProcess)>,
    tickets: u64,
}

impl Shells {
    pub(super) fn new() -> Self {
        let (sender, finished) = mpsc::channel();
        Self {
            bell: None,
            sender,
            finished,
            running: HashMap::new(),
            tickets: 0,
        }
    }

    /// Whether no command runs.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Ends all commands.
    pub(super) fn kill_all(&mut self) {
        for (_, (_, process)) in self.running.drain() {
            process.kill();
        }
    }

    /// Ends the client's command, if it has one.
    pub(super) fn kill(&mut self, client: usize) {
        if let Some((_, process)) = self.running.remove(&client) {
            process.kill();
        }
    }

    /// Starts a command; whatever happens, it will be among the finished.
    fn start(&mut self, client: usize, request: ShellRequest, bell: Option<Arc<Bell>>) {
        self.kill(client);
        self.tickets += 1;
        let ticket = self.tickets;
        let process = ShellProcess::default();
        self.running.insert(client, (ticket, process.clone()));
        let sender = self.sender.clone();
        let watch = move || {
            let outcome = process.run(request);
            // Nobody listens any more when the load is over.
            let _ = sender.send(Finished {
                client,
                ticket,
                outcome,
            });
            if let Some(bell) = bell {
                bell.ring();
            }
        };
        let thread = std::thread::Builder::new().name("load-shell".to_owned());
        if let Err(error) = thread.spawn(watch) {
            let outcome = Err(format!("no thread for the shell command: {error}"));
            let _ = self.sender.send(Finished {
                client,
                ticket,
                outcome,
            });
        }
    }

    fn next_finished(&mut self) -> Option<(usize, ShellOutcome)> {
        while let Ok(finished) = self.finished.try_recv() {
            let ticket = self.running.get(&finished.client).map(|(ticket, _)| *ticket);
            if ticket == Some(finished.ticket) {
                self.running.remove(&finished.client);
                return Some((finished.client, finished.outcome));
            }
        }
        None
    }
}

impl Drop for Shells {
    fn drop(&mut self) {
        self.kill_all();
    }
}

impl<I: Io> Worker<'_, I> {
    /// The slot of the bell: after those of clients and of requests to cancel.
    pub(super) fn bell_slot(&self) -> usize {
        2 * self.clients.len()
    }

    /// Starts the command that the client has asked for.
    pub(super) fn start_shell(&mut self, client: usize) {
        let Some(request) = self.work.shell.take() else { return };
        if self.shells.bell.is_none() {
            // A bell that cannot be had is no reason to fail: ticks are the slower way.
            if let Ok((bell, address)) = Bell::new() {
                let slot = self.bell_slot();
                if self.io.connect(slot, &address).is_ok() {
                    self.shells.bell = Some(Arc::new(bell));
                }
            }
        }
        let bell = self.shells.bell.clone();
        self.shells.start(client, request, bell);
    }

    /// Clients whose commands have ended go on.
    pub(super) fn serve_shells(&mut self) {
        while let Some((client, outcome)) = self.shells.next_finished() {
            // Starting the commands of others takes time.
            let now = self.stage.clock.now();
            if let Some(state) = self.clients.get_mut(client) {
                let next = state.shell_ended(outcome, now, &mut self.work);
                self.settle(client, next, now, false);
            }
        }
    }

    /// The grace is over: ends all commands, and their clients with them.
    pub(super) fn end_shells(&mut self) {
        self.shells.kill_all();
        for client in 0..self.clients.len() {
            if self.clients.get(client).is_some_and(crate::client::Client::is_in_shell) {
                self.retire(client);
            }
        }
    }
}

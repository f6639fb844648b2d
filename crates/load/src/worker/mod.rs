//! One thread of the engine: an event loop over its clients.
//!
//! ```text
//! Connecting ──all settled──> Parked ──all threads settled──> Running ──end of measuring──> Draining
//!                                    Running ──time over, transactions may end──> Finishing ──> Draining
//!                                                                 Draining ──grace over──> Cancelling ──> Over
//! ```
//! Each turn of the loop: move to the next stage if it is time, wake what is due, begin transactions, wait for the
//! kernel (at most [`TICK`]), serve every event. Nothing else blocks.

mod begin;
mod connect;
mod drain;
mod events;
mod shells;
mod timers;

use std::collections::VecDeque;
use std::time::Duration;

use crate::client::{Client, Work};
use crate::clock::{nanos_from_s, Nanos, NEVER};
use crate::error::LoadError;
use crate::io::Io;
use crate::os::{self, CpuTime};
use crate::pace::Pace;
use crate::record::{Recorder, Window};
use crate::result::InFlightResult;
use crate::script::Prng;
use crate::stage::Stage;
use crate::windows::LoadWindows;

pub use connect::ConnectPlan;
use connect::Connector;
use drain::Cancels;
use shells::Shells;
use timers::Timers;

/// How often a thread looks up whatever happens: the stop flag, deadlines.
const TICK: Nanos = 50_000_000;
/// How often a thread that has connected looks whether the others have.
const BARRIER_TICK: Nanos = 500_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Connecting,
    Parked,
    Running,
    /// The time is over; transactions that run go on to their end and count.
    Finishing,
    /// Statements in flight may end until then.
    Draining {
        until: Nanos,
    },
    /// They have been cancelled and may be answered until then.
    Cancelling {
        until: Nanos,
    },
    Over,
}

/// What a thread is made of.
pub struct Parts<'a, I> {
    pub io: I,
    pub stage: &'a Stage,
    pub work: Work<'a>,
    pub pace: Pace,
    pub choice: Prng,
    pub clients: Vec<Client>,
    /// The number of the first client among all threads'.
    pub first_client: usize,
    pub connect: ConnectPlan<'a>,
    pub drain: Nanos,
    /// A client without a session ends the load.
    pub all_clients: bool,
    pub statement_timeout: Option<Nanos>,
    /// Never waits while the load runs.
    pub spin: bool,
}

/// What a thread has to say when the load is over.
pub struct Outcome {
    pub recorder: Recorder,
    pub in_flight: Vec<InFlightResult>,
    pub cpu: CpuTime,
    pub busy: Nanos,
    /// Slots that were due and had not begun.
    pub unserved: u64,
    /// When its last client had nothing more to do, or measuring ended.
    pub ended: Nanos,
    /// All clients did their number of transactions.
    pub all_done: bool,
    pub io: &'static str,
}

/// See the module.
pub struct Worker<'a, I> {
    io: I,
    stage: &'a Stage,
    work: Work<'a>,
    pace: Pace,
    choice: Prng,
    clients: Vec<Client>,
    first_client: usize,
    phase: Phase,
    window: Window,
    windows: Option<LoadWindows>,
    connector: Connector<'a>,
    timers: Timers,
    /// Free clients without a transaction, longest first, with the time since when.
    idle: VecDeque<(usize, Nanos)>,
    /// Clients that ended a transaction in this turn and may begin another in the next.
    again: VecDeque<usize>,
    /// The script of the next transaction, once a slot was passed over for it.
    chosen: Option<u16>,
    /// Clients that do nothing more, whatever still comes for them.
    gone: Vec<bool>,
    /// How many clients are not gone.
    alive: usize,
    done: usize,
    drain: Nanos,
    all_clients: bool,
    statement_timeout: Option<Nanos>,
    spin: bool,
    cancels: Cancels,
    shells: Shells,
    in_flight: Vec<InFlightResult>,
    cpu_before: Option<CpuTime>,
    cpu: CpuTime,
    busy: Nanos,
    ended: Nanos,
    unserved: u64,
    next_tick: Nanos,
}

impl<'a, I: Io> Worker<'a, I> {
    /// A thread that has done nothing yet.
    pub fn new(parts: Parts<'a, I>) -> Self {
        let count = parts.clients.len();
        Self {
            io: parts.io,
            stage: parts.stage,
            windows: parts.stage.windows().cloned(),
            work: parts.work,
            pace: parts.pace,
            choice: parts.choice,
            clients: parts.clients,
            first_client: parts.first_client,
            phase: Phase::Connecting,
            window: Window::CLOSED,
            connector: Connector::new(parts.connect, count),
            timers: Timers::new(count),
            idle: VecDeque::with_capacity(count),
            again: VecDeque::with_capacity(count),
            chosen: None,
            gone: vec![false; count],
            alive: count,
            done: 0,
            drain: parts.drain,
            all_clients: parts.all_clients,
            statement_timeout: parts.statement_timeout,
            spin: parts.spin,
            cancels: Cancels::default(),
            shells: Shells::new(),
            in_flight: Vec::new(),
            cpu_before: None,
            cpu: CpuTime::default(),
            busy: 0,
            ended: 0,
            unserved: 0,
            next_tick: 0,
        }
    }

    /// Makes the load, from the first connection to the last.
    pub fn run(mut self) -> Result<Outcome, LoadError> {
        let mut now = self.stage.clock.now();
        loop {
            self.advance(now);
            if self.phase == Phase::Running {
                // Another thread may have started the load after this one has read its clock.
                now = now.max(self.window.warm_up);
            }
            if self.phase == Phase::Over {
                return Ok(self.into_outcome());
            }
            self.tick(now);
            self.connect_more(now);
            self.wake_due(now);
            self.begin_due(now);
            let timeout = self.timeout(now);
            self.io
                .wait(timeout)
                .map_err(LoadError::system("waiting for the sockets"))?;
            let awake = self.stage.clock.now();
            self.serve(awake);
            now = self.stage.clock.now();
            if self.is_measured(awake) {
                self.busy += now.saturating_sub(awake);
            }
        }
    }

    /// Moves to the next phase when it is time.
    fn advance(&mut self, now: Nanos) {
        match self.phase {
            Phase::Connecting | Phase::Parked if self.stage.is_ended_early() => self.stop(now),
            Phase::Connecting if self.connector.is_settled() => {
                self.stage.settle();
                self.phase = Phase::Parked;
                self.advance(now);
            }
            Phase::Parked => {
                self.window = self.stage.window();
                if self.window != Window::CLOSED {
                    self.work.recorder.set_window(self.window);
                    self.pace.start(self.window.warm_up);
                    self.phase = Phase::Running;
                    self.advance(now);
                }
            }
            Phase::Running | Phase::Finishing => self.advance_running(now),
            Phase::Draining { until } => {
                if self.nothing_runs() || self.stage.stopper.is_urgent() {
                    self.stop(now);
                } else if now >= until {
                    self.cancel_all(now);
                }
            }
            Phase::Cancelling { until } => {
                if self.nothing_runs() || now >= until || self.stage.stopper.is_urgent() {
                    self.stop(now);
                }
            }
            Phase::Connecting | Phase::Over => {}
        }
    }

    fn advance_running(&mut self, now: Nanos) {
        let window = self.stage.window();
        if window != self.window {
            self.window = window;
            self.work.recorder.set_window(window);
        }
        self.work.recorder.roll(now.min(window.end));
        if self.cpu_before.is_none() && now >= window.start {
            self.cpu_before = Some(os::thread_cpu());
        }
        if self.phase == Phase::Running && now >= window.closing && now < window.end {
            self.finish();
        }
        if now >= window.end || self.alive == 0 {
            self.end_measuring(now);
        }
    }

    fn is_measured(&self, now: Nanos) -> bool {
        matches!(self.phase, Phase::Running | Phase::Finishing)
            && now >= self.window.start
            && now < self.window.end
            && self.is_on(now)
    }

    /// How long there is nothing to do but wait.
    fn timeout(&self, turn_began: Nanos) -> Duration {
        if !self.again.is_empty() || (self.spin && self.phase == Phase::Running && self.is_on(turn_began)) {
            return Duration::ZERO;
        }
        let is_punctual = self.pace.next_due().is_some() || self.timers.next().is_some() || self.windows.is_some();
        let now = if is_punctual {
            self.stage.clock.now()
        } else {
            turn_began
        };
        let mut until = now
            + if self.phase == Phase::Parked {
                BARRIER_TICK
            } else {
                TICK
            };
        until = until.min(self.timers.next().unwrap_or(NEVER));
        match self.phase {
            Phase::Running => {
                until = until.min(self.window.closing);
                if now < self.window.start {
                    until = until.min(self.window.start);
                }
                match self.windows.as_ref().filter(|windows| !windows.is_on(now)) {
                    Some(windows) => until = until.min(windows.next_begin(now)),
                    None if !self.idle.is_empty() => until = until.min(self.pace.next_due().unwrap_or(NEVER)),
                    None => {}
                }
            }
            Phase::Finishing => until = until.min(self.window.end),
            Phase::Draining { until: end } | Phase::Cancelling { until: end } => until = until.min(end),
            _ => {}
        }
        Duration::from_nanos(until.saturating_sub(now))
    }

    fn into_outcome(mut self) -> Outcome {
        self.work.recorder.hang_up();
        let busy = self.busy();
        Outcome {
            recorder: self.work.recorder,
            in_flight: self.in_flight,
            cpu: self.cpu,
            busy,
            unserved: self.unserved,
            ended: self.ended,
            all_done: self.done == self.clients.len(),
            io: match (self.io.name(), self.spin) {
                ("epoll", true) => "epoll+spin",
                ("poll", true) => "poll+spin",
                (_, true) => "io_uring+spin",
                (name, false) => name,
            },
        }
    }

    /// The time that was not spent waiting: between waits, or in the kernel's part of a wait that also sends.
    fn busy(&self) -> Nanos {
        if self.spin {
            return self.busy;
        }
        self.busy.max(nanos_from_s(self.cpu.user_s + self.cpu.system_s))
    }
}

//! What the threads of a load have in common: when its phases begin and end. Each phase is a time stamp; a thread only
//! compares its clock, and nobody waits for anybody except at the one barrier before the start.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::clock::{nanos, nanos_from_s, Clock, Nanos, NEVER, SECOND};
use crate::os;
use crate::progress::Stopper;
use crate::record::Window;
use crate::spec::LoadSpec;
use crate::windows::LoadWindows;

/// See the module.
#[derive(Debug)]
pub struct Stage {
    pub clock: Clock,
    pub stopper: Stopper,
    /// How long the warm-up takes; it only ever becomes shorter.
    warm_up: AtomicU64,
    measure: Nanos,
    /// How long transactions may go on after measuring would be over.
    finish: Nanos,
    /// When all threads had connected.
    started: AtomicU64,
    /// When the load was ended early.
    ended_early: AtomicU64,
    aborted: AtomicBool,
    /// Threads whose clients are not all connected or given up.
    unsettled: AtomicUsize,
    /// Clients that have a session now.
    connected: AtomicUsize,
    windows: Option<LoadWindows>,
}

impl Stage {
    /// The stage for `threads` threads; the load begins now.
    pub fn new(spec: &LoadSpec, threads: usize, stopper: Stopper) -> Self {
        let clock = Clock::start();
        let warm_up = nanos_from_s(spec.warm_up_s);
        let windows = spec.windows.as_ref();
        Self {
            clock,
            stopper,
            warm_up: AtomicU64::new(warm_up),
            measure: nanos(spec.measure_limit()),
            finish: spec.finish_s.map_or(0, nanos_from_s),
            started: AtomicU64::new(NEVER),
            ended_early: AtomicU64::new(NEVER),
            aborted: AtomicBool::new(false),
            unsettled: AtomicUsize::new(threads),
            connected: AtomicUsize::new(0),
            windows: windows.map(|windows| LoadWindows::new(windows, warm_up, os::monotonic_time())),
        }
    }

    /// A thread has settled. The last one starts the load.
    pub fn settle(&self) {
        if self.unsettled.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.started.store(self.clock.now(), Ordering::Release);
        }
    }

    /// Ends the warm-up at a whole second to come, at least a second from now: a thread that gets a processor within
    /// that second hears of it before. The warm-up of an interleaved load ends with its windows.
    pub fn end_warm_up(&self, now: Nanos) {
        let started = self.started.load(Ordering::Acquire);
        if started != NEVER && self.windows.is_none() {
            let passed = now.saturating_sub(started) / SECOND;
            self.warm_up
                .fetch_min(passed.saturating_add(2).saturating_mul(SECOND), Ordering::AcqRel);
        }
    }

    /// Ends the load at this time, if nobody has yet.
    pub fn end(&self, now: Nanos) {
        let _ = self
            .ended_early
            .compare_exchange(NEVER, now, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Ends the load because a client failed that must not.
    pub fn abort(&self, now: Nanos) {
        self.aborted.store(true, Ordering::Release);
        self.end(now);
    }

    /// Whether a failure ended the load.
    pub fn is_aborted(&self) -> bool {
        self.aborted.load(Ordering::Acquire)
    }

    /// Whether the load was ended before its time.
    pub fn is_ended_early(&self) -> bool {
        self.ended_early.load(Ordering::Acquire) != NEVER
    }

    /// The phases, as far as they are known; [`Window::CLOSED`] before all have connected.
    pub fn window(&self) -> Window {
        let warm_up = self.started.load(Ordering::Acquire);
        if warm_up == NEVER {
            return Window::CLOSED;
        }
        let (start, over) = match &self.windows {
            // Their times are fixed: a load that connects late has less of them.
            Some(windows) => (windows.measure_from().max(warm_up), windows.end().max(warm_up)),
            None => {
                let start = warm_up.saturating_add(self.warm_up.load(Ordering::Acquire));
                (start, start.saturating_add(self.measure))
            }
        };
        let ended_early = self.ended_early.load(Ordering::Acquire);
        Window {
            warm_up,
            start,
            closing: over.min(ended_early),
            end: over.saturating_add(self.finish).min(ended_early),
        }
    }

    /// The windows of an interleaved load.
    pub fn windows(&self) -> Option<&LoadWindows> {
        self.windows.as_ref()
    }

    /// The phases by the time that counts: without windows the phases as they are.
    pub fn counted_window(&self) -> Window {
        self.window().counted(self.windows.as_ref())
    }

    /// A client has got a session.
    pub fn add_connected(&self) {
        self.connected.fetch_add(1, Ordering::Relaxed);
    }

    /// A client has lost its session.
    pub fn remove_connected(&self) {
        self.connected.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many clients have a session.
    pub fn connected(&self) -> usize {
        self.connected.load(Ordering::Relaxed)
    }
}

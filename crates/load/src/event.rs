//! What clients and the server say while the load runs, for whoever follows it. In pgbench's words, so that what reads
//! pgbench's messages reads these.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::Arc;

use serde::Serialize;

use crate::record::SecondReport;

/// Events that nobody has read yet; beyond these they are only counted: a load must not wait for a terminal.
const PENDING_MAX: usize = 10_000;

/// What kind of message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A client is aborted, or gets no session.
    Error,
    /// A transaction failed and may be tried again; with `verbose_errors`.
    Info,
    /// The server sent it: `NOTICE`, `WARNING` and the like.
    Notice,
}

/// One message, when it happens.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    pub kind: EventKind,
    pub text: String,
}

/// What the threads of a load report to the calling thread.
pub enum Report {
    Second(SecondReport),
    Event(Event),
}

/// How many events are on their way, and how many were dropped because too many were.
#[derive(Debug, Default)]
pub struct EventCounts {
    pending: AtomicUsize,
    dropped: AtomicUsize,
}

impl EventCounts {
    /// An event has been read.
    pub fn read(&self) {
        self.pending.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many were dropped.
    pub fn dropped(&self) -> usize {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// Where one thread's events go.
#[derive(Clone, Debug)]
pub struct EventSender {
    reports: Sender<Report>,
    counts: Arc<EventCounts>,
}

impl EventSender {
    /// Events go the way of the seconds.
    pub fn new(reports: Sender<Report>, counts: Arc<EventCounts>) -> Self {
        Self { reports, counts }
    }

    /// Sends an event, unless too many are waiting to be read.
    pub fn send(&self, kind: EventKind, text: String) {
        if self.counts.pending.fetch_add(1, Ordering::Relaxed) >= PENDING_MAX {
            self.counts.pending.fetch_sub(1, Ordering::Relaxed);
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        // Nobody listens any more when the load is being torn down.
        let _ = self.reports.send(Report::Event(Event { kind, text }));
    }
}

//! Completion by io_uring: all requests of a turn go to the kernel in one call, which also waits for the next events.
//!
//! A small send is *staged*: its bytes are copied into an arena, and the kernel tries it once, on submission. Only
//! failure gives a completion, so afterwards the arena is free again. What did not fit into the socket becomes the
//! connection's *backlog*, which the kernel sends when it can. Receives are armed once and repeat (multishot), into
//! buffers of the whole thread. Linux 6.0 is needed; [`probe`] tries everything on a pair of sockets.

mod backlog;
mod buffers;
mod probe;
mod slots;
mod token;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{cqueue, opcode, IoUring};
use rustix::net::sockopt;

use super::{Event, Io};
use backlog::Backlog;
use buffers::Buffers;
use token::{Kind, Token};

const SUBMISSIONS: u32 = 512;
const COMPLETIONS: u32 = 4096;
const BUFFERS_MIN: usize = 16;
const BUFFERS_MAX: usize = 256;
/// Larger sends go to the backlog at once.
const STAGED_MAX: usize = 64 * 1024;
/// An arena above this is given back after use.
const ARENA_KEPT_MAX: usize = 1 << 20;
/// How long the end waits for the kernel to let go of our memory.
const REAP: Duration = Duration::from_millis(500);
const ENTER_GETEVENTS: u32 = 1;
const ENTER_EXT_ARG: u32 = 1 << 3;

struct Connection {
    socket: OwnedFd,
    connecting: bool,
    /// The peer takes nothing any more; what it said before may still be read.
    broken: bool,
    /// Where among the staged sends its own is.
    staged: Option<usize>,
    backlog: Option<Box<Backlog>>,
}

#[derive(Default)]
struct Place {
    connection: Option<Connection>,
    /// Told apart from completions of earlier connections of this slot by its number.
    generation: u32,
}

/// A send of this turn: a part of the arena.
struct Staged {
    slot: usize,
    start: usize,
    end: usize,
}

struct Completion {
    token: Token,
    result: i32,
    flags: u32,
}

/// See the module.
pub struct Uring {
    // Dropped before the memory that the kernel knows.
    ring: IoUring,
    buffers: Buffers,
    places: Vec<Place>,
    arena: Vec<u8>,
    staged: Vec<Staged>,
    /// Completions that were not looked at yet begin at `seen`.
    ready: Vec<Completion>,
    seen: usize,
    /// The buffer of the latest event.
    lent: Option<u16>,
    /// Connections that stood at once: unix sockets always.
    connected: Vec<Token>,
    /// Receives that ended and are to be armed again.
    ended: Vec<Token>,
    /// Backlogs of closed connections that the kernel has not let go of.
    orphans: Vec<(Token, Box<Backlog>)>,
    /// Requests that the kernel has, and that use our memory.
    pending: usize,
}

impl Uring {
    /// Room for slots `0..slots`; an error if this machine does not allow it or cannot do it.
    pub fn new(slots: usize) -> io::Result<Self> {
        if !probe::works() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Self::with_slots(slots)
    }

    fn with_slots(slots: usize) -> io::Result<Self> {
        let ring = build()?;
        let count = (slots / 2).next_power_of_two().clamp(BUFFERS_MIN, BUFFERS_MAX);
        let buffers = Buffers::register(&ring.submitter(), u16::try_from(count).unwrap_or(u16::MAX))?;
        let mut places = Vec::new();
        places.resize_with(slots, Place::default);
        Ok(Self {
            ring,
            buffers,
            places,
            arena: Vec::with_capacity(STAGED_MAX),
            staged: Vec::with_capacity(SUBMISSIONS as usize),
            ready: Vec::with_capacity(COMPLETIONS as usize),
            seen: 0,
            lent: None,
            connected: Vec::new(),
            ended: Vec::new(),
            orphans: Vec::new(),
            pending: 0,
        })
    }

    /// The connection that a completion is about, unless it is closed.
    fn connection(&mut self, token: Token) -> Option<&mut Connection> {
        let place = self.places.get_mut(token.slot())?;
        let is_its = token.is_of(place.generation);
        place.connection.as_mut().filter(|_| is_its)
    }

    fn token(&self, kind: Kind, slot: usize) -> Token {
        Token::new(kind, self.places.get(slot).map_or(0, |place| place.generation), slot)
    }

    /// Puts a request into the queue. Whatever it points to lives until its completion, or until it was tried.
    #[allow(unsafe_code)]
    fn push(&mut self, entry: &Entry) -> io::Result<()> {
        loop {
            // SAFETY: staged sends point into the arena, which is not touched between their push and the submission
            // that completes them; backlogs keep their bytes in place while `pending` counts them; receives and polls
            // point nowhere.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.enter(0, Duration::ZERO)?;
        }
    }

    /// Hands the queue over, and waits for this many completions.
    #[allow(unsafe_code)]
    fn enter(&mut self, wanted: u32, timeout: Duration) -> io::Result<()> {
        let timespec = Timespec::from(timeout);
        let arguments = SubmitArgs::new().timespec(&timespec);
        let queued = u32::try_from(self.ring.submission().len()).unwrap_or(SUBMISSIONS);
        // SAFETY: EXT_ARG says that the argument is what `SubmitArgs` is; it and the timespec live for the call.
        let entered = unsafe {
            let flags = ENTER_GETEVENTS | ENTER_EXT_ARG;
            self.ring.submitter().enter(queued, wanted, flags, Some(&arguments))
        };
        match entered {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // The time is up, a signal came, or completions must be taken first: all is as usual.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(error),
            },
        }
    }

    /// Submits everything, waits for completions and takes them.
    fn turn(&mut self, wanted: u32, timeout: Duration) -> io::Result<()> {
        for index in 0..self.staged.len() {
            self.push_staged(index)?;
        }
        self.enter(wanted, timeout)?;
        self.take_completions();
        while !self.ring.submission().is_empty() || self.ring.submission().cq_overflow() {
            self.enter(0, Duration::ZERO)?;
            self.take_completions();
        }
        for Staged { slot, .. } in self.staged.drain(..) {
            if let Some(connection) = self.places.get_mut(slot).and_then(|place| place.connection.as_mut()) {
                connection.staged = None;
            }
        }
        self.arena.clear();
        if self.arena.capacity() > ARENA_KEPT_MAX {
            self.arena = Vec::with_capacity(STAGED_MAX);
        }
        Ok(())
    }

    fn push_staged(&mut self, index: usize) -> io::Result<()> {
        let Some(Staged { slot, start, end }) = self.staged.get(index) else {
            return Ok(());
        };
        let token = self.token(Kind::Staged, *slot);
        let bytes = self.arena.get(*start..*end).unwrap_or(&[]);
        let connection = self.places.get(*slot).and_then(|place| place.connection.as_ref());
        let Some(connection) = connection.filter(|_| !bytes.is_empty()) else {
            return Ok(());
        };
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        // All or a failure that says how much; never later.
        let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL | libc::MSG_DONTWAIT;
        let send = opcode::Send::new(Fd(connection.socket.as_raw_fd()), bytes.as_ptr(), length).flags(flags);
        self.push(&send.build().flags(Flags::SKIP_SUCCESS).user_data(token.0))
    }

    fn take_completions(&mut self) {
        let first = self.ready.len();
        self.ready.extend(self.ring.completion().map(|entry| Completion {
            token: Token(entry.user_data()),
            result: entry.result(),
            flags: entry.flags(),
        }));
        let mut kept = first;
        for index in first..self.ready.len() {
            let Some(Completion { token, result, flags }) = self.ready.get(index) else {
                break;
            };
            let (token, result, ends) = (*token, *result, !cqueue::more(*flags));
            match token.kind() {
                Kind::Staged => self.fell_short(token, result),
                Kind::Backlog => self.backlog_sent(token, result),
                Kind::Receive | Kind::Connect => {
                    self.pending -= usize::from(ends);
                    self.ready.swap(kept, index);
                    kept += 1;
                }
            }
        }
        self.ready.truncate(kept);
    }

    /// Asks for bytes until the connection ends.
    fn arm(&mut self, slot: usize) -> io::Result<()> {
        let token = self.token(Kind::Receive, slot);
        let Some(connection) = self.connection(token) else {
            return Ok(());
        };
        let receive = opcode::RecvMulti::new(Fd(connection.socket.as_raw_fd()), buffers::GROUP);
        self.push(&receive.build().user_data(token.0))?;
        self.pending += 1;
        Ok(())
    }

    /// A connection that was on its way stands, or failed.
    fn finish_connect(&mut self, token: Token) -> io::Result<()> {
        let Some(connection) = self.connection(token) else {
            return Ok(());
        };
        sockopt::socket_error(&connection.socket)??;
        connection.connecting = false;
        self.arm(token.slot())?;
        self.send_backlog(token.slot());
        Ok(())
    }

    fn closed(&mut self, slot: usize, error: io::Error) -> (usize, Event<'static>) {
        self.close(slot);
        (slot, Event::Closed(error))
    }

    fn next_connected(&mut self) -> Option<usize> {
        while let Some(token) = self.connected.pop() {
            if self.connection(token).is_some() {
                return Some(token.slot());
            }
        }
        None
    }
}

fn build() -> io::Result<IoUring> {
    let common = |builder: &mut io_uring::Builder| {
        builder.setup_cqsize(COMPLETIONS).setup_clamp().setup_submit_all();
    };
    let mut deferred = IoUring::builder();
    common(&mut deferred);
    deferred.setup_single_issuer().setup_defer_taskrun();
    deferred.build(SUBMISSIONS).or_else(|_| {
        let mut cooperative = IoUring::builder();
        common(&mut cooperative);
        cooperative.setup_coop_taskrun().build(SUBMISSIONS)
    })
}

impl Drop for Uring {
    /// Takes back all memory that the kernel has, or leaves it to the kernel for ever.
    fn drop(&mut self) {
        for slot in 0..self.places.len() {
            self.close(slot);
        }
        let ends = Instant::now() + REAP;
        while self.pending > 0 && Instant::now() < ends {
            self.ready.clear();
            if self.turn(1, Duration::from_millis(10)).is_err() {
                break;
            }
        }
        if self.pending > 0 {
            self.buffers.leak();
            std::mem::forget(std::mem::take(&mut self.orphans));
        }
    }
}

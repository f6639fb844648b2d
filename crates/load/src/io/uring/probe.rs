//! Whether io_uring may be used here and does all that is needed: it is tried once in a process, on a pair of sockets.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{self, sockopt, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use super::{Connection, Uring, STAGED_MAX};
use crate::io::{Event, Io};

/// Long enough for anything that a machine does on its own.
const PATIENCE: Duration = Duration::from_millis(200);
/// Bytes that move on give no completion before all have gone.
const TICK: Duration = Duration::from_micros(100);
/// Together more than the sockets take at once.
const SENDS: usize = 4;
const SOCKET_BUFFER: usize = 32 * 1024;

/// Whether io_uring works.
pub(super) fn works() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| tried().unwrap_or(false))
}

fn tried() -> io::Result<bool> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (ours, theirs) = net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_send_buffer_size(&ours, SOCKET_BUFFER)?;
    let mut uring = Uring::with_slots(1)?;
    if let Some(place) = uring.places.get_mut(0) {
        place.connection = Some(Connection {
            socket: ours,
            connecting: false,
            broken: false,
            staged: None,
            backlog: None,
        });
    }
    uring.arm(0)?;
    for word in [&b"one"[..], b"two"] {
        net::send(&theirs, word, SendFlags::empty())?;
        if !hears(&mut uring, word)? {
            return Ok(false);
        }
    }
    if !uring.ended.is_empty() {
        // Receives do not repeat.
        return Ok(false);
    }
    sends_whole(&mut uring, &theirs)
}

fn hears(uring: &mut Uring, word: &[u8]) -> io::Result<bool> {
    uring.wait(PATIENCE)?;
    Ok(matches!(uring.next(), Some((0, Event::Received(bytes))) if bytes == word))
}

/// Whether sends that do not fit say so, and lose and double nothing.
fn sends_whole(uring: &mut Uring, theirs: &OwnedFd) -> io::Result<bool> {
    let block: Vec<u8> = (0..STAGED_MAX).map(|at| (at % 251) as u8).collect();
    for _ in 0..SENDS {
        uring.send(0, &block);
        uring.turn(0, Duration::ZERO)?;
    }
    let mut buffer = vec![0; STAGED_MAX];
    let mut arrived = 0;
    let began = Instant::now();
    while arrived < SENDS * STAGED_MAX {
        match net::recv(theirs, &mut *buffer, RecvFlags::empty()) {
            Ok((0, _)) => return Ok(false),
            Ok((count, _)) => {
                let expected = block.iter().cycle().skip(arrived % STAGED_MAX);
                if !buffer.iter().take(count).zip(expected).all(|(one, other)| one == other) {
                    return Ok(false);
                }
                arrived += count;
            }
            Err(Errno::AGAIN) if began.elapsed() < PATIENCE => uring.turn(1, TICK)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

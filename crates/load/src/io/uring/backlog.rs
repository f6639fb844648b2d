//! What a socket did not take at once. The kernel sends it when it can, and nobody touches the bytes meanwhile.

use std::os::fd::AsRawFd;

use io_uring::opcode;
use io_uring::types::Fd;

use super::{Kind, Token, Uring};

/// The kernel is given at most this much at once.
const LENT_MAX: usize = 1 << 30;

/// See the module.
#[derive(Default)]
pub(super) struct Backlog {
    /// Sent up to `sent`. While the kernel has it, it neither changes nor moves.
    bytes: Vec<u8>,
    sent: usize,
    /// What follows when all of `bytes` is gone.
    queue: Vec<u8>,
    lent: bool,
}

impl Backlog {
    /// Adds bytes at the end.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        if self.lent {
            self.queue.extend_from_slice(bytes);
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Whether the kernel has it.
    pub(super) fn is_lent(&self) -> bool {
        self.lent
    }

    /// What is to be sent next; nothing while the kernel has it.
    fn rest(&self) -> Option<&[u8]> {
        let rest = self.bytes.get(self.sent..).filter(|_| !self.lent)?;
        Some(rest.get(..LENT_MAX).unwrap_or(rest))
    }

    /// The kernel has sent so much. True if nothing is left.
    fn taken(&mut self, count: usize) -> bool {
        self.lent = false;
        self.sent += count;
        if self.sent >= self.bytes.len() {
            self.sent = 0;
            self.bytes = std::mem::take(&mut self.queue);
        }
        self.bytes.is_empty()
    }
}

impl Uring {
    /// Lends the backlog to the kernel, if there is one and the kernel does not have it yet.
    pub(super) fn send_backlog(&mut self, slot: usize) {
        let token = self.token(Kind::Backlog, slot);
        let Some(connection) = self.connection(token).filter(|connection| !connection.connecting) else {
            return;
        };
        let socket = Fd(connection.socket.as_raw_fd());
        let Some(rest) = connection.backlog.as_ref().and_then(|backlog| backlog.rest()) else {
            return;
        };
        let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
        let send = opcode::Send::new(socket, rest.as_ptr(), length).flags(flags);
        // From here on the bytes must stay: `push` may hand them over.
        self.set_lent(token, true);
        if self.push(&send.build().user_data(token.0)).is_ok() {
            self.pending += 1;
        } else {
            self.set_lent(token, false);
        }
    }

    fn set_lent(&mut self, token: Token, lent: bool) {
        if let Some(backlog) = self.connection(token).and_then(|one| one.backlog.as_mut()) {
            backlog.lent = lent;
        }
    }

    /// A staged send was not taken whole: the rest becomes the backlog.
    pub(super) fn fell_short(&mut self, token: Token, result: i32) {
        let taken = match result {
            0.. => usize::try_from(result).unwrap_or(0),
            _ if -result == libc::EAGAIN || -result == libc::EINTR => 0,
            // An error is not told here: what the server said before it hung up is still to be read.
            _ => return self.broken(token),
        };
        let place = self.places.get_mut(token.slot());
        let Some(connection) = place.and_then(|place| place.connection.as_mut()) else {
            return;
        };
        let Some(staged) = connection.staged.and_then(|index| self.staged.get_mut(index)) else {
            return;
        };
        let rest = self.arena.get(staged.start + taken..staged.end).unwrap_or(&[]);
        if !rest.is_empty() {
            connection.backlog.get_or_insert_default().add(rest);
            self.send_backlog(token.slot());
        }
    }

    /// The kernel gives a backlog back.
    pub(super) fn backlog_sent(&mut self, token: Token, result: i32) {
        self.pending -= 1;
        let Some(connection) = self.connection(token) else {
            return self.orphans.retain(|(orphan, _)| *orphan != token);
        };
        let Some(backlog) = &mut connection.backlog else { return };
        let count = match result {
            0.. => usize::try_from(result).unwrap_or(0),
            _ if -result == libc::EAGAIN || -result == libc::EINTR => 0,
            _ => return self.broken(token),
        };
        if backlog.taken(count) {
            connection.backlog = None;
        } else {
            self.send_backlog(token.slot());
        }
    }

    fn broken(&mut self, token: Token) {
        if let Some(connection) = self.connection(token) {
            connection.broken = true;
            connection.backlog = None;
        }
    }
}

//! The seam's words, in terms of the ring.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use io_uring::types::Fd;
use io_uring::{cqueue, opcode};
use rustix::io::Errno;
use rustix::net;

use super::{Completion, Connection, Kind, Place, Staged, Uring, STAGED_MAX};
use crate::io::{Address, Event, Io};

impl Io for Uring {
    const IS_BATCHED: bool = true;

    fn name(&self) -> &'static str {
        "io_uring"
    }

    fn connect(&mut self, slot: usize, address: &Address) -> io::Result<()> {
        self.close(slot);
        let (socket, connecting) = address.open()?;
        let descriptor = Fd(socket.as_raw_fd());
        let Some(place) = self.places.get_mut(slot) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        place.connection = Some(Connection {
            socket,
            connecting,
            broken: false,
            staged: None,
            backlog: None,
        });
        if connecting {
            let token = self.token(Kind::Connect, slot);
            let poll = opcode::PollAdd::new(descriptor, libc::POLLOUT as u32);
            self.push(&poll.build().user_data(token.0))?;
            self.pending += 1;
            return Ok(());
        }
        self.connected.push(self.token(Kind::Connect, slot));
        self.arm(slot)
    }

    fn send(&mut self, slot: usize, bytes: &[u8]) {
        let Some(connection) = self.places.get_mut(slot).and_then(|place| place.connection.as_mut()) else {
            return;
        };
        if connection.broken || bytes.is_empty() {
            return;
        }
        let staged = connection.staged.and_then(|index| self.staged.get_mut(index));
        if connection.connecting || connection.backlog.is_some() || bytes.len() > STAGED_MAX {
            // What is staged goes first, and with the rest.
            let earlier = staged.map_or(0..0, |staged| {
                std::mem::replace(&mut staged.start, staged.end)..staged.end
            });
            let backlog = connection.backlog.get_or_insert_default();
            backlog.add(self.arena.get(earlier).unwrap_or(&[]));
            backlog.add(bytes);
            return self.send_backlog(slot);
        }
        let start = self.arena.len();
        match staged {
            Some(staged) if staged.end == start => staged.end += bytes.len(),
            Some(staged) => {
                self.arena.extend_from_within(staged.start..staged.end);
                (staged.start, staged.end) = (start, self.arena.len() + bytes.len());
            }
            None => {
                connection.staged = Some(self.staged.len());
                let end = start + bytes.len();
                self.staged.push(Staged { slot, start, end });
            }
        }
        self.arena.extend_from_slice(bytes);
    }

    fn close(&mut self, slot: usize) {
        let staged = |place: &Place| place.connection.as_ref().is_some_and(|one| one.staged.is_some());
        if self.places.get(slot).is_some_and(staged) {
            // What was sent before goes out before. The next wait reports what fails here.
            let _ = self.turn(0, Duration::ZERO);
        }
        let token = self.token(Kind::Backlog, slot);
        let Some(place) = self.places.get_mut(slot) else { return };
        place.generation = place.generation.wrapping_add(1);
        if let Some(connection) = place.connection.take() {
            // Requests keep the socket alive; this ends them.
            let _ = net::shutdown(&connection.socket, net::Shutdown::Both);
            if let Some(backlog) = connection.backlog.filter(|backlog| backlog.is_lent()) {
                self.orphans.push((token, backlog));
            }
        }
    }

    fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        if let Some(id) = self.lent.take() {
            self.buffers.free(id);
        }
        self.ready.drain(..self.seen.min(self.ready.len()));
        self.seen = 0;
        for index in 0..self.ended.len() {
            let Some(token) = self.ended.get(index).copied() else {
                break;
            };
            if self.connection(token).is_some() {
                self.arm(token.slot())?;
            }
        }
        self.ended.clear();
        let nothing_to_do = self.connected.is_empty() && self.ready.is_empty() && !timeout.is_zero();
        self.turn(u32::from(nothing_to_do), timeout)
    }

    fn next(&mut self) -> Option<(usize, Event<'_>)> {
        if let Some(id) = self.lent.take() {
            self.buffers.free(id);
        }
        if let Some(slot) = self.next_connected() {
            return Some((slot, Event::Connected));
        }
        loop {
            let Completion { token, result, flags } = self.ready.get(self.seen)?;
            let (token, result, flags) = (*token, *result, *flags);
            self.seen += 1;
            let slot = token.slot();
            self.lent = cqueue::buffer_select(flags);
            let is_open = self.connection(token).is_some();
            if is_open && token.kind() == Kind::Connect {
                return Some(match self.finish_connect(token) {
                    Ok(()) => (slot, Event::Connected),
                    Err(error) => self.closed(slot, error),
                });
            }
            let again = result > 0 || matches!(-result, libc::ENOBUFS | libc::EINTR | libc::EAGAIN);
            if is_open && again && !cqueue::more(flags) {
                self.ended.push(token);
            }
            match self.lent {
                Some(id) if is_open && result > 0 => {
                    let length = usize::try_from(result).unwrap_or(0);
                    return Some((slot, Event::Received(self.buffers.bytes(id, length))));
                }
                Some(id) => self.buffers.free(id),
                None => {}
            }
            self.lent = None;
            if is_open && !again {
                let error = if result == 0 {
                    Errno::CONNRESET.raw_os_error()
                } else {
                    -result
                };
                return Some(self.closed(slot, io::Error::from_raw_os_error(error)));
            }
        }
    }
}

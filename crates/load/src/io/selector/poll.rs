//! POSIX: the list of sockets is given with each wait, which costs as much as there are slots. What macOS has.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use libc::{pollfd, POLLIN, POLLOUT};
use rustix::io::Errno;

use super::{Ready, Selector, Watch};
use crate::os;

/// What poll passes over.
const NOTHING: pollfd = pollfd {
    fd: -1,
    events: 0,
    revents: 0,
};

/// See the module.
pub struct PollSelector {
    /// By slot.
    sockets: Vec<pollfd>,
    generations: Vec<u32>,
    /// Slots that were already looked at since the last wait.
    seen: usize,
    /// Sockets of the last wait that are still to be found.
    ready: usize,
}

impl Selector for PollSelector {
    const NAME: &'static str = "poll";

    fn new(slots: usize) -> io::Result<Self> {
        Ok(Self {
            sockets: vec![NOTHING; slots],
            generations: vec![0; slots],
            seen: 0,
            ready: 0,
        })
    }

    fn watch(&mut self, watch: &Watch<'_>) -> Result<(), Errno> {
        let (Some(socket), Some(generation)) = (self.sockets.get_mut(watch.slot), self.generations.get_mut(watch.slot))
        else {
            return Err(Errno::INVAL);
        };
        if watch.is_new {
            *socket = NOTHING;
        }
        socket.fd = watch.socket.as_raw_fd();
        socket.events = if watch.for_writing { POLLIN | POLLOUT } else { POLLIN };
        *generation = watch.generation;
        Ok(())
    }

    fn forget(&mut self, slot: usize) {
        if let Some(socket) = self.sockets.get_mut(slot) {
            *socket = NOTHING;
        }
    }

    fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        self.seen = 0;
        self.ready = os::poll(&mut self.sockets, timeout)?;
        Ok(())
    }

    fn next(&mut self) -> Option<Ready> {
        while self.ready > 0 {
            let slot = self.seen;
            let socket = self.sockets.get(slot)?;
            self.seen += 1;
            if socket.revents == 0 {
                continue;
            }
            self.ready -= 1;
            return Some(Ready {
                slot,
                generation: self.generations.get(slot).copied().unwrap_or(0),
                // Whatever else is reported, an error or the end, is found by reading.
                reads: socket.revents & !POLLOUT != 0,
                writes: socket.revents & POLLOUT != 0,
            });
        }
        None
    }
}

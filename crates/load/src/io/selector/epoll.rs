//! Linux: the kernel keeps what is watched, so a wait costs as much as there are events.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

use super::{Ready, Selector, Watch};
use crate::os;

const EVENTS_AT_ONCE: usize = 256;

/// See the module.
pub struct EpollSelector {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    /// Events of the last wait that were already looked at.
    seen: usize,
}

impl Selector for EpollSelector {
    const NAME: &'static str = "epoll";

    fn new(_slots: usize) -> io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(EVENTS_AT_ONCE),
            seen: 0,
        })
    }

    fn watch(&mut self, watch: &Watch<'_>) -> Result<(), Errno> {
        let data = EventData::new_u64(u64::from(watch.generation) << 32 | watch.slot as u64);
        let mut flags = EventFlags::IN;
        if watch.for_writing {
            flags |= EventFlags::OUT;
        }
        if watch.is_new {
            epoll::add(&self.epoll, watch.socket, data, flags)
        } else {
            epoll::modify(&self.epoll, watch.socket, data, flags)
        }
    }

    fn forget(&mut self, _slot: usize) {
        // Closing the socket has ended its watch.
    }

    fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        self.events.clear();
        self.seen = 0;
        os::epoll_wait(&self.epoll, &mut self.events, timeout)
    }

    fn next(&mut self) -> Option<Ready> {
        let event = self.events.get(self.seen)?;
        self.seen += 1;
        let data = event.data.u64();
        let flags = event.flags;
        Some(Ready {
            slot: (data & u64::from(u32::MAX)) as usize,
            generation: (data >> 32) as u32,
            reads: flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR),
            writes: flags.contains(EventFlags::OUT),
        })
    }
}

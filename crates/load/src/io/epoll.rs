//! Readiness by level-triggered epoll: one read for each event, one write for each request.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{self, sockopt, RecvFlags, SendFlags};

use super::{Address, Event, Io};
use crate::os;

const EVENTS_AT_ONCE: usize = 256;
const READ_BUFFER: usize = 64 * 1024;

struct Connection {
    socket: OwnedFd,
    connecting: bool,
    /// What the kernel did not take yet.
    backlog: Vec<u8>,
    sent: usize,
}

#[derive(Default)]
struct Place {
    connection: Option<Connection>,
    /// Told apart from events of earlier connections of this slot by its number.
    generation: u32,
}

/// See the module.
pub struct Epoll {
    epoll: OwnedFd,
    places: Vec<Place>,
    events: Vec<epoll::Event>,
    /// Events of the last wait that were already looked at.
    seen: usize,
    /// Connections that stood at once: unix sockets always.
    connected: Vec<(usize, u32)>,
    buffer: Box<[u8]>,
}

impl Epoll {
    /// Room for slots `0..slots`.
    pub fn new(slots: usize) -> io::Result<Self> {
        let mut places = Vec::new();
        places.resize_with(slots, Place::default);
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            places,
            events: Vec::with_capacity(EVENTS_AT_ONCE),
            seen: 0,
            connected: Vec::new(),
            buffer: vec![0; READ_BUFFER].into_boxed_slice(),
        })
    }

    fn watch(&self, slot: usize, connection: &Connection, new: bool) -> rustix::io::Result<()> {
        let generation = self.places.get(slot).map_or(0, |place| place.generation);
        let data = EventData::new_u64(u64::from(generation) << 32 | slot as u64);
        let mut flags = EventFlags::IN;
        if connection.connecting || connection.sent < connection.backlog.len() {
            flags |= EventFlags::OUT;
        }
        if new {
            epoll::add(&self.epoll, &connection.socket, data, flags)
        } else {
            epoll::modify(&self.epoll, &connection.socket, data, flags)
        }
    }

    fn is_open(&self, slot: usize, generation: u32) -> bool {
        self.places
            .get(slot)
            .is_some_and(|place| place.generation == generation && place.connection.is_some())
    }

    /// A connection that was on its way stands, or failed.
    fn finish_connect(&mut self, slot: usize) -> Result<bool, Errno> {
        let Some(mut connection) = self.places.get_mut(slot).and_then(|place| place.connection.take()) else {
            return Ok(false);
        };
        sockopt::socket_error(&connection.socket)??;
        connection.connecting = false;
        let watched = self.watch(slot, &connection, false);
        self.put_back(slot, connection);
        watched.map(|()| true)
    }

    /// Sends what is left over, and stops asking when all is gone.
    fn flush(&mut self, slot: usize) {
        let Some(mut connection) = self.places.get_mut(slot).and_then(|place| place.connection.take()) else {
            return;
        };
        let rest = connection.backlog.get(connection.sent..).unwrap_or(&[]);
        if let Ok(count) = net::send(&connection.socket, rest, SendFlags::NOSIGNAL) {
            connection.sent += count;
        }
        if connection.sent >= connection.backlog.len() {
            connection.backlog = Vec::new();
            connection.sent = 0;
            // A connection that cannot be watched any more is reported by its next read.
            let _ = self.watch(slot, &connection, false);
        }
        self.put_back(slot, connection);
    }

    fn put_back(&mut self, slot: usize, connection: Connection) {
        if let Some(place) = self.places.get_mut(slot) {
            place.connection = Some(connection);
        }
    }

    /// One read. None if there was nothing to read after all.
    fn receive(&mut self, slot: usize) -> Option<Result<usize, Errno>> {
        let connection = self.places.get(slot)?.connection.as_ref()?;
        match net::recv(&connection.socket, &mut *self.buffer, RecvFlags::empty()) {
            Ok((0, _)) => Some(Err(Errno::CONNRESET)),
            Ok((count, _)) => Some(Ok(count)),
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(error) => Some(Err(error)),
        }
    }

    fn next_ready(&mut self) -> Option<(usize, EventFlags)> {
        loop {
            let event = self.events.get(self.seen)?;
            self.seen += 1;
            let data = event.data.u64();
            let (slot, generation) = ((data & u64::from(u32::MAX)) as usize, (data >> 32) as u32);
            let flags = event.flags;
            if self.is_open(slot, generation) {
                return Some((slot, flags));
            }
        }
    }

    fn next_connected(&mut self) -> Option<usize> {
        while let Some((slot, generation)) = self.connected.pop() {
            if self.is_open(slot, generation) {
                return Some(slot);
            }
        }
        None
    }
}

impl Io for Epoll {
    const IS_BATCHED: bool = false;

    fn name(&self) -> &'static str {
        "epoll"
    }

    fn connect(&mut self, slot: usize, address: &Address) -> io::Result<()> {
        self.close(slot);
        let (socket, connecting) = address.open()?;
        let connection = Connection {
            socket,
            connecting,
            backlog: Vec::new(),
            sent: 0,
        };
        self.watch(slot, &connection, true)?;
        let generation = self.places.get(slot).map_or(0, |place| place.generation);
        self.put_back(slot, connection);
        if !connecting {
            self.connected.push((slot, generation));
        }
        Ok(())
    }

    fn send(&mut self, slot: usize, bytes: &[u8]) {
        let Some(connection) = self.places.get_mut(slot).and_then(|place| place.connection.as_mut()) else {
            return;
        };
        let mut rest = bytes;
        if connection.backlog.is_empty() && !connection.connecting {
            match net::send(&connection.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(count) if count == bytes.len() => return,
                Ok(count) => rest = bytes.get(count..).unwrap_or(&[]),
                Err(_) => {}
            }
        }
        // An error is not told here: what the server said before it hung up is still to be read.
        connection.backlog.extend_from_slice(rest);
        if let Some(connection) = self.places.get_mut(slot).and_then(|place| place.connection.take()) {
            let _ = self.watch(slot, &connection, false);
            self.put_back(slot, connection);
        }
    }

    fn close(&mut self, slot: usize) {
        if let Some(place) = self.places.get_mut(slot) {
            // Closing the socket also ends its watch.
            place.connection = None;
            place.generation = place.generation.wrapping_add(1);
        }
    }

    fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        self.events.clear();
        self.seen = 0;
        let timeout = if self.connected.is_empty() {
            timeout
        } else {
            Duration::ZERO
        };
        os::epoll_wait(&self.epoll, &mut self.events, timeout)
    }

    fn next(&mut self) -> Option<(usize, Event<'_>)> {
        if let Some(slot) = self.next_connected() {
            return Some((slot, Event::Connected));
        }
        while let Some((slot, flags)) = self.next_ready() {
            let connecting = self
                .places
                .get(slot)
                .and_then(|place| place.connection.as_ref())?
                .connecting;
            if connecting {
                match self.finish_connect(slot) {
                    Ok(true) => return Some((slot, Event::Connected)),
                    Ok(false) => continue,
                    Err(error) => {
                        self.close(slot);
                        return Some((slot, Event::Closed(error.into())));
                    }
                }
            }
            if flags.contains(EventFlags::OUT) {
                self.flush(slot);
            }
            if !flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
                continue;
            }
            match self.receive(slot) {
                None => {}
                Some(Ok(count)) => return Some((slot, Event::Received(self.buffer.get(..count).unwrap_or(&[])))),
                Some(Err(error)) => {
                    self.close(slot);
                    return Some((slot, Event::Closed(error.into())));
                }
            }
        }
        None
    }
}

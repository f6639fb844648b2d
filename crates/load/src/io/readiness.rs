//! Readiness: a selector reports which sockets can go on; one read for each event, one write for each request.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{self, sockopt, RecvFlags};

use super::selector::{Ready, Selector, Watch};
use super::{Address, Event, Io};
use crate::os;

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
pub struct Readiness<S> {
    selector: S,
    places: Vec<Place>,
    /// Connections that stood at once: unix sockets always.
    connected: Vec<(usize, u32)>,
    buffer: Box<[u8]>,
}

impl<S: Selector> Readiness<S> {
    /// Room for slots `0..slots`.
    pub fn new(slots: usize) -> io::Result<Self> {
        let mut places = Vec::new();
        places.resize_with(slots, Place::default);
        Ok(Self {
            selector: S::new(slots)?,
            places,
            connected: Vec::new(),
            buffer: vec![0; READ_BUFFER].into_boxed_slice(),
        })
    }

    fn watch(&mut self, slot: usize, connection: &Connection, is_new: bool) -> rustix::io::Result<()> {
        self.selector.watch(&Watch {
            slot,
            generation: self.places.get(slot).map_or(0, |place| place.generation),
            socket: &connection.socket,
            for_writing: connection.connecting || connection.sent < connection.backlog.len(),
            is_new,
        })
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
        if let Ok(count) = net::send(&connection.socket, rest, os::SEND_FLAGS) {
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

    fn next_ready(&mut self) -> Option<Ready> {
        loop {
            let ready = self.selector.next()?;
            if self.is_open(ready.slot, ready.generation) {
                return Some(ready);
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

impl<S: Selector> Io for Readiness<S> {
    const IS_BATCHED: bool = false;

    fn name(&self) -> &'static str {
        S::NAME
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
            match net::send(&connection.socket, bytes, os::SEND_FLAGS) {
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
            place.connection = None;
            place.generation = place.generation.wrapping_add(1);
            self.selector.forget(slot);
        }
    }

    fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        let timeout = if self.connected.is_empty() {
            timeout
        } else {
            Duration::ZERO
        };
        self.selector.wait(timeout)
    }

    fn next(&mut self) -> Option<(usize, Event<'_>)> {
        if let Some(slot) = self.next_connected() {
            return Some((slot, Event::Connected));
        }
        while let Some(Ready {
            slot, reads, writes, ..
        }) = self.next_ready()
        {
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
            if writes {
                self.flush(slot);
            }
            if !reads {
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

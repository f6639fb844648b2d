//! The seam to the kernel: sockets by number, events one at a time, nothing that blocks except [`Io::wait`].
//!
//! The engine talks in slots: `connect(7, …)` begins a connection, `Connected` on slot 7 says that it stands, `send`
//! takes all bytes at once and keeps what the kernel does not take now, `Received` lends what came. The same words fit
//! readiness (epoll: the read happens in [`Io::next`]) and completion (io_uring: it happened before), so the
//! implementations can be exchanged at run time.

mod address;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod contract;
mod epoll;
mod uring;

use std::io;
use std::time::Duration;

pub use address::Address;
pub use epoll::Epoll;
pub use uring::Uring;

/// Something happened to a slot.
#[derive(Debug)]
pub enum Event<'a> {
    /// The connection stands.
    Connected,
    /// Bytes came; never empty.
    Received(&'a [u8]),
    /// The connection is gone, or could not be made. The slot is closed.
    Closed(io::Error),
}

/// One thread's sockets.
pub trait Io {
    /// Events happened before [`Io::wait`] returned; else each happens when it is asked for.
    const IS_BATCHED: bool;

    /// How results name this implementation.
    fn name(&self) -> &'static str;

    /// Begins a connection; `Connected` or `Closed` follows unless this fails at once. A connection that the slot had is
    /// closed before.
    fn connect(&mut self, slot: usize, address: &Address) -> io::Result<()>;

    /// Sends all of `bytes`, now or as soon as the kernel takes them. If the connection is gone, `Closed` follows.
    fn send(&mut self, slot: usize, bytes: &[u8]);

    /// Closes the slot, if it is open. No event of its connection follows.
    fn close(&mut self, slot: usize);

    /// Waits for events, at most this long.
    fn wait(&mut self, timeout: Duration) -> io::Result<()>;

    /// The next event of the last wait.
    fn next(&mut self) -> Option<(usize, Event<'_>)>;
}

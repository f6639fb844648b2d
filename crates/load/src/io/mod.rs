//! The seam to the kernel: sockets by number, events one at a time, nothing that blocks except [`Io::wait`].
//!
//! The engine talks in slots: `connect(7, …)` begins a connection, `Connected` on slot 7 says that it stands, `send`
//! takes all bytes at once and keeps what the kernel does not take now, `Received` lends what came. The same words fit
//! readiness (epoll, poll: the read happens in [`Io::next`]) and completion (io_uring: it happened before), so the
//! implementations can be exchanged at run time. io_uring and epoll exist on Linux only.

mod address;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod contract;
mod readiness;
mod selector;
#[cfg(target_os = "linux")]
mod uring;

use std::io;
use std::time::Duration;

use crate::spec::IoChoice;
pub use address::Address;
use readiness::Readiness;
#[cfg(target_os = "linux")]
use selector::EpollSelector;
use selector::PollSelector;
#[cfg(target_os = "linux")]
use uring::Uring;

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

/// An implementation that works here. There is one for each thread, which takes it out at once.
#[allow(clippy::large_enum_variant)]
pub enum Opened {
    #[cfg(target_os = "linux")]
    Uring(Uring),
    #[cfg(target_os = "linux")]
    Epoll(Readiness<EpollSelector>),
    Poll(Readiness<PollSelector>),
}

impl Opened {
    /// Room for slots `0..slots`. Where the choice does not work another takes its place, which results then name.
    pub fn new(choice: IoChoice, slots: usize) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        match choice {
            IoChoice::Auto | IoChoice::IoUring => {
                return match Uring::new(slots) {
                    Ok(uring) => Ok(Self::Uring(uring)),
                    Err(_) => Readiness::new(slots).map(Self::Epoll),
                };
            }
            IoChoice::Epoll => return Readiness::new(slots).map(Self::Epoll),
            IoChoice::Poll => {}
        }
        #[cfg(not(target_os = "linux"))]
        let _ = choice;
        Readiness::new(slots).map(Self::Poll)
    }
}

//! Which sockets can go on: epoll where Linux has it, POSIX poll everywhere.

#[cfg(target_os = "linux")]
mod epoll;
mod poll;

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;

#[cfg(target_os = "linux")]
pub use epoll::EpollSelector;
pub use poll::PollSelector;

/// A socket to be watched. It is always watched for reading.
pub struct Watch<'a> {
    pub slot: usize,
    /// Given back with what happens, so that events of an earlier connection of the slot are recognised.
    pub generation: u32,
    pub socket: &'a OwnedFd,
    pub for_writing: bool,
    /// The socket was not watched before.
    pub is_new: bool,
}

/// A socket that can go on.
pub struct Ready {
    pub slot: usize,
    pub generation: u32,
    /// There is something to read: bytes, the end or an error.
    pub reads: bool,
    pub writes: bool,
}

/// Level-triggered: what was not taken is reported again.
pub trait Selector: Sized {
    /// How results name it.
    const NAME: &'static str;

    /// Room for slots `0..slots`.
    fn new(slots: usize) -> io::Result<Self>;

    /// Watches a socket, or changes what it is watched for.
    fn watch(&mut self, watch: &Watch<'_>) -> Result<(), Errno>;

    /// The socket of the slot was closed.
    fn forget(&mut self, slot: usize);

    /// Waits for sockets, at most this long. An interrupted wait is no error and reports none.
    fn wait(&mut self, timeout: Duration) -> io::Result<()>;

    /// The next socket of the last wait.
    fn next(&mut self) -> Option<Ready>;
}

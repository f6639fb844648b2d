//! What differs between Linux and macOS, and the few calls that no safe library offers.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(any(test, target_os = "macos"))]
mod temporary_folder;

use std::io;

use rustix::time::ClockId;

use crate::clock::{Nanos, SECOND};

#[cfg(target_os = "linux")]
pub use linux::{
    allow_many_files, boot_time, epoll_wait, monotonic_time, poll, punctual_timers, stream_socket, thread_cpu,
    PrivateListener, SEND_FLAGS,
};
#[cfg(target_os = "macos")]
pub use macos::{
    allow_many_files, boot_time, monotonic_time, poll, punctual_timers, stream_socket, thread_cpu, PrivateListener,
    SEND_FLAGS,
};

/// Processor time of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTime {
    pub user_s: f64,
    pub system_s: f64,
}

impl CpuTime {
    /// What was used between an earlier reading and this one.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user_s: self.user_s - earlier.user_s,
            system_s: self.system_s - earlier.system_s,
        }
    }
}

/// Processor time of all threads of this process, in nanoseconds.
pub fn process_cpu() -> Nanos {
    read_clock(ClockId::ProcessCPUTime)
}

/// What a call of the poll family returned. Being interrupted is no error and reports no socket.
fn polled(count: libc::c_int, sockets: &mut [libc::pollfd]) -> io::Result<usize> {
    if let Ok(count) = usize::try_from(count) {
        return Ok(count);
    }
    let error = io::Error::last_os_error();
    if error.kind() != io::ErrorKind::Interrupted {
        return Err(error);
    }
    for socket in sockets {
        socket.revents = 0;
    }
    Ok(0)
}

fn read_clock(id: ClockId) -> Nanos {
    let time = rustix::time::clock_gettime(id);
    let seconds = Nanos::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(SECOND) + Nanos::try_from(time.tv_nsec).unwrap_or(0)
}

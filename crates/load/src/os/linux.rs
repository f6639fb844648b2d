use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{epoll, Timespec};
use rustix::io::Errno;
use rustix::net::{socket_with, AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use rustix::time::ClockId;

use super::{read_clock, CpuTime};
use crate::clock::Nanos;

/// A peer that is gone is an error of the call, not a signal.
pub const SEND_FLAGS: SendFlags = SendFlags::NOSIGNAL;

/// What the calling thread has used so far.
#[allow(unsafe_code)]
pub fn thread_cpu() -> CpuTime {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is a writable rusage; all of its bytes are initialised, and zero is a valid value of every field.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    CpuTime {
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
    }
}

/// A clock that goes on while the machine is suspended, in nanoseconds.
pub fn boot_time() -> Nanos {
    read_clock(ClockId::Boottime)
}

/// The clock of [`std::time::Instant`], in nanoseconds: the same in all processes of a host.
pub fn monotonic_time() -> Nanos {
    read_clock(ClockId::Monotonic)
}

/// Asks for punctual timers for the calling thread: the default slack of 50 us would show as generator lag.
pub fn punctual_timers() {
    // Refused only by sandboxes; the load then runs with the default slack.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

static PWAIT2_MISSING: AtomicBool = AtomicBool::new(false);

/// `epoll_pwait2`, which waits for nanoseconds, or on kernels before 5.11 `epoll_wait`, which waits for whole
/// milliseconds. Being interrupted is no error and gives no events.
#[allow(unsafe_code)]
pub fn epoll_wait(epoll: &OwnedFd, events: &mut Vec<epoll::Event>, timeout: Duration) -> io::Result<()> {
    let seconds = i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX);
    let timespec = Timespec {
        tv_sec: seconds,
        tv_nsec: i64::from(timeout.subsec_nanos()),
    };
    if !PWAIT2_MISSING.load(Ordering::Relaxed) {
        let room = i32::try_from(events.capacity()).unwrap_or(i32::MAX);
        // SAFETY: rustix's `Event` is the kernel's `epoll_event`, bit for bit (it is repr(C), packed where the kernel's
        // is); the kernel writes at most `room` of them, which the vector has capacity for; `timespec` is the kernel's
        // 64-bit form; no signal mask is given.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                epoll.as_raw_fd(),
                events.as_mut_ptr(),
                room,
                std::ptr::from_ref(&timespec),
                std::ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        if let Ok(count) = usize::try_from(count) {
            // SAFETY: the kernel has written `count` events, at most the capacity.
            unsafe { events.set_len(count) };
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => return Ok(()),
            Some(libc::ENOSYS | libc::EPERM) => PWAIT2_MISSING.store(true, Ordering::Relaxed),
            _ => return Err(error),
        }
    }
    match epoll::wait(epoll, rustix::buffer::spare_capacity(events), Some(&timespec)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// `ppoll`: notes in each entry what its socket is ready for, and returns how many are. Being interrupted is no error.
#[allow(unsafe_code)]
pub fn poll(sockets: &mut [libc::pollfd], timeout: Duration) -> io::Result<usize> {
    let timespec = libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(timeout.subsec_nanos() as i32),
    };
    let length = sockets.len() as libc::nfds_t;
    // SAFETY: the kernel reads and writes `length` entries, which the slice has; `timespec` outlives the call; no signal
    // mask is given.
    let count = unsafe { libc::ppoll(sockets.as_mut_ptr(), length, &timespec, std::ptr::null()) };
    super::polled(count, sockets)
}

/// A socket that does not block and that no child inherits.
pub fn stream_socket(family: AddressFamily) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socket_with(family, SocketType::STREAM, flags, None)
}

/// A listener for this process, in no file system.
pub struct PrivateListener {
    pub listener: UnixListener,
}

impl PrivateListener {
    /// With its address.
    pub fn new(name: &str) -> io::Result<(Self, SocketAddrUnix)> {
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        Ok((Self { listener }, SocketAddrUnix::new_abstract_name(name.as_bytes())?))
    }
}

/// Raises the soft limit of open files to the hard one: a client is a file.
pub fn allow_many_files() {
    use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
    let limit = getrlimit(Resource::Nofile);
    // If refused, connections beyond the limit fail and say why.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
}

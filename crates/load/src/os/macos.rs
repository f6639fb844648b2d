use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use rustix::io::{fcntl_setfd, ioctl_fionbio, Errno, FdFlags};
use rustix::net::{socket, sockopt, AddressFamily, SendFlags, SocketAddrUnix, SocketType};
use rustix::time::ClockId;

use super::temporary_folder::TemporaryFolder;
use super::{read_clock, CpuTime};
use crate::clock::{Nanos, SECOND};

/// That a peer is gone must not be a signal: [`stream_socket`] sees to it.
pub const SEND_FLAGS: SendFlags = SendFlags::empty();

/// The kernel refuses more, even where it says that there is no limit.
const FILES_MAX: u64 = 10_240;

/// What the calling thread has used so far.
#[allow(unsafe_code)]
pub fn thread_cpu() -> CpuTime {
    let mut info = std::mem::MaybeUninit::<libc::thread_basic_info>::zeroed();
    let mut length = libc::THREAD_BASIC_INFO_COUNT;
    // SAFETY: `info` is writable and as long as `length` says; all of its bytes are initialised, and zero is a valid
    // value of every field. The port belongs to the thread and is not to be released.
    let info = unsafe {
        let thread = libc::pthread_mach_thread_np(libc::pthread_self());
        let place = info.as_mut_ptr().cast::<libc::integer_t>();
        libc::thread_info(
            thread,
            libc::THREAD_BASIC_INFO as libc::thread_flavor_t,
            place,
            &mut length,
        );
        info.assume_init()
    };
    let seconds = |time: libc::time_value_t| f64::from(time.seconds) + f64::from(time.microseconds) / 1e6;
    CpuTime {
        user_s: seconds(info.user_time),
        system_s: seconds(info.system_time),
    }
}

/// A clock that goes on while the machine is suspended, in nanoseconds.
pub fn boot_time() -> Nanos {
    read_clock(ClockId::Monotonic)
}

/// The clock of [`std::time::Instant`], and of Python's `time.monotonic`, in nanoseconds: the same in all processes of a
/// host. It stands while the machine is suspended.
#[allow(unsafe_code)]
pub fn monotonic_time() -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_UPTIME_RAW, &mut time) };
    let seconds = Nanos::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(SECOND) + Nanos::try_from(time.tv_nsec).unwrap_or(0)
}

/// There is nothing to ask for: poll waits for whole milliseconds.
pub fn punctual_timers() {}

/// `poll`: notes in each entry what its socket is ready for, and returns how many are. It waits for whole milliseconds,
/// at least as long as is asked for. Being interrupted is no error.
#[allow(unsafe_code)]
pub fn poll(sockets: &mut [libc::pollfd], timeout: Duration) -> io::Result<usize> {
    let milliseconds = timeout.as_nanos().div_ceil(1_000_000);
    let milliseconds = libc::c_int::try_from(milliseconds).unwrap_or(libc::c_int::MAX);
    let length = libc::nfds_t::try_from(sockets.len()).unwrap_or(libc::nfds_t::MAX);
    // SAFETY: the kernel reads and writes `length` entries, no more than the slice has.
    let count = unsafe { libc::poll(sockets.as_mut_ptr(), length, milliseconds) };
    super::polled(count, sockets)
}

/// A socket that does not block, that no child inherits, and that raises no signal when its peer is gone.
pub fn stream_socket(family: AddressFamily) -> Result<OwnedFd, Errno> {
    let socket = socket(family, SocketType::STREAM, None)?;
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    ioctl_fionbio(&socket, true)?;
    sockopt::set_socket_nosigpipe(&socket, true)?;
    Ok(socket)
}

/// A listener for this process, in a folder that only its account can enter.
pub struct PrivateListener {
    pub listener: UnixListener,
    _folder: TemporaryFolder,
}

impl PrivateListener {
    /// With its address.
    pub fn new(name: &str) -> io::Result<(Self, SocketAddrUnix)> {
        let folder = TemporaryFolder::new(name)?;
        let path = folder.path().join("bell");
        let listener = UnixListener::bind(&path)?;
        let address = SocketAddrUnix::new(&path)?;
        let _folder = folder;
        Ok((Self { listener, _folder }, address))
    }
}

/// Raises the soft limit of open files as far as the kernel allows: a client is a file.
pub fn allow_many_files() {
    use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(FILES_MAX, |most| most.min(FILES_MAX));
    if limit.current.is_some_and(|current| current < most) {
        // If refused, connections beyond the limit fail and say why.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(most),
                maximum: limit.maximum,
            },
        );
    }
}

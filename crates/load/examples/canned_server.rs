//! A server made of canned replies, for more connections than a machine has room for backends: every request up to a
//! Sync is answered with one row. `canned_server SOCKET` prints a line when it listens, and serves until it is killed.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::ExitCode;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I";
const PREPARED: &[u8] = b"1\0\0\0\x04";
const ROW: &[u8] = b"2\0\0\0\x04T\0\0\0\x21\0\x01abalance\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0\
    D\0\0\0\x0b\0\x01\0\0\0\x010C\0\0\0\x0dSELECT 1\0";
const READY: &[u8] = b"Z\0\0\0\x05I";
const EVENTS: usize = 512;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: canned_server SOCKET");
        return ExitCode::FAILURE;
    };
    allow_many_files();
    match UnixListener::bind(path).and_then(|listener| serve(&listener)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("canned_server: {error}");
            ExitCode::FAILURE
        }
    }
}

fn allow_many_files() {
    use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
    let most = getrlimit(Resource::Nofile).maximum;
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: most,
            maximum: most,
        },
    );
}

fn serve(listener: &UnixListener) -> std::io::Result<()> {
    let queue = epoll::create(CreateFlags::CLOEXEC)?;
    listener.set_nonblocking(true)?;
    // The default queue of a listener is short; a second call makes it as long as the kernel allows.
    rustix::net::listen(listener, 4096)?;
    epoll::add(&queue, listener, EventData::new_u64(u64::MAX), EventFlags::IN)?;
    println!("listening");
    let mut streams: HashMap<u64, (UnixStream, bool)> = HashMap::new();
    let mut events = Vec::with_capacity(EVENTS);
    let mut buffer = vec![0; 65536];
    loop {
        events.clear();
        epoll::wait(&queue, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            let number = event.data.u64();
            if number == u64::MAX {
                while let Ok((stream, _)) = listener.accept() {
                    let number = u64::try_from(stream.as_raw_fd()).unwrap_or(0);
                    stream.set_nonblocking(true)?;
                    epoll::add(&queue, &stream, EventData::new_u64(number), EventFlags::IN)?;
                    streams.insert(number, (stream, false));
                }
                continue;
            }
            let Some((stream, greeted)) = streams.get_mut(&number) else {
                continue;
            };
            if !answer(stream, greeted, &mut buffer) {
                streams.remove(&number);
            }
        }
    }
}

/// False if the connection has ended.
fn answer(stream: &mut UnixStream, greeted: &mut bool, buffer: &mut [u8]) -> bool {
    let count = stream.read(buffer).unwrap_or(0);
    let request = buffer.get(..count).unwrap_or(&[]);
    if !*greeted && count > 0 {
        *greeted = true;
        return stream.write_all(WELCOME).is_ok();
    }
    let mut reply = Vec::with_capacity(256);
    let mut rest = request;
    while let [tag, a, b, c, d, more @ ..] = rest {
        match tag {
            b'P' => reply.extend_from_slice(PREPARED),
            b'E' => reply.extend_from_slice(ROW),
            b'S' => reply.extend_from_slice(READY),
            b'X' => return false,
            _ => {}
        }
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        rest = more.get(length.saturating_sub(4)..).unwrap_or(&[]);
    }
    count > 0 && stream.write_all(&reply).is_ok()
}

//! What all implementations promise, tried on each.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use rustix::net::SocketAddrUnix;

use super::readiness::Readiness;
use super::selector::{PollSelector, Selector};
use super::{Address, Event, Io};
#[cfg(target_os = "linux")]
use super::{EpollSelector, Uring};

const PATIENCE: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(20);

/// Something that happened, kept.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Connected,
    Received(Vec<u8>),
    Closed,
}

/// Either kind of listener.
enum Server {
    Unix(UnixListener, Address),
    Tcp(TcpListener, Address),
}

trait Peer: Read + Write + Send {
    fn set_timeout(&self, timeout: Duration);
}

impl Peer for UnixStream {
    fn set_timeout(&self, timeout: Duration) {
        self.set_read_timeout(Some(timeout)).unwrap();
    }
}

impl Peer for TcpStream {
    fn set_timeout(&self, timeout: Duration) {
        self.set_read_timeout(Some(timeout)).unwrap();
    }
}

impl Server {
    fn unix(directory: &tempfile::TempDir) -> Self {
        let path = directory.path().join("socket");
        let address = Address::Unix(SocketAddrUnix::new(&path).unwrap());
        Self::Unix(UnixListener::bind(path).unwrap(), address)
    }

    fn tcp() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        Self::Tcp(listener, address)
    }

    fn address(&self) -> &Address {
        match self {
            Self::Unix(_, address) | Self::Tcp(_, address) => address,
        }
    }

    fn accept(&self) -> Box<dyn Peer> {
        let peer: Box<dyn Peer> = match self {
            Self::Unix(listener, _) => Box::new(listener.accept().unwrap().0),
            Self::Tcp(listener, _) => Box::new(listener.accept().unwrap().0),
        };
        peer.set_timeout(PATIENCE);
        peer
    }
}

/// Events until `enough`, or for [`PATIENCE`].
fn listen(io: &mut impl Io, mut enough: impl FnMut(usize, Seen) -> bool) {
    let ends = Instant::now() + PATIENCE;
    while Instant::now() < ends {
        io.wait(TICK).unwrap();
        let mut done = false;
        while let Some((slot, event)) = io.next() {
            let seen = match event {
                Event::Connected => Seen::Connected,
                Event::Received(bytes) => {
                    assert!(!bytes.is_empty());
                    Seen::Received(bytes.to_vec())
                }
                Event::Closed(_) => Seen::Closed,
            };
            done |= enough(slot, seen);
        }
        if done {
            return;
        }
    }
    panic!("nothing came");
}

fn expect(io: &mut impl Io, slot: usize, wanted: &Seen) {
    listen(io, |at, seen| {
        assert_eq!((at, &seen), (slot, wanted));
        true
    });
}

fn receive(io: &mut impl Io, slot: usize, length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    listen(io, |at, seen| {
        let Seen::Received(more) = seen else { panic!("{seen:?}") };
        assert_eq!(at, slot);
        bytes.extend(more);
        bytes.len() >= length
    });
    bytes
}

/// Turns until nothing has happened for a while. What has no event to report waits, instead of returning at once.
fn expect_silence(io: &mut impl Io) {
    let began = Instant::now();
    for _ in 0..5 {
        io.wait(TICK).unwrap();
        assert!(io.next().is_none());
    }
    assert!(began.elapsed() >= 2 * TICK, "{:?}", began.elapsed());
}

fn connect(io: &mut impl Io, slot: usize, server: &Server) -> Box<dyn Peer> {
    io.connect(slot, server.address()).unwrap();
    let peer = server.accept();
    expect(io, slot, &Seen::Connected);
    peer
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 249) as u8).collect()
}

fn rest(mut peer: Box<dyn Peer>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A connection that was reset ends like one that was closed.
    let _ = peer.read_to_end(&mut bytes);
    bytes
}

fn talks(io: &mut impl Io, server: &Server) {
    let mut peer = connect(io, 0, server);
    io.send(0, b"ask");
    io.send(0, b" me");
    io.wait(Duration::ZERO).unwrap();
    let mut question = [0; 6];
    peer.read_exact(&mut question).unwrap();
    assert_eq!(&question, b"ask me");
    for answer in [&b"one"[..], b"two", b"three"] {
        peer.write_all(answer).unwrap();
        assert_eq!(receive(io, 0, answer.len()), answer);
    }
    let long = pattern(3_000_000);
    let copy = long.clone();
    let writer = std::thread::spawn(move || {
        peer.write_all(&copy).unwrap();
        peer
    });
    assert!(receive(io, 0, long.len()) == long);
    drop(writer.join().unwrap());
    expect(io, 0, &Seen::Closed);
    expect_silence(io);
}

fn serves_many(io: &mut impl Io, server: &Server) {
    let mut peers: Vec<_> = (0..40).map(|slot| connect(io, slot, server)).collect();
    for round in 0..20_u8 {
        for (slot, peer) in peers.iter_mut().enumerate() {
            io.send(slot, &[round, 1]);
            peer.write_all(&[round; 5]).unwrap();
        }
        for slot in (0..40).step_by(3) {
            // Its first send is not the latest of this turn.
            io.send(slot, &[round, 2]);
        }
        let mut missing = 40 * 5;
        listen(io, |_, seen| {
            let Seen::Received(bytes) = seen else {
                panic!("{seen:?}")
            };
            assert!(bytes.iter().all(|byte| *byte == round));
            missing -= bytes.len();
            missing == 0
        });
        for (slot, peer) in peers.iter_mut().enumerate() {
            let wanted = [round, 1, round, 2];
            let mut bytes = [0; 4];
            let length = if slot % 3 == 0 { 4 } else { 2 };
            peer.read_exact(&mut bytes[..length]).unwrap();
            assert_eq!(bytes[..length], wanted[..length]);
        }
    }
    for slot in 0..40 {
        io.close(slot);
    }
    for peer in peers {
        assert_eq!(rest(peer), b"");
    }
}

fn sends_what_is_large(io: &mut impl Io, server: &Server) {
    let mut peer = connect(io, 0, server);
    let large = pattern(100_000_000);
    let wanted = large.clone();
    let reader = std::thread::spawn(move || {
        let mut bytes = vec![0; wanted.len() + 11];
        peer.read_exact(&mut bytes).unwrap();
        peer.write_all(b"done").unwrap();
        assert!(bytes.starts_with(b"before") && bytes.ends_with(b"after"));
        assert!(bytes[6..bytes.len() - 5] == wanted);
        peer
    });
    io.send(0, b"before");
    io.send(0, &large);
    io.send(0, b"after");
    drop(large);
    assert_eq!(receive(io, 0, 4), b"done");
    let peer = reader.join().unwrap();
    // Small sends that nobody reads pile up and arrive in order.
    for number in 0..20_000_u32 {
        io.send(0, &[number.to_be_bytes(); 16].concat());
        if number % 100 == 0 {
            io.wait(Duration::ZERO).unwrap();
        }
    }
    let reader = std::thread::spawn(move || {
        let mut peer = peer;
        let mut bytes = vec![0; 20_000 * 64];
        peer.read_exact(&mut bytes).unwrap();
        peer.write_all(b"all").unwrap();
        (bytes, peer)
    });
    assert_eq!(receive(io, 0, 3), b"all");
    let (bytes, _peer) = reader.join().unwrap();
    assert!((0..20_000_u32)
        .zip(bytes.chunks(64))
        .all(|(number, chunk)| chunk == [number.to_be_bytes(); 16].concat()));
    io.close(0);
}

fn closes(io: &mut impl Io, server: &Server) {
    // What was sent goes out before the end.
    for _ in 0..3 {
        let peer = connect(io, 1, server);
        io.send(1, b"good-");
        io.send(1, b"bye");
        io.close(1);
        assert_eq!(rest(peer), b"good-bye");
    }
    // A closed slot is silent, and so is the old connection of one that is used again.
    let mut old = connect(io, 1, server);
    old.write_all(b"too late").unwrap();
    io.wait(TICK).unwrap();
    io.close(1);
    let mut new = connect(io, 1, server);
    let _ = old.write_all(b"much too late");
    new.write_all(b"now").unwrap();
    assert_eq!(receive(io, 1, 3), b"now");
    drop(old);
    io.connect(1, server.address()).unwrap();
    let newest = server.accept();
    assert_eq!(rest(new), b"");
    expect(io, 1, &Seen::Connected);
    // The last words of the server come before its end, and sends after it are lost without a word.
    let mut newest = newest;
    newest.write_all(b"last").unwrap();
    drop(newest);
    io.send(1, b"to nobody");
    let mut words = Vec::new();
    listen(io, |_, seen| match seen {
        Seen::Received(bytes) => {
            words.extend(bytes);
            false
        }
        other => other == Seen::Closed,
    });
    assert_eq!(words, b"last");
    io.send(1, b"to nobody");
    io.close(1);
    io.close(7);
    expect_silence(io);
}

fn is_refused(io: &mut impl Io, address: &Address) {
    match io.connect(2, address) {
        Err(error) => assert!(matches!(
            error.kind(),
            ErrorKind::ConnectionRefused | ErrorKind::NotFound
        )),
        Ok(()) => expect(io, 2, &Seen::Closed),
    }
    io.send(2, b"nothing");
    expect_silence(io);
}

fn keeps_its_word(io: &mut impl Io, server: &Server) {
    talks(io, server);
    serves_many(io, server);
    closes(io, server);
    sends_what_is_large(io, server);
}

fn keeps_its_word_everywhere(make: impl Fn() -> Box<dyn FnOnce(&Server)>) {
    let directory = tempfile::tempdir().unwrap();
    make()(&Server::unix(&directory));
    make()(&Server::tcp());
}

fn refusals() -> [Address; 2] {
    let directory = tempfile::tempdir().unwrap();
    let unix = Address::Unix(SocketAddrUnix::new(directory.path().join("nobody")).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    [unix, Address::Tcp(listener.local_addr().unwrap())]
}

fn readiness_keeps_its_word<S: Selector>() {
    keeps_its_word_everywhere(|| Box::new(|server| keeps_its_word(&mut Readiness::<S>::new(64).unwrap(), server)));
    for address in refusals() {
        is_refused(&mut Readiness::<S>::new(4).unwrap(), &address);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn epoll_keeps_its_word() {
    readiness_keeps_its_word::<EpollSelector>();
}

#[test]
fn poll_keeps_its_word() {
    readiness_keeps_its_word::<PollSelector>();
}

#[cfg(target_os = "linux")]
#[test]
fn io_uring_keeps_its_word() {
    if Uring::new(1).is_err() {
        eprintln!("io_uring is not allowed here, so it was not tested");
        return;
    }
    keeps_its_word_everywhere(|| Box::new(|server| keeps_its_word(&mut Uring::new(64).unwrap(), server)));
    for address in refusals() {
        is_refused(&mut Uring::new(4).unwrap(), &address);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn io_uring_gives_its_memory_back_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::unix(&directory);
    let Ok(mut io) = Uring::new(64) else { return };
    let peers: Vec<_> = (0..60).map(|slot| connect(&mut io, slot, &server)).collect();
    // With a send that never ends.
    io.send(0, &pattern(10_000_000));
    io.wait(Duration::ZERO).unwrap();
    let began = Instant::now();
    drop(io);
    assert!(began.elapsed() < Duration::from_millis(300), "{:?}", began.elapsed());
    drop(peers);
}

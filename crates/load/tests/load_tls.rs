//! TLS: the stub behind a proxy that speaks it, with certificates made for the test.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod stub;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pgclinic_load::{LoadError, LoadResult, Stopper};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};
use serde_json::{json, Value};
use stub::{Act, Plan, Stub};

const SELECT: &str = "SELECT 1;";
const ANSWERS_N: u8 = b'N';
const ANSWERS_S: u8 = b'S';

/// A server with TLS in front of a stub.
struct Front {
    stub: Stub,
    port: u16,
    folder: tempfile::TempDir,
    encrypted: Arc<AtomicUsize>,
}

impl Front {
    /// `letter` answers the request for TLS.
    fn start(stub: Stub, letter: u8) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(vec!["db.example".to_owned()]).unwrap();
        std::fs::write(folder.path().join("server.crt"), made.cert.pem()).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![CertificateDer::from(made.cert.der().to_vec())], key)
            .unwrap();
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (socket, encrypted) = (stub.socket(), Arc::new(AtomicUsize::new(0)));
        let (config, count) = (Arc::new(config), Arc::clone(&encrypted));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (config, count, socket) = (Arc::clone(&config), Arc::clone(&count), socket.clone());
                std::thread::spawn(move || serve(stream.unwrap(), letter, &config, &count, &socket));
            }
        });
        Self {
            stub,
            port,
            folder,
            encrypted,
        }
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("server.crt")
    }

    fn try_run(&self, tls: Value, changes: Value) -> Result<LoadResult, LoadError> {
        let mut changes = changes;
        let target = json!({"host": "127.0.0.1", "port": self.port, "user": "u", "database": "d", "tls": tls});
        changes["target"] = target;
        pgclinic_load::run(&self.stub.spec(SELECT, changes), &Stopper::default(), &mut ())
    }

    fn run(&self, tls: Value) -> LoadResult {
        self.try_run(tls, json!({"clients": 2})).unwrap()
    }
}

fn serve(mut stream: TcpStream, letter: u8, config: &Arc<ServerConfig>, count: &AtomicUsize, socket: &PathBuf) {
    let mut first = [0; 8];
    let Ok(8) = stream.peek(&mut first) else { return };
    let asks = first == [0, 0, 0, 8, 4, 210, 22, 47];
    if asks {
        stream.read_exact(&mut first).unwrap();
        stream.write_all(&[letter]).unwrap();
    }
    let server = UnixStream::connect(socket).unwrap();
    if first[0] == 22 || (asks && letter == ANSWERS_S) {
        count.fetch_add(1, Ordering::SeqCst);
        relay_encrypted(stream, config, server);
    } else {
        let (mut to, mut from) = (server.try_clone().unwrap(), stream.try_clone().unwrap());
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(std::net::Shutdown::Both);
        });
        let _ = std::io::copy(&mut { server }, &mut stream);
        let _ = stream.shutdown(std::net::Shutdown::Both);
    }
}

/// Both ways over one TLS connection, in one thread that never waits for either.
fn relay_encrypted(mut socket: TcpStream, config: &Arc<ServerConfig>, mut server: UnixStream) {
    let mut connection = ServerConnection::new(Arc::clone(config)).unwrap();
    socket.set_nonblocking(true).unwrap();
    server.set_read_timeout(Some(Duration::from_micros(300))).unwrap();
    let mut buffer = [0; 16384];
    loop {
        match connection.read_tls(&mut socket) {
            Ok(0) => return,
            Ok(_) if connection.process_new_packets().is_err() => {
                let _ = connection.write_tls(&mut socket);
                return;
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
        while let Ok(count @ 1..) = connection.reader().read(&mut buffer) {
            let _ = server.write_all(&buffer[..count]);
        }
        match server.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => connection.writer().write_all(&buffer[..count]).unwrap(),
            Err(_) => {}
        }
        while connection.wants_write() {
            match connection.write_tls(&mut socket) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
                Ok(_) => {}
            }
        }
    }
}

#[test]
fn everything_travels_encrypted_when_that_is_required() {
    for protocol in ["simple", "prepared"] {
        let front = Front::start(Plan::prompt().start(), ANSWERS_S);
        let changes = json!({"clients": 4, "threads": 2, "protocol": protocol});
        let result = front.try_run(json!({"mode": "require"}), changes).unwrap();
        assert_eq!((result.transactions, result.failed), (40, 0), "{:?}", result.failures);
        assert_eq!(front.encrypted.load(Ordering::SeqCst), 4);
    }
}

#[test]
fn a_server_without_tls_is_refused_or_taken_as_the_mode_says() {
    let front = Front::start(Plan::prompt().start(), ANSWERS_N);
    assert_eq!(front.run(json!({"mode": "prefer"})).transactions, 20);
    let result = front.run(json!({"mode": "require"}));
    assert_eq!((result.transactions, result.clients_lost), (0, 2));
    assert!(
        result.failures[0].message.contains("does not support TLS"),
        "{:?}",
        result.failures
    );
    assert_eq!(front.encrypted.load(Ordering::SeqCst), 0);
}

#[test]
fn words_put_in_before_tls_begins_are_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 8]);
            let _ = stream.write_all(b"Sinjected");
            std::thread::sleep(Duration::from_secs(1));
        }
    });
    let stub = Plan::prompt().start();
    let target = json!({"host": "127.0.0.1", "port": port, "user": "u", "database": "d", "tls": {"mode": "require"}});
    let result = stub.run(SELECT, json!({"target": target}));
    assert_eq!(result.failures[0].sqlstate, "protocol");
}

#[test]
fn certificates_and_names_are_verified_as_the_mode_says() {
    let front = Front::start(Plan::prompt().start(), ANSWERS_S);
    let other = Front::start(Plan::prompt().start(), ANSWERS_S);
    let tls = |mode: &str, root: PathBuf, name: &str| json!({"mode": mode, "root_cert": root, "server_name": name});
    for (tls, wanted) in [
        (tls("verify-full", front.certificate(), "db.example"), 20),
        (tls("verify-full", front.certificate(), "other.example"), 0),
        (tls("verify-ca", front.certificate(), "other.example"), 20),
        (tls("verify-ca", other.certificate(), "db.example"), 0),
        (tls("require", other.certificate(), "db.example"), 0),
    ] {
        let result = front.run(tls.clone());
        assert_eq!(result.transactions, wanted, "{tls}: {:?}", result.failures);
    }
    for tls in [
        json!({"mode": "verify-full"}),
        json!({"mode": "verify-ca", "root_cert": "/no/such/file"}),
    ] {
        assert!(front.try_run(tls, json!({})).unwrap_err().is_usage());
    }
}

#[test]
fn a_client_may_begin_with_tls_at_once() {
    let front = Front::start(Plan::prompt().start(), ANSWERS_N);
    let result = front.run(json!({"mode": "require", "negotiation": "direct"}));
    assert_eq!(
        (result.transactions, result.clients_lost),
        (20, 0),
        "{:?}",
        result.failures
    );
    assert_eq!(front.encrypted.load(Ordering::SeqCst), 2);
    let tls = json!({"mode": "prefer", "negotiation": "direct"});
    assert!(front.try_run(tls, json!({})).unwrap_err().is_usage());
}

#[test]
fn requests_to_cancel_are_encrypted_too() {
    let front = Front::start(Plan::new(|_| vec![Act::UntilCancelled]).start(), ANSWERS_S);
    let changes = json!({"transactions_per_client": null, "measure_s": 0.3, "drain_s": 0.1});
    let began = Instant::now();
    let result = front.try_run(json!({"mode": "require"}), changes).unwrap();
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!((result.in_flight.len(), front.stub.cancels()), (1, 1));
    assert_eq!(front.encrypted.load(Ordering::SeqCst), 2);
}

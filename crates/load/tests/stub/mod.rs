//! A server made of canned replies, on a unix socket in a directory of its own: what PostgreSQL does, when it does it,
//! and what it does wrong is up to the test.
#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod replies;
pub mod scram;
mod session;

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pgclinic_load::{LoadResult, LoadSpec, Observer, Stopper};
use serde_json::{json, Value};

pub use replies::{
    auth_md5, auth_ok, auth_password, auth_sasl, complete, copy_in, error, fatal, notice, notification,
    parameter_status, ready, row, row_description,
};

/// One thing that the server does in answer to a statement.
#[derive(Clone, Debug)]
pub enum Act {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Does nothing for a while.
    Sleep(Duration),
    /// Does nothing until it is asked to cancel, then reports 57014; gives up when the client hangs up.
    UntilCancelled,
    /// Closes the connection.
    Cut,
}

/// A statement as it arrived.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The text, parameters not replaced.
    pub sql: String,
    pub parameters: Vec<Option<String>>,
    /// The number of the connection, from 0.
    pub connection: usize,
    /// The number of the statement on this connection, from 0.
    pub number: usize,
}

/// How the server lets clients in.
#[derive(Clone, Debug)]
pub enum Login {
    Trust,
    /// Asks in clear text.
    Password(&'static str),
    /// Asks with a salt; user `u`, password `secret`.
    Md5,
    /// By SCRAM-SHA-256; password `secret`.
    Scram,
    /// Begins to authenticate by SCRAM and hangs up in the middle.
    ScramHalf,
    /// An `ErrorResponse` and the end.
    Refuse(&'static str, &'static str),
    /// Hangs up without a word.
    HangUp,
    /// Reads and never answers.
    Silent,
    /// Says these words one after another, each after it has heard something, and then nothing.
    Say(Vec<Vec<u8>>),
    /// Says these words, and a little later those.
    SayLater(Vec<u8>, Vec<u8>),
}

type Answer = dyn Fn(&Statement) -> Vec<Act> + Send + Sync;
type Entry = dyn Fn(usize) -> Login + Send + Sync;

/// What the sessions share.
pub struct Shared {
    answer: Box<Answer>,
    login: Box<Entry>,
    chunk: usize,
    connections: AtomicUsize,
    pub cancels: AtomicUsize,
    /// How many messages clients sent to a server that says prepared words.
    pub heard: AtomicUsize,
    /// Statements in the order in which they came.
    pub seen: Mutex<Vec<Statement>>,
    cancelled: Mutex<Vec<Arc<AtomicUsize>>>,
}

/// The server. Its sessions end with their connections.
pub struct Stub {
    directory: tempfile::TempDir,
    pub shared: Arc<Shared>,
}

/// What a stub does.
pub struct Plan {
    answer: Box<Answer>,
    login: Box<Entry>,
    chunk: usize,
}

impl Plan {
    /// Answers every statement by this function.
    pub fn new(answer: impl Fn(&Statement) -> Vec<Act> + Send + Sync + 'static) -> Self {
        Self {
            answer: Box::new(answer),
            login: Box::new(|_| Login::Trust),
            chunk: usize::MAX,
        }
    }

    /// Answers every statement at once.
    pub fn prompt() -> Self {
        Self::new(|_| vec![ok()])
    }

    /// Lets the n-th connection in like this.
    pub fn login(mut self, login: impl Fn(usize) -> Login + Send + Sync + 'static) -> Self {
        self.login = Box::new(login);
        self
    }

    /// Writes at most so many bytes at once.
    pub fn chunk(mut self, chunk: usize) -> Self {
        self.chunk = chunk;
        self
    }

    pub fn start(self) -> Stub {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
        let shared = Arc::new(Shared {
            answer: self.answer,
            login: self.login,
            chunk: self.chunk,
            connections: AtomicUsize::new(0),
            cancels: AtomicUsize::new(0),
            heard: AtomicUsize::new(0),
            seen: Mutex::new(Vec::new()),
            cancelled: Mutex::new(Vec::new()),
        });
        let sessions = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&sessions);
                std::thread::spawn(move || session::serve(stream.unwrap(), &shared));
            }
        });
        Stub { directory, shared }
    }
}

impl Stub {
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join(".s.PGSQL.5432")
    }

    /// A connection outside of the engine.
    pub fn connect(&self) -> UnixStream {
        UnixStream::connect(self.socket()).unwrap()
    }

    /// How many sessions and requests to cancel have come.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// How many messages came in answer to [`Login::Say`].
    pub fn heard(&self) -> usize {
        self.shared.heard.load(Ordering::SeqCst)
    }

    pub fn cancels(&self) -> usize {
        self.shared.cancels.load(Ordering::SeqCst)
    }

    /// The texts of all statements so far.
    pub fn texts(&self) -> Vec<String> {
        self.shared
            .seen
            .lock()
            .unwrap()
            .iter()
            .map(|statement| statement.sql.clone())
            .collect()
    }

    /// A spec for this server; `changes` are merged into it.
    pub fn spec(&self, script: &str, changes: Value) -> LoadSpec {
        spec_at(self.directory.path().to_str().unwrap(), script, changes)
    }

    /// Runs a load on this server.
    pub fn run(&self, script: &str, changes: Value) -> LoadResult {
        self.run_watched(script, changes, &mut ())
    }

    pub fn run_watched(&self, script: &str, changes: Value, observer: &mut dyn Observer) -> LoadResult {
        pgclinic_load::run(&self.spec(script, changes), &Stopper::default(), observer).unwrap()
    }
}

/// A spec with one script for a server whose socket is in `directory`.
pub fn spec_at(directory: &str, script: &str, changes: Value) -> LoadSpec {
    let mut spec = json!({
        "target": {"host": directory, "port": 5432, "user": "u", "database": "d"},
        "scripts": [{"name": "script", "text": script}],
        "transactions_per_client": 10,
        "limit_s": 20.0,
        "connect_timeout_s": 5.0,
    });
    // The tests run with whatever the machine allows, and once more with PGCLINIC_LOAD_IO=epoll.
    if let Ok(io) = std::env::var("PGCLINIC_LOAD_IO") {
        spec["io"] = io.into();
    }
    for (name, value) in changes.as_object().unwrap() {
        if name == "password" {
            spec["target"]["password"] = value.clone();
        } else {
            spec[name] = value.clone();
        }
    }
    LoadSpec::from_json(&spec.to_string()).unwrap()
}

/// The usual answer: one row.
pub fn ok() -> Act {
    Act::Send([row_description(&["a"]), row(&[Some("1")]), complete("SELECT 1")].concat())
}

/// An error of a statement.
pub fn failure(sqlstate: &str) -> Act {
    Act::Send(error(sqlstate, "made to fail"))
}

//! One virtual client, without its socket: bytes of the server go in, requests come out in [`Work::out`], and
//! [`Next`] tells the thread what the client waits for.
//!
//! ```text
//! connected() ──> login ──> prepare ──> Ready                       session.rs
//! begin()     ──> commands until one needs the server or a rest ──> Answer | At      run.rs
//! receive()   ──> replies; the last one of a command leads on                        reply.rs
//!             ──> end of the script: success, retry, failure ──> Free                outcome.rs
//! ```

mod debug;
mod encryption;
mod outcome;
mod reply;
mod rows;
mod run;
mod session;
mod shell;
mod tpcc;
mod words;

use std::collections::{HashMap, VecDeque};

use crate::clock::{Clock, Nanos};
use crate::program::Program;
use crate::record::{Code, Course, Fault, Recorder};
use crate::script::{Prng, Variables};
use crate::shell::{ShellOutcome, ShellRequest};
use crate::spec::{OnError, ShellAccount, ShellOutput};
use crate::tls::{Layer, TlsPlan};
use crate::tpcc::Terminal;
use crate::wire::backend::CancelKey;
use crate::wire::{Framer, Identity, Login};

use encryption::Choice;
use rows::{Columns, Rows};

/// What a client needs next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// The server's answer.
    Answer,
    /// Nothing: its session has just begun.
    Ready,
    /// Its next transaction.
    Free,
    /// To be woken at this time.
    At(Nanos),
    /// The end of the shell command in [`Work::shell`].
    Shell,
    /// A new connection instead of this one.
    Reconnect,
    /// Nothing any more: it has done all that it should.
    Finished,
    /// Nothing any more: it failed and must not go on.
    GivenUp,
    /// The server did not let it in.
    Refused { code: Code, message: String },
    /// Another connection at once, with or without TLS where this one had it the other way.
    Anew,
    /// The stream cannot be understood; the connection is of no use.
    Broken { message: String },
}

impl Next {
    /// Whatever the server says after this is not for us any more.
    fn is_last(&self) -> bool {
        matches!(
            self,
            Self::Refused { .. } | Self::Broken { .. } | Self::Reconnect | Self::Finished | Self::GivenUp
        )
    }
}

/// The rules of the load that concern a client.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// 0 is without limit.
    pub max_tries: u32,
    pub on_error: OnError,
    pub latency_limit: Option<Nanos>,
    pub transactions_per_client: Option<u64>,
    pub reconnect: bool,
    /// Who runs shell commands, if not this process's account.
    pub shell_account: Option<ShellAccount>,
    pub prepare_at_connect: bool,
    pub verbose_errors: bool,
    pub shell_output: ShellOutput,
}

/// What all clients of a thread share.
pub struct Work<'a> {
    pub program: &'a Program,
    pub identity: &'a Identity,
    pub tls: Option<&'a TlsPlan>,
    pub rules: Rules,
    pub clock: Clock,
    pub recorder: Recorder,
    /// Requests of the client that is being served; the thread sends them.
    pub out: Vec<u8>,
    /// The shell command of the client that is being served; the thread starts it.
    pub shell: Option<ShellRequest>,
    /// What TLS has let through, while it is read.
    plain: Vec<u8>,
    /// The load is over and statements are being cancelled: begin nothing new.
    pub ending: bool,
    /// What the columns of `\gset` and `\aset` mean, by script and command.
    columns: HashMap<(u16, u32), Columns>,
}

impl<'a> Work<'a> {
    /// An empty share.
    pub fn new(
        program: &'a Program,
        identity: &'a Identity,
        tls: Option<&'a TlsPlan>,
        rules: Rules,
        clock: Clock,
        recorder: Recorder,
    ) -> Self {
        let out = Vec::with_capacity(4096);
        Self {
            program,
            identity,
            tls,
            rules,
            clock,
            recorder,
            out,
            shell: None,
            plain: Vec::new(),
            ending: false,
            columns: HashMap::new(),
        }
    }
}

enum State {
    /// No connection, or one that is not established.
    Closed,
    Login(Box<Login>),
    /// The n-th statement is being prepared.
    Preparing(u32),
    /// In a session, without a transaction.
    Free,
    /// The answer to a command is awaited.
    Busy,
    /// The answer to ROLLBACK is awaited.
    Rollback,
    /// In `\sleep`.
    Asleep,
    /// A terminal of TPC-C between two transactions.
    Resting,
    /// A command of the shell runs.
    Shell,
}

/// The transaction that a client is in.
struct Transaction {
    script: u16,
    /// The command that runs, or is to run.
    command: u32,
    tries: u32,
    /// Results of the command that runs.
    results: u32,
    /// When it should have begun; latency counts from here.
    due: Nanos,
    began: Nanos,
    statement_began: Nanos,
    /// The random state at its beginning, for retries.
    prng: Prng,
    error: Option<Fault>,
}

/// A transaction that was running when measuring ended.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    pub script: u16,
    pub statement: Option<u32>,
    pub due: Nanos,
}

/// One virtual client. See the module.
pub struct Client {
    framer: Framer,
    layer: Layer,
    choice: Choice,
    session: Session,
}

struct Session {
    /// Among all threads' clients.
    number: usize,
    state: State,
    /// The server's word: `I` idle, `T` in a transaction, `E` in a failed one.
    status: u8,
    key: Option<CancelKey>,
    /// Which of the program's statements this session has prepared, as bits.
    prepared: Box<[u64]>,
    variables: Variables,
    prng: Prng,
    transaction: Transaction,
    /// How many `ReadyForQuery` are still to come.
    syncs: u32,
    in_pipeline: bool,
    /// The server asked for data of a COPY in this request, and was refused.
    copy_refused: bool,
    /// Statements sent in a pipeline and not yet answered, with the time of sending.
    sent: VecDeque<(Option<u32>, Nanos)>,
    /// Statements whose Parse was sent with their first use and not yet answered.
    parsing: VecDeque<u32>,
    /// The rows of a command that captures them.
    rows: Option<Box<Rows>>,
    /// TPC-C instead of scripts.
    terminal: Option<Box<Terminal>>,
    /// Transactions ended while measuring.
    done: u64,
}

impl Session {
    /// The transaction so far.
    fn course(&self) -> Course {
        let Transaction {
            script,
            due,
            began,
            tries,
            ..
        } = self.transaction;
        Course {
            client: self.number,
            script,
            due,
            began,
            tries,
        }
    }
}

impl Client {
    /// A client that has never been connected; `number` counts from 0 over all threads.
    pub fn new(program: &Program, number: usize, variables: Variables, prng: Prng) -> Self {
        let transaction = Transaction {
            script: 0,
            command: 0,
            tries: 0,
            results: 0,
            due: 0,
            began: 0,
            statement_began: 0,
            prng,
            error: None,
        };
        let tpcc = program.tpcc.as_ref();
        let terminal = tpcc.and_then(|tpcc| Terminal::new(&tpcc.plan, number));
        let session = Session {
            number,
            state: State::Closed,
            status: b'I',
            key: None,
            prepared: vec![0; program.prepared.len().div_ceil(64)].into_boxed_slice(),
            variables,
            prng,
            transaction,
            syncs: 0,
            in_pipeline: false,
            copy_refused: false,
            sent: VecDeque::new(),
            parsing: VecDeque::new(),
            rows: None,
            terminal: terminal.map(Box::new),
            done: 0,
        };
        Self {
            framer: Framer::default(),
            layer: Layer::Plain,
            choice: Choice::First,
            session,
        }
    }

    /// The connection is gone, or was taken away: whatever ran has failed.
    pub fn lost(&mut self, code: Code, message: &str, now: Nanos, work: &mut Work<'_>) {
        self.session.lost(code, message, now, work);
    }

    /// The connection was closed on purpose, or never stood.
    pub fn close(&mut self) {
        self.session.reset();
    }

    /// Bytes for the session.
    fn read(&mut self, bytes: &[u8], now: Nanos, work: &mut Work<'_>) -> Next {
        let Self { framer, session, .. } = self;
        let mut chunk = bytes;
        let mut next = Next::Answer;
        loop {
            let rows = session.rows_wanted();
            if matches!(session.state, State::Busy) {
                framer.pass_unread(&mut chunk, rows);
            }
            match framer.next(&mut chunk, rows) {
                Ok(Some(message)) => {
                    if let Some(changed) = session.message(message, now, work) {
                        next = changed;
                        if next.is_last() {
                            return next;
                        }
                    }
                }
                Ok(None) => return next,
                Err(error) => {
                    return Next::Broken {
                        message: error.to_string(),
                    }
                }
            }
        }
    }

    /// Begins a transaction of this script that was due at this time.
    pub fn begin(&mut self, script: u16, due: Nanos, now: Nanos, work: &mut Work<'_>) -> Next {
        let next = self.session.begin(script, due, now, work);
        self.layer.seal(&mut work.out);
        next
    }

    /// The time that the client asked for has come.
    pub fn wake(&mut self, now: Nanos, work: &mut Work<'_>) -> Next {
        let next = self.session.wake(now, work);
        self.layer.seal(&mut work.out);
        next
    }

    /// Its shell command has ended.
    pub fn shell_ended(&mut self, outcome: ShellOutcome, now: Nanos, work: &mut Work<'_>) -> Next {
        let next = self.session.shell_ended(outcome, now, work);
        self.layer.seal(&mut work.out);
        next
    }

    /// Whether the client has done all the transactions that it should.
    pub fn is_done(&self, rules: &Rules) -> bool {
        rules
            .transactions_per_client
            .is_some_and(|limit| self.session.done >= limit)
    }

    /// A slot of the schedule was passed over for this client: it counts as one of its transactions.
    pub fn skip(&mut self, now: Nanos, work: &Work<'_>) {
        self.session.count_done(now, work);
    }

    /// In a session, without a transaction.
    pub fn is_free(&self) -> bool {
        matches!(self.session.state, State::Free | State::Resting)
    }

    /// In a session, or on the way to one.
    pub fn is_session(&self) -> bool {
        matches!(
            self.session.state,
            State::Free | State::Resting | State::Busy | State::Rollback | State::Asleep | State::Shell
        )
    }

    /// In `\shell` or `\setshell`: nothing is running on the server.
    pub fn is_in_shell(&self) -> bool {
        matches!(self.session.state, State::Shell)
    }

    /// It waits for a time, and nothing is running on the server.
    pub fn is_asleep(&self) -> bool {
        matches!(self.session.state, State::Asleep | State::Resting)
    }

    /// Its rest ends at this time, and its transaction is due then.
    pub fn rest_longer(&mut self, at: Nanos) {
        self.session.transaction.due = at;
    }

    /// A terminal of TPC-C between two transactions.
    pub fn is_resting(&self) -> bool {
        matches!(self.session.state, State::Resting)
    }

    /// When the statement that the server has not answered was sent.
    pub fn waiting_since(&self) -> Option<Nanos> {
        matches!(self.session.state, State::Busy | State::Rollback).then_some(self.session.transaction.statement_began)
    }

    /// The transaction that is running.
    pub fn in_flight(&self, work: &Work<'_>) -> Option<InFlight> {
        if !matches!(
            self.session.state,
            State::Busy | State::Rollback | State::Asleep | State::Shell
        ) {
            return None;
        }
        let transaction = &self.session.transaction;
        let statement = self.session.statement(work);
        Some(InFlight {
            script: transaction.script,
            statement,
            due: transaction.due,
        })
    }

    /// The key to cancel what the session runs.
    pub fn cancel_key(&self) -> Option<CancelKey> {
        self.session.key
    }
}

//! From a spec to a result: parse, resolve, start the threads, follow them, add up what they have to say.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::client::{Client, Rules, Work};
use crate::clock::{nanos_from_s, Nanos};
use crate::error::LoadError;
use crate::event::{Event, EventCounts, EventKind, EventSender, Report};
use crate::follow::Follower;
use crate::io::{Address, Io, Opened};
use crate::os;
use crate::pace::{Closed, Open, Pace};
use crate::program::Program;
use crate::progress::{Observer, Stopper};
use crate::pulse::{self, Pauses};
use crate::record::{LogOwner, Recorder, RecorderPlan, TransactionLog};
use crate::result::LoadResult;
use crate::script::{Prng, SeedPlan, ThreadStreams};
use crate::spec::{IoChoice, LoadSpec};
use crate::stage::Stage;
use crate::summary;
use crate::tls::TlsPlan;
use crate::wire::Identity;
use crate::worker::{ConnectPlan, Outcome, Parts, Worker};

/// How many connections of all threads together may be on their way at once.
const CONNECTS_AT_ONCE: usize = 64;
/// How often the observer and the stopper are asked.
const FOLLOW_EVERY: Duration = Duration::from_millis(50);
/// Slots for clients are followed by as many for requests to cancel, and one for the bell of shell commands.
const SLOTS_PER_CLIENT: usize = 2;

/// What all threads read and none changes.
struct Frame<'a> {
    spec: &'a LoadSpec,
    program: &'a Program,
    identity: &'a Identity,
    tls: Option<&'a TlsPlan>,
    addresses: &'a [Address],
    seeds: &'a SeedPlan,
    stage: &'a Stage,
    events: &'a Arc<EventCounts>,
    threads: usize,
    /// When the clock of the load stood at zero.
    epoch_us: u64,
}

/// Runs one load. Blocks until it is over; `observer` is called by this thread.
pub fn run(spec: &LoadSpec, stopper: &Stopper, observer: &mut dyn Observer) -> Result<LoadResult, LoadError> {
    spec.validate()?;
    let program = Program::compile(spec)?;
    let addresses = Address::resolve(&spec.target, Duration::from_secs_f64(spec.connect_timeout_s))?;
    let identity = Identity::new(&spec.target);
    let tls = TlsPlan::new(&spec.target)?;
    let threads = spec.threads.min(spec.clients);
    let seeds = SeedPlan::draw(
        spec.seed,
        spec.clients,
        threads,
        !spec.variables.contains_key("default_seed"),
    );
    os::allow_many_files();
    let created = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let stage = Stage::new(spec, threads, stopper.clone());
    if stage.windows().is_some_and(|windows| windows.end() == 0) {
        return Err(LoadError::spec("windows", "were over before the load began"));
    }
    let events = Arc::new(EventCounts::default());
    let frame = Frame {
        spec,
        program: &program,
        identity: &identity,
        tls: tls.as_ref(),
        addresses: &addresses,
        seeds: &seeds,
        stage: &stage,
        events: &events,
        threads,
        epoch_us: u64::try_from(created.as_micros()).unwrap_or(u64::MAX),
    };
    let mut follower = Follower::new(spec, &program, &stage, threads);
    let (outcomes, pauses) = std::thread::scope(|scope| watched(scope, &frame, &mut follower, observer))?;
    let series = follower.into_seconds();
    summary::summarize(spec, &program, &stage, frame.epoch_us, series, outcomes, pauses).ok_or(LoadError::ThreadDied)
}

/// Runs the threads, with one beside them that notices when they could not run.
fn watched<'scope>(
    scope: &'scope Scope<'scope, '_>,
    frame: &'scope Frame<'_>,
    follower: &mut Follower<'_>,
    observer: &mut dyn Observer,
) -> Result<(Vec<Outcome>, Pauses), LoadError> {
    let (running, ended) = mpsc::channel();
    let watch = move || pulse::watch(frame.stage, frame.threads, &ended);
    let watcher = std::thread::Builder::new().name("load-pulse".to_owned());
    let watcher = watcher
        .spawn_scoped(scope, watch)
        .map_err(LoadError::system("starting a thread"))?;
    let outcomes = run_threads(scope, frame, follower, observer);
    drop(running);
    let pauses = watcher.join().map_err(|_| LoadError::ThreadDied)?;
    Ok((outcomes?, pauses))
}

fn run_threads<'scope>(
    scope: &'scope Scope<'scope, '_>,
    frame: &'scope Frame<'_>,
    follower: &mut Follower<'_>,
    observer: &mut dyn Observer,
) -> Result<Vec<Outcome>, LoadError> {
    let (sender, receiver) = mpsc::channel();
    let mut handles = Vec::with_capacity(frame.threads);
    let mut first_client = 0;
    for thread in 0..frame.threads {
        // As pgbench deals clients to threads.
        let clients = (frame.spec.clients - first_client).div_ceil(frame.threads - thread);
        let reports = sender.clone();
        let builder = std::thread::Builder::new().name(format!("load-{thread}"));
        let body = move || run_thread(frame, thread, first_client, clients, reports);
        match builder.spawn_scoped(scope, body) {
            Ok(handle) => handles.push(handle),
            Err(error) => {
                frame.stage.end(frame.stage.clock.now());
                return Err(LoadError::system("starting a thread")(error));
            }
        }
        first_client += clients;
    }
    drop(sender);
    follow(&receiver, frame, follower, observer);
    join(handles)
}

/// Until the threads have ended: passes the seconds on, and the wish to stop.
fn follow(reports: &Receiver<Report>, frame: &Frame<'_>, follower: &mut Follower<'_>, observer: &mut dyn Observer) {
    let stage = frame.stage;
    loop {
        match reports.recv_timeout(FOLLOW_EVERY) {
            Ok(Report::Second(report)) => follower.report(report, observer),
            Ok(Report::Event(event)) => {
                frame.events.read();
                observer.event(&event);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        follower.look(observer);
        if observer.wants_stop() && !stage.stopper.is_stopped() {
            stage.stopper.stop();
        }
        if stage.stopper.is_stopped() {
            stage.end(stage.clock.now());
        }
    }
    follower.close(observer);
    let dropped = frame.events.dropped();
    if dropped > 0 {
        let text = format!("{dropped} more messages came faster than they could be shown");
        let kind = EventKind::Info;
        observer.event(&Event { kind, text });
    }
}

fn join(handles: Vec<ScopedJoinHandle<'_, Result<Outcome, LoadError>>>) -> Result<Vec<Outcome>, LoadError> {
    let ended: Vec<_> = handles.into_iter().map(ScopedJoinHandle::join).collect();
    ended
        .into_iter()
        .map(|end| end.map_err(|_| LoadError::ThreadDied)?)
        .collect()
}

fn run_thread(
    frame: &Frame<'_>,
    thread: usize,
    first_client: usize,
    clients: usize,
    reports: Sender<Report>,
) -> Result<Outcome, LoadError> {
    os::punctual_timers();
    let slots = clients * SLOTS_PER_CLIENT + 1;
    let outcome = recorder(frame, thread, first_client, clients, reports).and_then(|recorder| {
        match Opened::new(io_choice(frame.spec), slots).map_err(LoadError::system("preparing to watch sockets"))? {
            #[cfg(target_os = "linux")]
            Opened::Uring(io) => Worker::new(parts(frame, io, thread, first_client, clients, recorder)).run(),
            #[cfg(target_os = "linux")]
            Opened::Epoll(io) => Worker::new(parts(frame, io, thread, first_client, clients, recorder)).run(),
            Opened::Poll(io) => Worker::new(parts(frame, io, thread, first_client, clients, recorder)).run(),
        }
    });
    if outcome.is_err() {
        frame.stage.end(frame.stage.clock.now());
    }
    outcome
}

fn io_choice(spec: &LoadSpec) -> IoChoice {
    match spec.io {
        // Who never waits gains nothing from sending and waiting in one call, which is what io_uring is better at.
        IoChoice::Auto if spec.spin => IoChoice::Epoll,
        choice => choice,
    }
}

/// One of the thread's random streams.
fn stream(frame: &Frame<'_>, thread: usize, pick: fn(&ThreadStreams) -> Prng) -> Prng {
    frame.seeds.threads.get(thread).map_or_else(|| Prng::seeded(0), pick)
}

fn recorder(
    frame: &Frame<'_>,
    thread: usize,
    first_client: usize,
    clients: usize,
    reports: Sender<Report>,
) -> Result<Recorder, LoadError> {
    let spec = frame.spec;
    let owner = LogOwner {
        thread,
        first_client,
        clients,
        sampling: stream(frame, thread, |streams| streams.sampling),
        epoch_us: frame.epoch_us,
    };
    let log = TransactionLog::open(spec, owner)?;
    let events = || EventSender::new(reports.clone(), Arc::clone(frame.events));
    let plan = RecorderPlan {
        thread,
        statements: &frame.program.statement_counts(),
        latency_limit_us: spec.pace.latency_limit_us,
        is_open: spec.pace.rate_tps.is_some(),
        keeps_errors: spec.verbose_errors,
        events: spec.events.then(events),
        windows: frame.stage.windows().cloned(),
    };
    Ok(Recorder::new(plan, log, reports))
}

fn parts<'a, I: Io>(
    frame: &'a Frame<'_>,
    io: I,
    thread: usize,
    first_client: usize,
    clients: usize,
    recorder: Recorder,
) -> Parts<'a, I> {
    let spec = frame.spec;
    let limit_us = spec.pace.latency_limit_us;
    let latency_limit = limit_us.map(|limit| limit.saturating_mul(1_000));
    let stream = |pick: fn(&ThreadStreams) -> Prng| stream(frame, thread, pick);
    let client = |number: usize| {
        let prng = frame
            .seeds
            .clients
            .get(number)
            .copied()
            .unwrap_or_else(|| Prng::seeded(0));
        let variables = frame.program.variables(spec, frame.seeds, number);
        Client::new(frame.program, number, variables, prng)
    };
    let pace = match spec.pace.rate_tps {
        Some(rate) => {
            let share = rate / frame.threads as f64;
            let windows = frame.stage.windows().cloned();
            let throttle = stream(|streams| streams.throttle);
            Pace::Open(Open::new(throttle, share, latency_limit, windows))
        }
        None => Pace::Closed(Closed),
    };
    Parts {
        io,
        stage: frame.stage,
        work: Work::new(
            frame.program,
            frame.identity,
            frame.tls,
            rules(spec, latency_limit),
            frame.stage.clock,
            recorder,
        ),
        pace,
        choice: stream(|streams| streams.choice),
        clients: (first_client..first_client + clients).map(client).collect(),
        first_client,
        connect: ConnectPlan {
            addresses: frame.addresses,
            window: CONNECTS_AT_ONCE.div_ceil(frame.threads),
            patience: nanos_from_s(spec.connect_timeout_s),
        },
        drain: nanos_from_s(spec.drain_s),
        all_clients: spec.all_clients,
        statement_timeout: spec.statement_timeout_s.map(nanos_from_s),
        spin: spec.spin,
    }
}

fn rules(spec: &LoadSpec, latency_limit: Option<Nanos>) -> Rules {
    Rules {
        max_tries: spec.max_tries,
        on_error: spec.on_error,
        latency_limit,
        transactions_per_client: spec.transactions_per_client,
        reconnect: spec.reconnect,
        shell_account: spec.shell_account,
        prepare_at_connect: spec.prepare_at_connect,
        verbose_errors: spec.verbose_errors,
        shell_output: spec.shell_output,
    }
}

//! Servers that speak nonsense: random bytes, messages in any order, lengths of a gigabyte, pauses, broken endings. A
//! load against them ends in time, without a panic, with figures that add up, and without filling the memory.
//!
//! `PGCLINIC_HOSTILE_S=3600 cargo test --release --test load_hostile -- --nocapture` goes on for an hour, and
//! `PGCLINIC_HOSTILE_SEED=n` repeats a run that failed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod hostile;
mod stub;

use std::time::{Duration, Instant};

use pgclinic_load::{LoadResult, LoadSpec, Observer, Progress, Stopper};
use serde_json::json;
use stub::{Act, Login, Plan};

const RUNS_MIN: u64 = 30;
const RUN_S: f64 = 8.0;
/// A run is asked to take a second at most; the rest is for a machine with other things to do.
const RUN_MAX: Duration = Duration::from_secs(60);
const GROWTH_KB_MAX: u64 = 200_000;

#[derive(Default)]
struct Watch {
    overflow: bool,
}

impl Observer for Watch {
    fn progress(&mut self, progress: &Progress) {
        self.overflow |= progress.clients_connected > progress.clients;
    }
}

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn run_one(seed: u64) {
    let server = hostile::Server::start(seed);
    let text = server.spec(seed).to_string();
    let began = Instant::now();
    let mut watch = Watch::default();
    let spec = LoadSpec::from_json(&text).unwrap();
    let result = pgclinic_load::run(&spec, &Stopper::default(), &mut watch);
    let result = result.unwrap_or_else(|error| panic!("PGCLINIC_HOSTILE_SEED={seed}: {error}\n{text}"));
    let elapsed = began.elapsed();
    assert!(
        elapsed < RUN_MAX,
        "PGCLINIC_HOSTILE_SEED={seed} took {elapsed:?}\n{text}"
    );
    assert!(
        !watch.overflow,
        "PGCLINIC_HOSTILE_SEED={seed} counted clients that were not there\n{text}"
    );
    assert!(result.clients_lost <= result.clients, "PGCLINIC_HOSTILE_SEED={seed}");
    assert!(result.in_flight.len() <= result.clients, "PGCLINIC_HOSTILE_SEED={seed}");
    let sum: u64 = result.scripts.iter().map(|script| script.transactions).sum();
    assert_eq!(sum, result.transactions, "PGCLINIC_HOSTILE_SEED={seed}");
    assert!(serde_json::to_string(&result).is_ok_and(|text| text.len() < 4_000_000));
}

#[test]
fn nonsense_ends_in_time() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<f64>().unwrap());
    if let Some(seed) = number("PGCLINIC_HOSTILE_SEED") {
        return run_one(seed as u64);
    }
    let seconds = number("PGCLINIC_HOSTILE_S");
    let first = if seconds.is_some() {
        std::process::id().into()
    } else {
        1
    };
    let ends = Instant::now() + Duration::from_secs_f64(seconds.unwrap_or(RUN_S));
    let mut runs = 0;
    let mut early_kb = None;
    while Instant::now() < ends || runs < RUNS_MIN {
        run_one(first * 1_000_000 + runs);
        runs += 1;
        if runs == RUNS_MIN / 2 {
            early_kb = Some(resident_kb());
        }
        if runs % 1_000 == 0 {
            eprintln!("{runs} runs, {} kB", resident_kb());
        }
    }
    let (early_kb, late_kb) = (early_kb.unwrap(), resident_kb());
    eprintln!("{runs} runs, {early_kb} kB early and {late_kb} kB late");
    assert!(
        late_kb < early_kb + GROWTH_KB_MAX,
        "{early_kb} kB early, {late_kb} kB late"
    );
}

fn protocol_loses(result: &LoadResult, clients: usize) {
    assert_eq!(
        (result.clients_lost, result.transactions),
        (clients, 0),
        "{:?}",
        result.failures
    );
    assert_eq!(result.stopped, "clients_lost");
    assert!(result.failures.iter().any(|failure| failure.sqlstate == "protocol"));
}

#[test]
fn a_session_that_breaks_as_it_begins_never_was_one() {
    let words = [stub::auth_ok(), stub::ready(b'I'), b"no such message".to_vec()].concat();
    let stub = Plan::prompt().login(move |_| Login::Say(vec![words.clone()])).start();
    let mut watch = Watch::default();
    let began = Instant::now();
    let changes = json!({"clients": 3, "measure_s": 5.0, "transactions_per_client": null});
    let result = stub.run_watched("SELECT 1;", changes, &mut watch);
    protocol_loses(&result, 3);
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "another connection is of no use"
    );
    assert_eq!((stub.connections(), watch.overflow), (3, false));
}

#[test]
fn a_session_that_breaks_later_loses_its_client() {
    for (on_error, sessions) in [("continue", 3), ("abort_client", 1)] {
        let stub = Plan::new(|_| {
            let pause = Act::Sleep(Duration::from_millis(50));
            vec![pause, Act::Send(b"no such message".to_vec())]
        })
        .start();
        let mut watch = Watch::default();
        let changes = json!({"clients": 3, "measure_s": 20.0, "transactions_per_client": null, "on_error": on_error});
        let began = Instant::now();
        protocol_loses(&stub.run_watched("SELECT 1;", changes, &mut watch), 3);
        assert!(began.elapsed() < Duration::from_secs(15));
        assert_eq!((stub.connections(), watch.overflow), (3 * sessions, false));
    }
}

#[test]
fn a_session_that_breaks_while_nothing_runs_loses_its_client() {
    let words = [stub::auth_ok(), stub::ready(b'I')].concat();
    let say = move |_| Login::SayLater(words.clone(), b"no such message".to_vec());
    let stub = Plan::prompt().login(say).start();
    // The next transaction is due in a minute or so.
    let changes = json!({
        "measure_s": 20.0, "transactions_per_client": null, "pace": {"rate_tps": 0.01}, "seed": 3,
    });
    let result = stub.run("SELECT 1;", changes);
    protocol_loses(&result, 1);
    assert_eq!(stub.connections(), 3);
}

#[test]
fn data_for_a_copy_are_refused_once() {
    for protocol in ["simple", "extended"] {
        let stub = Plan::new(|_| vec![Act::Send(stub::copy_in().repeat(1_000))]).start();
        let result = stub.run("COPY t FROM STDIN;", json!({"protocol": protocol}));
        protocol_loses(&result, 1);
        assert!(result.failures[0].message.contains("COPY"), "{:?}", result.failures);
    }
}

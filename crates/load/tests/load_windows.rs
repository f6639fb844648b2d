//! Interleaved loads: transactions begin within their windows alone, and only what ends in the counted part counts.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod stub;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pgclinic_load::{LoadSpec, Stopper};
use rustix::time::{clock_gettime, ClockId};
use serde_json::{json, Value};
use stub::{failure, ok, Act, Plan};

const SELECT: &str = "SELECT 1;";

/// `CLOCK_MONOTONIC` in microseconds.
fn monotonic_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap() * 1_000_000 + u64::try_from(now.tv_nsec).unwrap() / 1_000
}

fn windows(origin_us: u64, spans: &[(f64, f64)], guard_s: f64) -> Value {
    let span = |(begin_s, end_s): &(f64, f64)| json!({"begin_s": begin_s, "end_s": end_s});
    let spans: Vec<_> = spans.iter().map(span).collect();
    json!({"origin_monotonic_us": origin_us, "spans": spans, "guard_s": guard_s})
}

fn changes(windows: Value, warm_up_s: f64, measure_s: f64) -> Value {
    json!({
        "windows": windows, "warm_up_s": warm_up_s, "measure_s": measure_s,
        "transactions_per_client": null, "clients": 4, "threads": 2,
    })
}

#[test]
fn what_ends_in_a_window_counts_and_nothing_begins_outside() {
    let (begun, arrivals) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
    let seen = Arc::clone(&arrivals);
    let plan = Plan::new(move |_| {
        seen.lock().unwrap().push(begun.elapsed().as_secs_f64());
        vec![Act::Sleep(Duration::from_millis(2)), ok()]
    });
    let stub = plan.start();
    let spans = [(0.4, 0.7), (1.7, 2.0), (2.0, 2.3)];
    let result = stub.run(SELECT, changes(windows(monotonic_us(), &spans, 0.05), 0.25, 0.5));
    let each = result.windows.as_ref().unwrap();
    assert!((result.measured_s - 0.5).abs() < 1e-6 && (result.warm_up_s - 0.25).abs() < 1e-6);
    assert!(
        (each.span_s - 0.55).abs() < 1e-6 && (each.loaded_s - 0.55).abs() < 1e-6,
        "{each:?}"
    );
    let numbers: Vec<_> = each.each.iter().map(|window| (window.number, window.at_s)).collect();
    assert_eq!(numbers.len(), 2);
    assert_eq!(numbers[0], (1, 0.0));
    assert!(numbers[1].0 == 2 && (numbers[1].1 - 0.3).abs() < 1e-6);
    let counted: u64 = each.each.iter().map(|window| window.transactions).sum();
    assert!(counted > 0 && result.warm_up_transactions > 0);
    assert_eq!(
        (counted, result.latency.count),
        (result.transactions, result.transactions)
    );
    assert_eq!(
        result.seconds.iter().map(|second| second.transactions).sum::<u64>(),
        counted
    );
    assert_eq!(
        each.each.iter().map(|window| window.statements).sum::<u64>(),
        result.statements
    );
    assert!(each.uncounted > 0, "{each:?}");
    assert_eq!(result.stopped, "time");
    assert_eq!(stub.connections(), 4, "connections stay open");
    // A thread of the stub may get a processor late, but never before a window begins.
    let outside = |at: &&f64| **at < 0.4 || (1.2..1.7).contains(*at);
    let arrivals = arrivals.lock().unwrap();
    assert_eq!(arrivals.iter().filter(outside).count(), 0, "{arrivals:?}");
}

#[test]
fn a_transaction_that_outlasts_its_window_counts_for_none() {
    let stub = Plan::new(|_| vec![Act::Sleep(Duration::from_millis(400)), ok()]).start();
    let spans = [(0.3, 0.5), (1.5, 1.7)];
    let result = stub.run(SELECT, changes(windows(monotonic_us(), &spans, 0.0), 0.0, 0.4));
    assert_eq!((result.transactions, result.failed), (0, 0));
    let each = result.windows.unwrap();
    assert_eq!((each.overran, each.uncounted), (4, 4));
    assert_eq!((each.each[0].overran, each.each[1].overran), (4, 0));
    assert!(each.each[0].overrun_us_max >= 150_000, "{:?}", each.each[0]);
    assert!(each.overrun_us_sum >= 4 * 150_000);
    assert_eq!(
        result.in_flight.len(),
        4,
        "those of the last window are still running at its end"
    );
}

#[test]
fn failures_count_in_their_window() {
    let stub = Plan::new(|_| vec![Act::Sleep(Duration::from_millis(5)), failure("40001")]).start();
    let spans = [(0.3, 0.5), (0.7, 0.9)];
    let result = stub.run(SELECT, changes(windows(monotonic_us(), &spans, 0.05), 0.0, 0.3));
    let each = result.windows.unwrap().each;
    assert!(result.failed > 0 && result.transactions == 0);
    assert_eq!(each.iter().map(|window| window.failed).sum::<u64>(), result.failed);
    assert_eq!(result.failures.iter().map(|one| one.count).sum::<u64>(), result.failed);
}

#[test]
fn in_an_open_loop_nothing_is_due_between_windows() {
    let stub = Plan::prompt().start();
    let spans = [(0.4, 0.9), (2.9, 3.4)];
    let mut changes = changes(windows(monotonic_us(), &spans, 0.0), 0.0, 1.0);
    changes["pace"] = json!({"rate_tps": 200.0});
    changes["clients"] = 20.into();
    let result = stub.run(SELECT, changes);
    let offered = result.offered.unwrap();
    assert!((120..290).contains(&offered), "{offered}");
    assert!(
        result.latency.max_us < 1_500_000,
        "the pause of 2 s is no latency: {}",
        result.latency.max_us
    );
    let served = result.transactions + result.windows.unwrap().uncounted + result.in_flight.len() as u64;
    assert!(served + result.unserved.unwrap() >= offered);
    assert!(result.transactions > 60, "{}", result.transactions);
}

#[test]
fn slots_that_wait_at_the_end_of_a_window_are_served_in_the_next() {
    // One client, 20 ms each, 100 a second offered: at the end of the first window half of its slots wait.
    let stub = Plan::new(|_| vec![Act::Sleep(Duration::from_millis(20)), ok()]).start();
    let spans = [(0.4, 1.4), (3.4, 4.4)];
    let mut changes = changes(windows(monotonic_us(), &spans, 0.0), 0.0, 2.0);
    changes["pace"] = json!({"rate_tps": 100.0});
    (changes["clients"], changes["threads"]) = (1.into(), 1.into());
    let result = stub.run(SELECT, changes);
    let max_us = result.latency.max_us;
    assert!(
        (400_000..1_990_000).contains(&max_us),
        "waiting counts, the pause does not: {max_us}"
    );
    assert!(result.unserved.unwrap() > 30);
}

#[test]
fn two_loads_with_one_origin_take_turns() {
    let (begun, arrivals) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
    let seen = Arc::clone(&arrivals);
    let plan = Plan::new(move |statement| {
        let at = begun.elapsed().as_secs_f64();
        seen.lock().unwrap().push((statement.sql.contains("'b'"), at));
        vec![Act::Sleep(Duration::from_millis(2)), ok()]
    });
    let stub = plan.start();
    let origin_us = monotonic_us();
    let run = |script: &'static str, spans: [(f64, f64); 2]| {
        let spec: LoadSpec = stub.spec(script, changes(windows(origin_us, &spans, 0.1), 0.0, 1.8));
        move || pgclinic_load::run(&spec, &Stopper::default(), &mut ()).unwrap()
    };
    let a = std::thread::spawn(run("SELECT 'a';", [(0.5, 1.5), (2.5, 3.5)]));
    let b = run("SELECT 'b';", [(1.5, 2.5), (3.5, 4.5)])();
    let a = a.join().unwrap();
    assert!(a.transactions > 0 && b.transactions > 0);
    assert!((a.measured_s - b.measured_s).abs() < 1e-6);
    let arrivals = arrivals.lock().unwrap();
    // The second half of each window of the other.
    let misplaced = |(is_b, at): &&(bool, f64)| match is_b {
        false => (2.0..2.5).contains(at) || *at > 4.0,
        true => *at < 1.5 || (3.0..3.5).contains(at),
    };
    let misplaced: Vec<_> = arrivals.iter().filter(misplaced).collect();
    assert!(misplaced.is_empty(), "{misplaced:?}");
}

#[test]
fn windows_that_cannot_be_are_refused_with_the_reason() {
    let text = |changes: &Value| {
        let mut spec = json!({
            "target": {"host": "/tmp", "port": 5432, "user": "u", "database": "d"},
            "scripts": [{"name": "script", "text": SELECT}], "measure_s": 1.8,
            "windows": windows(1, &[(0.0, 1.0), (2.0, 3.0)], 0.1),
        });
        for (name, value) in changes.as_object().unwrap() {
            spec[name] = value.clone();
        }
        LoadSpec::from_json(&spec.to_string())
            .err()
            .map_or_else(String::new, |error| error.to_string())
    };
    assert_eq!(text(&json!({})), "");
    let spans = |spans: &[(f64, f64)], guard_s: f64| json!({"windows": windows(1, spans, guard_s)});
    for (changes, words) in [
        (spans(&[], 0.0), "windows.spans: at least one is needed"),
        (
            spans(&[(0.0, 1.0), (0.9, 1.9)], 0.0),
            "before the end of the one before it at 1 s",
        ),
        (spans(&[(1.0, 1.0)], 0.0), "windows.spans[0]: must end after it begins"),
        (spans(&[(-1.0, 1.0)], 0.0), "windows.spans[0]: must end after it begins"),
        (spans(&[(0.0, 1.0)], 1.0), "must be longer than guard_s of 1 s"),
        (spans(&[(0.0, 1.0)], -0.5), "windows.guard_s: must be 0 to"),
        (spans(&[(0.0, 1.0)], 0.0), "warm_up_s and measure_s are 1.8 s"),
        (
            json!({"measure_s": null, "transactions_per_client": 5}),
            "measure_s: must be given with windows",
        ),
        (
            json!({"transactions_per_client": 5}),
            "transactions_per_client: cannot be combined with windows",
        ),
        (json!({"reconnect": true}), "reconnect: cannot be combined with windows"),
        (json!({"finish_s": 1.0}), "finish_s: cannot be combined with windows"),
    ] {
        let said = text(&changes);
        assert!(said.contains(words), "{said} instead of {words}");
    }
}

#[test]
fn a_load_whose_windows_are_over_does_not_begin() {
    let stub = Plan::prompt().start();
    let spec = stub.spec(SELECT, changes(windows(1, &[(0.0, 0.5)], 0.0), 0.0, 0.5));
    let error = pgclinic_load::run(&spec, &Stopper::default(), &mut ()).err().unwrap();
    assert!(error.is_usage() && error.to_string().contains("over before the load began"));
    assert_eq!(stub.connections(), 0);
}

//! The log of transactions, in pgbench's format.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod stub;

use std::path::Path;
use std::time::Duration;

use pgclinic_load::{LoadError, LoadResult, Stopper};
use serde_json::{json, Value};
use stub::{failure, ok, Act, Plan, Stub};

/// Runs a load with a log, and gives the lines of all its files, cut into words.
fn run(stub: &Stub, log: Value, changes: Value) -> (LoadResult, Vec<Vec<String>>) {
    let folder = tempfile::tempdir().unwrap();
    let mut changes = changes;
    changes["log"] = log;
    changes["log"]["prefix"] = json!(folder.path().join("pl"));
    let result = stub.run("SELECT 1;", changes);
    let texts = result.log.as_ref().unwrap().files.iter().map(std::fs::read_to_string);
    let lines = texts.flat_map(|text| words(&text.unwrap())).collect();
    (result, lines)
}

fn words(text: &str) -> Vec<Vec<String>> {
    let cut = |line: &str| line.split(' ').map(str::to_owned).collect();
    text.lines().map(cut).collect()
}

#[test]
fn every_transaction_has_its_line_in_the_file_of_its_thread() {
    let stub = Plan::prompt().start();
    let (result, lines) = run(&stub, json!({}), json!({"clients": 3, "threads": 2}));
    let log = result.log.unwrap();
    assert_eq!((lines.len(), log.lines, log.lines_lost), (30, 30, 0));
    assert!(log.files[0].ends_with(&format!("pl.{}", std::process::id())));
    assert!(log.files[1].ends_with(&format!("pl.{}.1", std::process::id())));
    for client in ["0", "1", "2"] {
        let numbers = lines
            .iter()
            .filter(|line| line[0] == client)
            .map(|line| line[1].clone());
        assert_eq!(
            numbers.collect::<Vec<_>>(),
            (1..=10).map(|n: u32| n.to_string()).collect::<Vec<_>>()
        );
    }
    let sum: u64 = lines.iter().map(|line| line[2].parse::<u64>().unwrap()).sum();
    assert!((result.latency.mean_us * 30.0 - sum as f64).abs() < 0.5);
    let epoch_us = |line: &Vec<String>| line[4].parse::<u64>().unwrap() * 1_000_000 + line[5].parse::<u64>().unwrap();
    assert!(lines
        .iter()
        .all(|line| line.len() == 6 && line[3] == "0" && epoch_us(line) >= result.started_epoch_us));
}

#[test]
fn failures_skipped_slots_lag_and_retries_have_their_words_and_columns() {
    for (detailed, word) in [(false, "failed"), (true, "deadlock")] {
        let stub = Plan::new(|_| vec![Act::Sleep(Duration::from_millis(10)), failure("40P01")]).start();
        let changes = json!({"max_tries": 2, "transactions_per_client": 3});
        let (_, lines) = run(&stub, json!({"failures_detailed": detailed}), changes);
        assert!(
            lines
                .iter()
                .all(|line| line.len() == 7 && line[2] == word && line[6] == "1"),
            "{lines:?}"
        );
    }
    let stub = Plan::new(|_| vec![Act::Sleep(Duration::from_millis(20)), ok()]).start();
    let changes = json!({
        "pace": {"rate_tps": 200.0, "latency_limit_us": 50_000}, "transactions_per_client": null, "measure_s": 0.5,
    });
    let (result, lines) = run(&stub, json!({}), changes);
    let skipped: Vec<_> = lines.iter().filter(|line| line[2] == "skipped").collect();
    assert_eq!(skipped.len() as u64, result.skipped);
    assert!(skipped.iter().all(|line| line.len() == 7 && line[6] == "0"));
    assert!(lines.iter().any(|line| line[6].parse::<u64>().unwrap() > 10_000));
}

#[test]
fn intervals_that_have_passed_have_one_line_each() {
    let stub = Plan::new(|_| vec![Act::Sleep(Duration::from_millis(10)), ok()]).start();
    let changes = json!({"transactions_per_client": null, "measure_s": 2.3});
    let (result, lines) = run(&stub, json!({"aggregate_interval_s": 1}), changes);
    assert!(
        lines.len() >= 2 && lines.iter().all(|line| line.len() == 15),
        "{lines:?}"
    );
    let starts: Vec<u64> = lines.iter().map(|line| line[0].parse().unwrap()).collect();
    assert_eq!(starts[0], result.started_epoch_us / 1_000_000);
    assert!(starts.windows(2).all(|pair| pair[1] == pair[0] + 1));
    let number = |column: usize| lines[1][column].parse::<u64>().unwrap();
    let (count, sum, sum2, least, most) = (number(1), number(2), number(3), number(4), number(5));
    assert!(count > 20 && least >= 10_000 && least * count <= sum && sum <= most * count && sum2 >= sum * sum / count);
}

#[test]
fn a_sample_is_logged_if_asked() {
    let stub = Plan::prompt().start();
    let changes = json!({"transactions_per_client": 1000, "seed": 5});
    let (_, lines) = run(&stub, json!({"sampling_rate": 0.1}), changes);
    assert!((60..140).contains(&lines.len()), "{}", lines.len());
}

#[test]
fn a_full_disk_is_told_and_the_load_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("pl.{}", std::process::id()));
    std::os::unix::fs::symlink(Path::new("/dev/full"), file).unwrap();
    let stub = Plan::prompt().start();
    let changes = json!({"log": {"prefix": folder.path().join("pl")}, "transactions_per_client": 5000});
    let result = stub.run("SELECT 1;", changes);
    let log = result.log.unwrap();
    assert_eq!((result.transactions, result.stopped.as_str()), (5000, "transactions"));
    assert_eq!((log.lines, log.lines_lost), (0, 5000));
    assert!(log.problem.unwrap().contains("No space left"));
}

#[test]
fn a_log_that_cannot_be_created_ends_the_load_before_it_begins() {
    let stub = Plan::prompt().start();
    let spec = stub.spec(
        "SELECT 1;",
        json!({"log": {"prefix": "/no/such/folder/pl"}, "clients": 4, "threads": 2}),
    );
    let error = pgclinic_load::run(&spec, &Stopper::default(), &mut ()).unwrap_err();
    assert!(matches!(error, LoadError::Log { .. }), "{error}");
    assert!(stub.texts().is_empty());
}

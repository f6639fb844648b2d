//! Commands of the shell in scripts: they stop nobody else, and they end with the load.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod stub;

use std::time::{Duration, Instant};

use serde_json::json;
use stub::Plan;

#[test]
fn a_result_becomes_a_variable_and_its_time_is_told() {
    let stub = Plan::prompt().start();
    let script = "\\set n 20\n\\setshell m echo $(( :n + 1 ))\nSELECT :m;\n\\shell exit 0\n";
    let result = stub.run(script, json!({"transactions_per_client": 3, "clients": 2}));
    assert_eq!((result.transactions, result.failed), (6, 0), "{:?}", result.failures);
    assert!(stub.texts().iter().all(|text| text == "SELECT 21;"));
    let statements = &result.scripts[0].statements;
    assert_eq!(statements.iter().map(|it| it.executions).collect::<Vec<_>>(), [6, 6, 6]);
    assert_eq!(statements[0].text, "\\setshell");
    let latency = &statements[0].latency;
    assert!(latency.min_us > 50 && latency.max_us < 5_000_000, "{latency:?}");
}

#[test]
fn a_slow_command_does_not_stop_the_other_clients_of_its_thread() {
    let stub = Plan::prompt().start();
    let scripts = json!([
        {"name": "slow", "text": "\\shell sleep 0.4"},
        {"name": "fast", "text": "SELECT 1;", "weight": 3},
    ]);
    let changes = json!({"scripts": scripts, "clients": 6, "transactions_per_client": null, "measure_s": 1.5});
    let result = stub.run("", changes);
    // Every client meets the slow script before long, so it is the share of the others that counts.
    assert!(result.scripts[0].transactions > 0 && result.scripts[0].latency.min_us >= 400_000);
    assert!(
        result.scripts[1].latency.p99_us < 100_000,
        "{}",
        result.scripts[1].latency.p99_us
    );
}

#[test]
fn commands_end_with_the_load() {
    let stub = Plan::prompt().start();
    let marker = tempfile::tempdir().unwrap();
    let path = marker.path().join("it_went_on");
    let script = format!("\\shell sleep 2; touch {}\n", path.display());
    let changes = json!({"transactions_per_client": null, "measure_s": 0.3, "drain_s": 0.1, "clients": 3});
    let began = Instant::now();
    let result = stub.run(&script, changes);
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!((result.transactions, result.in_flight.len()), (0, 3));
    std::thread::sleep(Duration::from_millis(2300));
    assert!(!path.exists(), "the command outlived its load");
}

#[test]
fn a_command_that_fails_is_an_error_of_the_script() {
    let stub = Plan::prompt().start();
    for (script, wanted) in [
        (
            "SELECT 1;\n\\shell exit 7\n",
            "line 2: the shell command failed: exit status: 7",
        ),
        (
            "SELECT 1;\n\\setshell x echo one\n",
            "line 2: the shell command must print an integer, not \"one\"",
        ),
        ("SELECT 1;\n\\setshell x echo :unknown\n", "line 2: "),
    ] {
        let result = stub.run(script, json!({"transactions_per_client": 2}));
        assert_eq!((result.transactions, result.failed), (0, 2));
        assert_eq!(result.failures[0].sqlstate, "script");
        assert!(
            result.failures[0].message.starts_with(wanted),
            "{}",
            result.failures[0].message
        );
    }
}

#[test]
fn a_command_runs_as_the_account_that_is_asked_for() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    std::env::set_var("PGPASSWORD", "not for everybody");
    let stub = Plan::prompt().start();
    let script = "\\setshell u id -u\n\\setshell g id -g\n\\setshell n id -G | wc -w\n\\setshell secrets env | grep -c PGPASSWORD\n\
                  SELECT :u, :g, :n, :secrets;\n";
    let changes = json!({"transactions_per_client": 1, "shell_account": {"uid": 65534, "gid": 65533}});
    let result = stub.run(script, changes);
    assert_eq!((result.transactions, result.failed), (1, 0), "{:?}", result.failures);
    assert_eq!(stub.texts(), ["SELECT 65534, 65533, 1, 0;"]);
}

//! Transactions that fail: each is counted once, under its name, and the load ends in time.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod stub;

use std::time::{Duration, Instant};

use pgclinic_load::result::FailureResult;
use pgclinic_load::LoadResult;
use serde_json::json;
use stub::{failure, ok, Act, Plan, Statement};

const BLOCK: &str = "\\set n random(1, 1000000)\nBEGIN;\nUPDATE t SET a = :n;\nEND;\n";

fn only_failure(result: &LoadResult) -> &FailureResult {
    assert_eq!(result.failures.len(), 1, "{:?}", result.failures);
    &result.failures[0]
}

/// Fails the first `times` updates with this code.
fn failing_updates(sqlstate: &'static str, times: usize) -> Plan {
    let left = std::sync::atomic::AtomicUsize::new(times);
    Plan::new(move |statement| {
        use std::sync::atomic::Ordering::SeqCst;
        let is_update = statement.sql.starts_with("UPDATE");
        if is_update && left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
            return vec![failure(sqlstate)];
        }
        vec![ok()]
    })
}

#[test]
fn an_error_is_counted_by_code_script_and_statement_and_the_client_goes_on() {
    for protocol in ["simple", "extended", "prepared"] {
        let stub = failing_updates("23505", 3).start();
        let result = stub.run(BLOCK, json!({"protocol": protocol}));
        assert_eq!((result.transactions, result.failed, result.clients_lost), (7, 3, 0));
        let failure = only_failure(&result);
        assert_eq!(
            (failure.sqlstate.as_str(), failure.script.as_str()),
            ("23505", "script")
        );
        assert_eq!(
            (failure.statement, failure.count, failure.message.as_str()),
            (1, 3, "made to fail")
        );
        assert_eq!(result.scripts[0].statements[1].failures, 3);
        assert_eq!(
            stub.texts().iter().filter(|text| *text == "ROLLBACK").count(),
            3,
            "{protocol}"
        );
        assert_eq!(result.seconds.iter().map(|second| second.failed).sum::<u64>(), 3);
    }
}

#[test]
fn an_error_outside_of_a_block_needs_no_rollback() {
    let stub = Plan::new(|statement| vec![if statement.number == 0 { failure("22012") } else { ok() }]).start();
    let result = stub.run("SELECT 1;", json!({}));
    assert_eq!((result.transactions, result.failed), (9, 1));
    assert!(!stub.texts().iter().any(|text| text == "ROLLBACK"));
}

#[test]
fn deadlocks_and_serialization_failures_are_tried_again_with_the_same_numbers() {
    for sqlstate in ["40P01", "40001"] {
        let stub = failing_updates(sqlstate, 2).start();
        let result = stub.run(BLOCK, json!({"max_tries": 5, "transactions_per_client": 3}));
        assert_eq!(
            (result.transactions, result.failed, result.retried, result.retries),
            (3, 0, 1, 2)
        );
        assert!(
            result.failures.is_empty(),
            "a cured failure is none: {:?}",
            result.failures
        );
        assert_eq!(result.seconds.iter().map(|second| second.retries).sum::<u64>(), 2);
        let updates: Vec<_> = stub
            .texts()
            .into_iter()
            .filter(|text| text.starts_with("UPDATE"))
            .collect();
        assert_eq!(updates[0], updates[1]);
        assert_eq!(updates[1], updates[2]);
        assert_ne!(updates[2], updates[3]);
        assert_eq!(result.scripts[0].statements[1].failures, 2);
    }
}

#[test]
fn a_transaction_that_used_up_its_tries_has_failed() {
    let stub = failing_updates("40P01", 1000).start();
    let result = stub.run(BLOCK, json!({"max_tries": 3, "transactions_per_client": 4}));
    assert_eq!(
        (result.transactions, result.failed, result.retried, result.retries),
        (0, 4, 4, 8)
    );
    assert_eq!(
        (only_failure(&result).sqlstate.as_str(), only_failure(&result).count),
        ("40P01", 4)
    );
}

#[test]
fn unlimited_tries_end_with_the_load() {
    let stub = failing_updates("40001", usize::MAX).start();
    let began = Instant::now();
    let changes = json!({"max_tries": 0, "transactions_per_client": null, "measure_s": 0.4});
    let result = stub.run(BLOCK, changes);
    assert!(began.elapsed() < Duration::from_secs(3));
    assert_eq!((result.transactions, result.in_flight.len()), (0, 1));
}

#[test]
fn a_client_is_given_up_only_if_asked_and_not_for_a_deadlock() {
    let stub = failing_updates("40P01", 1).start();
    let result = stub.run(BLOCK, json!({"on_error": "abort_client"}));
    assert_eq!((result.transactions, result.failed, result.clients_lost), (9, 1, 0));

    let stub = failing_updates("42P01", 1).start();
    let result = stub.run(BLOCK, json!({"on_error": "abort_client", "clients": 2}));
    assert_eq!((result.transactions, result.failed, result.clients_lost), (10, 1, 1));

    let stub = failing_updates("42P01", 1).start();
    let changes = json!({"on_error": "abort_load", "clients": 2, "transactions_per_client": null, "measure_s": 30.0});
    let result = stub.run(BLOCK, changes);
    assert_eq!(
        (result.stopped.as_str(), result.clients_lost, result.failed),
        ("aborted", 1, 1)
    );
    assert!(result.measured_s < 10.0);
}

#[test]
fn an_error_of_the_script_is_told_with_its_line() {
    let stub = Plan::prompt().start();
    let result = stub.run("BEGIN;\n\\set x 1 / 0\nEND;\n", json!({"transactions_per_client": 2}));
    assert_eq!((result.transactions, result.failed), (0, 2));
    let failure = only_failure(&result);
    assert_eq!(
        (failure.sqlstate.as_str(), failure.statement, failure.count),
        ("script", -1, 2)
    );
    assert!(
        failure.message.starts_with("line 2: ") && failure.message.contains("zero"),
        "{}",
        failure.message
    );
    assert_eq!(stub.texts(), ["BEGIN;", "ROLLBACK", "BEGIN;", "ROLLBACK"]);
}

#[test]
fn a_script_that_ends_within_a_block_fails_and_is_rolled_back() {
    let stub = Plan::prompt().start();
    let result = stub.run("BEGIN;\nSELECT 1;\n", json!({"transactions_per_client": 2}));
    assert_eq!((result.transactions, result.failed), (0, 2));
    assert!(only_failure(&result)
        .message
        .contains("completing the last transaction"));
    assert_eq!(stub.texts().last().unwrap(), "ROLLBACK");
}

#[test]
fn errors_in_a_pipeline_are_told_at_their_statement_and_the_client_goes_on() {
    let stub = Plan::new(|statement| {
        vec![if statement.sql.contains("bad") && statement.number < 2 {
            failure("42703")
        } else {
            ok()
        }]
    })
    .start();
    let script = "\\startpipeline\nSELECT 1;\nSELECT bad;\nSELECT 3;\n\\endpipeline\n";
    let result = stub.run(script, json!({"protocol": "extended", "transactions_per_client": 3}));
    assert_eq!((result.transactions, result.failed), (2, 1));
    assert_eq!(
        (only_failure(&result).sqlstate.as_str(), only_failure(&result).statement),
        ("42703", 1)
    );
}

#[test]
fn gset_without_a_single_row_is_an_error_of_the_script() {
    let stub = Plan::new(|_| vec![Act::Send(stub::complete("SELECT 0"))]).start();
    let result = stub.run("SELECT 1 AS x \\gset\n", json!({"transactions_per_client": 1}));
    assert_eq!((result.failed, only_failure(&result).sqlstate.as_str()), (1, "script"));
    assert!(
        only_failure(&result).message.contains("one row"),
        "{}",
        only_failure(&result).message
    );
}

/// The first connection is cut in the middle of its second transaction.
fn cut_once(last_words: Vec<Act>) -> Plan {
    Plan::new(move |statement: &Statement| {
        if statement.connection == 0 && statement.number == 4 {
            return last_words.clone();
        }
        vec![ok()]
    })
}

#[test]
fn a_lost_connection_fails_its_transaction_and_the_client_comes_back() {
    for protocol in ["simple", "extended", "prepared"] {
        let stub = cut_once(vec![Act::Cut]).start();
        let result = stub.run(BLOCK, json!({"protocol": protocol}));
        assert_eq!((result.transactions, result.failed), (9, 1));
        assert_eq!((result.reconnects, result.clients_lost, stub.connections()), (1, 0, 2));
        let failure = only_failure(&result);
        assert_eq!(
            (failure.sqlstate.as_str(), failure.statement, failure.count),
            ("connection", 1, 1)
        );
    }
}

#[test]
fn a_connection_cut_in_the_middle_of_a_message_is_lost_too() {
    let half = stub::row(&[Some("a row that never ends")])[..9].to_vec();
    let stub = cut_once(vec![Act::Send(half), Act::Cut]).start();
    let result = stub.run(BLOCK, json!({}));
    assert_eq!((result.transactions, result.failed, result.reconnects), (9, 1, 1));
}

#[test]
fn a_terminated_backend_is_counted_under_the_code_it_gave() {
    let last_words = vec![Act::Send(stub::fatal("57P01", "terminating connection")), Act::Cut];
    let stub = cut_once(last_words).start();
    let result = stub.run(BLOCK, json!({}));
    assert_eq!((result.transactions, result.failed, result.reconnects), (9, 1, 1));
    assert_eq!(only_failure(&result).sqlstate, "57P01");
}

#[test]
fn a_client_whose_connection_is_lost_is_given_up_if_errors_are_to_do_that() {
    let stub = cut_once(vec![Act::Cut]).start();
    let result = stub.run(BLOCK, json!({"on_error": "abort_client"}));
    assert_eq!((result.transactions, result.failed, result.clients_lost), (1, 1, 1));
    assert_eq!(result.stopped, "clients_lost");
}

#[test]
fn a_statement_without_an_answer_is_cancelled_and_its_client_comes_back() {
    let stub = Plan::new(|statement| {
        if statement.connection == 0 && statement.number == 1 {
            return vec![Act::UntilCancelled];
        }
        vec![ok()]
    })
    .start();
    let began = Instant::now();
    let result = stub.run("SELECT 1;", json!({"statement_timeout_s": 0.2}));
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!((result.transactions, result.failed, result.reconnects), (9, 1, 1));
    assert_eq!(only_failure(&result).sqlstate, "timeout");
    assert_eq!(stub.cancels(), 1);
}

#[test]
fn a_server_that_stops_answering_ends_at_the_limit() {
    let stub = Plan::new(|_| vec![Act::Sleep(Duration::from_secs(30))]).start();
    let began = Instant::now();
    let result = stub.run("SELECT 1;", json!({"limit_s": 0.3, "drain_s": 0.1}));
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(
        (result.stopped.as_str(), result.transactions, result.in_flight.len()),
        ("limit", 0, 1)
    );
}

#[test]
fn nonsense_from_the_server_is_counted_and_the_client_comes_back() {
    let stub = cut_once(vec![Act::Send(vec![b'Z', 0, 0, 0, 1, 99])]).start();
    let result = stub.run(BLOCK, json!({}));
    assert_eq!((result.transactions, result.failed, result.reconnects), (9, 1, 1));
    assert_eq!(only_failure(&result).sqlstate, "protocol");
}

#[test]
fn a_statement_that_somebody_cancelled_is_counted_and_the_client_goes_on() {
    let stub = failing_updates("57014", 2).start();
    let result = stub.run(BLOCK, json!({"max_tries": 5}));
    assert_eq!((result.transactions, result.failed, result.retries), (8, 2, 0));
    assert_eq!(only_failure(&result).sqlstate, "57014");
}

#[test]
fn a_server_that_restarts_costs_each_client_one_transaction() {
    let began = Instant::now();
    let stub = Plan::new(|statement| {
        if statement.connection < 4 && statement.number == 2 {
            return vec![
                Act::Send(stub::fatal(
                    "57P01",
                    "terminating connection due to administrator command",
                )),
                Act::Cut,
            ];
        }
        vec![ok()]
    })
    .login(move |connection| match connection {
        // It goes down, and lets nobody in until it is up again.
        4.. if began.elapsed() < Duration::from_millis(600) => {
            stub::Login::Refuse("57P03", "the database system is starting up")
        }
        _ => stub::Login::Trust,
    })
    .start();
    let changes = json!({"clients": 4, "transactions_per_client": null, "measure_s": 1.5});
    let result = stub.run("SELECT 1;", changes);
    assert_eq!((result.failed, result.clients_lost), (4, 0), "{:?}", result.failures);
    assert!(result.reconnects >= 4 && result.transactions > 100);
    assert_eq!(only_failure(&result).sqlstate, "57P01");
}

#[test]
fn a_client_that_is_lost_says_why() {
    for warm_up_s in [0.0, 5.0] {
        let stub = failing_updates("42P01", 1).start();
        let result = stub.run(BLOCK, json!({"on_error": "abort_client", "warm_up_s": warm_up_s}));
        assert_eq!((result.clients_lost, result.stopped.as_str()), (1, "clients_lost"));
        let failure = only_failure(&result);
        assert_eq!((failure.sqlstate.as_str(), failure.count), ("42P01", 1));
        let stub = cut_once(vec![Act::Cut]).start();
        let result = stub.run(BLOCK, json!({"on_error": "abort_client", "warm_up_s": warm_up_s}));
        let failure = only_failure(&result);
        assert_eq!((failure.sqlstate.as_str(), failure.count), ("connection", 1));
    }
}

#[test]
fn a_client_that_lost_its_session_in_a_sleep_and_was_given_up_does_not_come_back() {
    let stub = Plan::new(|statement| match statement.connection {
        0 => vec![
            ok(),
            Act::Send(stub::ready(b'I')),
            Act::Sleep(Duration::from_millis(50)),
            Act::Cut,
        ],
        _ => vec![ok()],
    })
    .start();
    let changes = json!({"on_error": "abort_client", "clients": 2, "transactions_per_client": null, "measure_s": 1.5});
    let result = stub.run("SELECT 1;\n\\sleep 300 ms\n", changes);
    assert_eq!((result.clients_lost, result.failed), (1, 1), "{:?}", result.failures);
    assert_eq!((stub.connections(), result.reconnects), (2, 0));
    assert_eq!(result.stopped.as_str(), "time");
}

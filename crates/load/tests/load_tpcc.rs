//! TPC-C on a server of canned replies: what travels together, what is tried again and with which inputs, how each end
//! is counted.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod stub;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use pgclinic_load::{LoadResult, LoadSpec};
use serde_json::{json, Value};
use stub::{complete, failure, row, Act, Plan, Statement, Stub};

const NAMES: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// What a complete database would say, as far as a terminal looks at it: one row of ones. No item is -12345.
fn plausible(statement: &Statement) -> Vec<Act> {
    let wants = |item: &str| statement.sql.contains("FROM item") && statement.parameters[0].as_deref() == Some(item);
    if wants("-12345") || statement.sql.starts_with("BEGIN") {
        return vec![Act::Send(complete("SELECT 0"))];
    }
    vec![Act::Send([row(&[Some("1"); 17]), complete("UPDATE 1")].concat())]
}

/// Plausible, but so many statements that contain `text` fail first.
fn failing(text: &'static str, sqlstate: &'static str, times: usize) -> Stub {
    let left = AtomicUsize::new(times);
    let answer = move |statement: &Statement| {
        let is_one = statement.sql.contains(text);
        if is_one && left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
            return vec![failure(sqlstate)];
        }
        plausible(statement)
    };
    Plan::new(answer).start()
}

fn run(stub: &Stub, tpcc: Value, changes: Value) -> LoadResult {
    let mut all = json!({"scripts": [], "tpcc": tpcc, "transactions_per_client": 400});
    for (name, value) in changes.as_object().unwrap() {
        all[name] = value.clone();
    }
    stub.run("", all)
}

fn seen(stub: &Stub) -> Vec<Statement> {
    stub.shared.seen.lock().unwrap().clone()
}

#[test]
fn every_transaction_ends_once_and_every_figure_agrees() {
    let stub = Plan::new(plausible).start();
    let result = run(&stub, json!({"warehouses": 2}), json!({"clients": 4, "threads": 2}));
    assert_eq!(
        (result.transactions + result.rolled_back, result.failed),
        (1600, 0),
        "{:?}",
        result.failures
    );
    assert_eq!(result.stopped, "transactions");
    let names: Vec<_> = result.scripts.iter().map(|script| script.name.as_str()).collect();
    assert_eq!(names, NAMES);
    let weights: Vec<_> = result.scripts.iter().map(|script| script.weight).collect();
    assert_eq!(weights, [45, 43, 4, 4, 4]);
    for script in &result.scripts {
        let share = (script.transactions + script.rolled_back) as f64 / 16.0;
        assert!(
            (share - f64::from(script.weight)).abs() < 5.0,
            "{}: {share} %",
            script.name
        );
        assert_eq!(
            script.latency.count, script.transactions,
            "commits alone have a latency"
        );
        let commits: u64 = script
            .statements
            .iter()
            .filter(|it| it.text == "COMMIT")
            .map(|it| it.executions)
            .sum();
        assert_eq!(commits, script.transactions);
    }
    assert!((1..30).contains(&result.rolled_back));
    assert_eq!(
        result.scripts[0].rolled_back, result.rolled_back,
        "only orders have inputs that want it"
    );
    let statements = seen(&stub);
    let begins = statements
        .iter()
        .filter(|it| it.sql == "BEGIN ISOLATION LEVEL SERIALIZABLE")
        .count();
    assert_eq!(begins, 1600);
    assert_eq!(
        result.statements,
        (statements.len() - begins) as u64,
        "BEGIN goes along and is not counted"
    );
    assert_eq!(
        result.seconds.iter().map(|it| it.statements).sum::<u64>(),
        result.statements
    );
    assert_eq!(
        result.seconds.iter().map(|it| it.rolled_back).sum::<u64>(),
        result.rolled_back
    );
}

#[test]
fn the_same_seed_sends_the_same_statements() {
    let statements = |seed: u64| {
        let stub = Plan::new(plausible).start();
        run(
            &stub,
            json!({"warehouses": 3, "convention": "spec"}),
            json!({"seed": seed, "transactions_per_client": 50}),
        );
        let each = seen(&stub).into_iter().map(|it| (it.sql, it.parameters));
        each.collect::<Vec<_>>()
    };
    let first = statements(7);
    assert_eq!(first, statements(7));
    assert_ne!(first, statements(8));
}

#[test]
fn the_isolation_level_is_said_with_begin() {
    for (isolation, words) in [
        ("read_committed", "READ COMMITTED"),
        ("repeatable_read", "REPEATABLE READ"),
    ] {
        let stub = Plan::new(plausible).start();
        run(
            &stub,
            json!({"warehouses": 1, "isolation": isolation}),
            json!({"transactions_per_client": 3}),
        );
        let begin = format!("BEGIN ISOLATION LEVEL {words}");
        assert_eq!(stub.texts().iter().filter(|text| **text == begin).count(), 3);
    }
}

/// The parameters of the first statement after each BEGIN, for the transactions that begin with `text`.
fn openings(stub: &Stub, text: &str) -> Vec<Vec<Option<String>>> {
    let statements = seen(stub);
    let after_begin = statements.windows(2).filter(|pair| pair[0].sql.starts_with("BEGIN"));
    after_begin
        .filter(|pair| pair[1].sql.contains(text))
        .map(|pair| pair[1].parameters.clone())
        .collect()
}

#[test]
fn benchbase_tries_again_with_new_inputs_and_the_specification_with_the_same() {
    for convention in ["benchbase", "spec"] {
        let stub = failing("UPDATE warehouse", "40001", 2);
        let tpcc = json!({"warehouses": 1, "convention": convention});
        let result = run(&stub, tpcc, json!({"max_tries": 3, "transactions_per_client": 40}));
        assert_eq!(
            (result.failed, result.retried, result.retries),
            (0, 1, 2),
            "{:?}",
            result.failures
        );
        assert_eq!(result.scripts[1].retries, 2);
        assert_eq!(result.scripts[1].statements[0].retries, 2);
        let openings = openings(&stub, "UPDATE warehouse");
        assert_eq!(
            openings[0] == openings[1] && openings[1] == openings[2],
            convention == "spec",
            "{openings:?}"
        );
    }
}

#[test]
fn a_deadlock_is_tried_again_only_by_the_specification() {
    for (convention, failed, retries) in [("benchbase", 1, 0), ("spec", 0, 1)] {
        let stub = failing("FROM stock", "40P01", 1);
        let tpcc = json!({"warehouses": 1, "convention": convention});
        let result = run(&stub, tpcc, json!({"max_tries": 3, "transactions_per_client": 40}));
        assert_eq!((result.failed, result.retries), (failed, retries), "{convention}");
        assert_eq!(result.clients_lost, 0);
        for failure in &result.failures {
            assert_eq!(
                (failure.sqlstate.as_str(), failure.script.as_str(), failure.statement),
                ("40P01", "new_order", 7)
            );
        }
    }
}

#[test]
fn what_is_given_up_fails_under_its_code_in_the_second_in_which_it_ended() {
    let stub = failing("UPDATE warehouse", "40001", usize::MAX);
    let result = run(
        &stub,
        json!({"warehouses": 1}),
        json!({"max_tries": 3, "transactions_per_client": 100}),
    );
    let payment = &result.scripts[1];
    assert!(payment.failed > 20);
    assert_eq!((payment.transactions, payment.retries), (0, 2 * payment.failed));
    assert_eq!(payment.statements[0].failures, 3 * payment.failed);
    let by_second: Vec<_> = result.seconds.iter().flat_map(|second| &second.failures).collect();
    assert!(by_second.iter().all(|failure| failure.sqlstate == "40001"));
    assert_eq!(
        by_second.iter().map(|failure| failure.count).sum::<u64>(),
        result.failed
    );
    let rollbacks = stub.texts().iter().filter(|text| *text == "ROLLBACK").count() as u64;
    assert_eq!(rollbacks, 3 * payment.failed + result.rolled_back);
}

#[test]
fn a_database_that_is_not_complete_fails_the_transaction_and_names_the_table() {
    let stub = Plan::new(|statement| {
        if statement.sql.contains("FROM oorder") {
            return vec![Act::Send(complete("SELECT 0"))];
        }
        plausible(statement)
    })
    .start();
    let result = run(&stub, json!({"warehouses": 1}), json!({"transactions_per_client": 100}));
    assert!(result.failed > 0 && result.transactions > 50);
    for failure in &result.failures {
        assert_eq!(failure.sqlstate, "script");
        assert!(failure.message.contains("table oorder"), "{}", failure.message);
        let statement = match failure.script.as_str() {
            "order_status" => 2,
            "delivery" => 2,
            other => panic!("{other} does not read orders"),
        };
        assert_eq!(failure.statement, statement);
    }
}

#[test]
fn an_order_that_another_delivery_took_rolls_back_in_benchbases_convention_only() {
    for (convention, rolls_back) in [("benchbase", true), ("spec", false)] {
        let stub = Plan::new(|statement| {
            if statement.sql.starts_with("DELETE") {
                return vec![Act::Send(complete("DELETE 0"))];
            }
            plausible(statement)
        })
        .start();
        let result = run(
            &stub,
            json!({"warehouses": 1, "convention": convention}),
            json!({"transactions_per_client": 100}),
        );
        let delivery = &result.scripts[3];
        assert_eq!(
            (delivery.rolled_back > 0, delivery.transactions > 0),
            (rolls_back, !rolls_back)
        );
        assert_eq!(result.failed, 0);
    }
}

#[test]
fn what_hangs_is_in_flight_under_its_statement_and_the_load_ends_in_time() {
    let stub = Plan::new(|statement| {
        if statement.sql.starts_with("UPDATE warehouse") {
            return vec![Act::UntilCancelled];
        }
        plausible(statement)
    })
    .start();
    let began = Instant::now();
    let changes = json!({"transactions_per_client": null, "measure_s": 1.5, "drain_s": 0.1, "clients": 3});
    let result = run(&stub, json!({"warehouses": 1}), changes);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(result.in_flight.len(), 3, "{:?}", result.in_flight);
    for running in &result.in_flight {
        assert_eq!((running.script.as_str(), running.statement), ("payment", 0));
        assert!(running.age_us > 500_000);
    }
    assert_eq!(stub.cancels(), 3);
}

#[test]
fn a_second_in_which_nothing_ends_still_tells_of_its_statements() {
    let stub = Plan::new(|statement| {
        let mut acts = vec![Act::Sleep(Duration::from_millis(60))];
        acts.extend(plausible(statement));
        acts
    })
    .start();
    // The seed's first transaction is a payment, of ten statements.
    let changes = json!({"transactions_per_client": null, "measure_s": 0.3, "drain_s": 0.0, "seed": 1});
    let result = run(&stub, json!({"warehouses": 1}), changes);
    let statements: u64 = result.seconds.iter().map(|second| second.statements).sum();
    assert_eq!(
        (result.transactions, result.seconds.len()),
        (0, 1),
        "{:?}",
        result.seconds
    );
    assert!((1..6).contains(&statements), "{statements}");
    assert_eq!(result.statements, statements);
}

#[test]
fn what_began_in_the_warm_up_is_told_apart() {
    let stub = Plan::new(|statement| {
        let mut acts = vec![Act::Sleep(Duration::from_millis(10))];
        acts.extend(plausible(statement));
        acts
    })
    .start();
    let changes = json!({"transactions_per_client": null, "warm_up_s": 0.5, "measure_s": 1.0, "clients": 4});
    let result = run(&stub, json!({"warehouses": 1}), changes);
    let begun_before: u64 = result.scripts.iter().map(|script| script.begun_before).sum();
    assert!(
        (1..=4).contains(&begun_before),
        "{begun_before} of {}",
        result.transactions
    );
}

#[test]
fn a_terminal_that_rests_is_not_in_flight_and_its_rest_is_no_latency() {
    let stub = Plan::new(plausible).start();
    let tpcc = json!({"warehouses": 1, "convention": "spec", "waits": true});
    let changes = json!({"transactions_per_client": null, "measure_s": 4.0, "drain_s": 5.0, "clients": 200});
    let began = Instant::now();
    let result = run(&stub, tpcc, changes);
    assert!(
        began.elapsed() < Duration::from_secs(8),
        "nobody waits for those who rest"
    );
    assert!(
        result.transactions > 0 && result.transactions < 100,
        "{}",
        result.transactions
    );
    assert!(result.latency.max_us < 1_500_000, "{}", result.latency.max_us);
    assert!(result.in_flight.len() < 5);
    assert_eq!(
        result.scripts[0].transactions, 0,
        "an order takes eighteen seconds to key in"
    );
}

#[test]
fn an_open_loop_and_a_connection_for_each_transaction_work_as_with_scripts() {
    let stub = Plan::new(plausible).start();
    let open = json!({"transactions_per_client": null, "measure_s": 1.0, "pace": {"rate_tps": 200.0}, "clients": 4});
    let result = run(&stub, json!({"warehouses": 1}), open);
    let ended = result.transactions + result.rolled_back;
    assert!((120..280).contains(&result.offered.unwrap()) && ended > 100, "{ended}");
    let stub = Plan::new(plausible).start();
    let result = run(
        &stub,
        json!({"warehouses": 1}),
        json!({"reconnect": true, "transactions_per_client": 30}),
    );
    assert_eq!(
        (result.transactions + result.rolled_back, stub.connections()),
        (30, 30),
        "{:?}",
        result.failures
    );
}

#[test]
fn a_load_that_makes_no_sense_is_refused() {
    let refused = |changes: Value| {
        let mut spec = json!({
            "target": {"host": "/", "port": 1, "user": "u", "database": "d"},
            "measure_s": 1.0,
            "tpcc": {"warehouses": 1},
        });
        for (name, value) in changes.as_object().unwrap() {
            spec[name] = value.clone();
        }
        LoadSpec::from_json(&spec.to_string())
            .err()
            .map(|error| error.to_string())
    };
    assert_eq!(refused(json!({})), None);
    for (changes, field) in [
        (json!({"tpcc": null}), "scripts: "),
        (json!({"scripts": [{"name": "s", "text": "SELECT 1"}]}), "scripts: "),
        (json!({"tpcc": {"warehouses": 0}}), "tpcc.warehouses: "),
        (json!({"tpcc": {"warehouses": 1, "waits": true}}), "tpcc.waits: "),
        (
            json!({"tpcc": {"warehouses": 1, "waits": true, "convention": "spec"}, "pace": {"rate_tps": 9.0}}),
            "tpcc.waits: ",
        ),
    ] {
        let error = refused(changes).unwrap_or_default();
        assert!(error.starts_with(field), "{error}");
    }
}

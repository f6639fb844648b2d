//! Getting in: authentication, refusals, servers that are not ready or say nothing.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod stub;

use std::time::{Duration, Instant};

use pgclinic_load::{LoadError, LoadResult, LoadSpec, Stopper};
use serde_json::json;
use stub::{spec_at, Login, Plan};

const SELECT: &str = "SELECT 1;";

fn failures(result: &LoadResult) -> Vec<(&str, &str, u64)> {
    let each = result.failures.iter();
    each.map(|failure| (failure.sqlstate.as_str(), failure.script.as_str(), failure.count))
        .collect()
}

#[test]
fn passwords_in_clear_and_by_md5_are_given() {
    let stub = Plan::prompt().login(|_| Login::Password("secret")).start();
    assert_eq!(stub.run(SELECT, json!({"password": "secret"})).transactions, 10);
    let stub = Plan::prompt().login(|_| Login::Md5).start();
    assert_eq!(stub.run(SELECT, json!({"password": "secret"})).transactions, 10);
}

#[test]
fn a_password_is_proved_by_scram_without_being_told() {
    let stub = Plan::prompt().login(|_| Login::Scram).start();
    let result = stub.run(SELECT, json!({"password": "secret", "clients": 3}));
    assert_eq!(
        (result.transactions, result.clients_lost),
        (30, 0),
        "{:?}",
        result.failures
    );
    let result = stub.run(SELECT, json!({"password": "wrong"}));
    assert_eq!(failures(&result), [("28P01", "", 1)]);
}

#[test]
fn a_server_that_hangs_up_in_the_middle_of_authentication_is_asked_again_and_then_given_up() {
    let stub = Plan::prompt()
        .login(|connection| if connection < 2 { Login::ScramHalf } else { Login::Scram })
        .start();
    let result = stub.run(SELECT, json!({"password": "secret"}));
    assert_eq!((result.transactions, stub.connections()), (10, 3));
    let stub = Plan::prompt().login(|_| Login::ScramHalf).start();
    let began = Instant::now();
    let result = stub.run(SELECT, json!({"password": "secret", "connect_timeout_s": 0.5}));
    assert!(began.elapsed() < Duration::from_secs(4));
    assert_eq!(failures(&result), [("connection", "", 1)]);
}

#[test]
fn a_wrong_password_loses_the_client_under_its_code() {
    let stub = Plan::prompt().login(|_| Login::Password("secret")).start();
    let began = Instant::now();
    let result = stub.run(SELECT, json!({"password": "wrong", "clients": 2}));
    assert!(began.elapsed() < Duration::from_secs(2), "another try is of no use");
    assert_eq!(
        (result.transactions, result.clients_lost, result.stopped.as_str()),
        (0, 2, "clients_lost")
    );
    assert_eq!(failures(&result), [("28P01", "", 2)]);
}

#[test]
fn a_password_that_is_not_there_is_named() {
    let stub = Plan::prompt().login(|_| Login::Password("secret")).start();
    let result = stub.run(SELECT, json!({}));
    assert!(result.failures[0].message.contains("password"), "{:?}", result.failures);
}

#[test]
fn clients_beyond_the_servers_limit_are_lost_and_the_others_run() {
    let refuse = |connection| match connection {
        0..3 => Login::Trust,
        _ => Login::Refuse("53300", "sorry, too many clients already"),
    };
    let stub = Plan::prompt().login(refuse).start();
    let result = stub.run(SELECT, json!({"clients": 5}));
    assert_eq!((result.transactions, result.clients_lost), (30, 2));
    assert_eq!(failures(&result), [("53300", "", 2)]);
    assert!(result.failures[0].message.contains("too many clients"));
}

#[test]
fn a_server_that_is_starting_is_asked_again() {
    for early in [
        Login::Refuse("57P03", "the database system is starting up"),
        Login::HangUp,
    ] {
        let login = move |connection| if connection < 3 { early.clone() } else { Login::Trust };
        let stub = Plan::prompt().login(login).start();
        let result = stub.run(SELECT, json!({}));
        assert_eq!(
            (result.transactions, result.clients_lost, stub.connections()),
            (10, 0, 4)
        );
        assert!(result.failures.is_empty(), "{:?}", result.failures);
    }
}

#[test]
fn a_server_that_never_gets_ready_is_given_up_in_time() {
    let stub = Plan::prompt().login(|_| Login::Refuse("57P03", "starting up")).start();
    let began = Instant::now();
    let result = stub.run(SELECT, json!({"connect_timeout_s": 0.5, "clients": 3}));
    assert!(began.elapsed() < Duration::from_secs(4));
    assert_eq!(failures(&result), [("57P03", "", 3)]);
}

#[test]
fn a_server_that_says_nothing_is_given_up_in_time_by_all_clients_together() {
    let stub = Plan::prompt().login(|_| Login::Silent).start();
    let began = Instant::now();
    let result = stub.run(SELECT, json!({"connect_timeout_s": 0.4, "clients": 300, "threads": 2}));
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!((result.clients_lost, result.stopped.as_str()), (300, "clients_lost"));
    assert_eq!(failures(&result), [("timeout", "", 300)]);
    assert!(result.measured_s < 0.1);
}

#[test]
fn a_socket_that_is_not_there_is_given_up_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let spec = spec_at(
        directory.path().to_str().unwrap(),
        SELECT,
        json!({"connect_timeout_s": 0.3}),
    );
    let result = pgclinic_load::run(&spec, &Stopper::default(), &mut ()).unwrap();
    assert_eq!(
        (result.clients_lost, failures(&result)),
        (1, vec![("connection", "", 1)])
    );
    assert!(
        result.failures[0].message.contains("cannot be reached"),
        "{:?}",
        result.failures
    );
}

#[test]
fn a_server_that_comes_late_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let mut spec = spec_at("127.0.0.1", SELECT, json!({"connect_timeout_s": 5.0}));
    spec.target.port = port;
    let late = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        std::net::TcpListener::bind(("127.0.0.1", port))
            .unwrap()
            .accept()
            .unwrap()
    });
    let stopper = Stopper::default();
    let other = stopper.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1500));
        other.stop();
    });
    let result = pgclinic_load::run(&spec, &stopper, &mut ()).unwrap();
    assert_eq!((result.stopped.as_str(), result.measured_s), ("interrupted", 0.0));
    drop(late.join().unwrap());
    drop(directory);
}

#[test]
fn many_clients_connect_through_the_window() {
    let stub = Plan::prompt().start();
    let result = stub.run(
        SELECT,
        json!({"clients": 200, "threads": 3, "transactions_per_client": 2}),
    );
    assert_eq!(
        (result.transactions, stub.connections(), result.clients_lost),
        (400, 200, 0)
    );
}

#[test]
fn a_load_can_be_stopped_while_it_connects() {
    let stub = Plan::prompt().login(|_| Login::Silent).start();
    let stopper = Stopper::default();
    let other = stopper.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        other.stop();
    });
    let began = Instant::now();
    let result = pgclinic_load::run(&stub.spec(SELECT, json!({})), &stopper, &mut ()).unwrap();
    assert!(began.elapsed() < Duration::from_secs(3));
    assert_eq!((result.stopped.as_str(), result.transactions), ("interrupted", 0));
}

#[test]
fn a_name_without_an_address_is_an_error() {
    let spec = spec_at("no-such-host.invalid", SELECT, json!({"connect_timeout_s": 2.0}));
    let error = pgclinic_load::run(&spec, &Stopper::default(), &mut ()).unwrap_err();
    assert!(matches!(error, LoadError::Address { .. }), "{error}");
}

#[test]
fn specs_that_cannot_be_run_are_refused_with_their_field() {
    let spec = |changes| {
        let mut spec = json!({
            "target": {"host": "/tmp", "port": 1, "user": "u", "database": "d"},
            "scripts": [{"name": "s", "text": "SELECT 1;"}],
            "measure_s": 1.0,
        });
        let changes: serde_json::Value = changes;
        for (name, value) in changes.as_object().unwrap() {
            spec[name] = value.clone();
        }
        LoadSpec::from_json(&spec.to_string())
    };
    assert!(spec(json!({})).is_ok());
    for (changes, field) in [
        (json!({"clients": 0}), "clients"),
        (json!({"threads": 0}), "threads"),
        (json!({"scripts": []}), "scripts"),
        (json!({"measure_s": -1.0}), "measure_s"),
        (json!({"measure_s": null}), "measure_s"),
        (json!({"warm_up_s": -0.5}), "warm_up_s"),
        (json!({"pace": {"rate_tps": 0.0}}), "pace.rate_tps"),
        (json!({"format": 2}), "format"),
        (json!({"transactions_per_client": 0}), "transactions_per_client"),
        (json!({"unknown": 1}), "unknown"),
    ] {
        let error = spec(changes).unwrap_err();
        assert!(
            error.is_usage() && error.to_string().contains(field),
            "{field}: {error}"
        );
    }
    let error = pgclinic_load::run(
        &spec(json!({"scripts": [{"name": "s", "text": "\\nonsense"}]})).unwrap(),
        &Stopper::default(),
        &mut (),
    );
    assert!(matches!(error.unwrap_err(), LoadError::Script(_)));
}

//! The stream in unusual shapes: dripping, huge, interrupted by notices.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod stub;

use serde_json::json;
use stub::{ok, Act, Plan};

const BLOCK: &str = "BEGIN;\nSELECT 1 AS x \\gset\nSELECT :x;\nEND;\n";

#[test]
fn a_server_that_drips_byte_by_byte_is_understood() {
    for protocol in ["simple", "extended", "prepared"] {
        for chunk in [1, 2, 7] {
            let answer = |statement: &stub::Statement| {
                let rows = [
                    stub::row_description(&["x"]),
                    stub::row(&[Some("4711")]),
                    stub::complete("SELECT 1"),
                ];
                match statement.sql.as_str() {
                    "SELECT 1 AS x" => vec![Act::Send(rows.concat())],
                    _ => vec![ok()],
                }
            };
            let stub = Plan::new(answer).chunk(chunk).start();
            let result = stub.run(BLOCK, json!({"protocol": protocol, "transactions_per_client": 3}));
            assert_eq!(
                (result.transactions, result.failed),
                (3, 0),
                "{protocol} {chunk} {:?}",
                result.failures
            );
        }
    }
}

#[test]
fn rows_of_a_hundred_megabytes_pass_without_being_kept() {
    let huge = "x".repeat(100_000_000);
    let rows = [
        stub::row_description(&["x"]),
        stub::row(&[Some(&huge)]),
        stub::complete("SELECT 1"),
    ]
    .concat();
    let stub = Plan::new(move |_| vec![Act::Send(rows.clone())]).start();
    let result = stub.run("SELECT 1;", json!({"transactions_per_client": 2}));
    assert_eq!((result.transactions, result.failed), (2, 0));
}

#[test]
fn a_large_value_can_be_kept_and_sent_back() {
    let large = "7".repeat(3_000_000);
    let rows = [
        stub::row_description(&["x"]),
        stub::row(&[Some(&large)]),
        stub::complete("SELECT 1"),
    ]
    .concat();
    let stub = Plan::new(move |_| vec![Act::Send(rows.clone())]).start();
    let result = stub.run(
        "SELECT 1 AS x \\gset\nSELECT ':x';\n",
        json!({"transactions_per_client": 2}),
    );
    assert_eq!((result.transactions, result.failed), (2, 0), "{:?}", result.failures);
    assert!(stub.texts()[1].len() > 3_000_000);
}

#[test]
fn notices_and_the_like_change_nothing() {
    let stub = Plan::new(|_| {
        let chatter = [
            stub::notice("by the way"),
            stub::notification(),
            stub::parameter_status(),
        ]
        .concat();
        vec![Act::Send(
            [chatter.clone(), stub::complete("SELECT 0"), chatter].concat(),
        )]
    })
    .start();
    for protocol in ["simple", "prepared"] {
        let result = stub.run("SELECT 1;", json!({"protocol": protocol}));
        assert_eq!((result.transactions, result.failed, result.failures.len()), (10, 0, 0));
    }
}

#[test]
fn copying_in_is_refused_and_the_client_goes_on() {
    for protocol in ["simple", "extended", "prepared"] {
        let stub = Plan::new(|statement| match statement.sql.starts_with("COPY") {
            true => vec![Act::Send(stub::copy_in())],
            false => vec![ok()],
        })
        .start();
        let changes = json!({"protocol": protocol, "transactions_per_client": 3, "limit_s": 5.0});
        let result = stub.run("COPY t FROM STDIN;", changes);
        assert_eq!((result.transactions, result.failed), (0, 3), "{protocol}");
        assert_eq!(result.failures[0].sqlstate, "57014");
    }
}

#[test]
fn an_endless_error_message_is_cut() {
    let stub = Plan::new(|_| vec![Act::Send(stub::error("P0001", &"why ".repeat(1_000_000)))]).start();
    let result = stub.run("SELECT 1;", json!({"transactions_per_client": 2}));
    assert_eq!((result.failed, result.failures[0].sqlstate.as_str()), (2, "P0001"));
    assert!(result.failures[0].message.starts_with("why why") && result.failures[0].message.len() < 10_000);
}

#[test]
fn requests_larger_than_the_socket_takes_at_once_arrive_whole() {
    let text = "y".repeat(5_000_000);
    let stub = Plan::prompt().start();
    let result = stub.run(
        &format!("SELECT '{text}';"),
        json!({"transactions_per_client": 3, "clients": 2}),
    );
    assert_eq!((result.transactions, result.failed), (6, 0));
    assert!(
        stub.texts().iter().all(|sql| sql.len() == text.len() + 10),
        "{}",
        stub.texts()[0].len()
    );
}

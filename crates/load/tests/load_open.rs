//! Open loop: the schedule decides when a transaction is due, and its latency counts from there.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod stub;

use std::time::Duration;

use serde_json::json;
use stub::{ok, Act, Plan};

const SELECT: &str = "SELECT 1;";

#[test]
fn what_is_offered_is_served_when_the_server_keeps_up() {
    let stub = Plan::prompt().start();
    let changes = json!({
        "pace": {"rate_tps": 200.0}, "clients": 20, "threads": 2, "transactions_per_client": null, "measure_s": 2.0,
    });
    let result = stub.run(SELECT, changes);
    let offered = result.offered.unwrap();
    assert!((300..500).contains(&offered), "{offered}");
    assert!(result.transactions + result.in_flight.len() as u64 + result.unserved.unwrap() >= offered);
    assert!(result.unserved.unwrap() <= 5);
    assert_eq!(result.skipped, 0);
    assert!(result.lag.unwrap().count > 200);
}

#[test]
fn latency_counts_from_the_time_at_which_the_transaction_was_due() {
    // One client, 20 ms each, 100 a second offered: after one second half of the slots wait, and so for a second.
    let stub = Plan::new(|_| vec![Act::Sleep(Duration::from_millis(20)), ok()]).start();
    let changes = json!({"pace": {"rate_tps": 100.0}, "transactions_per_client": null, "measure_s": 2.0});
    let result = stub.run(SELECT, changes);
    assert!(result.latency.max_us > 400_000, "{}", result.latency.max_us);
    assert!(
        result.scripts[0].statements[0].latency.p50_us < result.latency.p50_us,
        "the statement itself is not late"
    );
    assert!(result.scripts[0].statements[0].latency.min_us >= 20_000);
    let (offered, unserved) = (result.offered.unwrap(), result.unserved.unwrap());
    assert!(unserved > 30, "{unserved}");
    assert_eq!(offered, result.transactions + unserved + result.in_flight.len() as u64);
    assert!(result.in_flight[0].age_us > 400_000, "the age counts from there too");
    let lag = result.lag.unwrap();
    assert!(
        lag.p50_us < 100_000,
        "a slot without a free client is not late because of the generator: {}",
        lag.p50_us
    );
}

#[test]
fn transactions_that_come_too_late_are_passed_over_and_counted() {
    let stub = Plan::new(|_| vec![Act::Sleep(Duration::from_millis(20)), ok()]).start();
    let changes = json!({
        "pace": {"rate_tps": 200.0, "latency_limit_us": 50_000}, "transactions_per_client": null, "measure_s": 1.5,
    });
    let result = stub.run(SELECT, changes);
    assert!(result.skipped > 50, "{}", result.skipped);
    assert!(result.transactions > 0 && result.late > 0 && result.late <= result.transactions);
    let (offered, unserved) = (result.offered.unwrap(), result.unserved.unwrap());
    assert_eq!(
        offered,
        result.transactions + result.skipped + unserved + result.in_flight.len() as u64
    );
    assert_eq!(
        result.seconds.iter().map(|second| second.skipped).sum::<u64>(),
        result.skipped
    );
}

#[test]
fn a_closed_loop_offers_nothing_but_knows_what_was_late() {
    let stub = Plan::new(|_| vec![Act::Sleep(Duration::from_millis(5)), ok()]).start();
    let result = stub.run(SELECT, json!({"pace": {"latency_limit_us": 1_000}}));
    assert_eq!((result.late, result.transactions, result.skipped), (10, 10, 0));
    assert!(result.offered.is_none() && result.unserved.is_none() && result.lag.is_none());
}

#[test]
fn a_server_that_hangs_leaves_its_slots_unserved() {
    let stub = Plan::new(|_| vec![Act::UntilCancelled]).start();
    let changes = json!({
        "pace": {"rate_tps": 100.0}, "clients": 2, "transactions_per_client": null, "measure_s": 1.0, "drain_s": 0.0,
    });
    let result = stub.run(SELECT, changes);
    assert_eq!((result.transactions, result.in_flight.len()), (0, 2));
    assert_eq!(result.offered.unwrap(), result.unserved.unwrap() + 2);
    assert!(result.unserved.unwrap() > 50);
}

//! The figures beside the counts: deviations, lags, retries by statement, meta commands, errors one by one.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod stub;

use std::time::Duration;

use pgclinic_load::result::StatementKind;
use pgclinic_load::{Observer, Progress};
use serde_json::json;
use stub::{failure, ok, Act, Plan};

#[derive(Default)]
struct Sums {
    transactions: u64,
    latency_us: u64,
    latency_us2: f64,
    lag_us: u64,
    late: u64,
    retried: u64,
}

impl Observer for Sums {
    fn progress(&mut self, progress: &Progress) {
        assert!(
            progress.latency_us_p50 <= progress.latency_us_p90 && progress.latency_us_p95 <= progress.latency_us_p99
        );
        self.transactions += progress.transactions;
        self.latency_us += progress.latency_us_sum;
        self.latency_us2 += progress.latency_us2_sum;
        self.lag_us += progress.lag_us_sum;
        self.late += progress.late;
        self.retried += progress.retried;
    }
}

#[test]
fn sums_of_seconds_and_of_progress_are_those_of_the_result() {
    let stub = Plan::new(|_| vec![Act::Sleep(Duration::from_millis(12)), ok()]).start();
    let changes = json!({
        "pace": {"rate_tps": 100.0, "latency_limit_us": 200_000}, "transactions_per_client": null, "measure_s": 1.3,
    });
    let mut sums = Sums::default();
    let result = stub.run_watched("SELECT 1;", changes, &mut sums);
    let count = result.transactions as f64;
    let mean = sums.latency_us as f64 / count;
    assert_eq!(sums.transactions, result.transactions);
    assert!((mean - result.latency.mean_us).abs() < 1e-6);
    let stddev = (sums.latency_us2 / count - mean * mean).sqrt();
    assert!((stddev - result.latency.stddev_us).abs() < 1e-3, "{stddev}");
    let lag = result.schedule_lag.unwrap();
    assert_eq!(lag.count, result.transactions);
    assert!((lag.mean_us * count - sums.lag_us as f64).abs() < 1.0);
    assert!(
        lag.max_us > result.lag.unwrap().p50_us,
        "waiting for a free client is lag of the schedule"
    );
    assert_eq!(
        result.seconds.iter().map(|second| second.lag_us_sum).sum::<u64>(),
        sums.lag_us
    );
    assert_eq!(
        result.seconds.iter().map(|second| second.late).sum::<u64>(),
        result.late
    );
    assert_eq!(sums.late, result.late);
}

#[test]
fn retries_are_told_by_statement_and_by_second() {
    let left = std::sync::atomic::AtomicUsize::new(3);
    let stub = Plan::new(move |statement| {
        use std::sync::atomic::Ordering::SeqCst;
        let fails = statement.sql.starts_with("UPDATE")
            && left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok();
        vec![if fails { failure("40001") } else { ok() }]
    })
    .start();
    let mut sums = Sums::default();
    let script = "BEGIN;\nUPDATE t SET a = 1;\nEND;\n";
    let changes = json!({"max_tries": 10, "verbose_errors": true});
    let result = stub.run_watched(script, changes, &mut sums);
    let retries: Vec<_> = result.scripts[0].statements.iter().map(|it| it.retries).collect();
    assert_eq!((retries, result.retried, sums.retried), (vec![0, 3, 0], 1, 1));
    assert_eq!(result.seconds.iter().map(|second| second.retried).sum::<u64>(), 1);
    let tries: Vec<_> = result
        .messages
        .iter()
        .map(|it| (it.sqlstate.as_str(), it.tries))
        .collect();
    assert_eq!(tries, [("40001", 1), ("40001", 2), ("40001", 3)]);
    assert_eq!((result.messages[0].client, result.messages[0].statement), (0, 1));
}

#[test]
fn errors_one_by_one_are_kept_up_to_a_limit_and_only_if_asked() {
    let stub = Plan::new(|_| vec![failure("22012")]).start();
    let changes = json!({"verbose_errors": true, "transactions_per_client": 1500});
    let result = stub.run("SELECT 1;", changes);
    assert_eq!((result.messages.len(), result.messages_dropped), (1000, 500));
    assert!(result.messages.windows(2).all(|pair| pair[0].at_s <= pair[1].at_s));
    assert_eq!(result.messages[7].message, "made to fail");
    assert!(stub.run("SELECT 1;", json!({})).messages.is_empty());
}

#[test]
fn meta_commands_are_listed_in_order_and_timed_if_asked() {
    let script = "\\set n 1\n\\IF :n = 1\nSELECT 1;\n\\elif true\n\\sleep 1 us\n\\else\n\\set n 2 \\\n  + 1\n\\endif\nSELECT 2;\n";
    let stub = Plan::prompt().start();
    let result = stub.run(script, json!({"time_meta_commands": true}));
    let listed: Vec<_> = result.scripts[0]
        .statements
        .iter()
        .map(|it| (it.line, it.text.as_str(), it.executions))
        .collect();
    assert_eq!(
        listed,
        [
            (1, "\\set n 1", 10),
            (2, "\\IF :n = 1", 10),
            (3, "SELECT 1;", 10),
            (4, "\\elif true", 0),
            (5, "\\sleep 1 us", 0),
            (6, "\\else", 0),
            (7, "\\set n 2 \\", 0),
            (9, "\\endif", 0),
            (10, "SELECT 2;", 10),
        ]
    );
    let kinds = result.scripts[0]
        .statements
        .iter()
        .filter(|it| it.kind == StatementKind::Sql);
    assert_eq!(kinds.count(), 2);
    let result = stub.run(script, json!({}));
    assert_eq!(result.scripts[0].statements.len(), 3);
}

#[test]
fn connecting_for_every_transaction_is_timed() {
    let stub = Plan::prompt().start();
    let result = stub.run("SELECT 1;", json!({"reconnect": true}));
    assert!(result.reconnect_s > 0.0 && result.reconnect_s < 5.0);
    assert!(stub.run("SELECT 1;", json!({})).reconnect_s == 0.0);
}

#[test]
fn seconds_have_histograms_if_asked() {
    let stub = Plan::prompt().start();
    let result = stub.run("SELECT 1;", json!({"second_histograms": true}));
    assert!(result
        .seconds
        .iter()
        .all(|second| second.hdr.as_ref().is_some_and(|hdr| hdr.starts_with("HISTF"))));
    let result = stub.run("SELECT 1;", json!({}));
    assert!(result.seconds.iter().all(|second| second.hdr.is_none()));
}

//! Loads that go well, on a server of canned replies.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod stub;

use std::time::{Duration, Instant};

use pgclinic_load::{Observer, Progress, Stopper};
use serde_json::json;
use stub::{ok, Act, Plan};

const SELECT: &str = "\\set n random(1, 1000)\nSELECT :n;\n";
const BLOCK: &str = "BEGIN;\nUPDATE t SET a = 1;\nEND;\n";

#[test]
fn every_client_does_its_transactions_and_every_figure_agrees() {
    let stub = Plan::prompt().start();
    let result = stub.run(
        SELECT,
        json!({"clients": 5, "threads": 2, "transactions_per_client": 20}),
    );
    assert_eq!(
        (result.transactions, result.failed, result.stopped.as_str()),
        (100, 0, "transactions")
    );
    assert_eq!((result.clients, result.clients_lost), (5, 0));
    assert_eq!(result.latency.count, 100);
    assert_eq!(result.scripts[0].statements[0].executions, 100);
    assert_eq!(result.scripts[0].statements[0].line, 2);
    assert_eq!(
        result.seconds.iter().map(|second| second.transactions).sum::<u64>(),
        100
    );
    assert!(result.in_flight.is_empty() && result.failures.is_empty());
    assert_eq!(stub.texts().len(), 100);
    assert_eq!(stub.connections(), 5);
}

#[test]
fn the_three_protocols_send_the_same_values() {
    let mut seen = Vec::new();
    for protocol in ["simple", "extended", "prepared"] {
        let stub = Plan::prompt().start();
        let result = stub.run(
            SELECT,
            json!({"protocol": protocol, "seed": 42, "transactions_per_client": 5}),
        );
        assert_eq!((result.transactions, result.failed), (5, 0), "{protocol}");
        let statements = stub.shared.seen.lock().unwrap();
        let value = |statement: &stub::Statement| match statement.parameters.first() {
            Some(value) => value.clone().unwrap(),
            None => statement
                .sql
                .trim_start_matches("SELECT ")
                .trim_end_matches(';')
                .to_owned(),
        };
        seen.push(statements.iter().map(value).collect::<Vec<_>>());
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[1], seen[2]);
}

#[test]
fn scripts_share_the_load_by_weight() {
    let stub = Plan::prompt().start();
    let scripts = json!([
        {"name": "one", "text": "SELECT 1;", "weight": 3},
        {"name": "two", "text": "SELECT 2;", "weight": 1},
        {"name": "never", "text": "SELECT 3;", "weight": 0},
    ]);
    let result = stub.run("", json!({"scripts": scripts, "transactions_per_client": 400}));
    let counts: Vec<_> = result.scripts.iter().map(|script| script.transactions).collect();
    assert_eq!(counts.iter().sum::<u64>(), 400);
    assert!(
        (240..360).contains(&counts[0]) && counts[1] > 40 && counts[2] == 0,
        "{counts:?}"
    );
    assert!(result.seconds.iter().all(|second| second.script != "never"));
}

#[test]
fn statements_of_a_block_are_recorded_one_by_one() {
    let stub = Plan::prompt().start();
    let result = stub.run(BLOCK, json!({"protocol": "prepared", "transactions_per_client": 7}));
    let lines: Vec<_> = result.scripts[0]
        .statements
        .iter()
        .map(|it| (it.line, it.executions))
        .collect();
    assert_eq!(lines, [(1, 7), (2, 7), (3, 7)]);
}

#[test]
fn warm_up_is_not_counted_and_seconds_add_up_to_the_total() {
    let stub = Plan::prompt().start();
    let changes = json!({"transactions_per_client": null, "warm_up_s": 0.3, "measure_s": 1.2, "clients": 3});
    let result = stub.run(SELECT, changes);
    assert_eq!(result.stopped, "time");
    assert!((result.measured_s - 1.2).abs() < 1e-6);
    assert!(result.warm_up_transactions > 0);
    assert_eq!(
        result.seconds.iter().map(|second| second.transactions).sum::<u64>(),
        result.transactions
    );
    assert_eq!(
        result.seconds.iter().map(|second| second.second).collect::<Vec<_>>(),
        [0, 1]
    );
    let all = stub.texts().len() as u64;
    assert!(result.transactions + result.warm_up_transactions <= all, "{all}");
    assert!(result.client_cpu_user_s + result.client_cpu_system_s > 0.0);
}

#[test]
fn what_runs_at_the_end_is_told_with_its_age_and_cancelled() {
    let stub = Plan::new(|statement| match statement.number {
        0 => vec![ok()],
        _ => vec![Act::UntilCancelled],
    })
    .start();
    let began = Instant::now();
    let changes = json!({"transactions_per_client": null, "measure_s": 0.5, "drain_s": 0.1, "clients": 3});
    let result = stub.run("SELECT 1;", changes);
    assert!(began.elapsed() < Duration::from_secs(3));
    assert_eq!((result.transactions, result.failed), (3, 0));
    assert_eq!(result.in_flight.len(), 3);
    for (client, running) in result.in_flight.iter().enumerate() {
        assert_eq!(
            (running.client, running.statement, running.script.as_str()),
            (client, 0, "script")
        );
        assert!((100_000..=500_000).contains(&running.age_us), "{}", running.age_us);
    }
    assert_eq!(stub.cancels(), 3);
}

#[test]
fn what_ends_within_its_grace_is_neither_counted_nor_cancelled() {
    let stub = Plan::new(|_| vec![Act::Sleep(Duration::from_millis(300)), ok()]).start();
    let changes = json!({"transactions_per_client": null, "measure_s": 0.2, "drain_s": 5.0});
    let began = Instant::now();
    let result = stub.run("SELECT 1;", changes);
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "the grace is a limit, not a wait"
    );
    assert_eq!((result.transactions, result.in_flight.len(), stub.cancels()), (0, 1, 0));
}

struct Watcher {
    seen: Vec<Progress>,
    stop_after: Option<Duration>,
    began: Instant,
}

impl Watcher {
    fn new(stop_after: Option<Duration>) -> Self {
        Self {
            seen: Vec::new(),
            stop_after,
            began: Instant::now(),
        }
    }
}

impl Observer for Watcher {
    fn progress(&mut self, progress: &Progress) {
        self.seen.push(progress.clone());
    }

    fn wants_stop(&mut self) -> bool {
        self.stop_after.is_some_and(|after| self.began.elapsed() > after)
    }
}

#[test]
fn progress_tells_every_second_of_every_phase() {
    let stub = Plan::prompt().start();
    let mut watcher = Watcher::new(None);
    let changes =
        json!({"transactions_per_client": null, "warm_up_s": 0.5, "measure_s": 2.0, "clients": 2, "threads": 2});
    let result = stub.run_watched(SELECT, changes, &mut watcher);
    let phases: Vec<_> = watcher.seen.iter().map(|it| (it.phase, it.second)).collect();
    assert_eq!(phases, [("warm_up", 0), ("measure", 0), ("measure", 1)]);
    let measured: u64 = watcher.seen[1..].iter().map(|it| it.transactions).sum();
    assert_eq!(measured, result.transactions);
    assert!(watcher.seen.iter().all(|it| it.clients_connected == 2));
    assert!(watcher.seen[1].latency_us_p50 <= watcher.seen[1].latency_us_p99);
}

/// Finds the load warm after so many seconds.
struct Warm {
    after: usize,
    seen: Vec<(&'static str, u64)>,
}

impl Observer for Warm {
    fn progress(&mut self, progress: &Progress) {
        self.seen.push((progress.phase, progress.second));
    }

    fn is_warm(&mut self) -> bool {
        self.seen.len() >= self.after
    }
}

#[test]
fn an_observer_can_end_the_warm_up_at_a_whole_second_to_come() {
    let stub = Plan::prompt().start();
    let changes =
        json!({"transactions_per_client": null, "warm_up_s": 60.0, "measure_s": 1.5, "clients": 3, "threads": 2});
    let mut warm = Warm {
        after: 1,
        seen: Vec::new(),
    };
    let result = stub.run_watched(SELECT, changes.clone(), &mut warm);
    assert_eq!(result.stopped, "time");
    // The second was told a little after it had passed, so the next whole one but one is the end.
    assert!((result.warm_up_s - 3.0).abs() < 1e-6, "{}", result.warm_up_s);
    assert!((result.measured_s - 1.5).abs() < 1e-6, "{}", result.measured_s);
    let expected = [
        ("warm_up", 0),
        ("warm_up", 1),
        ("warm_up", 2),
        ("measure", 0),
        ("measure", 1),
    ];
    assert_eq!(warm.seen, expected);
    let of_seconds: u64 = result.seconds.iter().map(|second| second.transactions).sum();
    assert_eq!(of_seconds, result.transactions);
    assert!(result.warm_up_transactions > result.transactions / 2);

    let mut cold = Warm {
        after: usize::MAX,
        seen: Vec::new(),
    };
    let mut shorter = changes;
    shorter["warm_up_s"] = json!(1.2);
    let result = stub.run_watched(SELECT, shorter, &mut cold);
    assert!((result.warm_up_s - 1.2).abs() < 1e-6, "{}", result.warm_up_s);
}

#[test]
fn an_observer_can_end_the_load_and_keeps_what_was_measured() {
    let stub = Plan::prompt().start();
    let mut watcher = Watcher::new(Some(Duration::from_millis(400)));
    let changes = json!({"transactions_per_client": null, "measure_s": 60.0});
    let result = stub.run_watched(SELECT, changes, &mut watcher);
    assert_eq!(result.stopped, "interrupted");
    assert!(result.measured_s > 0.2 && result.measured_s < 5.0);
    assert_eq!(
        result.seconds.iter().map(|second| second.transactions).sum::<u64>(),
        result.transactions
    );
    assert!(result.transactions > 0);
}

#[test]
fn a_second_request_to_stop_does_not_wait_for_the_grace() {
    let stub = Plan::new(|_| vec![Act::UntilCancelled]).start();
    let stopper = Stopper::default();
    let spec = stub.spec(
        "SELECT 1;",
        json!({"transactions_per_client": null, "measure_s": 60.0, "drain_s": 50.0}),
    );
    let other = stopper.clone();
    let began = Instant::now();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        other.stop();
        std::thread::sleep(Duration::from_millis(200));
        other.stop();
    });
    let result = pgclinic_load::run(&spec, &stopper, &mut ()).unwrap();
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!((result.stopped.as_str(), result.in_flight.len()), ("interrupted", 1));
}

#[test]
fn sleeping_clients_let_the_others_go_on_and_end_with_the_load() {
    let stub = Plan::prompt().start();
    let scripts = json!([
        {"name": "sleepy", "text": "\\sleep 50 ms\nSELECT 1;"},
        {"name": "endless", "text": "\\sleep 100 s"},
    ]);
    let changes = json!({"scripts": scripts, "clients": 8, "transactions_per_client": null, "measure_s": 0.6});
    let began = Instant::now();
    let result = stub.run("", changes);
    assert!(began.elapsed() < Duration::from_secs(4));
    let sleepy = &result.scripts[0];
    assert!(sleepy.transactions > 0 && sleepy.latency.min_us >= 50_000);
    assert!(sleepy.statements[0].latency.min_us >= 50_000 && sleepy.statements[0].text == "\\sleep");
    assert!(result.in_flight.iter().any(|running| running.script == "endless"));
}

#[test]
fn scripts_that_need_no_server_neither_hang_nor_starve_the_others() {
    let stub = Plan::prompt().start();
    let scripts = json!([{"name": "idle", "text": "\\set a 1"}, {"name": "busy", "text": "SELECT 1;"}]);
    let changes = json!({"scripts": scripts, "clients": 4, "transactions_per_client": null, "measure_s": 0.5});
    let result = stub.run("", changes);
    assert!(result.scripts.iter().all(|script| script.transactions > 0));
    assert_eq!(result.stopped, "time");
}

#[test]
fn gset_keeps_the_row_and_conditions_take_their_branch() {
    let stub = Plan::new(|statement| {
        let value = if statement.sql.contains("first") { "7" } else { "0" };
        let rows = [
            stub::row_description(&["x", "y"]),
            stub::row(&[Some(value), None]),
            stub::complete("SELECT 1"),
        ];
        vec![Act::Send(rows.concat())]
    })
    .start();
    let script = "SELECT first \\gset p_\n\\if :p_x = 7\nSELECT :p_x;\n\\else\nSELECT bad;\n\\endif\n";
    let result = stub.run(script, json!({"transactions_per_client": 2}));
    assert_eq!((result.transactions, result.failed), (2, 0));
    let texts: Vec<_> = stub
        .texts()
        .iter()
        .map(|text| text.trim_end_matches(';').trim().to_owned())
        .collect();
    assert_eq!(texts, ["SELECT first", "SELECT 7", "SELECT first", "SELECT 7"]);
}

#[test]
fn a_pipeline_sends_everything_before_it_reads() {
    let stub = Plan::prompt().start();
    let script = "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\syncpipeline\nSELECT 3;\n\\endpipeline\n";
    for protocol in ["extended", "prepared"] {
        let result = stub.run(script, json!({"protocol": protocol, "transactions_per_client": 3}));
        assert_eq!((result.transactions, result.failed), (3, 0), "{:?}", result.failures);
        assert!(result.scripts[0]
            .statements
            .iter()
            .all(|statement| statement.executions == 3));
    }
}

#[test]
fn a_connection_for_every_transaction_if_asked() {
    let stub = Plan::prompt().start();
    let result = stub.run(
        SELECT,
        json!({"reconnect": true, "transactions_per_client": 4, "protocol": "prepared"}),
    );
    assert_eq!((result.transactions, result.reconnects, stub.connections()), (4, 0, 4));
}

//! The program: result on stdout, everything else on stderr, and its exit codes.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod stub;

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use pgclinic_load::LoadResult;
use serde_json::json;
use stub::{Act, Login, Plan, Stub};

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_pgclinic-load"))
}

fn run_text(text: &str) -> Output {
    let mut child = program()
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn text(stub: &Stub, changes: serde_json::Value) -> String {
    serde_json::to_string(&stub.spec("SELECT 1;", changes)).unwrap()
}

#[test]
fn the_result_is_the_only_thing_on_stdout() {
    let stub = Plan::prompt().start();
    let output = run_text(&text(&stub, json!({"measure_s": 1.2, "transactions_per_client": null})));
    assert_eq!(output.status.code(), Some(0));
    let result: LoadResult = serde_json::from_slice(&output.stdout).unwrap();
    assert!(result.transactions > 0);
    let progress = String::from_utf8(output.stderr).unwrap();
    assert!(
        progress.lines().count() == 2 && progress.starts_with("measure"),
        "{progress}"
    );
}

#[test]
fn a_spec_is_read_from_a_file_too() {
    let stub = Plan::prompt().start();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text(&stub, json!({}))).unwrap();
    assert_eq!(program().arg(file.path()).output().unwrap().status.code(), Some(0));
}

#[test]
fn what_cannot_be_used_ends_with_one() {
    let stub = Plan::prompt().start();
    let bad_script = serde_json::to_string(&stub.spec("\\set x\n", json!({}))).unwrap();
    for (input, wanted) in [("{", "spec"), ("{}", "target"), (bad_script.as_str(), "script:1:")] {
        let output = run_text(input);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(wanted) && output.stdout.is_empty(), "{message}");
    }
    assert_eq!(program().output().unwrap().status.code(), Some(1));
    assert_eq!(
        program().arg("/no/such/spec.json").output().unwrap().status.code(),
        Some(1)
    );
}

#[test]
fn a_load_without_any_client_ends_with_two_and_says_why() {
    let stub = Plan::prompt()
        .login(|_| Login::Refuse("28000", "no entry for this host"))
        .start();
    let output = run_text(&text(&stub, json!({})));
    assert_eq!(output.status.code(), Some(2));
    assert!(serde_json::from_slice::<LoadResult>(&output.stdout).is_ok());
    assert!(String::from_utf8(output.stderr)
        .unwrap()
        .contains("no entry for this host"));
}

#[test]
fn an_interrupt_ends_the_load_and_keeps_the_result() {
    let stub = Plan::new(|_| vec![Act::Sleep(Duration::from_millis(10)), stub::ok()]).start();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        file.path(),
        text(&stub, json!({"measure_s": 60.0, "transactions_per_client": null})),
    )
    .unwrap();
    let child = program()
        .arg(file.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while stub.texts().len() < 10 {
        std::thread::sleep(Duration::from_millis(10));
        assert!(began.elapsed() < Duration::from_secs(10), "the load does not begin");
    }
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(began.elapsed() < Duration::from_secs(15));
    let result: LoadResult = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), result.stopped.as_str()),
        (Some(0), "interrupted")
    );
    assert!(result.transactions > 0);
}

#[test]
fn the_version_names_the_build() {
    let output = program().arg("--version").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains(pgclinic_load::VERSION) && text.contains(pgclinic_load::PROFILE),
        "{text}"
    );
}

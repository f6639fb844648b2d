//! Replays scripts whose results were recorded from pgbench 18.6 by `corpus/record.py`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod interpreter;

use std::fs;
use std::path::{Path, PathBuf};

use interpreter::Outcome;

/// Lines of `refused.sql` that pgbench refuses only when they run. Here they are refused before the run, because no
/// client could ever get past them.
const REFUSED_EARLIER: [&str; 2] = ["\\set 1x 1", "\\setshell 1x true"];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn scripts() -> Vec<PathBuf> {
    let files = fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().path());
    let mut scripts: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "sql"))
        .collect();
    scripts.sort();
    scripts
}

fn expected(script: &Path) -> Vec<String> {
    fs::read_to_string(script.with_extension("expected"))
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// The outcome in the form of the recordings: line ends inside SQL are escaped.
fn lines(outcome: &Outcome) -> Vec<String> {
    let escape = |text: &String| text.replace('\\', "\\\\").replace('\n', "\\n");
    let debug = outcome.debug.iter().map(|line| format!("debug {line}"));
    let sql = outcome.sql.iter().map(|text| format!("sql {}", escape(text)));
    debug
        .chain(sql)
        .chain(outcome.error.iter().map(|_| "aborted".to_owned()))
        .collect()
}

#[test]
fn scripts_do_what_pgbench_does() {
    let scripts = scripts();
    assert!(scripts.len() > 8, "the corpus is missing");
    for script in scripts.iter().filter(|script| !script.ends_with("refused.sql")) {
        let text = fs::read_to_string(script).unwrap();
        let outcome = interpreter::run("corpus.sql", &text).unwrap_or_else(|error| panic!("{script:?}: {error}"));
        for (number, (ours, theirs)) in lines(&outcome).iter().zip(expected(script)).enumerate() {
            assert_eq!(*ours, theirs, "{script:?}, expected line {}", number + 1);
        }
        assert_eq!(lines(&outcome).len(), expected(script).len(), "{script:?}");
    }
}

#[test]
fn refusals_are_those_of_pgbench() {
    let script = corpus().join("refused.sql");
    let text = fs::read_to_string(&script).unwrap();
    assert_eq!(text.lines().count(), expected(&script).len());
    for (line, verdict) in text.lines().zip(expected(&script)) {
        let verdict = if REFUSED_EARLIER.contains(&line) {
            "refused"
        } else {
            verdict.as_str()
        };
        let outcome = interpreter::run("line.sql", &format!("{line}\n"));
        let ours = match &outcome {
            Err(_) => "refused",
            Ok(outcome) if outcome.error.is_some() => "aborts",
            Ok(_) => "runs",
        };
        assert_eq!(ours, verdict, "{line}: {outcome:?}");
    }
}

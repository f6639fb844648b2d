//! Memory stays flat over a million transactions.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use pgclinic_load::{LoadSpec, Observer, Progress, Stopper};
use serde_json::json;

const LOGIN: &[u8] = b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I";
const ANSWER: &[u8] = b"D\0\0\0\x0b\0\x01\0\0\0\x017C\0\0\0\x0dSELECT 1\0";
const READY: &[u8] = b"Z\0\0\0\x05I";

/// One read is one request: a pipeline of a hundred statements comes back in one piece.
fn serve(mut stream: UnixStream) {
    let mut buffer = [0; 65536];
    let _ = stream.read(&mut buffer);
    let _ = stream.write_all(LOGIN);
    let answer = [&b"1\0\0\0\x042\0\0\0\x04n\0\0\0\x04"[..], ANSWER, READY].concat();
    while let Ok(1..) = stream.read(&mut buffer) {
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The resident memory when a tenth was done, and at the end.
struct Watch {
    done: u64,
    early: Option<u64>,
    late: u64,
}

impl Observer for Watch {
    fn progress(&mut self, progress: &Progress) {
        self.done += progress.transactions;
    }

    fn wants_stop(&mut self) -> bool {
        self.late = resident_kb();
        if self.early.is_none() && self.done > 50_000 {
            self.early = Some(self.late);
        }
        self.done >= 1_000_000
    }
}

#[test]
fn a_million_transactions_take_no_more_memory_than_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || serve(stream.unwrap()));
        }
    });
    let spec = json!({
        "target": {"host": directory.path(), "port": 5432, "user": "u", "database": "d"},
        // Transactions that need no server make up the number, those that do pass through every buffer.
        "scripts": [
            {"name": "busy", "text": "\\set n random(1, 100000)\nSELECT :n AS x \\gset\n"},
            {"name": "idle", "text": "\\set n random(1, 100000)\n", "weight": 9},
        ],
        "protocol": "extended",
        "clients": 8,
        "measure_s": 60.0,
        "log": {"prefix": directory.path().join("log"), "aggregate_interval_s": 1},
    });
    let spec = LoadSpec::from_json(&spec.to_string()).unwrap();
    let mut watch = Watch {
        done: 0,
        early: None,
        late: 0,
    };
    let began = std::time::Instant::now();
    let result = pgclinic_load::run(&spec, &Stopper::default(), &mut watch).unwrap();
    assert!(began.elapsed() < Duration::from_secs(70));
    assert!(result.transactions >= 1_000_000, "{} in a minute", result.transactions);
    let early = watch.early.unwrap();
    assert!(watch.late < early + 4_096, "{early} kB early, {} kB late", watch.late);
}

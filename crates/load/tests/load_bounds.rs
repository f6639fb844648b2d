//! What a server can make the engine keep is bounded: huge bodies, rows and codes without end. One test, because memory
//! is the whole process's.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod stub;

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use pgclinic_load::{LoadSpec, Observer, Stopper};
use serde_json::{json, Value};

const LOGIN: &[u8] = b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I";
const CLIENTS: u64 = 8;
/// Each client may hold a row of 4 MB three times: as it comes in, as the last row, as a variable.
const GROWTH_KB_MAX: u64 = 300_000;
/// What each client is sent if it takes all: far more than may be kept.
const SENT_MAX: u64 = 400_000_000;

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The most that was resident.
#[derive(Default)]
struct Watch(u64);

impl Observer for Watch {
    fn progress(&mut self, _: &pgclinic_load::Progress) {}

    fn wants_stop(&mut self) -> bool {
        self.0 = self.0.max(resident_kb());
        false
    }
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    huge(tag, u32::try_from(body.len() + 4).unwrap(), body)
}

/// The beginning of a message of any length.
fn huge(tag: u8, length: u32, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

/// Sends `first` and then `again` without end.
fn flood(stream: &mut UnixStream, first: &[u8], again: &[u8], sent: &AtomicU64) -> std::io::Result<()> {
    stream.write_all(first)?;
    let mut count = 0;
    while count < SENT_MAX {
        stream.write_all(again)?;
        count += again.len() as u64;
        sent.fetch_add(again.len() as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// The memory that a load takes at most when every client is sent `before`, and when it has asked something `first` and
/// `again` without end; and how much was sent.
fn growth_kb(before: &[u8], first: Vec<u8>, again: Vec<u8>, changes: &Value) -> (u64, u64) {
    let directory = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
    let (before, sent) = (before.to_vec(), Arc::new(AtomicU64::new(0)));
    let counted = Arc::clone(&sent);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (before, first, again) = (before.clone(), first.clone(), again.clone());
            let counted = Arc::clone(&counted);
            std::thread::spawn(move || {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(&before);
                if !before.is_empty() {
                    let _ = stream.read(&mut [0; 65536]);
                }
                let _ = flood(&mut stream, &first, &again, &counted);
                while let Ok(1..) = stream.read(&mut [0; 4096]) {}
            });
        }
    });
    let mut spec = json!({
        "target": {"host": directory.path(), "port": 5432, "user": "u", "database": "d", "password": "secret"},
        "scripts": [{"name": "s", "text": "SELECT 1 AS x \\gset\n"}],
        "clients": CLIENTS,
        "measure_s": 1.5,
        "drain_s": 0.1,
        "connect_timeout_s": 2.0,
    });
    for (name, value) in changes.as_object().unwrap() {
        spec[name] = value.clone();
    }
    if let Ok(io) = std::env::var("PGCLINIC_LOAD_IO") {
        spec["io"] = io.into();
    }
    let spec = LoadSpec::from_json(&spec.to_string()).unwrap();
    let mut watch = Watch::default();
    let base = resident_kb();
    let result = pgclinic_load::run(&spec, &Stopper::default(), &mut watch).unwrap();
    assert!(result.clients_lost <= result.clients);
    let growth = watch.0.max(resident_kb()).saturating_sub(base);
    (growth, sent.load(Ordering::Relaxed))
}

#[test]
fn nothing_that_a_server_sends_fills_the_memory() {
    let gigabyte = 1 << 30;
    let noise = vec![b'x'; 1 << 16];
    let row = message(b'D', &[&[0, 1, 0, 0, 0, 100][..], &[b'7'; 100]].concat());
    let rows = row.repeat(600);
    let tpcc = json!({"scripts": [], "tpcc": {"warehouses": 2}});
    let verbose = json!({"verbose_errors": true});
    let none = json!({});
    let cases = [
        (
            "a row of a gigabyte",
            LOGIN,
            huge(b'D', gigabyte, b"\0\x01"),
            noise.clone(),
            &none,
        ),
        (
            "a description of a gigabyte",
            LOGIN,
            huge(b'T', gigabyte, b"\0\x01"),
            noise.clone(),
            &none,
        ),
        (
            "an error of a gigabyte",
            LOGIN,
            huge(b'E', gigabyte, b"M"),
            noise.clone(),
            &verbose,
        ),
        (
            "a request for a password of a gigabyte",
            b"",
            huge(b'R', gigabyte, b"\0\0\0\x0a"),
            noise.clone(),
            &none,
        ),
        ("rows without end", LOGIN, Vec::new(), rows.clone(), &none),
        ("TPC-C's rows without end", LOGIN, Vec::new(), rows, &tpcc),
        (
            "data asked for without end",
            LOGIN,
            Vec::new(),
            message(b'G', &[0, 0, 0]).repeat(8_000),
            &none,
        ),
    ];
    for (what, before, first, again, changes) in cases {
        let (growth, sent) = growth_kb(before, first, again, changes);
        assert!(growth < GROWTH_KB_MAX, "{what}: {growth} kB more after {sent} bytes");
    }
}

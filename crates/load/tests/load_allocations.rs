//! In a steady state no transaction touches the heap: twenty thousand more of them cost no more allocations than a few
//! seconds of reporting do.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicUsize, Ordering};

use pgclinic_load::{LoadSpec, Stopper};
use serde_json::json;

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `alloc` above, so from the system allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LOGIN: &[u8] = b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I";
const ANSWER: &[u8] = b"2\0\0\0\x04n\0\0\0\x04D\0\0\0\x0b\0\x01\0\0\0\x017C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
const PREPARED: &[u8] = b"1\0\0\0\x04Z\0\0\0\x05I";

/// Answers without allocating: one answer for every Sync.
fn serve(mut stream: UnixStream) {
    let mut buffer = [0; 4096];
    let _ = stream.read(&mut buffer);
    let _ = stream.write_all(LOGIN);
    let mut prepared = false;
    while let Ok(count) = stream.read(&mut buffer) {
        let syncs = buffer[..count]
            .windows(5)
            .filter(|window| window == b"S\0\0\0\x04")
            .count();
        if count == 0 {
            return;
        }
        for _ in 0..syncs {
            let answer = if prepared { ANSWER } else { PREPARED };
            prepared = true;
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    }
}

/// Answers every statement with one row of ones, which leads every transaction of TPC-C to its COMMIT.
fn serve_tpcc(mut stream: UnixStream) {
    let row = [
        b"D\0\0\0\x5b\0\x11".as_slice(),
        &b"\0\0\0\x011".repeat(17),
        b"C\0\0\0\x0dUPDATE 1\0",
    ]
    .concat();
    let mut buffer = vec![0; 65_536];
    let _ = stream.read(&mut buffer);
    let mut filled = 0;
    let _ = stream.write_all(LOGIN);
    let mut out = Vec::with_capacity(65_536);
    let mut commits: Vec<Vec<u8>> = Vec::new();
    let mut status = b'I';
    while let Ok(count) = stream.read(&mut buffer[filled..]) {
        if count == 0 {
            return;
        }
        filled += count;
        let mut at = 0;
        while let Some(header) = buffer[at..filled].first_chunk::<5>() {
            let length = u32::from_be_bytes(*header.last_chunk().unwrap()) as usize;
            let Some(body) = buffer[at..filled].get(5..length + 1) else {
                break;
            };
            match header[0] {
                b'P' => {
                    let name = body.split(|byte| *byte == 0).next().unwrap();
                    if body.ends_with(b"COMMIT\0\0\0") {
                        commits.push(name.to_vec());
                    }
                    out.extend_from_slice(b"1\0\0\0\x04");
                }
                b'B' => {
                    let name = body[1..].split(|byte| *byte == 0).next().unwrap();
                    let is_commit = commits.iter().any(|commit| commit == name);
                    status = if is_commit { b'I' } else { b'T' };
                    out.extend_from_slice(b"2\0\0\0\x04");
                }
                b'E' => out.extend_from_slice(&row),
                b'S' => out.extend_from_slice(&[b'Z', 0, 0, 0, 5, status]),
                _ => return,
            }
            at += length + 1;
        }
        buffer.copy_within(at..filled, 0);
        filled -= at;
        if stream.write_all(&out).is_err() {
            return;
        }
        out.clear();
    }
}

fn allocations(directory: &str, changes: &serde_json::Value) -> usize {
    let mut spec = json!({
        "target": {"host": directory, "port": 5432, "user": "u", "database": "d"},
        "scripts": [{"name": "s", "text": "\\set n random(1, 100000)\nSELECT :n;"}],
        "protocol": "prepared",
        "clients": 4,
    });
    if let Ok(io) = std::env::var("PGCLINIC_LOAD_IO") {
        spec["io"] = io.into();
    }
    for (name, value) in changes.as_object().unwrap() {
        spec[name] = value.clone();
    }
    let spec = LoadSpec::from_json(&spec.to_string()).unwrap();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let result = pgclinic_load::run(&spec, &Stopper::default(), &mut ()).unwrap();
    assert_eq!(result.transactions, 4 * spec.transactions_per_client.unwrap());
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

fn listen(serve: fn(UnixStream)) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || serve(stream.unwrap()));
        }
    });
    directory
}

fn does_not_allocate(path: &str, changes: &serde_json::Value, more: usize) {
    let run = |transactions: usize| {
        let mut changes = changes.clone();
        changes["transactions_per_client"] = json!(transactions);
        allocations(path, &changes)
    };
    let (few, many) = (run(100), run(100 + more));
    // For each of four clients; a second's report takes a few allocations, and a run takes a few seconds at most.
    assert!(
        many < few + 2_000,
        "{few} allocations for 400 transactions, {many} for {more} more of each client"
    );
}

// One test, because allocations are counted for the whole process.
#[test]
fn transactions_do_not_allocate() {
    let directory = listen(serve);
    let path = directory.path().to_str().unwrap();
    let log = json!({"log": {"prefix": directory.path().join("log")}, "time_meta_commands": true});
    for changes in [json!({}), json!({"pace": {"rate_tps": 1_000_000.0}}), log] {
        does_not_allocate(path, &changes, 5_000);
    }
    let directory = listen(serve_tpcc);
    let tpcc = json!({"scripts": [], "tpcc": {"warehouses": 2}});
    does_not_allocate(directory.path().to_str().unwrap(), &tpcc, 1_000);
}

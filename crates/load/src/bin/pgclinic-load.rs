//! `pgclinic-load SPEC.json`: runs one load without Python. The result goes to stdout as JSON, progress to stderr.
//!
//! Exit codes: 0 the load ran, 1 the spec or a script cannot be used, 2 the load could not run or no client could.

use std::io::{Read, Write};
use std::process::ExitCode;

use pgclinic_load::{LoadError, LoadResult, LoadSpec, Observer, Progress, Stopper};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

const USAGE: &str = "usage: pgclinic-load SPEC.json | pgclinic-load -   (reads the spec from stdin)
       pgclinic-load --version | --help";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [flag] if flag == "--version" => {
            println!("pgclinic-load {} ({})", pgclinic_load::VERSION, pgclinic_load::PROFILE);
            ExitCode::SUCCESS
        }
        [flag] if flag == "--help" || flag == "-h" => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        [path] => run(path),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(1)
        }
    }
}

fn run(path: &str) -> ExitCode {
    let text = match read(path) {
        Ok(text) => text,
        Err(error) => return fail(&format!("{path}: {error}"), 1),
    };
    match load(&text) {
        Ok(result) => print(&result),
        Err(error) => fail(&error.to_string(), if error.is_usage() { 1 } else { 2 }),
    }
}

fn read(path: &str) -> std::io::Result<String> {
    if path == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(path)
}

fn load(text: &str) -> Result<LoadResult, LoadError> {
    let spec = LoadSpec::from_json(text)?;
    let stopper = Stopper::default();
    stop_on_signals(&stopper);
    pgclinic_load::run(&spec, &stopper, &mut Lines)
}

/// The first Ctrl-C ends measuring and drains, the second ends at once; the result is printed all the same.
fn stop_on_signals(stopper: &Stopper) {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else {
        return;
    };
    let stopper = stopper.clone();
    std::thread::spawn(move || {
        for _ in signals.forever() {
            stopper.stop();
        }
    });
}

fn print(result: &LoadResult) -> ExitCode {
    let mut stdout = std::io::stdout().lock();
    let written = serde_json::to_writer(&mut stdout, result).map_err(std::io::Error::from);
    match written.and_then(|()| writeln!(stdout)) {
        Err(error) => fail(&format!("writing the result: {error}"), 2),
        Ok(()) if result.clients_lost == result.clients => {
            let reason = result.failures.first().map_or("", |failure| failure.message.as_str());
            fail(&format!("no client could go on: {reason}"), 2)
        }
        Ok(()) => ExitCode::SUCCESS,
    }
}

fn fail(message: &str, code: u8) -> ExitCode {
    eprintln!("pgclinic-load: {message}");
    ExitCode::from(code)
}

/// Progress as plain lines.
struct Lines;

impl Observer for Lines {
    fn progress(&mut self, progress: &Progress) {
        let Progress {
            phase,
            second,
            tps,
            failed,
            clients_connected,
            clients,
            ..
        } = progress;
        let (p50, p99) = (
            progress.latency_us_p50 as f64 / 1e3,
            progress.latency_us_p99 as f64 / 1e3,
        );
        eprintln!(
            "{phase} {second:>4} s  {tps:>10.1} tps  p50 {p50:.3} ms  p99 {p99:.3} ms  failed {failed}  \
             clients {clients_connected}/{clients}"
        );
    }
}

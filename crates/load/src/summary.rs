//! What the threads counted, made into the result.

use crate::build;
use crate::clock::{micros, seconds, Nanos, NEVER};
use crate::os::CpuTime;
use crate::program::Program;
use crate::pulse::Pauses;
use crate::record::{
    ErrorMessages, Histogram, LogOutcome, Precision, Recorder, ScriptRecord, WindowRecord, WindowTally,
};
use crate::result::{
    EngineResult, InFlightResult, LoadResult, LogResult, ScriptResult, SecondResult, StatementKind, StatementResult,
    WindowResult, WindowsResult,
};
use crate::spec::{LoadSpec, FORMAT};
use crate::stage::Stage;
use crate::worker::Outcome;

/// What the threads have in sum.
struct Sum {
    recorder: Recorder,
    in_flight: Vec<InFlightResult>,
    cpu: CpuTime,
    busiest: Nanos,
    unserved: u64,
    ended: Nanos,
    all_done: bool,
    io: &'static str,
}

/// Makes the result; none if there was no thread. The stage was made at `created_epoch_us`.
pub fn summarize(
    spec: &LoadSpec,
    program: &Program,
    stage: &Stage,
    created_epoch_us: u64,
    series: Vec<SecondResult>,
    outcomes: Vec<Outcome>,
    pauses: Pauses,
) -> Option<LoadResult> {
    let mut sum = add_up(outcomes)?;
    let window = stage.window();
    let end = sum.ended.min(window.end).max(window.start);
    let tally = sum.recorder.windows.as_ref();
    let span = |time: fn(&Stage, Nanos) -> Nanos, from, to| time(stage, to).saturating_sub(time(stage, from));
    let measured = span(counted, window.start, end);
    let connected = Some(window.warm_up).filter(|warm_up| *warm_up != NEVER);
    let scripts: Vec<_> = (0_u16..)
        .zip(&sum.recorder.scripts)
        .map(|(n, record)| script(program, n, record))
        .collect();
    let latency = latency_of_all(&sum.recorder.scripts);
    let total = |count: fn(&ScriptResult) -> u64| scripts.iter().map(count).sum();
    let log = sum.recorder.logged.take().map(logged);
    let errors = sum.recorder.errors.as_ref();
    let is_open = spec.pace.rate_tps.is_some();
    Some(LoadResult {
        engine: engine(&sum),
        started_epoch_us: created_epoch_us.saturating_add(micros(window.start.min(stage.clock.now()))),
        connect_s: seconds(connected.unwrap_or_else(|| stage.clock.now())),
        warm_up_s: seconds(span(counted, window.warm_up, window.start.min(sum.ended))),
        measured_s: seconds(measured),
        stopped: stopped(spec, stage, &sum).to_owned(),
        clients: spec.clients,
        clients_lost: sum.recorder.clients_lost,
        reconnects: sum.recorder.reconnects,
        reconnect_s: seconds(sum.recorder.connecting),
        transactions: total(|script| script.transactions),
        failed: total(|script| script.failed),
        rolled_back: total(|script| script.rolled_back),
        statements: total(answered),
        skipped: total(|script| script.skipped),
        late: total(|script| script.late),
        retried: total(|script| script.retried),
        retries: total(|script| script.retries),
        latency: latency.to_result(),
        seconds: series,
        failures: sum.recorder.failures.to_result(|number| program.script_name(number)),
        messages: errors.map_or_else(Vec::new, |errors| {
            errors.to_result(|number| program.script_name(number))
        }),
        messages_dropped: errors.map_or(0, ErrorMessages::dropped),
        log,
        in_flight: sum.in_flight,
        client_cpu_user_s: sum.cpu.user_s,
        client_cpu_system_s: sum.cpu.system_s,
        occupancy: occupancy(sum.busiest, span(loaded, window.start, end)),
        lag: is_open.then(|| sum.recorder.lag.to_result()),
        schedule_lag: sum.recorder.schedule_lag.as_ref().map(Histogram::to_result),
        offered: is_open.then_some(sum.recorder.offered + sum.unserved),
        unserved: is_open.then_some(sum.unserved),
        warm_up_transactions: sum.recorder.warm_up_transactions,
        paused_s: seconds(pauses.total),
        longest_pause_s: seconds(pauses.longest),
        windows: tally.map(|tally| interleaved(spec, tally, window.start, end)),
        format: FORMAT,
        scripts,
    })
}

fn engine(sum: &Sum) -> EngineResult {
    EngineResult {
        version: build::VERSION.to_owned(),
        profile: build::PROFILE.to_owned(),
        io: sum.io.to_owned(),
    }
}

fn latency_of_all(scripts: &[ScriptRecord]) -> Histogram {
    let mut latency = Histogram::new(Precision::Fine);
    for record in scripts {
        latency.add(&record.latency);
    }
    latency
}

/// The time as far as it counts.
fn counted(stage: &Stage, now: Nanos) -> Nanos {
    stage.windows().map_or(now, |windows| windows.counted(now))
}

/// The time as far as transactions could begin.
fn loaded(stage: &Stage, now: Nanos) -> Nanos {
    stage.windows().map_or(now, |windows| windows.on(now))
}

/// What became of windows between the start and the end of measuring.
fn interleaved(spec: &LoadSpec, tally: &WindowTally, start: Nanos, end: Nanos) -> WindowsResult {
    let windows = &tally.windows;
    let result = |(number, record): (usize, &WindowRecord)| {
        let window = windows.get(number)?;
        let (from, to) = (window.counts_from.max(start), window.end.min(end));
        (from < to).then(|| WindowResult {
            number,
            at_s: seconds(from - start),
            counted_s: seconds(to - from),
            transactions: record.transactions,
            failed: record.failed,
            rolled_back: record.rolled_back,
            statements: record.statements,
            guarded: record.guarded,
            overran: record.overran,
            overrun_us_max: micros(record.overrun_max),
        })
    };
    let each: Vec<_> = tally.records.iter().enumerate().filter_map(result).collect();
    let measured = || each.iter().filter_map(|window| tally.records.get(window.number));
    WindowsResult {
        guard_s: spec.windows.as_ref().map_or(0.0, |windows| windows.guard_s),
        span_s: seconds(end - start),
        loaded_s: seconds(windows.on(end).saturating_sub(windows.on(start))),
        overran: measured().map(|record| record.overran).sum(),
        overrun_us_sum: micros(measured().map(|record| record.overrun).sum()),
        uncounted: measured().map(|record| record.guarded + record.overran).sum(),
        each,
    }
}

fn occupancy(busiest: Nanos, loaded: Nanos) -> f64 {
    if loaded == 0 {
        return 0.0;
    }
    (busiest as f64 / loaded as f64).min(1.0)
}

fn logged(outcome: LogOutcome) -> LogResult {
    let files = outcome.files.into_iter();
    LogResult {
        files: files.map(|file| file.display().to_string()).collect(),
        lines: outcome.lines,
        lines_lost: outcome.lines_lost,
        problem: outcome.problem,
    }
}

fn add_up(outcomes: Vec<Outcome>) -> Option<Sum> {
    let mut outcomes = outcomes.into_iter();
    let first = outcomes.next()?;
    let mut sum = Sum {
        recorder: first.recorder,
        in_flight: first.in_flight,
        cpu: first.cpu,
        busiest: first.busy,
        unserved: first.unserved,
        ended: first.ended,
        all_done: first.all_done,
        io: first.io,
    };
    for outcome in outcomes {
        sum.recorder.add(outcome.recorder);
        sum.in_flight.extend(outcome.in_flight);
        sum.cpu.user_s += outcome.cpu.user_s;
        sum.cpu.system_s += outcome.cpu.system_s;
        sum.busiest = sum.busiest.max(outcome.busy);
        sum.unserved += outcome.unserved;
        sum.ended = sum.ended.max(outcome.ended);
        sum.all_done &= outcome.all_done;
    }
    Some(sum)
}

fn stopped(spec: &LoadSpec, stage: &Stage, sum: &Sum) -> &'static str {
    if stage.is_aborted() {
        "aborted"
    } else if sum.recorder.clients_lost >= spec.clients {
        "clients_lost"
    } else if stage.stopper.is_stopped() && stage.is_ended_early() {
        "interrupted"
    } else if sum.all_done || sum.ended < stage.window().closing {
        "transactions"
    } else if spec.measure_s.is_none() {
        "limit"
    } else {
        "time"
    }
}

fn script(program: &Program, number: u16, record: &ScriptRecord) -> ScriptResult {
    let routine = program.routines.get(usize::from(number));
    let statements = routine.map_or(&[][..], |routine| &routine.statements);
    let statements = statements
        .iter()
        .zip(&record.statements)
        .map(|(statement, record)| StatementResult {
            line: statement.line,
            text: statement.text.clone(),
            kind: statement.kind,
            executions: record.executions,
            failures: record.failures,
            retries: record.retries,
            latency: record.latency.to_result(),
        });
    ScriptResult {
        name: program.script_name(number),
        weight: routine.map_or(0, |routine| routine.weight),
        transactions: record.transactions,
        failed: record.failed,
        skipped: record.skipped,
        late: record.late,
        retried: record.retried,
        retries: record.retries,
        rolled_back: record.rolled_back,
        begun_before: record.begun_before,
        latency: record.latency.to_result(),
        statements: statements.collect(),
    }
}

/// How many statements of a script the server has answered.
fn answered(script: &ScriptResult) -> u64 {
    let of_server = script
        .statements
        .iter()
        .filter(|statement| statement.kind == StatementKind::Sql);
    of_server.map(|statement| statement.executions).sum()
}

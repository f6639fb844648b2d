//! What the calling thread makes of the threads' reports: progress for the observer, seconds for the result.

use crate::clock::{seconds, NEVER, SECOND};
use crate::program::Program;
use crate::progress::{Observer, Progress};
use crate::record::{FoldedSecond, Phase, SecondFolder, SecondReport, SecondTotal};
use crate::result::{SecondFailureResult, SecondResult};
use crate::spec::LoadSpec;
use crate::stage::Stage;

/// See the module.
pub struct Follower<'a> {
    program: &'a Program,
    stage: &'a Stage,
    clients: usize,
    folder: SecondFolder,
    seconds: Vec<SecondResult>,
    /// The next second of connecting, and of draining, to be told.
    connect_seconds: u64,
    drain_seconds: u64,
}

impl<'a> Follower<'a> {
    /// Nothing has happened yet.
    pub fn new(spec: &LoadSpec, program: &'a Program, stage: &'a Stage, threads: usize) -> Self {
        Self {
            program,
            stage,
            clients: spec.clients,
            folder: SecondFolder::new(threads, spec.second_histograms),
            seconds: Vec::new(),
            connect_seconds: 1,
            drain_seconds: 1,
        }
    }

    /// A thread has reported a second.
    pub fn report(&mut self, report: SecondReport, observer: &mut dyn Observer) {
        self.folder.add(report);
        self.fold(observer);
    }

    /// The threads have ended.
    pub fn close(&mut self, observer: &mut dyn Observer) {
        self.folder.close();
        self.fold(observer);
    }

    /// Tells of the seconds in which nothing is counted.
    pub fn look(&mut self, observer: &mut dyn Observer) {
        let now = self.stage.clock.now();
        let window = self.stage.window();
        if window.warm_up == NEVER {
            if now >= self.connect_seconds * SECOND {
                observer.progress(&self.quiet("connect", self.connect_seconds - 1));
                self.connect_seconds += 1;
            }
        } else if now >= window.end.saturating_add(self.drain_seconds * SECOND) {
            observer.progress(&self.quiet("drain", self.drain_seconds - 1));
            self.drain_seconds += 1;
        }
    }

    /// The seconds of measuring, by script.
    pub fn into_seconds(self) -> Vec<SecondResult> {
        self.seconds
    }

    fn fold(&mut self, observer: &mut dyn Observer) {
        while let Some(folded) = self.folder.take() {
            if self.is_nothing(&folded) {
                continue;
            }
            observer.progress(&self.progress(&folded));
            match folded.phase {
                Phase::Measure => self.keep(&folded),
                Phase::WarmUp if observer.is_warm() => self.stage.end_warm_up(self.stage.clock.now()),
                Phase::WarmUp => {}
            }
        }
    }

    /// A moment after the last second in which nothing ended.
    fn is_nothing(&self, folded: &FoldedSecond) -> bool {
        let window = self.stage.counted_window();
        let begins = window.start.saturating_add(folded.second * SECOND);
        let is_after = folded.phase == Phase::Measure && begins >= window.closing && folded.span < SECOND;
        folded.scripts.is_empty() && (folded.span == 0 || is_after)
    }

    fn keep(&mut self, folded: &FoldedSecond) {
        // An idle second is still a second: it is told for the first script.
        let idle = [(0, SecondTotal::default())];
        let scripts = if folded.scripts.is_empty() {
            &idle[..]
        } else {
            &folded.scripts[..]
        };
        for (script, total) in scripts {
            self.seconds.push(SecondResult {
                second: folded.second,
                span_s: seconds(folded.span.min(SECOND)),
                script: self.program.script_name(*script),
                transactions: total.transactions,
                failed: total.failed,
                rolled_back: total.rolled_back,
                statements: total.statements,
                failures: failures(total),
                skipped: total.skipped,
                late: total.late,
                retried: total.retried,
                retries: total.retries,
                lag_us_sum: total.lag_us_sum,
                latency_us_sum: total.latency_us_sum,
                latency_us_p50: total.latency_us_p50,
                latency_us_p99: total.latency_us_p99,
                latency_us_max: total.latency_us_max,
                hdr: total.hdr.clone(),
            });
        }
    }

    fn progress(&self, folded: &FoldedSecond) -> Progress {
        let span = folded.span.min(SECOND);
        let total = &folded.together;
        let count = total.transactions as f64;
        Progress {
            phase: match folded.phase {
                Phase::WarmUp => "warm_up",
                Phase::Measure => "measure",
            },
            second: folded.second,
            span_s: seconds(span),
            transactions: total.transactions,
            failed: total.failed,
            rolled_back: total.rolled_back,
            statements: total.statements,
            skipped: total.skipped,
            late: total.late,
            retried: total.retried,
            retries: total.retries,
            latency_us_sum: total.latency_us_sum,
            latency_us2_sum: total.latency_us2_sum as f64,
            lag_us_sum: total.lag_us_sum,
            tps: if span == 0 { 0.0 } else { count / seconds(span) },
            latency_us_mean: if total.transactions == 0 {
                0.0
            } else {
                total.latency_us_sum as f64 / count
            },
            latency_us_p50: total.latency_us_p50,
            latency_us_p90: total.latency_us_p90,
            latency_us_p95: total.latency_us_p95,
            latency_us_p99: total.latency_us_p99,
            latency_us_max: total.latency_us_max,
            clients_connected: folded.connected,
            clients: self.clients,
        }
    }

    fn quiet(&self, phase: &'static str, second: u64) -> Progress {
        let clients_connected = self.stage.connected();
        Progress {
            phase,
            second,
            span_s: 1.0,
            clients_connected,
            clients: self.clients,
            ..Progress::default()
        }
    }
}

fn failures(total: &SecondTotal) -> Vec<SecondFailureResult> {
    let failures = total.failures.iter().map(|(code, count)| SecondFailureResult {
        sqlstate: code.name(),
        count: *count,
    });
    failures.collect()
}

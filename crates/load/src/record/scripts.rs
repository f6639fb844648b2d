//! What scripts and their statements did while it was measured.

use super::histogram::{Histogram, Precision};
use crate::clock::{micros, Nanos};

/// What one statement did.
#[derive(Clone, Debug)]
pub struct StatementRecord {
    pub executions: u64,
    pub failures: u64,
    pub retries: u64,
    pub latency: Histogram,
}

impl StatementRecord {
    pub(super) fn new(precision: Precision) -> Self {
        Self {
            executions: 0,
            failures: 0,
            retries: 0,
            latency: Histogram::new(precision),
        }
    }

    fn add(&mut self, other: &Self) {
        self.executions += other.executions;
        self.failures += other.failures;
        self.retries += other.retries;
        self.latency.add(&other.latency);
    }
}

/// What one script did.
#[derive(Clone, Debug)]
pub struct ScriptRecord {
    pub transactions: u64,
    pub failed: u64,
    /// They rolled back because their inputs wanted it.
    pub rolled_back: u64,
    pub skipped: u64,
    pub late: u64,
    pub retried: u64,
    pub retries: u64,
    /// Of all that ended, those that had begun before measuring did.
    pub begun_before: u64,
    /// Of commits alone.
    pub latency: Histogram,
    pub statements: Vec<StatementRecord>,
}

impl ScriptRecord {
    /// A script with so many statements.
    pub(super) fn new(statements: usize, precision: Precision) -> Self {
        Self {
            transactions: 0,
            failed: 0,
            rolled_back: 0,
            skipped: 0,
            late: 0,
            retried: 0,
            retries: 0,
            begun_before: 0,
            latency: Histogram::new(Precision::Fine),
            statements: vec![StatementRecord::new(precision); statements],
        }
    }

    /// A transaction has ended in whatever way.
    pub(super) fn count_end(&mut self, course: &Course, start: Nanos) {
        self.retried += u64::from(course.tries > 1);
        self.retries += u64::from(course.tries.saturating_sub(1));
        self.begun_before += u64::from(course.began < start);
    }

    /// Adds what another thread has counted.
    pub(super) fn add(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.failed += other.failed;
        self.rolled_back += other.rolled_back;
        self.skipped += other.skipped;
        self.late += other.late;
        self.retried += other.retried;
        self.retries += other.retries;
        self.begun_before += other.begun_before;
        self.latency.add(&other.latency);
        for (ours, theirs) in self.statements.iter_mut().zip(&other.statements) {
            ours.add(theirs);
        }
    }
}

/// A transaction that ends, or is in trouble.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// The client's number among all threads'.
    pub client: usize,
    pub script: u16,
    /// When it should have begun; latency counts from here.
    pub due: Nanos,
    /// When it did.
    pub began: Nanos,
    /// Which try this is, from 1.
    pub tries: u32,
}

impl Course {
    /// How late it began, for whatever reason.
    pub(super) fn lag_us(&self) -> u64 {
        micros(self.began.saturating_sub(self.due))
    }
}

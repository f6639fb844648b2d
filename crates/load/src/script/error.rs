//! What can be wrong with a script: before the run, with its place; and while it runs.

use std::fmt;

use super::names::Slot;

/// A script that cannot be run, with the place of the fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: syntax error at {}: {message}", Quoted(token))]
pub struct ScriptError {
    /// The name given to [`super::Script::parse`].
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// The text at fault; empty at the end of a line or of the script.
    pub token: String,
    /// What is wrong.
    pub message: String,
}

/// The token in quotes, or the words that stand for no token.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            formatter.write_str("the end")
        } else {
            write!(formatter, "\"{}\"", self.0)
        }
    }
}

/// A fault inside a text, before its file, line and column are known. `start..end` are bytes of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub start: usize,
    pub end: usize,
    pub message: String,
}

impl Fault {
    pub(super) fn new(start: usize, end: usize, message: impl Into<String>) -> Self {
        Self {
            start,
            end,
            message: message.into(),
        }
    }

    /// Finds line and column of the fault in the script.
    pub(super) fn locate(self, file: &str, text: &str) -> ScriptError {
        let before = text.get(..self.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count();
        let token = text.get(self.start..self.end).unwrap_or_default();
        ScriptError {
            file: file.to_owned(),
            line: line_of(text, self.start),
            column: saturate(column).saturating_add(1),
            token: token.trim_end_matches(['\r', '\n']).to_owned(),
            message: self.message,
        }
    }
}

/// The line, from 1, in which byte `at` of the script stands.
pub(super) fn line_of(text: &str, at: usize) -> u32 {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    saturate(before.iter().filter(|byte| **byte == b'\n').count()).saturating_add(1)
}

fn saturate(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Why a command of a running client failed. pgbench aborts the client.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum EvalError {
    /// A variable has no value. [`EvalError::describe`] knows its name.
    #[error("undefined variable")]
    Undefined { slot: Slot },
    /// The text of a variable is no value.
    #[error("malformed variable")]
    Malformed { slot: Slot },
    /// A variable of `\sleep` does not begin with digits.
    #[error("invalid sleep time")]
    SleepNotNumber { slot: Slot },
    /// A value has the wrong type.
    #[error("cannot coerce {found} to {wanted}")]
    Type { found: &'static str, wanted: &'static str },
    /// A double beyond the range of integers, or not a number.
    #[error("double to int overflow for {value:.6}")]
    DoubleToInt { value: f64 },
    /// An integer operation left the range of 64 bits.
    #[error("integer out of range in {operation}")]
    IntegerOverflow { operation: &'static str },
    /// An integer division or remainder by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A random function got bounds without a number between them.
    #[error("empty range given to random")]
    EmptyRange,
    /// A random function got bounds too far apart.
    #[error("random range is too large")]
    RangeTooLarge,
    /// The gaussian parameter is too small.
    #[error("gaussian parameter must be at least 2.000000 (not {parameter:.6})")]
    GaussianParameter { parameter: f64 },
    /// The exponential parameter is not positive.
    #[error("exponential parameter must be greater than zero (not {parameter:.6})")]
    ExponentialParameter { parameter: f64 },
    /// The zipfian parameter is out of range.
    #[error("zipfian parameter must be in range [1.001, 1000] (not {parameter:.6})")]
    ZipfianParameter { parameter: f64 },
    /// A function got fewer or more arguments than it takes; the parser lets no such call through.
    #[error("wrong number of arguments")]
    ArgumentCount,
    /// The size of a permutation is not positive.
    #[error("permute size parameter must be greater than zero")]
    PermuteSize,
}

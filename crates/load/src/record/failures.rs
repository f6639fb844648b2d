//! What went wrong, by kind, script and statement.

use std::collections::HashMap;

use crate::result::FailureResult;

/// Messages beyond this are cut.
const MESSAGE_MAX: usize = 1000;
/// So many kinds are kept apart: a server that invents codes must not fill the memory.
const KINDS_MAX: usize = 1000;

/// A kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// The server refused, under its SQLSTATE.
    State([u8; 5]),
    /// The connection was lost, or could not be made.
    Connection,
    /// No answer within the time allowed.
    Timeout,
    /// The script itself is at fault: a division by zero, an open transaction at its end.
    Script,
    /// The server said something that is not PostgreSQL's protocol.
    Protocol,
    /// Kinds beyond those that are kept apart.
    Other,
}

impl Code {
    /// Serialization failure.
    pub const SERIALIZATION: Self = Self::State(*b"40001");
    /// Deadlock.
    pub const DEADLOCK: Self = Self::State(*b"40P01");

    /// Whether the same transaction may succeed when it is tried again.
    pub fn is_retryable(self) -> bool {
        self == Self::SERIALIZATION || self == Self::DEADLOCK
    }

    /// The name under which results report it.
    pub fn name(&self) -> String {
        match self {
            Self::State(state) => String::from_utf8_lossy(state).into_owned(),
            Self::Connection => "connection".to_owned(),
            Self::Timeout => "timeout".to_owned(),
            Self::Script => "script".to_owned(),
            Self::Protocol => "protocol".to_owned(),
            Self::Other => "other".to_owned(),
        }
    }
}

/// What went wrong, and where in its script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fault {
    /// The index among the script's statements; none if no statement is at fault.
    pub statement: Option<u32>,
    pub code: Code,
    /// The number of the command among all commands of the script, from 0 as in pgbench's messages.
    pub command: Option<u32>,
}

/// A fault and its script; no script while connecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FailureKey {
    pub script: Option<u16>,
    pub fault: Fault,
}

impl FailureKey {
    const OTHER: Self = Self {
        script: None,
        fault: Fault {
            statement: None,
            code: Code::Other,
            command: None,
        },
    };
}

#[derive(Clone, Debug, Default)]
struct Entry {
    count: u64,
    message: String,
}

/// The failures of one thread, or of all.
#[derive(Clone, Debug, Default)]
pub struct Failures {
    entries: HashMap<FailureKey, Entry>,
}

impl Failures {
    /// Keeps the first message of a kind. Whether a transaction really failed of it is counted apart.
    pub fn note(&mut self, key: FailureKey, message: &[u8]) {
        let entry = self.entry(key);
        if entry.message.is_empty() {
            let text = String::from_utf8_lossy(message.get(..MESSAGE_MAX).unwrap_or(message));
            entry.message.push_str(&text);
        }
    }

    /// Counts a transaction, or a connection, that failed.
    pub fn count(&mut self, key: FailureKey) {
        self.entry(key).count += 1;
    }

    fn entry(&mut self, key: FailureKey) -> &mut Entry {
        let is_known = self.entries.len() < KINDS_MAX || self.entries.contains_key(&key);
        self.entries
            .entry(if is_known { key } else { FailureKey::OTHER })
            .or_default()
    }

    /// Adds the failures of another thread.
    pub fn add(&mut self, other: Self) {
        for (key, theirs) in other.entries {
            let ours = self.entry(key);
            ours.count += theirs.count;
            if ours.message.is_empty() {
                ours.message = theirs.message;
            }
        }
    }

    /// In a fixed order, without those that a retry has cured. `name` names the scripts.
    pub fn to_result(&self, name: impl Fn(u16) -> String) -> Vec<FailureResult> {
        let mut entries: Vec<_> = self.entries.iter().filter(|(_, entry)| entry.count > 0).collect();
        entries.sort_by_key(|(key, _)| **key);
        let result = entries.into_iter().map(|(key, entry)| FailureResult {
            sqlstate: key.fault.code.name(),
            script: key.script.map_or_else(String::new, &name),
            script_number: key.script.map_or(-1, i64::from),
            statement: key.fault.statement.map_or(-1, i64::from),
            command: key.fault.command.map_or(-1, i64::from),
            count: entry.count,
            message: entry.message.clone(),
        });
        result.collect()
    }
}

/// How a transaction ended, in the log's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Succeeded,
    Failed(Code),
    RolledBack,
    Skipped,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_without_end_are_counted_together() {
        let mut failures = Failures::default();
        for number in 0..5_000_u32 {
            let code = Code::State(*format!("{number:05}").as_bytes().first_chunk().unwrap_or(b"00000"));
            let key = FailureKey {
                script: Some(0),
                fault: Fault {
                    statement: Some(0),
                    code,
                    command: None,
                },
            };
            failures.note(key, b"message");
            failures.count(key);
        }
        let result = failures.to_result(|_| String::new());
        assert_eq!(result.len(), KINDS_MAX + 1);
        assert_eq!(result.iter().map(|failure| failure.count).sum::<u64>(), 5_000);
        let other = result.iter().find(|failure| failure.sqlstate == "other");
        assert_eq!(other.map(|failure| failure.count), Some(4_000));
    }
}

//! Errors one by one, as far as memory for them is set aside.

use super::failures::FailureKey;
use crate::clock::{seconds, Nanos};
use crate::result::MessageResult;

/// Beyond this a thread only counts.
const KEPT_MAX: usize = 1000;
/// Messages beyond this are cut.
const MESSAGE_MAX: usize = 1000;

#[derive(Clone, Debug)]
struct ErrorMessage {
    at: Nanos,
    client: usize,
    key: FailureKey,
    tries: u32,
    text: String,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct ErrorMessages {
    kept: Vec<ErrorMessage>,
    dropped: u64,
}

impl ErrorMessages {
    /// An error in the `tries`-th try of a transaction of this client.
    pub fn add(&mut self, at: Nanos, client: usize, key: FailureKey, tries: u32, text: &[u8]) {
        if self.kept.len() >= KEPT_MAX {
            self.dropped += 1;
            return;
        }
        let text = String::from_utf8_lossy(text.get(..MESSAGE_MAX).unwrap_or(text)).into_owned();
        self.kept.push(ErrorMessage {
            at,
            client,
            key,
            tries,
            text,
        });
    }

    /// Adds the errors of another thread.
    pub fn append(&mut self, other: Self) {
        self.kept.extend(other.kept);
        self.dropped += other.dropped;
    }

    /// How many were not kept.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// In the order of time. `name` names the scripts.
    pub fn to_result(&self, name: impl Fn(u16) -> String) -> Vec<MessageResult> {
        let mut messages: Vec<_> = self.kept.iter().collect();
        messages.sort_by_key(|message| message.at);
        let result = messages.into_iter().map(|message| MessageResult {
            at_s: seconds(message.at),
            client: message.client,
            script: message.key.script.map_or_else(String::new, &name),
            statement: message.key.fault.statement.map_or(-1, i64::from),
            command: message.key.fault.command.map_or(-1, i64::from),
            sqlstate: message.key.fault.code.name(),
            tries: message.tries,
            message: message.text.clone(),
        });
        result.collect()
    }
}

//! What `debug()` saw goes to stderr at once, in pgbench's words.

use super::{Session, Work};
use crate::script::Value;

impl Session {
    /// Prints what the command that has just run gave to `debug()`.
    pub(super) fn print_debug(&mut self, work: &Work<'_>) {
        let command = self.place(work).number;
        let script = self.transaction.script;
        for value in self.variables.drain_debug() {
            let kind = value.type_name();
            if value == Value::Null {
                eprintln!("debug(script={script},command={command}): {kind}");
            } else {
                eprintln!("debug(script={script},command={command}): {kind} {value}");
            }
        }
    }
}

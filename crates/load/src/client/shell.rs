//! `\shell` and `\setshell`: the client waits for a command of the shell as it waits for the server.

use super::{Next, Session, State, Work};
use crate::clock::Nanos;
use crate::script::{Command, Shell, Value};
use crate::shell::{ShellOutcome, ShellRequest};

impl Session {
    /// Asks the thread to run the command.
    pub(super) fn ask_shell(
        &mut self,
        shell: &Shell,
        captures: bool,
        now: Nanos,
        work: &mut Work<'_>,
    ) -> Result<Option<Next>, String> {
        let mut line = Vec::new();
        shell
            .render(&self.variables, &mut line)
            .map_err(|error| error.describe(&work.program.names))?;
        work.shell = Some(ShellRequest {
            line,
            captures,
            account: work.rules.shell_account,
        });
        self.transaction.statement_began = now;
        self.state = State::Shell;
        Ok(Some(Next::Shell))
    }

    /// The command has ended.
    pub(super) fn shell_ended(&mut self, outcome: ShellOutcome, now: Nanos, work: &mut Work<'_>) -> Next {
        if !matches!(self.state, State::Shell) {
            return Next::Answer;
        }
        let command = self.command(work);
        match (outcome, command) {
            (Ok(Some(number)), Some(Command::SetShell { slot, .. })) => self.variables.set(*slot, Value::Int(number)),
            (Ok(_), _) => {}
            (Err(problem), command) => {
                return self.fail_script(command.map_or(0, Command::line), &problem, now, work);
            }
        }
        self.pass_statement(now, work)
    }
}

//! `\shell` and `\setshell`: the client waits for a command of the shell as it waits for the server.

use super::words::Complaint;
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
    ) -> Result<Option<Next>, Complaint> {
        let mut line = Vec::new();
        shell
            .render(&self.variables, &mut line)
            .map_err(|error| Complaint::Execution(error.describe(&work.program.names, &self.variables)))?;
        work.shell = Some(ShellRequest {
            line,
            captures,
            account: work.rules.shell_account,
            output: work.rules.shell_output,
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
                let complaint = Complaint::Execution(problem);
                self.say_complaint(&complaint, work);
                return self.fail_script(command.map_or(0, Command::line), &complaint.cause(), now, work);
            }
        }
        self.pass_statement(now, work)
    }
}

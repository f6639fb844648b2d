//! What a client says when something goes wrong, in pgbench's words: its number, the script and the command counted
//! from 0.

use super::{Session, Work};
use crate::event::EventKind;
use crate::record::{Code, Fault};
use crate::script::{Capture, Command};
use crate::spec::OnError;
use crate::wire::frontend::TooLong;
use crate::wire::report;

/// What is wrong with a command of a script.
pub(super) enum Complaint {
    /// An expression has no value.
    Evaluation(String),
    /// A meta command could not do its work.
    Execution(String),
    /// The command must not stand here.
    Misplaced(&'static str),
    /// A statement that no message can hold.
    Unsent(TooLong),
}

impl Complaint {
    /// The cause.
    pub(super) fn cause(&self) -> String {
        match self {
            Self::Evaluation(cause) | Self::Execution(cause) => cause.clone(),
            Self::Misplaced(cause) => (*cause).to_owned(),
            Self::Unsent(cause) => cause.to_string(),
        }
    }
}

impl From<TooLong> for Complaint {
    fn from(error: TooLong) -> Self {
        Self::Unsent(error)
    }
}

impl Session {
    fn say(&self, kind: EventKind, work: &mut Work<'_>, text: impl FnOnce() -> String) {
        // What the end of the load causes is no news.
        if !work.ending {
            work.recorder.event(kind, text);
        }
    }

    /// The server refused a command.
    pub(super) fn say_refused(&self, body: &[u8], code: Code, work: &mut Work<'_>) {
        let (client, script, command) = (self.number, self.transaction.script, self.command_number(work));
        let aborts = work.rules.on_error != OnError::Continue && !code.is_retryable();
        if aborts {
            let query = self.transaction.results;
            self.say(EventKind::Error, work, || {
                let text = report::full_text(body, true);
                format!("client {client} script {script} aborted in command {command} query {query}: {text}")
            });
        } else if work.rules.verbose_errors {
            self.say(EventKind::Info, work, || {
                let text = report::full_text(body, true);
                format!("client {client} got an error in command {command} (SQL) of script {script}; {text}")
            });
        }
    }

    /// The server remarks something.
    pub(super) fn say_notice(&self, body: &[u8], work: &mut Work<'_>) {
        self.say(EventKind::Notice, work, || report::full_text(body, false));
    }

    /// A command of the script is at fault.
    pub(super) fn say_complaint(&self, complaint: &Complaint, work: &mut Work<'_>) {
        if work.rules.on_error == OnError::Continue && !work.rules.verbose_errors {
            return;
        }
        let (client, script, number) = (self.number, self.transaction.script, self.command_number(work));
        let name = self.command(work).map_or("", |command| name(command));
        let cause = match complaint {
            Complaint::Misplaced(cause) => *cause,
            Complaint::Unsent(cause) => {
                self.say(EventKind::Error, work, || cause.to_string());
                "SQL command send failed"
            }
            Complaint::Evaluation(cause) => {
                self.say(EventKind::Error, work, || cause.clone());
                "evaluation of meta-command failed"
            }
            Complaint::Execution(cause) => {
                self.say(EventKind::Error, work, || format!("{name}: {cause}"));
                "execution of meta-command failed"
            }
        };
        self.say(EventKind::Error, work, || {
            format!("client {client} aborted in command {number} ({name}) of script {script}; {cause}")
        });
    }

    /// `\gset` or `\aset` could not keep a row.
    pub(super) fn say_not_kept(&self, problem: &str, work: &mut Work<'_>) {
        if work.rules.on_error == OnError::Continue && !work.rules.verbose_errors {
            return;
        }
        let (client, script, command) = (self.number, self.transaction.script, self.command_number(work));
        let query = self.transaction.results.saturating_sub(1);
        self.say(EventKind::Error, work, || {
            format!("client {client} script {script} command {command} query {query}: {problem}")
        });
    }

    /// A column cannot become a variable.
    pub(super) fn say_not_stored(&self, cause: &str, column: &str, work: &mut Work<'_>) {
        if work.rules.on_error != OnError::Continue || work.rules.verbose_errors {
            self.say(EventKind::Error, work, || cause.to_owned());
        }
        self.say_not_kept(&format!("error storing into variable {column}"), work);
    }

    /// The client ends for a reason that no command has.
    pub(super) fn say_aborted(&self, reason: &str, work: &mut Work<'_>) {
        if work.rules.on_error == OnError::Continue && !work.rules.verbose_errors {
            return;
        }
        let client = self.number;
        self.say(EventKind::Error, work, || format!("client {client} aborted: {reason}"));
    }

    /// The connection is gone in the middle of a transaction.
    pub(super) fn say_lost(&self, message: &str, work: &mut Work<'_>) {
        if work.rules.on_error == OnError::Continue && !work.rules.verbose_errors {
            return;
        }
        let (client, script, command) = (self.number, self.transaction.script, self.command_number(work));
        self.say(EventKind::Error, work, || {
            format!("client {client} aborted in command {command} (SQL) of script {script}; {message}")
        });
    }

    /// What follows a failure that another try may cure; `age_us` is how old the transaction is.
    pub(super) fn say_tried(&self, again: bool, age_us: u64, work: &mut Work<'_>) {
        if !work.rules.verbose_errors {
            return;
        }
        let (client, tries, rules) = (self.number, self.transaction.tries, work.rules);
        self.say(EventKind::Info, work, || {
            let what = if again {
                "repeats the transaction after the error"
            } else {
                "ends the failed transaction"
            };
            let most = match rules.max_tries {
                0 => String::new(),
                most => format!("/{most}"),
            };
            let used = rules.latency_limit.map_or_else(String::new, |limit| {
                let share = 100.0 * age_us as f64 / (limit as f64 / 1e3);
                format!(", {share:.3}% of the maximum time of tries was used")
            });
            format!("client {client} {what} (try {tries}{most}{used})")
        });
    }

    /// The number of the command that runs, from 0 over all commands of the script.
    pub(super) fn command_number(&self, work: &Work<'_>) -> u32 {
        self.place(work).number.saturating_sub(1)
    }

    /// A fault of the command that runs.
    pub(super) fn fault(&self, statement: Option<u32>, code: Code, work: &Work<'_>) -> Fault {
        let command = match self.terminal {
            Some(_) => statement,
            None => self.place(work).number.checked_sub(1),
        };
        Fault {
            statement,
            code,
            command,
        }
    }
}

/// The command as pgbench calls it in its messages.
fn name(command: &Command) -> &'static str {
    match command {
        Command::Sql(sql) => match sql.capture() {
            Some(Capture::Gset { .. }) => "gset",
            Some(Capture::Aset { .. }) => "aset",
            None => "SQL",
        },
        Command::Set { .. } => "set",
        Command::Draw { .. } => "draw",
        Command::If { .. } => "if",
        Command::Jump { .. } => "else",
        Command::Sleep { .. } => "sleep",
        Command::Shell { .. } => "shell",
        Command::SetShell { .. } => "setshell",
        Command::StartPipeline { .. } => "startpipeline",
        Command::SyncPipeline { .. } => "syncpipeline",
        Command::EndPipeline { .. } => "endpipeline",
    }
}

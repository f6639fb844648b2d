//! What a client does, one step after another.

use super::error::EvalError;
use super::expr::Expr;
use super::names::Slot;
use super::sql::SqlCommand;
use super::typing;
use super::variables::Variables;

/// One step of a script. `line` counts from 1 and is the line where the step begins.
#[derive(Clone, Debug)]
pub enum Command {
    /// Send SQL and read its results.
    Sql(SqlCommand),
    /// `\set`: evaluate and store.
    Set { line: u32, slot: Slot, expr: Expr },
    /// `\if` or `\elif`: continue with the next command when the condition holds, at `otherwise` when not.
    If {
        line: u32,
        condition: Expr,
        otherwise: usize,
    },
    /// The end of a taken branch (`\elif` or `\else` was reached from above): continue at `target`.
    Jump { line: u32, target: usize },
    /// `\draw`: the next row of the script's values of that name.
    Draw { line: u32, values: String },
    /// `\sleep`.
    Sleep { line: u32, sleep: Sleep },
    /// `\shell`: run and ignore the output.
    Shell { line: u32, shell: Shell },
    /// `\setshell`: run and store the integer that it prints.
    SetShell { line: u32, slot: Slot, shell: Shell },
    /// `\startpipeline`.
    StartPipeline { line: u32 },
    /// `\syncpipeline`.
    SyncPipeline { line: u32 },
    /// `\endpipeline`.
    EndPipeline { line: u32 },
}

impl Command {
    /// The line of the script where the command begins.
    pub fn line(&self) -> u32 {
        match self {
            Self::Sql(sql) => sql.line(),
            Self::Set { line, .. }
            | Self::If { line, .. }
            | Self::Jump { line, .. }
            | Self::Draw { line, .. }
            | Self::Sleep { line, .. }
            | Self::Shell { line, .. }
            | Self::SetShell { line, .. }
            | Self::StartPipeline { line }
            | Self::SyncPipeline { line }
            | Self::EndPipeline { line } => *line,
        }
    }
}

/// A word of a meta command that is known now, or a variable that is read when the command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Taken as it is.
    Word(String),
    /// `:name`.
    Variable(Slot),
}

/// `\sleep N [us|ms|s]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sleep {
    pub(super) amount: Argument,
    pub(super) unit_us: i64,
}

impl Sleep {
    /// How long to sleep; zero or less means not at all.
    pub fn microseconds(&self, variables: &Variables) -> Result<i64, EvalError> {
        let amount = match &self.amount {
            Argument::Word(word) => typing::leading_integer(word.as_bytes()).unwrap_or(0),
            Argument::Variable(slot) => sleep_variable(variables, *slot)?,
        };
        Ok(amount.saturating_mul(self.unit_us))
    }
}

fn sleep_variable(variables: &Variables, slot: Slot) -> Result<i64, EvalError> {
    let mut amount = None;
    let defined = variables.with_text(slot, |text| amount = typing::leading_integer(text));
    if !defined {
        return Err(EvalError::Undefined { slot });
    }
    amount.ok_or(EvalError::SleepNotNumber { slot })
}

/// The command line of `\shell` and `\setshell`, passed to `sh -c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    pub(super) arguments: Vec<Argument>,
}

impl Shell {
    /// Writes the command line: the words joined by one space, the variables replaced.
    pub fn render(&self, variables: &Variables, out: &mut Vec<u8>) -> Result<(), EvalError> {
        for (position, argument) in self.arguments.iter().enumerate() {
            if position > 0 {
                out.push(b' ');
            }
            match argument {
                Argument::Word(word) => out.extend_from_slice(word.as_bytes()),
                Argument::Variable(slot) => {
                    if !variables.with_text(*slot, |text| out.extend_from_slice(text)) {
                        return Err(EvalError::Undefined { slot: *slot });
                    }
                }
            }
        }
        Ok(())
    }
}

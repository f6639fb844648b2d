//! Which commands of a script have a record of their own, under which text, and how pgbench numbers them.

use crate::result::StatementKind;
use crate::script::{Command, Script};

/// A command that has a record of its own.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The line of the script, from 1.
    pub line: u32,
    pub text: String,
    pub kind: StatementKind,
}

/// What the engine knows about one command besides what the language says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// The index among the script's statements.
    pub statement: Option<u32>,
    /// The index among the program's prepared statements.
    pub prepared: Option<u32>,
    /// The index among the program's values, of a `\draw`.
    pub values: Option<u32>,
    /// Its number as pgbench counts, from 1.
    pub number: u32,
}

/// A place for every command. `\elif` is one command in a script and two in the engine, `\endif` one and none.
pub fn numbered(script: &Script) -> Vec<Place> {
    let mut number = 0_u32;
    let mut places = Vec::with_capacity(script.commands.len());
    for index in 0..script.commands.len() {
        number = number.saturating_add(block_ends(script, index).count().try_into().unwrap_or(u32::MAX));
        if !is_second_of_elif(script, index) {
            number = number.saturating_add(1);
        }
        places.push(Place {
            number,
            ..Place::default()
        });
    }
    places
}

/// The `\endif`s that stand right before this command.
pub fn block_ends(script: &Script, index: usize) -> impl Iterator<Item = Statement> + '_ {
    let here = script.block_ends.iter().filter(move |(at, _)| *at == index);
    here.map(|(_, line)| Statement {
        line: *line,
        text: "\\endif".to_owned(),
        kind: StatementKind::Meta,
    })
}

/// A command that waits for something; none for those that only compute.
pub fn waiting_statement(command: &Command) -> Option<Statement> {
    let (text, kind) = match command {
        Command::Sql(sql) => (sql.text(), StatementKind::Sql),
        Command::Sleep { .. } => ("\\sleep", StatementKind::Meta),
        Command::Shell { .. } => ("\\shell", StatementKind::Meta),
        Command::SetShell { .. } => ("\\setshell", StatementKind::Meta),
        Command::EndPipeline { .. } => ("\\endpipeline", StatementKind::Meta),
        _ => return None,
    };
    Some(Statement {
        line: command.line(),
        text: text.to_owned(),
        kind,
    })
}

/// Any command, under its line of the script. The jump before an `\elif` is no command of the script.
pub fn any_statement(script: &Script, index: usize, source: &str) -> Option<Statement> {
    let command = script.commands.get(index)?;
    if is_second_of_elif(script, index + 1) {
        return None;
    }
    let name = match command {
        Command::Sql(_) => return waiting_statement(command),
        Command::If { .. } if is_second_of_elif(script, index) => "\\elif",
        Command::If { .. } => "\\if",
        Command::Jump { .. } => "\\else",
        Command::Set { .. } => "\\set",
        Command::Draw { .. } => "\\draw",
        Command::Sleep { .. } => "\\sleep",
        Command::Shell { .. } => "\\shell",
        Command::SetShell { .. } => "\\setshell",
        Command::StartPipeline { .. } => "\\startpipeline",
        Command::SyncPipeline { .. } => "\\syncpipeline",
        Command::EndPipeline { .. } => "\\endpipeline",
    };
    let line = command.line();
    let text = source.lines().nth(line.saturating_sub(1) as usize).unwrap_or(name);
    // Capitals are allowed in the names of commands; SQL may stand before them.
    let start = text.to_ascii_lowercase().find(name).unwrap_or(0);
    Some(Statement {
        line,
        text: text.get(start..).unwrap_or(text).trim_end().to_owned(),
        kind: StatementKind::Meta,
    })
}

fn is_second_of_elif(script: &Script, index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|before| script.commands.get(before));
    matches!((before, script.commands.get(index)),
        (Some(Command::Jump { line: jump, .. }), Some(Command::If { line, .. })) if jump == line)
}

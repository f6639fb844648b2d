//! What a script would send and run, without running it: for those who check it beforehand.

use crate::error::LoadError;
use crate::program::language;
use crate::script::{Command, Names, Script};
use crate::spec::Protocol;

/// One command of a script that something other than the engine will execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlined {
    /// The line of the script, from 1.
    pub line: u32,
    /// It stands between `\if` and `\endif`.
    pub conditional: bool,
    pub kind: OutlinedKind,
}

/// Who executes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutlinedKind {
    /// The server: the text between variables, one part more than there are variables. `statements` counts those that
    /// `\;` joins.
    Sql { parts: Vec<String>, statements: usize },
    /// The shell.
    Shell,
}

/// All SQL and shell commands of a script, in their order.
pub fn outline(name: &str, text: &str, protocol: Protocol) -> Result<Vec<Outlined>, LoadError> {
    let script = Script::parse(name, text, language(protocol), &mut Names::new())?;
    let mut outlined = Vec::new();
    let mut conditional_until = 0;
    for (index, command) in script.commands.iter().enumerate() {
        let kind = match command {
            Command::Sql(sql) => OutlinedKind::Sql {
                parts: sql.parts().map(str::to_owned).collect(),
                statements: sql.statements(),
            },
            Command::Shell { .. } | Command::SetShell { .. } => OutlinedKind::Shell,
            Command::If { otherwise: target, .. } | Command::Jump { target, .. } => {
                conditional_until = conditional_until.max(*target);
                continue;
            }
            _ => continue,
        };
        outlined.push(Outlined {
            line: command.line(),
            conditional: index < conditional_until,
            kind,
        });
    }
    Ok(outlined)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn commands_carry_their_lines_and_their_text_between_variables() {
        let text = "\\set x 1\nselect :x + :y::int;\n\\if :x\n\\shell true\n\\else\nselect 2;\n\\endif\nselect 3 \\; select 4;\n";
        let outlined = outline("one", text, Protocol::Simple).unwrap();
        let seen: Vec<_> = outlined.iter().map(|one| (one.line, one.conditional)).collect();
        assert_eq!(seen, [(2, false), (4, true), (6, true), (8, false)]);
        let OutlinedKind::Sql { parts, statements } = &outlined.first().unwrap().kind else {
            panic!("no SQL")
        };
        assert_eq!(
            (parts.as_slice(), *statements),
            (["select ", " + ", "::int;"].map(str::to_owned).as_slice(), 1)
        );
        assert_eq!(outlined.get(1).unwrap().kind, OutlinedKind::Shell);
        assert!(matches!(
            outlined.get(3).unwrap().kind,
            OutlinedKind::Sql { statements: 2, .. }
        ));
    }
}

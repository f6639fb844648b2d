//! Meta commands: a backslash, words, and the end of the line.

use super::command::{Argument, Shell, Sleep};
use super::error::Fault;
use super::expr::Expr;
use super::grammar;
use super::names::{Names, Slot};
use super::sql::Capture;
use super::token::{continuation_length, skip_blank};

/// pgbench takes no command of more words, its name among them.
const WORDS_MAX: usize = 256;

/// A meta command that was understood. Where it goes among the commands is the caller's business.
#[derive(Clone, Debug)]
pub(super) enum Meta {
    Set { slot: Slot, expr: Expr },
    If(Expr),
    Elif(Expr),
    Else,
    Endif,
    Draw(String),
    Sleep(Sleep),
    Shell(Shell),
    SetShell { slot: Slot, shell: Shell },
    Capture(Capture),
    StartPipeline,
    SyncPipeline,
    EndPipeline,
}

#[derive(Clone, Copy, Debug)]
struct Word<'a> {
    start: usize,
    text: &'a str,
}

impl Word<'_> {
    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.start, self.start + self.text.len(), message)
    }
}

/// Reads the meta command whose backslash ends before byte `at`. Gives `None` for a lone backslash, and the byte where
/// the next line starts.
pub(super) fn parse(text: &str, at: usize, names: &mut Names) -> Result<(Option<Meta>, usize), Fault> {
    let mut line = Line { text, at, words: 0 };
    let Some(command) = line.word() else {
        return Ok((None, line.end()));
    };
    match command.text.to_ascii_lowercase().as_str() {
        "set" => {
            let slot = variable(line.needed("a variable name")?, names)?;
            let (expr, end) = grammar::parse_line(text, line.at, names)?;
            Ok((Some(Meta::Set { slot, expr }), end))
        }
        "if" => grammar::parse_line(text, line.at, names).map(|(expr, end)| (Some(Meta::If(expr)), end)),
        "elif" => grammar::parse_line(text, line.at, names).map(|(expr, end)| (Some(Meta::Elif(expr)), end)),
        other => {
            let meta = of_words(other, command, &mut line, names)?;
            Ok((Some(meta), line.end()))
        }
    }
}

/// The commands whose arguments are words.
fn of_words(name: &str, command: Word<'_>, line: &mut Line<'_>, names: &mut Names) -> Result<Meta, Fault> {
    let meta = match name {
        "draw" => Meta::Draw(line.needed("the name of values")?.text.to_owned()),
        "sleep" => Meta::Sleep(sleep(line, names)?),
        "shell" => Meta::Shell(shell(line, names)?),
        "setshell" => {
            let slot = variable(line.needed("a variable name")?, names)?;
            Meta::SetShell {
                slot,
                shell: shell(line, names)?,
            }
        }
        "gset" => Meta::Capture(Capture::Gset {
            prefix: line.optional(),
        }),
        "aset" => Meta::Capture(Capture::Aset {
            prefix: line.optional(),
        }),
        "else" => Meta::Else,
        "endif" => Meta::Endif,
        "startpipeline" => Meta::StartPipeline,
        "syncpipeline" => Meta::SyncPipeline,
        "endpipeline" => Meta::EndPipeline,
        _ => return Err(command.fault("there is no such meta command")),
    };
    match line.word() {
        Some(extra) => Err(extra.fault(format!("\\{name} takes no further argument"))),
        None => Ok(meta),
    }
}

fn variable(word: Word<'_>, names: &mut Names) -> Result<Slot, Fault> {
    if !Names::is_valid(word.text) {
        return Err(word.fault("a variable name has letters, digits and underscores, and no digit first"));
    }
    Ok(names.intern(word.text))
}

fn shell(line: &mut Line<'_>, names: &mut Names) -> Result<Shell, Fault> {
    let mut arguments = vec![argument(line.needed("a shell command")?, names)];
    while let Some(word) = line.word() {
        if line.words > WORDS_MAX {
            return Err(word.fault("too many arguments"));
        }
        arguments.push(argument(word, names));
    }
    Ok(Shell { arguments })
}

/// `:name` is a variable, `::name` the text `:name`.
fn argument(word: Word<'_>, names: &mut Names) -> Argument {
    match word.text.strip_prefix(':') {
        Some(name) if !name.starts_with(':') => Argument::Variable(names.intern(name)),
        Some(literal) => Argument::Word(literal.to_owned()),
        None => Argument::Word(word.text.to_owned()),
    }
}

/// `\sleep 1 ms`, `\sleep 1ms`, `\sleep :pause`; seconds if no unit is given.
fn sleep(line: &mut Line<'_>, names: &mut Names) -> Result<Sleep, Fault> {
    let amount = line.needed("a time")?;
    if let Some(name) = amount.text.strip_prefix(':') {
        let amount = Argument::Variable(names.intern(name));
        return Ok(Sleep {
            amount,
            unit_us: line.word().map_or(Ok(SECOND_US), unit)?,
        });
    }
    let (number, attached) = split_number(amount);
    if attached.is_some() && !number.text.ends_with(|last: char| last.is_ascii_digit()) {
        return Err(amount.fault("the time must be an integer or a variable"));
    }
    let unit_us = match attached {
        Some(attached) => unit(attached)?,
        None => line.word().map_or(Ok(SECOND_US), unit)?,
    };
    Ok(Sleep {
        amount: Argument::Word(number.text.to_owned()),
        unit_us,
    })
}

const SECOND_US: i64 = 1_000_000;

fn unit(word: Word<'_>) -> Result<i64, Fault> {
    match word.text.to_ascii_lowercase().as_str() {
        "us" => Ok(1),
        "ms" => Ok(1_000),
        "s" => Ok(SECOND_US),
        _ => Err(word.fault("the unit must be us, ms or s")),
    }
}

/// Sign and digits, then what sticks to them.
fn split_number(word: Word<'_>) -> (Word<'_>, Option<Word<'_>>) {
    let unsigned = word.text.strip_prefix(['+', '-']).unwrap_or(word.text);
    let attached = unsigned.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let length = word.text.len() - attached.len();
    let number = Word {
        start: word.start,
        text: word.text.get(..length).unwrap_or_default(),
    };
    let attached = (!attached.is_empty()).then_some(Word {
        start: word.start + length,
        text: attached,
    });
    (number, attached)
}

/// The rest of a line, continued by backslashes at line ends.
struct Line<'a> {
    text: &'a str,
    at: usize,
    /// How many words were read.
    words: usize,
}

impl<'a> Line<'a> {
    fn word(&mut self) -> Option<Word<'a>> {
        self.at = skip_blank(self.text, self.at);
        let start = self.at;
        let rest = self.text.get(start..).unwrap_or_default();
        let length = word_length(rest);
        self.at += length;
        self.words += usize::from(length > 0);
        (length > 0).then_some(Word {
            start,
            text: rest.get(..length).unwrap_or_default(),
        })
    }

    fn needed(&mut self, what: &str) -> Result<Word<'a>, Fault> {
        self.word()
            .ok_or_else(|| Fault::new(self.at, self.at, format!("{what} is missing")))
    }

    fn optional(&mut self) -> String {
        self.word().map(|word| word.text.to_owned()).unwrap_or_default()
    }

    /// The byte after the line end.
    fn end(&self) -> usize {
        self.at + usize::from(self.text.as_bytes().get(self.at) == Some(&b'\n'))
    }
}

/// A word ends at space, at the line end, and before a backslash that continues the line.
fn word_length(rest: &str) -> usize {
    let ends = |at: &usize| {
        let here = rest.get(*at..).unwrap_or_default();
        here.starts_with([' ', '\t', '\r', '\x0b', '\x0c', '\n']) || continuation_length(here) > 0
    };
    (0..rest.len())
        .filter(|at| rest.is_char_boundary(*at))
        .find(ends)
        .unwrap_or(rest.len())
}

//! From the text of a script to its commands.

use super::blocks::Blocks;
use super::command::Command;
use super::error::{line_of, Fault, ScriptError};
use super::meta::{self, Meta};
use super::names::Names;
use super::split::{Splitter, Stop};
use super::sql::Capture;
use super::sql::SqlCommand;

/// The most parameters that pgbench gives one statement.
const MAX_PARAMETERS: usize = 255;

/// How SQL is sent, `-M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Text with the variables replaced.
    Simple,
    /// Parse, Bind, Execute each time.
    Extended,
    /// Parse once, then Bind, Execute.
    Prepared,
}

/// A script ready to run.
#[derive(Clone, Debug)]
pub struct Script {
    /// What the user called it: a file or a builtin.
    pub name: String,
    /// What a client does, from the first to the last unless an `If` or `Jump` says otherwise. Never empty.
    pub commands: Vec<Command>,
    /// `\endif` is no command: the index of the one that follows it, and its line.
    pub block_ends: Vec<(usize, u32)>,
}

impl Script {
    /// Parses a script completely, including the branches that will never run. `name` appears in errors.
    pub fn parse(name: &str, text: &str, protocol: Protocol, names: &mut Names) -> Result<Self, ScriptError> {
        // pgbench reads up to the first zero byte, and no message could carry one.
        let text = text.split('\0').next().unwrap_or_default();
        match Assembly::new(text, protocol, names).run() {
            Ok(blocks) => Ok(Self {
                name: name.to_owned(),
                commands: blocks.commands,
                block_ends: blocks.ends,
            }),
            Err(fault) => Err(fault.locate(name, text)),
        }
    }
}

struct Assembly<'a, 'n> {
    text: &'a str,
    protocol: Protocol,
    names: &'n mut Names,
    splitter: Splitter<'a>,
    blocks: Blocks,
    /// A byte that was asked for and its line: commands come in order, so nothing is counted twice.
    counted: (usize, u32),
    /// Whether the command before is SQL, which `\gset` needs. `\endif` leaves no command, so the last one cannot tell.
    after_sql: bool,
}

impl<'a, 'n> Assembly<'a, 'n> {
    fn new(text: &'a str, protocol: Protocol, names: &'n mut Names) -> Self {
        let blocks = Blocks::default();
        Self {
            text,
            protocol,
            names,
            splitter: Splitter::new(text),
            blocks,
            counted: (0, 1),
            after_sql: false,
        }
    }

    fn run(mut self) -> Result<Blocks, Fault> {
        loop {
            let (sql, stop) = self.splitter.next();
            if !sql.text.is_empty() {
                self.add_sql(sql.start, sql.text, sql.statements)?;
            }
            match stop {
                Stop::Semicolon => {}
                Stop::MetaCommand => self.meta_command()?,
                Stop::End => break,
            }
        }
        if let Some(start) = self.blocks.unclosed() {
            return Err(Fault::new(start, start + "\\if".len(), "\\if without \\endif"));
        }
        if self.blocks.commands.is_empty() {
            return Err(Fault::new(
                self.text.len(),
                self.text.len(),
                "the script has no commands",
            ));
        }
        Ok(self.blocks)
    }

    fn add_sql(&mut self, start: usize, sql: String, statements: usize) -> Result<(), Fault> {
        let command = SqlCommand::new(self.line_at(start), sql, statements, self.names);
        if self.protocol != Protocol::Simple && command.param_count() > MAX_PARAMETERS {
            let message = format!("the statement has more than {MAX_PARAMETERS} parameters");
            return Err(Fault::new(start, start, message));
        }
        self.blocks.commands.push(Command::Sql(command));
        self.after_sql = true;
        Ok(())
    }

    /// The line of a byte that is not before the last one asked for.
    fn line_at(&mut self, at: usize) -> u32 {
        let (from, line) = self.counted;
        let between = self.text.get(from..at).unwrap_or_default();
        self.counted = (at, line.saturating_add(line_of(between, between.len()) - 1));
        self.counted.1
    }

    /// The splitter stands after a backslash.
    fn meta_command(&mut self) -> Result<(), Fault> {
        let start = self.splitter.position() - 1;
        let (meta, end) = meta::parse(self.text, start + 1, self.names)?;
        self.splitter.resume_at(end);
        if let Some(meta) = meta {
            self.add_meta(meta, start)
                .map_err(|message| self.fault_at(start, message))?;
        }
        Ok(())
    }

    fn add_meta(&mut self, meta: Meta, start: usize) -> Result<(), &'static str> {
        let line = self.line_at(start);
        let after_sql = std::mem::replace(&mut self.after_sql, false);
        let command = match meta {
            Meta::If(condition) => {
                self.blocks.begin(start, line, condition);
                return Ok(());
            }
            Meta::Elif(condition) => return self.blocks.elif(line, condition),
            Meta::Else => return self.blocks.otherwise(line),
            Meta::Endif => return self.blocks.end(line),
            Meta::Capture(capture) => return self.capture(capture, after_sql),
            Meta::Set { slot, expr } => Command::Set { line, slot, expr },
            Meta::Draw(values) => Command::Draw { line, values },
            Meta::Sleep(sleep) => Command::Sleep { line, sleep },
            Meta::Shell(shell) => Command::Shell { line, shell },
            Meta::SetShell { slot, shell } => Command::SetShell { line, slot, shell },
            Meta::StartPipeline => Command::StartPipeline { line },
            Meta::SyncPipeline => Command::SyncPipeline { line },
            Meta::EndPipeline => Command::EndPipeline { line },
        };
        self.blocks.commands.push(command);
        Ok(())
    }

    /// `\gset` and `\aset` are no commands: they belong to the SQL before them, once.
    fn capture(&mut self, capture: Capture, after_sql: bool) -> Result<(), &'static str> {
        match self.blocks.commands.last_mut() {
            Some(Command::Sql(sql)) if after_sql => {
                sql.capture = Some(capture);
                Ok(())
            }
            _ => Err("\\gset and \\aset must follow SQL directly"),
        }
    }

    /// A fault of the meta command at `start`: its backslash and name.
    fn fault_at(&self, start: usize, message: &str) -> Fault {
        let rest = self.text.get(start..).unwrap_or_default();
        let length = rest
            .find(|letter: char| letter.is_ascii_whitespace())
            .unwrap_or(rest.len());
        Fault::new(start, start + length, message)
    }
}

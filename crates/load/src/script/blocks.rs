//! `\if` blocks: which jump goes where, known when the block is closed.

use super::command::Command;
use super::expr::Expr;

/// Commands of one script, with the blocks that are still open.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    pub commands: Vec<Command>,
    open: Vec<Block>,
    /// The command that follows each `\endif`, and its line.
    pub ends: Vec<(usize, u32)>,
}

#[derive(Debug)]
struct Block {
    /// The byte where the block begins, for the error when it never ends.
    start: usize,
    /// The `If` that waits for the place to continue at when it is false; none after `\else`.
    pending_if: Option<usize>,
    /// The jumps to the end of the block.
    exits: Vec<usize>,
}

impl Blocks {
    pub(super) fn begin(&mut self, start: usize, line: u32, condition: Expr) {
        let pending_if = Some(self.push_if(line, condition));
        self.open.push(Block {
            start,
            pending_if,
            exits: Vec::new(),
        });
    }

    pub(super) fn elif(&mut self, line: u32, condition: Expr) -> Result<(), &'static str> {
        self.end_branch(line, "\\elif without \\if", "\\elif after \\else")?;
        let index = self.push_if(line, condition);
        if let Some(block) = self.open.last_mut() {
            block.pending_if = Some(index);
        }
        Ok(())
    }

    pub(super) fn otherwise(&mut self, line: u32) -> Result<(), &'static str> {
        self.end_branch(line, "\\else without \\if", "\\else after \\else")
    }

    pub(super) fn end(&mut self, line: u32) -> Result<(), &'static str> {
        let block = self.open.pop().ok_or("\\endif without \\if")?;
        self.ends.push((self.commands.len(), line));
        for index in block.pending_if.into_iter().chain(block.exits) {
            self.lead_here(index);
        }
        Ok(())
    }

    /// The start of the innermost block that is not closed.
    pub(super) fn unclosed(&self) -> Option<usize> {
        self.open.last().map(|block| block.start)
    }

    /// Whoever comes from above leaves the block; whoever found the last condition false continues after the jump.
    fn end_branch(&mut self, line: u32, no_if: &'static str, second_else: &'static str) -> Result<(), &'static str> {
        let block = self.open.last_mut().ok_or(no_if)?;
        let pending_if = block.pending_if.take().ok_or(second_else)?;
        block.exits.push(self.commands.len());
        self.commands.push(Command::Jump { line, target: 0 });
        self.lead_here(pending_if);
        Ok(())
    }

    fn push_if(&mut self, line: u32, condition: Expr) -> usize {
        self.commands.push(Command::If {
            line,
            condition,
            otherwise: 0,
        });
        self.commands.len() - 1
    }

    fn lead_here(&mut self, index: usize) {
        let here = self.commands.len();
        if let Some(Command::If { otherwise: place, .. } | Command::Jump { target: place, .. }) =
            self.commands.get_mut(index)
        {
            *place = here;
        }
    }
}

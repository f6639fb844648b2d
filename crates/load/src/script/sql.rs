//! SQL with variables, cut into pieces at parse time so that a client only copies bytes.

use super::names::{Names, Slot};
use super::variables::Variables;

/// Where the columns of a result go: each becomes the variable `prefix` + column name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Capture {
    /// `\gset`: the group's last result, which must have exactly one row.
    Gset { prefix: String },
    /// `\aset`: the last row of every result of the group that has rows.
    Aset { prefix: String },
}

/// Text up to a variable, then the variable. `text` ends before the colon.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    text: String,
    slot: Slot,
    /// The variable as the script spells it, `:name`: undefined names stay.
    spelled: String,
}

/// One message of SQL: a statement, or several joined by `\;`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlCommand {
    line: u32,
    text: String,
    statements: usize,
    pub(super) capture: Option<Capture>,
    pieces: Vec<Piece>,
    tail: String,
    prepared_text: String,
}

impl SqlCommand {
    /// Cuts `text` at its variables.
    pub(super) fn new(line: u32, text: String, statements: usize, names: &mut Names) -> Self {
        let mut pieces = Vec::new();
        let mut prepared_text = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some((before, name, after)) = next_variable(rest) {
            pieces.push(Piece {
                text: before.to_owned(),
                slot: names.intern(name),
                spelled: format!(":{name}"),
            });
            prepared_text.push_str(before);
            prepared_text.push_str(&format!("${}", pieces.len()));
            rest = after;
        }
        prepared_text.push_str(rest);
        let tail = rest.to_owned();
        Self {
            line,
            text,
            statements,
            capture: None,
            pieces,
            tail,
            prepared_text,
        }
    }

    /// The line of the script where the SQL begins, from 1.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The SQL as the script has it, without leading space and comments.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many statements `\;` joins here; 1 is usual. An empty statement counts.
    pub fn statements(&self) -> usize {
        self.statements
    }

    /// Where the columns of the result go.
    pub fn capture(&self) -> Option<&Capture> {
        self.capture.as_ref()
    }

    /// The text between the variables: one part more than there are variables.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        let before = self.pieces.iter().map(|piece| piece.text.as_str());
        before.chain(std::iter::once(self.tail.as_str()))
    }

    /// Appends the text for the simple protocol. Variables are replaced everywhere, even inside quotes and comments;
    /// undefined ones stay as they are written.
    pub fn render_simple(&self, variables: &Variables, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            out.extend_from_slice(piece.text.as_bytes());
            if !variables.with_text(piece.slot, |text| out.extend_from_slice(text)) {
                out.extend_from_slice(piece.spelled.as_bytes());
            }
        }
        out.extend_from_slice(self.tail.as_bytes());
    }

    /// The text for Parse: the n-th variable, wherever it stands, is `$n`.
    pub fn prepared_text(&self) -> &str {
        &self.prepared_text
    }

    /// How many parameters the prepared text has.
    pub fn param_count(&self) -> usize {
        self.pieces.len()
    }

    /// Shows the parameters in order, in text format, without allocation. An undefined variable is SQL NULL, `None`;
    /// a variable that holds NULL is the text `NULL`, as in pgbench.
    pub fn for_each_param(&self, variables: &Variables, mut read: impl FnMut(Option<&[u8]>)) {
        for piece in &self.pieces {
            if !variables.with_text(piece.slot, |text| read(Some(text))) {
                read(None);
            }
        }
    }
}

/// The text before the first variable, its name, and the text after it. A name begins with a letter, an underscore or
/// anything beyond ASCII; `::name` is a cast, never a variable.
fn next_variable(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(colon) = text.get(from..)?.find(':').map(|at| at + from) {
        let rest = text.get(colon + 1..)?;
        let length = variable_length(rest);
        if length > 0 {
            return Some((text.get(..colon)?, rest.get(..length)?, rest.get(length..)?));
        }
        let colons = rest.bytes().take_while(|byte| *byte == b':').count();
        from = colon + 1 + colons;
    }
    None
}

fn variable_length(text: &str) -> usize {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return 0;
    }
    text.find(|letter: char| !(letter == '_' || letter.is_ascii_alphanumeric() || !letter.is_ascii()))
        .unwrap_or(text.len())
}

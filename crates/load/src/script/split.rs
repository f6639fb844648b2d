//! Where one SQL command ends and the next begins, without parsing SQL: semicolons and backslashes count only outside
//! quotes, dollar quotes and comments, semicolons also only outside parentheses and BEGIN ATOMIC bodies.

use super::names::is_name_byte;

/// SQL up to a stop. `text` has no leading space or `--` comments, and `\;` is already `;`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sql {
    /// The byte of the script where the text starts.
    pub start: usize,
    pub text: String,
    /// How many statements `\;` joins.
    pub statements: usize,
}

/// What ended the SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Semicolon,
    /// A backslash; the splitter stands after it.
    MetaCommand,
    End,
}

/// Reads a script from one stop to the next. As in pgbench, a parenthesis or body stays open across a meta command.
#[derive(Clone, Debug)]
pub(super) struct Splitter<'a> {
    text: &'a str,
    at: usize,
    parentheses: usize,
    body: Body,
}

impl<'a> Splitter<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            parentheses: 0,
            body: Body::default(),
        }
    }

    /// The byte that is read next.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Continues after a meta command.
    pub(super) fn resume_at(&mut self, at: usize) {
        self.at = at;
    }

    /// Reads up to the next stop.
    pub(super) fn next(&mut self) -> (Sql, Stop) {
        let mut sql = Sql {
            statements: 1,
            ..Sql::default()
        };
        loop {
            let rest = self.rest();
            if sql.text.is_empty() {
                let blank = blank_length(rest);
                self.at += blank;
                sql.start = self.at;
                if blank > 0 {
                    continue;
                }
            }
            match rest.as_bytes() {
                [] => return (sql, Stop::End),
                [b'\\', escaped @ (b';' | b':'), ..] => self.unescape(*escaped, &mut sql),
                [b'\\', ..] => {
                    self.at += 1;
                    return (sql, Stop::MetaCommand);
                }
                [b';', ..] => {
                    self.take(1, &mut sql);
                    if self.parentheses == 0 && !self.body.is_open() {
                        self.body.begin_statement();
                        return (sql, Stop::Semicolon);
                    }
                }
                _ => self.token(rest, &mut sql),
            }
        }
    }

    fn token(&mut self, rest: &str, sql: &mut Sql) {
        if let Some(length) = existence_test_length(rest) {
            self.at += length;
            sql.text.push_str("FALSE");
            return;
        }
        let length = self.token_length(rest);
        self.take(length, sql);
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, length: usize, sql: &mut Sql) {
        let end = self.at + length;
        sql.text.push_str(self.text.get(self.at..end).unwrap_or_default());
        self.at = end;
    }

    /// `\;` and `\:` stand for the bare character; `\;` ends a statement but not the message.
    fn unescape(&mut self, escaped: u8, sql: &mut Sql) {
        self.at += 2;
        sql.text.push(char::from(escaped));
        if escaped == b';' {
            sql.statements += 1;
            self.body.begin_statement();
        }
    }

    /// The length of the token at the start of `rest`, which is not empty. Keeps track of parentheses and bodies.
    fn token_length(&mut self, rest: &str) -> usize {
        match rest.as_bytes() {
            [b'-', b'-', ..] => line_comment_length(rest),
            [b'/', b'*', ..] => block_comment_length(rest),
            [b'\'', ..] => quoted_length(rest, b'\''),
            [b'"', ..] => quoted_length(rest, b'"'),
            [b'e' | b'E', b'\'', ..] => escape_string_length(rest),
            [b'$', ..] => dollar_length(rest),
            [b':', ..] => colon_length(rest),
            [b'0'..=b'9', ..] => number_length(rest),
            [first, ..] if is_name_byte(*first) => self.word_length(rest),
            [first, ..] => {
                self.track_parenthesis(*first);
                1
            }
            [] => 0,
        }
    }

    fn track_parenthesis(&mut self, byte: u8) {
        match byte {
            b'(' => self.parentheses += 1,
            b')' => self.parentheses = self.parentheses.saturating_sub(1),
            _ => {}
        }
    }

    fn word_length(&mut self, rest: &str) -> usize {
        let length = run(rest, is_word_byte);
        if self.parentheses == 0 {
            self.body.see(rest.get(..length).unwrap_or_default());
        } else {
            self.body.see_inside_parentheses();
        }
        length
    }
}

/// Whether a statement is CREATE [OR REPLACE] FUNCTION or PROCEDURE, and how deep its BEGIN ATOMIC body is.
#[derive(Clone, Debug, Default)]
struct Body {
    /// Words of the statement seen so far.
    words: usize,
    /// The first letters of the keywords at the first places: `cf`, `cp`, `corf` or `corp` make a routine.
    start: [u8; 4],
    depth: usize,
}

impl Body {
    fn is_open(&self) -> bool {
        self.depth > 0
    }

    fn begin_statement(&mut self) {
        self.words = 0;
    }

    fn see(&mut self, word: &str) {
        self.note_start(word);
        if !matches!(self.start, [b'c', b'f' | b'p', ..] | [b'c', b'o', b'r', b'f' | b'p']) {
            return;
        }
        if word.eq_ignore_ascii_case("begin") || (self.depth > 0 && word.eq_ignore_ascii_case("case")) {
            self.depth += 1;
        } else if word.eq_ignore_ascii_case("end") {
            self.depth = self.depth.saturating_sub(1);
        }
    }

    fn see_inside_parentheses(&mut self) {
        self.note_start("");
    }

    fn note_start(&mut self, word: &str) {
        if self.words == 0 {
            self.start = [0; 4];
        }
        let is_keyword = ["create", "or", "replace", "function", "procedure"]
            .iter()
            .any(|keyword| keyword.eq_ignore_ascii_case(word));
        if let (true, Some(place), Some(first)) = (is_keyword, self.start.get_mut(self.words), word.bytes().next()) {
            *place = first.to_ascii_lowercase();
        }
        self.words += 1;
    }
}

/// Space and `--` comments, which are dropped before SQL begins.
fn blank_length(rest: &str) -> usize {
    match rest.as_bytes() {
        [b'-', b'-', ..] => line_comment_length(rest),
        _ => run(rest, is_sql_space),
    }
}

fn is_sql_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn is_word_byte(byte: u8) -> bool {
    byte == b'$' || is_name_byte(byte)
}

/// How many bytes from the start satisfy `belongs`.
fn run(rest: &str, belongs: impl Fn(u8) -> bool) -> usize {
    rest.bytes().take_while(|byte| belongs(*byte)).count()
}

fn line_comment_length(rest: &str) -> usize {
    rest.find(['\n', '\r']).unwrap_or(rest.len())
}

fn block_comment_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut depth = 0usize;
    let mut at = 0;
    while at < bytes.len() {
        match bytes.get(at..) {
            Some([b'/', b'*', ..]) => depth += 1,
            Some([b'*', b'/', ..]) => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// Up to the closing quote. A doubled quote is read as two quoted texts side by side.
fn quoted_length(rest: &str, quote: u8) -> usize {
    let body = run(rest.get(1..).unwrap_or_default(), |byte| byte != quote);
    (body + 2).min(rest.len())
}

/// `E'…'`: a backslash hides the next character, and a quote on a later line continues the string.
fn escape_string_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 2;
    while at < bytes.len() {
        match bytes.get(at..) {
            Some([b'\\', ..] | [b'\'', b'\'', ..]) => at += 2,
            Some([b'\'', ..]) => match continued_string(rest.get(at + 1..).unwrap_or_default()) {
                Some(gap) => at += 1 + gap,
                None => return at + 1,
            },
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of the gap to the quote that continues a string: space and comments with a line end among them.
fn continued_string(rest: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let here = rest.get(at..)?;
        let blank = blank_length(here);
        if blank == 0 {
            let gap = rest.get(..at)?;
            return (here.starts_with('\'') && gap.contains(['\n', '\r'])).then_some(at + 1);
        }
        at += blank;
    }
}

/// A dollar quote with its body, a parameter, or only the dollar.
fn dollar_length(rest: &str) -> usize {
    let after = rest.get(1..).unwrap_or_default();
    if after.starts_with(|first: char| first.is_ascii_digit()) {
        return 1 + parameter_length(after);
    }
    let tag = run(after, is_name_byte);
    if after.as_bytes().get(tag) != Some(&b'$') {
        return 1;
    }
    let delimiter = rest.get(..tag + 2).unwrap_or_default();
    let body = rest.get(delimiter.len()..).unwrap_or_default();
    body.find(delimiter).map_or(rest.len(), |end| end + 2 * delimiter.len())
}

/// The digits of `$1` and the letters that stick to them.
fn parameter_length(rest: &str) -> usize {
    let digits = run(rest, |byte| byte.is_ascii_digit());
    let after = rest.get(digits..).unwrap_or_default();
    let letters = if after.starts_with('$') {
        0
    } else {
        run(after, is_word_byte)
    };
    digits + letters
}

/// psql's test `:{?name}`: psql's scanner knows no variable of pgbench, so that it is FALSE even if `name` is defined.
fn existence_test_length(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix(":{?")?;
    let name = run(after, is_name_byte);
    (name > 0 && after.as_bytes().get(name) == Some(&b'}')).then_some(":{?}".len() + name)
}

/// A cast, a variable or only the colon. Their words are not words of the statement.
fn colon_length(rest: &str) -> usize {
    let after = rest.get(1..).unwrap_or_default();
    if after.starts_with(':') {
        return 2;
    }
    1 + run(after, is_name_byte)
}

/// A number and what sticks to it: `1e'…'` starts no escape string, and the signs of `1e--` start no comment.
fn number_length(rest: &str) -> usize {
    let mut length = run(rest, |byte| byte.is_ascii_digit() || byte == b'.');
    let after = rest.get(length..).unwrap_or_default();
    if let [b'e' | b'E', b'+' | b'-', ..] = after.as_bytes() {
        return length + 2;
    }
    if !after.starts_with('$') {
        length += run(after, is_word_byte);
    }
    length
}

//! The words of an expression. A newline ends it unless a backslash stands before.

use super::error::Fault;
use super::names::is_name_byte;
use super::operator::Operator;
use super::typing;
use super::value::Value;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Number(Value),
    /// 9223372036854775808, which is an integer only after a minus.
    MinMagnitude,
    Variable(&'a str),
    /// A word that is no keyword: a function, if a parenthesis follows.
    Name(&'a str),
    Operator(Operator),
    /// `~`, the only operator that exists only before its operand.
    Complement,
    Open,
    Close,
    Comma,
    Keyword(Keyword),
    /// The end of the line or of the script.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    And,
    Case,
    Else,
    End,
    False,
    Is,
    IsNull,
    Not,
    NotNull,
    Null,
    Or,
    Then,
    True,
    When,
}

const KEYWORDS: [(&str, Keyword); 14] = [
    ("and", Keyword::And),
    ("case", Keyword::Case),
    ("else", Keyword::Else),
    ("end", Keyword::End),
    ("false", Keyword::False),
    ("is", Keyword::Is),
    ("isnull", Keyword::IsNull),
    ("not", Keyword::Not),
    ("notnull", Keyword::NotNull),
    ("null", Keyword::Null),
    ("or", Keyword::Or),
    ("then", Keyword::Then),
    ("true", Keyword::True),
    ("when", Keyword::When),
];

/// The longest come first: `<=` is not `<` and `=`.
const SYMBOLS: [(&str, Token<'static>); 21] = [
    ("<<", Token::Operator(Operator::ShiftLeft)),
    (">>", Token::Operator(Operator::ShiftRight)),
    ("<=", Token::Operator(Operator::LessEqual)),
    (">=", Token::Operator(Operator::GreaterEqual)),
    ("<>", Token::Operator(Operator::NotEqual)),
    ("!=", Token::Operator(Operator::NotEqual)),
    ("<", Token::Operator(Operator::Less)),
    (">", Token::Operator(Operator::Greater)),
    ("=", Token::Operator(Operator::Equal)),
    ("+", Token::Operator(Operator::Add)),
    ("-", Token::Operator(Operator::Subtract)),
    ("*", Token::Operator(Operator::Multiply)),
    ("/", Token::Operator(Operator::Divide)),
    ("%", Token::Operator(Operator::Remainder)),
    ("&", Token::Operator(Operator::BitAnd)),
    ("|", Token::Operator(Operator::BitOr)),
    ("#", Token::Operator(Operator::BitXor)),
    ("~", Token::Complement),
    ("(", Token::Open),
    (")", Token::Close),
    (",", Token::Comma),
];

/// Reads tokens from a script.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    /// The byte after the last token.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The next token and the byte where it starts.
    pub(super) fn next(&mut self) -> Result<(usize, Token<'a>), Fault> {
        self.at = skip_blank(self.text, self.at);
        let start = self.at;
        let rest = self.text.get(start..).unwrap_or_default();
        let (length, token) = match rest.bytes().next() {
            None => (0, Token::End),
            Some(b'\n') => (1, Token::End),
            Some(b'0'..=b'9' | b'.') => self.number(rest)?,
            Some(b':') => self.variable(rest)?,
            Some(first) if is_name_byte(first) => word(rest),
            Some(_) => self.symbol(rest)?,
        };
        self.at = start + length;
        Ok((start, token))
    }

    fn number(&self, rest: &'a str) -> Result<(usize, Token<'a>), Fault> {
        let length = number_length(rest);
        let digits = rest.get(..length).unwrap_or_default();
        if digits == "9223372036854775808" {
            return Ok((length, Token::MinMagnitude));
        }
        let is_int = digits.bytes().all(|byte| byte.is_ascii_digit());
        let value = if is_int {
            digits.parse().ok().map(Value::Int)
        } else {
            typing::double(digits).map(Value::Double)
        };
        match value {
            Some(value) => Ok((length, Token::Number(value))),
            None if length == 0 => Err(self.fault(rest, "unexpected character")),
            None if is_int => Err(Fault::new(
                self.at,
                self.at + length,
                "this integer does not fit 64 bits",
            )),
            None => Err(Fault::new(
                self.at,
                self.at + length,
                "this number does not fit a double",
            )),
        }
    }

    fn variable(&self, rest: &'a str) -> Result<(usize, Token<'a>), Fault> {
        let name = rest.get(1..).map_or("", leading_name);
        if name.is_empty() {
            return Err(self.fault(rest, "a variable name must follow the colon"));
        }
        Ok((name.len() + 1, Token::Variable(name)))
    }

    fn symbol(&self, rest: &'a str) -> Result<(usize, Token<'a>), Fault> {
        let found = SYMBOLS.iter().find(|(spelled, _)| rest.starts_with(spelled));
        found
            .map(|(spelled, token)| (spelled.len(), *token))
            .ok_or_else(|| self.fault(rest, "unexpected character"))
    }

    fn fault(&self, rest: &str, message: &str) -> Fault {
        let length = rest.chars().next().map_or(0, char::len_utf8);
        Fault::new(self.at, self.at + length, message)
    }
}

/// The byte after spaces and continued lines. A backslash continues a line only directly before its end.
pub(super) fn skip_blank(text: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        at += match rest.as_bytes() {
            [b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c', ..] => 1,
            _ => match continuation_length(rest) {
                0 => return at,
                length => length,
            },
        };
    }
}

/// The length of a backslash with the line end that it hides; 0 if there is none.
pub(super) fn continuation_length(rest: &str) -> usize {
    match rest.as_bytes() {
        [b'\\', b'\n', ..] => 2,
        [b'\\', b'\r', b'\n', ..] => 3,
        _ => 0,
    }
}

fn word(rest: &str) -> (usize, Token<'_>) {
    let name = leading_name(rest);
    let keyword = KEYWORDS.iter().find(|(spelled, _)| spelled.eq_ignore_ascii_case(name));
    (
        name.len(),
        keyword.map_or(Token::Name(name), |(_, keyword)| Token::Keyword(*keyword)),
    )
}

fn leading_name(rest: &str) -> &str {
    let length = rest.bytes().take_while(|byte| is_name_byte(*byte)).count();
    rest.get(..length).unwrap_or_default()
}

/// Digits, a point with digits on at least one side, an exponent with digits.
fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let digits_from = |at: usize| bytes.iter().skip(at).take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits_from(0);
    let mut length = whole;
    if bytes.get(whole) == Some(&b'.') {
        let fraction = digits_from(whole + 1);
        if whole + fraction == 0 {
            return 0;
        }
        length += 1 + fraction;
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits_from(length + 1 + sign);
        length += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    length
}

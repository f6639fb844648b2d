//! The rows that `\draw` deals, with every value as the protocol wants it.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::script::{Names, Slot, Value, Variables};
use crate::spec::{Protocol, ScriptValues};

/// One table of values, shared by all clients: the rows are dealt one after another, then again from the first.
#[derive(Debug)]
pub struct Drawn {
    slots: Vec<Slot>,
    /// `:name_number`, which no other draw of the load gets.
    number: Slot,
    rows: Vec<Vec<Option<Box<[u8]>>>>,
    dealt: AtomicU64,
}

impl Drawn {
    /// With the simple protocol a variable is replaced by its text: a value is a quoted literal then, and NULL the word.
    /// Else it is the text of a parameter, and an undefined variable is NULL.
    pub fn new(values: &ScriptValues, protocol: Protocol, names: &mut Names) -> Self {
        let written = |value: &Option<String>| match (value, protocol) {
            (Some(text), Protocol::Simple) => Some(literal(text)),
            (None, Protocol::Simple) => Some("NULL".to_owned()),
            (value, _) => value.clone(),
        };
        let bytes = |text: String| text.into_bytes().into_boxed_slice();
        Self {
            slots: values.columns.iter().map(|column| names.intern(column)).collect(),
            number: names.intern(&format!("{}_number", values.name)),
            rows: values
                .rows
                .iter()
                .map(|row| row.iter().map(|value| written(value).map(bytes)).collect())
                .collect(),
            dealt: AtomicU64::new(0),
        }
    }

    /// Gives the variables the next row, and its number.
    pub fn draw(&self, variables: &mut Variables) {
        let number = self.dealt.fetch_add(1, Ordering::Relaxed);
        variables.set(self.number, Value::Int(i64::try_from(number).unwrap_or(i64::MAX)));
        let at = number.checked_rem(self.rows.len() as u64).unwrap_or(0);
        let Some(row) = usize::try_from(at).ok().and_then(|at| self.rows.get(at)) else {
            return;
        };
        for (slot, value) in self.slots.iter().zip(row) {
            match value {
                Some(text) => variables.set_text(*slot, text),
                None => variables.unset(*slot),
            }
        }
    }
}

/// As quote_literal(): right whatever standard_conforming_strings is.
fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if quoted.contains('\\') {
        return format!(" E'{}'", quoted.replace('\\', "\\\\"));
    }
    format!("'{quoted}'")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn texts(protocol: Protocol) -> Vec<[Option<String>; 3]> {
        let values = ScriptValues {
            name: "row".to_owned(),
            columns: vec!["a".to_owned(), "b".to_owned()],
            rows: vec![
                vec![Some("O'Neil".to_owned()), None],
                vec![Some("a\\b".to_owned()), Some("7".to_owned())],
            ],
        };
        let mut names = Names::new();
        let drawn = Drawn::new(&values, protocol, &mut names);
        let mut variables = Variables::new(&names);
        let mut seen = Vec::new();
        for _ in 0..3 {
            drawn.draw(&mut variables);
            seen.push(["a", "b", "row_number"].map(|name| {
                let mut found = None;
                variables.with_text(names.get(name).unwrap(), |text| {
                    found = Some(String::from_utf8(text.to_vec()).unwrap());
                });
                found
            }));
        }
        seen
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn the_simple_protocol_gets_literals_of_whole_rows() {
        let first = [some("'O''Neil'"), some("NULL"), some("0")];
        let second = [some(" E'a\\\\b'"), some("'7'"), some("1")];
        let again = [some("'O''Neil'"), some("NULL"), some("2")];
        assert_eq!(texts(Protocol::Simple), [first, second, again]);
    }

    #[test]
    fn parameters_get_the_text_itself_and_null() {
        let first = [some("O'Neil"), None, some("0")];
        let second = [some("a\\b"), some("7"), some("1")];
        let again = [some("O'Neil"), None, some("2")];
        assert_eq!(texts(Protocol::Prepared), [first, second, again]);
    }
}

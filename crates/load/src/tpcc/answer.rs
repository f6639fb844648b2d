//! What the server answered to a batch.

use super::Missing;
use crate::wire::backend;

/// A buffer above this is given back: only a database that is not TPC-C's fills it.
const CAPACITY_MAX: usize = 64 * 1024;
/// More than any answer of a TPC-C database has, and little enough to be held for every terminal.
const ROWS_MAX: usize = 10_000;
const BYTES_MAX: usize = 1024 * 1024;

/// The rows of an answer in one reused buffer, and what its last statement did.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    rows: Vec<u8>,
    ends: Vec<usize>,
    affected: u64,
}

impl Answer {
    /// Nothing has been answered.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.ends.clear();
        self.affected = 0;
        if self.rows.capacity() > CAPACITY_MAX {
            self.rows = Vec::new();
        }
    }

    /// A `DataRow` has come. False if the answer has become too large to be TPC-C's; the row is then left out.
    pub fn add_row(&mut self, body: &[u8]) -> bool {
        if self.ends.len() >= ROWS_MAX || self.rows.len() + body.len() > BYTES_MAX {
            return false;
        }
        self.rows.extend_from_slice(body);
        self.ends.push(self.rows.len());
        true
    }

    /// A `CommandComplete` has come: its last word is the number of rows.
    pub fn complete(&mut self, body: &[u8]) {
        let tag = body.strip_suffix(b"\0").unwrap_or(body);
        let word = tag.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
        self.affected = number(word).unwrap_or(0);
    }

    /// How many rows the last statement changed.
    pub fn affected(&self) -> u64 {
        self.affected
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// One of the rows.
    pub fn row(&self, index: usize) -> Option<Row<'_>> {
        let start = match index.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        Some(Row(self.rows.get(start..*self.ends.get(index)?)?))
    }

    /// The row that must be there.
    pub fn first(&self, table: &'static str) -> Result<Row<'_>, Missing> {
        self.row(0).ok_or(Missing { table })
    }

    /// The statement must have changed something.
    pub fn must_change(&self, table: &'static str) -> Result<(), Missing> {
        if self.affected == 0 {
            return Err(Missing { table });
        }
        Ok(())
    }
}

/// One row; columns count from 0.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a>(&'a [u8]);

impl<'a> Row<'a> {
    /// None is NULL, or no such column.
    pub fn text(self, column: usize) -> Option<&'a [u8]> {
        backend::row_values(self.0).nth(column).flatten()
    }

    /// A whole number.
    pub fn int(self, column: usize) -> Option<i64> {
        number(self.text(column)?)
    }

    /// Money. A double is exact up to some 10^13 of it, the columns end at 10^10.
    pub fn cents(self, column: usize) -> Option<i64> {
        let amount: f64 = number(self.text(column)?)?;
        let cents = (amount * 100.0).round();
        (cents.abs() < 1e15).then_some(cents as i64)
    }
}

fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A short text that is kept in place.
#[derive(Clone, Copy, Debug)]
pub struct Short<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Short<N> {
    pub const EMPTY: Self = Self {
        bytes: [0; N],
        length: 0,
    };

    /// The text, cut to what there is room for.
    pub fn new(text: &[u8]) -> Self {
        let mut short = Self::EMPTY;
        for (place, byte) in short.bytes.iter_mut().zip(text) {
            *place = *byte;
            short.length += 1;
        }
        short
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

#[cfg(test)]
impl Answer {
    /// An answer of these rows, which tests write as text; `-` is NULL.
    pub fn of(rows: &[&str]) -> Self {
        let mut answer = Self::default();
        for row in rows {
            let values: Vec<&str> = row.split('|').collect();
            let mut body = u16::try_from(values.len()).unwrap_or(0).to_be_bytes().to_vec();
            for value in values {
                if value == "-" {
                    body.extend_from_slice(&(-1_i32).to_be_bytes());
                    continue;
                }
                body.extend_from_slice(&u32::try_from(value.len()).unwrap_or(0).to_be_bytes());
                body.extend_from_slice(value.as_bytes());
            }
            assert!(answer.add_row(&body));
        }
        answer.affected = rows.len() as u64;
        answer
    }

    /// The answer to a statement that changed so many rows.
    pub fn changed(count: u64) -> Self {
        Self {
            affected: count,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_apart_and_read_by_column() {
        let answer = Answer::of(&["1|Ann|-12.5", "2|-|1e+06"]);
        assert_eq!(answer.count(), 2);
        let cells = |row: usize| {
            let row = answer.row(row)?;
            Some((row.int(0)?, row.text(1), row.cents(2)?))
        };
        assert_eq!(cells(0), Some((1, Some(&b"Ann"[..]), -1250)));
        assert_eq!(cells(1), Some((2, None, 100_000_000)));
        assert_eq!(cells(2), None);
        assert!(answer
            .first("t")
            .is_ok_and(|row| row.int(1).is_none() && row.cents(9).is_none()));
    }

    #[test]
    fn the_number_of_rows_is_the_last_word_of_the_tag() {
        let mut answer = Answer::default();
        for (tag, affected) in [
            (&b"DELETE 0\0"[..], 0),
            (b"INSERT 0 15\0", 15),
            (b"UPDATE 1", 1),
            (b"BEGIN\0", 0),
        ] {
            answer.complete(tag);
            assert_eq!(answer.affected(), affected);
        }
        answer.clear();
        assert!(answer.must_change("t").is_err() && answer.first("t").is_err());
    }

    #[test]
    fn an_answer_that_is_too_large_takes_no_more_rows() {
        let mut answer = Answer::default();
        assert_eq!((0..20_000).filter(|_| answer.add_row(b"\0\0")).count(), ROWS_MAX);
        answer.clear();
        assert!(!answer.add_row(&vec![0; BYTES_MAX + 1]) && answer.add_row(b"\0\0"));
    }

    #[test]
    fn short_texts_are_cut_to_their_room() {
        assert_eq!(Short::<3>::new(b"abcdef").as_bytes(), b"abc");
        assert_eq!(Short::<3>::new(b"a").as_bytes(), b"a");
    }
}

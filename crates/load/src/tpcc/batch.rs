//! What a transaction says next: statements with their parameters, sent together and answered together.

use std::io::Write;

use super::statements::Sql;

/// A reused buffer of statements. Parameters lie in it as a Bind message has them: as text behind its length.
#[derive(Debug, Default)]
pub struct Batch {
    calls: Vec<Call>,
    values: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    sql: Sql,
    parameters: u16,
    /// Where its parameters end.
    end: usize,
}

impl Batch {
    /// Nothing is said.
    pub fn clear(&mut self) {
        self.calls.clear();
        self.values.clear();
    }

    /// Adds a statement; its parameters follow.
    pub fn call(&mut self, sql: Sql) -> &mut Self {
        self.calls.push(Call {
            sql,
            parameters: 0,
            end: self.values.len(),
        });
        self
    }

    /// The last statement.
    pub fn last(&self) -> Option<Sql> {
        self.calls.last().map(|call| call.sql)
    }

    /// Whole numbers.
    pub fn ints<const N: usize>(&mut self, values: [i64; N]) -> &mut Self {
        for value in values {
            self.int(value);
        }
        self
    }

    pub fn int(&mut self, value: i64) -> &mut Self {
        // Memory takes everything; so in the other kinds.
        self.value(|out| drop(write!(out, "{value}")))
    }

    /// Money.
    pub fn cents(&mut self, cents: i64) -> &mut Self {
        self.value(|out| write_cents(cents, out))
    }

    pub fn text(&mut self, text: &[u8]) -> &mut Self {
        self.value(|out| out.extend_from_slice(text))
    }

    /// Whatever `write` appends.
    pub fn value(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        let start = self.values.len();
        self.values.extend_from_slice(&[0; 4]);
        write(&mut self.values);
        let length = u32::try_from(self.values.len() - start - 4).unwrap_or(u32::MAX);
        if let Some(place) = self.values.get_mut(start..start + 4) {
            place.copy_from_slice(&length.to_be_bytes());
        }
        if let Some(call) = self.calls.last_mut() {
            call.parameters += 1;
            call.end = self.values.len();
        }
        self
    }

    /// The statements, each with the number of its parameters and their bytes.
    pub fn calls(&self) -> impl Iterator<Item = (Sql, u16, &[u8])> {
        let mut start = 0;
        self.calls.iter().map(move |call| {
            let values = self.values.get(start..call.end).unwrap_or_default();
            start = call.end;
            (call.sql, call.parameters, values)
        })
    }
}

/// Appends an amount with its two decimals.
pub fn write_cents(cents: i64, out: &mut Vec<u8>) {
    let sign = if cents < 0 { "-" } else { "" };
    let cents = cents.unsigned_abs();
    let _ = write!(out, "{sign}{}.{:02}", cents / 100, cents % 100);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_lie_behind_their_lengths_and_belong_to_their_statement() {
        let mut batch = Batch::default();
        batch
            .call(Sql::Begin)
            .call(Sql::PaymentUpdateWarehouse)
            .cents(-5)
            .int(7);
        batch.call(Sql::PaymentHistory).text(b"");
        let calls: Vec<_> = batch.calls().collect();
        assert_eq!(
            calls,
            [
                (Sql::Begin, 0, &b""[..]),
                (Sql::PaymentUpdateWarehouse, 2, &b"\0\0\0\x05-0.05\0\0\0\x017"[..]),
                (Sql::PaymentHistory, 1, &b"\0\0\0\0"[..]),
            ]
        );
        assert_eq!(batch.last(), Some(Sql::PaymentHistory));
    }

    #[test]
    fn money_has_two_decimals() {
        for (cents, text) in [(0, "0.00"), (-1000, "-10.00"), (500_000, "5000.00"), (7, "0.07")] {
            let mut out = Vec::new();
            write_cents(cents, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), text);
        }
    }
}

//! Numbers as C prints them and rounds them, because scripts and results are compared with pgbench's.

use std::io::Write;

/// The longest text is a double such as `-1.23456789012345e-308`.
const CAPACITY: usize = 32;
/// `%.15g`: as many digits as any decimal text keeps through a double.
const DIGITS: i32 = 15;

/// Of the longest integer.
const INT_DIGITS: usize = 20;

/// A short text on the stack.
#[derive(Clone, Copy, Debug)]
pub struct NumberText {
    bytes: [u8; CAPACITY],
    length: usize,
}

impl NumberText {
    /// A word that is no number.
    pub(super) fn word(word: &str) -> Self {
        let mut text = Self::empty();
        text.push(word.as_bytes());
        text
    }

    /// Decimal digits.
    pub(super) fn int(value: i64) -> Self {
        let mut text = Self::empty();
        let mut digits = [0; INT_DIGITS];
        let mut rest = value.unsigned_abs();
        let mut first = INT_DIGITS;
        for (place, digit) in digits.iter_mut().enumerate().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
            first = place;
            if rest == 0 {
                break;
            }
        }
        if value < 0 {
            text.push(b"-");
        }
        text.push(digits.get(first..).unwrap_or_default());
        text
    }

    /// `%.15g`, with `Infinity` and `NaN` spelled as PostgreSQL does.
    pub(super) fn double(value: f64) -> Self {
        if value.is_nan() {
            return Self::word("NaN");
        }
        if value.is_infinite() {
            return Self::word(if value > 0.0 { "Infinity" } else { "-Infinity" });
        }
        let mut text = Self::empty();
        text.print_finite(value);
        text
    }

    /// The text.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    fn empty() -> Self {
        Self {
            bytes: [0; CAPACITY],
            length: 0,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let mut room = self.bytes.get_mut(self.length..).unwrap_or_default();
        let before = room.len();
        // CAPACITY holds every text that this module makes.
        let _ = room.write_all(bytes);
        self.length += before - room.len();
    }

    fn print(&mut self, arguments: std::fmt::Arguments<'_>) {
        let mut room = self.bytes.get_mut(self.length..).unwrap_or_default();
        let before = room.len();
        let _ = room.write_fmt(arguments);
        self.length += before - room.len();
    }

    fn print_finite(&mut self, value: f64) {
        // Rust rounds correctly to 15 digits in scientific form; from there only the point moves.
        let mut scientific = Self::empty();
        scientific.print(format_args!("{value:.14e}"));
        let text = scientific.as_str();
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        let (sign, mantissa) = mantissa
            .strip_prefix('-')
            .map_or(("", mantissa), |digits| ("-", digits));
        self.push(sign.as_bytes());
        if (-4..DIGITS).contains(&exponent) {
            self.push_fixed(mantissa, exponent);
        } else {
            let exponent_sign = if exponent < 0 { '-' } else { '+' };
            self.push(mantissa.as_bytes());
            self.print(format_args!("e{exponent_sign}{:02}", exponent.unsigned_abs()));
        }
    }

    /// Moves the point of `d.ddd` by `exponent` places.
    fn push_fixed(&mut self, mantissa: &str, exponent: i32) {
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if exponent < 0 {
            self.push(b"0.");
            (1..exponent.unsigned_abs()).for_each(|_| self.push(b"0"));
            self.push(whole.as_bytes());
            self.push(fraction.as_bytes());
            return;
        }
        let places = exponent.unsigned_abs() as usize;
        let (before, after) = fraction.split_at_checked(places).unwrap_or((fraction, ""));
        self.push(whole.as_bytes());
        self.push(before.as_bytes());
        (before.len()..places).for_each(|_| self.push(b"0"));
        if !after.is_empty() {
            self.push(b".");
            self.push(after.as_bytes());
        }
    }
}

/// The nearest integer, halves to even; `None` if 64 bits cannot hold it.
pub(super) fn round_to_int(value: f64) -> Option<i64> {
    let rounded = value.round_ties_even();
    let limit = -(i64::MIN as f64);
    (rounded >= -limit && rounded < limit).then_some(rounded as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_print_whole() {
        for value in [0, 7, -7, 10, 99, -100, 1_234_567, i64::MAX, i64::MIN] {
            assert_eq!(NumberText::int(value).as_str(), value.to_string());
        }
    }

    #[test]
    fn doubles_print_as_percent_15_g() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (100.0, "100"),
            (0.1 + 0.2, "0.3"),
            (1.0 / 3.0, "0.333333333333333"),
            (-2.5, "-2.5"),
            (1e14, "100000000000000"),
            (123_456_789_012_345.0, "123456789012345"),
            (999_999_999_999_999.9, "1e+15"),
            (1e15, "1e+15"),
            (0.0001, "0.0001"),
            (0.000_123_456_789_012_345_67, "0.000123456789012346"),
            (0.000_01, "1e-05"),
            (1.5e300, "1.5e+300"),
            (-1.234_567_890_123_456_7e-300, "-1.23456789012346e-300"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ];
        for (value, text) in cases {
            assert_eq!(NumberText::double(value).as_str(), text);
        }
    }

    #[test]
    fn halves_round_to_even() {
        assert_eq!(
            [0.5, 1.5, 2.5, -0.5, -1.5].map(round_to_int),
            [0, 2, 2, 0, -2].map(Some)
        );
        assert_eq!(round_to_int(9_223_372_036_854_775_807.0), None);
        assert_eq!(round_to_int(-9_223_372_036_854_775_808.0), Some(i64::MIN));
        assert_eq!(round_to_int(f64::NAN), None);
    }
}

//! Text from `-D` and `\gset` gets its type when an expression first uses it.

use super::value::Value;

/// What `text` means, or `None` if it means nothing: null, a boolean (prefixes count), an integer, else a C double.
pub(super) fn value_of_text(text: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(text).ok()?;
    if text.is_empty() {
        return None;
    }
    if text.eq_ignore_ascii_case("null") {
        return Some(Value::Null);
    }
    if let Some(value) = boolean(text) {
        return Some(Value::Bool(value));
    }
    let body = text.trim_start_matches(is_c_space);
    if looks_like_int(body) {
        return body.parse().ok().map(Value::Int);
    }
    double(body).map(Value::Double)
}

/// C's atoi: the integer at the start of `text`, `None` if there is no digit.
pub(super) fn leading_integer(text: &[u8]) -> Option<i64> {
    let text = String::from_utf8_lossy(text);
    let body = text.trim_start_matches(is_c_space);
    let unsigned = body.strip_prefix(['+', '-']).unwrap_or(body);
    let digits = unsigned.len() - unsigned.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    if digits == 0 {
        return None;
    }
    let end = body.len() - unsigned.len() + digits;
    let overflow = if body.starts_with('-') { i64::MIN } else { i64::MAX };
    body.get(..end).map(|number| number.parse().unwrap_or(overflow))
}

/// A decimal, hexadecimal or named double that is nothing else; `None` too when it leaves the range of doubles.
pub(super) fn double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let magnitude = named_double(unsigned)
        .or_else(|| hexadecimal(unsigned))
        .or_else(|| decimal(unsigned))?;
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}

/// `o` alone is ambiguous and so no boolean; `of` is enough for off.
fn boolean(text: &str) -> Option<bool> {
    let begins = |word: &str| {
        word.get(..text.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(text))
    };
    if begins("true") || begins("yes") || text.eq_ignore_ascii_case("on") {
        Some(true)
    } else if begins("false") || begins("no") || (begins("off") && text.len() > 1) {
        Some(false)
    } else {
        None
    }
}

fn looks_like_int(body: &str) -> bool {
    let digits = body.strip_prefix(['+', '-']).unwrap_or(body);
    digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_c_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t'..='\r')
}

fn named_double(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        "inf" | "infinity" => return Some(f64::INFINITY),
        "nan" => return Some(f64::NAN),
        _ => {}
    }
    let tag = lower.strip_prefix("nan(")?.strip_suffix(')')?;
    tag.bytes()
        .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        .then_some(f64::NAN)
}

fn decimal(text: &str) -> Option<f64> {
    // Rust reads the same decimal grammar as C once names are excluded.
    if !text.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    let underflow = !value.is_normal() && mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    (!underflow).then_some(value)
}

/// `0x1.8p3`: sixteen digits are exact enough for 53 bits when a nonzero rest is remembered in the last bit.
fn hexadecimal(text: &str) -> Option<f64> {
    let body = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    let (digits, exponent) = match body.split_once(['p', 'P']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (body, 0),
    };
    let mut mantissa = 0u64;
    let mut shift = i64::from(exponent);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    for (place, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(digit.to_digit(16)?);
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | digit;
        } else {
            mantissa |= u64::from(digit != 0);
            shift += 4;
        }
        shift -= if place >= whole.len() { 4 } else { 0 };
    }
    scale_by_two(mantissa as f64, shift)
}

fn scale_by_two(mantissa: f64, shift: i64) -> Option<f64> {
    if mantissa == 0.0 {
        return Some(0.0);
    }
    let steps = i32::try_from(shift.clamp(-2200, 2200)).ok()?;
    let half = steps / 2;
    let shifted = |number: f64, by: i32, rest: i32| number * 2.0_f64.powi(by) * 2.0_f64.powi(rest);
    let value = shifted(mantissa, half, steps - half);
    // C accepts a subnormal number only if it is exact.
    (value.is_normal() || shifted(value, -half, half - steps) == mantissa).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_typed_as_pgbench_does() {
        let cases = [
            ("null", Some(Value::Null)),
            ("NULL", Some(Value::Null)),
            ("y", Some(Value::Bool(true))),
            ("TR", Some(Value::Bool(true))),
            ("of", Some(Value::Bool(false))),
            ("n", Some(Value::Bool(false))),
            ("o", None),
            ("", None),
            (" 12", Some(Value::Int(12))),
            ("+007", Some(Value::Int(7))),
            ("12 ", None),
            ("9223372036854775808", None),
            ("1e3", Some(Value::Double(1000.0))),
            ("-0x10", Some(Value::Double(-16.0))),
            ("0x1.8p3", Some(Value::Double(12.0))),
            ("0x1p-1074", Some(Value::Double(5e-324))),
            ("0x1p-1075", None),
            ("0x1p1024", None),
            ("-inf", Some(Value::Double(f64::NEG_INFINITY))),
            ("1e999", None),
            ("1.5x", None),
        ];
        for (text, value) in cases {
            assert_eq!(value_of_text(text.as_bytes()), value, "{text}");
        }
    }

    #[test]
    fn a_leading_integer_ends_at_the_first_other_character() {
        assert_eq!(leading_integer(b" -12ms"), Some(-12));
        assert_eq!(leading_integer(b"ms"), None);
        assert_eq!(leading_integer(b"99999999999999999999"), Some(i64::MAX));
    }
}

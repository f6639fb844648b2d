//! The binary form of COPY: a head, rows of counted fields, an end.

/// Signature, no flags, no extension.
pub const HEAD: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
pub const END: &[u8] = &(-1_i16).to_be_bytes();

/// Base of the digits that numeric is sent in.
const BASE: u32 = 10_000;
const NEGATIVE: u16 = 0x4000;
const NULL: i32 = -1;

/// Begins a row of so many fields.
pub fn row(out: &mut Vec<u8>, fields: i16) {
    out.extend_from_slice(&fields.to_be_bytes());
}

pub fn int4(out: &mut Vec<u8>, value: u32) {
    length(out, 4);
    out.extend_from_slice(&value.to_be_bytes());
}

pub fn float8(out: &mut Vec<u8>, value: f64) {
    length(out, 8);
    out.extend_from_slice(&value.to_be_bytes());
}

/// Microseconds since the beginning of the year 2000.
pub fn timestamp(out: &mut Vec<u8>, value_us: i64) {
    length(out, 8);
    out.extend_from_slice(&value_us.to_be_bytes());
}

pub fn null(out: &mut Vec<u8>) {
    out.extend_from_slice(&NULL.to_be_bytes());
}

pub fn text(out: &mut Vec<u8>, value: &[u8]) {
    length(out, value.len());
    out.extend_from_slice(value);
}

/// A text that `write` appends.
pub fn text_of(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    length(out, 0);
    let begin = out.len();
    write(out);
    let written = ((out.len() - begin) as i32).to_be_bytes();
    if let Some(count) = out.get_mut(at..begin) {
        count.copy_from_slice(&written);
    }
}

/// A decimal: `hundredths` / 100, shown with two places.
pub fn money(out: &mut Vec<u8>, hundredths: i64) {
    let magnitude = hundredths.unsigned_abs() as u32;
    decimal(out, hundredths < 0, magnitude / 100, magnitude % 100 * 100, 2);
}

/// A decimal below one: `parts` / 10,000, shown with four places.
pub fn share(out: &mut Vec<u8>, parts: u32) {
    decimal(out, false, parts / BASE, parts % BASE, 4);
}

/// `fraction` counts ten-thousandths, which are one digit of the base.
fn decimal(out: &mut Vec<u8>, negative: bool, whole: u32, fraction: u32, places: u16) {
    let digits = [whole / BASE, whole % BASE, fraction];
    length(out, 8 + 2 * digits.len());
    // The server drops zero digits at both ends itself.
    let header = [digits.len() as u16, 1, if negative { NEGATIVE } else { 0 }, places];
    for part in header {
        out.extend_from_slice(&part.to_be_bytes());
    }
    for digit in digits {
        out.extend_from_slice(&(digit as u16).to_be_bytes());
    }
}

fn length(out: &mut Vec<u8>, bytes: usize) {
    out.extend_from_slice(&(bytes as i32).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    #[test]
    fn a_decimal_is_digits_of_ten_thousand() {
        let amount = written(|out| money(out, 1_234_567_890));
        assert_eq!(
            amount,
            [0, 0, 0, 14, 0, 3, 0, 1, 0, 0, 0, 2, 4, 210, 22, 46, 35, 40],
            "1234 5678 . 9000"
        );
        let negative = written(|out| money(out, -1000));
        assert_eq!(negative, [0, 0, 0, 14, 0, 3, 0, 1, 64, 0, 0, 2, 0, 0, 0, 10, 0, 0]);
        let tax = written(|out| share(out, 1999));
        assert_eq!(tax, [0, 0, 0, 14, 0, 3, 0, 1, 0, 0, 0, 4, 0, 0, 0, 0, 7, 207]);
    }

    #[test]
    fn a_text_is_counted_also_when_its_length_is_not_known_before() {
        let plain = written(|out| text(out, b"OE"));
        assert_eq!(plain, [0, 0, 0, 2, b'O', b'E']);
        assert_eq!(written(|out| text_of(out, |out| out.extend_from_slice(b"OE"))), plain);
        assert_eq!(written(null), [255, 255, 255, 255]);
    }
}

//! Whole numbers as the text that PostgreSQL reads.

use std::io::Write as _;

use super::plan::Format;

const SECOND_US: i64 = 1_000_000;
const DAY_US: i64 = 86_400 * SECOND_US;

impl Format {
    /// Appends `value`; nothing written here has to be escaped in a COPY but labels.
    pub fn write(&self, value: i64, out: &mut Vec<u8>) {
        match self {
            Self::Decimal { scale } => decimal(value, *scale, out),
            Self::Timestamp { zone } => {
                date(value.div_euclid(DAY_US), out);
                out.push(b' ');
                time(value.rem_euclid(DAY_US), *zone, out);
            }
            Self::Date {} => date(value, out),
            Self::Time { zone } => time(value.rem_euclid(DAY_US), *zone, out),
            Self::Interval { days } => interval(value, *days, out),
            Self::Uuid {} => uuid(value, out),
            Self::Inet { bits } => inet(value, *bits, out),
            Self::Label { labels } => {
                let label = usize::try_from(value).ok().and_then(|at| labels.get(at));
                out.extend_from_slice(label.map_or(b"".as_slice(), String::as_bytes));
            }
        }
    }
}

/// A Vec takes all that is written.
macro_rules! put {
    ($out:expr, $($text:tt)*) => {
        let _ = write!($out, $($text)*);
    };
}

fn decimal(value: i64, scale: i32, out: &mut Vec<u8>) {
    if scale <= 0 {
        put!(out, "{value}");
        if value != 0 {
            out.extend(std::iter::repeat_n(b'0', scale.unsigned_abs() as usize));
        }
        return;
    }
    let unit = 10_u64.saturating_pow(scale.unsigned_abs());
    let magnitude = value.unsigned_abs();
    if value < 0 {
        out.push(b'-');
    }
    put!(
        out,
        "{}.{:0width$}",
        magnitude / unit,
        magnitude % unit,
        width = scale as usize
    );
}

/// Days since 1970 in the Gregorian calendar; the algorithm is Howard Hinnant's civil_from_days.
fn date(days: i64, out: &mut Vec<u8>) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    put!(out, "{year:04}-{month:02}-{day:02}");
}

fn time(of_day_us: i64, zone: bool, out: &mut Vec<u8>) {
    let seconds = of_day_us / SECOND_US;
    put!(
        out,
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    if of_day_us % SECOND_US != 0 {
        put!(out, ".{:06}", of_day_us % SECOND_US);
    }
    if zone {
        out.extend_from_slice(b"+00");
    }
}

fn interval(value: i64, days: bool, out: &mut Vec<u8>) {
    let whole = if days { value / DAY_US } else { 0 };
    let rest = value - whole * DAY_US;
    let sign = if rest < 0 { "-" } else { "" };
    let (seconds, part) = (
        rest.unsigned_abs() / SECOND_US as u64,
        rest.unsigned_abs() % SECOND_US as u64,
    );
    put!(
        out,
        "{whole} days {sign}{}:{:02}:{:02}.{part:06}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
}

/// The bits that the ordinal does not have are a hash of it, so that equal ordinals are equal identifiers.
fn uuid(value: i64, out: &mut Vec<u8>) {
    let tail = (value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D;
    let high = ((value as u64 & 0x0FFF_FFFF_FFFF_FFFF) << 4) | (tail & 0xF);
    let low = tail.rotate_left(23).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    put!(
        out,
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xFFFF,
        high & 0xFFFF,
        low >> 48,
        low & 0xFFFF_FFFF_FFFF
    );
}

fn inet(value: i64, bits: Option<u8>, out: &mut Vec<u8>) {
    let [.., a, b, c, d] = value.to_be_bytes();
    put!(out, "{a}.{b}.{c}.{d}");
    if let Some(bits) = bits {
        put!(out, "/{bits}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: &Format, value: i64) -> String {
        let mut out = Vec::new();
        format.write(value, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn numbers_keep_their_places() {
        assert_eq!(written(&Format::Decimal { scale: 2 }, -105), "-1.05");
        assert_eq!(written(&Format::Decimal { scale: 0 }, 7), "7");
        assert_eq!(written(&Format::Decimal { scale: -3 }, 12), "12000");
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(written(&Format::Date {}, 19_782), "2024-02-29");
        assert_eq!(written(&Format::Date {}, -1), "1969-12-31");
        let zoned = Format::Timestamp { zone: true };
        assert_eq!(
            written(&zoned, 951_782_400_000_000 + 1_500_000),
            "2000-02-29 00:00:01.500000+00"
        );
        assert_eq!(written(&Format::Time { zone: false }, 86_399_000_000), "23:59:59");
        let days = Format::Interval { days: true };
        assert_eq!(written(&days, -DAY_US - 1), "-1 days -0:00:00.000001");
    }

    #[test]
    fn addresses_and_identifiers_are_well_formed() {
        assert_eq!(written(&Format::Inet { bits: None }, 0x0A00_0102), "10.0.1.2");
        let uuid = written(&Format::Uuid {}, 0x0123_4567_89AB_CDEF);
        assert!(uuid.starts_with("12345678-9abc-def"), "{uuid}");
        assert_eq!(uuid.len(), 36);
    }
}

//! An `ErrorResponse` or `NoticeResponse` as psql shows it by default.

/// How much of one message is shown.
const TEXT_MAX: usize = 10_000;

/// `ERROR:  text`, then `DETAIL`, `HINT` and, of errors, `CONTEXT` on lines of their own.
pub fn full_text(body: &[u8], with_context: bool) -> String {
    let mut severity = None;
    let mut message = None;
    let mut more: [Option<&[u8]>; 3] = [None; 3];
    for field in body.split(|byte| *byte == 0) {
        let Some((kind, text)) = field.split_first() else {
            continue;
        };
        match kind {
            b'S' => severity = Some(text),
            b'M' => message = Some(text),
            b'D' => more[0] = Some(text),
            b'H' => more[1] = Some(text),
            b'W' if with_context => more[2] = Some(text),
            _ => {}
        }
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes.get(..TEXT_MAX).unwrap_or(bytes)).into_owned();
    let mut lines = format!(
        "{}:  {}",
        text(severity.unwrap_or(b"ERROR")),
        text(message.unwrap_or_default())
    );
    for (name, value) in ["DETAIL", "HINT", "CONTEXT"].iter().zip(more) {
        if let Some(value) = value {
            lines.push_str(&format!("\n{name}:  {}", text(value)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_shown_with_what_belongs_to_it() {
        let body = b"SERROR\0VERROR\0C22012\0Mno\0Dbecause\0Htry\0Wthere\0Fx.c\0\0";
        assert_eq!(
            full_text(body, true),
            "ERROR:  no\nDETAIL:  because\nHINT:  try\nCONTEXT:  there"
        );
        assert_eq!(full_text(b"SNOTICE\0Mhi\0Wthere\0\0", false), "NOTICE:  hi");
        assert_eq!(full_text(b"", true), "ERROR:  ");
    }
}

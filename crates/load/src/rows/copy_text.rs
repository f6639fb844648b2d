//! Rows in the text form of COPY.

use std::sync::Arc;

use super::domain::Domain;
use super::NULL;

/// One column of a made table: the code of every row.
#[derive(Clone, Debug)]
pub struct Column {
    pub domain: Arc<Domain>,
    pub codes: Vec<u32>,
}

/// Appends one row; `text` is room for a value.
pub fn row(columns: &[Column], at: usize, text: &mut Vec<u8>, out: &mut Vec<u8>) {
    for (number, column) in columns.iter().enumerate() {
        if number > 0 {
            out.push(b'\t');
        }
        let code = column.codes[at];
        if code == NULL {
            out.extend_from_slice(b"\\N");
            continue;
        }
        text.clear();
        column.domain.write(code, text);
        escaped(text, out);
    }
    out.push(b'\n');
}

fn escaped(text: &[u8], out: &mut Vec<u8>) {
    for byte in text {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            other => out.push(*other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_to_copy_is_escaped() {
        let domain = Arc::new(Domain::of_texts(["a\tb", "\\N", "x\ny"]));
        let columns = [
            Column {
                domain: Arc::clone(&domain),
                codes: vec![0, NULL],
            },
            Column {
                domain,
                codes: vec![1, 2],
            },
        ];
        let mut out = Vec::new();
        for at in 0..2 {
            row(&columns, at, &mut Vec::new(), &mut out);
        }
        assert_eq!(String::from_utf8_lossy(&out), "a\\tb\t\\\\N\n\\N\tx\\ny\n");
    }
}

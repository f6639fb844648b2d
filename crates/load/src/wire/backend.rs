//! The bodies of the server's messages that the engine reads.

/// An `ErrorResponse`, as far as the engine needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerError<'a> {
    /// Five digits or letters, `XX000` if the server gave none.
    pub sqlstate: [u8; 5],
    /// The primary message.
    pub message: &'a [u8],
    /// The server closes the connection after this error.
    pub fatal: bool,
}

/// Reads the body of an `ErrorResponse`. A body that was cut still gives what is there.
pub fn server_error(body: &[u8]) -> ServerError<'_> {
    let mut error = ServerError {
        sqlstate: *b"XX000",
        message: b"",
        fatal: false,
    };
    for field in body.split(|byte| *byte == 0) {
        let Some((kind, text)) = field.split_first() else {
            continue;
        };
        match kind {
            b'C' if text.iter().all(u8::is_ascii_alphanumeric) => {
                error.sqlstate = text.try_into().unwrap_or(error.sqlstate);
            }
            b'M' => error.message = text,
            // S is translated and V is not, but V is missing before PostgreSQL 9.6.
            b'V' | b'S' => error.fatal |= text == b"FATAL" || text == b"PANIC",
            _ => {}
        }
    }
    error
}

/// The key that cancels a session's statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelKey {
    pub process: i32,
    pub secret: i32,
}

/// Reads the body of `BackendKeyData`.
pub fn cancel_key(body: &[u8]) -> Option<CancelKey> {
    let mut body = body;
    let process = take_u32(&mut body)? as i32;
    let secret = take_u32(&mut body)? as i32;
    Some(CancelKey { process, secret })
}

/// The names of a `RowDescription`'s columns.
pub fn column_names(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    /// What follows a name: table, column, type, size, modifier, format.
    const AFTER_NAME: usize = 18;
    let mut rest = body;
    let mut left = take_u16(&mut rest).unwrap_or(0);
    std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        let name = rest.get(..end)?;
        rest = rest.get(end + 1 + AFTER_NAME..)?;
        Some(name)
    })
}

/// The values of a `DataRow`; none is NULL.
pub fn row_values(body: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest = body;
    let mut left = take_u16(&mut rest).unwrap_or(0);
    std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        let length = take_u32(&mut rest)?;
        if length == u32::MAX {
            return Some(None);
        }
        let (value, after) = rest.split_at_checked(length as usize)?;
        rest = after;
        Some(Some(value))
    })
}

fn take_u16(bytes: &mut &[u8]) -> Option<u16> {
    let (number, rest) = bytes.split_first_chunk::<2>()?;
    *bytes = rest;
    Some(u16::from_be_bytes(*number))
}

fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some(u32::from_be_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_gives_its_code_and_message() {
        let error = server_error(b"SERROR\0VERROR\0C40001\0Mcould not serialize\0Fpredicate.c\0\0");
        assert_eq!(&error.sqlstate, b"40001");
        assert_eq!(error.message, b"could not serialize");
        assert!(!error.fatal);
        assert!(server_error(b"VFATAL\0C57P01\0Mbye\0\0").fatal);
    }

    #[test]
    fn an_error_that_was_cut_or_is_nonsense_gives_what_is_there() {
        assert_eq!(&server_error(b"VERROR\0C40").sqlstate, b"XX000");
        assert_eq!(&server_error(b"VERROR\0C40\x1b[1\0").sqlstate, b"XX000");
        assert_eq!(server_error(b"").message, b"");
    }

    #[test]
    fn rows_are_read_by_column() {
        let mut description = vec![0, 2];
        for name in ["one", "two"] {
            description.extend_from_slice(name.as_bytes());
            description.extend_from_slice(&[0; 19]);
        }
        let names: Vec<_> = column_names(&description).collect();
        assert_eq!(names, [b"one", b"two"]);
        let row = [0, 2, 0, 0, 0, 1, b'7', 255, 255, 255, 255];
        let values: Vec<_> = row_values(&row).collect();
        assert_eq!(values, [Some(&b"7"[..]), None]);
    }

    #[test]
    fn rows_that_end_early_end_the_iteration() {
        assert_eq!(row_values(&[0, 9, 0, 0, 0, 5, 1]).count(), 0);
        assert_eq!(column_names(&[0, 3, b'a', 0, 1]).count(), 0);
        assert_eq!(column_names(&[]).count(), 0);
    }
}

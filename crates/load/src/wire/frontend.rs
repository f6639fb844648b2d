//! Requests, byte for byte as pgbench sends them through libpq, so that figures compare.
//!
//! What is sent in every transaction is written here without allocation; the rest goes through `postgres-protocol`.

use bytes::BytesMut;
use postgres_protocol::message::frontend;

use super::backend::CancelKey;
use crate::script::{SqlCommand, Variables};

/// Execute the unnamed portal, without a limit of rows.
const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";

/// The server reads no longer message: it would not even be told which statement was too long.
const LENGTH_MAX: usize = 0x3fff_ffff;

/// A buffer that held a refused message keeps no more than this.
const KEPT_CAPACITY: usize = 64 * 1024;

/// A message that the server would refuse. Nothing of it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLong {
    #[error("a message of {0} bytes is longer than the server accepts: {LENGTH_MAX} bytes")]
    Message(usize),
    #[error("a statement with {0} parameters has more than the protocol allows: 65535")]
    Parameters(usize),
}

/// A statement of the simple protocol, variables replaced.
pub fn query(sql: &SqlCommand, variables: &Variables, out: &mut Vec<u8>) -> Result<(), TooLong> {
    message(b'Q', out, |out| {
        sql.render_simple(variables, out);
        out.push(0);
    })
}

/// The end of a failed transaction block.
pub fn rollback(out: &mut Vec<u8>) {
    out.extend_from_slice(b"Q\0\0\0\x0dROLLBACK\0");
}

/// Parse under a name, parameter types left to the server.
pub fn parse(name: &str, sql: &str, out: &mut Vec<u8>) -> Result<(), TooLong> {
    message(b'P', out, |out| {
        text(name.as_bytes(), out);
        text(sql.as_bytes(), out);
        out.extend_from_slice(&[0, 0]);
    })
}

/// Bind, describe and execute: parameters and results as text, no limit of rows.
pub fn bind_describe_execute(
    name: &str,
    sql: &SqlCommand,
    variables: &Variables,
    out: &mut Vec<u8>,
) -> Result<(), TooLong> {
    let count = u16::try_from(sql.param_count()).map_err(|_| TooLong::Parameters(sql.param_count()))?;
    message(b'B', out, |out| {
        out.push(0);
        text(name.as_bytes(), out);
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&count.to_be_bytes());
        sql.for_each_param(variables, |value| parameter(value, out));
        out.extend_from_slice(&[0, 1, 0, 0]);
    })?;
    out.extend_from_slice(b"D\0\0\0\x06P\0");
    out.extend_from_slice(EXECUTE);
    Ok(())
}

/// Bind and execute: `values` are so many parameters as a Bind message has them, results come as text. What the rows
/// look like is not asked: whoever says these statements knows.
pub fn bind_execute(name: &str, parameters: u16, values: &[u8], out: &mut Vec<u8>) -> Result<(), TooLong> {
    message(b'B', out, |out| {
        out.push(0);
        text(name.as_bytes(), out);
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&parameters.to_be_bytes());
        out.extend_from_slice(values);
        out.extend_from_slice(&[0, 0]);
    })?;
    out.extend_from_slice(EXECUTE);
    Ok(())
}

/// Sync: the server answers with `ReadyForQuery`.
pub fn sync(out: &mut Vec<u8>) {
    out.extend_from_slice(b"S\0\0\0\x04");
}

/// The end of the session.
pub fn terminate(out: &mut Vec<u8>) {
    out.extend_from_slice(b"X\0\0\0\x04");
}

/// Refuses to copy anything in: scripts have no data for it.
pub fn copy_fail(out: &mut Vec<u8>) {
    out.extend_from_slice(b"f\0\0\0\x30COPY FROM STDIN is not supported in scripts\0");
}

/// Asks the server, on a connection of its own, to cancel a statement.
pub fn cancel(key: CancelKey, out: &mut Vec<u8>) {
    let mut buffer = BytesMut::new();
    frontend::cancel_request(key.process, key.secret, &mut buffer);
    out.extend_from_slice(&buffer);
}

fn parameter(value: Option<&[u8]>, out: &mut Vec<u8>) {
    match value {
        None => out.extend_from_slice(&(-1_i32).to_be_bytes()),
        Some(value) => {
            // A value that is longer makes its message too long, so this length is never sent.
            let length = u32::try_from(value.len()).unwrap_or(u32::MAX);
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(value);
        }
    }
}

fn text(value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(value);
    out.push(0);
}

/// Writes the kind, the body, and then the length in front of the body; or nothing if the body is too long.
fn message(tag: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) -> Result<(), TooLong> {
    message_within(LENGTH_MAX, tag, out, body)
}

fn message_within(
    length_max: usize,
    tag: u8,
    out: &mut Vec<u8>,
    body: impl FnOnce(&mut Vec<u8>),
) -> Result<(), TooLong> {
    let before = out.len();
    out.push(tag);
    out.extend_from_slice(&[0; 4]);
    body(out);
    let bytes = out.len() - before - 1;
    let length = u32::try_from(bytes).ok().filter(|_| bytes <= length_max);
    let Some(length) = length else {
        out.truncate(before);
        out.shrink_to(KEPT_CAPACITY);
        return Err(TooLong::Message(bytes));
    };
    if let Some(place) = out.get_mut(before + 1..before + 5) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_messages_have_the_length_that_they_claim() {
        for write in [rollback, copy_fail, sync, terminate] {
            let mut out = Vec::new();
            write(&mut out);
            let length = out.get(1..5).and_then(|bytes| bytes.try_into().ok());
            assert_eq!(length.map(u32::from_be_bytes), u32::try_from(out.len() - 1).ok());
        }
    }

    #[test]
    fn a_body_beyond_what_the_server_reads_is_refused_and_nothing_of_it_is_kept() {
        let mut out = vec![1, 2, 3];
        assert_eq!(
            message_within(10, b'Q', &mut out, |out| out.extend_from_slice(b"7 bytes")),
            Err(TooLong::Message(11))
        );
        assert_eq!(out, [1, 2, 3]);
        assert_eq!(
            message_within(10, b'Q', &mut out, |out| out.extend_from_slice(b"bytes\0")),
            Ok(())
        );
        assert_eq!(out, b"\x01\x02\x03Q\0\0\0\x0abytes\0");
    }
}

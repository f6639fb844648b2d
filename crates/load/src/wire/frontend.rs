//! Requests, byte for byte as pgbench sends them through libpq, so that figures compare.
//!
//! What is sent in every transaction is written here without allocation; the rest goes through `postgres-protocol`.

use bytes::BytesMut;
use postgres_protocol::message::frontend;

use super::backend::CancelKey;
use crate::script::{SqlCommand, Variables};

/// Execute the unnamed portal, without a limit of rows.
const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";

/// A statement of the simple protocol, variables replaced.
pub fn query(sql: &SqlCommand, variables: &Variables, out: &mut Vec<u8>) {
    message(b'Q', out, |out| {
        sql.render_simple(variables, out);
        out.push(0);
    });
}

/// A statement of the simple protocol that is the engine's own.
pub fn plain_query(sql: &str, out: &mut Vec<u8>) {
    message(b'Q', out, |out| text(sql.as_bytes(), out));
}

/// Parse under a name, parameter types left to the server.
pub fn parse(name: &str, sql: &str, out: &mut Vec<u8>) {
    message(b'P', out, |out| {
        text(name.as_bytes(), out);
        text(sql.as_bytes(), out);
        out.extend_from_slice(&[0, 0]);
    });
}

/// Bind, describe and execute: parameters and results as text, no limit of rows.
pub fn bind_describe_execute(name: &str, sql: &SqlCommand, variables: &Variables, out: &mut Vec<u8>) {
    message(b'B', out, |out| {
        out.push(0);
        text(name.as_bytes(), out);
        out.extend_from_slice(&[0, 0]);
        let count = u16::try_from(sql.param_count()).unwrap_or(u16::MAX);
        out.extend_from_slice(&count.to_be_bytes());
        sql.for_each_param(variables, |value| parameter(value, out));
        out.extend_from_slice(&[0, 1, 0, 0]);
    });
    out.extend_from_slice(b"D\0\0\0\x06P\0");
    out.extend_from_slice(EXECUTE);
}

/// Bind and execute: `values` are so many parameters as a Bind message has them, results come as text. What the rows
/// look like is not asked: whoever says these statements knows.
pub fn bind_execute(name: &str, parameters: u16, values: &[u8], out: &mut Vec<u8>) {
    message(b'B', out, |out| {
        out.push(0);
        text(name.as_bytes(), out);
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&parameters.to_be_bytes());
        out.extend_from_slice(values);
        out.extend_from_slice(&[0, 0]);
    });
    out.extend_from_slice(EXECUTE);
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
    message(b'f', out, |out| {
        text(b"COPY FROM STDIN is not supported in scripts", out)
    });
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

/// Writes the kind, the body, and then the length in front of the body.
fn message(tag: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    if let Some(place) = out.get_mut(start..start + 4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
}

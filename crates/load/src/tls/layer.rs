//! One connection: plain, asking for TLS, or within it.

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::ClientConnection;

use super::{end_point, TlsPlan, ALPN};
use crate::wire::Binding;

/// Asks the server to go on with TLS: a start-up message that is none.
const REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// See the module.
pub enum Layer {
    /// Bytes travel as they are.
    Plain,
    /// The server has been asked, and has not answered.
    Asked,
    Tls(Box<ClientConnection>),
}

impl Layer {
    /// A connection stands. What is to be sent first is appended to `out`, or comes with [`Layer::seal`].
    pub fn open(plan: Option<&TlsPlan>, out: &mut Vec<u8>) -> Result<Self, String> {
        match plan {
            None => Ok(Self::Plain),
            Some(plan) if plan.is_direct => Self::begin(plan),
            Some(_) => {
                out.extend_from_slice(&REQUEST);
                Ok(Self::Asked)
            }
        }
    }

    fn begin(plan: &TlsPlan) -> Result<Self, String> {
        let connection = ClientConnection::new(Arc::clone(&plan.config), plan.name.clone());
        let mut connection = connection.map_err(told)?;
        connection.set_buffer_limit(None);
        Ok(Self::Tls(Box::new(connection)))
    }

    /// Whether the protocol can begin.
    pub fn is_ready(&self) -> bool {
        match self {
            Self::Plain => true,
            Self::Asked => false,
            Self::Tls(connection) => !connection.is_handshaking(),
        }
    }

    /// Bytes of the socket; those for the session are appended to `plain`.
    pub fn receive(&mut self, bytes: &[u8], plan: &TlsPlan, plain: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Self::Plain => plain.extend_from_slice(bytes),
            Self::Asked => *self = Self::answer(bytes, plan)?,
            Self::Tls(connection) => {
                let was_handshaking = connection.is_handshaking();
                decrypt(connection, bytes, plain)?;
                let is_unnamed = connection.alpn_protocol() != Some(ALPN);
                if plan.is_direct && was_handshaking && !connection.is_handshaking() && is_unnamed {
                    return Err("the server does not know direct TLS".to_owned());
                }
            }
        }
        Ok(())
    }

    /// The server's single letter. Nothing may stand behind it: that would be somebody else's, put in before TLS.
    fn answer(bytes: &[u8], plan: &TlsPlan) -> Result<Self, String> {
        match bytes {
            b"S" => Self::begin(plan),
            b"N" if plan.is_required() => Err("the server does not support TLS, which the target requires".to_owned()),
            b"N" => Ok(Self::Plain),
            _ => Err("the server did not answer the request for TLS as it should".to_owned()),
        }
    }

    /// Makes of the session's bytes those for the socket.
    pub fn seal(&mut self, out: &mut Vec<u8>) {
        let Self::Tls(connection) = self else { return };
        // Writing to memory does not fail, and what the connection refuses is reported by its next read.
        let _ = connection.writer().write_all(out);
        out.clear();
        while connection.wants_write() {
            if connection.write_tls(out).is_err() {
                return;
            }
        }
    }

    /// What a password can be bound to.
    pub fn binding(&self) -> Binding {
        let Self::Tls(connection) = self else {
            return Binding::Plain;
        };
        let certificate = connection.peer_certificates().and_then(<[_]>::first);
        certificate
            .and_then(|certificate| end_point::fingerprint(certificate))
            .map_or(Binding::Unbindable, Binding::EndPoint)
    }
}

fn decrypt(connection: &mut ClientConnection, bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), String> {
    let mut rest = bytes;
    while !rest.is_empty() {
        connection
            .read_tls(&mut rest)
            .map_err(|error| format!("TLS: {error}"))?;
        let state = connection.process_new_packets().map_err(told)?;
        let ready = state.plaintext_bytes_to_read();
        let start = plain.len();
        plain.resize(start + ready, 0);
        if let Some(place) = plain.get_mut(start..) {
            connection
                .reader()
                .read_exact(place)
                .map_err(|error| format!("TLS: {error}"))?;
        }
    }
    Ok(())
}

fn told(error: rustls::Error) -> String {
    format!("TLS: {error}")
}

//! The server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677), for the password `secret`.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use ring::{digest, hmac, pbkdf2};

const PASSWORD: &[u8] = b"secret";
const SALT: &[u8] = b"salt of the test";
const ROUNDS: u32 = 4096;

pub struct Exchange {
    client_first: String,
    server_first: String,
    nonce: String,
    /// What the client says about channel binding, with the fingerprint if it binds.
    binding: String,
}

impl Exchange {
    /// The client's first message, with its header.
    pub fn begin(message: &str) -> Self {
        Self::begin_bound(message, b"")
    }

    /// The same by SCRAM-SHA-256-PLUS, for a certificate with this fingerprint.
    pub fn begin_bound(message: &str, fingerprint: &[u8]) -> Self {
        let header = message.split_inclusive(',').take(2).collect::<String>();
        let binding = STANDARD.encode([header.as_bytes(), fingerprint].concat());
        let client_first = message.splitn(3, ',').nth(2).unwrap().to_owned();
        let nonce = format!("{}theservers", client_first.split_once("r=").unwrap().1);
        let server_first = format!("r={nonce},s={},i={ROUNDS}", STANDARD.encode(SALT));
        Self {
            client_first,
            server_first,
            nonce,
            binding,
        }
    }

    pub fn first(&self) -> &str {
        &self.server_first
    }

    /// The server's proof, if the client's is right.
    pub fn finish(&self, message: &str) -> Option<String> {
        let (without_proof, proof) = message.split_once(",p=")?;
        assert_eq!(without_proof, format!("c={},r={}", self.binding, self.nonce));
        let mut salted = [0; 32];
        let rounds = ROUNDS.try_into().unwrap();
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, SALT, PASSWORD, &mut salted);
        let everything = format!("{},{},{without_proof}", self.client_first, self.server_first);
        let client_key = sign(&salted, b"Client Key");
        let stored_key = digest::digest(&digest::SHA256, &client_key);
        let signature = sign(stored_key.as_ref(), everything.as_bytes());
        let wanted: Vec<u8> = client_key.iter().zip(&signature).map(|(key, bit)| key ^ bit).collect();
        if STANDARD.decode(proof).ok()? != wanted {
            return None;
        }
        let server_key = sign(&salted, b"Server Key");
        Some(format!(
            "v={}",
            STANDARD.encode(sign(&server_key, everything.as_bytes()))
        ))
    }
}

fn sign(key: &[u8], message: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message)
        .as_ref()
        .to_vec()
}

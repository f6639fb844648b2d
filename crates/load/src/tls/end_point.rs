//! The fingerprint of a certificate to which SCRAM binds a password (`tls-server-end-point`): by the hash with which it
//! was signed, SHA-256 in place of weaker ones.

use ring::digest::{digest, Algorithm, SHA256, SHA384, SHA512};

/// None if the certificate was signed without a hash, as by Ed25519.
pub(super) fn fingerprint(certificate: &[u8]) -> Option<Vec<u8>> {
    let algorithm = algorithm(signature_algorithm(certificate)?)?;
    Some(digest(algorithm, certificate).as_ref().to_vec())
}

/// The identifier that follows the signed part, with its parameters.
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    let (outer, _) = element(certificate)?;
    let (_, after_signed_part) = element(outer)?;
    let (identifier, _) = element(after_signed_part)?;
    Some(identifier)
}

/// The content of the first element, and what follows it.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = der.get(1..)?.split_first()?;
    let (length, rest) = match length {
        short @ 0..=0x7f => (usize::from(*short), rest),
        long => {
            let (digits, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            if digits.len() > 4 {
                return None;
            }
            let length = digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
            (length, rest)
        }
    };
    rest.split_at_checked(length)
}

fn algorithm(identifier: &[u8]) -> Option<&'static Algorithm> {
    /// 1.2.840.113549.1.1: RSA; the last number says how.
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    /// 1.2.840.10045.4.3: ECDSA with SHA-2.
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
    let (name, parameters) = element(identifier)?;
    let (last, family) = name.split_last()?;
    match (family, last) {
        (RSA, 4 | 5 | 11) | (ECDSA, 2) => Some(&SHA256),
        (RSA, 12) | (ECDSA, 3) => Some(&SHA384),
        (RSA, 13) | (ECDSA, 4) => Some(&SHA512),
        (RSA, 10) => pss(parameters),
        _ => None,
    }
}

/// RSASSA-PSS names its hash among its parameters: 2.16.840.1.101.3.4.2.x.
fn pss(parameters: &[u8]) -> Option<&'static Algorithm> {
    const SHA2: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];
    let at = parameters.windows(SHA2.len()).position(|window| window == SHA2)?;
    match parameters.get(at + SHA2.len())? {
        1 => Some(&SHA256),
        2 => Some(&SHA384),
        3 => Some(&SHA512),
        _ => None,
    }
}

//! TLS between the session's bytes and the socket's, whichever way those travel: bytes in, bytes out, no socket.
//!
//! [`TlsPlan`] is what the spec asks for, made once; a [`Layer`] is what one connection has come to.

mod end_point;
mod layer;
mod verify;

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::{ring, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, SupportedProtocolVersion};

use crate::error::LoadError;
use crate::spec::{Negotiation, Target, TlsMode, TlsSpec};

pub use layer::Layer;

/// The name that PostgreSQL gives its protocol in the handshake.
const ALPN: &[u8] = b"postgresql";

/// What all connections of a load share.
#[derive(Debug)]
pub struct TlsPlan {
    mode: TlsMode,
    is_direct: bool,
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsPlan {
    /// What the target asks for; none without TLS, which is always so on sockets of the file system.
    pub fn new(target: &Target) -> Result<Option<Self>, LoadError> {
        let Some(spec) = &target.tls else { return Ok(None) };
        if spec.mode == TlsMode::Disable || target.host.starts_with('/') {
            return Ok(None);
        }
        let is_direct = spec.negotiation == Negotiation::Direct;
        if is_direct && !spec.mode.is_required() {
            return Err(refused(
                "negotiation",
                "direct needs mode require, verify-ca or verify-full",
            ));
        }
        let name = spec.server_name.as_deref().unwrap_or(&target.host);
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| refused("server_name", format!("{name:?} is no host name and no address")))?;
        Ok(Some(Self {
            mode: spec.mode,
            is_direct,
            config: Arc::new(config(spec)?),
            name,
        }))
    }

    /// Whether a connection may also do without.
    pub fn is_required(&self) -> bool {
        self.mode.is_required()
    }

    /// Whether the first try is made with TLS.
    pub fn comes_first(&self) -> bool {
        self.mode != TlsMode::Allow
    }
}

fn refused(field: &str, problem: impl Into<String>) -> LoadError {
    LoadError::spec(format!("target.tls.{field}"), problem)
}

fn config(spec: &TlsSpec) -> Result<ClientConfig, LoadError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = verify::verifier(spec, &provider)?;
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions(spec)?)
        .map_err(|error| refused("min_protocol", error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match (&spec.cert, &spec.key) {
        (None, _) => builder.with_no_client_auth(),
        (Some(cert), Some(key)) => {
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| refused("key", format!("{key}: {error}")))?;
            builder
                .with_client_auth_cert(certificates("cert", cert)?, key)
                .map_err(|error| refused("cert", error.to_string()))?
        }
        (Some(_), None) => return Err(refused("key", "is needed for cert")),
    };
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.enable_sni = spec.sni;
    // As libpq: every connection pays for its own handshake.
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// The certificates of a PEM file.
fn certificates(field: &str, path: &str) -> Result<Vec<CertificateDer<'static>>, LoadError> {
    let problem = |error| refused(field, format!("{path}: {error}"));
    let found = CertificateDer::pem_file_iter(path).map_err(problem)?;
    let found = found.collect::<Result<Vec<_>, _>>().map_err(problem)?;
    if found.is_empty() {
        return Err(refused(field, format!("{path}: no certificate")));
    }
    Ok(found)
}

/// Versions of the protocol, oldest first. Versions before 1.2 are nobody's least any more.
fn versions(spec: &TlsSpec) -> Result<Vec<&'static SupportedProtocolVersion>, LoadError> {
    let known = ["TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"];
    let rank = |field: &str, name: &Option<String>, default: usize| match name.as_deref() {
        None | Some("") => Ok(default),
        Some(name) => known
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name))
            .ok_or_else(|| refused(field, format!("must be one of {known:?}, not {name:?}"))),
    };
    let (least, most) = (
        rank("min_protocol", &spec.min_protocol, 2)?,
        rank("max_protocol", &spec.max_protocol, 3)?,
    );
    let offered = [(2, &rustls::version::TLS12), (3, &rustls::version::TLS13)];
    let chosen: Vec<_> = offered
        .into_iter()
        .filter(|(rank, _)| (least..=most).contains(rank))
        .map(|(_, version)| version)
        .collect();
    if chosen.is_empty() {
        return Err(refused("max_protocol", "this engine speaks TLSv1.2 and TLSv1.3"));
    }
    Ok(chosen)
}

fn algorithms(provider: &CryptoProvider) -> &rustls::crypto::WebPkiSupportedAlgorithms {
    &provider.signature_verification_algorithms
}

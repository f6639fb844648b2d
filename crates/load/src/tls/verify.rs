//! Whom to believe: anybody, or who has a certificate of ours, or who has one for this name.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_name, WebPkiServerVerifier};
use rustls::crypto::{verify_tls12_signature, verify_tls13_signature, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::{algorithms, certificates, refused};
use crate::error::LoadError;
use crate::spec::{TlsMode, TlsSpec};

/// The certificates that are believed, instead of a file.
const SYSTEM: &str = "system";

#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// None believes anybody.
    chain: Option<Arc<WebPkiServerVerifier>>,
    roots: Vec<CertificateDer<'static>>,
    checks_name: bool,
}

/// The verifier that the mode asks for. As in libpq, `require` with a root certificate is `verify-ca`.
pub(super) fn verifier(
    spec: &TlsSpec,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, LoadError> {
    let must_verify = matches!(spec.mode, TlsMode::VerifyCa | TlsMode::VerifyFull);
    let verifies = must_verify || (spec.mode == TlsMode::Require && spec.root_cert.is_some());
    let mut verifier = Verifier {
        provider: Arc::clone(provider),
        chain: None,
        roots: Vec::new(),
        checks_name: spec.mode == TlsMode::VerifyFull,
    };
    if verifies {
        let Some(root_cert) = spec.root_cert.as_deref() else {
            return Err(refused(
                "root_cert",
                "is needed to verify the server: a file, or \"system\"",
            ));
        };
        verifier.roots = roots(root_cert)?;
        verifier.chain = Some(chain(spec, &verifier.roots, provider)?);
    }
    Ok(Arc::new(verifier))
}

fn roots(root_cert: &str) -> Result<Vec<CertificateDer<'static>>, LoadError> {
    if root_cert != SYSTEM {
        return certificates("root_cert", root_cert);
    }
    let found = system_roots();
    if found.is_empty() {
        return Err(refused("root_cert", "the system has no certificates"));
    }
    Ok(found)
}

#[cfg(target_os = "linux")]
fn system_roots() -> Vec<CertificateDer<'static>> {
    rustls_native_certs::load_native_certs().certs
}

/// The certificates that macOS has for OpenSSL, or those of SSL_CERT_FILE. Those of the keychain need Apple's frameworks.
#[cfg(target_os = "macos")]
fn system_roots() -> Vec<CertificateDer<'static>> {
    let path = std::env::var_os("SSL_CERT_FILE").unwrap_or_else(|| "/etc/ssl/cert.pem".into());
    CertificateDer::pem_file_iter(path)
        .into_iter()
        .flatten()
        .flatten()
        .collect()
}

fn chain(
    spec: &TlsSpec,
    roots: &[CertificateDer<'static>],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, LoadError> {
    let mut store = RootCertStore::empty();
    let (added, _) = store.add_parsable_certificates(roots.iter().cloned());
    if added == 0 {
        return Err(refused("root_cert", "has no certificate that can be used"));
    }
    let mut builder = WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider));
    if let Some(path) = &spec.crl {
        let problem = |error| refused("crl", format!("{path}: {error}"));
        let lists = CertificateRevocationListDer::pem_file_iter(path).map_err(problem)?;
        builder = builder.with_crls(lists.collect::<Result<Vec<_>, _>>().map_err(problem)?);
    }
    builder.build().map_err(|error| refused("root_cert", error.to_string()))
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        // A certificate that signed itself is believed if it is the very one that was given.
        if self.roots.iter().any(|root| root == end_entity) {
            if self.checks_name {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        match chain.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            // The name is looked at last, so that the chain is good.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, algorithms(&self.provider))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, algorithms(&self.provider))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        algorithms(&self.provider).supported_schemes()
    }
}

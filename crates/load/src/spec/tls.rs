//! What a target says about TLS.

use serde::{Deserialize, Serialize};

/// How much TLS is asked for, as in libpq's `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    Disable,
    /// Without, and with it if the server refuses that.
    Allow,
    /// With it, and without if that cannot be had.
    Prefer,
    Require,
    /// The server's certificate leads to `root_cert`.
    VerifyCa,
    /// And is for this host.
    VerifyFull,
}

impl TlsMode {
    /// Whether nothing may travel without.
    pub fn is_required(self) -> bool {
        matches!(self, Self::Require | Self::VerifyCa | Self::VerifyFull)
    }
}

/// Who begins with TLS, as in libpq's `sslnegotiation`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Negotiation {
    /// The server is asked whether it speaks it.
    #[default]
    Postgres,
    /// The client begins at once; PostgreSQL 17 and newer.
    Direct,
}

/// Whether SCRAM binds the password to the server's certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelBindingPolicy {
    Disable,
    #[default]
    Prefer,
    Require,
}

/// TLS to the server; files are PEM. Sockets of the file system never have it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSpec {
    pub mode: TlsMode,
    /// A file, or `system`.
    #[serde(default)]
    pub root_cert: Option<String>,
    #[serde(default)]
    pub cert: Option<String>,
    #[serde(default)]
    pub key: Option<String>,
    #[serde(default)]
    pub crl: Option<String>,
    #[serde(default)]
    pub negotiation: Negotiation,
    /// Tells the server the name in clear.
    #[serde(default = "default_true")]
    pub sni: bool,
    #[serde(default)]
    pub min_protocol: Option<String>,
    #[serde(default)]
    pub max_protocol: Option<String>,
    /// The name to verify; none is the target's host.
    #[serde(default)]
    pub server_name: Option<String>,
    #[serde(default)]
    pub channel_binding: ChannelBindingPolicy,
}

fn default_true() -> bool {
    true
}

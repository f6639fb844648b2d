//! From a fresh connection to a session: the start-up message and the authentication that the server asks for.

use bytes::{BufMut, BytesMut};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{self, ChannelBinding, ScramSha256};
use postgres_protocol::message::{backend, frontend};

use crate::spec::{ChannelBindingPolicy, Target};

/// As whom a session begins.
#[derive(Clone, Debug)]
pub struct Identity {
    user: String,
    password: Option<String>,
    channel_binding: ChannelBindingPolicy,
    parameters: Vec<(&'static str, String)>,
}

impl Identity {
    /// What the target says about the session.
    pub fn new(target: &Target) -> Self {
        let mut parameters = vec![
            ("user", target.user.clone()),
            ("database", target.database.clone()),
            ("application_name", target.application_name.clone()),
        ];
        if let Some(options) = &target.options {
            parameters.push(("options", options.clone()));
        }
        Self {
            user: target.user.clone(),
            password: target.password.clone(),
            channel_binding: target
                .tls
                .as_ref()
                .map_or_else(Default::default, |tls| tls.channel_binding),
            parameters,
        }
    }
}

/// Why a session cannot begin, although the server would talk.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    #[error("the server asks for a password and the target has none")]
    PasswordMissing,
    #[error("the server asks for {0}, which this engine does not speak")]
    Unsupported(&'static str),
    #[error("the server does not bind the password to its certificate, which the target requires")]
    Unbound,
    #[error("authentication: {0}")]
    Exchange(#[from] std::io::Error),
}

/// The state of one authentication.
#[derive(Default)]
pub struct Login {
    scram: Option<ScramSha256>,
    /// What the password can be bound to.
    end_point: Option<Vec<u8>>,
    is_bound: bool,
}

impl Login {
    /// Writes the start-up message. `end_point` is the fingerprint of the server's certificate, if it has one.
    pub fn start(identity: &Identity, end_point: Option<Vec<u8>>, out: &mut Vec<u8>) -> Result<Self, LoginError> {
        let mut buffer = BytesMut::new();
        let parameters = identity.parameters.iter().map(|(name, value)| (*name, value.as_str()));
        frontend::startup_message(parameters, &mut buffer)?;
        out.extend_from_slice(&buffer);
        Ok(Self {
            end_point,
            ..Self::default()
        })
    }

    /// Answers an authentication request of the server.
    pub fn answer(&mut self, body: &[u8], identity: &Identity, out: &mut Vec<u8>) -> Result<(), LoginError> {
        use backend::Message;
        let mut buffer = BytesMut::new();
        match authentication(body)? {
            Message::AuthenticationOk => {
                if identity.channel_binding == ChannelBindingPolicy::Require && !self.is_bound {
                    return Err(LoginError::Unbound);
                }
            }
            Message::AuthenticationCleartextPassword => {
                frontend::password_message(password(identity)?.as_bytes(), &mut buffer)?;
            }
            Message::AuthenticationMd5Password(request) => {
                let digest = md5_hash(identity.user.as_bytes(), password(identity)?.as_bytes(), request.salt());
                frontend::password_message(digest.as_bytes(), &mut buffer)?;
            }
            Message::AuthenticationSasl(request) => self.scram_first(&request, identity, &mut buffer)?,
            Message::AuthenticationSaslContinue(request) => {
                let scram = self
                    .scram
                    .as_mut()
                    .ok_or(LoginError::Unsupported("SCRAM out of order"))?;
                scram.update(request.data())?;
                frontend::sasl_response(scram.message(), &mut buffer)?;
            }
            Message::AuthenticationSaslFinal(request) => {
                let scram = self
                    .scram
                    .as_mut()
                    .ok_or(LoginError::Unsupported("SCRAM out of order"))?;
                scram.finish(request.data())?;
            }
            Message::AuthenticationGss | Message::AuthenticationGssContinue(_) => {
                return Err(LoginError::Unsupported("GSSAPI"));
            }
            Message::AuthenticationSspi => return Err(LoginError::Unsupported("SSPI")),
            _ => return Err(LoginError::Unsupported("an unknown kind of authentication")),
        }
        out.extend_from_slice(&buffer);
        Ok(())
    }

    fn scram_first(
        &mut self,
        request: &backend::AuthenticationSaslBody,
        identity: &Identity,
        buffer: &mut BytesMut,
    ) -> Result<(), LoginError> {
        use fallible_iterator::FallibleIterator;
        let offers = |wanted: &str| request.mechanisms().any(|name| Ok(name == wanted));
        let policy = identity.channel_binding;
        let end_point = self
            .end_point
            .take()
            .filter(|_| policy != ChannelBindingPolicy::Disable);
        self.is_bound = end_point.is_some() && offers(sasl::SCRAM_SHA_256_PLUS)?;
        if !self.is_bound && policy == ChannelBindingPolicy::Require {
            return Err(LoginError::Unbound);
        }
        if !self.is_bound && !offers(sasl::SCRAM_SHA_256)? {
            return Err(LoginError::Unsupported("SASL without SCRAM-SHA-256"));
        }
        let (mechanism, binding) = match end_point {
            Some(end_point) if self.is_bound => (
                sasl::SCRAM_SHA_256_PLUS,
                ChannelBinding::tls_server_end_point(end_point),
            ),
            Some(_) => (sasl::SCRAM_SHA_256, ChannelBinding::unrequested()),
            None => (sasl::SCRAM_SHA_256, ChannelBinding::unsupported()),
        };
        let scram = ScramSha256::new(password(identity)?.as_bytes(), binding);
        frontend::sasl_initial_response(mechanism, scram.message(), buffer)?;
        self.scram = Some(scram);
        Ok(())
    }
}

fn password(identity: &Identity) -> Result<&str, LoginError> {
    identity.password.as_deref().ok_or(LoginError::PasswordMissing)
}

/// `postgres-protocol` reads whole messages, so the body gets its header back.
fn authentication(body: &[u8]) -> Result<backend::Message, LoginError> {
    let mut whole = BytesMut::with_capacity(body.len() + 5);
    whole.put_u8(b'R');
    whole.put_u32(u32::try_from(body.len() + 4).unwrap_or(u32::MAX));
    whole.put_slice(body);
    backend::Message::parse(&mut whole)?.ok_or(LoginError::Unsupported("a cut authentication request"))
}

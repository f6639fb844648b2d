//! From a fresh connection to a session: the start-up message and the authentication that the server asks for.
//!
//! Each request of the server is answered in one state only ([`Progress`]), so a server gets one proof of a password
//! for each connection, and cannot leave out the steps by which it proves that it knows the password as well.

use bytes::{BufMut, BytesMut};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{self, ChannelBinding, ScramSha256};
use postgres_protocol::message::{backend, frontend};

use crate::spec::{ChannelBindingPolicy, Target};

/// PBKDF2 rounds that the engine computes for a server: well above PostgreSQL's 4096, and below what would stop a
/// thread, and all clients on it, for a second.
const ITERATIONS_MAX: u64 = 100_000;

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

    fn password(&self) -> Result<&str, LoginError> {
        self.password.as_deref().ok_or(LoginError::PasswordMissing)
    }

    fn requires_binding(&self) -> bool {
        self.channel_binding == ChannelBindingPolicy::Require
    }
}

/// Why a session cannot begin, although the server would talk.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    #[error("the server asks for a password and the target has none")]
    PasswordMissing,
    #[error("the server asks for {0}, which this engine does not support")]
    Unsupported(&'static str),
    #[error("channel binding is required, but {0}")]
    Unbound(&'static str),
    #[error("the server sent {0} out of order during authentication")]
    OutOfOrder(&'static str),
    #[error("the server ended SCRAM authentication without proving that it knows the password")]
    Unproved,
    #[error("the server offers SCRAM-SHA-256-PLUS on a connection without TLS")]
    PlusWithoutTls,
    #[error("the server asks for {0} iterations of SCRAM-SHA-256; this engine computes 1 to {ITERATIONS_MAX}")]
    Iterations(u64),
    #[error("authentication: {0}")]
    Exchange(#[from] std::io::Error),
}

/// What the server's side of the connection can be bound to.
#[derive(Clone, Debug)]
pub enum Binding {
    /// The connection has no TLS.
    Plain,
    /// TLS, with a certificate that has no fingerprint.
    Unbindable,
    /// TLS, with this fingerprint of the server's certificate.
    EndPoint(Vec<u8>),
}

/// How far the authentication has come.
enum Progress {
    /// The server has asked for nothing yet.
    Started,
    /// A password was sent, in clear or as a digest.
    Answered,
    Scram {
        exchange: ScramSha256,
        is_bound: bool,
        is_answered: bool,
    },
    /// The server's signature was verified.
    Proved { is_bound: bool },
    /// The server has let us in.
    Done,
    /// An error was reported.
    Failed,
}

/// The state of one authentication.
pub struct Login {
    progress: Progress,
    binding: Binding,
}

impl Login {
    /// Writes the start-up message.
    pub fn start(identity: &Identity, binding: Binding, out: &mut Vec<u8>) -> Result<Self, LoginError> {
        let mut buffer = BytesMut::new();
        let parameters = identity.parameters.iter().map(|(name, value)| (*name, value.as_str()));
        frontend::startup_message(parameters, &mut buffer)?;
        out.extend_from_slice(&buffer);
        Ok(Self {
            progress: Progress::Started,
            binding,
        })
    }

    /// Whether the server has let us in. Until then it cannot be ready for a query.
    pub fn is_done(&self) -> bool {
        matches!(self.progress, Progress::Done)
    }

    /// Answers an authentication request of the server. Nothing is appended to `out` with an error.
    pub fn answer(&mut self, body: &[u8], identity: &Identity, out: &mut Vec<u8>) -> Result<(), LoginError> {
        let mut buffer = BytesMut::new();
        let progress = std::mem::replace(&mut self.progress, Progress::Failed);
        self.progress = self.advance(progress, body, identity, &mut buffer)?;
        out.extend_from_slice(&buffer);
        Ok(())
    }

    fn advance(
        &self,
        progress: Progress,
        body: &[u8],
        identity: &Identity,
        buffer: &mut BytesMut,
    ) -> Result<Progress, LoginError> {
        use backend::Message;
        match (authentication(body)?, progress) {
            (Message::AuthenticationOk, progress) => finish(&progress, identity),
            (Message::AuthenticationCleartextPassword, Progress::Started) => {
                refuse_unbound(identity, "the server asks for a password in clear text")?;
                frontend::password_message(identity.password()?.as_bytes(), buffer)?;
                Ok(Progress::Answered)
            }
            (Message::AuthenticationMd5Password(request), Progress::Started) => {
                refuse_unbound(identity, "the server asks for an MD5 password")?;
                let digest = md5_hash(
                    identity.user.as_bytes(),
                    identity.password()?.as_bytes(),
                    request.salt(),
                );
                frontend::password_message(digest.as_bytes(), buffer)?;
                Ok(Progress::Answered)
            }
            (Message::AuthenticationSasl(request), Progress::Started) => self.scram_first(&request, identity, buffer),
            (
                Message::AuthenticationSaslContinue(request),
                Progress::Scram {
                    mut exchange,
                    is_bound,
                    is_answered: false,
                },
            ) => {
                check_iterations(request.data())?;
                exchange.update(request.data())?;
                frontend::sasl_response(exchange.message(), buffer)?;
                Ok(Progress::Scram {
                    exchange,
                    is_bound,
                    is_answered: true,
                })
            }
            (
                Message::AuthenticationSaslFinal(request),
                Progress::Scram {
                    mut exchange,
                    is_bound,
                    is_answered: true,
                },
            ) => {
                exchange.finish(request.data())?;
                Ok(Progress::Proved { is_bound })
            }
            (message, _) => Err(misplaced(&message)),
        }
    }

    fn scram_first(
        &self,
        request: &backend::AuthenticationSaslBody,
        identity: &Identity,
        buffer: &mut BytesMut,
    ) -> Result<Progress, LoginError> {
        use fallible_iterator::FallibleIterator;
        let offers = |wanted: &str| request.mechanisms().any(|name| Ok(name == wanted));
        let offers_plus = offers(sasl::SCRAM_SHA_256_PLUS)?;
        if offers_plus && matches!(self.binding, Binding::Plain) {
            // As libpq: somebody between the server and us ends TLS.
            return Err(LoginError::PlusWithoutTls);
        }
        let end_point = match &self.binding {
            Binding::EndPoint(hash) if identity.channel_binding != ChannelBindingPolicy::Disable => Some(hash.clone()),
            _ => None,
        };
        let (mechanism, binding) = match end_point {
            Some(hash) if offers_plus => (sasl::SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(hash)),
            _ if !offers(sasl::SCRAM_SHA_256)? => {
                refuse_unbound(identity, "the connection cannot be bound")?;
                return Err(LoginError::Unsupported("SASL without SCRAM-SHA-256"));
            }
            // Signed by the exchange: a server that did offer PLUS learns that its offer was removed on the way.
            Some(_) => (sasl::SCRAM_SHA_256, ChannelBinding::unrequested()),
            None => (sasl::SCRAM_SHA_256, ChannelBinding::unsupported()),
        };
        let is_bound = mechanism == sasl::SCRAM_SHA_256_PLUS;
        if !is_bound {
            refuse_unbound(
                identity,
                "the server offers no authentication that supports channel binding",
            )?;
        }
        let exchange = ScramSha256::new(identity.password()?.as_bytes(), binding);
        frontend::sasl_initial_response(mechanism, exchange.message(), buffer)?;
        Ok(Progress::Scram {
            exchange,
            is_bound,
            is_answered: false,
        })
    }
}

/// The server says that it is satisfied. So must we be.
fn finish(progress: &Progress, identity: &Identity) -> Result<Progress, LoginError> {
    match progress {
        Progress::Proved { is_bound: true } => Ok(Progress::Done),
        Progress::Scram { .. } => Err(LoginError::Unproved),
        Progress::Done | Progress::Failed => Err(LoginError::OutOfOrder("AuthenticationOk")),
        Progress::Started | Progress::Answered | Progress::Proved { is_bound: false } => {
            refuse_unbound(identity, "the server let the client in without it")?;
            Ok(Progress::Done)
        }
    }
}

fn refuse_unbound(identity: &Identity, why: &'static str) -> Result<(), LoginError> {
    match identity.requires_binding() {
        true => Err(LoginError::Unbound(why)),
        false => Ok(()),
    }
}

/// What the engine does not know, or did not expect now.
fn misplaced(message: &backend::Message) -> LoginError {
    use backend::Message;
    match message {
        Message::AuthenticationCleartextPassword | Message::AuthenticationMd5Password(_) => {
            LoginError::OutOfOrder("a request for a password")
        }
        Message::AuthenticationSasl(_)
        | Message::AuthenticationSaslContinue(_)
        | Message::AuthenticationSaslFinal(_) => LoginError::OutOfOrder("a SASL message"),
        Message::AuthenticationGss | Message::AuthenticationGssContinue(_) => LoginError::Unsupported("GSSAPI"),
        Message::AuthenticationSspi => LoginError::Unsupported("SSPI"),
        _ => LoginError::Unsupported("an unknown kind of authentication"),
    }
}

/// Refuses a count that would keep the thread busy; the library then need not be trusted to. Whatever else is wrong
/// with the message is found by the library.
fn check_iterations(server_first: &[u8]) -> Result<(), LoginError> {
    let count = server_first
        .split(|byte| *byte == b',')
        .find_map(|part| part.strip_prefix(b"i="))
        .filter(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit));
    let Some(digits) = count else { return Ok(()) };
    let count = digits.iter().fold(0_u64, |count, digit| {
        count.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
    });
    match count {
        1..=ITERATIONS_MAX => Ok(()),
        count => Err(LoginError::Iterations(count)),
    }
}

/// `postgres-protocol` reads whole messages, so the body gets its header back.
fn authentication(body: &[u8]) -> Result<backend::Message, LoginError> {
    let length = u32::try_from(body.len() + 4).map_err(|_| LoginError::Unsupported("an endless request"))?;
    let mut whole = BytesMut::with_capacity(body.len() + 5);
    whole.put_u8(b'R');
    whole.put_u32(length);
    whole.put_slice(body);
    backend::Message::parse(&mut whole)?.ok_or(LoginError::Unsupported("a cut authentication request"))
}

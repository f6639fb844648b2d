//! The client's bytes on their way to and from the socket: plain, or within TLS. Without TLS nothing is copied.

use super::{Client, Next, Work};
use crate::clock::Nanos;
use crate::record::Code;
use crate::tls::{Layer, TlsPlan};

/// What the client uses for its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Choice {
    /// What comes first in the mode.
    #[default]
    First,
    /// The other way, after the server had refused the first.
    Second,
}

impl Client {
    /// A connection stands: asks for TLS or for a session.
    pub fn connected(&mut self, work: &mut Work<'_>) -> Next {
        self.framer.reset();
        let plan = self.plan(work);
        match Layer::open(plan, &mut work.out) {
            Ok(layer) => self.layer = layer,
            Err(message) => return self.unsafe_connection(message, work),
        }
        let next = if self.layer.is_ready() {
            self.begin_session(work)
        } else {
            Next::Answer
        };
        self.layer.seal(&mut work.out);
        next
    }

    /// Bytes of the server.
    pub fn receive(&mut self, bytes: &[u8], now: Nanos, work: &mut Work<'_>) -> Next {
        if let (Layer::Plain, Choice::First) = (&self.layer, self.choice) {
            if work.tls.is_none() {
                return self.read(bytes, now, work);
            }
        }
        let next = match self.layer {
            Layer::Plain => self.read(bytes, now, work),
            _ => self.receive_sealed(bytes, now, work),
        };
        self.layer.seal(&mut work.out);
        match next {
            Next::Refused { code, message } => self.refused(code, message, work),
            next => next,
        }
    }

    fn receive_sealed(&mut self, bytes: &[u8], now: Nanos, work: &mut Work<'_>) -> Next {
        let Some(plan) = work.tls else { return Next::Answer };
        let was_ready = self.layer.is_ready();
        let mut plain = std::mem::take(&mut work.plain);
        plain.clear();
        let received = self.layer.receive(bytes, plan, &mut plain);
        let mut next = Next::Answer;
        if let Err(message) = received {
            next = match was_ready {
                true => Next::Broken { message },
                false => Next::Refused {
                    code: Code::Protocol,
                    message,
                },
            };
        } else {
            if !was_ready && self.layer.is_ready() {
                next = self.begin_session(work);
            }
            if !plain.is_empty() && next == Next::Answer {
                next = self.read(&plain, now, work);
            }
        }
        work.plain = plain;
        next
    }

    fn begin_session(&mut self, work: &mut Work<'_>) -> Next {
        self.session.connected(self.layer.binding(), work)
    }

    /// The server, or its certificate, refused this way of connecting; there may be another. What we refuse once TLS
    /// stands, we refuse without it too: a server that fails to prove itself gets no second, weaker try.
    fn refused(&mut self, code: Code, message: String, work: &Work<'_>) -> Next {
        let is_of_this_way = match code {
            Code::Protocol => !self.layer.is_ready(),
            Code::State(state) => state.starts_with(b"28"),
            _ => false,
        };
        let has_other = work.tls.is_some_and(|plan| !plan.is_required());
        if has_other && is_of_this_way && self.choice == Choice::First {
            self.choice = Choice::Second;
            return Next::Anew;
        }
        Next::Refused { code, message }
    }

    fn unsafe_connection(&mut self, message: String, work: &Work<'_>) -> Next {
        self.refused(Code::Protocol, message, work)
    }

    /// TLS, if the next connection is to have it.
    fn plan<'a>(&self, work: &Work<'a>) -> Option<&'a TlsPlan> {
        let first = |plan: &&TlsPlan| plan.comes_first() == (self.choice == Choice::First);
        work.tls.filter(first)
    }

    /// Whether the connection is within TLS.
    pub fn is_encrypted(&self) -> bool {
        matches!(self.layer, Layer::Tls(_))
    }

    /// Says good-bye.
    pub fn good_bye(&mut self, work: &mut Work<'_>) {
        crate::wire::frontend::terminate(&mut work.out);
        self.layer.seal(&mut work.out);
    }
}

//! Authentication, message by message: what is answered, and what is refused before anything is sent.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod stub;

use pgclinic_load::wire::{Binding, Identity, Login};
use proptest::prelude::*;
use serde_json::json;
use stub::scram::Exchange;
use stub::{auth_md5, auth_ok, auth_password, auth_sasl, spec_at, Plan};

const PLUS: &[u8] = b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
const SCRAM: &[u8] = b"SCRAM-SHA-256\0\0";
const FINGERPRINT: &[u8] = b"fingerprint";

/// A client in the middle of authentication.
struct Talk {
    identity: Identity,
    login: Login,
}

impl Talk {
    fn begin(channel_binding: &str, binding: Binding) -> Self {
        let tls = json!({"mode": "require", "channel_binding": channel_binding});
        let target = json!({"host": "h", "port": 1, "user": "u", "database": "d", "password": "secret", "tls": tls});
        let identity = Identity::new(&spec_at("h", "SELECT 1;", json!({"target": target})).target);
        let login = Login::start(&identity, binding, &mut Vec::new()).unwrap();
        Self { identity, login }
    }

    fn bound() -> Self {
        Self::begin("require", Binding::EndPoint(FINGERPRINT.to_vec()))
    }

    /// What the client answers to a message of the server, without the header.
    fn hear(&mut self, message: &[u8]) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        let heard = self.login.answer(&message[5..], &self.identity, &mut out);
        match heard {
            Ok(()) => Ok(out.get(5..).unwrap_or_default().to_vec()),
            Err(error) => {
                assert!(out.is_empty(), "nothing is sent with {error}");
                assert!(!self.login.is_done());
                Err(error.to_string())
            }
        }
    }

    fn refuses(&mut self, message: &[u8], why: &str) {
        let error = self.hear(message).unwrap_err();
        assert!(error.contains(why), "{error}");
    }

    /// The mechanism that the client chose and its first message.
    fn choose(&mut self, offered: &[u8]) -> (String, String) {
        let sent = self.hear(&auth_sasl(10, offered)).unwrap();
        let end = sent.iter().position(|byte| *byte == 0).unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (text(&sent[..end]), text(&sent[end + 5..]))
    }

    /// Comes to the point where the server has to prove itself.
    fn until_final(&mut self, offered: &[u8]) -> String {
        let (mechanism, first) = self.choose(offered);
        let fingerprint = if mechanism == "SCRAM-SHA-256-PLUS" {
            FINGERPRINT
        } else {
            b""
        };
        let exchange = Exchange::begin_bound(&first, fingerprint);
        let proof = self.hear(&auth_sasl(11, exchange.first().as_bytes())).unwrap();
        exchange.finish(std::str::from_utf8(&proof).unwrap()).unwrap()
    }
}

#[test]
fn where_binding_is_required_nothing_else_is_answered() {
    Talk::bound().refuses(&auth_password(), "channel binding is required");
    Talk::bound().refuses(&auth_md5(), "channel binding is required");
    Talk::bound().refuses(&auth_ok(), "channel binding is required");
    Talk::bound().refuses(&auth_sasl(10, SCRAM), "channel binding is required");
    Talk::bound().refuses(&auth_sasl(10, b"OAUTHBEARER\0\0"), "channel binding is required");
    for binding in [Binding::Plain, Binding::Unbindable] {
        Talk::begin("require", binding).refuses(&auth_sasl(10, SCRAM), "channel binding is required");
    }
    Talk::begin("require", Binding::Unbindable).refuses(&auth_sasl(10, PLUS), "channel binding is required");
}

#[test]
fn a_server_must_prove_itself_once_scram_has_begun() {
    for policy in ["disable", "prefer", "require"] {
        let begin = || Talk::begin(policy, Binding::EndPoint(FINGERPRINT.to_vec()));
        let mut offered = begin();
        offered.choose(PLUS);
        offered.refuses(&auth_ok(), "without proving");
        let mut unverified = begin();
        unverified.until_final(PLUS);
        unverified.refuses(&auth_ok(), "without proving");
        let mut wrong = begin();
        wrong.until_final(PLUS);
        wrong.refuses(
            &auth_sasl(12, b"v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
            "SCRAM",
        );
        wrong.refuses(&auth_ok(), "out of order");
        let mut right = begin();
        let signature = right.until_final(PLUS);
        assert_eq!(right.hear(&auth_sasl(12, signature.as_bytes())), Ok(Vec::new()));
        assert!(!right.login.is_done());
        assert_eq!(right.hear(&auth_ok()), Ok(Vec::new()));
        assert!(right.login.is_done());
    }
}

#[test]
fn binding_is_used_where_it_can_be_and_a_removed_offer_is_reported_to_the_server() {
    let end_point = || Binding::EndPoint(FINGERPRINT.to_vec());
    for (policy, binding, offered, mechanism, header) in [
        (
            "prefer",
            end_point(),
            PLUS,
            "SCRAM-SHA-256-PLUS",
            "p=tls-server-end-point,,",
        ),
        // The client could have: a server that offered it refuses the session.
        ("prefer", end_point(), SCRAM, "SCRAM-SHA-256", "y,,"),
        ("prefer", Binding::Unbindable, PLUS, "SCRAM-SHA-256", "n,,"),
        ("prefer", Binding::Plain, SCRAM, "SCRAM-SHA-256", "n,,"),
        ("disable", end_point(), PLUS, "SCRAM-SHA-256", "n,,"),
    ] {
        let (chosen, first) = Talk::begin(policy, binding).choose(offered);
        assert_eq!(
            (chosen.as_str(), first.starts_with(header)),
            (mechanism, true),
            "{policy} {first}"
        );
    }
    Talk::begin("prefer", Binding::Plain).refuses(&auth_sasl(10, PLUS), "without TLS");
    Talk::begin("prefer", Binding::Plain).refuses(&auth_sasl(10, b"OTHER\0\0"), "SASL without SCRAM-SHA-256");
}

#[test]
fn a_second_request_gets_no_second_proof() {
    let end_point = || Binding::EndPoint(FINGERPRINT.to_vec());
    for second in [auth_password(), auth_md5(), auth_sasl(10, SCRAM)] {
        let mut after_scram = Talk::begin("prefer", end_point());
        after_scram.choose(PLUS);
        after_scram.refuses(&second, "out of order");
        let mut after_password = Talk::begin("prefer", end_point());
        assert_eq!(after_password.hear(&auth_password()), Ok(b"secret\0".to_vec()));
        after_password.refuses(&second, "out of order");
    }
    let mut done = Talk::begin("prefer", Binding::Plain);
    assert_eq!(done.hear(&auth_ok()), Ok(Vec::new()));
    done.refuses(&auth_password(), "out of order");
    Talk::begin("prefer", Binding::Plain).refuses(&auth_sasl(11, b"r=x,s=AAAA,i=4096"), "out of order");
    let mut early = Talk::begin("prefer", Binding::Plain);
    early.choose(SCRAM);
    early.refuses(&auth_sasl(12, b"v=AAAA"), "out of order");
}

#[test]
fn the_servers_first_message_is_checked() {
    let first = |change: fn(&str, &str) -> String| {
        let mut talk = Talk::begin("prefer", Binding::Plain);
        let (_, sent) = talk.choose(SCRAM);
        let nonce = sent.split_once("r=").unwrap().1.to_owned();
        let began = std::time::Instant::now();
        let error = talk
            .hear(&auth_sasl(11, change(&nonce, "c2FsdA==").as_bytes()))
            .unwrap_err();
        assert!(began.elapsed() < std::time::Duration::from_secs(2));
        error
    };
    let error = first(|nonce, salt| format!("r={nonce}x,s={salt},i=2147483647"));
    assert!(error.contains("2147483647 iterations"), "{error}");
    let error = first(|nonce, salt| format!("r={nonce}x,s={salt},i=99999999999999999999999999"));
    assert!(error.contains("iterations"), "{error}");
    let error = first(|nonce, salt| format!("r={nonce}x,s={salt},i=0"));
    assert!(error.contains("0 iterations"), "{error}");
    let error = first(|_, salt| format!("r=somebodyelses,s={salt},i=4096"));
    assert!(error.contains("nonce"), "{error}");
    for nonsense in ["", "r=", "i=-1", "m=ext,r=a,s=AAAA,i=1", "\u{0}"] {
        let mut talk = Talk::begin("prefer", Binding::Plain);
        talk.choose(SCRAM);
        talk.refuses(&auth_sasl(11, nonsense.as_bytes()), "");
    }
}

#[test]
fn the_password_stays_here_in_a_load_too() {
    let wanting = json!({"mode": "prefer", "channel_binding": "require"});
    for words in [auth_password(), auth_md5(), auth_ok(), auth_sasl(10, SCRAM)] {
        let words = vec![words];
        let stub = Plan::prompt().login(move |_| stub::Login::Say(words.clone())).start();
        let mut spec = stub.spec("SELECT 1;", json!({"password": "secret"}));
        spec.target.tls = serde_json::from_value(wanting.clone()).unwrap();
        let result = pgclinic_load::run(&spec, &pgclinic_load::Stopper::default(), &mut ()).unwrap();
        assert_eq!((result.clients_lost, stub.heard(), stub.connections()), (1, 0, 1));
        assert!(
            result.failures[0].message.contains("channel binding is required"),
            "{:?}",
            result.failures
        );
    }
}

#[test]
fn a_session_that_begins_before_authentication_ends_is_refused() {
    for words in [stub::ready(b'I'), stub::parameter_status()] {
        let stub = Plan::prompt()
            .login(move |_| stub::Login::Say(vec![words.clone()]))
            .start();
        let result = stub.run("SELECT 1;", json!({"password": "secret"}));
        assert_eq!((result.clients_lost, result.transactions), (1, 0));
        assert!(
            result.failures[0].message.contains("before authentication"),
            "{:?}",
            result.failures
        );
    }
}

proptest! {
    #[test]
    fn whatever_a_server_sends_it_neither_gets_the_password_nor_in_where_binding_is_required(
        kinds in prop::collection::vec((prop::sample::select(vec![0_u8, 2, 3, 5, 7, 8, 9, 10, 11, 12, 13]),
            prop_oneof![
                Just(SCRAM.to_vec()), Just(PLUS.to_vec()), Just(b"r=a,s=AAAA,i=4096".to_vec()),
                prop::collection::vec(any::<u8>(), 0..20),
            ]), 0..8),
        bound: bool,
    ) {
        let binding = if bound { Binding::EndPoint(FINGERPRINT.to_vec()) } else { Binding::Plain };
        let mut talk = Talk::begin("require", binding);
        for (kind, data) in kinds {
            let sent = talk.hear(&auth_sasl(kind, &data)).unwrap_or_default();
            prop_assert!(!sent.windows(6).any(|window| window == b"secret"));
            prop_assert!(!talk.login.is_done());
        }
    }
}

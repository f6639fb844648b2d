//! Any authentication messages in any order: the client answers or refuses, and where channel binding is required it
//! sends the password to nobody and is let in by nobody.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pgclinic_load::wire::{Binding, Identity, Login};
use pgclinic_load::LoadSpec;

fn identity(channel_binding: &str) -> Identity {
    let text = format!(
        r#"{{"target": {{"host": "h", "port": 1, "user": "u", "database": "d", "password": "secret",
             "tls": {{"mode": "require", "channel_binding": "{channel_binding}"}}}},
            "scripts": [{{"name": "s", "text": "SELECT 1;"}}], "transactions_per_client": 1}}"#
    );
    Identity::new(&LoadSpec::from_json(&text).unwrap().target)
}

fuzz_target!(|input: (u8, u8, Vec<(u8, Vec<u8>)>)| {
    let (policy, binding, messages) = input;
    let policy = ["disable", "prefer", "require"][usize::from(policy % 3)];
    let binding = match binding % 3 {
        0 => Binding::Plain,
        1 => Binding::Unbindable,
        _ => Binding::EndPoint(b"fingerprint".to_vec()),
    };
    let identity = identity(policy);
    let mut login = Login::start(&identity, binding, &mut Vec::new()).unwrap();
    for (kind, data) in messages {
        let mut out = Vec::new();
        let body = [&[0, 0, 0, kind][..], &data].concat();
        if login.answer(&body, &identity, &mut out).is_err() {
            assert!(out.is_empty());
        }
        if policy == "require" {
            assert!(!out.windows(6).any(|window| window == b"secret"));
            assert!(!login.is_done());
        }
    }
});

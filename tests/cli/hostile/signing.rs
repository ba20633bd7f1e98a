//! Statements of every kind, signed with keys that tests may use.

use std::fmt::Write as _;

use ed25519_dalek::{Signer as _, SigningKey};
use graph_core::digest::Digest;
use serde_json::{Value, json};

/// Makes the key of a number.
pub(crate) fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

pub(crate) fn public(number: u8) -> String {
    key(number).verifying_key().to_bytes().iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

/// Makes an honest statement about a component that imports nothing.
fn statement(component: &[u8]) -> Value {
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "name": "t/bad", "digest": { "sha256": Digest::of_bytes(component).hex() } }],
        "predicateType": "https://graph-host.dev/component/v1",
        "predicate": {
            "id": "t/bad",
            "version": "1.0.0",
            "world": "graph-host:node/node@0.1.0",
            "interfaces": [],
            "description": { "summary": "a test", "params": {}, "result": {}, "interfaces": [] },
            "ceiling": { "kinds": ["log"] },
        },
    })
}

/// Makes an envelope around the honest statement with the changes of `patch`: an RFC 7386 merge patch under `merge`,
/// the key `by`, or its own `payload`.
pub(crate) fn envelope(component: &[u8], patch: &Value) -> String {
    let mut stated = statement(component);
    if let Some(changes) = patch.get("merge") {
        merge(&mut stated, changes);
    }
    let payload = match patch.get("payload").and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => stated.to_string().replace("@DIGEST@", &Digest::of_bytes(component).hex()),
    };
    let kind = patch.get("type").and_then(Value::as_str).unwrap_or("application/vnd.in-toto+json");
    let number = patch.get("by").and_then(Value::as_u64).unwrap_or(1);
    let key = key(u8::try_from(number).unwrap());
    let signed = format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len());
    let mut signature = key.sign(signed.as_bytes()).to_bytes().to_vec();
    if patch.get("flip").is_some() {
        signature[0] ^= 1;
    }
    let mut envelope = json!({
        "payload": base64(payload.as_bytes()),
        "payloadType": kind,
        "signatures": [{ "keyid": "", "sig": base64(&signature) }],
    });
    if let Some(changes) = patch.get("envelope") {
        merge(&mut envelope, changes);
    }
    let pad = patch.get("pad").and_then(Value::as_u64).unwrap_or(0);
    envelope.to_string() + &" ".repeat(usize::try_from(pad).unwrap())
}

pub(crate) fn merge(target: &mut Value, changes: &Value) {
    let Value::Object(changes) = changes else {
        *target = changes.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, change) in changes {
        if change.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key], change);
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 0x3f) as usize];
            text.push(if place <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

//! Verification of component bytes, with everything that must be refused.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::dsse::{Envelope, EnvelopeSignature};
use super::store::tests::entry;
use super::structure::tests::component;
use super::*;
use crate::capability::{CapabilityKind, Ceiling, ItemPattern};
use crate::limits::TaskLimits;
use crate::node::{Description, WORLD, WantedInterface};
use crate::time::Timestamp;

const AT: Timestamp = Timestamp(1_900_000_000_000);
const ID: &str = "acme/fetch";

fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32])
}

fn bytes() -> Vec<u8> {
    component(b"some bytes")
}

fn predicate() -> Predicate {
    Predicate {
        id: ID.to_owned(),
        version: "1.2.3".to_owned(),
        world: WORLD.to_owned(),
        functions: Vec::new(),
        interfaces: vec!["wasi:clocks/wall-clock@0.2.6".to_owned()],
        description: Description {
            summary: "Tells the time".to_owned(),
            params: json!({"type": "object", "properties": {"most": {"const": u64::MAX}}}),
            result: json!(true),
            interfaces: vec![WantedInterface {
                name: "wasi:clocks/wall-clock".to_owned(),
                why: "to tell it".to_owned(),
            }],
        },
        ceiling: Ceiling {
            limits: Some(TaskLimits::DEFAULT),
            ..Ceiling::from_kinds([CapabilityKind::Clocks])
        },
        limits: None,
    }
}

fn envelope(key: &SigningKey) -> String {
    sign_component(&make_statement(&bytes(), predicate()).unwrap(), key).unwrap()
}

#[test]
fn an_envelope_that_nothing_reads_is_not_signed() {
    let deep = (0..70).fold(json!(true), |inner, _| json!({ "not": inner }));
    let long = Description { summary: "s".repeat(3 << 20), ..predicate().description };
    let nested = Description { params: deep, ..predicate().description };
    for description in [long, nested] {
        let statement = make_statement(&bytes(), Predicate { description, ..predicate() });
        // A refusal by `make_statement` suffices.
        let Ok(statement) = statement else { continue };
        let refused = sign_component(&statement, &key(1)).unwrap_err();
        assert!(matches!(refused, SignError::Unreadable(_)), "{refused}");
    }
    let most = Description { summary: "s".repeat(2 << 20), ..predicate().description };
    let statement = make_statement(&bytes(), Predicate { description: most, ..predicate() }).unwrap();
    let signed = sign_component(&statement, &key(1)).unwrap();
    EnvelopeClaims::read(&signed).unwrap().countersign(&bytes(), &key(2)).unwrap();
}

/// Creates a properly signed envelope around any payload.
fn envelope_of(payload: impl Into<Vec<u8>>, key: &SigningKey) -> String {
    Envelope::sign(payload.into(), key).to_text().unwrap()
}

fn payload() -> Value {
    let payload = make_statement(&bytes(), predicate()).unwrap().to_payload().unwrap();
    serde_json::from_slice(&payload).unwrap()
}

fn store() -> TrustStore {
    TrustStore::new(vec![TrustedKey {
        ceiling: Ceiling::from_kinds([CapabilityKind::Clocks, CapabilityKind::Random]),
        ..entry("acme", &key(1), &["acme/*"])
    }])
}

fn verify(
    bytes: Vec<u8>,
    envelope: Option<&str>,
    store: &TrustStore,
    item: &str,
) -> Result<VerifiedComponent, VerifyError> {
    VerifiedComponent::verify(Arc::from(bytes), envelope, store, item, AT)
}

#[test]
fn a_signed_component_is_let_in_with_the_narrower_ceiling() {
    for item in [ID, "acme/fetch@1.2.3"] {
        let verified = verify(bytes(), Some(&envelope(&key(1))), &store(), item).unwrap();
        assert_eq!(verified.id(), ID);
        assert_eq!(verified.version(), Some("1.2.3"));
        assert_eq!(verified.statement().unwrap().predicate, predicate());
        let ceiling = verified.ceiling();
        assert_eq!(
            ceiling.kinds,
            Ceiling::from_kinds([CapabilityKind::Clocks]).kinds,
            "random is in the key's alone"
        );
        assert_eq!(ceiling.limits, Some(TaskLimits::DEFAULT));
        let ComponentStanding::Signed { key: signer, .. } = verified.standing() else { panic!("unsigned") };
        assert_eq!((signer.name.as_str(), signer.id), ("acme", key(1).id()));
    }
}

#[test]
fn a_component_under_development_stands_as_unsigned() {
    let component =
        VerifiedComponent::under_development(Arc::from(bytes()), "acme/fetch@1.2.3", &TrustStore::default())
            .unwrap();
    assert_eq!(component.standing(), &ComponentStanding::Unsigned);
    assert_eq!(component.id(), ID);
    assert!(component.statement().is_none());
    assert!(
        VerifiedComponent::under_development(Arc::from(*b"\x7fELF...."), ID, &TrustStore::default()).is_err()
    );
}

#[test]
fn what_is_required_is_not_passed_without_an_envelope() {
    let mut store = store();
    let keys = vec![store.keys[0].named()];
    let place = Some(RulePlace { file: "trust.yaml".to_owned(), line: 4 });
    let items = vec![ItemPattern::parse("acme/*").unwrap()];
    store.requirements.push(Requirement { items, threshold: 1, keys, place });
    for id in ["acme/fetch", "acme/fetch@1.2.3"] {
        let taken = VerifiedComponent::under_development(Arc::from(bytes()), id, &store).map(|_| ());
        let verified = VerifiedComponent::verify(Arc::from(bytes()), None, &store, id, AT).map(|_| ());
        for refusal in [taken, verified] {
            let error = refusal.unwrap_err();
            assert!(matches!(error, VerifyError::Required { .. }), "{error}");
            assert!(error.to_string().contains("(`require` in trust.yaml:4)"), "{error}");
            assert!(
                error.advice().contains("of the keys sign it")
                    || error.advice().contains("of these keys sign it")
            );
        }
    }
    assert!(VerifiedComponent::under_development(Arc::from(bytes()), "other/fetch", &store).is_ok());
}

#[test]
fn the_same_statement_has_the_same_envelope() {
    insta::assert_snapshot!(envelope(&key(1)));
    insta::assert_snapshot!(
        String::from_utf8(make_statement(&bytes(), predicate()).unwrap().to_payload().unwrap()).unwrap()
    );
}

/// Name, bytes, envelope, store, item.
type Case<'a> = (&'a str, Vec<u8>, Option<&'a str>, TrustStore, &'a str);

#[test]
fn each_refusal_names_the_key_and_the_rule() {
    let good = envelope(&key(1));
    let with = |change: &dyn Fn(&mut TrustedKey)| {
        let mut entry = store().keys()[0].clone();
        change(&mut entry);
        TrustStore::new(vec![entry])
    };
    let day = 86_400_000;
    let mut other = bytes();
    *other.last_mut().unwrap() ^= 1;
    let tampered = {
        let mut envelope: Value = serde_json::from_str(&good).unwrap();
        let mut forged = payload();
        forged["predicate"]["version"] = json!("1.2.4");
        let forged: Value = serde_json::from_str(&envelope_of(forged.to_string(), &key(9))).unwrap();
        envelope["payload"] = forged["payload"].clone();
        envelope.to_string()
    };
    let revoked_since = with(&|key| key.revoked = Some(Revocation::Since(Timestamp(AT.0 - day))));
    let cases: Vec<Case<'_>> = vec![
        ("a core module", b"\0asm\x01\0\0\0".to_vec(), Some(&good), store(), ID),
        ("no envelope", bytes(), None, store(), ID),
        ("not JSON", bytes(), Some("{"), store(), ID),
        ("nobody is trusted", bytes(), Some(&good), TrustStore::default(), ID),
        ("a changed payload", bytes(), Some(&tampered), store(), ID),
        ("revoked", bytes(), Some(&good), with(&|key| key.revoked = Some(Revocation::Always)), ID),
        ("revoked since", bytes(), Some(&good), revoked_since, ID),
        ("too early", bytes(), Some(&good), with(&|key| key.not_before = Some(Timestamp(AT.0 + day))), ID),
        ("too late", bytes(), Some(&good), with(&|key| key.not_after = Some(Timestamp(AT.0 - 1))), ID),
        ("another item of the key's", bytes(), Some(&good), store(), "acme/other"),
        ("another version", bytes(), Some(&good), store(), "acme/fetch@2.0.0"),
        ("not the key's item", bytes(), Some(&good), store(), "evil/fetch"),
        ("an id that acts on a terminal", bytes(), Some(&good), store(), "acme/\u{1b}[2J\u{202e}x"),
        ("other bytes", other, Some(&good), store(), ID),
    ];
    let mut lines = Vec::new();
    for (name, bytes, envelope, store, item) in cases {
        let error = verify(bytes, envelope, &store, item).unwrap_err();
        lines.push(format!("{name}\n  {error}\n  help: {}", error.advice()));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn malformed_envelopes_are_refused_with_the_reason() {
    let good: Value = serde_json::from_str(&envelope(&key(1))).unwrap();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut envelope = good.clone();
        change(&mut envelope);
        envelope.to_string()
    };
    let text = good.to_string();
    let cases = [
        String::new(),
        "[]".to_owned(),
        "[".repeat(10_000),
        text.replacen('{', r#"{"payload":"","#, 1),
        changed(&|envelope| envelope["extra"] = json!(1)),
        changed(&|envelope| envelope["payloadType"] = json!("text/plain")),
        changed(&|envelope| envelope["payload"] = json!("?")),
        changed(&|envelope| envelope["signatures"] = json!([])),
        changed(&|envelope| envelope["signatures"] = json!(vec![good["signatures"][0].clone(); 17])),
        changed(&|envelope| envelope["signatures"][0]["sig"] = json!("AAAA")),
        changed(&|envelope| envelope["signatures"][0]["sig"] = json!("!")),
        changed(&|envelope| envelope["signatures"][0]["cert"] = json!("x")),
        json!([good["payload"], good["payloadType"], good["signatures"]]).to_string(),
        changed(&|envelope| envelope["signatures"][0] = json!(["", good["signatures"][0]["sig"]])),
        " ".repeat(MAX_ENVELOPE + 1),
    ];
    let mut lines = Vec::new();
    for envelope in cases {
        let error = verify(bytes(), Some(&envelope), &store(), ID).unwrap_err();
        assert!(matches!(error, VerifyError::MalformedEnvelope { .. }), "{error}");
        lines.push(error.to_string());
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn malformed_statements_are_refused_with_the_reason() {
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut statement = payload();
        change(&mut statement);
        statement.to_string()
    };
    let text = payload().to_string();
    let mut deep = json!({});
    for _ in 0..70 {
        deep = json!([deep]);
    }
    let cases = [
        "not json".to_owned(),
        text.replacen(r#""id":"#, r#""id":"evil/x","id":"#, 1),
        text.replacen(r#""type":"object""#, r#""type":"object","type":"string""#, 1),
        changed(&|it| it["_type"] = json!("https://in-toto.io/Statement/v0.1")),
        changed(&|it| it["predicateType"] = json!("https://slsa.dev/provenance/v1")),
        changed(&|it| it["subject"] = json!([it["subject"][0], it["subject"][0]])),
        changed(&|it| it["subject"] = json!([])),
        changed(&|it| it["subject"][0]["name"] = json!("evil/x")),
        changed(&|it| it["subject"][0]["digest"]["sha512"] = json!("00")),
        changed(&|it| it["subject"][0]["digest"]["sha256"] = json!("00")),
        changed(&|it| it["more"] = json!(1)),
        changed(&|it| it["predicate"]["more"] = json!(1)),
        changed(&|it| it["predicate"]["id"] = json!("acme/../fetch")),
        changed(&|it| it["predicate"]["version"] = json!("1.2")),
        changed(&|it| it["predicate"]["world"] = json!("graph-host:node/node@9.0.0")),
        changed(&|it| it["predicate"]["interfaces"] = json!(["wasi"])),
        changed(&|it| it["predicate"]["interfaces"] = json!(["wasi:io/poll", "wasi:io/poll"])),
        changed(&|it| it["predicate"]["description"]["summary"] = json!(" ")),
        changed(&|it| it["predicate"]["world"] = json!("functions")),
        changed(&|it| it["predicate"]["functions"] = json!([{ "name": "a b", "params": {}, "result": {} }])),
        changed(&|it| it["predicate"]["functions"] = json!([["add", "", {}, {}]])),
        changed(&|it| {
            let add = json!({ "name": "add", "params": {}, "result": {} });
            it["predicate"]["functions"] = json!([add, add]);
        }),
        changed(&|it| it["predicate"]["functions"] = json!([{ "name": "add", "params": 1, "result": {} }])),
        changed(&|it| it["predicate"]["description"]["params"] = json!([])),
        changed(&|it| it["predicate"]["description"]["interfaces"][0]["why"] = json!("")),
        changed(&|it| it["predicate"]["description"]["more"] = json!("")),
        changed(&|it| it["predicate"]["description"]["result"] = deep.clone()),
        changed(&|it| it["predicate"]["ceiling"]["kinds"] = json!([])),
        changed(&|it| it["predicate"]["ceiling"]["kinds"] = json!(["log", "sockets"])),
        changed(&|it| it["predicate"]["ceiling"]["more"] = json!([])),
        changed(&|it| it["predicate"]["ceiling"]["limits"]["more"] = json!(1)),
        changed(&|it| it["predicate"]["ceiling"]["limits"]["fuel"] = json!(-1)),
        changed(&|it| it["predicate"]["ceiling"]["limits"]["model_added"] = json!({"calls": 9})),
        changed(&|it| it["predicate"]["ceiling"]["limits"]["model_asks"] = json!(true)),
        changed(&|it| it["predicate"]["limits"] = json!({"fuel": 1})),
        changed(&|it| it["predicate"]["limits"] = json!(null)),
        changed(&|it| it["predicate"]["ceiling"] = json!([["log"]])),
        changed(&|it| it["predicate"]["description"]["interfaces"][0] = json!(["a", "b"])),
        changed(&|it| _ = it["predicate"].as_object_mut().unwrap().remove("ceiling")),
    ];
    let mut lines = Vec::new();
    for statement in cases {
        let error = verify(bytes(), Some(&envelope_of(statement, &key(1))), &store(), ID).unwrap_err();
        let VerifyError::MalformedStatement { reason, .. } = error else { panic!("{error}") };
        lines.push(reason.to_string());
    }
    let error = verify(bytes(), Some(&envelope_of(*b"\xff", &key(1))), &store(), ID).unwrap_err();
    lines.push(error.to_string());
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_statement_that_would_be_refused_is_not_made() {
    let broken = Predicate { version: "one".to_owned(), ..predicate() };
    assert!(matches!(make_statement(&bytes(), broken), Err(StatementError::Field { field: "version", .. })));
}

/// Signs the same payload with several keys; each hint may be any text.
fn signed_by(keys: &[(&str, &SigningKey)]) -> String {
    let payload = make_statement(&bytes(), predicate()).unwrap().to_payload().unwrap();
    let mut envelope = Envelope::sign(payload.clone(), &key(1));
    envelope.signatures = keys
        .iter()
        .map(|(hint, key)| {
            let signature = Envelope::sign(payload.clone(), key).signatures[0].signature;
            EnvelopeSignature { keyid: (*hint).to_owned(), signature }
        })
        .collect();
    envelope.to_text().unwrap()
}

#[test]
fn a_key_id_is_a_hint_only() {
    let (one, two) = (key(1), key(2));
    let id = one.id().to_string();
    for hint in ["", "anything", two.id().to_string().as_str()] {
        assert!(verify(bytes(), Some(&signed_by(&[(hint, &one)])), &store(), ID).is_ok(), "{hint}");
    }
    let error = verify(bytes(), Some(&signed_by(&[(&id, &two)])), &store(), ID).unwrap_err();
    assert!(
        matches!(error, VerifyError::BadSignature { .. }),
        "the id of a trusted key does not make a signature good"
    );
}

#[test]
fn one_good_signature_is_enough_and_a_bad_one_does_not_hide_it() {
    let (one, two) = (key(1), key(2));
    assert!(verify(bytes(), Some(&signed_by(&[("", &two), ("", &one)])), &store(), ID).is_ok());
    let both_revoked = TrustStore::new(
        [&one, &two]
            .map(|key| TrustedKey { revoked: Some(Revocation::Always), ..entry("k", key, &["*"]) })
            .to_vec(),
    );
    let error =
        verify(bytes(), Some(&signed_by(&[("", &key(3)), ("", &one), ("", &two)])), &both_revoked, ID)
            .unwrap_err();
    let VerifyError::Refused { refusal, .. } = error else { panic!("{error}") };
    assert!(matches!(*refusal, KeyRefusal::Revoked { .. }), "{refusal}");
    let error = verify(bytes(), Some(&signed_by(&[("a", &two), ("b", &key(3))])), &store(), ID).unwrap_err();
    assert_eq!(
        error,
        VerifyError::UnknownKey { id: ID.to_owned(), keys: vec!["a".to_owned(), "b".to_owned()] }
    );
}

#[test]
fn a_second_signer_vouches_for_the_same_statement() {
    let claims = EnvelopeClaims::read(&envelope(&key(2))).unwrap();
    assert_eq!(claims.statement.predicate, predicate());
    let both = claims.countersign(&bytes(), &key(1)).unwrap();
    assert!(verify(bytes(), Some(&both), &store(), ID).is_ok());
    let other = TrustStore::new(vec![entry("two", &key(2), &["*"])]);
    assert!(verify(bytes(), Some(&both), &other, ID).is_ok());
    assert!(matches!(claims.countersign(&bytes(), &key(2)), Err(ClaimsError::AlreadySigned(_))));
    assert!(matches!(claims.countersign(b"other", &key(1)), Err(ClaimsError::OtherComponent { .. })));
}

fn flip(bytes: &mut [u8], at: prop::sample::Index, bit: u8) {
    let at = at.index(bytes.len());
    bytes[at] ^= 1 << bit;
}

proptest! {
    #[test]
    fn any_flipped_bit_is_refused(what in 0_usize..3, at: prop::sample::Index, bit in 0_u8..8) {
        let mut bytes = bytes();
        let mut payload = make_statement(&bytes, predicate()).unwrap().to_payload().unwrap();
        let signed = Envelope::sign(payload.clone(), &key(1));
        let mut signature = *signed.signatures[0].signature.as_bytes();
        match what {
            0 => flip(&mut bytes, at, bit),
            1 => flip(&mut payload, at, bit),
            _ => flip(&mut signature, at, bit),
        }
        let mut envelope = Envelope::sign(payload, &key(1));
        envelope.signatures[0].signature = Signature::from_bytes(signature);
        prop_assert!(verify(bytes, Some(&envelope.to_text().unwrap()), &store(), ID).is_err());
    }

    #[test]
    fn no_envelope_makes_it_panic(envelope in ".{0,200}", bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        prop_assert!(verify(bytes, Some(&envelope), &store(), ID).is_err());
    }

    #[test]
    fn no_payload_makes_it_panic(payload in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(verify(bytes(), Some(&envelope_of(payload, &key(1))), &store(), ID).is_err());
    }
}

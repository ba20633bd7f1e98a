//! Permission to yank, and the order of several statements.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::capability::ItemPattern;
use crate::trust::store::tests::entry;
use crate::trust::{IN_TOTO, Requirement, Revocation, TrustedKey};

const NOW: Timestamp = Timestamp(1_900_000_000_000);

fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32])
}

fn about() -> PublishedVersion {
    PublishedVersion {
        id: "acme/fetch".to_owned(),
        version: "1.2.0".to_owned(),
        manifest: Digest::of_bytes(b"manifest"),
        content: Some(content()),
        has_signed_version: true,
    }
}

fn content() -> Digest {
    Digest::of_bytes(b"content")
}

fn statement(at: u64, is_yanked: bool) -> YankStatement {
    let PublishedVersion { id, version, .. } = about();
    let subject = YankSubject::Content(content());
    YankStatement { at: Timestamp(at), id, version, subject, reason: format!("at {at}"), is_yanked }
}

/// Keys 1 to 3, for `acme/*`.
fn keys() -> Vec<TrustedKey> {
    (1..=3).map(|seed| entry(&format!("k{seed}"), &key(seed), &["acme/*"])).collect()
}

fn store() -> TrustStore {
    TrustStore::new(keys())
}

fn verify(envelope: &str) -> Result<Vec<Yank>, YankError> {
    store().verify_yank(envelope, &about(), NOW)
}

/// Returns the yank in force after statements, each given by a key, a time and `is_yanked`.
fn decided(store: &TrustStore, statements: &[(u8, u64, bool)]) -> Option<(u64, KeyId)> {
    let verified: Vec<Yank> = statements
        .iter()
        .flat_map(|(seed, at, is_yanked)| {
            let envelope = statement(*at, *is_yanked).sign(&key(*seed)).unwrap();
            store.verify_yank(&envelope, &about(), NOW).unwrap_or_default()
        })
        .collect();
    store.yank_of(&verified).map(|yank| (yank.statement().at.0, yank.key().id))
}

/// Creates a properly signed envelope around any payload.
fn envelope_of(payload: &Value) -> String {
    sign_document(YANK_TYPE, payload.to_string().into_bytes(), &key(1)).unwrap()
}

#[test]
fn a_statement_round_trips_and_always_has_the_same_bytes() {
    let wanted = statement(5, true);
    let envelope = wanted.sign(&key(1)).unwrap();
    assert_eq!(envelope, wanted.sign(&key(1)).unwrap());
    let verified = verify(&envelope).unwrap();
    let [yank] = verified.as_slice() else { panic!("{verified:?}") };
    assert_eq!((yank.statement(), yank.key().name.as_str()), (&wanted, "k1"));
    let taken_back = YankStatement { reason: String::new(), ..statement(6, false) };
    assert!(!verify(&taken_back.sign(&key(1)).unwrap()).unwrap()[0].statement().is_yanked);
}

#[test]
fn what_breaks_a_rule_is_neither_signed_nor_read() {
    let document = json!({
        "at": "2026-01-01T00:00:00.000Z", "content": content(), "id": "acme/fetch", "reason": "it leaks",
        "version": "1.2.0", "yanked": true,
    });
    assert!(verify(&envelope_of(&document)).is_ok());
    for (field, value) in [
        ("at", json!("2026-01-01")),
        ("at", json!(5)),
        ("id", json!("acme/fetch@1")),
        ("content", json!("sha256:00")),
        ("content", Value::Null),
        ("manifest", json!(about().manifest)),
        ("reason", json!("  ")),
        ("reason", json!("x".repeat(MAX_REASON + 1))),
        ("version", json!("1.2")),
        ("yanked", json!("yes")),
        ("yanked", Value::Null),
        ("more", json!(1)),
    ] {
        let mut changed = document.clone();
        changed[field] = value.clone();
        let error = verify(&envelope_of(&changed)).unwrap_err();
        assert!(
            matches!(error, YankError::Field { .. } | YankError::Shape(_)),
            "{field}: {value}: {error:?}"
        );
    }
    for payload in [json!([]), json!({}), json!(null), json!(["2026-01-01T00:00:00.000Z", "acme/fetch"])] {
        assert!(matches!(verify(&envelope_of(&payload)), Err(YankError::Shape(_))), "{payload}");
    }
    let empty = YankStatement { reason: " ".to_owned(), ..statement(5, true) };
    assert!(matches!(empty.sign(&key(1)), Err(YankError::Field { field: "reason", .. })));
}

#[test]
fn only_a_statement_about_this_very_content_counts() {
    let changes: [fn(&mut YankStatement); 5] = [
        |statement| statement.id = "acme/other".to_owned(),
        |statement| statement.version = "1.2.1".to_owned(),
        |statement| statement.subject = YankSubject::Content(Digest::of_bytes(b"other")),
        |statement| statement.subject = YankSubject::Manifest(Digest::of_bytes(b"other")),
        // The digest of a content does not count as that of a manifest.
        |statement| statement.subject = YankSubject::Manifest(content()),
    ];
    for change in changes {
        let mut other = statement(5, true);
        change(&mut other);
        assert!(matches!(verify(&other.sign(&key(1)).unwrap()), Err(YankError::Other { .. })), "{other:?}");
    }
}

#[test]
fn another_manifest_around_the_same_content_takes_no_yank_back() {
    let envelope = statement(5, true).sign(&key(1)).unwrap();
    let moved = PublishedVersion { manifest: Digest::of_bytes(b"moved"), ..about() };
    assert!(store().verify_yank(&envelope, &moved, NOW).is_ok());
    let unknown = PublishedVersion { content: None, ..about() };
    assert_eq!(store().verify_yank(&envelope, &unknown, NOW), Err(YankError::UnknownContent));
    // A statement by an unknown key is refused before any content is fetched.
    let stranger = statement(5, true).sign(&key(9)).unwrap();
    assert_eq!(store().verify_yank(&stranger, &unknown, NOW), Err(YankError::UnknownKey));
    // The artifact of a text without a version can state any version.
    let restated = PublishedVersion { version: "9.0.0".to_owned(), ..about() };
    assert!(matches!(store().verify_yank(&envelope, &restated, NOW), Err(YankError::Other { .. })));
    let restated = PublishedVersion { has_signed_version: false, ..restated };
    assert!(store().verify_yank(&envelope, &restated, NOW).is_ok());
}

#[test]
fn statements_of_the_first_format_still_count() {
    let manifest = |at, is_yanked| YankStatement {
        subject: YankSubject::Manifest(about().manifest),
        ..statement(at, is_yanked)
    };
    let envelope = manifest(5, true).sign(&key(1)).unwrap();
    assert!(envelope.contains(MANIFEST_YANK_TYPE) && !envelope.contains(YANK_TYPE));
    let verified = verify(&envelope).unwrap();
    assert_eq!(verified[0].statement(), &manifest(5, true));
    assert_eq!(YankStatement::claimed(&envelope).unwrap(), manifest(5, true));
    let yanked = |statements: &[YankStatement]| {
        let verified: Vec<_> = statements
            .iter()
            .flat_map(|statement| verify(&statement.sign(&key(1)).unwrap()).unwrap())
            .collect();
        store().yank_of(&verified).map(|yank| yank.statement().at.0)
    };
    assert_eq!(yanked(&[manifest(5, true)]), Some(5));
    assert_eq!(yanked(&[manifest(5, true), manifest(6, false)]), None);
    assert_eq!(yanked(&[manifest(5, true), statement(6, false)]), None);
    // A statement about the manifest does not take back one about the content.
    assert_eq!(yanked(&[statement(5, true), manifest(6, false)]), Some(5));
    assert_eq!(yanked(&[statement(3, true), manifest(5, true), manifest(6, false)]), Some(3));
    assert_eq!(yanked(&[statement(3, true), manifest(5, true), statement(6, false)]), None);
}

#[test]
fn other_spellings_of_a_signature_line_are_the_same_content() {
    use crate::trust::{CommentMark, TextKind, sign_text};
    let text = "version: 1.0.0\nname: hello\n";
    let signed = sign_text(TextKind::Graph, "acme/fetch", text, CommentMark::Hash, &key(1), Timestamp(1));
    assert_eq!(signed_content(&signed), Digest::of_bytes(text.as_bytes()));
    let (line, rest) = signed.split_once('\n').unwrap();
    for spelled in [format!("{line}  \n{rest}"), format!("{line}\r\n{rest}"), format!("{line}\t\n{rest}")] {
        assert_eq!(signed_content(&spelled), signed_content(&signed));
    }
    assert_ne!(signed_content(&signed.replace("hello", "other")), signed_content(&signed));
}

#[test]
fn only_a_key_that_counts_for_the_item_now_can_yank() {
    let by = |store: &TrustStore, now| {
        store.verify_yank(&statement(5, true).sign(&key(1)).unwrap(), &about(), now)
    };
    let with = |change: fn(&mut TrustedKey)| {
        let mut keys = keys();
        change(&mut keys[0]);
        by(&TrustStore::new(keys), NOW)
    };
    assert!(with(|_| ()).is_ok());
    let refused = |result: Result<_, YankError>| matches!(result, Err(YankError::Refused(_)));
    assert!(refused(with(|key| key.revoked = Some(Revocation::Always))));
    assert!(refused(with(|key| key.revoked = Some(Revocation::Since(NOW)))));
    assert!(refused(with(|key| key.not_after = Some(Timestamp(NOW.0 - 1)))));
    assert!(refused(with(|key| key.not_before = Some(Timestamp(NOW.0 + 1)))));
    assert!(refused(with(|key| key.items = vec![ItemPattern::parse("other/*").unwrap()])));
    let strangers = TrustStore::new(keys().split_off(1));
    assert_eq!(by(&strangers, NOW), Err(YankError::UnknownKey));
    assert!(strangers.has_key_for("acme/fetch", NOW) && !strangers.has_key_for("other/x", NOW));
    assert!(!TrustStore::default().has_key_for("acme/fetch", NOW));
}

#[test]
fn junk_is_refused() {
    let envelope = statement(5, true).sign(&key(1)).unwrap();
    // Naming a trusted key does not make a signature valid.
    let stranger = statement(5, true).sign(&key(9)).unwrap();
    let forged = stranger.replace(&key(9).id().to_string(), &key(1).id().to_string());
    assert!(matches!(verify(&forged), Err(YankError::BadSignature(_))));
    // A signature without a key id does not count: it would have to be tried with every key.
    let unnamed = envelope.replace(&key(1).id().to_string(), "");
    assert_eq!(verify(&unnamed), Err(YankError::UnknownKey));
    // A document of another kind that the key has signed is not a yank.
    let payload = json!({ "yanked": true }).to_string().into_bytes();
    let other = sign_document(IN_TOTO, payload, &key(1)).unwrap();
    assert!(matches!(verify(&other), Err(YankError::Envelope(EnvelopeError::PayloadType { .. }))));
    assert_eq!(verify(&" ".repeat(MAX_YANK + 1)), Err(YankError::TooLong(MAX_YANK + 1)));
    for text in ["", "{}", "[]", "null", "\u{1b}[2J"] {
        assert!(matches!(verify(text), Err(YankError::Envelope(_))), "{text}");
    }
}

#[test]
fn the_latest_statement_counts_and_at_the_same_time_the_yank() {
    let store = store();
    let by = |at: u64, seed: u8| Some((at, key(seed).id()));
    assert_eq!(decided(&store, &[]), None);
    assert_eq!(decided(&store, &[(1, 5, true)]), by(5, 1));
    assert_eq!(decided(&store, &[(1, 5, true), (2, 6, false)]), None);
    assert_eq!(decided(&store, &[(1, 6, true), (2, 5, false)]), by(6, 1));
    assert_eq!(decided(&store, &[(1, 5, true), (1, 6, false), (2, 7, true)]), by(7, 2));
    assert_eq!(decided(&store, &[(1, 5, true), (2, 5, false)]), by(5, 1));
    // Statements by unknown keys change nothing.
    assert_eq!(decided(&store, &[(9, 5, true)]), None);
    assert_eq!(decided(&store, &[(1, 5, true), (9, 6, false)]), by(5, 1));
}

#[test]
fn a_statement_of_the_future_does_not_count_before_its_time() {
    let store = store();
    let soon = NOW.0 + MOST_AHEAD_MILLIS;
    assert!(decided(&store, &[(1, soon, true)]).is_some(), "clocks differ a little");
    assert_eq!(decided(&store, &[(1, soon + 1, true)]), None);
    assert!(decided(&store, &[(1, 5, true), (1, soon + 1, false)]).is_some());
    // A clock that was wrong by years blocks nothing: later statements count.
    assert_eq!(decided(&store, &[(1, u64::MAX / 4, true), (1, 5, true), (1, 6, false)]), None);
}

#[test]
fn taking_a_yank_back_needs_as_many_keys_as_the_item() {
    let rule = Requirement {
        items: vec![ItemPattern::parse("acme/*").unwrap()],
        threshold: 2,
        keys: keys().iter().map(TrustedKey::named).collect(),
        place: None,
    };
    let store = TrustStore { requirements: vec![rule], ..store() };
    assert!(decided(&store, &[(1, 5, true)]).is_some(), "one key is enough for a yank");
    assert!(decided(&store, &[(1, 5, true), (1, 6, false), (1, 7, false)]).is_some());
    assert!(decided(&store, &[(1, 5, true), (2, 4, false), (3, 6, false)]).is_some());
    assert_eq!(decided(&store, &[(1, 5, true), (2, 7, false), (3, 6, false)]), None);
}

/// Returns other texts of an envelope, which anyone can write: spaced, in another order, with invalid signatures, or with those of two
/// keys.
fn respelled(envelope: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(envelope).unwrap();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut value = value.clone();
        change(&mut value);
        value.to_string()
    };
    let forged = json!({ "keyid": key(2).id().to_string(), "sig": value["signatures"][0]["sig"] });
    let unnamed = json!({ "keyid": "", "sig": value["signatures"][0]["sig"] });
    vec![
        format!(" {envelope}"),
        envelope.replace(',', ",\t\n "),
        serde_json::to_string(&value).unwrap(),
        with(&|it| it["signatures"].as_array_mut().unwrap().push(forged.clone())),
        with(&|it| it["signatures"].as_array_mut().unwrap().insert(0, unnamed.clone())),
        with(&|it| {
            let twice = it["signatures"][0].clone();
            it["signatures"].as_array_mut().unwrap().push(twice);
        }),
        envelope.replace('/', "\\/"),
        envelope.replace("payload\"", "p\\u0061yload\""),
    ]
}

#[test]
fn a_statement_has_one_spelling_whatever_is_around_it() {
    let envelope = statement(5, true).sign(&key(1)).unwrap();
    let of =
        |text: &str| verify(text).unwrap().iter().map(|yank| yank.envelope().to_owned()).collect::<Vec<_>>();
    let one = of(&envelope);
    assert_eq!(one.len(), 1);
    assert_eq!(of(&one[0]), one, "it is read as it is written");
    for text in respelled(&envelope) {
        assert_ne!(text, envelope);
        assert_eq!(of(&text), one, "{text}");
        assert_eq!(store().verify_yank_of_item(&text, "acme/fetch", NOW).unwrap(), verify(&text).unwrap());
    }
    // Two keys in one envelope are two statements.
    let other = statement(5, true).sign(&key(2)).unwrap();
    let mut both: Value = serde_json::from_str(&envelope).unwrap();
    let second: Value = serde_json::from_str(&other).unwrap();
    both["signatures"].as_array_mut().unwrap().push(second["signatures"][0].clone());
    assert_eq!(of(&both.to_string()), [one[0].clone(), of(&other)[0].clone()]);
}

#[test]
fn an_item_is_found_in_its_statements_whatever_its_version() {
    let other = YankStatement { version: "9.9.9".to_owned(), ..statement(5, true) };
    let other = other.sign(&key(1)).unwrap();
    assert!(matches!(verify(&other), Err(YankError::Other { .. })));
    assert_eq!(store().verify_yank_of_item(&other, "acme/fetch", NOW).unwrap().len(), 1);
    assert!(matches!(store().verify_yank_of_item(&other, "acme/other", NOW), Err(YankError::Other { .. })));
    assert!(
        store().verify_yank_of_item(&statement(5, true).sign(&key(9)).unwrap(), "acme/fetch", NOW).is_err()
    );
}

proptest! {
    /// Statements that [`deciding_yanks`] leaves out change nothing, now or together with later statements.
    #[test]
    fn what_decides_is_kept(
        first in prop::collection::vec((1u8..=3, 1u64..6, any::<bool>(), 0u8..3), 0..12),
        later in prop::collection::vec((1u8..=3, 1u64..8, any::<bool>(), 0u8..3), 0..4),
        threshold in 1u32..3,
    ) {
        let items = vec![ItemPattern::parse("acme/*").unwrap()];
        let keys = keys().iter().map(TrustedKey::named).collect();
        let rule = Requirement { items, threshold, keys, place: None };
        let store = TrustStore { requirements: vec![rule], ..store() };
        let verified = |statements: &[(u8, u64, bool, u8)]| -> Vec<Yank> {
            let verify = |(seed, at, is_yanked, number): &(u8, u64, bool, u8)| {
                let subject = YankSubject::Content(Digest::of_bytes(&[*number]));
                let envelope = YankStatement { subject, ..statement(*at, *is_yanked) }.sign(&key(*seed)).unwrap();
                store.verify_yank_of_item(&envelope, "acme/fetch", NOW).unwrap()
            };
            statements.iter().flat_map(verify).collect()
        };
        let (first, later) = (verified(&first), verified(&later));
        let kept = deciding_yanks(first.clone());
        prop_assert!(kept.len() <= first.len());
        for number in 0..3 {
            let about = |yanks: &[&[Yank]]| -> Vec<Yank> {
                let of = |yank: &&Yank| *yank.statement().subject.digest() == Digest::of_bytes(&[number]);
                yanks.iter().copied().flatten().filter(of).cloned().collect()
            };
            let (now, then) = (about(&[&first]), about(&[&first, &later]));
            let (kept_now, kept_then) = (about(&[&kept]), about(&[&kept, &later]));
            prop_assert_eq!(store.yank_of(&now), store.yank_of(&kept_now));
            prop_assert_eq!(store.yank_of(&then), store.yank_of(&kept_then));
        }
    }
}

proptest! {
    /// The order in which a registry lists statements has no effect.
    #[test]
    fn the_order_of_statements_does_not_matter(
        statements in prop::collection::vec((1u8..=4, 1u64..4, any::<bool>()), 0..6),
    ) {
        let mut backwards = statements.clone();
        backwards.reverse();
        prop_assert_eq!(decided(&store(), &statements), decided(&store(), &backwards));
    }
}

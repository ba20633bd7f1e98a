//! Yanks stay remembered, whatever a registry shows.

#![allow(clippy::unwrap_used)]

use graph_core::capability::{Ceiling, ItemPattern};
use graph_core::digest::Digest;
use graph_core::time::Timestamp;
use graph_core::trust::{Moment, SigningKey, TrustStore, TrustedKey, YankStatement, YankSubject};

use super::*;

const NOW: Timestamp = Timestamp(1_900_000_000_000);
const ID: &str = "a/b";

fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32])
}

/// Makes a trust store with one key, for `a/*`.
fn store(seed: u8) -> TrustStore {
    TrustStore::new(vec![TrustedKey {
        name: "me".to_owned(),
        key: key(seed).verifying_key(),
        items: vec![ItemPattern::parse("a/*").unwrap()],
        ceiling: Ceiling::from_kinds([]),
        not_before: None,
        not_after: None,
        revoked: None,
        succeeds: None,
    }])
}

fn envelope(seed: u8, content: usize, at: u64, is_yanked: bool) -> String {
    let statement = YankStatement {
        at: Timestamp(at),
        id: ID.to_owned(),
        version: format!("1.0.{content}"),
        subject: YankSubject::Content(Digest::of_bytes(&content.to_le_bytes())),
        reason: "it leaks".to_owned(),
        is_yanked,
    };
    statement.sign(&key(seed)).unwrap()
}

fn space() -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("space"));
    (folder, home)
}

/// Remembers envelopes, as a command with this trust store does.
fn see(home: &Home, trust: &TrustStore, envelopes: &[String]) -> Result<()> {
    let verify = |text: &String| trust.verify_yank_of_item(text, ID, NOW).unwrap();
    let seen: Vec<Yank> = envelopes.iter().flat_map(verify).collect();
    remember(home, ID, Judge { trust, at: Moment::from(NOW) }, &remembered(home, ID), &seen)
}

/// Returns the numbers of the contents that are yanked by remembered statements.
fn standing(home: &Home, trust: &TrustStore) -> Vec<usize> {
    let verify = |text: &String| trust.verify_yank_of_item(text, ID, NOW).unwrap_or_default();
    let all: Vec<Yank> = remembered(home, ID).iter().flat_map(verify).collect();
    let stands = |number: &usize| {
        let about =
            |yank: &&Yank| *yank.statement().subject.digest() == Digest::of_bytes(&number.to_le_bytes());
        trust.yank_of(&all.iter().filter(about).cloned().collect::<Vec<_>>()).is_some()
    };
    (0..300).filter(stands).collect()
}

#[test]
fn other_spellings_of_a_statement_evict_no_yank() {
    let (_folder, home) = space();
    let trust = store(1);
    see(&home, &trust, &[envelope(1, 0, 5, true)]).unwrap();
    for round in 0..3 {
        let spaced = |number: usize| format!("{}{}", " ".repeat(number), envelope(1, 1, 6, true));
        see(&home, &trust, &(0..200).map(|number| spaced(round * 200 + number)).collect::<Vec<_>>()).unwrap();
    }
    assert_eq!((standing(&home, &trust), remembered(&home, ID).len()), (vec![0, 1], 2));
}

#[test]
fn statements_about_other_content_evict_no_yank() {
    let (_folder, home) = space();
    let trust = store(1);
    see(&home, &trust, &(0..299).map(|number| envelope(1, number, 5, true)).collect::<Vec<_>>()).unwrap();
    assert_eq!(standing(&home, &trust).len(), 299);
    // Repeated yanks and withdrawals by one key are two statements.
    let again = (10..300).map(|at| envelope(1, 7, at, at % 2 == 0)).collect::<Vec<_>>();
    see(&home, &trust, &again).unwrap();
    assert_eq!((standing(&home, &trust).len(), remembered(&home, ID).len()), (298, 300));
}

#[test]
fn what_counts_for_another_trust_store_stays() {
    let (_folder, home) = space();
    see(&home, &store(1), &[envelope(1, 0, 5, true)]).unwrap();
    see(&home, &store(2), &[envelope(2, 1, 6, true)]).unwrap();
    assert_eq!((standing(&home, &store(1)), standing(&home, &store(2))), (vec![0], vec![1]));
}

#[test]
fn where_there_is_no_room_what_is_there_stays() {
    let (_folder, home) = space();
    let trust = store(1);
    see(&home, &trust, &[envelope(1, 0, 5, true)]).unwrap();
    // The list after thousands of versions.
    let other = store(2);
    let mut many = remembered(&home, ID);
    many.extend((1..MOST_REMEMBERED).map(|number| envelope(2, number, 5, true)));
    let texts: Vec<&str> = many.iter().map(String::as_str).collect();
    std::fs::write(file(&home, ID), write_list(&texts, MOST_REMEMBERED).unwrap()).unwrap();
    let before = std::fs::read(file(&home, ID)).unwrap();
    let refused = see(&home, &trust, &[envelope(1, 1, 9, true)]).unwrap_err();
    assert_eq!(refused.kind(), crate::error::Kind::Limit, "{refused:?}");
    assert_eq!(std::fs::read(file(&home, ID)).unwrap(), before);
    assert_eq!((standing(&home, &trust), standing(&home, &other).len()), (vec![0], 299));
}

#[test]
fn commands_at_the_same_time_lose_nothing() {
    let (_folder, home) = space();
    let home = &home;
    let trust = store(1);
    // Each command has read the list before the others write.
    let known: Vec<String> = Vec::new();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (known, trust) = (&known, &trust);
            scope.spawn(move || {
                let seen = trust.verify_yank_of_item(&envelope(1, number, 5, true), ID, NOW).unwrap();
                remember(home, ID, Judge { trust, at: Moment::from(NOW) }, known, &seen).unwrap();
            });
        }
    });
    assert_eq!(standing(home, &trust), (0..8).collect::<Vec<_>>());
}

#[test]
fn what_an_earlier_version_has_remembered_is_read() {
    let (_folder, home) = space();
    let trust = store(1);
    create_private_folder(&home.yanks()).unwrap();
    let old: Vec<String> = (0..128).map(|number| format!("\n{}", envelope(1, number, 5, true))).collect();
    std::fs::write(file(&home, ID), serde_json::to_vec(&old).unwrap()).unwrap();
    assert_eq!(standing(&home, &trust).len(), 128);
    see(&home, &trust, &[envelope(1, 200, 6, true)]).unwrap();
    assert_eq!((standing(&home, &trust).len(), remembered(&home, ID).len()), (129, 129));
}

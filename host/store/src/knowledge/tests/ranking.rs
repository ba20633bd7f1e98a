//! Results of searches and their order, compared with the ranking of texts in memory, and with that of SQLite, which
//! version 1 used.

use std::collections::BTreeMap;

use graph_core::ranking::{Query, Ranking, each_word};
use rusqlite::{Connection, params};

use super::support::{Numbers, store};
use crate::knowledge::KnowledgeStoreError;
use crate::knowledge::index::{WordPositions, places};

const FTS: &str = "CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2')";

#[test]
fn words_are_those_of_sqlite_whatever_the_character() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(FTS).unwrap();
    connection.execute_batch("CREATE VIRTUAL TABLE terms USING fts5vocab ('words', 'instance')").unwrap();
    // Each text has many characters, each of them between two letters.
    let characters: Vec<char> = ('\0'..=char::MAX).collect();
    let between = |character: &char| format!("a{character}b ");
    let texts: Vec<String> = characters.chunks(500).map(|some| some.iter().map(between).collect()).collect();
    let transaction = connection.unchecked_transaction().unwrap();
    for (number, text) in texts.iter().enumerate() {
        transaction
            .prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")
            .unwrap()
            .execute(params![i64::try_from(number).unwrap(), text])
            .unwrap();
    }
    let mut expected: BTreeMap<usize, Vec<(i64, String)>> = BTreeMap::new();
    let mut statement = transaction.prepare("SELECT doc, \"offset\", term FROM terms").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?))).unwrap();
    for row in rows {
        let (number, place, word) = row.unwrap();
        expected.entry(usize::try_from(number).unwrap()).or_default().push((place, word));
    }
    for (number, text) in texts.iter().enumerate() {
        let mut words = Vec::new();
        each_word(text, &mut |word| words.push(word.to_owned()));
        let mut expected = expected.remove(&number).unwrap_or_default();
        expected.sort();
        let expected: Vec<_> = expected.into_iter().map(|(_, word)| word).collect();
        assert!(words == expected, "{}", text.escape_unicode());
    }
}

#[test]
fn entries_are_ranked_as_texts_in_memory_and_as_sqlite_ranks_them() {
    let mut numbers = Numbers(11);
    let (_folder, store) = store();
    let sqlite = Connection::open_in_memory().unwrap();
    sqlite.execute_batch(FTS).unwrap();
    let mut entries: BTreeMap<String, String> = BTreeMap::new();
    let queries = [
        "fox",
        "Quick",
        "the fox",
        "\"the fox\"",
        "CAFE",
        "\"the the\" the",
        "rare7",
        "tur quick",
        "\"tür tür\"",
        "fox \"fox fox\" the brown",
        "日本",
        "none",
        "\"日本 rare3\"",
        "x1 rare1",
        "ärger x1 non",
        "\"quick brown\" \"brown quick\"",
        "fox fox Fox",
        "\u{1f600} fox",
        "\u{1f600}",
        "no\u{308}n",
        "\"cafe\u{301} no\u{308}n\"",
    ];
    let mut found_any = 0;
    for round in 0..12 {
        for _ in 0..25 {
            let key = format!("{}/{}", ["a", "b"][numbers.below(2)], numbers.below(90));
            let words = [3, 20, 200][numbers.below(3)];
            let text = numbers.text(words);
            store.put(&key, &text).unwrap();
            sqlite.execute("DELETE FROM words WHERE rowid = ?1", [number_of(&key)]).unwrap();
            sqlite
                .execute("INSERT INTO words (rowid, text) VALUES (?1, ?2)", params![number_of(&key), text])
                .unwrap();
            entries.insert(key, text);
        }
        let all: Vec<_> = entries.clone().into_iter().collect();
        for query in queries {
            for (prefix, limit) in [("", 100), ("a/", 100), ("b/1", 3), ("", 1)] {
                let Some(read) = Query::new(query) else {
                    assert_eq!(store.search(prefix, query, limit), Err(KnowledgeStoreError::NoWord));
                    continue;
                };
                let found = store.search(prefix, query, limit).unwrap();
                assert_eq!(found, ranked(&all, prefix, read, limit), "{round} {query} {prefix}");
                let keys: Vec<_> = found.into_iter().map(|(key, _)| key).collect();
                let expected = by_sqlite(&sqlite, &entries, query, prefix);
                found_any += keys.len();
                assert_eq!(keys.len(), expected.len().min(limit as usize), "{round} {query} {prefix}");
                let scores: BTreeMap<_, _> = expected.iter().cloned().collect();
                for (key, (_, best)) in keys.iter().zip(&expected) {
                    // Entries whose scores are nearly equal may be in another order.
                    let found = scores.get(key).unwrap();
                    assert!(
                        (found - best).abs() <= 1e-12 * best.abs(),
                        "{round} {query} {prefix} {key}: {found} {best}"
                    );
                }
            }
        }
    }
    assert!(found_any > 5_000, "{found_any}");
}

/// Returns the result of a search in texts in memory.
fn ranked(entries: &[(String, String)], prefix: &str, query: Query, limit: u32) -> Vec<(String, String)> {
    let mut ranking = Ranking::new(query, prefix, limit as usize);
    for (key, text) in entries {
        ranking.add(key, text);
    }
    let text_of = |key: &str| &entries.iter().find(|(other, _)| other == key).unwrap().1;
    let found = ranking.best().into_iter();
    found.map(|key| (ranking.excerpt(text_of(&key)), key)).map(|(excerpt, key)| (key, excerpt)).collect()
}

fn number_of(key: &str) -> i64 {
    let (folder, number) = key.split_once('/').unwrap();
    number.parse::<i64>().unwrap() + if folder == "a" { 0 } else { 1_000 }
}

/// Returns the entries that SQLite finds, the best first, with their scores.
fn by_sqlite(
    connection: &Connection,
    entries: &BTreeMap<String, String>,
    query: &str,
    prefix: &str,
) -> Vec<(String, f64)> {
    let keys: BTreeMap<i64, &String> = entries.keys().map(|key| (number_of(key), key)).collect();
    // The terms in the form in which version 1 passed them to SQLite.
    let mut terms: Vec<String> = Vec::new();
    for (at, part) in query.split('"').enumerate() {
        let words: Vec<_> = part
            .split(|character: char| {
                !character.is_alphanumeric() && !matches!(character, '\u{300}'..='\u{36f}')
            })
            .filter(|word| !word.is_empty())
            .collect();
        let found = if at % 2 == 1 {
            vec![words.join(" ")]
        } else {
            words.iter().map(|word| (*word).to_owned()).collect()
        };
        for term in found {
            if !term.is_empty() && !terms.contains(&term) {
                terms.push(term);
            }
        }
    }
    let terms: Vec<_> = terms.iter().map(|term| format!("\"{term}\"")).collect();
    if terms.is_empty() {
        return Vec::new();
    }
    let mut statement = connection
        .prepare("SELECT rowid, bm25(words) FROM words WHERE words MATCH ?1 ORDER BY bm25(words)")
        .unwrap();
    let rows =
        statement.query_map([terms.join(" ")], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?))).unwrap();
    let found = rows.map(|row| row.map(|(number, score)| (keys[&number].clone(), score)).unwrap());
    found.filter(|(key, _)| key.starts_with(prefix)).collect()
}

#[test]
fn places_are_stored_and_read_whatever_their_distance() {
    for expected in [vec![], vec![0], vec![0, 1, 2], vec![127, 128, 300, 70_000, 5_000_000]] {
        let mut stored = WordPositions::default();
        for place in &expected {
            stored.push(*place);
        }
        assert_eq!(places(&stored.bytes).collect::<Vec<_>>(), expected);
    }
    for damaged in [&[0x80][..], &[0xff; 9], &[0xff, 0xff, 0xff, 0xff, 0x0f, 0x01]] {
        assert!(places(damaged).count() <= 1);
    }
}

#[test]
fn a_text_of_many_words_is_indexed_in_time() {
    let (_folder, store) = store();
    let text = |salt: usize| {
        (0..20_000).map(|number| format!("{:x}", number * 7 + salt)).collect::<Vec<_>>().join(" ")
    };
    let (first, second) = (text(0), text(3));
    assert!(first.len() < 1 << 20);
    for text in [&first, &second, &first] {
        store.put("a/large", text).unwrap();
    }
    assert_eq!(store.search("", "7", 10).unwrap().len(), 1);
    assert_eq!(store.search("", "a", 10).unwrap().len(), 0, "of the second text");
}

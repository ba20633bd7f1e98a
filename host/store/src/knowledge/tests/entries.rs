//! Writing, reading, listing and searching of entries.

use rusqlite::Connection;

use super::support::{file, store};
use crate::KnowledgeStore;
use crate::knowledge::error::LONGEST_SEARCH;
use crate::knowledge::{KnowledgeStoreError, VERSION};

#[test]
fn texts_are_found_again() {
    let (folder, store) = store();
    assert_eq!(store.get("a/b").unwrap(), None);
    assert!(!folder.path().join(".ai").exists(), "reading makes nothing");
    store.put("a/b", "one").unwrap();
    store.put("a/b", "one").unwrap();
    store.put("a/b", "two").unwrap();
    assert_eq!(store.get("a/b").unwrap().as_deref(), Some("two"));
    let other = KnowledgeStore::at(&folder.path().join(".ai/state/knowledge.db"));
    assert_eq!(other.get("a/b").unwrap().as_deref(), Some("two"));
    assert_eq!(other.search("", "one", 10).unwrap(), []);
}

#[test]
fn words_are_searched_below_a_prefix() {
    let (_folder, store) = store();
    store.put("acme/plans", "The quick brown fox\njumps over the café").unwrap();
    store.put("acme/notes", "A quick note, and another quick note about brown paint").unwrap();
    store.put("other/plans", "quick brown").unwrap();
    let keys = |prefix: &str, query: &str| -> Vec<String> {
        store.search(prefix, query, 10).unwrap().into_iter().map(|(key, _)| key).collect()
    };
    assert_eq!(keys("acme/", "QUICK brown").len(), 2);
    assert_eq!(keys("", "quick brown").len(), 3);
    assert_eq!(keys("acme/", "\"quick brown\""), ["acme/plans"]);
    assert_eq!(keys("acme/", "cafe"), ["acme/plans"]);
    assert_eq!(keys("acme%", "quick"), Vec::<String>::new());
    assert_eq!(store.search("", "fox", 10).unwrap()[0].1, "The quick brown fox jumps over the café");
    for query in ["fox OR note", "text:fox", "fo*", "NEAR(quick note)", "\"", "a^b"] {
        store.search("", query, 10).ok();
    }
    assert_eq!(keys("", "fox OR note"), Vec::<String>::new(), "`OR` is a word");
    assert_eq!(store.search("", " *\"' ", 10), Err(KnowledgeStoreError::NoWord));
}

#[test]
fn an_excerpt_is_around_the_first_hit() {
    let (_folder, store) = store();
    let text = format!("{}the\n needle, {}", "hay ".repeat(100), "straw ".repeat(100));
    store.put("a", &text).unwrap();
    store.put("b", &"x".repeat(600)).unwrap();
    let found = store.search("", "Needle \"needle straw\"", 10).unwrap();
    let (before, after) = ("hay ".repeat(7), " straw".repeat(15));
    assert_eq!(found, [("a".to_owned(), format!("… {before}the needle,{after} …"))]);
    assert_eq!(store.search("", &"x".repeat(600), 1).unwrap()[0].1.len(), 500);
}

#[test]
fn a_search_ends_whatever_is_stored() {
    let (_folder, store) = store();
    let text = "a b c d e f g h i j ".repeat(2_500);
    for number in 0..400 {
        store.put(&format!("k{number}"), &text).unwrap();
    }
    let began = std::time::Instant::now();
    let query = "a b c d e f g h i j \"a b\" \"b c\" \"c d\" \"d e\" \"e f\" \"f g\" \"g h\" \"h i\"";
    let found = store.search("", query, 100);
    assert!(began.elapsed() < 5 * LONGEST_SEARCH, "{:?}", began.elapsed());
    assert!(found == Err(KnowledgeStoreError::Slow) || found.is_ok_and(|hits| hits.len() == 100));
    // The interrupted search changed nothing, and a search that ended in time interrupts no later call.
    assert_eq!(store.get("k1").unwrap().as_deref(), Some(text.as_str()));
}

#[test]
fn keys_are_listed_in_order() {
    let (_folder, store) = store();
    for key in ["b/2", "a/1", "b/1", "b/10", "c"] {
        store.put(key, "x").unwrap();
    }
    assert_eq!(store.list("b/", None, 10).unwrap(), ["b/1", "b/10", "b/2"]);
    assert_eq!(store.list("b/", Some("b/1"), 1).unwrap(), ["b/10"]);
    assert_eq!(store.list("", None, 2).unwrap(), ["a/1", "b/1"]);
}

#[test]
fn there_is_an_end_to_it() {
    let (_folder, store) = store();
    let large = "x".repeat(100 << 20);
    store.put("a", &large).unwrap();
    store.put("b", &large).unwrap();
    assert!(matches!(store.put("c", &large), Err(KnowledgeStoreError::Full { entries: 3, .. })));
    assert_eq!(store.get("c").unwrap(), None);
    store.put("b", "small").unwrap();
    store.put("c", &large).unwrap();
}

#[test]
fn a_newer_file_is_refused() {
    let (folder, store) = store();
    let path = file(&folder);
    store.put("a", "one").unwrap();
    let set = |version: i64| {
        Connection::open(&path).unwrap().pragma_update(None, "user_version", version).unwrap();
    };
    let reopened = || KnowledgeStore::at(&path).get("a");
    set(VERSION + 1);
    let error = reopened().unwrap_err();
    assert!(matches!(error, KnowledgeStoreError::Newer { found: 3, .. }), "{error}");
    assert!(error.to_string().ends_with("it was left unchanged; use a newer graph-host"), "{error}");
    set(VERSION);
    assert!(reopened().is_ok());
}

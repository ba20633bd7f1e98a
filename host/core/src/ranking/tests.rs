#![allow(clippy::unwrap_used)]

use super::{BestEntries, Query, Ranking, each_word};

fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each_word(text, &mut |word| words.push(word.to_owned()));
    words
}

#[test]
fn words_are_compared_without_case_and_accents() {
    assert_eq!(words("The CAFÉ, cafe\u{301}: x_1 Ärger"), ["the", "cafe", "cafe", "x", "1", "arger"]);
    assert_eq!(words("ΣΊΣΥΦΟΣ ЁЛКА 日本語 ǅ"), ["σίσυφοσ", "ёлка", "日本語", "ǆ"]);
    assert_eq!(words("\u{301} - \u{1f600}"), Vec::<String>::new());
    assert_eq!(words(&"x".repeat(40_000))[0].len(), 32_768);
}

#[test]
fn a_query_has_words_and_phrases_and_no_operators() {
    let phrases = |query: &str| Query::new(query).unwrap().phrases().to_vec();
    assert_eq!(phrases("fox OR (Fox) fox* \"quick brown\" \""), [&["fox"][..], &["or"], &["quick", "brown"]]);
    assert_eq!(phrases("a-b"), [["a"], ["b"]]);
    assert_eq!(phrases("\"a-b\""), [["a", "b"]]);
    assert_eq!(phrases("\u{24b6} x"), [["x"]], "a character that no word of a text consists of");
    assert_eq!(phrases(&(0..100).map(|number| format!("w{number}")).collect::<Vec<_>>().join(" ")).len(), 32);
    assert_eq!(phrases("cafe\u{301}s \"cafe\u{301}\" CAFÉ"), [["cafes"], ["cafe"]], "accents of either form");
    for none in ["", " *\"' ", "\"\"", "\u{24b6}"] {
        assert_eq!(Query::new(none), None, "{none}");
    }
}

fn entries<const N: usize>(entries: [(&str, &str); N]) -> Vec<(String, String)> {
    entries.map(|(key, text)| (key.to_owned(), text.to_owned())).to_vec()
}

#[test]
fn entries_below_a_prefix_are_ranked_best_first() {
    let entries = entries([
        ("a/long", "the fox and much else, and more, and still more, and no end"),
        ("a/short", "the fox"),
        ("a/twice", "the fox, the fox"),
        ("b/short", "the fox"),
        ("c/other", "another text"),
        ("c/same", "one more text"),
    ]);
    let keys = |prefix: &str, query: &str, limit: usize| -> Vec<String> {
        let query = Query::new(query).unwrap();
        let mut ranking = Ranking::new(query, prefix, limit);
        for (key, text) in &entries {
            ranking.add(key, text);
        }
        ranking.best()
    };
    assert_eq!(keys("", "fox", 10), ["a/twice", "a/short", "b/short", "a/long"]);
    assert_eq!(keys("", "fox", 2), ["a/twice", "a/short"]);
    assert_eq!(keys("", "fox", 0), Vec::<String>::new());
    assert_eq!(keys("a/", "\"fox the\"", 10), ["a/twice"]);
    assert_eq!(keys("b", "the FOX", 10), ["b/short"]);
    assert_eq!(keys("", "fox text", 10), Vec::<String>::new());
    assert_eq!(Ranking::new(Query::new("fox").unwrap(), "", 10).best(), Vec::<String>::new());
}

#[test]
fn only_the_best_are_kept() {
    let mut best = BestEntries::new(3);
    for (number, score) in [0.5, 2.0, 1.0, 2.0, 0.1, 3.0, f64::NEG_INFINITY].into_iter().enumerate() {
        best.offer(score, &format!("k{}", 9 - number), number);
    }
    assert_eq!(best.into_hits().map(|(_, number)| number).collect::<Vec<_>>(), [5, 3, 1]);
}

#[test]
fn an_excerpt_is_around_the_first_hit() {
    let excerpt = |query: &str, text: &str| Query::new(query).unwrap().excerpt(text);
    let text = format!("{}the\n needle, {}", "hay ".repeat(100), "straw ".repeat(100));
    let (before, after) = ("hay ".repeat(7), " straw".repeat(15));
    assert_eq!(excerpt("Needle", &text), format!("… {before}the needle,{after} …"));
    assert_eq!(excerpt("none", "short\n text"), "short text");
    assert_eq!(excerpt("é", &"é".repeat(300)), "é".repeat(250));
    // What is cut off is told, whatever the words are that do not fit.
    for word in [20, 21, 24, 50, 100, 400, 499, 500, 501, 600].map(|length| "w".repeat(length)) {
        for count in [2, 3, 10, 24, 25, 60] {
            let text = vec![word.as_str(); count].join(" ");
            let shown = excerpt("none", &text);
            assert!(shown.len() <= 500, "{shown}");
            assert!(shown == text || shown.ends_with(" …"), "{} × {count}: {shown}", word.len());
        }
    }
    assert_eq!(excerpt("cafe", "a cafe\u{301}, CAFÉ"), "a cafe\u{301}, CAFÉ");
    assert_eq!(
        excerpt("needle", &format!("{}needle", "straw ".repeat(20_000))),
        format!("straw{} …", " straw".repeat(23))
    );
    assert!(excerpt("x", &"x".repeat(1 << 20)).len() <= 500);
}

//! Search among items: an integer score that depends only on the query and the text.

/// Largest number of words of a query; the rest is ignored.
const MOST_TERMS: usize = 32;
/// Largest number of occurrences of a word that count within one field.
const MOST_HITS: u64 = 5;
/// Length of an excerpt around a match, in characters.
const SNIPPET: usize = 160;

/// A part of an item that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SearchField {
    Id,
    Title,
    Tags,
    Description,
    Body,
}

/// Every field, the weightiest first, with its name in params.
pub const SEARCH_FIELDS: [(&str, SearchField); 5] = [
    ("id", SearchField::Id),
    ("title", SearchField::Title),
    ("tags", SearchField::Tags),
    ("description", SearchField::Description),
    ("body", SearchField::Body),
];

impl SearchField {
    const fn weight(self) -> u64 {
        match self {
            Self::Id => 10,
            Self::Title => 8,
            Self::Tags => 6,
            Self::Description => 4,
            Self::Body => 1,
        }
    }
}

/// The searchable fields of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchableFields {
    /// The id by which a match is listed.
    pub id: String,
    /// The title; empty where the text has none.
    pub title: String,
    /// The tags of its metadata.
    pub tags: Vec<String>,
    /// The description of its metadata.
    pub description: String,
    /// The text after its metadata.
    pub body: String,
}

/// The words of a query, and the searched fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery {
    terms: Vec<String>,
    fields: Vec<SearchField>,
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

impl SearchQuery {
    /// Creates a query of words in these fields; in all fields if none is given.
    pub fn new(text: &str, fields: &[SearchField]) -> Self {
        let mut terms: Vec<String> = Vec::new();
        for word in words(text) {
            if terms.len() < MOST_TERMS && !terms.contains(&word) {
                terms.push(word);
            }
        }
        let all = SEARCH_FIELDS.map(|(_, field)| field);
        let fields = all.into_iter().filter(|field| fields.is_empty() || fields.contains(field)).collect();
        Self { terms, fields }
    }

    /// Returns the score of an item; `None` if it does not match. A query without words matches every item equally.
    ///
    /// Each word counts by the fields that contain it, twice as much as the beginning of a longer word; an item with more of the words
    /// precedes one with fewer of them more often.
    pub fn score(&self, item: &SearchableFields) -> Option<u64> {
        if self.terms.is_empty() {
            return Some(0);
        }
        // The beginning of a longer word counts if the term has at least three characters.
        let begins: Vec<bool> = self.terms.iter().map(|term| term.chars().nth(2).is_some()).collect();
        let mut scores = vec![0; self.terms.len()];
        for field in &self.fields {
            let mut hits = vec![0; self.terms.len()];
            let mut look = |text: &str| {
                for word in words(text) {
                    for ((term, begins), hits) in self.terms.iter().zip(&begins).zip(&mut hits) {
                        if word == *term {
                            *hits += 2;
                        } else if *begins && word.starts_with(term.as_str()) {
                            *hits += 1;
                        }
                    }
                }
            };
            match field {
                SearchField::Id => look(&item.id),
                SearchField::Title => look(&item.title),
                SearchField::Tags => item.tags.iter().for_each(|tag| look(tag)),
                SearchField::Description => look(&item.description),
                SearchField::Body => look(&item.body),
            }
            for (score, hits) in scores.iter_mut().zip(hits) {
                *score += field.weight() * u64::min(hits, 2 * MOST_HITS);
            }
        }
        let matched = scores.iter().filter(|score| **score > 0).count() as u64;
        (matched > 0).then(|| matched * scores.iter().sum::<u64>())
    }

    /// Returns an excerpt of the body around the first match, on one line; its beginning if there is none.
    pub fn snippet(&self, item: &SearchableFields) -> String {
        let text = item.body.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut hit = 0;
        let mut begin = None;
        for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
            match (begin, c.is_alphanumeric()) {
                (None, true) => begin = Some(at),
                (Some(start), false) => {
                    begin = None;
                    let word = text[start..at].to_lowercase();
                    if self.terms.iter().any(|term| word.starts_with(term.as_str())) {
                        hit = start;
                        break;
                    }
                }
                _ => {}
            }
        }
        // One third of the excerpt precedes the match, from the beginning of a word on.
        let before: Vec<_> = text[..hit].char_indices().rev().take(SNIPPET / 3).collect();
        let from = before
            .iter()
            .rev()
            .find(|(at, c)| *at == 0 || *c == ' ')
            .map_or(hit, |(at, c)| if *c == ' ' { at + 1 } else { *at });
        let piece = &text[from..];
        let (piece, cut) = match piece.char_indices().nth(SNIPPET) {
            Some((at, _)) => (&piece[..at], true),
            None => (piece, false),
        };
        format!("{}{piece}{}", if from > 0 { "…" } else { "" }, if cut { "…" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, title: &str, body: &str) -> SearchableFields {
        SearchableFields {
            id: id.to_owned(),
            title: title.to_owned(),
            body: body.to_owned(),
            ..SearchableFields::default()
        }
    }

    #[test]
    fn weightier_fields_more_words_and_whole_words_count_more() {
        let query = SearchQuery::new("Signed graphs, signed", &[]);
        let score = |id: &str, title: &str, body: &str| query.score(&item(id, title, body));
        let both = score("a", "", "graphs that are signed");
        assert!(score("a", "signed", "") > score("a", "", "signed"));
        assert!(score("graphs/x", "", "") > score("a", "graphs", ""));
        assert!(both > score("a", "", "signed signed"));
        assert!(score("a", "", "signed") > score("a", "", "signedness"));
        assert_eq!(score("a", "sign", "graph"), None);
        // Further repetitions of a word do not count.
        let often = "signed ".repeat(100);
        assert_eq!(score("a", "", &often), score("a", "", &"signed ".repeat(5)));
        assert_eq!(SearchQuery::new(" ,-", &[]).score(&item("a", "", "")), Some(0));
        let titles = SearchQuery::new("graphs", &[SearchField::Title]);
        assert_eq!(titles.score(&item("graphs", "", "graphs")), None);
        let twice = SearchQuery::new("graphs", &[SearchField::Title; 2]);
        assert_eq!(twice.score(&item("", "graphs", "")), titles.score(&item("", "graphs", "")));
    }

    #[test]
    fn a_snippet_shows_the_first_hit() {
        let body = format!("{} The  digest\nis signed. {}", "before ".repeat(40), "after ".repeat(60));
        let shown = SearchQuery::new("DIGEST", &[]).snippet(&item("a", "", &body));
        assert!(shown.starts_with("…before ") && shown.contains("The digest is signed. after"), "{shown}");
        assert!(shown.ends_with('…') && shown.chars().count() <= SNIPPET + 2, "{shown}");
        assert_eq!(SearchQuery::new("none", &[]).snippet(&item("a", "", "short é\n text")), "short é text");
        assert_eq!(SearchQuery::new("x", &[]).snippet(&item("a", "", "")), "");
    }
}

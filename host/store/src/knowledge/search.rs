//! Searches in the index of words. [`graph_core::ranking`] defines words and scores.
//!
//! The work depends on the number of entries that contain the words of a query, and not on the number of all entries.

use graph_core::ranking::{BestEntries, Query, Totals, Weights};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::error::Result;
use super::index::places;
use super::time_limit::TimeLimit;

/// Maximum number of bytes that are read of the positions of a word in a text. A text of the maximum size has fewer.
const MOST_PLACES: i64 = 4 << 20;

/// The entries that contain a word or a phrase, in order, each with its number of occurrences.
type EntryCounts = Vec<(i64, u32)>;

/// Returns keys with excerpts of the entries below a prefix that contain all phrases of a query, the best first.
pub(super) fn search(
    connection: &Connection,
    prefix: &str,
    query: &Query,
    limit: u32,
    time: &TimeLimit,
) -> Result<Vec<(String, String)>> {
    let mut phrases: Vec<EntryCounts> = Vec::new();
    for words in query.phrases() {
        let holding = holding_phrase(connection, words, time)?;
        if holding.is_empty() {
            return Ok(Vec::new());
        }
        phrases.push(holding);
    }
    // Only the entries with the rarest phrase can contain all of them.
    let Some(rarest) = phrases.iter().min_by_key(|holding| holding.len()) else { return Ok(Vec::new()) };
    let counts: Vec<u32> = phrases.iter().map(|holding| number(holding.len())).collect();
    let totals = connection.query_row("SELECT entries, words FROM total", [], |row| {
        Ok(Totals { entries: number(row.get::<_, i64>(0)?), words: number(row.get::<_, i64>(1)?) })
    })?;
    let weights = Weights::new(totals, &counts);
    let mut best = BestEntries::new(limit as usize);
    let mut described = connection.prepare_cached(
        "SELECT texts.key, lengths.words FROM texts JOIN lengths ON lengths.entry = texts.id
             WHERE texts.id = ?1",
    )?;
    for (entry, _) in rarest {
        time.check()?;
        let times = |holding: &EntryCounts| {
            holding.binary_search_by_key(entry, |(other, _)| *other).ok().map(|at| holding[at].1)
        };
        let Some(counts) = phrases.iter().map(times).collect::<Option<Vec<_>>>() else { continue };
        let found = described
            .query_row([entry], |row| Ok((row.get::<_, String>(0)?, number(row.get::<_, i64>(1)?))))
            .optional()?;
        if let Some((key, words)) = found.filter(|(key, _)| key.starts_with(prefix)) {
            best.offer(weights.score(&counts, words), &key, *entry);
        }
    }
    let mut text = connection.prepare_cached("SELECT text FROM texts WHERE id = ?1")?;
    let excerpt = |(key, entry): (String, i64)| {
        time.check()?;
        let text: String = text.query_row([entry], |row| row.get(0))?;
        Ok((key, query.excerpt(&text)))
    };
    best.into_hits().map(excerpt).collect()
}

/// Converts a number from a file, which may have any value, into the range of `u32`.
fn number<N: TryInto<u32> + Default + PartialOrd>(stored: N) -> u32 {
    if stored < N::default() { 0 } else { stored.try_into().unwrap_or(u32::MAX) }
}

/// Returns the entries that contain a word.
fn holding_word(connection: &Connection, word: &str) -> Result<EntryCounts> {
    let mut all =
        connection.prepare_cached("SELECT entry, times FROM words WHERE word = ?1 ORDER BY entry")?;
    let rows = all.query_map([word], |row| Ok((row.get(0)?, number(row.get::<_, i64>(1)?))))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the entries that contain words one after the other. Only those with the rarest word are examined.
fn holding_phrase(connection: &Connection, words: &[String], time: &TimeLimit) -> Result<EntryCounts> {
    let mut rarest: Option<EntryCounts> = None;
    for word in words {
        time.check()?;
        let holding = holding_word(connection, word)?;
        if rarest.as_ref().is_none_or(|rarest| holding.len() < rarest.len()) {
            rarest = Some(holding);
        }
    }
    let rarest = rarest.unwrap_or_default();
    if words.len() == 1 {
        return Ok(rarest);
    }
    let mut one = connection.prepare_cached(
        "SELECT iif(octet_length(places) > ?3, NULL, places) FROM words WHERE word = ?1 AND entry = ?2",
    )?;
    let mut found = Vec::new();
    for (entry, _) in rarest {
        // The positions at which the phrase may begin.
        let mut begins: Option<Vec<u32>> = None;
        for (at, word) in (0..).zip(words) {
            time.check()?;
            let mut rows = one.query(params![word, entry, MOST_PLACES])?;
            let Some(row) = rows.next()? else {
                begins = None;
                break;
            };
            let places = places(row.get_ref(0)?.as_blob().unwrap_or_default());
            let places = places.filter_map(|place| place.checked_sub(at));
            let common = match &begins {
                Some(begins) => common(begins, places),
                None => places.collect(),
            };
            let is_empty = common.is_empty();
            begins = Some(common);
            if is_empty {
                break;
            }
        }
        match begins {
            Some(begins) if !begins.is_empty() => found.push((entry, number(begins.len()))),
            _ => {}
        }
    }
    Ok(found)
}

/// Returns the numbers that two ascending sequences have in common.
fn common(numbers: &[u32], others: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut others = others.peekable();
    let mut is_common = |number: &&u32| {
        while others.next_if(|other| other < *number).is_some() {}
        others.peek() == Some(*number)
    };
    numbers.iter().filter(|number| is_common(number)).copied().collect()
}

//! The index of words: the entries that contain a word, and its number and positions in each.

use std::collections::BTreeMap;

use graph_core::ranking::each_word;
use rusqlite::{Connection, params};

use super::error::Result;

/// The words of a text.
#[derive(Default)]
struct Words {
    /// The positions of each word.
    places: BTreeMap<String, WordPositions>,
    /// Number of words in the text.
    length: u32,
}

/// The number and the positions of a word in a text.
#[derive(Default)]
pub(super) struct WordPositions {
    times: u32,
    /// The distance of each position from the end of the one before, in groups of seven bits, the lowest first.
    pub(super) bytes: Vec<u8>,
    /// One more than the last position.
    end: u32,
}

impl WordPositions {
    /// Adds the next position.
    pub(super) fn push(&mut self, place: u32) {
        let mut distance = place.saturating_sub(self.end);
        while distance >= 128 {
            self.bytes.push(distance.to_le_bytes()[0] | 128);
            distance >>= 7;
        }
        self.bytes.push(distance.to_le_bytes()[0]);
        (self.times, self.end) = (self.times + 1, place.saturating_add(1));
    }
}

/// Decodes the positions of a word. Bytes that this program has not written give other positions, and no error.
pub(super) fn places(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let (mut bytes, mut end) = (bytes.iter(), 0_u32);
    std::iter::from_fn(move || {
        let (mut distance, mut shift) = (0_u32, 0);
        loop {
            let byte = u32::from(*bytes.next()?);
            distance |= (byte & 127).checked_shl(shift)?;
            if byte < 128 {
                break;
            }
            shift += 7;
        }
        let place = end.checked_add(distance)?;
        end = place.checked_add(1)?;
        Some(place)
    })
}

fn words(text: &str) -> Words {
    let mut words = Words::default();
    each_word(text, &mut |word| {
        match words.places.get_mut(word) {
            Some(places) => places.push(words.length),
            None => words.places.entry(word.to_owned()).or_default().push(words.length),
        }
        words.length = words.length.saturating_add(1);
    });
    words
}

/// Indexes the text of a new entry.
pub(super) fn add(connection: &Connection, entry: i64, text: &str) -> Result<()> {
    let added = words(text);
    change(connection, entry, &Words::default(), &added)?;
    connection
        .prepare_cached("INSERT INTO lengths (entry, words) VALUES (?1, ?2)")?
        .execute(params![entry, added.length])?;
    connection
        .prepare_cached("UPDATE total SET entries = entries + 1, bytes = bytes + ?1, words = words + ?2")?
        .execute(params![bytes(text), added.length])?;
    Ok(())
}

/// Replaces the text of an entry in the index.
pub(super) fn replace(connection: &Connection, entry: i64, old: &str, text: &str) -> Result<()> {
    let (removed, added) = (words(old), words(text));
    change(connection, entry, &removed, &added)?;
    connection
        .prepare_cached("UPDATE lengths SET words = ?2 WHERE entry = ?1")?
        .execute(params![entry, added.length])?;
    connection
        .prepare_cached("UPDATE total SET bytes = bytes + ?1, words = words + ?2")?
        .execute(params![bytes(text) - bytes(old), i64::from(added.length) - i64::from(removed.length)])?;
    Ok(())
}

fn bytes(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

/// Stores the words that an entry has gained, and removes those that it has lost. It does so in the order of the words,
/// because these are neighbours in the index.
fn change(connection: &Connection, entry: i64, old: &Words, new: &Words) -> Result<()> {
    let mut remove = connection.prepare_cached("DELETE FROM words WHERE word = ?1 AND entry = ?2")?;
    for word in old.places.keys().filter(|word| !new.places.contains_key(*word)) {
        remove.execute(params![word, entry])?;
    }
    let mut store = connection.prepare_cached(
        "INSERT OR REPLACE INTO words (word, entry, times, places) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for (word, WordPositions { times, bytes, .. }) in &new.places {
        if old.places.get(word).is_none_or(|places| places.bytes != *bytes) {
            store.execute(params![word, entry, times, bytes])?;
        }
    }
    Ok(())
}

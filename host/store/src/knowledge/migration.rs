//! Migration of a file of version 1.

use rusqlite::{Connection, OptionalExtension as _};

use super::error::{KnowledgeStoreError, Result};
use super::index;
use super::schema::{INDEX, VERSION};
use super::store::{MAX_BYTES, MAX_ENTRIES};
use crate::sqlite::guard::Meter;

/// The statements that remove what only version 1 had, and rename the table of texts.
const REPLACE_1: &str = "DROP TRIGGER added; DROP TRIGGER changed; DROP TABLE words; DROP TABLE total;
    ALTER TABLE entries RENAME TO texts;";
/// Maximum length of a text, in bytes. It is more than components can write.
const LONGEST_TEXT: i64 = 4 << 20;
/// Maximum total size of texts that are indexed within the time limit of one call, in bytes.
const MOST_IN_A_CALL: i64 = 4 << 20;

/// The amount of work that a migration may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MigrationEffort {
    /// As much as the time limit of a call allows.
    Call,
    /// As much as the knowledge of any project requires.
    Whole,
}

/// Replaces the index of a file of version 1, within a transaction. `file` is the name of the file in messages.
pub(super) fn migrate(
    connection: &Connection,
    meter: &Meter,
    effort: MigrationEffort,
    file: &str,
) -> Result<()> {
    if effort == MigrationEffort::Whole {
        meter.begin();
    }
    // The lengths of texts are read without the texts.
    let sizes = "SELECT count(*), ifnull(sum(octet_length(text)), 0), ifnull(max(octet_length(text)), 0) FROM entries";
    let (entries, bytes, longest): (i64, i64, i64) =
        connection.query_row(sizes, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    if entries > MAX_ENTRIES || bytes > MAX_BYTES || longest > LONGEST_TEXT {
        return Err(KnowledgeStoreError::Altered(format!("{file}: it holds more than a project may")));
    }
    if effort == MigrationEffort::Call && bytes > MOST_IN_A_CALL {
        return Err(KnowledgeStoreError::Older(file.to_owned()));
    }
    connection.execute_batch(REPLACE_1)?;
    connection.execute_batch(INDEX)?;
    let mut next = connection.prepare("SELECT id, text FROM texts WHERE id > ?1 ORDER BY id LIMIT 1")?;
    let mut last = None;
    loop {
        if effort == MigrationEffort::Whole {
            // The amount of work depends on the texts, so that the meter starts again for each.
            meter.begin();
        }
        let entry =
            next.query_row([last.unwrap_or(i64::MIN)], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)));
        let Some((id, text)) = entry.optional()? else { break };
        index::add(connection, id, &text)?;
        last = Some(id);
    }
    Ok(connection.pragma_update(None, "user_version", VERSION)?)
}

//! A database whose pages contain each other, so that a table has rows without end.

use std::path::Path;

const PAGE: usize = 4_096;
/// Number of references from a page to the next one.
const CELLS: u16 = 300;

/// Inserts this number of levels of pages before a table of one page: each level multiplies its rows by 300.
pub(super) fn repeat(file: &Path, table: &str, levels: u64) {
    let root = {
        let database = rusqlite::Connection::open(file).unwrap();
        let root = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
        database.query_row(root, [table], |row| row.get::<_, u32>(0)).unwrap()
    };
    let mut bytes = std::fs::read(file).unwrap();
    let at = (root as usize - 1) * PAGE;
    let leaf = bytes[at..at + PAGE].to_vec();
    assert_eq!(leaf[0], 0x0d, "the table has one page");
    let end = |bytes: &[u8]| u32::try_from(bytes.len() / PAGE).unwrap();
    bytes.extend(leaf);
    for level in 1..=levels {
        let page = inner(end(&bytes));
        if level == levels {
            bytes[at..at + PAGE].copy_from_slice(&page);
        } else {
            bytes.extend(page);
        }
    }
    let pages = end(&bytes);
    bytes[28..32].copy_from_slice(&pages.to_be_bytes());
    std::fs::write(file, bytes).unwrap();
}

/// Makes an inner page of a table whose cells all point to one other page.
fn inner(next: u32) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    page[0] = 0x05;
    page[3..5].copy_from_slice(&CELLS.to_be_bytes());
    let mut content = PAGE;
    for cell in 0..CELLS {
        content -= 6;
        let key = cell + 1;
        page[content..content + 4].copy_from_slice(&next.to_be_bytes());
        page[content + 4] = 0x80 | u8::try_from(key >> 7).unwrap();
        page[content + 5] = u8::try_from(key & 0x7f).unwrap();
        let pointer = 12 + 2 * usize::from(cell);
        page[pointer..pointer + 2].copy_from_slice(&u16::try_from(content).unwrap().to_be_bytes());
    }
    page[5..7].copy_from_slice(&u16::try_from(content).unwrap().to_be_bytes());
    page[8..12].copy_from_slice(&next.to_be_bytes());
    page
}

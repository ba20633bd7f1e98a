//! The characters of words: the tables of SQLite's tokenizer `unicode61 remove_diacritics 2`, which are of Unicode 6.1.
//!
//! They do not follow later versions of Unicode: with other tables, the words of an index would differ from those of its texts. A test
//! of `graph-store` compares every character with SQLite.

use std::sync::LazyLock;

/// Characters of words, beyond ASCII. For each range: its distance from the end of the preceding one, and the number of characters after
/// its first.
const LETTERS: &[u8] = &[
    170, 1, 0, 7, 1, 1, 0, 3, 1, 1, 2, 1, 22, 1, 30, 1, 201, 3, 4, 11, 14, 4, 7, 0, 1, 0, 129, 1, 4, 1, 7, 1,
    4, 2, 0, 1, 109, 1, 138, 1, 8, 207, 1, 6, 40, 2, 3, 1, 0, 55, 42, 2, 10, 5, 0, 22, 1, 2, 42, 21, 9, 4, 1,
    1, 98, 1, 0, 15, 1, 7, 14, 2, 0, 14, 0, 1, 0, 1, 29, 27, 90, 11, 57, 9, 1, 4, 27, 4, 0, 9, 0, 3, 0, 5, 1,
    15, 25, 3, 1, 1, 132, 1, 27, 0, 4, 53, 3, 0, 18, 0, 7, 9, 4, 9, 1, 15, 3, 55, 1, 0, 7, 1, 2, 1, 3, 8, 1,
    9, 2, 13, 2, 5, 2, 4, 3, 55, 1, 0, 5, 3, 2, 1, 3, 2, 1, 29, 2, 2, 1, 10, 3, 55, 1, 0, 8, 0, 3, 0, 3, 19,
    2, 11, 2, 14, 3, 55, 1, 0, 7, 1, 2, 1, 3, 7, 2, 9, 2, 11, 1, 16, 1, 58, 5, 2, 3, 0, 4, 8, 1, 26, 8, 5, 3,
    57, 7, 0, 3, 0, 4, 6, 2, 10, 2, 26, 1, 1, 2, 55, 1, 0, 7, 0, 3, 0, 4, 6, 2, 10, 2, 29, 2, 57, 7, 0, 3, 0,
    4, 8, 1, 9, 2, 20, 1, 7, 2, 69, 1, 3, 6, 0, 1, 0, 8, 17, 3, 59, 1, 1, 7, 3, 1, 6, 9, 9, 2, 84, 1, 1, 6,
    0, 2, 10, 6, 50, 31, 19, 12, 48, 23, 4, 11, 0, 36, 0, 15, 0, 13, 79, 20, 10, 6, 5, 4, 3, 3, 0, 3, 1, 7,
    2, 4, 12, 12, 0, 1, 9, 6, 90, 1, 224, 4, 12, 38, 10, 101, 1, 235, 4, 2, 16, 1, 25, 2, 77, 3, 35, 3, 28,
    5, 26, 2, 29, 2, 63, 35, 0, 4, 0, 1, 33, 15, 153, 1, 1, 117, 12, 3, 12, 3, 1, 2, 2, 105, 17, 6, 2, 19,
    34, 22, 5, 1, 2, 52, 10, 0, 29, 1, 1, 31, 7, 0, 6, 81, 5, 46, 17, 20, 35, 2, 3, 29, 13, 55, 14, 7, 4, 35,
    20, 2, 5, 61, 2, 63, 8, 7, 25, 3, 1, 3, 3, 202, 1, 39, 20, 4, 188, 3, 1, 0, 3, 10, 3, 12, 3, 12, 3, 12,
    2, 0, 101, 4, 6, 9, 5, 10, 5, 16, 26, 21, 33, 14, 2, 0, 4, 0, 2, 9, 1, 0, 3, 4, 6, 0, 1, 0, 1, 0, 1, 3,
    1, 10, 2, 3, 5, 4, 4, 0, 1, 63, 228, 4, 11, 39, 24, 11, 80, 78, 21, 128, 4, 0, 117, 29, 185, 7, 2, 10,
    138, 3, 6, 3, 3, 6, 4, 0, 2, 111, 1, 13, 1, 95, 79, 0, 12, 67, 26, 0, 89, 11, 214, 1, 25, 12, 3, 5, 2,
    25, 8, 7, 4, 2, 4, 3, 88, 4, 2, 1, 89, 1, 147, 1, 2, 3, 10, 31, 36, 27, 31, 10, 30, 7, 1, 14, 32, 9, 39,
    14, 63, 0, 128, 2, 191, 51, 64, 143, 173, 1, 55, 54, 2, 140, 2, 3, 94, 16, 31, 1, 79, 8, 7, 23, 8, 2,
    102, 2, 118, 1, 2, 1, 3, 1, 22, 9, 9, 4, 57, 4, 7, 2, 49, 17, 8, 2, 15, 18, 5, 3, 42, 10, 22, 13, 10, 1,
    31, 4, 46, 27, 15, 2, 72, 14, 11, 1, 7, 2, 13, 4, 22, 3, 0, 1, 51, 1, 0, 3, 1, 2, 4, 2, 0, 1, 27, 2, 10,
    7, 2, 2, 235, 1, 11, 145, 88, 128, 16, 157, 54, 1, 9, 1, 135, 1, 16, 251, 2, 2, 187, 1, 2, 1, 26, 5, 7,
    8, 35, 0, 19, 0, 4, 146, 1, 1, 0, 15, 9, 7, 25, 6, 25, 11, 121, 7, 0, 7, 9, 7, 255, 1, 3, 51, 9, 56, 17,
    5, 12, 51, 46, 160, 3, 1, 47, 1, 133, 9, 1, 198, 1, 1, 30, 1, 192, 1, 3, 0, 2, 4, 4, 39, 3, 3, 1, 15, 9,
    37, 1, 184, 1, 7, 191, 9, 3, 52, 22, 49, 3, 44, 18, 61, 3, 35, 14, 10, 4, 59, 3, 47, 14, 3, 4, 225, 9,
    13, 183, 27, 4, 220, 149, 1, 46, 15, 4, 236, 192, 1, 246, 1, 9, 39, 1, 181, 1, 33, 70, 185, 1, 87, 233,
    6, 1, 24, 1, 30, 1, 24, 1, 30, 1, 24, 1, 30, 1, 24, 1, 30, 1, 24, 1, 171, 46, 2, 141, 2, 44, 3, 100, 11,
    15, 1, 14, 1, 15, 0, 15, 47, 31, 0, 60, 3, 43, 74, 29, 12, 43, 4, 9, 6, 2, 173, 1, 33, 14, 6, 0, 70, 2,
    20, 11, 37, 0, 5, 20, 17, 14, 63, 0, 1, 0, 182, 1, 0, 4, 2, 62, 1, 4, 11, 24, 146, 1, 70, 3, 11, 47, 70,
    57, 116, 140, 145, 48, 1, 29, 96, 127, 240, 1, 143, 252, 11,
];

/// Capital letters beyond ASCII. For each range: the distance of its first from that of the preceding one; twice the number of characters,
/// plus one if only every other one is a capital letter; the distance of the small letters, doubled, minus one if it is negative.
const CASES: &[u8] = &[
    181, 1, 2, 142, 12, 11, 46, 64, 24, 14, 64, 40, 97, 2, 50, 13, 2, 7, 33, 2, 17, 93, 2, 46, 2, 241, 1, 1,
    13, 2, 6, 2, 151, 4, 2, 2, 164, 3, 1, 9, 2, 4, 2, 156, 3, 1, 2, 2, 2, 4, 154, 3, 2, 2, 2, 3, 2, 158, 1,
    1, 2, 148, 3, 1, 2, 150, 3, 1, 2, 2, 2, 2, 154, 3, 1, 2, 158, 3, 2, 2, 166, 3, 1, 2, 162, 3, 1, 2, 2, 4,
    2, 166, 3, 1, 2, 170, 3, 2, 2, 172, 3, 1, 13, 2, 6, 2, 180, 3, 1, 2, 2, 2, 2, 180, 3, 3, 2, 2, 2, 2, 180,
    3, 1, 2, 2, 2, 4, 178, 3, 2, 9, 2, 4, 2, 182, 3, 1, 2, 2, 4, 2, 2, 8, 2, 4, 1, 2, 2, 2, 2, 4, 1, 2, 2, 2,
    2, 4, 1, 37, 2, 19, 37, 2, 19, 2, 4, 1, 9, 2, 4, 2, 193, 1, 1, 2, 111, 1, 81, 2, 40, 2, 131, 2, 2, 37, 2,
    24, 2, 214, 168, 1, 1, 2, 2, 2, 2, 197, 2, 1, 2, 208, 168, 1, 3, 2, 2, 2, 2, 133, 3, 1, 2, 138, 1, 1, 2,
    142, 1, 1, 21, 2, 255, 1, 2, 232, 1, 43, 9, 2, 6, 2, 2, 16, 2, 76, 2, 6, 74, 4, 2, 128, 1, 2, 4, 126, 3,
    34, 64, 18, 18, 64, 31, 2, 2, 13, 2, 16, 1, 2, 59, 1, 2, 49, 4, 2, 29, 1, 2, 43, 2, 49, 2, 24, 2, 107, 1,
    2, 95, 3, 2, 119, 1, 2, 127, 2, 2, 2, 2, 2, 13, 1, 2, 2, 3, 6, 131, 2, 3, 32, 160, 1, 16, 64, 64, 80, 69,
    2, 42, 109, 2, 54, 2, 30, 1, 29, 2, 15, 177, 1, 2, 97, 76, 96, 239, 22, 76, 192, 113, 39, 2, 192, 113, 6,
    2, 192, 113, 179, 26, 173, 2, 2, 155, 1, 2, 115, 3, 2, 253, 118, 2, 193, 1, 2, 104, 16, 15, 16, 12, 15,
    16, 16, 15, 16, 16, 15, 16, 12, 15, 17, 17, 15, 15, 16, 15, 32, 16, 15, 16, 16, 15, 16, 16, 15, 16, 4,
    15, 2, 4, 147, 1, 2, 2, 17, 2, 2, 137, 112, 10, 8, 171, 1, 4, 2, 17, 12, 4, 15, 2, 4, 199, 1, 14, 4, 15,
    2, 4, 223, 1, 2, 2, 13, 12, 4, 255, 1, 2, 4, 251, 1, 2, 2, 17, 170, 2, 2, 185, 117, 4, 2, 253, 130, 1, 1,
    2, 139, 129, 1, 7, 2, 56, 46, 32, 32, 35, 2, 2, 179, 6, 52, 52, 202, 14, 94, 96, 96, 2, 2, 2, 2, 237,
    167, 1, 1, 2, 203, 59, 1, 2, 205, 167, 1, 3, 13, 2, 6, 2, 183, 168, 1, 1, 2, 249, 167, 1, 1, 2, 189, 168,
    1, 1, 2, 187, 168, 1, 2, 2, 2, 3, 2, 2, 9, 4, 253, 168, 1, 2, 201, 1, 2, 107, 9, 2, 7, 2, 2, 206, 242, 1,
    93, 2, 64, 49, 2, 162, 1, 29, 2, 16, 125, 2, 71, 9, 2, 4, 2, 135, 168, 4, 1, 21, 2, 13, 2, 2, 2, 2, 207,
    148, 5, 3, 9, 2, 16, 21, 2, 10, 2, 135, 149, 5, 247, 174, 1, 52, 64, 223, 9, 80, 80,
];

/// Letters with diacritics, grouped by their Latin letter. For each range: the distance of its first from that of the preceding one, the
/// number of characters after it, and the letter.
const DIACRITICS: &[u8] = &[
    224, 1, 5, 97, 7, 0, 99, 1, 3, 101, 4, 3, 105, 5, 0, 110, 1, 4, 111, 7, 3, 117, 4, 0, 121, 2, 0, 121, 2,
    4, 97, 6, 6, 99, 8, 0, 100, 4, 6, 101, 8, 0, 101, 2, 6, 103, 8, 0, 104, 4, 7, 105, 12, 0, 106, 2, 0, 107,
    3, 4, 108, 10, 4, 110, 9, 4, 111, 8, 4, 114, 6, 6, 115, 8, 2, 116, 6, 6, 117, 8, 2, 117, 4, 0, 119, 2, 0,
    121, 3, 4, 122, 39, 0, 111, 15, 0, 117, 30, 0, 97, 2, 0, 105, 2, 0, 111, 2, 0, 117, 2, 6, 117, 9, 0, 97,
    8, 0, 103, 2, 0, 107, 2, 0, 111, 2, 0, 111, 3, 0, 106, 5, 0, 103, 4, 0, 110, 2, 0, 97, 6, 2, 97, 4, 2,
    101, 4, 2, 105, 4, 2, 111, 4, 2, 114, 4, 2, 117, 4, 0, 115, 2, 0, 116, 4, 0, 104, 8, 0, 97, 2, 0, 101, 2,
    2, 111, 4, 0, 111, 2, 0, 111, 2, 0, 121, 206, 55, 0, 97, 2, 4, 98, 6, 0, 99, 2, 6, 100, 8, 0, 100, 2, 2,
    101, 4, 2, 101, 4, 0, 101, 2, 0, 102, 2, 0, 103, 2, 6, 104, 8, 0, 104, 2, 0, 105, 2, 0, 105, 2, 4, 107,
    6, 0, 108, 2, 0, 108, 2, 2, 108, 4, 4, 109, 6, 6, 110, 8, 6, 111, 8, 2, 112, 4, 2, 114, 4, 0, 114, 2, 0,
    114, 2, 2, 115, 4, 4, 115, 6, 6, 116, 8, 4, 117, 6, 2, 117, 4, 2, 118, 4, 6, 119, 8, 0, 119, 2, 2, 120,
    4, 0, 121, 2, 4, 122, 5, 0, 104, 1, 0, 116, 1, 0, 119, 1, 0, 121, 8, 2, 97, 4, 6, 97, 8, 6, 97, 8, 2, 97,
    4, 4, 101, 6, 6, 101, 8, 0, 101, 2, 2, 105, 4, 2, 111, 4, 6, 111, 8, 6, 111, 8, 2, 111, 4, 2, 117, 4, 6,
    117, 8, 0, 117, 2, 6, 121,
];

/// The tables, decoded.
struct Tables {
    /// The first and the last of each range of characters.
    letters: Vec<(u32, u32)>,
    cases: Vec<Case>,
    diacritics: Vec<Diacritic>,
}

/// Capital letters, and their distance from the small ones.
struct Case {
    first: u32,
    count: u32,
    /// `true` if capital and small letters alternate.
    alternates: bool,
    distance: i32,
}

/// Letters with diacritics, all of the same Latin letter.
struct Diacritic {
    first: u32,
    last: u32,
    letter: u32,
}

static TABLES: LazyLock<Tables> =
    LazyLock::new(|| Tables { letters: ranges(), cases: cases(), diacritics: diacritics() });

/// Decodes numbers that are written in groups of seven bits, the lowest first.
fn numbers(bytes: &'static [u8]) -> impl Iterator<Item = u32> {
    let mut bytes = bytes.iter();
    std::iter::from_fn(move || {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = u32::from(*bytes.next()?);
            number |= (byte & 127) << shift;
            if byte < 128 {
                return Some(number);
            }
            shift += 7;
        }
    })
}

fn ranges() -> Vec<(u32, u32)> {
    let (mut numbers, mut ranges, mut end) = (numbers(LETTERS), Vec::new(), 0);
    while let (Some(gap), Some(more)) = (numbers.next(), numbers.next()) {
        let first = end + gap;
        ranges.push((first, first + more));
        end = first + more + 1;
    }
    ranges
}

fn cases() -> Vec<Case> {
    let (mut numbers, mut cases, mut first) = (numbers(CASES), Vec::new(), 0);
    while let (Some(gap), Some(count), Some(distance)) = (numbers.next(), numbers.next(), numbers.next()) {
        first += gap;
        let sign = if distance & 1 == 1 { -1 } else { 1 };
        let distance = sign * distance.div_ceil(2).cast_signed();
        cases.push(Case { first, count: count >> 1, alternates: count & 1 == 1, distance });
    }
    cases
}

fn diacritics() -> Vec<Diacritic> {
    let (mut numbers, mut diacritics, mut first) = (numbers(DIACRITICS), Vec::new(), 0);
    while let (Some(gap), Some(more), Some(letter)) = (numbers.next(), numbers.next(), numbers.next()) {
        first += gap;
        diacritics.push(Diacritic { first, last: first + more, letter });
    }
    diacritics
}

/// Checks whether a character belongs to a word.
pub(super) fn is_letter(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric();
    }
    let (code, ranges) = (u32::from(character), &TABLES.letters);
    let at = ranges.partition_point(|(first, _)| *first <= code);
    at.checked_sub(1).is_some_and(|at| code <= ranges[at].1)
}

/// Checks whether a character is a combining mark, which neither ends a word nor belongs to it.
pub(super) const fn is_mark(character: char) -> bool {
    matches!(
        character,
        '\u{300}'..='\u{304}'
            | '\u{306}'..='\u{30c}'
            | '\u{30f}'
            | '\u{311}'
            | '\u{31b}'
            | '\u{323}'..='\u{328}'
            | '\u{32d}'..='\u{32e}'
            | '\u{330}'..='\u{331}'
    )
}

/// Returns a letter as it is compared: the small one; a Latin letter without its diacritics.
pub(super) fn folded(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_lowercase();
    }
    let Tables { cases, diacritics, .. } = &*TABLES;
    let mut code = u32::from(character);
    let at = cases.partition_point(|case| case.first <= code);
    if let Some(case) = at.checked_sub(1).map(|at| &cases[at]) {
        let distance = code - case.first;
        if distance < case.count && !(case.alternates && distance % 2 == 1) {
            code = code.saturating_add_signed(case.distance);
        }
    }
    let at = diacritics.partition_point(|with| with.first <= code);
    if let Some(with) = at.checked_sub(1).map(|at| &diacritics[at])
        && code <= with.last
    {
        code = with.letter;
    }
    char::from_u32(code).unwrap_or(character)
}

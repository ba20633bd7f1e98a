//! Text from documents in messages for people.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::invisible::is_invisible;

/// Checks whether a character would act on a terminal, or reorder the text around it, instead of being shown.
pub fn acts(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || is_invisible(c)
}

/// Returns an untrusted text on one line, safe to show: it cannot begin a line of its own. Control characters, tabs and line breaks are
/// escaped, and so are Unicode characters that are invisible or reorder their surroundings, and sequences that a CI system interprets as a
/// command.
///
/// ```
/// assert_eq!(graph_core::diagnostic::printable("a\n::error::b\tc"), "a\\n::error::b\\tc");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    match visible(text) {
        shown if shown.contains(['\n', '\t']) => {
            without_commands(Cow::Owned(shown.replace('\n', "\\n").replace('\t', "\\t")))
        }
        shown => without_commands(shown),
    }
}

/// Like [`printable`], with line breaks and tabs: for a text whose line breaks are the program's own, such as formatted JSON. Use [`block`]
/// for an untrusted text of several lines.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    without_commands(visible(text))
}

/// Returns an untrusted text of several lines, like [`printable_lines`], with a margin before each line after the first.
///
/// ```
/// assert_eq!(graph_core::diagnostic::block("a\nsigned", "  | "), "a\n  | signed");
/// ```
pub fn block(text: &str, margin: &str) -> String {
    printable_lines(text).replace('\n', &format!("\n{margin}"))
}

/// Escapes every character that a terminal would act on, except line breaks and tabs. For documents, pictures and records of runs: use
/// [`printable`] or [`block`] for printed text.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if acts(c) {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// The continuations of a `#` that form a command of a CI system anywhere in a line.
const IN_A_LINE: [&str; 3] = ["#[", "#vso[", "#teamcity["];

/// Escapes the beginning of each command of a CI system. Those that read the output of a program interpret `::error::text` at the beginning
/// of a line, after blanks or after a wrap, and `##[error]text`, `##vso[…]` and `##teamcity[…]` anywhere.
fn without_commands(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains("::") && !text.contains("##") {
        return text;
    }
    let mut shown = String::with_capacity(text.len() + 8);
    let mut before = None;
    for (at, c) in text.char_indices() {
        let rest = &text[at..];
        let begins = match c {
            ':' => {
                let name = rest.strip_prefix("::").and_then(|name| name.chars().next());
                before.is_none_or(char::is_whitespace) && name.is_some_and(|c| c.is_ascii_alphabetic())
            }
            '#' => before == Some('#') && IN_A_LINE.iter().any(|name| rest.starts_with(name)),
            _ => false,
        };
        if begins {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
        } else {
            shown.push(c);
        }
        before = Some(c);
    }
    Cow::Owned(shown)
}

/// Escapes every character that could change how a terminal or a page shows the text around it: control characters, line ends included, and
/// characters that change the direction of writing. For texts of components and of servers in records: when they are shown, [`printable`]
/// also escapes invisible characters.
///
/// ```
/// assert_eq!(graph_core::diagnostic::escape("a\nb\u{202e}c"), "a\\nb\\u{202e}c");
/// ```
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            character if character.is_control() || turns(character) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
            }
            character => out.push(character),
        }
    }
    out
}

/// Checks whether a character is a line or paragraph separator, or a mark of bidirectional writing. Results of runs contain texts that were
/// escaped in this way, and a replay compares them: the set must not change.
pub fn turns(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the text on one line, printable, and cut after `most` characters.
pub fn one_line(text: &str, most: usize) -> String {
    let text = visible(text).replace(['\n', '\t'], " ");
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Replaces every character that a terminal would act on by one of the same length, so that offsets into the text remain valid; also the
/// commands of a CI system that may be anywhere in a line.
pub(crate) fn same_length(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) && !text.contains("##") {
        return Cow::Borrowed(text);
    }
    let shown: String = text
        .chars()
        .map(|c| match (acts(c), c.len_utf8()) {
            (false, _) => c,
            (true, 1) => '?',
            (true, 2) => '\u{bf}',
            (true, 3) => '\u{fffd}',
            (true, _) => '\u{1fffd}',
        })
        .collect();
    let hidden = |text: String, name: &str| text.replace(&format!("#{name}"), &format!("#?{}", &name[1..]));
    Cow::Owned(IN_A_LINE.into_iter().fold(shown, hidden))
}

/// Returns a text of a document for a message: escaped, on one line, and with at most 60 characters.
pub fn excerpt(text: &str) -> String {
    excerpt_up_to(text, 60)
}

/// Returns a text for a message: escaped, on one line, and with at most `most` characters.
pub fn excerpt_up_to(text: &str, most: usize) -> String {
    shortened(visible(text).replace('\n', "\\n").replace('\t', "\\t"), most)
}

/// Returns a message of another library, which may quote a document at length, escaped and with at most 300 characters.
pub fn excerpt_of(text: &str) -> String {
    shortened(visible(text).into_owned(), 300)
}

fn shortened(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Limit on the comparisons of [`nearest`], as the sum of the products of the lengths: hundreds of names of common length. A document can
/// contain hundreds of misspelt names and a thousand long candidates for each.
const MOST_COMPARED: usize = 100_000;

/// Returns the candidate that a misspelt name most likely means, if one is similar enough.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // A comparison costs the product of the lengths, and a name of more than 64 characters is rarely a misspelling.
    if name.len() > 64 {
        return None;
    }
    let folded = name.to_lowercase().replace('-', "_");
    let mut left = MOST_COMPARED;
    candidates
        .into_iter()
        .take(1000)
        .filter(|candidate| candidate.len() <= 64)
        .take_while(|candidate| {
            left = left.saturating_sub((name.len() + 2) * (candidate.len() + 2));
            left > 0
        })
        .map(|candidate| {
            let other = candidate.to_lowercase().replace('-', "_");
            (strsim::damerau_levenshtein(&folded, &other), candidate)
        })
        .filter(|(distance, candidate)| {
            *distance <= (candidate.chars().count().max(name.chars().count()) / 3).max(1)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_sequences_are_escaped() {
        assert_eq!(printable("a\u{1b}[31mb\u{202e}c"), "a\\u{1b}[31mb\\u{202e}c");
        assert_eq!(printable_lines("plain – text\n\tx"), "plain – text\n\tx");
        assert_eq!(printable("plain – text\n\tx\r"), "plain – text\\n\\tx\\u{d}");
        assert_eq!(printable("a\u{e0041}\u{ad}b\u{3164}\u{fe0f}"), "a\\u{e0041}\\u{ad}b\\u{3164}\\u{fe0f}");
        let hostile = "\u{1b}[2J é \u{9b}1m \u{202e} \u{ad} \u{e0041}";
        assert_eq!(same_length(hostile).len(), hostile.len());
        assert!(!same_length(hostile).contains(acts));
        assert_eq!(same_length("a ##[x] ###vso[y]"), "a #?[x] ##?vso[y]");
    }

    #[test]
    fn no_text_is_a_command_of_a_ci_system() {
        for (text, shown) in [
            ("::error::x", "\\u{3a}:error::x"),
            ("a  ::Set-Output name=x::y", "a  \\u{3a}:Set-Output name=x::y"),
            ("a\u{3000}::add-mask::y", "a\u{3000}\\u{3a}:add-mask::y"),
            ("a ##[add-path]/x", "a #\\u{23}[add-path]/x"),
            ("###[group]", "##\\u{23}[group]"),
            ("x##vso[task.setvariable variable=a]b", "x#\\u{23}vso[task.setvariable variable=a]b"),
            ("##teamcity[blockOpened]", "#\\u{23}teamcity[blockOpened]"),
            ("a::b, ::1 and Vec :: T", "a::b, ::1 and Vec :: T"),
            ("## heading [x]", "## heading [x]"),
        ] {
            assert_eq!(printable(text), shown);
            assert_eq!(printable(&printable(text)), shown, "what is shown is shown again as it is");
        }
        assert_eq!(printable("a\n::stop-commands::b"), "a\\n::stop-commands::b");
        assert_eq!(block("a\n\n  ::stop-commands::b", "| "), "a\n| \n|   \\u{3a}:stop-commands::b");
    }

    #[test]
    fn nothing_steers_a_terminal() {
        assert_eq!(
            escape("a\u{1b}[2Jb\nfake: line\u{7f}\u{9b}\u{202e}x"),
            "a\\u{1b}[2Jb\\nfake: line\\u{7f}\\u{9b}\\u{202e}x"
        );
        assert_eq!(escape("größer, 大きい 😀"), "größer, 大きい 😀");
    }

    #[test]
    fn the_nearest_name_is_found() {
        assert_eq!(nearest("nxt", ["next", "nodes", "assign"]), Some("next"));
        assert_eq!(nearest("max-steps", ["max_steps", "max_total_steps"]), Some("max_steps"));
        assert_eq!(nearest("zebra", ["next", "nodes"]), None);
        assert_eq!(nearest("a", ["b"]), Some("b"));
        let many: Vec<String> = (0..400).map(|n| format!("node_{n:05}")).collect();
        assert_eq!(nearest("nodes_00399", many.iter().map(String::as_str)), Some("node_00399"));
    }

    #[test]
    fn the_comparisons_are_bounded() {
        let long: Vec<String> = (0..1_000).map(|n| format!("{n:064}")).collect();
        let looked_at = std::cell::Cell::new(0_usize);
        let counted = long.iter().map(|name| {
            looked_at.set(looked_at.get() + 1);
            name.as_str()
        });
        nearest(&"x".repeat(64), counted);
        assert!(looked_at.get() < 30, "{}", looked_at.get());
    }
}

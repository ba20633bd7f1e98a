//! Width of the terminal, and text that is cut or wrapped to fit it.

use graph_core::diagnostic::printable;
use textwrap::core::display_width;

/// Width in columns if neither `COLUMNS` nor a terminal defines it: for a pipe or a file.
const UNKNOWN: usize = 100;
/// Least width for which text is laid out.
const NARROWEST: usize = 20;

/// Returns the width for the layout of text: `COLUMNS`, else that of the terminal on stderr or stdout.
pub fn width() -> usize {
    let named = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|width| *width > 0);
    named.or_else(of_terminal).unwrap_or(UNKNOWN).max(NARROWEST)
}

fn of_terminal() -> Option<usize> {
    let stderr = terminal_size::terminal_size_of(std::io::stderr());
    let size = stderr.or_else(|| terminal_size::terminal_size_of(std::io::stdout()));
    size.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0)
}

/// Returns the text on one line, safe for terminals, in at most `columns` columns; `…` marks a cut.
pub fn one_line(text: &str, columns: usize) -> String {
    // Bounds the work for a long text: four characters for each column are enough.
    let enough = text
        .char_indices()
        .nth(columns.saturating_mul(4).saturating_add(4))
        .map_or(text, |(at, _)| &text[..at]);
    cut(&printable(&enough.replace(['\n', '\t'], " ")), columns)
}

/// Cuts one line of text to `columns` columns. Escape sequences of styles are kept and take no column.
pub fn cut(text: &str, columns: usize) -> String {
    if display_width(text) <= columns {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let (mut used, mut in_escape, mut is_full) = (0, false, false);
    let mut character = [0; 4];
    for c in text.chars() {
        if in_escape || c == '\u{1b}' {
            shown.push(c);
            in_escape = c == '\u{1b}' || !c.is_ascii_alphabetic();
            continue;
        }
        let wide = display_width(c.encode_utf8(&mut character));
        if !is_full && used + wide > columns.saturating_sub(1) {
            shown.push('…');
            is_full = true;
        }
        if !is_full {
            shown.push(c);
            used += wide;
        }
    }
    shown
}

/// Wraps text between words, each line after the first one indented, list items below their text. Text that is meant to be copied is
/// not broken: words longer than a line, such as paths, commands of graph-host, and lines of YAML.
pub fn wrapped(text: &str, columns: usize, indent: &str) -> String {
    let mut lines = Vec::new();
    for (number, line) in text.split('\n').enumerate() {
        let initial = if number == 0 { "" } else { indent };
        if is_yaml(line) {
            lines.push(format!("{initial}{}", line.trim_end()));
            continue;
        }
        // The continuation of a list item is aligned with its text.
        let own: String = line.chars().take_while(|c| *c == ' ').collect();
        let bullet = if line[own.len()..].starts_with("- ") { "  " } else { "" };
        let below = format!("{indent}{own}{bullet}");
        let options = textwrap::Options::new(columns.max(NARROWEST))
            .initial_indent(initial)
            .subsequent_indent(&below)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .word_separator(textwrap::WordSeparator::AsciiSpace);
        let joined = with_joined_commands(line);
        let unjoined = |line: &str| line.trim_end().replace(JOINT, " ");
        lines.extend(textwrap::wrap(&joined, options).iter().map(|line| unjoined(line)));
    }
    lines.join("\n")
}

/// Stand-in for a blank at which no line is broken. A character of private use, which is never printed.
const JOINT: char = '\u{f8ff}';

/// Checks whether a line looks like YAML, such as a line of a manifest: it is indented, and has a key or is a list element.
fn is_yaml(line: &str) -> bool {
    let text = line.trim_start_matches(' ');
    let depth = line.len() - text.len();
    let (text, is_element) = text.strip_prefix("- ").map_or((text, false), |text| (text, true));
    // Items of a list in prose are indented by less than 2.
    if depth < 2 {
        return false;
    }
    let key = match text.as_bytes().first() {
        Some(quote @ (b'"' | b'\'')) => text[1..].find(char::from(*quote)).map(|end| &text[end + 2..]),
        _ => text.find(|c: char| !(c.is_alphanumeric() || "_-./*@".contains(c))).map(|end| &text[end..]),
    };
    let is_key = key.is_some_and(|rest| rest == ":" || rest.starts_with(": "));
    is_key || (is_element && !text.trim_end().contains(' '))
}

/// Replaces the blanks in each command of graph-host by [`JOINT`], up to the point where prose continues.
fn with_joined_commands(line: &str) -> String {
    const PROGRAM: &str = "graph-host ";
    let mut joined = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(PROGRAM) {
        let (before, from) = rest.split_at(at);
        joined.push_str(before);
        let verb = from[PROGRAM.len()..].split([' ', '`', ',', ';', ':']).next().unwrap_or_default();
        let is_typed = (before.is_empty() || before.ends_with([' ', '`', '\u{a0}']))
            && COMMANDS.binary_search(&verb).is_ok();
        let end = if is_typed { end_of_command(from, before.ends_with('`')) } else { PROGRAM.len() };
        let (command, after) = from.split_at(end);
        if is_typed {
            joined.extend(command.chars().map(|c| if c == ' ' { JOINT } else { c }));
        } else {
            joined.push_str(command);
        }
        rest = after;
    }
    joined.push_str(rest);
    joined
}

/// Returns the end of the command that a text begins with: at the closing backtick or the end of the line, or where a sentence or another
/// column continues outside of quotes.
pub fn end_of_command(text: &str, is_in_backticks: bool) -> usize {
    let mut quote = None;
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        // A quote in an argument is written as '\''.
        if std::mem::take(&mut is_escaped) {
            continue;
        }
        let rest = &text[at..];
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '\\' => is_escaped = true,
            None if c == '`' || c == '\n' => return at,
            None if is_in_backticks => {}
            None if c == '\'' || c == '"' => quote = Some(c),
            None => {
                let ends = ["; ", ", ", ". ", ": ", " (", ") ", " or ", " and ", " to ", " with ", "    "];
                if ends.iter().any(|end| rest.starts_with(end)) {
                    return at;
                }
            }
        }
    }
    text.len()
}

/// The commands of graph-host, sorted. After the program's name, any other word is prose.
pub const COMMANDS: [&str; 30] = [
    "build",
    "bundle",
    "cache",
    "caps",
    "completions",
    "doctor",
    "explain",
    "graph",
    "help",
    "inspect",
    "keys",
    "lock",
    "man",
    "migrate",
    "new",
    "publish",
    "pull",
    "registry",
    "replay",
    "resume",
    "run",
    "runs",
    "schema",
    "search",
    "sign",
    "test",
    "trust",
    "validate",
    "verify",
    "yank",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_says_so_and_keeps_its_styles() {
        assert_eq!(one_line("a\nb\tc", 10), "a b c");
        assert_eq!(one_line("abcdef", 6), "abcdef");
        assert_eq!(one_line("abcdefg", 6), "abcde…");
        assert_eq!(one_line("\u{1b}[2J", 20), "\\u{1b}[2J");
        assert_eq!(cut("\u{1b}[1mabcdef\u{1b}[0m", 4), "\u{1b}[1mabc…\u{1b}[0m");
        assert_eq!(cut("日本語日本語", 5), "日本…");
    }

    #[test]
    fn what_is_there_to_be_copied_stays_in_one_piece() {
        let yaml = "refused\n- node `a` is not permitted\n    dispatch: [\"execute.tool.a/very/long/name\", \"b\"]\n    \
                    items:\n      \"t/*\":\n        filesystem: [{ host: data, guest: /data, access: read_only }]\n        \
                    - execute.tool.a/very/long/name/of/an/item";
        let shown = wrapped(yaml, 30, "  ");
        let expected: Vec<_> = yaml.lines().skip(2).map(|line| format!("  {line}")).collect();
        assert_eq!(shown.lines().skip(2).collect::<Vec<_>>(), expected, "{shown}");
        for (text, command) in [
            (
                "run it again: graph-host resume r1 --answer 'a, b'; or not at all",
                "graph-host resume r1 --answer 'a, b'",
            ),
            (
                "see `graph-host runs show r1 --all --json` for more of it",
                "graph-host runs show r1 --all --json",
            ),
            (
                r"run graph-host trust set 'it'\''s me' --also-may http; or not",
                r"graph-host trust set 'it'\''s me' --also-may http",
            ),
            (
                "graph-host trust add me --key me --items 'me/*'",
                "graph-host trust add me --key me --items 'me/*'",
            ),
        ] {
            let shown = wrapped(text, 20, "  ");
            assert!(shown.contains(command), "{shown}");
            assert!(!shown.contains(JOINT));
        }
        // What only looks like it is prose.
        let prose = "graph-host does not offer this interface to anything";
        assert!(wrapped(prose, 20, "").lines().all(|line| line.len() <= 20));
    }

    #[test]
    fn lists_are_wrapped_below_their_text() {
        let text = "refused\n- node `a`: it may not\n    dispatch: [x]";
        assert_eq!(wrapped(text, 20, "  "), "refused\n  - node `a`: it may\n    not\n      dispatch: [x]");
    }
}

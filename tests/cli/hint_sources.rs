//! Commands in texts of the sources: a test types each in the state in which it is printed, or there is a reason why not.

use std::collections::BTreeSet;
use std::path::Path;

use graph_host::terminal::width::end_of_command;
use serde_json::Value;

use crate::hints::{read, text, type_line};
use crate::place::Place;

const PROGRAM: &str = "graph-host ";

/// Returns the literal texts of a source, without comments and unit tests.
pub(crate) fn literals(source: &str) -> Vec<String> {
    let source = source.split("\nmod tests {").next().unwrap();
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if rest.starts_with("r\"") || rest.starts_with("r#") {
            let hashes = rest[1..].chars().take_while(|c| *c == '#').count();
            let Some(text) = rest[1 + hashes..].strip_prefix('"') else {
                rest = &rest[1 + hashes..];
                continue;
            };
            let end = text.find(&format!("\"{}", "#".repeat(hashes))).unwrap();
            found.push(text[..end].to_owned());
            rest = &text[end + 1 + hashes..];
        } else if c == '\'' {
            // A character, or a lifetime.
            let mut characters = rest.char_indices().skip(1);
            let first = characters.next().map(|(_, c)| c);
            let is_escaped = first == Some('\\');
            let end = if is_escaped {
                rest[3..].find('\'').map(|at| at + 4)
            } else {
                characters.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at + 1)
            };
            rest = &rest[end.unwrap_or(1)..];
        } else if c == '"' {
            let (text, after) = literal(&rest[1..]);
            found.push(text);
            rest = after;
        } else {
            rest = &rest[c.len_utf8()..];
        }
    }
    found
}

/// Parses a literal after its opening quote; returns its text and the rest.
fn literal(from: &str) -> (String, &str) {
    let mut text = String::new();
    let mut rest = from;
    loop {
        let c = rest.chars().next().unwrap();
        rest = &rest[c.len_utf8()..];
        match c {
            '"' => return (text, rest),
            '\\' => {
                let escaped = rest.chars().next().unwrap();
                rest = &rest[escaped.len_utf8()..];
                match escaped {
                    '\n' => rest = rest.trim_start(),
                    'n' => text.push('\n'),
                    other => text.push(other),
                }
            }
            other => text.push(other),
        }
    }
}

/// Returns the commands of graph-host that a text shows, with placeholders for the parts that are inserted when it is printed.
fn commands(text: &str, verbs: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(PROGRAM) {
        let before = &text[..at];
        let behind = &text[at + PROGRAM.len()..];
        let verb = behind.split(|c: char| !c.is_ascii_lowercase()).next().unwrap();
        let is_shown = before.is_empty() || before.ends_with([' ', '`', '\n', '(']);
        if is_shown && (verbs.contains(verb) || behind.starts_with('{')) {
            let line = text[at..].lines().next().unwrap();
            let command = &line[..end_of_command(line, before.ends_with('`'))];
            found.push(command.trim_end_matches([' ', '.', ',', ';', ')']).to_owned());
        }
    }
    found
}

/// Lists the commands of the program, from its help.
fn verbs(place: &Place) -> BTreeSet<String> {
    let help = place.run(&["--help"]).stdout;
    let listed = help.lines().filter_map(|line| line.strip_prefix("  "));
    let listed = listed.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    listed.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// Lists all commands in the texts of the sources, each after its file.
fn all(verbs: &BTreeSet<String>) -> BTreeSet<String> {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeSet::new();
    let mut folders = vec![host.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && !matches!(name.as_str(), "tests" | "benches" | "node_modules" | "target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs" {
                let file = path.strip_prefix(&host).unwrap().to_str().unwrap().to_owned();
                let source = std::fs::read_to_string(&path).unwrap();
                for text in literals(&source) {
                    found.extend(commands(&text, verbs).iter().map(|command| format!("{file}: {command}")));
                }
            }
        }
    }
    found
}

fn named(list: &Value) -> Vec<String> {
    match list.get("of") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn each_command_in_a_text_is_typed_or_it_is_known_why_not() {
    let place = Place::new();
    let there = all(&verbs(&place));
    assert!(there.len() > 100, "{there:?}");
    let typed: BTreeSet<String> =
        ["hints", "commands"].iter().flat_map(|name| read(name)).flat_map(|hint| named(&hint)).collect();
    let others = read("others");
    let excused: BTreeSet<String> = others.iter().flat_map(named).collect();
    let missing: Vec<_> =
        there.iter().filter(|one| !typed.contains(*one) && !excused.contains(*one)).collect();
    assert!(missing.is_empty(), "no hint in tests/hints is `of` these: {missing:#?}");
    let gone: Vec<_> = typed.union(&excused).filter(|one| !there.contains(*one)).collect();
    assert!(gone.is_empty(), "no source has these: {gone:#?}");
    let twice: Vec<_> = typed.intersection(&excused).collect();
    assert!(twice.is_empty(), "{twice:#?}");
}

/// A command whose state no test produces is accepted by the program, with a value for each capitalized word.
#[test]
fn commands_that_are_not_typed_in_their_state_are_taken() {
    let place = Place::new();
    for other in read("others") {
        let Some(how) = text(&other, "check") else {
            assert!(text(&other, "reason").is_some(), "{other}");
            continue;
        };
        for one in named(&other) {
            let command = one.split_once(": ").unwrap().1;
            let ran = if how == "help" {
                type_line(&place, &format!("{command} --help"))
            } else {
                type_line(&place, &filled(command, &other["fill"]))
            };
            let is_taken = !ran.stderr.contains("For more information, try '--help'");
            assert!(is_taken && (how != "help" || ran.code == 0), "{one}: {}", ran.shown());
        }
    }
}

fn filled(command: &str, values: &Value) -> String {
    let words = command.split(' ').map(|word| {
        let value = values.get(word.trim_matches('\'')).and_then(Value::as_str);
        let is_filled_in = word.starts_with('{') || word.chars().all(|c| c.is_ascii_uppercase());
        value.unwrap_or(if is_filled_in { "x" } else { word })
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn commands_in_sources_are_found() {
    let verbs = ["run", "keys"].map(str::to_owned).into();
    let source = "// \"graph-host run no\"\nfn a<'a>() { b('\"', '\\'', \"see `graph-host keys list`, \\\"or\\\": \\\n   graph-host run {} --x; y\") }\nconst A: &str = r#\"graph-host run \"a\"#;\nmod tests {\n\"graph-host run never\"";
    let found: Vec<_> = literals(source).iter().flat_map(|text| commands(text, &verbs)).collect();
    assert_eq!(found, ["graph-host keys list", "graph-host run {} --x", "graph-host run \"a"]);
}

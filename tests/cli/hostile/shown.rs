//! Output of a fixture that people see, and texts that must not appear anywhere.

use std::path::Path;

use serde_json::Value;

use super::offer::Scene;
use super::watch::{self, Ended};

/// Searches for the texts under `nowhere` of the fixture: in the output, in the exported run, and in all files below
/// the project and the home except those that the fixture contains itself.
pub(crate) fn nowhere(scene: &Scene<'_>, ended: &Ended) -> Result<(), String> {
    let Some(Value::Array(texts)) = scene.fixture.expect.get("nowhere") else { return Ok(()) };
    let texts: Vec<_> = texts.iter().filter_map(Value::as_str).collect();
    let exported = watch::run(scene.place.command(&["runs", "export", "bad"]));
    let own: Vec<_> =
        scene.fixture.parts.get("files").and_then(Value::as_object).into_iter().flatten().collect();
    let own: Vec<_> = own.iter().map(|(name, _)| scene.place.path(name)).collect();
    for text in texts {
        for printed in [&ended.stdout, &ended.stderr, &exported.stdout, &exported.stderr] {
            if printed.contains(text) {
                return Err(format!("{text:?} is printed"));
            }
        }
        if let Some(file) = holds(&scene.place.path(""), text.as_bytes(), &own) {
            return Err(format!("{text:?} is in {file}"));
        }
    }
    Ok(())
}

/// Finds a file below a folder that contains a text.
fn holds(folder: &Path, text: &[u8], own: &[std::path::PathBuf]) -> Option<String> {
    for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            if let Some(found) = holds(&path, text, own) {
                return Some(found);
            }
        } else if kind.is_file() && !own.contains(&path) {
            let bytes = std::fs::read(&path).unwrap_or_default();
            if bytes.windows(text.len()).any(|part| part == text) {
                return Some(path.display().to_string());
            }
        }
    }
    None
}

/// Offers the fixture again and checks its output for people: it contains the texts under `shown` and lacks those under
/// `unshown`, and nothing in it can control a terminal, change the direction of text, or begin a line that the host did
/// not write. The same holds for the JSON document, which may be displayed in a terminal, too.
pub(crate) fn to_people(scene: &Scene<'_>, ended: &Ended) -> Result<(), String> {
    let expect = &scene.fixture.expect;
    let Some(Value::Array(texts)) = expect.get("shown") else { return Ok(()) };
    let words = scene.offered("human");
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let mut outputs = vec![watch::run(scene.place.command(&words))];
    let runs = !scene.fixture.parts.contains_key("command");
    for command in ["show", "history", "events", "state"].iter().filter(|_| runs) {
        outputs.push(watch::run(scene.place.command(&["runs", command, "human"])));
    }
    let shown: String = outputs.iter().flat_map(|ran| [&*ran.stdout, "\n", &*ran.stderr, "\n"]).collect();
    for text in texts.iter().filter_map(Value::as_str) {
        if !shown.contains(text) {
            return Err(format!("people are not shown {text:?}:\n{shown}"));
        }
    }
    for text in
        expect.get("unshown").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        if shown.contains(text) {
            return Err(format!("people are shown {text:?}:\n{shown}"));
        }
    }
    // Events and the state are JSON, whose bytes are only in places that no terminal displays.
    let is_json = |at: usize| runs && at >= 3;
    let mut words = outputs.iter().enumerate().flat_map(|(at, ran)| {
        let json = if is_json(at) { "" } else { &*ran.stdout };
        json.chars().chain(ran.stderr.chars())
    });
    let unseen = words.find(|c| hides(*c));
    match unseen.or_else(|| shown.chars().chain(ended.stdout.chars()).find(|c| steers(*c))) {
        Some(c) => {
            Err(format!("people are shown {c:?}:\n{}\n{}", shown.escape_debug(), ended.stdout.escape_debug()))
        }
        None => Ok(()),
    }
}

/// Checks whether a character is invisible to people. In JSON, which programs read, such characters remain.
fn hides(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'
            ..='\u{180f}'
    ) || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}')
        || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Checks whether a character has an effect on a terminal other than being displayed.
fn steers(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && c != '\n') || turns || matches!(c, '\u{2028}' | '\u{2029}')
}

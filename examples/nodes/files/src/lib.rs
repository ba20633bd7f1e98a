//! Looks at the files below a granted folder: lists, counts, searches, measures, and takes them apart into words.

use std::collections::BTreeMap;

use graph_sdk::files::{self, Kind};
use graph_sdk::prelude::*;

/// What to do.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
enum Params {
    /// Lists files.
    List {
        /// The folder to begin at.
        folder: String,
        /// What their names end in, for example `.rs`; all of them if it is left out.
        #[serde(default)]
        ending: String,
    },
    /// Counts the lines of files, as `wc -l` does.
    Count {
        /// The folder to begin at.
        folder: String,
        /// What their names end in.
        #[serde(default)]
        ending: String,
    },
    /// Finds the lines that hold a text.
    Search {
        /// The folder to begin at.
        folder: String,
        /// What their names end in.
        #[serde(default)]
        ending: String,
        /// The text.
        text: String,
    },
    /// Measures how long the lines of files are, in characters.
    Widths {
        /// The folder to begin at.
        folder: String,
        /// What their names end in.
        #[serde(default)]
        ending: String,
    },
    /// Counts the words of one file: runs of letters, in lower case.
    Words {
        /// The file.
        file: String,
        /// Shorter words are left out.
        #[serde(default)]
        at_least: usize,
    },
}

/// What was found.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Found {
    /// Files.
    Files {
        /// Their paths, sorted.
        files: Vec<String>,
        /// How many there are.
        count: u64,
        /// The same in words.
        text: String,
    },
    /// A count of lines.
    Lines {
        /// How many files were counted.
        files: u64,
        /// How many line ends they hold.
        lines: u64,
        /// The same in words.
        text: String,
    },
    /// Lines that hold a text.
    Matches {
        /// Where, as `file:line`.
        places: Vec<String>,
        /// How many.
        count: u64,
        /// The same in words.
        text: String,
    },
    /// How long lines are.
    Widths {
        /// How many lines there are.
        lines: u64,
        /// The longest.
        longest: u64,
        /// How long a line has to be allowed to be for 99 of 100 lines to fit.
        fits_99_percent: u64,
        /// The same for 90 of 100.
        fits_90_percent: u64,
        /// The same in words.
        text: String,
    },
    /// Words.
    Words {
        /// The file.
        file: String,
        /// Each word with how often it occurs, by word.
        rows: Vec<Word>,
        /// How many words there are, repetitions included.
        count: u64,
    },
}

/// A word.
#[derive(Serialize, JsonSchema)]
struct Word {
    /// The word.
    word: String,
    /// How often it occurs.
    times: u64,
}

graph_sdk::node! {
    summary: "Lists, counts, searches and measures files below a folder.",
    wants: [
        "wasi:filesystem/types": "lists the folders and reads the files that it is given",
        "wasi:filesystem/preopens": "finds the folders that it was granted",
        "wasi:io/streams": "reads the files as streams",
    ],
    run
}

fn run(params: Params, _ctx: &Context) -> Result<Found, Failure> {
    Ok(match params {
        Params::List { folder, ending } => {
            let files = below(&folder, &ending)?;
            let count = files.len() as u64;
            Found::Files { text: format!("{count} files"), files, count }
        }
        Params::Count { folder, ending } => {
            let files = below(&folder, &ending)?;
            let mut lines = 0;
            for file in &files {
                lines += files::read(file)?.iter().filter(|byte| **byte == b'\n').count() as u64;
            }
            let files = files.len() as u64;
            Found::Lines { files, lines, text: format!("{lines} lines in {files} files") }
        }
        Params::Search { folder, ending, text } => {
            let mut places = Vec::new();
            for file in below(&folder, &ending)? {
                let content = files::read(&file)?;
                let content = String::from_utf8_lossy(&content);
                let hits = (1..).zip(content.lines()).filter(|(_, line)| line.contains(&text));
                places.extend(hits.map(|(number, _): (u64, _)| format!("{file}:{number}")));
            }
            let count = places.len() as u64;
            let first = places.first().map_or_else(String::new, |first| format!(", first at {first}"));
            Found::Matches { places, count, text: format!("`{text}` is on {count} lines{first}") }
        }
        Params::Widths { folder, ending } => widths(&folder, &ending)?,
        Params::Words { file, at_least } => words(file, at_least)?,
    })
}

fn widths(folder: &str, ending: &str) -> Result<Found, Failure> {
    let mut widths: Vec<u64> = Vec::new();
    for file in below(folder, ending)? {
        let content = files::read(&file)?;
        widths.extend(String::from_utf8_lossy(&content).lines().map(|line| line.chars().count() as u64));
    }
    widths.sort_unstable();
    let Some(longest) = widths.last().copied() else {
        return Err(Failure::invalid_input(format_args!("{folder} has no lines in files that end in `{ending}`")));
    };
    // The smallest width that is at least as long as that share of the lines.
    let fits = |percent: usize| widths[(widths.len() * percent).div_ceil(100).max(1) - 1];
    let (lines, fits_99_percent, fits_90_percent) = (widths.len() as u64, fits(99), fits(90));
    let text = format!("{lines} lines, 99 of 100 within {fits_99_percent} characters, the longest {longest}");
    Ok(Found::Widths { lines, longest, fits_99_percent, fits_90_percent, text })
}

fn words(file: String, at_least: usize) -> Result<Found, Failure> {
    let content = files::read(&file)?;
    let content = String::from_utf8_lossy(&content);
    let mut times: BTreeMap<String, u64> = BTreeMap::new();
    for word in content.split(|letter: char| !letter.is_ascii_alphabetic()) {
        if !word.is_empty() && word.len() >= at_least {
            *times.entry(word.to_ascii_lowercase()).or_default() += 1;
        }
    }
    let count = times.values().sum();
    Ok(Found::Words { file, rows: times.into_iter().map(|(word, times)| Word { word, times }).collect(), count })
}

/// The regular files below a folder whose names have this ending, sorted by path.
fn below(folder: &str, ending: &str) -> Result<Vec<String>, Failure> {
    const LEFT_OUT: [&str; 5] = [".git", ".ai", "target", "node_modules", ".venv"];
    let mut found = Vec::new();
    let mut folders = vec![folder.trim_end_matches('/').to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in files::list(&folder)? {
            let path = format!("{folder}/{}", entry.name);
            match entry.kind {
                Kind::File if entry.name.ends_with(ending) => found.push(path),
                Kind::Folder if !LEFT_OUT.contains(&entry.name.as_str()) => folders.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

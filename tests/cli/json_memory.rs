//! Texts of strangers that take many times their length once they are read as JSON, in every place that accepts such a
//! text. Each command ends by itself, with success or a typed refusal, and takes memory in proportion to the text.

use std::time::Duration;

use graph_core::digest::Digest;
use graph_core::trust::{IN_TOTO, SigningKey, sign_document};
use serde_json::{Value, json};

use crate::draw::is_drawn;
use crate::hostile::watch::{self, Bounds, Ended};
use crate::place::{Place, kit};

/// Length of a text, in bytes.
const LENGTH: usize = 16 << 20;
/// Limit of a command's memory for such a text, in MiB. Most of it is copies of the text.
const MOST: u64 = 300;
/// Name of a kind of text, and a function that makes such a text of a length.
type Kind = (&'static str, fn(usize) -> String);
/// Texts that take many times their length once they are read, or as much as a text can.
const KINDS: [Kind; 9] = [
    ("objects", |length| repeated("{\"a\":0}", length)),
    ("empty objects", |length| repeated("{}", length)),
    ("empty lists", |length| repeated("[]", length)),
    ("numbers", |length| repeated("0", length)),
    ("nested lists", |length| repeated(&format!("{}{}", "[".repeat(60), "]".repeat(60)), length)),
    ("nested objects", |length| repeated(&format!("{}0{}", "{\"\":".repeat(60), "}".repeat(60)), length)),
    ("long keys", |length| {
        let key = |at: usize| format!("\"{at}{}\":0", "k".repeat(1 << 20));
        let keys: Vec<_> = (0..length >> 20).map(key).collect();
        format!("{{\"x\":{{{}}}}}", keys.join(","))
    }),
    ("escapes", |length| format!("{{\"x\":\"{}\"}}", "\\u0000".repeat(length / 6))),
    ("one text", |length| format!("{{\"x\":\"{}\"}}", "t".repeat(length))),
];

fn repeated(part: &str, length: usize) -> String {
    let count = length / (part.len() + 1);
    format!("{{\"x\":[{}{part}]}}", format!("{part},").repeat(count))
}

/// A place that accepts a text: a function that writes it, and the commands that may read it.
struct Way {
    name: &'static str,
    length: usize,
    plant: fn(&Place, &str),
    commands: &'static [&'static [&'static str]],
}

const SHOWING: &[&[&str]] = &[
    &["runs", "list"],
    &["runs", "show", "r1"],
    &["runs", "history", "r1"],
    &["runs", "events", "r1"],
    &["runs", "state", "r1"],
    &["runs", "verify", "r1"],
    &["runs", "export", "r1", "-o", "r1.archive"],
    &["runs", "gc", "--older-than", "0s", "--all-statuses", "--dry-run"],
    &["graph", "show", "--run", "r1"],
    &["replay", "r1"],
    &["resume", "r1"],
];
const IMPORT: &[&[&str]] = &[&["runs", "import", "foreign.archive"]];

const WAYS: &[Way] = &[
    Way {
        name: "the error of a row",
        length: LENGTH,
        plant: |place, text| sql(place, "UPDATE runs SET error = ?1", text),
        commands: SHOWING,
    },
    Way {
        name: "the result of a row",
        length: LENGTH,
        plant: |place, text| sql(place, "UPDATE runs SET result = ?1", text),
        commands: SHOWING,
    },
    Way {
        name: "the inputs",
        length: LENGTH,
        plant: |place, text| sql(place, "UPDATE snapshots SET text = ?1 WHERE text = '{}'", text),
        commands: SHOWING,
    },
    Way {
        name: "every text that a run keeps",
        length: LENGTH,
        plant: |place, text| sql(place, "UPDATE snapshots SET text = ?1", text),
        commands: SHOWING,
    },
    Way {
        name: "a channel",
        length: LENGTH,
        plant: |place, text| sql(place, "UPDATE channel_values SET json = ?1", text),
        commands: SHOWING,
    },
    Way {
        name: "a checkpoint",
        length: LENGTH,
        plant: |place, text| sql(place, "UPDATE checkpoints SET body = ?1", text),
        commands: SHOWING,
    },
    Way {
        name: "a pending record",
        length: LENGTH,
        plant: |place, text| sql(place, "UPDATE pending SET body = ?1", text),
        commands: SHOWING,
    },
    Way {
        name: "a record of the history",
        length: LENGTH,
        plant: |place, text| sql(place, "UPDATE history SET body = ?1", text),
        commands: SHOWING,
    },
    Way {
        name: "a note about removed checkpoints",
        length: LENGTH,
        plant: |place, text| {
            sql(
                place,
                "INSERT OR REPLACE INTO prunings (run, namespace, note) SELECT id, '', ?1 FROM runs",
                text,
            );
        },
        commands: SHOWING,
    },
    Way {
        name: "the row of a log",
        length: LENGTH,
        plant: |place, text| in_log(place, |line| line["row"]["strange"] = parsed(text)),
        commands: FILES,
    },
    Way {
        name: "the first line of an archive",
        length: LENGTH,
        plant: |place, text| place.write("foreign.archive", &format!("{text}\n")),
        commands: IMPORT,
    },
    Way {
        name: "a text of an archive",
        length: LENGTH,
        plant: |place, text| archive(place, "text", |line| line["text"]["text"] = text.into()),
        commands: IMPORT,
    },
    Way {
        name: "the row of an archive",
        length: LENGTH,
        plant: |place, text| archive(place, "row", |line| line["row"]["error"] = text.into()),
        commands: IMPORT,
    },
    Way {
        name: "an unknown field of an archive",
        length: LENGTH,
        plant: |place, text| archive(place, "row", |line| line["row"]["strange"] = parsed(text)),
        commands: IMPORT,
    },
    Way {
        name: "a record of an archive",
        length: LENGTH,
        plant: |place, text| archive(place, "record", |line| line["record"]["body"] = text.into()),
        commands: IMPORT,
    },
    Way {
        name: "the values of an archive",
        length: LENGTH,
        plant: |place, text| {
            archive(place, "record", |line| {
                line["record"]["values"] =
                    json!([{ "channel": "x", "version": 1, "kind": "whole", "json": text }]);
            });
        },
        commands: IMPORT,
    },
    Way {
        name: "the inputs of a command",
        length: LENGTH,
        plant: |place, text| place.write("x.json", text),
        commands: &[
            &["run", "g.yaml", "--inputs", "x.json"],
            &["runs", "update", "r1", "--values", "x.json"],
            &["runs", "import", "x.json"],
            &["graph", "show", "x.json"],
            &["verify", "x.json"],
            &["validate", "x.json"],
        ],
    },
    Way {
        name: "the manifest of a bundle",
        length: LENGTH,
        plant: |place, text| place.write("b/manifest.json", text),
        commands: BUNDLE,
    },
    Way {
        name: "the envelope of a bundle",
        length: LENGTH,
        plant: |place, text| place.write("b/manifest.json.dsse.json", text),
        commands: BUNDLE,
    },
    Way {
        name: "the document of a bundle",
        length: LENGTH,
        plant: |place, text| place.write("b/bundle.json", text),
        commands: BUNDLE,
    },
    Way {
        name: "a statement",
        length: 3 << 20,
        plant: |place, text| place.write(".ai/tools/t/kit.wasm.dsse.json", &enveloped(text)),
        commands: ITEM,
    },
    Way {
        name: "an envelope",
        length: 4 << 20,
        plant: |place, text| place.write(".ai/tools/t/kit.wasm.dsse.json", text),
        commands: ITEM,
    },
    Way {
        name: "the marker of the state",
        length: LENGTH,
        plant: |place, text| place.write(".ai/state/host.json", text),
        commands: SHOWING,
    },
    Way {
        name: "a record of origin",
        length: LENGTH,
        plant: |place, text| place.write(".ai/tools/t/kit.wasm.origin.json", text),
        commands: ITEM,
    },
    Way {
        name: "the lockfile",
        length: LENGTH,
        plant: |place, text| place.write("graph-host.lock", text),
        commands: &[&["pull"], &["doctor"], &["inspect", "t/kit"]],
    },
    Way {
        name: "Docker's configuration",
        length: LENGTH,
        plant: |place, text| {
            std::fs::create_dir_all(place.path("docker")).unwrap();
            place.write("docker/config.json", text);
        },
        commands: &[&["pull", "localhost:1/a/b:1"]],
    },
    Way {
        name: "the manifest of a run",
        length: LENGTH,
        plant: |place, text| place.write("caps.yaml", text),
        commands: &[&["run", "g.yaml", "--caps", "caps.yaml"]],
    },
    Way {
        name: "hooks of a project",
        length: LENGTH,
        plant: |place, text| place.write(".ai/hooks.yaml", text),
        commands: &[&["run", "g.yaml"], &["validate", "g.yaml"]],
    },
    Way {
        name: "the trust of a user",
        length: LENGTH,
        plant: |place, text| place.write("home/trust.yaml", text),
        commands: &[&["trust", "list"], &["inspect", "t/kit"]],
    },
    Way {
        name: "the log of a user's trust",
        length: LENGTH,
        plant: |place, text| place.write("home/trust.log", &format!("{text}\n")),
        commands: &[&["trust", "log"], &["trust", "list"], &["doctor"]],
    },
];

const FILES: &[&[&str]] =
    &[&["runs", "list"], &["runs", "show", "f1"], &["runs", "verify", "f1"], &["resume", "f1"]];
const BUNDLE: &[&[&str]] = &[&["bundle", "--verify", "b"]];
const ITEM: &[&[&str]] = &[&["inspect", "t/kit"], &["doctor"]];

fn sql(place: &Place, statement: &str, text: &str) {
    let database = rusqlite::Connection::open(place.path(".ai/state/runs.db")).unwrap();
    database.execute(statement, [text]).unwrap();
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Writes an export of the run in which the first line of a kind is changed.
fn archive(place: &Place, kind: &str, change: impl Fn(&mut Value)) {
    let lines = place.read("r1.archive");
    let mut is_changed = false;
    let changed = lines.lines().map(|line| {
        let mut line = parsed(line);
        if !is_changed && line.get(kind).is_some() {
            change(&mut line);
            is_changed = true;
        }
        format!("{line}\n")
    });
    place.write("foreign.archive", &changed.collect::<String>());
}

/// Changes the last line of the log of a run in the file store.
fn in_log(place: &Place, change: impl Fn(&mut Value)) {
    let runs = std::fs::read_dir(place.path(".ai/state/files/runs")).unwrap().map(Result::unwrap);
    let log = runs.map(|run| run.path().join("log")).find(|log| log.is_file()).unwrap();
    let text = std::fs::read_to_string(&log).unwrap();
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    let last = lines.last_mut().unwrap();
    let mut line = parsed(last.split_once(' ').unwrap().1);
    change(&mut line);
    let line = line.to_string();
    *last = format!("{} {line}", Digest::of_bytes(line.as_bytes()).hex());
    std::fs::write(log, lines.join("\n") + "\n").unwrap();
}

/// Makes an envelope that a stranger's key has signed.
fn enveloped(payload: &str) -> String {
    let key = SigningKey::from_seed(&[7; 32]);
    sign_document(IN_TOTO, payload.as_bytes().to_vec(), &key).unwrap()
}

/// Makes a project with a waiting run, one in the file store, an export, a bundle and a component.
fn project() -> Place {
    let place = Place::new();
    std::fs::copy(kit("testkit"), place.path(".ai/tools/t/kit.wasm")).unwrap();
    place.graph(
        "g.yaml",
        "start: a\nnodes:\n  a: { assign: { x: 1 }, next: b }\n  b: { interrupt: before }\n",
    );
    for (id, store) in [("r1", "sqlite"), ("f1", "file")] {
        let ran = place.run(&["run", "g.yaml", "--run-id", id, "--store", store]);
        assert_eq!(ran.code, 6, "{}", ran.stderr);
    }
    for (words, code) in
        [(&["runs", "export", "r1", "-o", "r1.archive"][..], 0), (&["bundle", "g.yaml", "-o", "b"], 0)]
    {
        let ran = place.run(words);
        assert_eq!(ran.code, code, "{}", ran.stderr);
    }
    place
}

/// Returns the reason if a stranger's text must not end a command like this.
fn wrong(ended: &Ended) -> Option<String> {
    let code = &ended.document["error"]["code"];
    if let Some(why) = &ended.stopped {
        Some(format!("was ended from outside: {why}"))
    } else if ended.peak_together > MOST << 10 {
        Some(format!("took {} MiB", ended.peak_together >> 10))
    } else if ended.stderr.contains("panicked") || ended.code.is_none_or(|code| code > 20) {
        Some(format!("ended with {:?}: {}", ended.code, ended.stderr.chars().take(300).collect::<String>()))
    } else if matches!(ended.code, Some(1 | 8)) && !code.is_string() && ended.stdout.is_empty() {
        Some(format!("was refused without a code: {}", ended.stderr.chars().take(300).collect::<String>()))
    } else {
        None
    }
}

/// Tries the ways and kinds; with `JSON_MEMORY=TEXT`, only those whose names contain that text, and prints the memory of each command.
fn each(ways: &[Way]) {
    let filter = std::env::var("JSON_MEMORY").ok();
    let mut failed = Vec::new();
    for way in ways {
        let place = project();
        for (kind, text) in KINDS {
            let name = format!("{}: {kind}", way.name);
            let is_left_out = |filter: &String| !name.contains(filter);
            if filter.as_ref().map_or_else(|| !is_drawn(&name, 3), is_left_out) {
                continue;
            }
            (way.plant)(&place, &text(way.length));
            for words in way.commands {
                let bounds = Bounds { time: Duration::from_mins(1), memory: 1200, ..Bounds::default() };
                let ended = watch::within(place.command(&[*words, &["--json"]].concat()), &bounds);
                if filter.is_some() {
                    let (code, peak) = (ended.code, ended.peak_together >> 10);
                    println!("{name}: {}: {code:?}, {peak} MiB, {:?}", words.join(" "), ended.took);
                }
                failed.extend(wrong(&ended).map(|why| format!("{name}: {} {why}", words.join(" "))));
            }
        }
    }
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn a_text_in_a_strangers_store_takes_memory_in_proportion() {
    for at in (0..WAYS.len()).filter(|at| WAYS[*at].commands.len() == SHOWING.len()) {
        each(&WAYS[at..=at]);
    }
}

#[test]
fn a_text_in_a_strangers_file_takes_memory_in_proportion() {
    for at in (0..WAYS.len()).filter(|at| WAYS[*at].commands.len() != SHOWING.len()) {
        each(&WAYS[at..=at]);
    }
}

/// An export with lines that are longer than permitted for their kind, and texts that are too large together.
#[test]
fn a_line_of_an_archive_is_bounded_by_its_kind() {
    let place = project();
    let lines = place.read("r1.archive");
    let head = lines.split_inclusive('\n').take(2).collect::<String>();
    let digest = Digest::of_bytes(b"x");
    let text = |length: usize| {
        let text = "t".repeat(length);
        format!("{{\"text\":{{\"digest\":\"{}\",\"text\":\"{text}\"}}}}\n", Digest::of_bytes(text.as_bytes()))
    };
    let note = |length: usize| {
        format!("{{\"pruning\":{{\"namespace\":\"\",\"note\":\"{}\"}}}}\n", "n".repeat(length))
    };
    let several = |length: usize, count: usize| (0..count).map(|at| text(length + at)).collect::<String>();
    for (name, rest, code, says, most) in [
        ("a text of 400 MiB", text(400 << 20), 8, "at most", 400),
        ("a text of 140 MiB", text(140 << 20), 8, "128 MiB", 500),
        ("a note of 400 MiB", note(400 << 20), 8, "at most", 400),
        ("a note of 140 MiB", note(140 << 20), 8, "128 MiB", 500),
        ("texts of 300 MiB", several(60 << 20, 5), 7, "--texts", 600),
        ("an end of 100 MiB", format!("{{\"end\":{{\"lines\":{}", "1".repeat(100 << 20)), 8, "at most", 150),
        ("a line of no kind", format!("{{\"x\":\"{}", "x".repeat(100 << 20)), 8, "at most", 150),
        (
            "a record of 700 MiB",
            format!("{{\"record\":{{\"digest\":\"{digest}\",\"body\":\"{}", "x".repeat(700 << 20)),
            8,
            "at most",
            800,
        ),
    ] {
        place.write("foreign.archive", &format!("{head}{rest}"));
        let bounds = Bounds { time: Duration::from_mins(1), memory: 1200, ..Bounds::default() };
        let ended = watch::within(place.command(&["runs", "import", "foreign.archive", "--json"]), &bounds);
        let peak = ended.peak_together >> 10;
        assert!(
            ended.stopped.is_none() && ended.code == Some(code),
            "{name}: {:?} {}",
            ended.code,
            ended.stderr
        );
        let message = ended.document["error"].to_string();
        assert!(message.contains(says), "{name}: {message}");
        assert!(peak < most, "{name}: {peak} MiB");
    }
}

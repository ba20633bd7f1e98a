//! Writes the seed corpora from files of the repository: graphs of the cases and examples, their conditions and
//! templates, records of runs of them, envelopes, manifests and components.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::SEPARATOR;
use graph_core::digest::Digest;
use graph_core::record::RecordKind;
use serde_json::Value;

/// Events that lead through a run: tasks answer, records are persisted, a question is answered.
const RUN: &[u8] = &[
    0, 0, 1, 5, 5, 5, 16, 0, 2, 0, 0, 3, 6, 6, 6, 0, 5, 9, 7, 7, 9, 24, 200, 5, 5, 0, 4, 1, 8, 6, 40, 1, 2,
    0, 1, 1, 5, 5, 8, 0, 0, 0, 5, 5, 5, 9, 9, 0, 0, 0, 5, 5, 10, 1, 5, 5, 24, 2, 0, 0, 0, 5, 5, 11, 5, 5, 8,
    0, 0, 0, 5, 5, 12,
];

const LOCKFILES: &[&str] = &[
    "version: 1\n",
    "version: 1\ndirectives:\n  \"a/b\":\n    kind: directive\n    reference: \"oci-layout:out:a/b:1.0.0\"\n    version: \"1.0.0\"\n    manifest: \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"\n    digest: \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"\n    key: \"0000000000000000000000000000000000000000000000000000000000000000\"\n",
    "version: 1\nknowledge: {}\ntools:\n  acme/fetch:\n    kind: component\n    reference: oci://r.example:5000/acme/fetch:1.2.0-rc.1_b@sha256:0000000000000000000000000000000000000000000000000000000000000000\n    version: 1.2.0-rc.1+b\n    manifest: sha256:0000000000000000000000000000000000000000000000000000000000000000\n    digest: sha256:0000000000000000000000000000000000000000000000000000000000000000\n    key: 0000000000000000000000000000000000000000000000000000000000000000\n",
];

const REFERENCES: &[&str] = &[
    "oci://r.example:5000/acme/fetch:1.2.0@sha256:0000000000000000000000000000000000000000000000000000000000000000",
    "oci://localhost",
    "oci-layout:a@1/out:acme/fetch:1.2.0_b",
    "oci://r.example/acme/fetch@>=1.2, <2\n1.2.0\n1.3.0_b\n2.0.0-rc.1\nlatest\n1.2.0",
    "oci://r.example/a@>=1\n1.2.0+rc.1\nla.0_b\n3.0.0",
    "oci-layout:out:acme/fetch@^1\nacme/fetch:1.0.0\nacme/other:1.1.0\n1.4.0",
    "acme/fetch@~1.2",
    ">=1.2, <1.5",
    "1.2 || 1.3",
];

/// Answers of registries. The first letter selects the kind, as in the target.
const ANSWERS: &[&str] = &[
    r#"cBearer realm="https://auth.example/token",service="r.example", scope="repository:a/b:pull,push""#,
    r#"cbearer realm="a\"b\\",service=c, error="invalid_token""#,
    r#"cBasic realm="x""#,
    r#"t{"token":"t","access_token":"u","expires_in":300,"issued_at":"2024-01-01T00:00:00Z"}"#,
    r#"e{"errors":[{"code":"DENIED","message":"no \u001b[2J","detail":[{"Type":"repository"}]}]}"#,
    r#"n{"name":"a/b","tags":["1.0.0","latest",null,7]}"#,
    r#"n{"name":"a/b","tags":null}"#,
    r#"l</v2/a/tags/list?n=2&last=b>; rel="next""#,
    r#"l</first>; rel="first"; title="a, <b>; rel=next", <https://r.example/x>; REL="last Next""#,
    "lhttps://me:pw@blobs.example/x?digest=sha256:00",
    "l/v2/a/blobs/uploads/1?_state=x",
    "lhttp://127.0.0.1:9/x",
];

/// Writes the seeds of all targets below a folder, and returns their number.
pub fn write(repository: &Path, folder: &Path) -> Result<usize, Box<dyn std::error::Error>> {
    let mut corpora = Corpora { folder: folder.to_owned(), written: BTreeSet::new() };
    for path in
        files(&repository.join("tests/cases"))?.into_iter().chain(files(&repository.join("tests/documents"))?)
    {
        let text = fs::read_to_string(&path)?;
        if path.to_string_lossy().ends_with(".case.yaml") {
            corpora.add("case", text.as_bytes())?;
        }
        let graph =
            if path.to_string_lossy().ends_with(".case.yaml") { graph_of_case(&text) } else { Some(text) };
        if let Some(graph) = graph {
            corpora.graph(&graph)?;
        }
    }
    for path in files(&repository.join("examples"))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".wasm") && !path.components().any(|part| part.as_os_str() == "target") {
            let bytes = fs::read(&path)?;
            if bytes.len() < 100_000 {
                corpora.add("component", &bytes)?;
            }
        } else if name.ends_with(".dsse.json") {
            corpora.add("statement", &fs::read(&path)?)?;
        } else if name == "caps.yaml" || name == "trust.yaml" {
            corpora.add("policy", &fs::read(&path)?)?;
        } else if name == "graph.yaml" {
            corpora.graph(&fs::read_to_string(&path)?)?;
        } else if name.ends_with(".md") {
            corpora.add("statement", &fs::read(&path)?)?;
        }
    }
    for path in files(&repository.join("host/engine/tests"))?
        .into_iter()
        .chain(files(&repository.join("tests/hostile"))?)
    {
        if path.extension().is_some_and(|extension| extension == "wat") {
            corpora.add("component", &fs::read(&path)?)?;
        }
    }
    let testkit = repository.join("examples/nodes/.ai/tools/examples/testkit.wasm.dsse.json");
    for seed in crate::artifact::seeds(b"\0asm\x0d\0\x01\0", &fs::read_to_string(testkit)?) {
        corpora.add("artifact", &seed)?;
    }
    for (target, seeds) in [("lockfile", LOCKFILES), ("reference", REFERENCES), ("answer", ANSWERS)] {
        for seed in seeds {
            corpora.add(target, seed.as_bytes())?;
        }
    }
    Ok(corpora.written.len())
}

/// Lists all files below a folder, in order; none if the folder does not exist.
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return Ok(found) };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            if entry.file_name() != "target" {
                found.extend(files(&entry.path())?);
            }
        } else {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Makes a document of the `graph` of a case.
fn graph_of_case(text: &str) -> Option<String> {
    let start = text.find("\ngraph:\n")? + "\ngraph:\n".len();
    let lines = text[start..].lines().take_while(|line| line.is_empty() || line.starts_with(' '));
    let executor = text.lines().find(|line| line.starts_with("executor_id:")).unwrap_or_default();
    Some(format!("tool_type: graph\n{executor}\nconfig:\n{}\n", lines.collect::<Vec<_>>().join("\n")))
}

struct Corpora {
    folder: PathBuf,
    written: BTreeSet<(String, Digest)>,
}

impl Corpora {
    /// Writes a seed under the name of its digest, as libFuzzer does.
    fn add(&mut self, target: &str, bytes: &[u8]) -> std::io::Result<()> {
        let digest = Digest::of_bytes(bytes);
        if self.written.insert((target.to_owned(), digest)) {
            let folder = self.folder.join(target);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join(digest.to_string().replace(':', "-")), bytes)?;
        }
        Ok(())
    }

    fn graph(&mut self, text: &str) -> Result<(), Box<dyn std::error::Error>> {
        self.add("document", text.as_bytes())?;
        self.add("walker", &[text.as_bytes(), SEPARATOR.as_bytes(), RUN].concat())?;
        let Ok(loaded) = graph_walker::document::load("graph.yaml", text, "t/graph") else { return Ok(()) };
        let mut values = Vec::new();
        parts(&loaded.graph.document, &mut values);
        for (target, value) in values {
            self.add(
                target,
                format!("{value}\n{{\"n\": 1, \"items\": [1, {{\"a\": \"b\"}}], \"text\": \"abc\"}}")
                    .as_bytes(),
            )?;
        }
        let mut records = Vec::new();
        crate::walk(Arc::new(loaded.graph), RUN, |record, body| {
            let kind = match record.kind() {
                RecordKind::Checkpoint => "c",
                RecordKind::Task => "t",
                RecordKind::Answers => "a",
                RecordKind::Status => "s",
                RecordKind::Hook => "h",
            };
            records.push(format!("{kind}{body}"));
        });
        // Later records are larger.
        for record in records.iter().rev().take(3) {
            self.add("record", record.as_bytes())?;
        }
        Ok(())
    }
}

/// Collects the conditions and templates of a document.
fn parts(value: &Value, found: &mut Vec<(&'static str, Value)>) {
    match value {
        Value::String(text) if text.contains("${") => found.push(("template", value.clone())),
        Value::Array(values) => values.iter().for_each(|value| parts(value, found)),
        Value::Object(fields) => {
            for (key, value) in fields {
                if matches!(key.as_str(), "when" | "if" | "condition") {
                    found.push(("condition", value.clone()));
                } else if matches!(key.as_str(), "assign" | "params" | "output") {
                    found.push(("template", value.clone()));
                }
                parts(value, found);
            }
        }
        _ => {}
    }
}

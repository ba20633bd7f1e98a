//! Digests of the records of runs. WebAssembly and native code have to compute the same ones: a checkpoint from a
//! browser is continued on a server.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::Arc;

use graph_core::capability::{DispatchPatterns, Manifest};
use graph_core::digest::Digest;
use graph_core::json::canonical_string;
use graph_core::node::{Category, Failure, Outcome};
use graph_core::ranking::{Query, Ranking, Totals, Weights, each_word};
use graph_core::record::Record;
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;
use graph_walker::document;
use graph_walker::graph::Graph;
use graph_walker::walker::{Answers, Effect, Event, Resume, RunTree, TaskReport, TaskSpec, TimerId};
use serde_json::{Value, json};

/// Limit of the events of a run. Longer runs are compared up to there.
const MAX_EVENTS: usize = 500;
/// Limit of the resumes of a suspended run.
const MAX_RESUMES: usize = 4;

/// Allocates memory for a document.
#[unsafe(no_mangle)]
pub extern "C" fn allocate(length: usize) -> *mut u8 {
    Box::leak(vec![0; length].into_boxed_slice()).as_mut_ptr()
}

/// Returns the vector of a document as text: its address in the upper half of the result, its length in the lower one.
#[unsafe(no_mangle)]
pub extern "C" fn vector(pointer: *const u8, length: usize) -> u64 {
    // SAFETY: the caller passes what `allocate` returned, and has written the document there.
    let bytes = unsafe { std::slice::from_raw_parts(pointer, length) };
    let vector = String::from_utf8_lossy(bytes);
    let vector = of_document(&vector).leak();
    (vector.as_ptr() as u64) << 32 | vector.len() as u64
}

/// Returns the results of searches in the lines of a document, in the form of [`vector`].
#[unsafe(no_mangle)]
pub extern "C" fn ranking(pointer: *const u8, length: usize) -> u64 {
    // SAFETY: the caller passes what `allocate` returned, and has written the document there.
    let bytes = unsafe { std::slice::from_raw_parts(pointer, length) };
    let ranking = ranking_of(&String::from_utf8_lossy(bytes)).leak();
    (ranking.as_ptr() as u64) << 32 | ranking.len() as u64
}

/// Makes a line for each pair of words of a document, with the lines of the document that contain them, best first.
pub fn ranking_of(text: &str) -> String {
    let mut words = Vec::new();
    each_word(text, &mut |word| words.push(word.to_owned()));
    let mut ranking = String::new();
    for pair in words.chunks(2).take(40) {
        let Some(query) = Query::new(&pair.join(" ")) else { continue };
        let mut lines = Ranking::new(query, "", 20);
        for (number, line) in text.lines().enumerate() {
            lines.add(&format!("{number:05}"), line);
        }
        let found = lines.best();
        let _ = writeln!(ranking, "{}: {}", pair.join(" "), found.join(" "));
        let (entries, count) =
            (u32::try_from(text.len()).unwrap_or(u32::MAX), u32::try_from(found.len()).unwrap_or(u32::MAX));
        let weights = Weights::new(Totals { entries, words: entries }, &[count]);
        let _ = writeln!(ranking, "{:016x}", weights.score(&[count], count).to_bits());
    }
    ranking
}

/// Returns the problems of a document, or a line for each record of a run of it and one for the outcome.
pub fn of_document(text: &str) -> String {
    match document::load("graph.yaml", text, "t/graph") {
        Ok(loaded) => run(Arc::new(loaded.graph)),
        Err(problems) => problems.to_lines().join("\n"),
    }
}

fn run(graph: Arc<Graph>) -> String {
    let inputs = json!({
        "n": 3, "big": u64::MAX, "small": i64::MIN, "part": 0.1, "large": 1e300, "text": "straße \u{1f980}",
        "items": [1, 2.5, "three", null, { "id": "four", "a": { "b": [true] } }], "files": ["a", "b"],
    });
    let manifest =
        DispatchPatterns::parse(["*"]).map_or_else(|_| Manifest::deny_all(), Manifest::of_dispatch);
    // A page keeps no such graphs.
    let manifest = manifest.without_written_graphs("this host keeps no graphs that a run writes itself");
    let key = SigningKey::from_seed(&[7; 32]);
    let mut walker = RunTree::new(Arc::clone(&graph), crate::setup(&graph, inputs, manifest));
    let (mut lines, mut now, mut resumes) = (String::new(), Timestamp(1_767_225_600_000), 0);
    let mut events = VecDeque::from([Event::Started]);
    for _ in 0..MAX_EVENTS {
        let Some(event) = events.pop_front() else { break };
        let effects = match walker.handle(now, event) {
            Ok(effects) => effects,
            Err(error) => {
                lines += &format!("refused: {error}\n");
                continue;
            }
        };
        for effect in effects {
            match effect {
                Effect::RunTask(task) => events.push_back(Event::TaskDone {
                    task: task.activation.task.as_str().into(),
                    attempt: task.activation.attempt,
                    report: report(&task),
                }),
                Effect::LookUp(lookup) => events.push_back(lookup.answer(Default::default())),
                Effect::RunHook(hook) => events.push_back(Event::HookDone {
                    hook: hook.call.activation.task.as_str().into(),
                    report: TaskReport::new(Ok(Outcome::Result(Value::Null)), 5),
                }),
                Effect::Persist(persist) => {
                    events.push_back(Event::Persisted(persist.id));
                    let fuel = match &persist.record {
                        Record::Checkpoint(checkpoint) => {
                            format!(" result {} fuel {}", checkpoint.result.0, checkpoint.fuel)
                        }
                        _ => String::new(),
                    };
                    match persist.sign(&key) {
                        Ok(record) => {
                            let kind = record.kind.as_str();
                            lines += &format!("{kind} {} {}{fuel}\n", record.sequence, record.digest);
                        }
                        Err(error) => lines += &format!("{error}\n"),
                    }
                }
                // Time passes only when a run waits, and the limit of the run is never reached.
                Effect::SetTimer { timer: timer @ TimerId::Retry { .. }, at } => {
                    now = now.max(at);
                    events.push_back(Event::TimerFired(timer));
                }
                Effect::Continue => events.push_back(Event::Continued),
                Effect::Suspend(_) if resumes < MAX_RESUMES => {
                    resumes += 1;
                    let open = walker.summary().interrupts;
                    let answers =
                        open.into_iter().map(|open| (open.id, json!({ "again": resumes }))).collect();
                    let answers = Answers::ById(answers);
                    events.push_back(Event::Resumed(Resume { answers, ..Resume::default() }));
                }
                _ => {}
            }
        }
    }
    let summary = walker.summary();
    let error = summary.error.map(|error| error.message).unwrap_or_default();
    let _ = write!(lines, "{} fuel {} steps {} {error}", summary.status, summary.fuel, summary.steps);
    for warning in summary.warnings {
        let _ = write!(lines, "\n{warning}");
    }
    lines
}

/// Answers a task depending only on its seed and on the number of requests: with a result, a failure that can be tried
/// again or not, or a question.
fn report(task: &TaskSpec) -> TaskReport {
    let byte = task.seed.as_bytes()[0];
    // Components receive params as text, with numbers as in records.
    let params: Value = serde_json::from_str(&canonical_string(&task.params)).unwrap_or_default();
    let again = task.activation.attempt > 1 || !task.activation.answers.is_empty();
    let result = match byte % 16 {
        0 | 1 if !again => Err(Failure::new(Category::Transient, "it failed")),
        2 => Err(Failure::new(Category::Permanent, "it failed for good")),
        3 | 4 if !again => Ok(Outcome::Interrupt(json!({ "question": task.item_id }))),
        5..=8 => Ok(Outcome::Result(params)),
        9 | 10 => Ok(Outcome::Result(json!(f64::from(byte) / 7.0))),
        _ => Ok(Outcome::Result(json!({
            "of": params, "v": byte, "list": [byte, 1e21, -0.0, 5e-324], "text": Digest::of_bytes(&[byte]).to_string(),
        }))),
    };
    TaskReport::new(result, 10 + u64::from(byte))
}

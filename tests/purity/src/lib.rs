//! Calls every part of `graph-core`, so that the linker keeps all of it in the module whose imports are counted; and
//! walks graphs, so that the results of the module can be compared with those of native code.

pub mod vectors;

use std::collections::VecDeque;
use std::sync::Arc;

use graph_core::capability::{
    DispatchUse, GrantRequest, InterfaceName, ItemNeeds, Manifest, effective_grant, suggest,
};
use graph_core::item::{ItemOperation, ItemType};
use graph_core::limits::NodeLimits;
use graph_core::node::Outcome;
use graph_core::policy::TemplateMode;
use graph_core::schema::InputSchema;
use graph_core::template::{Root, Scope, ValueTemplate};
use graph_core::time::Timestamp;
use graph_core::trust::{
    CommentMark, SigningKey, TextKind, TrustStore, VerifiedComponent, sign_text, verify_text,
};
use graph_core::work::Meter;
use graph_core::{condition, json, record};
use graph_walker::document;
use graph_walker::graph::Graph;
use graph_walker::topology::Topology;
use graph_walker::walker::{Effect, Event, Identity, Resume, RunTree, Setup, TaskReport};
use serde_json::Value;

/// Passes a text to every reader of texts. The result depends on all of them.
#[unsafe(no_mangle)]
pub extern "C" fn touch(pointer: *const u8, length: usize, at: u64) -> usize {
    // SAFETY: the caller passes bytes that it has written.
    let bytes = unsafe { std::slice::from_raw_parts(pointer, length) };
    let Ok(text) = std::str::from_utf8(bytes) else { return 0 };
    let now = Timestamp(at);
    let value = json::parse_strict(text, 64, json::TreeLimit::VALUE).unwrap_or_default();
    let manifest = Manifest::parse(text, "text", "/").map_or_else(|_| Manifest::deny_all(), |(read, _)| read);
    json::canonical_string(&value).len()
        + documents(text, &manifest, now)
        + values(&value)
        + trust(text, &manifest, now)
        + grants(text, &manifest)
}

fn documents(text: &str, manifest: &Manifest, now: Timestamp) -> usize {
    match document::load("text", text, "t/text") {
        Ok(loaded) => {
            let again = document::load_snapshot(&loaded.graph.document).is_ok();
            let picture = Topology::of(&loaded.graph).to_mermaid().len();
            usize::from(again) + picture + walk(loaded.graph, manifest, now)
        }
        Err(problems) => problems.to_lines().len(),
    }
}

/// Makes the setup of a new run.
fn setup(graph: &Graph, inputs: Value, manifest: Manifest) -> Setup {
    let inputs = Arc::new(inputs);
    Setup {
        identity: Identity { run: "r".into(), root: "r".into(), parent: None, namespace: String::new() },
        seed: Setup::default_seed(graph, &inputs),
        inputs,
        initial_state: serde_json::Map::new(),
        manifest: Arc::new(manifest),
        graphs: Arc::default(),
        hooks: Arc::default(),
        pins: graph.digest,
        accepted: Vec::new(),
        durability: graph.durability,
        max_steps: None,
        max_concurrency: None,
    }
}

/// A minimal driver: each task answers with its params, each record is signed, and verified as a store's would be.
fn walk(graph: Graph, manifest: &Manifest, now: Timestamp) -> usize {
    let graph = Arc::new(graph);
    let setup = setup(&graph, Value::Null, manifest.clone());
    let key = SigningKey::from_seed(&[7; 32]);
    let mut chain = record::ChainVerifier::new(key.verifying_key());
    let (walked, mut kept) = (graph.digest, Vec::new());
    let mut walker = RunTree::new(graph, setup);
    let mut events = VecDeque::from([Event::Started]);
    let mut sum = 0;
    while let Some(event) = events.pop_front() {
        for effect in walker.handle(now, event).unwrap_or_default() {
            match effect {
                Effect::RunTask(task) => events.push_back(Event::TaskDone {
                    task: task.activation.task.as_str().into(),
                    attempt: task.activation.attempt,
                    report: TaskReport::new(Ok(Outcome::Result(task.params)), 1),
                }),
                Effect::LookUp(lookup) => {
                    let chosen = lookup.choose(lookup.key(&walked), &[], kept.clone(), &key.verifying_key());
                    events.push_back(lookup.answer(chosen));
                }
                Effect::RunHook(hook) => events.push_back(Event::HookDone {
                    hook: hook.call.activation.task.as_str().into(),
                    report: TaskReport::new(Ok(Outcome::Result(Value::Null)), 1),
                }),
                Effect::Persist(persist) => {
                    let id = persist.id;
                    kept.extend(persist.results.iter().cloned());
                    if let Ok(signed) = persist.sign(&key) {
                        sum += chain.checkpoint(&signed).map_or(0, |checkpoint| 1 + checkpoint.visited.len());
                    }
                    events.push_back(Event::Persisted(id));
                }
                Effect::SetTimer { timer, .. } => events.push_back(Event::TimerFired(timer)),
                Effect::Suspend(_) if sum == 0 => events.push_back(Event::Resumed(Resume::default())),
                _ => {}
            }
        }
    }
    sum + walker.summary().executions.len()
}

fn values(value: &Value) -> usize {
    let scope = Scope::new().with("state", Root::Value(value));
    let mut notes = Vec::new();
    let meter = Meter::of_one_step();
    let filled = ValueTemplate::parse(value)
        .is_ok_and(|template| template.evaluate(&scope, TemplateMode::Strict, &mut notes, &meter).is_ok());
    let held = condition::Condition::from_json(value)
        .is_ok_and(|condition| condition.evaluate(&scope, &mut notes, &meter) == Ok(true));
    let fits = InputSchema::compile(value, &meter)
        .is_ok_and(|schema| schema.validate_and_fill(value.clone(), &meter).is_ok());
    usize::from(filled) + usize::from(held) + usize::from(fits) + notes.len()
}

fn trust(text: &str, manifest: &Manifest, now: Timestamp) -> usize {
    let store = match TrustStore::from_yaml("text", text) {
        Ok((store, _)) => store,
        Err(problems) => return problems.to_lines().len(),
    };
    let signed = sign_text(
        TextKind::Knowledge,
        "t/text",
        text,
        CommentMark::Hash,
        &SigningKey::from_seed(&[7; 32]),
        now,
    );
    let standing = format!("{:?}", verify_text(TextKind::Knowledge, "t/text", &signed, &store, now));
    let bytes: Arc<[u8]> = text.as_bytes().into();
    match VerifiedComponent::verify(bytes, Some(text), &store, "t/text", now) {
        Ok(component) => component.ceiling().kinds.len() + manifest.items().len(),
        Err(error) => error.to_string().len() + standing.len(),
    }
}

fn grants(text: &str, manifest: &Manifest) -> usize {
    let Ok(interface) = InterfaceName::parse(text) else { return 0 };
    let declared = [interface];
    let ceiling = graph_core::capability::Ceiling::from_kinds([]);
    let request = GrantRequest {
        item_id: text,
        declared: &declared,
        ceiling: &ceiling,
        signer: None,
        manifest,
        parent: None,
        node: None,
        node_limits: NodeLimits::default(),
    };
    let refused =
        effective_grant(&request).map_or_else(|refusals| refusals.len(), |grant| grant.filesystem.len());
    let used = DispatchUse {
        node: text,
        operation: ItemOperation::Execute,
        item_type: ItemType::Tool,
        item_id: text,
    };
    let needs =
        ItemNeeds { item_id: text, interfaces: &declared, wanted: &[], guest_folder: None, models: &[] };
    refused + suggest(text, &[used], &[needs]).text.len()
}

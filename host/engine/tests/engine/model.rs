//! Language models: nothing is sent that the budget does not cover, all use is charged, and the key stays in the host.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use graph_core::capability::{
    CapabilityKind, EffectiveGrant, ModelApi, ModelPrice, ModelRule, Scheme, SecretSource,
};
use graph_core::limits::{ModelFigure, ModelUse, TaskLimits};
use graph_core::node::{Category, Failure};
use graph_core::record::{JournalEntry, LogLine, ModelDelta, ModelPart};
use graph_core::time::Timestamp;
use graph_engine::graph_model::{Block, Message, Response, Role, StopReason, Usage};
use graph_engine::{
    AskedModel, Call, CallReport, Classification, DoubledModel, EventRecord, HostResources, Journal,
    LiveCalls, ModelDoubles, OutputObserver, PrepareError, PreparedNode, Services,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::support::{activation, component, engine, limits, value};

const KEY: &str = "sk-test-0123456789abcdef";
const PROMPT: &str = "What is the answer?";

/// Creates a node that calls the model `fast` `times` times, and then returns the first text of the last answer, which has to be JSON, or
/// the failure.
fn asking(times: u32) -> Vec<u8> {
    const REQUEST: usize = 1024;
    let mut data = vec![0_u8; 104];
    let mut place = |bytes: &[u8]| {
        let at = REQUEST + data.len();
        data.extend_from_slice(bytes);
        data.resize(data.len().next_multiple_of(8), 0);
        [at, bytes.len()].map(|number| u32::try_from(number).unwrap().to_le_bytes()).concat()
    };
    let model = place(b"fast");
    let text = place(PROMPT.as_bytes());
    // One block of the case `text`, in one message of the user.
    let blocks = place(&[&[0; 4][..], &text, &[0; 16]].concat());
    let list = |mut pair: Vec<u8>| {
        pair[4..].copy_from_slice(&1_u32.to_le_bytes());
        pair
    };
    let messages = place(&[&[0; 4][..], &list(blocks)].concat());
    data[0..8].copy_from_slice(&model);
    data[20..28].copy_from_slice(&list(messages));
    let data = data.iter().fold(String::new(), |text, byte| format!("{text}\\{byte:02x}"));

    let core = format!(
        r#"(module
          (import "graph-host:host/model@0.1.0" "complete" (func $complete (param i32 i32)))
          (memory (export "memory") 32)
          (data (i32.const {REQUEST}) "{data}")
          (data (i32.const 64) "{{}}")
          (global $next (mut i32) (i32.const 8192))
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
            (local $at i32)
            (local.set $at (i32.and (i32.add (global.get $next) (i32.const 15)) (i32.const -16)))
            (global.set $next (i32.add (local.get $at) (local.get 3)))
            (local.get $at))
          (func (export "graph-host:node/action@0.1.0#describe") (result i32)
            (i32.store (i32.const 128) (i32.const 64)) (i32.store (i32.const 132) (i32.const 2))
            (i32.store (i32.const 136) (i32.const 64)) (i32.store (i32.const 140) (i32.const 2))
            (i32.store (i32.const 144) (i32.const 64)) (i32.store (i32.const 148) (i32.const 2))
            (i32.const 128))
          (func (export "graph-host:node/action@0.1.0#run") (param i32) (result i32)
            (local $left i32) (local $block i32)
            (local.set $left (i32.const {times}))
            (loop $again
              (call $complete (i32.const {REQUEST}) (i32.const 512))
              (local.set $left (i32.sub (local.get $left) (i32.const 1)))
              (br_if $again (local.get $left)))
            (if (result i32) (i32.load8_u (i32.const 512))
              (then
                (i32.store8 (i32.const 256) (i32.const 1))
                (i32.store8 (i32.const 260) (i32.load8_u (i32.const 520)))
                (i32.store (i32.const 264) (i32.load (i32.const 524)))
                (i32.store (i32.const 268) (i32.load (i32.const 528)))
                (i32.store8 (i32.const 272) (i32.const 0))
                (i32.const 256))
              (else
                (local.set $block (i32.load (i32.const 524)))
                (i32.store8 (i32.const 256) (i32.const 0))
                (i32.store8 (i32.const 260) (i32.const 0))
                (i32.store (i32.const 264) (i32.load offset=4 (local.get $block)))
                (i32.store (i32.const 268) (i32.load offset=8 (local.get $block)))
                (i32.const 256)))))"#
    );
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("wit");
    let mut resolve = Resolve::default();
    resolve.push_dir(wit.join("node")).unwrap();
    resolve.push_dir(wit.join("host")).unwrap();
    let world = "package test:guest; world guest { import graph-host:host/model@0.1.0; export graph-host:node/action@0.1.0; }";
    let package = resolve.push_source("guest.wit", world).unwrap();
    let world = resolve.select_world(&[package], None).unwrap();
    let mut module = wat::parse_str(core).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap()
}

/// A provider that sends its answers one after the other, part by part; the last one repeats.
struct Provider {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Provider {
    async fn answering(answers: Vec<Vec<String>>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let listening = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = read_request(&mut stream).await;
                let number = {
                    let mut heard = listening.lock().unwrap();
                    heard.push(request);
                    heard.len() - 1
                };
                let parts = answers[number.min(answers.len() - 1)].clone();
                tokio::spawn(async move {
                    for part in parts {
                        if part == "never" {
                            std::future::pending::<()>().await;
                        }
                        let _ = stream.write_all(part.as_bytes()).await;
                        let _ = stream.flush().await;
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self { port, heard }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    /// Returns the JSON bodies of the requests.
    fn asked(&self) -> Vec<Value> {
        let heard = self.heard();
        heard
            .iter()
            .map(|text| serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap())
            .collect()
    }
}

async fn read_request(stream: &mut tokio::net::TcpStream) -> String {
    let (mut text, mut buffer) = (String::new(), vec![0; 65536]);
    loop {
        let count = stream.read(&mut buffer).await.unwrap_or(0);
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        let Some((top, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = top
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok())
            .unwrap_or(0);
        if body.len() >= length || count == 0 {
            return text;
        }
    }
}

fn head(status: u16, fields: &str) -> String {
    format!("HTTP/1.1 {status} X\r\n{fields}connection: close\r\n\r\n")
}

/// Creates a whole answer with this text, and the reported usage.
fn whole(text: &str, usage: &Value) -> Vec<String> {
    let body = json!({
        "id": "1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": text } }],
        "usage": usage,
    });
    vec![format!("{}{body}", head(200, "content-type: application/json\r\n"))]
}

fn usage(input: u64, output: u64) -> Value {
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
}

/// Creates a streamed answer with these pieces of text, each of which is written separately.
fn streamed(pieces: &[&str], usage: Option<&Value>) -> Vec<String> {
    let event = |choices: Value, usage: Option<&Value>| {
        let chunk = json!({
            "id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let mut parts = vec![head(200, "content-type: text/event-stream\r\n")];
    parts.extend(pieces.iter().map(|piece| {
        event(json!([{ "index": 0, "delta": { "role": "assistant", "content": piece }, "finish_reason": null }]), None)
    }));
    if let Some(usage) = usage {
        parts.push(event(json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }]), None));
        parts.push(event(json!([]), Some(usage)));
        parts.push("data: [DONE]\n\n".to_owned());
    }
    parts
}

fn failing(status: u16, fields: &str, message: &str) -> Vec<String> {
    vec![format!("{}{}", head(status, fields), json!({ "error": { "message": message } }))]
}

/// The price of one token of a request is 2 millionths, that of one of an answer 8.
const PRICE: ModelPrice =
    ModelPrice { input: 2_000_000, output: 8_000_000, cached: 2_000_000, cache_write: 2_000_000 };

fn rule(port: u16) -> ModelRule {
    ModelRule {
        name: "fast".to_owned(),
        api: ModelApi::OpenAiChat,
        scheme: Scheme::Http,
        host: "127.0.0.1".to_owned(),
        port,
        path: "/v1".to_owned(),
        addresses: vec!["127.0.0.1".parse().unwrap()],
        model: "provider-model".to_owned(),
        secret: Some(SecretSource::File(key_file().to_owned())),
        price: PRICE,
        timeout: Duration::from_secs(20),
        max_output: 100,
        media_tokens: None,
        attempts: 3,
        stream: false,
        max_tokens: false,
        encrypted_reasoning: true,
    }
}

fn key_file() -> &'static str {
    static FILE: OnceLock<(tempfile::TempDir, String)> = OnceLock::new();
    let (_, path) = FILE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, format!("{KEY}\n")).unwrap();
        let path = path.display().to_string();
        (folder, path)
    });
    path
}

fn grant(rules: Vec<ModelRule>) -> EffectiveGrant {
    EffectiveGrant {
        kinds: [CapabilityKind::Log, CapabilityKind::Model].into(),
        models: rules,
        ..EffectiveGrant::nothing(limits())
    }
}

fn node(rule: ModelRule, times: u32) -> PreparedNode {
    let loaded = engine().load(&component(&asking(times))).unwrap();
    engine().prepare(&loaded, None, &grant(vec![rule])).unwrap()
}

#[derive(Default)]
struct Deltas(Mutex<Vec<ModelDelta>>);

impl OutputObserver for Deltas {
    fn log(&self, _line: &LogLine) {}

    fn event(&self, _event: &EventRecord) {}

    fn model_delta(&self, delta: &ModelDelta) {
        self.0.lock().unwrap().push(delta.clone());
    }
}

async fn call_with(
    node: &PreparedNode,
    limits: TaskLimits,
    journal: Journal,
    services: Services,
    observer: Option<Arc<dyn OutputObserver>>,
) -> CallReport {
    let call = Call {
        activation: &activation(),
        params: Cow::Owned(json!({})),
        seed: [7; 32],
        clock: Timestamp(1_700_000_000_123),
        limits,
        observer,
        journal,
        services,
        depth: 0,
    };
    node.call(call).await
}

async fn call(node: &PreparedNode) -> CallReport {
    call_with(node, limits(), Journal::Record, Services::default(), None).await
}

fn within(model: ModelUse) -> TaskLimits {
    TaskLimits { model, ..limits() }
}

fn failure(report: &CallReport) -> (Category, String) {
    let failure = report.result.clone().unwrap_err();
    (failure.category, failure.message)
}

fn used(report: &CallReport) -> ModelUse {
    JournalEntry::used_by(&report.journal).model
}

async fn replayed(node: &PreparedNode, report: &CallReport, limits: TaskLimits) {
    let journal = Journal::Replay(report.journal.clone());
    let again = call_with(node, limits, journal, Services::default(), None).await;
    assert_eq!((&again.result, &again.difference), (&report.result, &None));
    assert_eq!((again.fuel_used, again.classification), (report.fuel_used, report.classification));
    assert_eq!(again.logs, report.logs);
}

#[tokio::test]
async fn an_answer_is_given_charged_and_recorded() {
    let details = json!({
        "prompt_tokens": 20, "completion_tokens": 3, "total_tokens": 23,
        "prompt_tokens_details": { "cached_tokens": 5 },
    });
    let provider = Provider::answering(vec![whole("42", &details)]).await;
    let price = ModelPrice { cached: 1_000_000, ..PRICE };
    let node = node(ModelRule { price, ..rule(provider.port) }, 1);
    let report = call(&node).await;
    assert_eq!(value(&report), &json!(42));
    let heard = provider.heard();
    assert!(heard[0].starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", heard[0]);
    assert!(heard[0].contains(&format!("authorization: Bearer {KEY}\r\n")), "{}", heard[0]);
    assert_eq!(provider.asked()[0]["model"], json!("provider-model"));
    assert_eq!(provider.asked()[0]["max_completion_tokens"], json!(100));

    let entry = &report.journal[0];
    assert_eq!((entry.interface.as_str(), entry.function.as_str()), ("graph-host:host/model", "complete"));
    assert_eq!(entry.request.0["model"], json!("fast"));
    assert_eq!(entry.request.0["request"]["messages"][0]["blocks"][0]["text"], json!(PROMPT));
    // 15 tokens at 2, 5 from the cache at 1, 3 of the answer at 8 millionths.
    assert_eq!(used(&report), ModelUse { calls: 1, input: 20, output: 3, cost: 59 });
    assert_eq!(entry.result.0["cost"], json!(59));
    assert!(!format!("{report:?}").contains(KEY));
    replayed(&node, &report, limits()).await;
    assert_eq!(provider.heard().len(), 1, "a replay asked a model");
}

#[tokio::test]
async fn parts_of_an_answer_are_shown_while_they_arrive_and_never_the_key() {
    let (start, end) = KEY.split_at(9);
    let pieces = ["\"good ", "day, ", start, end, "!\""];
    let provider = Provider::answering(vec![streamed(&pieces, Some(&usage(20, 9)))]).await;
    let node = node(ModelRule { stream: true, ..rule(provider.port) }, 1);
    let deltas = Arc::new(Deltas::default());
    let observer = Arc::clone(&deltas) as Arc<dyn OutputObserver>;
    let report = call_with(&node, limits(), Journal::Record, Services::default(), Some(observer)).await;
    assert_eq!(value(&report), &json!("good day, {{secret:fast}}!"));
    assert_eq!(provider.asked()[0]["stream"], json!(true));
    let deltas = deltas.0.lock().unwrap().clone();
    assert!(deltas.iter().all(|delta| delta.part == ModelPart::Text && delta.model == "fast"), "{deltas:?}");
    assert!(deltas.len() >= 3, "{deltas:?}");
    let shown: String = deltas.iter().map(|delta| delta.text.as_str()).collect();
    assert_eq!(shown, "\"good day, {{secret:fast}}!\"");
    assert!(!format!("{report:?}").contains(KEY) && !format!("{report:?}").contains(end));
    assert_eq!(used(&report), ModelUse { calls: 1, input: 20, output: 9, cost: 112 });
    replayed(&node, &report, limits()).await;
}

#[tokio::test]
async fn what_may_work_later_is_tried_again_and_each_try_is_a_call() {
    let late = failing(429, "retry-after-ms: 1\r\n", "slow down");
    let provider = Provider::answering(vec![
        late.clone(),
        failing(529, "retry-after: 0\r\n", "overloaded"),
        whole("1", &usage(10, 1)),
    ])
    .await;
    let node_of = |attempts| node(ModelRule { attempts, ..rule(provider.port) }, 1);
    let report = call(&node_of(3)).await;
    assert_eq!(value(&report), &json!(1));
    assert_eq!(used(&report), ModelUse { calls: 3, input: 10, output: 1, cost: 28 });
    replayed(&node_of(3), &report, limits()).await;

    let provider = Provider::answering(vec![late]).await;
    let refused = call(&node(ModelRule { attempts: 2, ..rule(provider.port) }, 1)).await;
    let (category, message) = failure(&refused);
    assert_eq!(category, Category::RateLimited);
    let shown = format!(
        "the model `fast` at http://127.0.0.1:{}/v1: slow down (status 429); 2 requests were sent",
        provider.port
    );
    assert_eq!(message, shown);
    assert_eq!((provider.heard().len(), used(&refused)), (2, ModelUse { calls: 2, ..ModelUse::NOTHING }));
}

#[tokio::test]
async fn a_wait_that_the_task_has_no_time_for_is_not_waited() {
    let provider = Provider::answering(vec![failing(429, "retry-after: 3600\r\n", "in an hour")]).await;
    let report = call(&node(rule(provider.port), 1)).await;
    let (category, message) = failure(&report);
    assert_eq!(category, Category::RateLimited);
    assert!(message.contains("in an hour") && message.contains("would exceed the task's time"), "{message}");
    assert_eq!(provider.heard().len(), 1);
}

#[tokio::test]
async fn errors_of_providers_have_categories_and_never_the_key() {
    for (status, category) in [
        (400, Category::InvalidInput),
        (401, Category::Denied),
        (404, Category::Permanent),
        (422, Category::InvalidInput),
    ] {
        let message = format!("the key {KEY} is wrong\u{1b}[31m");
        let provider = Provider::answering(vec![failing(status, "", &message)]).await;
        let report = call(&node(rule(provider.port), 1)).await;
        let (found, message) = failure(&report);
        assert_eq!(found, category, "{status}");
        assert!(message.contains("the key {{secret:fast}} is wrong"), "{message}");
        assert!(!message.contains('\u{1b}') && !format!("{report:?}").contains(KEY));
        assert_eq!(provider.heard().len(), 1, "{status} was tried again");
        replayed(&node(rule(provider.port), 1), &report, limits()).await;
    }
}

#[tokio::test]
async fn nothing_is_sent_that_the_budget_does_not_cover() {
    let provider = Provider::answering(vec![whole("1", &usage(10, 1))]).await;
    let node = node(rule(provider.port), 1);
    let all = ModelUse { calls: 1, input: 10_000, output: 100, cost: 100_000 };
    for (most, figure, line) in [
        (ModelUse { calls: 0, ..all }, ModelFigure::Calls, "limits: { model: { calls: 1 } }"),
        (ModelUse { input: 10, ..all }, ModelFigure::InputTokens, "limits: { model: { input_tokens: "),
        (
            ModelUse { output: 0, ..all },
            ModelFigure::OutputTokens,
            "limits: { model: { output_tokens: 100 } }",
        ),
        (ModelUse { cost: 10, ..all }, ModelFigure::Cost, "limits: { model: { cost: 0.001"),
    ] {
        let report = call_with(&node, within(most), Journal::Record, Services::default(), None).await;
        let (category, message) = failure(&report);
        assert_eq!((category, report.classification), (Category::Limit, Classification::ModelBudget));
        assert_eq!(report.fuel_used, limits().fuel);
        assert!(message.contains(line), "{message}");
        let entry = &report.journal[0];
        assert_eq!((entry.refused_figure(), entry.model_use()), (Some(figure), ModelUse::NOTHING));
        replayed(&node, &report, within(most)).await;
        // If more is asked for, the attempt starts again.
        let asking = TaskLimits { model_asks: true, ..within(most) };
        let report = call_with(&node, asking, Journal::Record, Services::default(), None).await;
        assert!((1..limits().fuel / 2).contains(&report.fuel_used), "{}", report.fuel_used);
        replayed(&node, &report, asking).await;
    }
    assert!(provider.heard().is_empty(), "{:?}", provider.heard());
}

#[tokio::test]
async fn a_component_goes_on_where_limits_of_a_node_do_not_suffice() {
    let provider = Provider::answering(vec![whole("1", &usage(10, 1))]).await;
    let node = node(rule(provider.port), 1);
    let model = ModelUse { input: 10, ..ModelUse::OF_TASK };
    let of_node = ModelUse { input: 10, ..ModelUse::UNBOUNDED };
    let limits = TaskLimits { model_of_nodes: of_node, ..within(model) };
    let report = call_with(&node, limits, Journal::Record, Services::default(), None).await;
    assert_eq!(report.classification, Classification::Returned);
    let failure = report.result.clone().unwrap_err();
    assert_eq!(failure.category, Category::Limit);
    assert!(
        failure.message.contains("10 are left of the `limits.model.input_tokens` of a node"),
        "{}",
        failure.message
    );
    assert_eq!(report.journal[0].refused_figure(), None, "the attempt did not end there");
    let kept = &report.journal[0].result.0["failure"]["details"]["short"];
    assert_eq!((&kept["figure"], &kept["left"]), (&json!("input_tokens"), &json!(10)));
    assert!(provider.heard().is_empty(), "{:?}", provider.heard());
    replayed(&node, &report, limits).await;

    // A tighter limit of the manifest ends the attempt.
    let closer = TaskLimits { model: ModelUse { input: 9, ..model }, ..limits };
    let report = call_with(&node, closer, Journal::Record, Services::default(), None).await;
    assert_eq!(report.classification, Classification::ModelBudget);
}

#[tokio::test]
async fn answers_are_shortened_to_what_the_budget_has_left() {
    let provider = Provider::answering(vec![whole("1", &usage(10, 60))]).await;
    let node = node(rule(provider.port), 2);
    let most = ModelUse { calls: 5, input: 10_000, output: 100, cost: u64::MAX };
    let report = call_with(&node, within(most), Journal::Record, Services::default(), None).await;
    // The second answer could have 40 tokens; a provider that ignores the limit exceeds the budget.
    let (category, message) = failure(&report);
    assert_eq!(category, Category::Limit);
    assert!(message.contains("the provider counts 60 tokens of answers, and 40 were set aside"), "{message}");
    let asked: Vec<_> =
        provider.asked().iter().map(|body| body["max_completion_tokens"].as_u64().unwrap()).collect();
    assert_eq!(asked, [100, 40]);
    assert_eq!(report.journal[1].refused_figure(), Some(ModelFigure::OutputTokens));
    assert_eq!(used(&report), ModelUse { calls: 2, input: 20, output: 120, cost: 1000 });
    replayed(&node, &report, within(most)).await;
}

#[tokio::test]
async fn a_shortened_answer_is_noted() {
    let provider = Provider::answering(vec![whole("1", &usage(10, 3))]).await;
    let node = node(rule(provider.port), 1);
    let most = ModelUse { output: 7, ..ModelUse::OF_TASK };
    let report = call_with(&node, within(most), Journal::Record, Services::default(), None).await;
    assert_eq!(value(&report), &json!(1));
    assert_eq!(report.journal[0].result.0["max_output"], json!(7));
    assert!(report.logs[0].message.contains("could have 7 tokens at most"), "{:?}", report.logs);
    replayed(&node, &report, within(most)).await;
}

#[tokio::test]
async fn what_is_set_aside_counts_where_the_usage_is_not_known() {
    let silent = Provider::answering(vec![whole("1", &Value::Null)]).await;
    let report = call(&node(rule(silent.port), 1)).await;
    assert_eq!(value(&report), &json!(1));
    let reserved = used(&report);
    assert_eq!((reserved.calls, reserved.output), (1, 100));
    assert!(reserved.input > PROMPT.len() as u64 && reserved.cost == reserved.input * 2 + 800);
    assert_eq!(report.journal[0].result.0["response"]["usage"]["output"], json!(100));

    // A cut stream is retried, and counts nevertheless.
    let cut =
        Provider::answering(vec![streamed(&["4"], None), streamed(&["4", "2"], Some(&usage(10, 2)))]).await;
    let report = call(&node(ModelRule { stream: true, ..rule(cut.port) }, 1)).await;
    assert_eq!(value(&report), &json!(42));
    let total = used(&report);
    assert_eq!((total.calls, total.output), (2, 102));
    assert!(total.input > 10 + PROMPT.len() as u64);

    // A request that exceeds the task's time also counts.
    let slow = Provider::answering(vec![vec!["never".to_owned()]]).await;
    let node = node(rule(slow.port), 1);
    let short = TaskLimits { timeout: Duration::from_millis(300), ..limits() };
    let report = call_with(&node, short, Journal::Record, Services::default(), None).await;
    assert_eq!(report.classification, Classification::HostTimeout, "{:?}", report.result);
    assert_eq!(used(&report), reserved);
    replayed(&node, &report, short).await;
}

#[tokio::test]
async fn a_request_may_take_as_long_as_the_manifest_says() {
    let slow = Provider::answering(vec![vec!["never".to_owned()]]).await;
    let node = node(ModelRule { timeout: Duration::from_millis(200), ..rule(slow.port) }, 1);
    let report = call(&node).await;
    assert_eq!(failure(&report).0, Category::Timeout);
    assert_eq!((report.classification, slow.heard().len()), (Classification::Returned, 1));
}

#[tokio::test]
async fn a_model_that_is_not_granted_is_denied() {
    let node = node(ModelRule { name: "slow".to_owned(), ..rule(9) }, 1);
    let report = call(&node).await;
    let (category, message) = failure(&report);
    assert_eq!(category, Category::Denied);
    assert!(message.contains("no model `fast`; it has `slow`. `model: [fast]` in the manifest"), "{message}");
    assert!(report.journal.is_empty());
}

#[test]
fn a_missing_key_is_named() {
    let secret = Some(SecretSource::Env("GRAPH_HOST_NO_SUCH_VARIABLE".to_owned()));
    let loaded = engine().load(&component(&asking(1))).unwrap();
    let granted = grant(vec![ModelRule { secret, ..rule(9) }]);
    assert!(engine().clone().opening(HostResources::WITHOUT_KEYS).prepare(&loaded, None, &granted).is_ok());
    let refused = engine().prepare(&loaded, None, &granted);
    let Err(error @ PrepareError::ModelKey { .. }) = refused else { panic!() };
    let message = error.to_string();
    assert!(
        message.contains("`test/node` cannot ask the model `fast`")
            && message.contains("GRAPH_HOST_NO_SUCH_VARIABLE"),
        "{message}"
    );
}

#[derive(Debug)]
struct Scripted(DoubledModel);

impl ModelDoubles for Scripted {
    fn answer(&self, asked: &AskedModel<'_>) -> DoubledModel {
        assert_eq!((asked.model, asked.key, asked.attempt), ("fast", "key", 2));
        assert_eq!(asked.request.messages, [Message::user(PROMPT)]);
        self.0.clone()
    }
}

#[tokio::test]
async fn doubles_answer_within_the_budget() {
    let node = node(rule(9), 1);
    let doubled = async |double: DoubledModel| {
        let services = Services { model: Some(Arc::new(Scripted(double))), ..Services::default() };
        call_with(&node, limits(), Journal::Record, services, None).await
    };
    let message = Message { role: Role::Assistant, blocks: vec![Block::Text("7".to_owned())] };
    let counted = Some(Usage { input: 4, output: 1, ..Usage::default() });
    let answer = Response { message, stop: StopReason::End, usage: counted };
    let report = doubled(DoubledModel::Answer(answer)).await;
    assert_eq!(value(&report), &json!(7));
    assert_eq!(used(&report), ModelUse { calls: 1, input: 4, output: 1, cost: 16 });
    let report = doubled(DoubledModel::Fail(Failure::new(Category::Transient, "no"))).await;
    assert_eq!(failure(&report), (Category::Transient, "no".to_owned()));
    let report = doubled(DoubledModel::Missing("no answer".to_owned())).await;
    assert_eq!(failure(&report), (Category::Denied, "no answer".to_owned()));
    assert_eq!(report.classification, Classification::Trap);
}

#[tokio::test]
async fn a_live_replay_pays_only_if_it_is_told_to() {
    let provider = Provider::answering(vec![whole("42", &usage(20, 3)), failing(429, "", "slow down")]).await;
    let node = node(rule(provider.port), 1);
    let report = call(&node).await;
    let live = async |sends| {
        let journal = Journal::Live(LiveCalls { recorded: report.journal.clone(), sends });
        call_with(&node, limits(), journal, Services::default(), None).await
    };
    let kept = live(false).await;
    assert_eq!((&kept.result, &kept.journal, provider.heard().len()), (&report.result, &report.journal, 1));
    let sent = live(true).await;
    assert_eq!(failure(&sent).0, Category::RateLimited);
    assert_eq!(provider.heard().len(), 2, "it was sent more often than before");
}

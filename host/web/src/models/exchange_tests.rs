//! Calls with their providers: what is sent, what is recorded, and what is charged.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::time::Duration;

use graph_core::capability::{
    CapabilityKind, EffectiveGrant, ModelApi, ModelPrice, ModelRule, Scheme, SecretSource,
};
use graph_core::limits::{ModelUse, TaskLimits};
use graph_core::record::journal::MODEL;
use serde_json::{Value, json};

use super::{ComponentBudget, ModelCall, Provider, used_in};

const KEY: &str = "sk-s3cr3t-of-a-test";

fn rule(name: &str) -> ModelRule {
    ModelRule {
        name: name.to_owned(),
        api: ModelApi::OpenAiChat,
        scheme: Scheme::Https,
        host: "api.example.com".to_owned(),
        port: 443,
        path: "/v1".to_owned(),
        addresses: Vec::new(),
        model: "small".to_owned(),
        secret: Some(SecretSource::Env("MODEL_KEY".to_owned())),
        price: ModelPrice { input: 1_000_000, output: 2_000_000, ..ModelPrice::default() },
        timeout: Duration::from_secs(30),
        max_output: 1000,
        media_tokens: None,
        attempts: 3,
        stream: true,
        max_tokens: false,
        encrypted_reasoning: true,
    }
}

fn grant(models: Vec<ModelRule>, model: ModelUse) -> String {
    let limits = TaskLimits { model, ..TaskLimits::DEFAULT };
    let kinds = BTreeSet::from([CapabilityKind::Log, CapabilityKind::Model]);
    json!(EffectiveGrant { kinds, models, ..EffectiveGrant::nothing(limits) }).to_string()
}

fn asks(text: &str) -> Value {
    json!({ "model": "fast", "messages": [{ "role": "user", "blocks": [{ "text": text }] }] })
}

/// A component with its budget, and the provider of its model.
struct Asking {
    call: ModelCall,
    budget: ComponentBudget,
    provider: Provider,
}

impl Asking {
    fn new(most: ModelUse) -> Self {
        let grant = grant(vec![rule("fast")], most);
        let limits = json!(TaskLimits { model: most, ..TaskLimits::DEFAULT }).to_string();
        Self {
            call: ModelCall::open(&grant, &asks("hello").to_string()).unwrap(),
            budget: ComponentBudget::open(&[limits]).unwrap(),
            provider: Provider::open(&grant, "fast", Some(KEY)).unwrap(),
        }
    }

    /// One try, which is answered with a status, fields and a body.
    fn answered(&mut self, status: u16, fields: &[(&str, &str)], body: &str) -> Value {
        self.call.begin(&mut self.budget).unwrap();
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        let tried = self.provider.read(status, fields.collect(), body.as_bytes().to_vec(), 1 << 20);
        assert!(!tried.contains(KEY), "{tried}");
        self.settle(&tried)
    }

    /// One try, which has no response.
    fn failed(&mut self, error: &str, sent: bool) -> Value {
        self.call.begin(&mut self.budget).unwrap();
        let tried = self.provider.failed(error, &format!("{error} happened"), sent);
        self.settle(&tried)
    }

    fn settle(&mut self, tried: &str) -> Value {
        serde_json::from_str(&self.call.settle(&mut self.budget, tried, 60_000).unwrap()).unwrap()
    }

    fn used(&self) -> Value {
        serde_json::from_str(&self.budget.used()).unwrap()
    }
}

const MOST: ModelUse = ModelUse { calls: 5, input: 10_000, output: 2000, cost: u64::MAX };

fn answer(text: &str, usage: Option<(u64, u64)>) -> String {
    let message = json!({ "role": "assistant", "content": text });
    let mut answer = json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] });
    if let Some((input, output)) = usage {
        answer["usage"] = json!({ "prompt_tokens": input, "completion_tokens": output });
    }
    answer.to_string()
}

#[test]
fn an_answer_is_recorded_and_read_again() {
    let mut asking = Asking::new(MOST);
    let sending = asking.call.begin(&mut asking.budget).unwrap();
    let body: Value = serde_json::from_slice(&sending.body).unwrap();
    assert_eq!((&body["model"], &body["max_completion_tokens"]), (&json!("small"), &json!(1000)));
    let outgoing = asking.provider.prepare(sending.fields).unwrap();
    assert_eq!(outgoing.url, "https://api.example.com:443/v1/chat/completions");
    assert_eq!(outgoing.timeout, 30_000);
    let keys: Vec<_> = outgoing.fields.iter().filter(|(name, _)| name == "authorization").collect();
    assert_eq!(keys, [&("authorization".to_owned(), format!("Bearer {KEY}").into_bytes())]);

    let said = answer(&format!("hi, {KEY}"), Some((9, 3)));
    let tried = asking.provider.read(200, Vec::new(), said.into_bytes(), 1 << 20);
    let outcome = asking.settle(&tried);
    let used = json!({ "calls": 1, "input": 9, "output": 3, "cost": 15 });
    let kept = &outcome["kept"];
    assert_eq!((&outcome["ok"], &kept["used"], &kept["cost"]), (&json!(true), &used, &json!(15)));
    assert_eq!(kept["response"]["message"]["blocks"], json!([{ "text": "hi, {{secret:fast}}" }]));
    assert_eq!(
        outcome["response"]["usage"],
        json!({ "input": 9, "output": 3, "cached": 0, "reasoning": 0, "cost": 15 })
    );
    assert_eq!(asking.used(), used);

    let again: Value = serde_json::from_str(&asking.call.recorded(&kept.to_string(), true).unwrap()).unwrap();
    assert_eq!(again, outcome);
    let entry =
        json!({ "interface": MODEL.0, "function": MODEL.1, "ok": true, "request": {}, "result": kept });
    assert_eq!(used_in(&entry.to_string()).unwrap(), asking.budget.used());
    for malformed in ["{}", "null", r#"{"response": {}}"#, r#"{"failure": {}}"#] {
        assert_eq!(asking.call.recorded(malformed, true), None);
        assert_eq!(asking.call.recorded(malformed, false), None);
    }
}

#[test]
fn each_outcome_of_a_try_is_charged() {
    // What happens, whether it is tried again, the category of the failure, and what is charged; `all`: what was set aside.
    type Happens = fn(&mut Asking) -> Value;
    let cases: [(&str, Happens, bool, &str, &str); 10] = [
        ("refused", |asking| asking.failed("connection-refused", false), true, "transient", "call"),
        ("maybe sent", |asking| asking.failed("connection-refused", true), true, "transient", "all"),
        ("denied", |asking| asking.failed("HTTP-request-denied", false), false, "denied", "call"),
        ("late", |asking| asking.failed("HTTP-response-timeout", true), false, "timeout", "all"),
        ("a redirect", |asking| asking.failed("HTTP-protocol-error", true), false, "permanent", "all"),
        ("overloaded", |asking| asking.answered(503, &[], "{}"), true, "transient", "call"),
        (
            "no key",
            |asking| asking.answered(401, &[], r#"{"error": {"message": "no"}}"#),
            false,
            "denied",
            "call",
        ),
        ("no JSON", |asking| asking.answered(200, &[], "<html>"), false, "permanent", "all"),
        (
            "compressed",
            |asking| asking.answered(200, &[("content-encoding", "br")], ""),
            false,
            "permanent",
            "all",
        ),
        (
            "an error inside",
            |asking| asking.answered(200, &[], r#"{"error": {"message": "no", "code": 429}}"#),
            true,
            "rate-limited",
            "all",
        ),
    ];
    let most = ModelUse { output: 3000, ..MOST };
    for (name, happens, again, category, used) in cases {
        let mut first = Asking::new(most);
        let sent = first.call.begin(&mut first.budget).unwrap().body.len() as u64;
        let mut asking = Asking::new(most);
        let mut outcome = happens(&mut asking);
        let all = json!({ "calls": 1, "input": sent, "output": 1000, "cost": sent + 2000 });
        assert_eq!(asking.used(), if used == "all" { all } else { json!({ "calls": 1 }) }, "{name}");
        assert_eq!(outcome.get("wait").is_some(), again, "{name}: {outcome}");
        // The last try ends the call with a failure, and all tries are charged to its entry.
        for _ in 1..if again { 3 } else { 1 } {
            outcome = happens(&mut asking);
        }
        let failure = &outcome["failure"];
        assert_eq!(failure["category"], json!(category), "{name}: {outcome}");
        let begins = "the model `fast` at https://api.example.com/v1: ";
        assert!(failure["message"].as_str().unwrap().starts_with(begins), "{name}: {outcome}");
        assert_eq!(
            (&outcome["kept"]["failure"], &outcome["kept"]["used"]),
            (failure, &asking.used()),
            "{name}"
        );
        assert_eq!(asking.used()["calls"], json!(if again { 3 } else { 1 }), "{name}");
    }
}

#[test]
fn waits_are_the_providers_or_double() {
    let mut asking = Asking::new(MOST);
    assert_eq!(asking.answered(429, &[], "{}"), json!({ "wait": 500 }));
    assert_eq!(asking.answered(429, &[("retry-after", "2")], "{}"), json!({ "wait": 2000 }));
    let failed = asking.answered(429, &[], "{}");
    assert_eq!(failed["failure"]["category"], json!("rate-limited"));
    assert_eq!(failed["kept"]["used"], json!({ "calls": 3 }));

    let mut asking = Asking::new(MOST);
    let failed = asking.answered(429, &[("retry-after", "61")], r#"{"error": {"message": "slow down"}}"#);
    assert_eq!(
        failed["failure"]["message"],
        json!(
            "the model `fast` at https://api.example.com/v1: slow down (status 429); to wait 61s for another try would exceed the task's time"
        )
    );
}

#[test]
fn nothing_is_sent_that_could_exceed_the_budget() {
    let short = ModelUse { input: 10, ..MOST };
    let mut asking = Asking::new(short);
    let outcome: Value = serde_json::from_str(&asking.call.begin(&mut asking.budget).unwrap_err()).unwrap();
    assert_eq!(outcome["ends"]["category"], json!("limit"));
    assert_eq!(outcome["kept"]["fault"]["figure"], json!("input_tokens"));
    assert_eq!(outcome["kept"].get("used"), None);

    let mut asking = Asking::new(ModelUse { output: 7, ..MOST });
    let sending = asking.call.begin(&mut asking.budget).unwrap();
    let body: Value = serde_json::from_slice(&sending.body).unwrap();
    assert_eq!(body["max_completion_tokens"], json!(7));
    let tried = asking.provider.read(200, Vec::new(), answer("hi", None).into_bytes(), 1 << 20);
    let outcome = asking.settle(&tried);
    assert_eq!(
        outcome["warning"],
        json!("the answer of the model `fast` could have 7 tokens at most: no more are left of the budget")
    );
    assert_eq!((&outcome["kept"]["max_output"], &outcome["kept"]["used"]["output"]), (&json!(7), &json!(7)));

    // A provider that counts more than was set aside.
    let mut asking = Asking::new(MOST);
    let outcome = asking.answered(200, &[], &answer("hi", Some((20_000, 3))));
    assert_eq!(outcome["ends"]["category"], json!("limit"));
    assert_eq!((&outcome["kept"]["used"]["input"], &outcome["ok"]), (&json!(20_000), &json!(false)));
}

#[test]
fn a_request_that_nobody_waits_for_is_charged() {
    let mut asking = Asking::new(MOST);
    asking.call.begin(&mut asking.budget).unwrap();
    let outcome: Value = serde_json::from_str(&asking.call.late(&mut asking.budget)).unwrap();
    let message =
        "it ran past its deadline while it waited for the model `fast` at https://api.example.com/v1";
    assert_eq!(outcome["ends"], json!({ "category": "timeout", "message": message }));
    assert_eq!((&outcome["kept"]["used"], &asking.used()["output"]), (&asking.used(), &json!(1000)));
}

#[test]
fn what_goes_on_record_has_the_use_of_the_components_around() {
    let mut asking = Asking::new(MOST);
    asking.budget.charge(r#"{"calls":1,"input":40,"output":2}"#).unwrap();
    let limits = json!(TaskLimits { model: MOST, ..TaskLimits::DEFAULT }).to_string();
    asking.budget = asking.budget.inside(&limits).unwrap();
    let total = |asking: &Asking| serde_json::from_str::<Value>(&asking.call.total(&asking.budget)).unwrap();
    let sent = asking.call.begin(&mut asking.budget).unwrap().body.len() as u64;
    let all = json!({ "calls": 2, "input": 40 + sent, "output": 1002, "cost": sent + 2000 });
    assert_eq!(total(&asking), all);
    asking.settle(&asking.provider.failed("connection-refused", "", false));
    asking.call.begin(&mut asking.budget).unwrap();
    assert_eq!(
        total(&asking),
        json!({ "calls": 3, "input": 40 + sent, "output": 1002, "cost": sent + 2000 })
    );
}

#[test]
fn requests_are_refused_before_they_are_recorded() {
    let with = |rules: Vec<ModelRule>, request: Value| {
        let failure = ModelCall::open(&grant(rules, MOST), &request.to_string()).unwrap_err();
        let failure: Value = serde_json::from_str(&failure).unwrap();
        format!("{}: {}", failure["category"].as_str().unwrap(), failure["message"].as_str().unwrap())
    };
    let media = json!({ "model": "fast", "messages": [{ "role": "user", "blocks": [{ "media": { "media_type": "image/png", "data": "AAAA" } }] }] });
    let other = json!({ "model": "slow\u{202e}", "messages": [] });
    let hot = json!({ "model": "fast", "messages": asks("a")["messages"], "temperature": -1 });
    let stops = json!({ "model": "fast", "messages": asks("a")["messages"], "stop": ["x"] });
    let responses = ModelRule { api: ModelApi::OpenAiResponses, ..rule("fast") };
    for (refused, begins) in [
        (
            with(vec![rule("fast"), rule("two")], other),
            "denied: its grant has no model `slow\\u{202e}`; it has `fast`, `two`. `model: [slow",
        ),
        (
            with(vec![rule("fast")], json!({ "model": "fast", "messages": [] })),
            "invalid-input: messages: the last message must be",
        ),
        (with(vec![rule("fast")], hot), "invalid-input: temperature: must be from 0 to 2"),
        (with(vec![responses], stops), "invalid-input: stop: the API `openai-responses` "),
        (with(vec![rule("fast")], media), "denied: the request has a file, and the manifest does not say"),
    ] {
        assert!(refused.starts_with(begins), "{refused}");
    }
}

#[test]
fn a_key_is_needed_and_has_to_fit() {
    let grant = grant(vec![rule("fast"), ModelRule { secret: None, ..rule("open") }], MOST);
    let open = |name: &str, key: Option<&str>| Provider::open(&grant, name, key).map(|_| ()).unwrap_err();
    assert_eq!(open("fast", None), "the key of the model `fast` is missing");
    assert!(open("fast", Some("short")).contains("8 to 8192 bytes"));
    assert_eq!(open("other", Some(KEY)), "no model `other` is granted");
    let provider = Provider::open(&grant, "open", None).unwrap();
    assert!(provider.prepare(Vec::new()).unwrap().fields.is_empty());
}

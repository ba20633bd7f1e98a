#![allow(clippy::unwrap_used)]
use super::*;
use crate::capability::{CapabilityKind, ModelPrice, ModelRule, Scheme, SecretSource};
use crate::item::{ItemOperation, ItemType};

const EXAMPLE: &str = "\
# caps.yaml: nothing that is not written here is allowed
dispatch: [\"execute.tool.examples.*\", \"rye.execute.tool.acme.fetch\"]
items:
  \"examples/list-files\":
    filesystem: [{ path: ., as: /src, access: ro }, { path: ../out, as: /out/, access: rw }]
  \"acme/*\":
    clocks: true
    random: true
    limits: { memory: 128MiB }
  \"acme/quiet\": { clocks: false }
limits: { fuel: 500, timeout: 2s }
run: { fuel: 7000, timeout: 1m }
";

fn read(text: &str) -> Result<Manifest, Vec<String>> {
    match Manifest::parse(text, "caps.yaml", "/home/u/project") {
        Ok((manifest, warnings)) if warnings.is_empty() => Ok(manifest),
        Ok((_, warnings)) => Err(warnings.to_lines()),
        Err(errors) => Err(errors.to_lines()),
    }
}

#[test]
fn rules_under_which_nothing_can_be_sent_are_warned_of() {
    let text = "\
items:
  a/net:
    http:
      - { host: 127.0.0.1, schemes: [http], ports: [8080] }
      - { host: 10.1.2.3, addresses: [10.0.0.0/8] }
      - { host: localhost }
      - { host: api.test }
    secrets:
      - { name: ONE, from: { env: ONE }, header: x-a, host: 127.0.0.1 }
      - { name: TWO, from: { env: TWO }, header: x-a, host: other.test }
      - { name: FIT, from: { env: FIT }, header: x-a, host: api.test }
";
    let (_, warnings) = Manifest::parse(text, "caps.yaml", "/base").unwrap();
    insta::assert_snapshot!(warnings.to_lines().join("\n"));
}

#[test]
fn a_manifest_says_what_is_allowed() {
    let manifest = read(EXAMPLE).unwrap();
    let permits = |id: &str| manifest.dispatch().permits(ItemOperation::Execute, ItemType::Tool, id);
    assert!(permits("examples/a/b") && permits("acme/fetch@2.0.0") && !permits("acme/other"));

    let entry = manifest.entry_for("examples/list-files@1.0.0").unwrap();
    assert_eq!(
        entry.filesystem.iter().map(|mount| mount.mount.clone()).collect::<Vec<_>>(),
        [
            Mount { host: "/home/u/project".into(), guest: "/src".into(), access: Access::ReadOnly },
            Mount { host: "/home/u/out".into(), guest: "/out".into(), access: Access::ReadWrite },
        ]
    );
    assert_eq!(entry.filesystem[1].written, "../out");
    assert!(entry.grants(CapabilityKind::Filesystem) && !entry.grants(CapabilityKind::Clocks));

    let of_run = TaskLimits { fuel: 500, timeout: Duration::from_secs(2), ..TaskLimits::DEFAULT };
    assert_eq!(manifest.limits_for("other"), of_run);
    assert_eq!(manifest.limits_for("acme/fetch"), TaskLimits { memory: 128 << 20, ..of_run });
    assert_eq!(
        manifest.run_limits(),
        RunLimits { fuel: 7000, timeout: Duration::from_mins(1), ..RunLimits::DEFAULT }
    );

    let wide = manifest.entry_for("acme/fetch").unwrap();
    assert!(wide.clocks && wide.random && wide.filesystem.is_empty());
    let quiet = manifest.entry_for("acme/quiet").unwrap();
    assert!(!quiet.clocks && !quiet.random, "the most specific entry applies alone");
    assert!(manifest.entry_for("acme").is_none());
}

#[test]
fn what_reaches_beyond_the_machine_is_read() {
    let manifest = read(
        "items:
  \"acme/*\":
    http: [{ host: api.acme.com }, { host: 127.0.0.1, schemes: [http, https], methods: [POST, GET], addresses: [127.0.0.1] }]
    secrets: [{ name: T, from: { env: ACME }, header: authorization, host: api.acme.com }, { name: F, from: { file: ../t }, header: x-key, host: 127.0.0.1, schemes: [http] }]
    knowledge: [{ scope: acme/notes/ }, { scope: own/, access: rw }]
    tools: true
    limits: { calls: 5, bytes: 1KiB, requests: 2, request_body: 3KiB, response_body: 4KiB }
",
    )
    .unwrap();
    let entry = manifest.entry_for("acme/fetch").unwrap();
    let [public, local] = &entry.http[..] else { panic!("{:?}", entry.http) };
    assert_eq!((&public.schemes[..], &public.ports[..]), (&[Scheme::Https][..], &[443][..]));
    assert_eq!((&public.methods[..], public.addresses.len()), (&["GET".to_owned()][..], 0));
    assert_eq!(
        (&local.ports[..], &local.methods[..]),
        (&[80, 443][..], &["GET".to_owned(), "POST".to_owned()][..])
    );
    assert_eq!(entry.secrets[0].from, SecretSource::Env("ACME".to_owned()));
    assert_eq!(entry.secrets[0].schemes, [Scheme::Https]);
    assert_eq!(entry.secrets[1].from, SecretSource::File("/home/u/t".to_owned()));
    let scopes: Vec<_> = entry.knowledge.iter().map(|rule| (rule.scope.as_str(), rule.access)).collect();
    assert_eq!(scopes, [("acme/notes/", Access::ReadOnly), ("own/", Access::ReadWrite)]);
    let limits = manifest.limits_for("acme/fetch");
    assert_eq!((limits.calls, limits.bytes, limits.requests), (5, 1024, 2));
    assert_eq!((limits.request_body, limits.response_body), (3072, 4096));
    for kind in
        [CapabilityKind::Http, CapabilityKind::Secrets, CapabilityKind::Knowledge, CapabilityKind::Tools]
    {
        assert!(entry.grants(kind));
    }
    let again: Manifest = serde_json::from_value(manifest.to_json()).unwrap();
    assert_eq!(again, manifest);
}

#[test]
fn language_models_are_named_and_granted() {
    let text = "
models:
  fast:
    api: openai-chat
    url: http://127.0.0.1:4010/v1/
    model: small-1
    secret: { env: MODEL_KEY }
    price: { input: 0.25, output: 2, cached: 0.025 }
    timeout: 30s
    max_output: 512
    media_tokens: 1500
    attempts: 1
    stream: false
    max_tokens_key: max_tokens
    addresses: [127.0.0.1]
  slow: { api: anthropic, url: \"https://api.acme.com\", model: large }
  plain: { api: openai-responses, url: \"https://api.acme.com\", model: gpt-4.1, encrypted_reasoning: false }
items:
  \"acme/agent\": { model: [slow, fast], limits: { model: { calls: 7, cost: 0.5, when_used_up: finish } } }
  \"acme/*\": { model: [slow] }
limits: { model: { output_tokens: 900 } }
run: { model: { calls: 20, input_tokens: 30, output_tokens: 40, cost: 1.25 } }
";
    let manifest = read(text).unwrap();
    let [fast, slow, plain] = manifest.models() else { panic!("{:?}", manifest.models()) };
    assert_eq!((fast.url().as_str(), fast.api.as_str()), ("http://127.0.0.1:4010/v1", "openai-chat"));
    assert_eq!((fast.max_output, fast.attempts, fast.stream, fast.max_tokens), (512, 1, false, true));
    assert_eq!(fast.media_tokens, Some(1500));
    assert_eq!(
        fast.price,
        ModelPrice { input: 250_000, output: 2_000_000, cached: 25_000, cache_write: 250_000 }
    );
    assert_eq!((slow.max_output, slow.attempts, slow.stream, slow.port), (4096, 3, true, 443));
    assert!(fast.encrypted_reasoning && slow.encrypted_reasoning && !plain.encrypted_reasoning);
    // The JSON of a model omits the key at its default, so that the digests of older runs stay valid.
    let written = |model: &ModelRule| serde_json::to_string(model).unwrap();
    assert!(
        !written(slow).contains("encrypted_reasoning")
            && written(plain).contains("\"encrypted_reasoning\":false")
    );
    for model in [slow, plain] {
        assert_eq!(serde_json::from_str::<ModelRule>(&written(model)).unwrap(), *model);
    }
    assert!(slow.secret.is_none() && slow.media_tokens.is_none());
    let own = manifest.limits_for("acme/agent").model;
    assert_eq!(own, ModelUse { calls: 7, output: 900, cost: 500_000, ..ModelUse::OF_TASK });
    let floor = ModelUse { calls: 1, input: 500_000, output: 225, cost: 125_000 };
    assert_eq!(manifest.limits_for("acme/agent").model_floor, Some(floor));
    assert_eq!(manifest.limits_for("acme/x").model_floor, None);
    assert!(!manifest.limits_for("acme/agent").model_asks && !manifest.run_limits().model_asks);
    assert_eq!(manifest.limits_for("acme/x").model, ModelUse { output: 900, ..ModelUse::OF_TASK });
    assert_eq!(manifest.run_limits().model, ModelUse { calls: 20, input: 30, output: 40, cost: 1_250_000 });
    let names = |item: &str| manifest.models_for(item).map(|model| model.name.clone()).collect::<Vec<_>>();
    assert_eq!(
        (names("acme/agent"), names("acme/x")),
        (vec!["slow".into(), "fast".into()], vec!["slow".into()])
    );
    assert!(manifest.entry_for("acme/x").unwrap().grants(CapabilityKind::Model));
    assert!(names("other/x").is_empty());
    let again: Manifest = serde_json::from_value(manifest.to_json()).unwrap();
    assert_eq!(again, manifest);
    let changed = read(&text.replace("model: large", "model: huge")).unwrap();
    assert_eq!(manifest.differences(&changed), ["models changed: slow"]);
    assert_ne!(manifest.digest(), changed.digest());
}

#[test]
fn nothing_is_allowed_by_default() {
    for manifest in [Manifest::deny_all(), read("dispatch: []").unwrap(), read("{}").unwrap()] {
        assert_eq!(manifest, Manifest::deny_all());
        assert!(!manifest.dispatch().permits(ItemOperation::Execute, ItemType::Tool, "a"));
        assert!(manifest.entry_for("a").is_none());
        assert_eq!(manifest.limits_for("a"), TaskLimits::DEFAULT);
        assert_eq!(manifest.run_limits(), RunLimits::DEFAULT);
    }
}

#[test]
fn a_manifest_survives_its_snapshot() {
    let manifest = read(EXAMPLE).unwrap();
    let again: Manifest = serde_json::from_value(manifest.to_json()).unwrap();
    assert_eq!(again, manifest);
    assert_eq!(again.digest(), manifest.digest());
    assert!(again.differences(&manifest).is_empty());

    let relaid = read(
        &EXAMPLE
            .replace("# caps.yaml", "#")
            .replace("path: .,", "path: ./,")
            .replace("timeout: 1m", "timeout: 60"),
    )
    .unwrap();
    assert!(manifest.differences(&relaid).is_empty());
    assert_eq!(relaid.digest(), manifest.digest());
    let (elsewhere, _) = Manifest::parse(EXAMPLE, "caps.yaml", "/other").unwrap();
    assert_ne!(elsewhere.digest(), manifest.digest());
    assert_eq!(manifest.differences(&elsewhere), ["items changed: examples/list-files"]);
    let other = read("dispatch: [execute.tool.x]\nitems: { \"acme/*\": { clocks: true } }\nrun: { fuel: 7000, timeout: 1m }").unwrap();
    assert_eq!(
        manifest.differences(&other),
        [
            "dispatch removed: execute.tool.examples.*",
            "dispatch removed: rye.execute.tool.acme.fetch",
            "items removed: examples/list-files",
            "items removed: acme/quiet",
            "dispatch added: execute.tool.x",
            "items changed: acme/*",
            "limits changed",
        ]
    );
    assert!(serde_json::from_str::<Manifest>(r#"{"dispatch": ["x"], "items": []}"#).is_err());
}

#[test]
fn every_problem_is_reported_with_its_place() {
    let text = "\
dispatch: [\"execute.tools.a\", 3, execute.tool.b, execute.tool.b]
itms: {}
models:
  fast: { api: openai, url: \"https://u:p@a.com\", model: \"\", price: { input: 0.0000001 }, stream: no, attempts: 0 }
  \"a b\": { api: anthropic, url: \"http://api.acme.com\", model: m, secret: { env: KEY }, max_tokens_key: max_tokens, encrypted_reasoning: true }
  long: { api: openai-chat, url: \"https://api.acme.com/v1/chat/completions/\", model: m }
  key: { api: openai-chat, url: \"https://api.acme.com/v1\", model: m, secret: { env: sk-abc123 } }
items:
  \"a b\": { clocks: true }
  \"net/fetch\": { http: [{ host: api.example.org }], tools: [x], model: [fast, fast, slow] }
  \"net/?\": { clocks: maybe }
  \"net/[ab]\": { clocks: true }
  \"nothing\": {}
  \"empty\": { filesystem: [] }
  \"null\":
  \"files\":
    filesystem:
      - { path: ., as: src }
      - { path: ~/x, as: /x, access: wr }
      - { as: /y }
      - { path: a, as: /z }
      - { path: b, as: /z/ }
    sockets: true
  \"out\":
    http:
      - { host: \"https://a.b/c\", methods: [get, CONNECT], ports: [0], schemes: [ftp], addresses: [10.0.0.1/8, x] }
      - { schemes: [] }
    secrets:
      - { name: \"a b\", from: { env: X, file: y }, header: Authorization, host: a.b }
      - { name: T, from: { env: \"A=B\" }, header: h, host: \"*.a.b\" }
      - { name: T, from: { file: ~/x } }
    knowledge: [{ scope: notes, access: rx }, { scope: ../ }]
limits: { fuel: 0, memory: 64 megs, cpu: 3 }
run: { timeout: 0s }
";
    insta::assert_snapshot!(read(text).unwrap_err().join("\n"));
    assert!(read("").is_err());
    assert!(read("- a").is_err());
}

#[test]
fn what_happens_once_a_budget_of_models_is_used_up_is_chosen() {
    let text = "\
items:
  \"acme/one\": { limits: { model: { calls: 8 } } }
  \"acme/two\": { limits: { model: { when_used_up: fail } } }
  \"acme/three\": { limits: { model: { when_used_up: finish } } }
limits: { model: { calls: 4, when_used_up: ask } }
run: { model: { when_used_up: ask } }
";
    let manifest = read(text).unwrap();
    let of = |item: &str| {
        let limits = manifest.limits_for(item);
        (limits.model.calls, limits.model_asks, limits.model_floor.is_some())
    };
    assert_eq!(of("acme/one"), (8, true, false), "unless an item says otherwise, what holds for all");
    assert_eq!(of("acme/two"), (4, false, false));
    assert_eq!(of("acme/three"), (4, false, true));
    assert!(manifest.run_limits().model_asks);
    assert!(
        read("run: { model: { when_used_up: finish } }").is_err(),
        "a run keeps nothing for a last request"
    );
}

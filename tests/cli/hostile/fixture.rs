//! A fixture: an input, the command that receives it, and the expected outcome.

use std::path::{Path, PathBuf};

use graph_core::diagnostic::Problems;
use serde_json::{Map, Value};

/// One input with its outcome.
pub(crate) struct Fixture {
    /// File below `tests/hostile`, without the extension.
    pub(crate) file: String,
    /// `file`, with the name of the variant if there are variants.
    pub(crate) name: String,
    /// Folder of the file.
    pub(crate) topic: String,
    /// Description of the attempt, for the table.
    pub(crate) input: String,
    /// Form of the input: `node`, `graph`, `caps`, `trust`, `command`.
    pub(crate) offer: String,
    /// Contents of the fixture, by the names in `PARTS`.
    pub(crate) parts: Map<String, Value>,
    /// Expected outcome, by the names in `EXPECTED`.
    pub(crate) expect: Map<String, Value>,
    /// Defences without which it fails.
    pub(crate) guards: Vec<String>,
    /// `true` if one process can receive it repeatedly.
    pub(crate) repeats: bool,
}

/// Keys of a fixture other than its contents.
const ABOUT: [&str; 6] = ["input", "offer", "expect", "guards", "repeat", "variants"];
/// Names of contents.
const PARTS: [&str; 26] = [
    "answer",
    "args",
    "before",
    "beside",
    "bytes",
    "caps",
    "command",
    "component",
    "core",
    "data",
    "databases",
    "edit",
    "envelopes",
    "files",
    "graph",
    "imports",
    "item",
    "node",
    "params",
    "params_text",
    "planted",
    "registry",
    "run",
    "server",
    "statement",
    "trust",
];
/// Names of expectations.
const EXPECTED: [&str; 19] = [
    "exit",
    "code",
    "category",
    "message",
    "state",
    "seconds",
    "mib",
    "disk",
    "warnings",
    "absent",
    "fuel",
    "heard",
    "kept",
    "most_fuel",
    "nowhere",
    "shown",
    "steps",
    "unheard",
    "unshown",
];

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/hostile")
}

/// Reads all fixtures, in order of names.
pub(crate) fn all() -> Vec<Fixture> {
    let mut fixtures = Vec::new();
    for topic in std::fs::read_dir(folder()).unwrap() {
        let topic = topic.unwrap().path();
        if !topic.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(&topic).unwrap() {
            fixtures.extend(read(&topic, &file.unwrap().path()));
        }
    }
    fixtures.sort_by(|one, other| one.name.cmp(&other.name));
    fixtures
}

/// Reads a file: one fixture, or one for each of its `variants`, which map names to replacements of texts.
fn read(topic: &Path, file: &Path) -> Vec<Fixture> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).unwrap();
    let problems = Problems::new();
    let parsed = graph_core::yaml::parse(&text, &problems);
    let (parsed, _) =
        problems.finish(&shown.to_string(), &text, parsed).unwrap_or_else(|error| panic!("{shown}: {error}"));
    let Value::Object(mut parts) = parsed.to_json() else { panic!("{shown}: not a mapping") };
    let Some(variants) = parts.remove(ABOUT[5]) else { return vec![fixture(topic, file, None, parts)] };
    let variants = variants.as_object().unwrap_or_else(|| panic!("{shown}: `variants` is no mapping"));
    let of = |(name, texts): (&String, &Value)| {
        let texts = texts.as_object().unwrap_or_else(|| panic!("{shown}: variant {name} is no mapping"));
        let parts = parts.iter().map(|(key, part)| (key.clone(), replaced(part, texts))).collect();
        fixture(topic, file, Some(name.as_str()), parts)
    };
    variants.iter().map(of).collect()
}

/// Replaces texts in a value; a string that consists of such a text becomes its replacement.
fn replaced(value: &Value, texts: &Map<String, Value>) -> Value {
    match value {
        Value::String(text) => {
            if let Some(whole) = texts.get(text) {
                return whole.clone();
            }
            let mut text = text.clone();
            for (mark, with) in texts {
                let with = with.as_str().map_or_else(|| with.to_string(), str::to_owned);
                text = text.replace(mark, &with);
            }
            Value::String(text)
        }
        Value::Array(items) => items.iter().map(|item| replaced(item, texts)).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, field)| (key.clone(), replaced(field, texts))).collect())
        }
        other => other.clone(),
    }
}

fn fixture(topic: &Path, file: &Path, variant: Option<&str>, mut parts: Map<String, Value>) -> Fixture {
    let shown = file.display();
    let topic = topic.file_name().unwrap().to_string_lossy().into_owned();
    let mut take = |key: &str| parts.remove(key);
    let text_of = |value: Option<Value>, key: &str| match value {
        Some(Value::String(text)) => text,
        other => panic!("{shown}: `{key}` is {other:?}"),
    };
    let input = text_of(take(ABOUT[0]), ABOUT[0]);
    let offer = text_of(take(ABOUT[1]), ABOUT[1]);
    let Some(Value::Object(expect)) = take(ABOUT[2]) else { panic!("{shown}: no `expect`") };
    let Some(Value::Array(guards)) = take(ABOUT[3]) else { panic!("{shown}: no list of `guards`") };
    // A fixture is offered once if it ends its process, or takes long because of its size.
    let once = match take(ABOUT[4]) {
        None => false,
        Some(Value::Bool(false)) => true,
        other => panic!("{shown}: `repeat` is {other:?}"),
    };
    let repeats = !once && ["node", "artifact", "document"].contains(&offer.as_str());
    for key in parts.keys() {
        assert!(PARTS.contains(&key.as_str()), "{shown}: `{key}` is nothing that a fixture is made of");
    }
    for key in expect.keys() {
        assert!(EXPECTED.contains(&key.as_str()), "{shown}: `{key}` is nothing that can be expected");
    }
    assert!(expect.contains_key("exit"), "{shown}: no exit code is expected");
    assert!(!guards.is_empty(), "{shown}: it guards nothing");
    let file = format!("{topic}/{}", file.file_stem().unwrap().to_string_lossy());
    let name = variant.map_or_else(|| file.clone(), |variant| format!("{file}+{variant}"));
    let guards = guards.into_iter().map(|guard| text_of(Some(guard), "guards")).collect();
    Fixture { file, name, topic, input, offer, parts, expect, guards, repeats }
}

impl Fixture {
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.parts.get(key).map(|value| generated(value, &self.name))
    }
}

/// Makes a text that is written out, or made of pieces: `before`, then `each` for `count` times (`@i` is the number),
/// `middle`, `close` as often, and `after`. The texts of a list are concatenated.
pub(crate) fn generated(value: &Value, name: &str) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(pieces) => pieces.iter().map(|piece| generated(piece, name)).collect(),
        Value::Object(pieces) => {
            for key in pieces.keys() {
                let known = ["before", "each", "count", "middle", "close", "after"];
                assert!(known.contains(&key.as_str()), "{name}: `{key}` is no piece of a text");
            }
            let piece = |key: &str| pieces.get(key).map(|piece| generated(piece, name)).unwrap_or_default();
            let count = pieces.get("count").and_then(Value::as_u64).unwrap_or(1);
            let each = piece("each");
            let repeated: String = if each.contains("@i") {
                (0..count).map(|index| each.replace("@i", &index.to_string())).collect()
            } else {
                each.repeat(usize::try_from(count).unwrap())
            };
            let close = piece("close").repeat(usize::try_from(count).unwrap());
            [piece("before"), repeated, piece("middle"), close, piece("after")].concat()
        }
        other => panic!("{name}: {other} is no text"),
    }
}

const NODE: &str = include_str!("../../../host/engine/tests/engine/node.wat");
const RUN: &str = r#"(export "graph-host:node/action@0.1.0#run")"#;
const DESCRIBE: &str = r#"(export "graph-host:node/action@0.1.0#describe")"#;
/// Definitions for core code.
const AT_HAND: &str = r#"
  (memory (export "memory") 1 512)
  (data (i32.const 1024) "@DATA@")
  (global $next (mut i32) (i32.const 32768))
  (func $allocate (param $more i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $next) (i32.const 15)) (i32.const -16)))
    (global.set $next (i32.add (local.get $at) (local.get $more)))
    (local.get $at))
  (func $result (param $at i32) (param $length i32) (result i32)
    (i32.store8 (i32.const 0) (i32.const 0))
    (i32.store8 (i32.const 4) (i32.const 0))
    (i32.store (i32.const 8) (local.get $at))
    (i32.store (i32.const 12) (local.get $length))
    (i32.const 0))
  (func $description (result i32)
    (i32.store (i32.const 0) (i32.const 512)) (i32.store (i32.const 4) (i32.const 2))
    (i32.store (i32.const 8) (i32.const 512)) (i32.store (i32.const 12) (i32.const 2))
    (i32.store (i32.const 16) (i32.const 512)) (i32.store (i32.const 20) (i32.const 2))
    (i32.store (i32.const 24) (i32.const 0)) (i32.store (i32.const 28) (i32.const 0))
    (i32.const 0))
  (data (i32.const 512) "{}")
"#;
const REALLOC: &str =
    r#"(func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (call $allocate (local.get 3)))"#;

/// Options of the lift of `run`, and those with a function that is called after its result was read.
const LIFTED: &str = "(realloc $cabi_realloc) string-encoding=utf8))";
const POSTED: &str = "(realloc $cabi_realloc) (post-return $cabi_post) string-encoding=utf8))";
const ALIASED: &str = "(alias core export $main \"cabi_realloc\"";
const POST: &str = "(alias core export $main \"cabi_post\" (core func $cabi_post))\n  ";

impl Fixture {
    /// Makes the component: whole (`component`), from bytes in hexadecimal digits, or as a node around core code
    /// (`core`), the body of its `run`, or the answer of `run`.
    pub(crate) fn component(&self) -> Option<Vec<u8>> {
        if let Some(hex) = self.text("bytes") {
            let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
            let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
            return Some(digits.chunks(2).map(byte).collect());
        }
        let text = if let Some(text) = self.text("component") {
            text
        } else {
            let answer = self.text("answer");
            let data = self.text("data").or_else(|| answer.clone()).unwrap_or_default();
            let escaped: String = data.bytes().map(|byte| format!("\\{byte:02x}")).collect();
            let run = self.text("run").or_else(|| {
                Some(format!("(call $result (i32.const 1024) (i32.const {}))", answer.as_ref()?.len()))
            });
            let core = self.text("core");
            if run.is_none() && core.is_none() {
                return None;
            }
            let mut core = core.unwrap_or_default();
            if let Some(run) = run {
                core += &format!("(func {RUN} (param $at i32) (result i32) {run})");
            }
            core = core.replace("@RUN@", RUN).replace("@DESCRIBE@", DESCRIBE);
            if !core.contains(DESCRIBE) {
                core += &format!("(func {DESCRIBE} (result i32) (call $description))");
            }
            if !core.contains("\"cabi_realloc\"") {
                core += REALLOC;
            }
            let posts = core.contains("\"cabi_post\"");
            let node = self.node_of(&AT_HAND.replace("@DATA@", &escaped), &core);
            if posts {
                node.replace(LIFTED, POSTED).replace(ALIASED, &format!("{POST}{ALIASED}"))
            } else {
                node
            }
        };
        Some(wat::parse_str(text).unwrap_or_else(|error| panic!("{}: {error}", self.name)))
    }

    /// Makes a node around core code. `imports` names its imports: `interface#function` for a function that returns a
    /// `u64`, or a mapping with the `interface`, the `types` before the `function`, its `core` type, and the options of
    /// its lowering if it takes more than numbers (`lower`). Core code calls the functions `$call-0` and so on.
    fn node_of(&self, at_hand: &str, core: &str) -> String {
        let (mut import, mut lowered, mut with, mut declared) =
            (String::new(), String::new(), String::new(), String::new());
        let imports = self.parts.get("imports").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut at_hand = at_hand.to_owned();
        if imports.iter().any(|named| named.get("lower").is_some()) {
            // A function that is lowered before the code exists needs a memory that exists before it.
            import += r#"(core module $libc (memory (export "memory") 1 512))
                         (core instance $libc (instantiate $libc)) (alias core export $libc "memory" (core memory $libc))"#;
            with += r#"(with "libc" (instance $libc))"#;
            declared += r#"(import "libc" "memory" (memory 1 512))"#;
            at_hand =
                at_hand.replace(r#"(memory (export "memory") 1 512)"#, r#"(export "memory" (memory 0))"#);
        }
        for (i, named) in imports.iter().enumerate() {
            let text = |key: &str| named.get(key).and_then(Value::as_str).unwrap_or_default();
            let (interface, function) = named
                .as_str()
                .and_then(|named| named.split_once('#'))
                .unwrap_or((text("interface"), text("function")));
            let (mut types, mut takes) = (text("types").to_owned(), text("core"));
            if named.is_string() {
                types = format!(r#"(export "{function}" (func (result u64)))"#);
                takes = "(result i64)";
            }
            declared += &format!(r#"(import "{interface}" "{function}" (func $call-{i} {takes}))"#);
            import += &format!(r#"(import "{interface}" (instance $import-{i} {types}))"#);
            lowered += &format!(
                r#"(alias export $import-{i} "{function}" (func $function-{i}))
                   (core func $lowered-{i} (canon lower (func $function-{i}) {}))
                   (core instance $given-{i} (export "{function}" (func $lowered-{i})))"#,
                text("lower").replace("@MEMORY@", "(memory $libc)")
            );
            with += &format!(r#"(with "{interface}" (instance $given-{i}))"#);
        }
        NODE.replace("@CORE@", &(declared + &at_hand + core))
            .replace("@IMPORTS@", &import)
            .replace("@LOWERED@", &lowered)
            .replace("@WITH@", &with)
    }
}

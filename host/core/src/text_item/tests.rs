#![allow(clippy::unwrap_used)]
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::item::ItemType;
use crate::schema::InputSchema;
use crate::trust::{CommentMark, SigningKey, TextKind, sign_text};
use crate::work::rates::STEP;
use crate::work::{FuelExhausted, Meter};

fn read(item_type: ItemType, text: &str) -> Result<TextItem, Vec<String>> {
    read_text_item(item_type, TextFormat::Markdown, "x.md", text)
        .map(|read| read.item)
        .map_err(|problems| problems.to_lines())
}

fn fill(text: &str, inputs: &Value) -> String {
    Directive::fill(text, inputs.as_object().unwrap(), &Meter::of_one_step()).unwrap()
}

const YAML_DIRECTIVE: &str = "---\ntitle: Greet\ninputs:\n  who: { type: string, required: true }\n  times: { type: integer, default: 2 }\n---\n\nGreet {input:who} {input:times} times{input:mark|!}\n";

const XML_DIRECTIVE: &str = "<!-- rye:signed:2026-02-11T00:00:00Z:a1b2:c2ln:0123 -->\n\n# Create a note\n\nWrites one.\n\n```xml\n<directive name=\"note\" version=\"1.2.0\">\n  <metadata>\n    <description>Write a note</description>\n    <permissions><execute><tool>a.*</tool></execute></permissions>\n  </metadata>\n  <inputs>\n    <input name=\"name\" type=\"string\" required=\"true\">\n      Its name\n    </input>\n    <input name=\"n\" type=\"integer\" default=\"3\"/>\n    <input name=\"mark\"/>\n  </inputs>\n  <outputs><output name=\"path\">Where</output></outputs>\n</directive>\n```\n\n<process>\n<step>Write {input:name} {input:n}{input:mark?}.</step>\n</process>\n";

#[test]
fn knowledge_has_its_metadata_at_the_top() {
    let bodies =
        ["---\ntitle: A\ntags: [x, y]\n---\n\n# B\n", "```yaml\ntitle: A\ntags: [x, y]\n```\n\n# B\n"];
    for body in bodies {
        let signed = sign_text(
            TextKind::Knowledge,
            "a/b",
            body,
            CommentMark::Angle,
            &SigningKey::from_seed(&[1; 32]),
            crate::time::Timestamp(0),
        );
        for text in [body.to_owned(), signed, format!("<!-- rye:signed:x -->\n\n{body}")] {
            let item = read(ItemType::Knowledge, &text).unwrap();
            assert_eq!((item.title.as_deref(), item.body.as_str()), (Some("A"), "# B\n"), "{text}");
            assert_eq!(item.tags(), ["x", "y"]);
        }
    }
    let plain = read(ItemType::Knowledge, "\n```text\n# no\n```\n# Title\nText\n").unwrap();
    assert_eq!((plain.title.as_deref(), plain.metadata.len()), (Some("Title"), 0));
    let empty = read(ItemType::Knowledge, "---\n# nothing\n---\nText").unwrap();
    assert_eq!((empty.metadata.len(), empty.body.as_str()), (0, "Text"));
    let yaml = read_text_item(ItemType::Knowledge, TextFormat::Yaml, "x.yaml", "title: A\nn: 1\n").unwrap();
    assert_eq!(Value::Object(yaml.item.metadata), json!({"title": "A", "n": 1}));
    assert_eq!(yaml.item.body, "title: A\nn: 1\n");
}

#[test]
fn a_directive_says_what_it_takes() {
    let item = read(ItemType::Directive, YAML_DIRECTIVE).unwrap_err();
    assert!(item[0].contains("`{input:mark}` names no input"), "{item:?}");
    let item = read(ItemType::Directive, &YAML_DIRECTIVE.replace("{input:mark|!}", "")).unwrap();
    let schema =
        InputSchema::compile(&item.directive.as_ref().unwrap().schema(), &Meter::of_one_step()).unwrap();
    let filled = schema.validate_and_fill(json!({"who": "{input:times}"}), &Meter::of_one_step()).unwrap();
    assert_eq!(fill(&item.body, &filled), "Greet {input:times} 2 times\n");
    assert!(schema.validate_and_fill(json!({}), &Meter::of_one_step()).is_err());
    assert!(schema.validate_and_fill(json!({"who": 1}), &Meter::of_one_step()).is_err());
    assert!(schema.validate_and_fill(json!({"who": "a", "hwo": 1}), &Meter::of_one_step()).is_err());
}

#[test]
fn a_directive_of_rye_is_read() {
    let item = read(ItemType::Directive, XML_DIRECTIVE).unwrap();
    assert_eq!(item.title.as_deref(), Some("Create a note"));
    assert_eq!(item.description(), Some("Write a note"));
    assert_eq!((item.text("name"), item.text("version")), (Some("note"), Some("1.2.0")));
    let directive = item.directive.unwrap();
    let names: Vec<_> = directive.inputs.iter().map(|input| (input.name.as_str(), input.required)).collect();
    assert_eq!(names, [("name", true), ("n", false), ("mark", false)]);
    assert_eq!(directive.inputs[1].default, Some(json!(3)));
    assert_eq!(directive.inputs[0].description.as_deref(), Some("Its name"));
    let inputs = json!({"name": "x", "n": 3});
    assert_eq!(fill(&item.body, &inputs), "<process>\n<step>Write x 3.</step>\n</process>\n");
    // Older directives have their process inside the element.
    let older = XML_DIRECTIVE.replace("</outputs>", "</outputs><process><step>Do {input:n}</step></process>");
    let older = read(ItemType::Directive, &older).unwrap();
    assert!(
        older.body.starts_with("<process><step>Do {input:n}</step></process>\n\n<process>\n"),
        "{}",
        older.body
    );
}

const XML_THREAD: &str = "```xml\n<directive name=\"a\">\n<metadata>\n<model tier=\"fast\" fallback=\"general\"/>\n<limits max_turns=\"8\" tokens=\"4096\" spend=\"0.5\" duration=\"600\"/>\n<permissions><execute><tool>rye.file-system.*</tool><tool>acme/say</tool></execute><execute><directive>b</directive></execute><search>*</search><load><knowledge>acme/notes/*</knowledge></load><cap>rye.execute.tool.c</cap></permissions>\n<hooks><hook id=\"h\" event=\"after_step\"><condition path=\"cost.spend\" op=\"gte\" value=\"0.9\"/><action primary=\"execute\" item_type=\"directive\" item_id=\"warn\"><param name=\"of\">${cost}</param></action></hook></hooks>\n</metadata>\n<outputs><output name=\"path\" type=\"string\" required=\"true\">Where it\n is</output><output name=\"n\" type=\"int\"/></outputs>\n</directive>\n```\n";

const YAML_THREAD: &str = "---\nmodel: { tier: fast, fallback: general }\nlimits: { turns: 8, max_turns: 9, tokens: 4096, spend: 0.5, duration: 600 }\npermissions:\n  execute: { tool: [rye.file-system.*, acme/say], directive: b }\n  search: '*'\n  load: { knowledge: acme/notes/* }\n  cap: rye.execute.tool.c\nhooks:\n  - { id: h, event: after_step, condition: { path: cost.spend, op: gte, value: 0.9 }, action: { primary: execute, item_type: directive, item_id: warn, params: { of: '${cost}' } } }\noutputs:\n  - { name: path, type: string, required: true, description: Where it is }\n  - { name: n, type: int }\n---\n";

#[test]
fn a_directive_says_how_a_model_carries_it_out() {
    let expected = json!({
        "model": { "tier": "fast", "fallback": "general" },
        "limits": { "turns": 8, "tokens": 4096, "spend": 0.5, "duration": 600 },
        "outputs": {
            "path": { "type": "string", "required": true, "description": "Where it is" },
            "n": { "type": "integer", "required": false },
        },
        "hooks": [{
            "id": "h",
            "event": "after_step",
            "condition": { "path": "cost.spend", "op": "gte", "value": 0.9 },
            "action": { "primary": "execute", "item_type": "directive", "item_id": "warn", "params": { "of": "${cost}" } },
        }],
    });
    let mut permissions = vec![
        "execute.directive.b",
        "execute.tool.acme.say",
        "execute.tool.rye.file-system.*",
        "load.knowledge.acme.notes.*",
        "rye.execute.tool.c",
        "search.directive.*",
        "search.knowledge.*",
        "search.tool.*",
    ];
    permissions.sort_unstable();
    for text in [XML_THREAD, YAML_THREAD] {
        let mut thread = read(ItemType::Directive, text).unwrap().directive.unwrap().thread.to_json();
        let mut read: Vec<String> = serde_json::from_value(thread["permissions"].take()).unwrap();
        read.sort_unstable();
        assert_eq!(read, permissions);
        thread.as_object_mut().unwrap().remove("permissions");
        assert_eq!(thread, expected);
    }
    let plain = read(ItemType::Directive, "Do it.\n").unwrap().directive.unwrap().thread;
    let nothing = json!({ "model": {}, "limits": {}, "permissions": [], "outputs": {}, "hooks": [] });
    assert_eq!(plain.to_json(), nothing);
    let all = read(
        ItemType::Directive,
        "---\nmodel: fast\npermissions: '*'\noutputs: { success: It worked. }\n---\n",
    )
    .unwrap();
    let all = all.directive.unwrap().thread;
    assert_eq!((all.model["tier"].as_str(), all.permissions.len()), (Some("fast"), 12));
    assert_eq!(all.outputs[0].description.as_deref(), Some("It worked."));
}

/// An unreadable limit is an error; other unreadable parts are left out.
#[test]
fn what_cannot_be_read_about_a_thread_is_told() {
    for (section, message) in [
        ("limits: { turns: many }", "the limit `turns` must be a whole number"),
        ("limits: { turns: 1.5 }", "the limit `turns` must be a whole number"),
        ("limits: { spend: -1 }", "the limit `spend` must be a number, at least 0"),
        ("limits: { trns: 1 }", "`trns` is no limit of a thread"),
        ("limits: 8", "the limits cannot be read"),
    ] {
        let problems = read(ItemType::Directive, &format!("---\n{section}\n---\n")).unwrap_err();
        assert!(problems.len() == 1 && problems[0].contains(message), "{problems:?}");
    }
    for (section, message) in [
        ("model: { teir: fast }", "`teir` is unknown of a model"),
        ("model: [a]", "the model cannot be read"),
        ("model: { tier: 1 }", "`tier` of the model is no text"),
        ("permissions: { allow: { type: read } }", "`allow` in the permissions is not used"),
        ("permissions: { execute: { tol: a } }", "`tol` in the permissions is not used"),
        ("permissions: ['a b']", "the permission `a b` is left out"),
        ("permissions: { execute: { tool: [[a]] } }", "what is no text in the permissions is not used"),
        ("outputs: { 'a b': {} }", "`a b` cannot be the name of an output"),
        ("outputs: [{ type: string }]", "an output has no name"),
        ("outputs: { a: { type: strin } }", "`strin` is no type of an output"),
        ("outputs: [{ name: a }, { name: a }]", "the output `a` is declared twice"),
        ("hooks: [{ action: {} }]", "a hook is left out: it has no `event`"),
        ("hooks: [{ event: when, action: {} }]", "a hook is left out: `when` is no event"),
        ("hooks: [{ event: error }]", "a hook is left out: it has no `action`"),
        ("hooks: { hook: { event: error, condition: x, action: {} } }", "its condition is no mapping"),
    ] {
        let text = format!("---\n{section}\n---\n");
        let read = read_text_item(ItemType::Directive, TextFormat::Markdown, "x.md", &text).unwrap();
        let told = read.warnings.to_lines();
        assert!(told.len() == 1 && told[0].contains(message), "{section}: {told:?}");
        assert_eq!(read.item.directive.unwrap().thread.permissions, [""; 0]);
    }
    let many = (0..300).map(|n| format!("execute.tool.t{n}")).collect::<Vec<_>>().join(", ");
    let bounded = read(ItemType::Directive, &format!("---\npermissions: [{many}]\n---\n")).unwrap();
    assert_eq!(bounded.directive.unwrap().thread.permissions.len(), 200);
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let cases = [
        "---\ntitle: A\n",
        "---\n- a\n---\n",
        "---\ntitle: [\n---\n",
        "---\ninputs: { a: { type: strin, default: 1 }, b: { type: integer, default: x }, 'c d': }\n---\n{input:aa} {input:zzz:1} {input:} {input:a",
        "---\ninputs: [{ name: a }, { name: a }, { type: string }, 1]\n---\n",
        "---\ninputs: all\n---\n",
        "# T\n```xml\n<directive name=\"a\">\n  <inputs>\n```\n",
        "```xml\n<directive>\n<inputs>\n<input name=\"a\" type=\"nubmer\"/>\n<input name=\"b\" type=\"integer\" default=\"x\"/>\n<inptu name=\"c\"/>\n<input name=\"d\" required=\"yes\"/>\n<input/>\n</inputs></directive>\n```\nUse {input:e}.\n",
    ];
    let shown: Vec<_> =
        cases.iter().map(|text| read(ItemType::Directive, text).unwrap_err().join("\n")).collect();
    insta::assert_snapshot!(shown.join("\n---\n"));
}

#[test]
fn what_stands_in_a_default_is_its_text() {
    assert_eq!(fill("<{input:a:{input:b}>", &json!({"b": 1})), "<{input:b>");
    assert_eq!(fill("{input:a:{input:b} {input:b}", &json!({"a": 1, "b": 2})), "1 2");
    assert_eq!(fill("{input:{input:{input:b} {input:", &json!({"b": 2})), "{input:{input:2 {input:");
    assert_eq!(
        fill("{input:}{input:b c}{input:b?}{input:b?x}", &json!({"b": 2})),
        "{input:}{input:b c}2{input:b?x}"
    );
}

#[test]
fn a_text_is_filled_in_for_what_it_costs() {
    let inputs = json!({"a": "x".repeat(1_000_000), "l": vec![1; 10_000]});
    let cost = |text: &str| {
        let meter = Meter::of_one_step();
        let filled = Directive::fill(text, inputs.as_object().unwrap(), &meter);
        (filled.map(|filled| filled.len()), meter.spent())
    };
    let (length, spent) = cost("{input:a}{input:a}");
    assert_eq!(length, Ok(2_000_000));
    assert!((2_000_000..2_001_000).contains(&spent), "{spent}");
    // A value is visited once, however often it is named.
    let (once, twice) = (cost("{input:l}").1, cost("{input:l}{input:l}").1);
    assert!(twice - once < 30_000, "{once} {twice}");
    assert_eq!(cost(&"{input:a}".repeat(101)), (Err(FuelExhausted::Step), STEP));
}

/// Unclosed placeholders are searched once, and not once for each opening before them.
#[test]
fn placeholders_that_are_not_closed_take_no_longer() {
    for text in
        ["{input:".repeat(300_000), "{input:a:".repeat(300_000), format!("{}}}", "{input:a ".repeat(300_000))]
    {
        assert_eq!(fill(&text, &json!({})), text);
    }
    let nested = format!("{}}}", "{input:a:".repeat(300_000));
    assert_eq!(fill(&nested, &json!({"a": 1})), "1");
}

#[test]
fn large_directives_are_read_in_time() {
    let many =
        |count: usize, part: &dyn Fn(usize) -> String| (0..count).map(part).collect::<Vec<_>>().concat();
    let yaml = format!("---\ninputs:\n{}---\n", many(60_000, &|n| format!("  i{n}: \n")));
    let read_all =
        read(ItemType::Directive, &format!("{yaml}{}", many(60_000, &|n| format!("{{input:i{n}}}"))))
            .unwrap();
    assert_eq!(read_all.directive.unwrap().inputs.len(), 60_000);
    let unknown = read(ItemType::Directive, &format!("{yaml}{}", "{input:x}".repeat(200_000))).unwrap_err();
    assert_eq!(unknown.len(), 200);
    let wide = format!("```xml\n<directive {}/>\n```\n", many(200_000, &|n| format!("a{n}='' ")));
    assert_eq!(read(ItemType::Directive, &wide).unwrap().metadata.len(), 200_000);
    let inputs = many(9_000, &|n| format!("<input name='i{n}'/>"));
    let long =
        format!("```xml\n<directive><inputs>{inputs}</inputs></directive>\n```\n{}", "text ".repeat(200_000));
    assert_eq!(read(ItemType::Directive, &long).unwrap().directive.unwrap().inputs.len(), 9_000);
}

#[test]
fn a_long_word_is_looked_for_in_time() {
    let query = SearchQuery::new(&"x".repeat(1_000_000), &[]);
    let item = SearchableFields { body: "x ".repeat(500_000), ..SearchableFields::default() };
    assert_eq!(query.score(&item), None);
}

proptest! {
    #[test]
    fn reading_never_panics(text in "(---\n|```yaml\n|```xml\n)?[a-c:<>/\\-`{}\n #é|?\"=\r]{0,60}(\n---\n|\n```\n)?[{}input:a|? <>é]{0,20}") {
        for item_type in [ItemType::Knowledge, ItemType::Directive] {
            for format in [TextFormat::Markdown, TextFormat::Yaml] {
                let _ = read_text_item(item_type, format, "x.md", &text);
            }
        }
        fill(&text, &json!({"a": {"b": 1}}));
    }

    #[test]
    fn sections_of_a_thread_never_panic(section in "(model|limits|permissions|outputs|hooks)", value in "[\\[\\]{}a-c:, '*0-9.-]{0,40}") {
        let _ = read(ItemType::Directive, &format!("---\n{section}: {value}\n---\n"));
    }

    #[test]
    fn what_is_filled_in_is_not_looked_at_again(value in "[{}input:a]{0,12}") {
        let inputs = json!({"a": value});
        let filled = fill("<{input:a}>", &inputs);
        prop_assert_eq!(filled, format!("<{value}>"));
    }
}

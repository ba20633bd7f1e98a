//! Rules of agents about calls of tools, in threads that a model starts with tools and names of its choice.

use crate::place::Place;

/// A directive whose thread may call everything of `acme` and `graph`.
const WORK: &str = "---\ntitle: Work\nlimits: { turns: 8, spawns: 3, depth: 3 }\n\
    permissions: [\"execute.tool.rye.agent.*\", \"execute.tool.acme.*\", \"execute.tool.graph.*\", \"execute.directive.*\"]\n---\nDo the work.\n";

/// The tools that the author gives to the agent.
const TOOLS: &str = "{ item: acme/delete, name: delete }, { item: acme/search, name: search }, \
    { item: rye/agent/threads/thread_directive, name: start }, { item: rye/agent/agent, name: ask }, { item: graph/run, name: write }, \
    { item: acme/relay, name: relay }";

/// The calls that the agent's model requests first, and those of the model of the thread or agent below.
struct Attempt {
    name: &'static str,
    approvals: &'static str,
    /// The first call of the model.
    first: &'static str,
    /// The calls of models after that, in order.
    then: &'static [&'static str],
    /// The path of the node whose dispatch must not happen.
    inside: &'static str,
}

const IN_THREAD: &str = "ask/call/work/call";

fn attempts() -> Vec<Attempt> {
    let thread = |name, approvals, first, then| Attempt { name, approvals, first, then, inside: IN_THREAD };
    vec![
        thread(
            "denied by name, another name",
            "[{ tool: delete, then: deny }]",
            "name: start, arguments: { directive_name: work, tools: [{ item: acme/delete, name: harmless }] }",
            &["name: harmless, arguments: {}"],
        ),
        thread(
            "denied by item, with a version",
            "[{ tool: acme/delete, then: deny }]",
            "name: start, arguments: { directive_name: work, tools: [{ item: \"acme/delete@1.0.0\", name: harmless }] }",
            &["name: harmless, arguments: {}"],
        ),
        thread(
            "allowed by name, another item has the name",
            "[{ tool: search, then: allow }, { tool: start, then: allow }, { tool: \"*\", then: ask }]",
            "name: start, arguments: { directive_name: work, tools: [{ item: acme/delete, name: search }] }",
            &["name: search, arguments: {}"],
        ),
        thread(
            "asked by name, another name and rules of the model's own",
            "[{ tool: delete, then: ask }]",
            "name: start, arguments: { directive_name: work, approvals: [{ tool: \"*\", then: allow }], parent: {}, \
             tools: [{ item: acme/delete, name: ok }] }",
            &["name: ok, arguments: {}"],
        ),
        thread(
            "the name in other letters",
            "[{ tool: \"del*\", then: deny }]",
            "name: start, arguments: { directive_name: work, tools: [{ item: acme/delete, name: Delete }] }",
            &["name: Delete, arguments: {}"],
        ),
        Attempt {
            name: "an agent as a tool, with a forged list of rules",
            approvals: "[{ tool: delete, then: deny }, { tool: ask, then: allow }]",
            first: "name: ask, arguments: { message: go, model: fast, approvals_above: [], \
                tools: [{ item: acme/delete, name: harmless }] }",
            then: &["name: harmless, arguments: {}"],
            inside: "ask/call/call",
        },
        Attempt {
            name: "a thread in a thread",
            approvals: "[{ tool: delete, then: deny }]",
            first: "name: start, arguments: { directive_name: work, \
                tools: [{ item: \"rye/agent/threads/thread_directive@1.0.0\", name: again }] }",
            then: &[
                "name: again, arguments: { directive_name: work, tools: [{ item: \"acme/delete@1.0.0\", name: harmless }] }",
                "name: harmless, arguments: {}",
            ],
            inside: "ask/call/work/call/work/call",
        },
        Attempt {
            name: "a graph that the model writes",
            approvals: "[{ tool: acme/delete, then: deny }]",
            first: "name: write, arguments: { graph: { tool_type: graph, config: { start: go, nodes: { go: { action: { item_id: \"acme/delete@1.0.0\" } } } } } }",
            then: &[],
            inside: "ask/call/go",
        },
        Attempt {
            name: "a graph that a thread writes, where a person is asked",
            approvals: "[{ tool: acme/delete, then: ask }]",
            first: "name: start, arguments: { directive_name: work, tools: [{ item: graph/run, name: harmless }] }",
            then: &[
                "name: harmless, arguments: { graph: { tool_type: graph, config: { start: go, nodes: { go: { action: { item_id: acme/delete } } } } } }",
            ],
            inside: "ask/call/work/call/go",
        },
        Attempt {
            name: "a graph of the project that calls what it is told",
            approvals: "[{ tool: delete, then: ask }, { tool: relay, then: allow }]",
            first: "name: relay, arguments: { item: \"acme/delete@1.0.0\" }",
            then: &[],
            inside: "ask/call/go",
        },
    ]
}

fn case(attempt: &Attempt, approvals: &str, times: u32) -> String {
    let Attempt { name, first, then, inside, .. } = attempt;
    let calls = std::iter::once(first).chain(*then);
    let calls: Vec<_> = calls.map(|call| format!("    - {{ tool_calls: [{{ {call} }}] }}\n")).collect();
    let mut models = calls.concat();
    models += &"    - { text: done }\n".repeat(4);
    format!(
        "name: {name}\ngraph:\n  start: ask\n  nodes:\n    ask:\n      action:\n        item_id: rye/agent/agent\n        \
         params: {{ message: go, model: fast, tools: [{TOOLS}], approvals: {approvals} }}\n\
         caps: [execute.tool.rye.agent.*, execute.tool.acme.*, execute.tool.graph.*, execute.directive.*]\n\
         subgraphs:\n  acme/relay: {{ start: go, nodes: {{ go: {{ action: {{ item_id: \"${{inputs.item}}\" }} }} }} }}\n\
         models:\n  fast:\n{models}\
         items: {{ acme/delete: {{ result: deleted }}, \"acme/delete@1.0.0\": {{ result: deleted }}, acme/search: {{ result: x }} }}\n\
         script: [{{ run: {{}}, expect: {{ executions: {{ {inside}: {times} }} }} }}]\n"
    )
}

fn tested(place: &Place, case: &str) {
    place.write("a.case.yaml", case);
    let caps = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/agent/caps.yaml");
    let tested = place.run(&["test", "a.case.yaml", "--caps", caps]);
    assert_eq!(tested.code, 0, "{case}\n{}\n{}", tested.stdout, tested.stderr);
}

#[test]
fn no_name_of_a_model_escapes_the_rules_above() {
    let place = Place::new();
    std::fs::create_dir_all(place.path(".ai/directives")).unwrap();
    place.write(".ai/directives/work.md", WORK);
    for attempt in attempts() {
        tested(&place, &case(&attempt, attempt.approvals, 0));
        // Without a rule against it, each attempt reaches its node.
        tested(&place, &case(&attempt, "[]", 1));
    }
}

/// A question about an item in a thread names the item; the answer is for that call.
#[test]
fn a_person_is_asked_in_a_thread_about_the_item() {
    let place = Place::new();
    std::fs::create_dir_all(place.path(".ai/directives")).unwrap();
    place.write(".ai/directives/work.md", WORK);
    let attempt = &attempts()[3];
    let mut asked = case(attempt, attempt.approvals, 0);
    let run = asked.find("script: ").unwrap();
    asked.truncate(run);
    asked += "script:\n  - run: {}\n    expect:\n      status: interrupted\n      interrupts:\n        - node: ask/call/work/turn\n          \
        payload: { question: \"May the model call `ok`, which is the item `acme/delete`?\", tool: ok, item: acme/delete, arguments: {}, \
        choices: [allow, deny, edit, abort], help: \"or {\\\"deny\\\": \\\"the reason\\\"}, or {\\\"edit\\\": {the arguments}}\" }\n  \
        - resume: { answer: allow }\n    expect: { status: completed, executions: { ask/call/work/call: 1 } }\n";
    tested(&place, &asked);
}

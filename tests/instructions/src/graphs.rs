//! The graphs that are walked and loaded.

use std::fmt::Write;

/// A loop of three nodes, a hundred times around: the cost of supersteps that do next to nothing.
pub const LOOP: &str = "
tool_type: graph
config:
  start: a
  max_steps: 1000
  max_total_steps: 1000
  channels: { count: { reducer: sum } }
  nodes:
    a: { assign: { count: 1 }, next: b }
    b: { next: c }
    c: { next: [{ to: a, when: { path: state.count, op: lt, value: 100 } }, { to: end }] }
    end: {}
";

/// A thousand tasks in one superstep.
pub const FAN_OUT: &str = r#"
tool_type: graph
config:
  start: each
  nodes:
    each:
      type: foreach
      over: "${inputs.items}"
      as: item
      parallel: true
      action: { item_id: t/echo, params: { v: "${item.text}", i: "${item.id}" } }
      collect: seen
"#;

/// Ten tasks with large params, and therefore large records.
pub const FEW_TASKS: &str = r#"
tool_type: graph
config:
  start: each
  nodes:
    each:
      type: foreach
      over: ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
      as: item
      parallel: true
      action: { item_id: t/echo, params: { v: "${item}", of: "${inputs.items}" } }
      collect: seen
"#;

/// A node whose assign fills in a dozen templates of small state, two hundred times.
pub const TEMPLATES: &str = r#"
tool_type: graph
config:
  start: a
  max_steps: 1000
  max_total_steps: 1000
  channels: { count: { reducer: sum } }
  nodes:
    a:
      assign:
        count: 1
        whole: "${state.person}"
        person: { name: "${inputs.name}", at: "${state.count}", first: "${state.person.name || 'nobody'}" }
        text: "step ${state.count} of ${inputs.limits.high}, for ${inputs.name}"
        list: ["${state.count}", "${state.list[0] || 0}", "${state.text}"]
        lengths: { list: "${state.list | length}", name: "${inputs.name | length}" }
        missing: "${state.nothing.at.all || 'none'}"
        escaped: "$${not.a.template} but ${state.missing}"
      next: [{ to: a, when: { path: state.count, op: lt, value: 200 } }]
"#;

/// A channel that gains an element in each of two thousand supersteps. The cost of a step must not grow with its length.
pub const APPEND: &str = r#"
tool_type: graph
config:
  start: a
  max_steps: 10000
  max_total_steps: 10000
  channels: { count: { reducer: sum }, log: append }
  nodes:
    a:
      assign: { count: 1, log: [{ at: "${state.count}", text: "a line of a log" }] }
      next: [{ to: a, when: { path: state.count, op: lt, value: 2000 } }]
"#;

/// A document of `count` nodes, each with most of the keys that a node can have.
pub fn of_many_nodes(count: usize) -> String {
    let mut text = "version: 1
tool_type: graph
description: A document of many nodes
config_schema: { type: object, properties: { name: { type: string, default: Ada } } }
config:
  start: n0
  channels: { log: append, total: { reducer: sum, default: 0 } }
  nodes:
"
    .to_owned();
    for at in 0..count {
        let next = (at + 1) % count;
        write!(
            text,
            r#"    n{at}:
      action:
        item_id: t/tool{at}
        params: {{ name: "${{inputs.name}}", at: {at}, text: "${{state.log[{at}].text || 'none'}} of ${{state.total}}" }}
      assign:
        log: [{{ at: {at}, of: "${{result.v}}" }}]
        total: 1
      next:
        - {{ to: n{next}, when: {{ any: [{{ path: state.total, op: lt, value: {at} }}, {{ path: result.text, op: regex, value: "^n[0-9]+$" }}] }} }}
        - {{ to: n0, when: {{ not: {{ path: result.done, op: exists }} }}, label: again }}
      retry: {{ max_attempts: 3, initial_interval: 10ms, backoff: 2 }}
      on_error: n{next}
      timeout: 2s
"#
        )
        .expect("a string takes all text");
    }
    text
}

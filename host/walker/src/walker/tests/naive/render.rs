//! Random graphs as documents, and random cases as `*.case.yaml`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::graph::{Graph, Kind, Next, Node, Reply};
use super::language::Template;
use super::model::{Answers, Fields, Operation, Seen};
use super::value::{V, quoted};

fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(", "))
}

fn fields(items: impl IntoIterator<Item = (String, String)>) -> String {
    let items = items.into_iter().map(|(key, value)| format!("{}: {value}", quoted(&key)));
    format!("{{{}}}", items.collect::<Vec<_>>().join(", "))
}

fn names(nodes: &[usize]) -> String {
    list(nodes.iter().map(|node| format!("n{node}")))
}

fn values(map: &Fields) -> String {
    fields(map.iter().map(|(key, value)| (key.clone(), value.json())))
}

/// Writes the graph as a document's `config`, each line after `indent`.
pub(super) fn config(graph: &Graph, indent: &str) -> String {
    config_with(graph, indent, &|at, node| {
        let params = node.params.as_ref()?.written();
        Some(format!("{{item_id: t/n{at}, params: {params}}}"))
    })
}

/// Writes the graph as a document's `config`, with other actions.
pub(super) fn config_with(
    graph: &Graph,
    indent: &str,
    action: &dyn Fn(usize, &Node) -> Option<String>,
) -> String {
    let mut out = String::new();
    let mut line = |key: &str, value: String| writeln!(out, "{indent}{key}: {value}").unwrap();
    line(
        "start",
        list(graph.start.iter().map(|(node, argument)| match argument {
            Some(argument) => format!("{{node: n{node}, argument: {}}}", argument.written()),
            None => format!("n{node}"),
        })),
    );
    line("max_steps", graph.max_steps.to_string());
    let numbers = [
        ("max_total_steps", graph.max_total_steps),
        ("max_visits_per_node", graph.max_visits),
        ("max_fan_out", graph.max_fan_out.map(|most| most as u64)),
        ("max_concurrency", graph.max_concurrency.map(u64::from)),
    ];
    for (key, number) in numbers {
        if let Some(number) = number {
            line(key, number.to_string());
        }
    }
    let words = [
        ("on_max_steps", graph.on_max_steps, "fail"),
        ("on_error", graph.on_error, "fail"),
        ("on_no_match", graph.on_no_match, "end"),
        ("on_stalled_barrier", graph.on_stalled_barrier, "warn"),
        ("durability", graph.durability, "sync"),
        ("templates", if graph.strict { "strict" } else { "lenient" }, "lenient"),
    ];
    for (key, word, default) in words {
        if word != default {
            line(key, word.to_owned());
        }
    }
    if let Some(output) = &graph.output {
        line("output", output.written());
    }
    let channels = graph.channels.iter().map(|(name, (reducer, default))| {
        let default =
            default.as_ref().map(|value| format!(", default: {}", value.json())).unwrap_or_default();
        ((*name).to_owned(), format!("{{reducer: {reducer}{default}}}"))
    });
    line("channels", fields(channels));
    writeln!(out, "{indent}nodes:").unwrap();
    for (at, node) in graph.nodes.iter().enumerate() {
        writeln!(out, "{indent}  n{at}:").unwrap();
        out += &keys(node, action(at, node), &format!("{indent}    "));
    }
    out
}

fn keys(node: &Node, action: Option<String>, indent: &str) -> String {
    let mut out = String::new();
    let mut line = |key: &str, value: String| writeln!(out, "{indent}{key}: {value}").unwrap();
    match &node.kind {
        Kind::Plain => line("type", "default".to_owned()),
        Kind::Return(output) => {
            line("type", "return".to_owned());
            if let Some(output) = output {
                line("output", output.written());
            }
        }
        Kind::Foreach { over, batch, collect, parallel, on_item_error } => {
            line("type", "foreach".to_owned());
            line("over", over.written());
            if let Some(batch) = batch {
                line("batch", batch.to_string());
            }
            if let Some(collect) = collect {
                line("collect", (*collect).to_owned());
            }
            line("parallel", parallel.to_string());
            line("on_item_error", (*on_item_error).to_owned());
        }
    }
    if let Some(action) = action {
        line("action", action);
    }
    if !node.assign.is_empty() {
        let writes =
            node.assign.iter().map(|(key, template)| ((*key).to_owned(), Template::written(template)));
        line("assign", fields(writes));
    }
    match &node.next {
        Next::Nothing => {}
        Next::All(targets) => line("next", names(targets)),
        Next::First(edges) => line(
            "next",
            list(edges.iter().map(|(to, when)| match when {
                Some(when) => format!("{{to: {}, when: {}}}", names(to), when.written()),
                None => format!("{{to: {}}}", names(to)),
            })),
        ),
    }
    if let Some(target) = node.on_error {
        line("on_error", format!("n{target}"));
    }
    if let Some((most, retry_on)) = &node.retry {
        let retry_on = retry_on.as_ref().map(|names| format!(", retry_on: [{}]", names.join(", ")));
        line(
            "retry",
            format!("{{max_attempts: {most}, initial_interval: 1ms{}}}", retry_on.unwrap_or_default()),
        );
    }
    if !node.wait_for.is_empty() {
        line("wait_for", names(&node.wait_for));
    }
    if node.defer {
        line("defer", "true".to_owned());
    }
    match (node.before, node.after) {
        (false, false) => {}
        (true, false) => line("interrupt", "before".to_owned()),
        (false, true) => line("interrupt", "after".to_owned()),
        (true, true) => line("interrupt", "[before, after]".to_owned()),
    }
    if !node.goto.is_empty() || !node.write.is_empty() {
        let (goto, write, overwrite) = (names(&node.goto), node.write.join(", "), node.overwrite.join(", "));
        line("command", format!("{{goto: {goto}, write: [{write}], overwrite: [{overwrite}]}}"));
    }
    out
}

/// Writes the case as a file for `graph-host test`: the answers of the doubles so far, the operations, and the model's result of each.
pub(super) fn case(
    graph: &Graph,
    inputs: &Fields,
    answered: &BTreeMap<usize, Vec<Reply>>,
    script: &[(Operation, Seen)],
) -> String {
    let mut out = String::from("about: what a random case has shown\ngraph:\n");
    out += &config(graph, "  ");
    if !answered.is_empty() {
        out += "items:\n";
    }
    for (node, replies) in answered {
        writeln!(out, "  t/n{node}:\n    sequence:").unwrap();
        for reply in replies {
            writeln!(out, "      - {}", written(reply)).unwrap();
        }
    }
    out += "script:\n";
    for (operation, seen) in script {
        writeln!(out, "  - {}\n    expect: {}", operation_text(operation, inputs), expected(seen)).unwrap();
    }
    out
}

fn written(reply: &Reply) -> String {
    match reply {
        Reply::Result(value) => format!("result: {}", value.template()),
        // The same question follows any number of answers.
        Reply::Ask(value) => format!("interrupts: {}", list(vec![value.template(); 8])),
        Reply::Fail(category) => format!("fail: {{category: {category}, message: \"no\"}}"),
        Reply::Command(update, goto) => {
            let update = update.iter().map(|(key, value)| ((*key).to_owned(), value.template()));
            let goto = goto.iter().map(|(node, argument)| match argument {
                Some(argument) => format!("{{node: {node}, argument: {}}}", argument.template()),
                None => node.clone(),
            });
            format!("command: {{update: {}, goto: {}}}", fields(update), list(goto))
        }
        Reply::Echo => "result: null".to_owned(),
    }
}

fn operation_text(operation: &Operation, inputs: &Fields) -> String {
    match operation {
        Operation::Run => format!("run: {{inputs: {}}}", values(inputs)),
        Operation::Cancel => "cancel: {}".to_owned(),
        Operation::Resume { answers, max_steps, inputs } => {
            let mut options = Vec::new();
            match answers {
                Answers::None => {}
                Answers::Bare(value) => options.push(format!("answer: {}", value.json())),
                Answers::Named(named) => options.push(format!(
                    "answers: {}",
                    fields(named.iter().map(|(name, value)| (name.clone(), value.json())))
                )),
            }
            options.extend(max_steps.map(|most| format!("max_steps: {most}")));
            options.extend(inputs.as_ref().map(|inputs| format!("inputs: {}", values(inputs))));
            format!("resume: {{{}}}", options.join(", "))
        }
    }
}

fn expected(seen: &Seen) -> String {
    let mut out = vec![format!("status: {}", seen.status), format!("steps: {}", seen.steps)];
    out.extend(seen.ended_by.as_ref().map(|by| format!("ended_by: {by}")));
    let state = seen.state.iter().filter(|(key, _)| !key.starts_with('_'));
    out.push(format!("state: {}", fields(state.map(|(key, value)| (key.clone(), value.json())))));
    out.extend(seen.output.as_ref().map(|value| format!("output: {}", value.json())));
    out.push(format!("visited: [{}]", seen.visited.join(", ")));
    out.push(format!("next: [{}]", seen.next.join(", ")));
    out.push(format!(
        "executions: {}",
        fields(seen.executions.iter().map(|(node, count)| (node.clone(), count.to_string())))
    ));
    out.push(format!(
        "interrupts: {}",
        list(seen.interrupts.iter().map(|(_, node, payload)| {
            format!("{{node: {node}, payload: {}}}", payload.as_ref().unwrap_or(&V::Null).json())
        }))
    ));
    out.extend(seen.refused.as_ref().or(seen.error.as_ref()).map(|code| format!("error: {{code: {code}}}")));
    format!("{{ {} }}", out.join(", "))
}

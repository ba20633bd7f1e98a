//! The graphs of the examples with agents that use language models, built by a program.

use std::time::Duration;

use graph_core::policy::Reducer;
use graph_walker::builder::{ActionBuilder, Branch, GraphBuilder, NodeBuilder, When};
use serde_json::{Value, json};

use super::built_graphs::{graph, input, is};

const AGENT: &str = "rye/agent/agent";
const FEEDBACK: &str =
    "Prior visit's output is provided above; refine your response based on it. The editor says: ";
const TURN_OF: &str = "What was said so far, oldest first: ${state.offers}\n\nIt is your turn.";

/// Describes the tool with which an agent inspects files.
pub(super) fn look() -> Value {
    json!({
        "item": "examples/files",
        "name": "look",
        "description": "Looks at files: lists them, counts their lines, or finds the lines that hold a text.",
        "parameters": {
            "type": "object",
            "additionalProperties": false,
            "required": ["op", "folder"],
            "properties": {
                "op": { "enum": ["list", "count", "search"] },
                "folder": { "type": "string", "description": "The folder to begin at, such as /src/host" },
                "ending": { "type": "string", "description": "What the names of files end in, such as .rs" },
                "text": { "type": "string", "description": "The text; for `search` only" },
            },
        },
    })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

pub(super) fn graph_writer() -> GraphBuilder {
    let mut builder = graph(&json!({
        "task": input(
            "string",
            "What the graph is to do",
            "Count the .rs files below /src/host and below /src/tests, at the same time, and give both numbers.",
        ),
        "turns": {
            "type": "integer",
            "minimum": 1,
            "maximum": 100,
            "description": "How often the model may be asked",
            "default": 20,
        },
    }));
    let tool = |item: &str, name: &str, description: &str, more: Value| {
        let mut properties = json!({ "graph": { "type": "string", "description": "The document, in YAML" } });
        properties.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let parameters = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["graph"],
            "properties": properties,
        });
        json!({ "item": item, "name": name, "description": description, "parameters": parameters })
    };
    let checks = "Checks a graph document without running it, and gives its problems with their places.";
    let runs = json!({
        "inputs": { "type": "object", "description": "The inputs of the graph" },
        "limits": { "type": "object", "description": "The most that it may use: steps, fuel, calls" },
    });
    let settings = json!({
        "message": "${inputs.task}",
        "model": "fast",
        "system": "You solve a task by writing a graph-host graph and running it. First check the document with `validate` and correct what it\n\
            reports, then call `run`. A node is `{action: {item_id, params}, assign: {channel: \"$${result}\"}, next: node}`, and the last one is\n\
            `{type: return, output: ...}`; `start` names one node or a list of nodes that run at the same time. The only item is\n\
            examples/files with the params {op: count, folder, ending}; its result has `files` and `lines`.",
        "tools": [
            tool("graph/validate", "validate", checks, json!({})),
            tool("graph/run", "run", "Runs a graph document and gives its output.", runs),
        ],
        "outputs": { "answer": { "type": "string", "required": true, "description": "The answer to the task" } },
        "limits": { "turns": "${inputs.turns}", "finish": true },
    });
    builder
        .start("write")
        .timeout(Duration::from_hours(1))
        .node("write", NodeBuilder::tool(AGENT, settings).assign("given", "${result}"))
        .node(
            "answer",
            NodeBuilder::end_with(
                json!({ "answer": "${state.given.outputs.answer}", "cost": "${state.given.cost}" }),
            ),
        )
        .edge("write", "answer");
    builder
}

pub(super) fn model_router() -> GraphBuilder {
    let mut builder = graph(&json!({
        "question": input(
            "string",
            "What is to be found out about the files below /src",
            "How many lines of Rust are there in host/core?",
        ),
    }));
    let choose = json!({
        "message": "${inputs.question}",
        "model": "fast",
        "system": "You choose what answers a question about a repository, whose files are below /src. You do not answer it yourself.\n\
            list_files lists and counts files, count_lines counts the lines of files, search_text finds the lines that hold a text.\n\
            explain is for everything that none of these answers by itself.",
        "outputs": {
            "type": "object",
            "required": ["tool"],
            "properties": {
                "tool": { "enum": ["list_files", "count_lines", "search_text", "explain"], "description": "What answers the question" },
                "folder": text("The folder to look in, such as /src/host; /src if the question names none"),
                "ending": text("What the names of the files end in, such as .rs; empty for all files"),
                "text": text("For search_text: the text"),
            },
        },
        "limits": { "turns": 2 },
    });
    let explain = json!({
        "message": "${inputs.question}",
        "model": "strong",
        "system": "You answer questions about the files of a repository, which are below /src. Use the tool; do not guess.",
        "tools": [look()],
        "limits": { "turns": 12, "finish": true },
    });
    let files = |op: &str| {
        ActionBuilder::tool("examples/files")
            .param("op", op)
            .param("folder", "${state.choice.folder || '/src'}")
            .param("ending", "${state.choice.ending || ''}")
    };
    let by = |name: &str, action: ActionBuilder| {
        NodeBuilder::run(action)
            .on_error("not_answered")
            .assign("by", name)
            .assign("answer", "${result.text}")
    };
    builder
        .start("choose")
        .timeout(Duration::from_hours(1))
        .channel("asked", Reducer::Sum)
        .channel("spend", Reducer::Sum)
        .node(
            "choose",
            NodeBuilder::tool(AGENT, choose)
                .on_error("not_answered")
                .assign("choice", "${result.outputs}")
                .assign("asked", "${result.cost.turns}")
                .assign("spend", "${result.cost.spend}"),
        )
        .node("list_files", by("list_files", files("list")))
        .node("count_lines", by("count_lines", files("count")))
        .node(
            "search_text",
            by("search_text", files("search").param("text", "${state.choice.text || inputs.question}")),
        )
        .node(
            "not_answered",
            NodeBuilder::pass().assign("fallback", "${state._last_error.node}: ${state._last_error.error}"),
        )
        .node(
            "explain",
            NodeBuilder::tool(AGENT, explain)
                .assign("by", "explain")
                .assign("answer", "${result.text}")
                .assign("asked", "${result.cost.turns}")
                .assign("spend", "${result.cost.spend}"),
        )
        .node(
            "answer",
            NodeBuilder::end_with(json!({
                "answer": "${state.answer}",
                "by": "${state.by}",
                "fallback": "${state.fallback || null}",
                "asked": "${state.asked}",
                "spend": "${state.spend}",
            })),
        )
        .conditional_edges(
            "choose",
            [
                is("result.outputs.tool", "list_files", "list_files"),
                is("result.outputs.tool", "count_lines", "count_lines"),
                is("result.outputs.tool", "search_text", "search_text"),
                Branch::otherwise("explain").label("needs a large model"),
            ],
        )
        .edge("list_files", "answer")
        .edge("count_lines", "answer")
        .edge("search_text", "answer")
        .sequence(["not_answered", "explain", "answer"]);
    builder
}

fn verdict() -> Value {
    json!({
        "type": "object",
        "required": ["verdict"],
        "additionalProperties": false,
        "properties": {
            "verdict": { "enum": ["accept", "revise"] },
            "feedback": text("With revise: what has to change, and why"),
        },
    })
}

/// Makes a writer of a part, which gets its own draft and the critic's feedback from the second visit on.
fn writer(node: &str, part: &str, called: &str, system: &str) -> NodeBuilder {
    let message = format!(
        "The facts:\n${{inputs.facts}}\n\nThe {called} so far: ${{node.previous.text || 'none'}}\n\n\
         Graph state '{node}' visit #${{node.visit}}. ${{state.feedback.{part} || 'Write the first version.'}}"
    );
    let settings = json!({ "model": "fast", "system": system, "message": message, "limits": { "turns": 1 } });
    NodeBuilder::tool(AGENT, settings)
        .feedback()
        .assign("drafts", json!({ part: "${result.text}" }))
        .assign("spend", "${result.cost.spend}")
}

pub(super) fn writer_and_critic() -> GraphBuilder {
    let facts = "graph-host is a program that runs workflows which other people or models have written.\n\
        Every step of a workflow is a signed WebAssembly component, which reaches only what a manifest grants.\n\
        Each step is stored and signed before the next one starts, so a run that was killed continues where it was.";
    let mut builder = graph(&json!({
        "facts": input("string", "What the announcement is about", facts),
        "readers": input("string", "Who reads it", "developers who have not heard of it"),
    }));
    let critic = json!({
        "model": "strong",
        "system": "You are a strict editor. You judge a headline and a paragraph against the facts: whether they are true, say what matters first, and are\n\
            understood by ${inputs.readers}. You do not write them yourself. Accept what is good enough.",
        "message": "The facts:\n${inputs.facts}\n\nThe headline: ${state.drafts.headline}\n\nThe paragraph: ${state.drafts.text}",
        "outputs": {
            "type": "object",
            "required": ["headline", "text"],
            "properties": { "headline": verdict(), "text": verdict() },
        },
        "limits": { "turns": 3 },
    });
    let feedback = json!({
        "headline": format!("{FEEDBACK}${{result.outputs.headline.feedback || 'it is not good enough'}}"),
        "text": format!("{FEEDBACK}${{result.outputs.text.feedback || 'it is not good enough'}}"),
    });
    let accepts = |part: &str| When::path(format!("result.outputs.{part}.verdict")).eq("accept");
    let drafts = json!({ "headline": "${state.drafts.headline}", "text": "${state.drafts.text}" });
    let with = |more: Value| {
        let mut output = drafts.clone();
        let numbers = json!({ "rounds": "${state.rounds}", "spend": "${state.spend}" });
        for fields in [numbers, more] {
            output.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        }
        NodeBuilder::end_with(output)
    };
    builder
        .start("write_headline")
        .start("write_text")
        .timeout(Duration::from_hours(1))
        .max_visits_per_node(3)
        .channel("drafts", Reducer::Merge)
        .channel("rounds", Reducer::Sum)
        .channel("spend", Reducer::Sum)
        .node(
            "write_headline",
            writer(
                "write_headline",
                "headline",
                "headline",
                "You write headlines for ${inputs.readers}: at most ten words, true, without exclamation marks. Answer with the headline only.",
            ),
        )
        .node(
            "write_text",
            writer(
                "write_text",
                "text",
                "paragraph",
                "You write short announcements for ${inputs.readers}: one paragraph of at most eighty words, without jargon. Answer with the paragraph only.",
            ),
        )
        .node(
            "critic",
            NodeBuilder::tool(AGENT, critic)
                .assign("verdict", "${result.outputs}")
                .assign("feedback", feedback)
                .assign("rounds", 1)
                .assign("spend", "${result.cost.spend}"),
        )
        .node("accepted", with(json!({ "accepted": true })))
        .node("open", with(json!({ "accepted": false, "verdict": "${state.verdict}" })))
        .edge("write_headline", "critic")
        .edge("write_text", "critic")
        .conditional_edges(
            "critic",
            [
                Branch::when(When::all([accepts("headline"), accepts("text")]), "accepted").label("both are good"),
                Branch::when(When::path("state.rounds").gte(3), "open").label("after three rounds"),
                Branch::when(accepts("text"), "write_headline").label("the headline"),
                Branch::when(accepts("headline"), "write_text").label("the text"),
                Branch::otherwise("write_headline").to_all(["write_headline", "write_text"]).label("both"),
            ],
        );
    builder
}

/// Makes a party of the negotiation. `bound` limits the prices of its own moves; `offered` describes its offer.
fn party(
    name: &str,
    model: &str,
    system: &str,
    bound: &Value,
    offered: &str,
    accepted: &str,
    other: &str,
) -> NodeBuilder {
    let typed = |more: Value| {
        let mut schema = json!({ "type": "integer" });
        for fields in [bound, &more] {
            schema.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        }
        schema
    };
    let mut offer = typed(json!({ "description": offered }));
    if name == "buyer" {
        offer["minimum"] = json!(1);
    }
    let settings = json!({
        "model": model,
        "system": system,
        "message": TURN_OF,
        "outputs": {
            "type": "object",
            "required": ["move", "message"],
            "properties": {
                "move": { "enum": ["offer", "accept", "walk_away"] },
                "offered": offer,
                "accepted": typed(json!({ "enum": ["${state.offers[-1].price}"], "description": accepted })),
                "message": { "type": "string", "maxLength": 300, "description": format!("What you say to the {other}") },
            },
        },
        "limits": { "turns": 4 },
    });
    let said = json!([{
        "party": name,
        "move": "${result.outputs.move}",
        "price": "${result.outputs.accepted || result.outputs.offered || null}",
        "message": "${result.outputs.message}",
    }]);
    NodeBuilder::tool(AGENT, settings).assign("offers", said).assign("spend", "${result.cost.spend}")
}

pub(super) fn agents_negotiate() -> GraphBuilder {
    let mut builder = graph(&json!({
        "thing": input("string", "What is for sale", "a used bicycle, ten years old, with new tyres"),
        "asking": input("integer", "The price that the seller asks for at the beginning; both know it", 140),
        "buyer_limit": input("integer", "The most that the buyer pays; the seller never learns it", 110),
        "seller_limit": input("integer", "The least that the seller takes; the buyer never learns it", 90),
    }));
    let opening = json!([{ "party": "seller", "move": "offer", "price": "${inputs.asking}", "message": "I ask for ${inputs.asking}." }]);
    let buyer = party(
        "buyer",
        "fast",
        "You negotiate the price of ${inputs.thing}. You are the buyer and want to pay as little as possible.\n\
            The most that you can pay is ${inputs.buyer_limit}. Never say this number. Offer a little more each time; accept a price that you can pay\n\
            once the seller hardly moves; walk away if the seller does not move at all.",
        &json!({ "maximum": "${inputs.buyer_limit}" }),
        "With offer: the price that you offer",
        "With accept: the seller's last price",
        "seller",
    );
    let seller = party(
        "seller",
        "strong",
        "You negotiate the price of ${inputs.thing}. You are the seller and want to get as much as possible.\n\
            The least that you can take is ${inputs.seller_limit}. Never say this number. Ask for a little less each time; accept a price that you can take\n\
            once the buyer hardly moves; walk away if the buyer does not move at all.",
        &json!({ "minimum": "${inputs.seller_limit}" }),
        "With offer: the price that you ask for",
        "With accept: the buyer's last price",
        "buyer",
    );
    let moves = |name: &str| When::path("result.outputs.move").eq(name);
    let with = |field: &str| When::path(format!("result.outputs.{field}")).exists();
    let accepts =
        || Branch::when(When::all([moves("accept"), with("accepted")]), "agreement").label("accepts");
    let offers = |to: &str| Branch::when(When::all([moves("offer"), with("offered")]), to).label("offers");
    let end = |fields: Value| {
        let mut output =
            json!({ "rounds": "${state.rounds}", "offers": "${state.offers}", "spend": "${state.spend}" });
        output.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        NodeBuilder::end_with(output)
    };
    builder
        .start("open")
        .timeout(Duration::from_hours(1))
        .max_steps(40)
        .channel("offers", Reducer::Append)
        .channel("rounds", Reducer::Sum)
        .channel("spend", Reducer::Sum)
        .node("open", NodeBuilder::pass().assign("offers", opening))
        .node("buyer", buyer.assign("rounds", 1))
        .node("seller", seller)
        .node("agreement", end(json!({ "ended_by": "agreement", "price": "${state.offers[-1].price}" })))
        .node(
            "walked_away",
            end(json!({ "ended_by": "walked_away", "who": "${state.offers[-1].party}", "price": null })),
        )
        .node("no_agreement", end(json!({ "ended_by": "rounds", "price": null })))
        .edge("open", "buyer")
        .conditional_edges(
            "buyer",
            [accepts(), offers("seller"), Branch::otherwise("walked_away").label("walks away")],
        )
        .conditional_edges(
            "seller",
            [
                accepts(),
                Branch::when(When::all([moves("offer"), When::path("state.rounds").gte(6)]), "no_agreement")
                    .label("after six rounds"),
                offers("buyer"),
                Branch::otherwise("walked_away").label("walks away"),
            ],
        );
    builder
}

pub(super) fn research() -> GraphBuilder {
    let mut builder = graph(&json!({
        "question": input(
            "string",
            "What the report is about",
            "What does graph-host do so that a run which was killed loses nothing and repeats nothing?",
        ),
        "most": {
            "type": "integer",
            "minimum": 1,
            "maximum": 10,
            "description": "How many questions it is divided into at most",
            "default": 4,
        },
        "spend": {
            "type": "number",
            "minimum": 0,
            "description": "What each question may cost, in the currency of the manifest's prices",
            "default": 0.3,
        },
    }));
    let folders = json!({ "command": "find /src -maxdepth 2 -type d -not -path '*/.*' | sort | head -60" });
    let plan = json!({
        "message": "The question: ${inputs.question}\n\nThe folders of the repository:\n${state.folders}",
        "model": "strong",
        "system": "You plan research in a repository of source code and documentation. Divide the question into questions that can be answered\n\
            independently of each other, by people who read files and know nothing of this conversation. Do not answer them.",
        "outputs": {
            "type": "object",
            "required": ["questions"],
            "properties": {
                "questions": { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": "${inputs.most}" },
            },
        },
        "limits": { "turns": 3 },
    });
    let answer = ActionBuilder::tool("examples/answer-question").param("question", "${question}").param(
        "limits",
        json!({ "turns": 10, "tokens": 300_000, "spend": "${inputs.spend}", "finish": true }),
    );
    let write = json!({
        "message": "The question: ${inputs.question}\n\nWhat was found out about its parts: ${state.answers}",
        "model": "strong",
        "system": "You write a report of at most 400 words from the answers that others have found. Use nothing else. Name what could not be answered.\n\
            Refer to sources in the text by their numbers, such as [1], and list the sources in this order.",
        "outputs": {
            "type": "object",
            "required": ["report", "references"],
            "properties": {
                "report": { "type": "string" },
                "references": { "type": "array", "items": { "type": "string" }, "description": "FILE:LINE, from the answers" },
            },
        },
        "limits": { "turns": 3 },
    });
    builder
        .start("look_around")
        .timeout(Duration::from_hours(2))
        .max_concurrency(3)
        .max_total_steps(5000)
        .node(
            "look_around",
            NodeBuilder::tool("rye/bash/bash", folders).assign("folders", "${result.stdout}"),
        )
        .node(
            "plan",
            NodeBuilder::tool(AGENT, plan)
                .assign("questions", "${result.outputs.questions}")
                .assign("planning", "${result.cost}"),
        )
        .node(
            "answer_each",
            NodeBuilder::foreach("${state.questions}", "question", answer).parallel(true).collect("answers"),
        )
        .node(
            "write",
            NodeBuilder::tool(AGENT, write)
                .assign("written", "${result.outputs}")
                .assign("writing", "${result.cost}"),
        )
        .node(
            "report",
            NodeBuilder::end_with(json!({
                "report": "${state.written.report}",
                "references": "${state.written.references}",
                "answers": "${state.answers}",
                "cost": { "planning": "${state.planning}", "writing": "${state.writing}" },
            })),
        )
        .sequence(["look_around", "plan", "answer_each", "write", "report"]);
    builder
}

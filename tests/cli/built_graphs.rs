//! The graphs of the examples, built by a program, have the same digests as their documents.

use std::path::Path;
use std::time::Duration;

use graph_core::policy::{OnItemError, Reducer};
use graph_walker::builder::{ActionBuilder, Branch, GraphBuilder, NodeBuilder, Retry, When};
use graph_walker::document;
use serde_json::{Value, json};

use super::built_agents::{agents_negotiate, graph_writer, look, model_router, research, writer_and_critic};

/// Makes a graph with the inputs that it describes, all texts or numbers.
pub(super) fn graph(inputs: &Value) -> GraphBuilder {
    let mut builder = GraphBuilder::new("examples/built");
    builder.input_schema(json!({ "type": "object", "additionalProperties": false, "properties": inputs }));
    builder
}

pub(super) fn input(of_type: &str, description: &str, default: impl Into<Value>) -> Value {
    json!({ "type": of_type, "description": description, "default": default.into() })
}

pub(super) fn is(path: &str, value: impl Into<Value>, to: &str) -> Branch {
    Branch::when(When::path(path).eq(value), to)
}

const FOLDER: &str = "The folder, as the components see it";
const ENDING: &str = "What the names of files end in";

fn listing() -> Value {
    json!({ "op": "list", "folder": "${inputs.folder}", "ending": "${inputs.ending}" })
}

fn multi_file_review() -> GraphBuilder {
    let mut builder = graph(&json!({
        "folder": input("string", FOLDER, "/src/host/core/src"),
        "ending": input("string", ENDING, ".rs"),
        "most_width": input("integer", "How many characters a line may have", 100),
    }));
    let review = ActionBuilder::tool("examples/review-source")
        .param("file", "${current_file}")
        .param("most_width", "${inputs.most_width}");
    let rows = json!({
        "rows": "${state.reviews}",
        "keep": { "column": "count", "at_least": 1 },
        "largest_first": "count",
        "limit": 10,
        "columns": ["file", "lines", "count", "errors", "verdict"],
    });
    let report = json!({
        "files": "${state.files | length}",
        "reviewed": "${state.reviews | length}",
        "worst": "${state.worst}",
        "table": "${state.table}",
    });
    let nothing =
        json!({ "files": 0, "table": "${inputs.folder} has no files that end in `${inputs.ending}`" });
    builder
        .start("list_files")
        .max_concurrency(8)
        .node("list_files", NodeBuilder::tool("examples/files", listing()).assign("files", "${result.files}"))
        .node(
            "review_each",
            NodeBuilder::foreach("${state.files}", "current_file", review)
                .parallel(true)
                .on_item_error(OnItemError::Skip)
                .collect("reviews"),
        )
        .node(
            "merge",
            NodeBuilder::tool("examples/rows", rows)
                .assign("worst", "${result.rows[0].file}")
                .assign("table", "${result.text}"),
        )
        .node("report", NodeBuilder::end_with(report))
        .node("nothing_to_review", NodeBuilder::end_with(nothing))
        .conditional_edges(
            "list_files",
            [
                is("result.count", 0, "nothing_to_review").label("none"),
                Branch::otherwise("review_each").label("files"),
            ],
        )
        .sequence(["review_each", "merge", "report"]);
    builder
}

fn map_reduce() -> GraphBuilder {
    let mut builder = graph(&json!({
        "folder": input("string", FOLDER, "/src"),
        "ending": input("string", ENDING, ".md"),
        "at_least": input("integer", "How many letters a word has at least", 6),
        "most": input("integer", "How many words are reported", 10),
    }));
    let count = json!({ "op": "words", "file": "${argument}", "at_least": "${inputs.at_least}" });
    let rows = json!({
        "rows": "${state.words}",
        "group_by": "word",
        "sum": "times",
        "largest_first": "times",
        "limit": "${inputs.most}",
        "columns": ["word", "times", "count"],
    });
    let nothing =
        json!({ "texts": [], "table": "${inputs.folder} has no files that end in `${inputs.ending}`" });
    builder
        .start("plan")
        .channel("words", Reducer::Append)
        .channel("texts", Reducer::Append)
        .node("plan", NodeBuilder::tool("examples/files", listing()).assign("files", "${result.files}"))
        .node(
            "split",
            NodeBuilder::tool("examples/scatter", json!({ "over": "${state.files}", "to": "count_words" }))
                .command_destinations(["count_words"])
                .on_error("nothing_to_count"),
        )
        .node(
            "count_words",
            NodeBuilder::tool("examples/files", count)
                .assign("words", "${result.rows}")
                .assign("texts", json!([{ "file": "${result.file}", "words": "${result.count}" }])),
        )
        .node(
            "reduce",
            NodeBuilder::tool("examples/rows", rows)
                .assign("top", "${result.rows}")
                .assign("table", "${result.text}"),
        )
        .node(
            "report",
            NodeBuilder::end_with(
                json!({ "texts": "${state.texts}", "top": "${state.top}", "table": "${state.table}" }),
            ),
        )
        .node("nothing_to_count", NodeBuilder::end_with(nothing))
        .edge("plan", "split")
        .sequence(["count_words", "reduce", "report"]);
    builder
}

fn review_one() -> GraphBuilder {
    let mut builder = GraphBuilder::new("examples/built");
    let done = |verdict: &str| {
        NodeBuilder::end_with(json!({
            "file": "${inputs.file}",
            "lines": "${state.lines}",
            "count": "${state.count}",
            "verdict": verdict,
        }))
    };
    let question = json!({
        "question": "${inputs.file} has ${state.count} issues. Is it good enough?",
        "choices": ["keep", "rewrite"],
    });
    builder
        .input_schema(json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["file"],
            "properties": { "file": { "type": "string", "description": "The file, as the components see it" } },
        }))
        .start("analyze")
        .node(
            "analyze",
            NodeBuilder::tool("examples/review-source", json!({ "file": "${inputs.file}" }))
                .assign("count", "${result.count}")
                .assign("lines", "${result.lines}"),
        )
        .node(
            "judge",
            NodeBuilder::tool("examples/ask-person", question).assign("verdict", "${result.choice}"),
        )
        .node("done", done("keep"))
        .node("judged", done("${state.verdict}"))
        .conditional_edges(
            "analyze",
            [
                Branch::when(When::path("result.count").gt(5), "judge").label("many"),
                Branch::otherwise("done").label("few"),
            ],
        )
        .edge("judge", "judged");
    builder
}

fn project_stats() -> GraphBuilder {
    let leave_out = json!({
        "type": "array",
        "items": { "type": "string" },
        "description": "Names of folders that are left out",
        "default": [".git", ".ai", "target", "node_modules", ".venv"],
    });
    let mut builder = graph(&json!({
        "folder": input("string", "The folder to look at, as the components see it", "/src"),
        "leave_out": leave_out,
    }));
    let list = json!({ "folder": "${inputs.folder}", "leave_out": "${inputs.leave_out}" });
    let count = ActionBuilder::tool("examples/count-lines")
        .params(json!({ "language": "${group.language}", "files": "${group.files}" }));
    let report = json!({
        "all_files": "${state.files}",
        "files": "${state.summary.files}",
        "lines": "${state.summary.lines}",
        "languages": "${state.summary.languages}",
        "table": "${state.summary.table}",
    });
    builder
        .start("list")
        .node(
            "list",
            NodeBuilder::tool("examples/list-files", list)
                .assign("files", "${result.files}")
                .assign("groups", "${result.groups}"),
        )
        .node(
            "count",
            NodeBuilder::foreach("${state.groups}", "group", count).parallel(true).collect("counts"),
        )
        .node(
            "summarise",
            NodeBuilder::tool("examples/summarise", json!({ "counts": "${state.counts}" }))
                .assign("summary", "${result}"),
        )
        .node("report", NodeBuilder::end_with(report))
        .sequence(["list", "count", "summarise", "report"]);
    builder
}

fn etl() -> GraphBuilder {
    let mut builder = graph(&json!({
        "file": input("string", "The file of records, as the components see it", "/src/Cargo.lock"),
        "of": input("string", "Only crates with this text in their name", ""),
    }));
    let rows = json!({
        "rows": "${state.rows}",
        "keep": { "column": "name", "contains": "${inputs.of}" },
        "group_by": "name",
        "list": "version",
        "groups_of": 2,
        "largest_first": "count",
        "columns": ["name", "count", "version"],
    });
    let report = |repeated: Value, table: &str| json!({ "extracted": "${state.extracted}", "repeated": repeated, "table": table });
    let or_nothing =
        |to: &str| [is("result.count", 0, "empty_report").label("none"), Branch::otherwise(to).label("rows")];
    builder
        .start("extract")
        .node(
            "extract",
            NodeBuilder::tool("examples/read-records", json!({ "file": "${inputs.file}" }))
                .retry(Retry::attempts(3).initial_interval(Duration::from_millis(100)))
                .assign("rows", "${result.rows}")
                .assign("extracted", "${result.count}"),
        )
        .node(
            "transform",
            NodeBuilder::tool("examples/rows", rows)
                .assign("rows", "${result.rows}")
                .assign("table", "${result.text}"),
        )
        .node("report", NodeBuilder::end_with(report(json!("${state.rows | length}"), "${state.table}")))
        .node(
            "empty_report",
            NodeBuilder::end_with(report(
                json!(0),
                "none of the ${state.extracted} records is there more than once",
            )),
        )
        .conditional_edges("extract", or_nothing("transform"))
        .conditional_edges("transform", or_nothing("report"));
    builder
}

fn tool_router() -> GraphBuilder {
    let mut builder = graph(&json!({
        "question": input(
            "string",
            "Parts between semicolons: how many files or lines there are in a folder, or where a text between backquotes is",
            "how many .rs files are there in /src/host/core; how many lines of .rs are there in /src/host; \
             where is `pub struct Walker` in /src/host/walker",
        ),
        "folder": input("string", "The folder to look at where a part names none", "/src"),
    }));
    let route = json!({
        "question": "${inputs.question}",
        "messages": "${state.messages}",
        "folder": "${inputs.folder}",
    });
    let files = |op: &str| {
        ActionBuilder::tool("examples/files")
            .param("op", op)
            .param("folder", "${state.call.folder}")
            .param("ending", "${state.call.ending}")
    };
    let says = |id: &str, role: &str, content: &str| json!([{ "id": id, "role": role, "content": content }]);
    let tool = |name: &str, action: ActionBuilder| {
        NodeBuilder::run(action)
            .assign("messages", says(&format!("tool-${{node.visit}}-{name}"), name, "${result.text}"))
    };
    let tools = ["list_files", "count_lines", "search_text"];
    builder
        .start("router")
        .max_steps(40)
        .channel("messages", Reducer::Messages)
        .node(
            "router",
            NodeBuilder::tool("examples/route", route)
                .assign("messages", json!(["${result.message}"]))
                .assign("call", "${result.arguments}"),
        )
        .node("list_files", tool("list_files", files("list")))
        .node("count_lines", tool("count_lines", files("count")))
        .node(
            "search_text",
            tool("search_text", files("search").param("text", "${state.call.text}"))
                .on_error("tool_failed"),
        )
        .node(
            "tool_failed",
            NodeBuilder::pass().assign(
                "messages",
                says(
                    "failed-${node.visit}",
                    "search_text",
                    "it could not be searched: ${state._last_error.error}",
                ),
            ),
        )
        .node(
            "answer",
            NodeBuilder::end_with(
                json!({ "answer": "${state.messages[-1].content}", "messages": "${state.messages | length}" }),
            ),
        )
        .conditional_edges(
            "router",
            tools
                .map(|tool| is("result.tool", tool, tool))
                .into_iter()
                .chain([Branch::otherwise("answer").label("all is answered")]),
        );
    for tool in tools.into_iter().chain(["tool_failed"]) {
        builder.edge(tool, "router");
    }
    builder
}

fn nested_graphs() -> GraphBuilder {
    let mut builder = graph(&json!({
        "folder": input("string", FOLDER, "/src/guest-sdk/rust/src"),
        "ending": input("string", ENDING, ".rs"),
    }));
    let review = ActionBuilder::tool("examples/review-one").param("file", "${current_file}");
    let rows = json!({
        "rows": "${state.reviews}",
        "keep": { "column": "count", "at_least": 1 },
        "largest_first": "count",
        "columns": ["file", "lines", "count", "verdict"],
    });
    builder
        .start("list_files")
        .node("list_files", NodeBuilder::tool("examples/files", listing()).assign("files", "${result.files}"))
        .node(
            "review_each",
            NodeBuilder::foreach("${state.files}", "current_file", review).parallel(true).collect("reviews"),
        )
        .node("merge", NodeBuilder::tool("examples/rows", rows).assign("table", "${result.text}"))
        .node(
            "report",
            NodeBuilder::end_with(json!({ "files": "${state.files | length}", "table": "${state.table}" })),
        )
        .sequence(["list_files", "review_each", "merge", "report"]);
    builder
}

fn code_review() -> GraphBuilder {
    let width = json!({
        "type": "integer",
        "minimum": 20,
        "description": "How many characters a line may have",
        "default": 100,
    });
    let mut builder = graph(&json!({
        "file": input("string", "The file, as the components see it", "/src/host/core/src/id.rs"),
        "most_width": width,
    }));
    let analyze = json!({ "file": "${inputs.file}", "most_width": "${inputs.most_width}" });
    let fixes = json!({ "issues": "${state.issues}", "most_width": "${inputs.most_width}" });
    let question = json!({
        "question": "${state.changes} changes are proposed. What shall become of them?",
        "about": { "found": "${state.found}", "patch": "${state.patch}", "left_to_you": "${state.left | length}" },
        "choices": ["apply", "approve", "reject"],
    });
    let report = json!({
        "verdict": "${state.choice}",
        "remark": "${state.remark}",
        "found": "${state.found}",
        "changes": "${state.changes}",
        "left": "${state.left | length}",
        "patch": "${state.patch}",
    });
    builder
        .start("analyze")
        .max_steps(20)
        .node(
            "analyze",
            NodeBuilder::tool("examples/review-source", analyze)
                .assign("issues", "${result.issues}")
                .assign("found", "${result.count} issues in ${result.lines} lines of ${result.file}"),
        )
        .node(
            "suggest_fixes",
            NodeBuilder::tool("examples/propose-fixes", fixes)
                .assign("patch", "${result.patch}")
                .assign("changes", "${result.changes}")
                .assign("left", "${result.left}"),
        )
        .node(
            "human_review",
            NodeBuilder::tool("examples/ask-person", question)
                .assign("choice", "${result.choice}")
                .assign("remark", "${result.remark}"),
        )
        .node("report", NodeBuilder::end_with(report))
        .node("approve", NodeBuilder::end_with(json!({ "verdict": "approved", "found": "${state.found}" })))
        .conditional_edges(
            "analyze",
            [
                is("result.verdict", "clean", "approve").label("clean"),
                Branch::otherwise("suggest_fixes").label("issues"),
            ],
        )
        .edge("suggest_fixes", "human_review")
        .conditional_edges(
            "human_review",
            [
                is("result.choice", "approve", "approve").label("good as it is"),
                Branch::otherwise("report").label("apply or reject"),
            ],
        );
    builder
}

fn negotiation() -> GraphBuilder {
    let mut builder = graph(&json!({
        "folder":
            input("string", "The folder whose lines are measured, as the components see it", "/src/host/core/src"),
        "ending": input("string", ENDING, ".rs"),
        "reviewer_limit": input("integer", "The longest line that the reviewer could live with", 110),
    }));
    let survey = json!({ "op": "widths", "folder": "${inputs.folder}", "ending": "${inputs.ending}" });
    let party = |name: &str, opening: Value, limit: &str, step: u32| {
        let params = json!({
            "party": name,
            "opening": opening,
            "limit": limit,
            "step": step,
            "offers": "${state.offers}",
        });
        NodeBuilder::tool("examples/negotiate", params)
            .assign("offers", json!(["${result.offer}"]))
            .assign("transcript", json!(["${result.text}"]))
    };
    let turns = |other: &str| {
        [
            is("result.does", "accepts", "agreement"),
            is("result.does", "gives_up", "deadlock"),
            Branch::otherwise(other).label("offers"),
        ]
    };
    builder
        .start("survey")
        .max_steps(60)
        .channel("offers", Reducer::Append)
        .channel("transcript", Reducer::Append)
        .node(
            "survey",
            NodeBuilder::tool("examples/files", survey)
                .assign("nearly_all_fit", "${result.fits_99_percent}")
                .assign("most_fit", "${result.fits_90_percent}")
                .assign("transcript", json!(["${result.text}"])),
        )
        .node("author", party("author", json!("${state.nearly_all_fit}"), "${state.most_fit}", 3))
        .node("reviewer", party("reviewer", json!(80), "${inputs.reviewer_limit}", 5))
        .node(
            "agreement",
            NodeBuilder::end_with(json!({
                "agreed": true,
                "characters": "${state.offers[-1].value}",
                "offers": "${state.offers | length}",
                "transcript": "${state.transcript}",
            })),
        )
        .node(
            "deadlock",
            NodeBuilder::end_with(json!({
                "agreed": false,
                "offers": "${state.offers | length}",
                "transcript": "${state.transcript}",
            })),
        )
        .edge("survey", "author")
        .conditional_edges("author", turns("reviewer"))
        .conditional_edges("reviewer", turns("author"));
    builder
}

fn selective_feedback() -> GraphBuilder {
    let mut builder = graph(&json!({
        "root": input("string", "The repository, as the components see it", "/src"),
        "most_words": input("integer", "How many words a description may have", 24),
    }));
    let writers = [
        ("core", "host/core"),
        ("engine", "host/engine"),
        ("store", "host/store"),
        ("sdk", "guest-sdk/rust"),
    ];
    let names = writers.map(|(name, _)| format!("describe_{name}"));
    for ((_, folder), name) in writers.iter().zip(&names) {
        let params = json!({
            "file": format!("${{inputs.root}}/{folder}/src/lib.rs"),
            "previous": "${node.previous}",
            "feedback": format!("${{state.feedback.{name}}}"),
        });
        let mut draft = serde_json::Map::new();
        draft.insert(name.clone(), json!("${result}"));
        builder
            .start(name)
            .node(
                name,
                NodeBuilder::tool("examples/describe-source", params).feedback().assign("drafts", draft),
            )
            .edge(name, "critic");
    }
    let critique =
        json!({ "drafts": "${state.drafts}", "most_words": "${inputs.most_words}", "then": "publish" });
    let published: serde_json::Map<String, Value> = writers
        .iter()
        .map(|(name, _)| ((*name).to_owned(), json!(format!("${{state.drafts.describe_{name}.text}}"))))
        .chain([("sent_back".to_owned(), json!("${state.rounds}"))])
        .collect();
    builder
        .max_steps(40)
        .max_visits_per_node(10)
        .channel("drafts", Reducer::Merge)
        .channel("rounds", Reducer::Append)
        .node(
            "critic",
            NodeBuilder::tool("examples/critique", critique)
                .command_destinations(names.iter().cloned().chain(["publish".to_owned()]))
                .command_writes(["feedback", "rounds"]),
        )
        .node("publish", NodeBuilder::end_with(published));
    builder
}

fn approval() -> GraphBuilder {
    let mut builder = graph(
        &json!({ "notes": input("string", "The file of notes, as the component sees it", "/notes/release.md") }),
    );
    builder
        .start("draft")
        .max_steps(50)
        .channel("history", Reducer::Append)
        .node(
            "draft",
            NodeBuilder::tool("examples/draft", json!({ "notes": "${inputs.notes}" }))
                .retry(Retry::attempts(2).initial_interval(Duration::from_millis(100)))
                .assign("text", "${result.text}"),
        )
        .node(
            "ask",
            NodeBuilder::tool("examples/ask", json!({ "text": "${state.text}" }))
                .assign("wish", "${result.wish}")
                .assign("history", json!([{ "text": "${state.text}", "accepted": "${result.accepted}" }])),
        )
        .node(
            "revise",
            NodeBuilder::tool("examples/revise", json!({ "text": "${state.text}", "wish": "${state.wish}" }))
                .assign("text", "${result.text}"),
        )
        .node(
            "publish",
            NodeBuilder::end_with(json!({ "text": "${state.text}", "rounds": "${state.history | length}" })),
        )
        .edge("draft", "ask")
        .conditional_edges(
            "ask",
            [
                is("result.accepted", true, "publish").label("accepted"),
                Branch::otherwise("revise").label("asked for changes"),
            ],
        )
        .edge("revise", "ask");
    builder
}

fn agent() -> GraphBuilder {
    let mut builder = graph(&json!({
        "question": input(
            "string",
            "What is to be found out",
            "How many .rs files are there in /src/host/core, and how many lines do they have?",
        ),
        "approve": {
            "enum": ["allow", "ask", "deny"],
            "description": "Whether the model may look at files: without a question, after one, or not at all",
            "default": "allow",
        },
        "turns": {
            "type": "integer",
            "minimum": 1,
            "maximum": 400,
            "description": "How often the model may be asked",
            "default": 12,
        },
    }));
    let settings = json!({
        "message": "${inputs.question}",
        "model": "fast",
        "system": "You answer questions about the files of a repository, which are below /src. Use the tool; do not guess.",
        "tools": [look()],
        "approvals": [{ "tool": "look", "then": "${inputs.approve}" }],
        "outputs": {
            "answer": { "type": "string", "required": true, "description": "The answer, in one or two sentences" },
            "numbers": { "type": "array", "description": "The numbers in it, in order" },
        },
        "limits": { "turns": "${inputs.turns}", "finish": true },
        "context": { "window": 32000, "keep": 8000 },
    });
    let answer = json!({
        "answer": "${state.given.outputs.answer}",
        "numbers": "${state.given.outputs.numbers}",
        "cost": "${state.given.cost}",
    });
    builder
        .start("ask")
        .timeout(Duration::from_hours(1))
        .node("ask", NodeBuilder::tool("rye/agent/agent", settings).assign("given", "${result}"))
        .node("answer", NodeBuilder::end_with(answer))
        .edge("ask", "answer");
    builder
}

#[test]
fn the_examples_built_by_a_program_have_the_digests_of_their_documents() {
    let built = [
        ("agent/graph.yaml", agent()),
        ("agents-negotiate/graph.yaml", agents_negotiate()),
        ("approval/graph.yaml", approval()),
        ("code-review/graph.yaml", code_review()),
        ("etl/graph.yaml", etl()),
        ("graph-writer/graph.yaml", graph_writer()),
        ("map-reduce/graph.yaml", map_reduce()),
        ("model-router/graph.yaml", model_router()),
        ("multi-file-review/graph.yaml", multi_file_review()),
        ("negotiation/graph.yaml", negotiation()),
        ("nested-graphs/graph.yaml", nested_graphs()),
        ("project-stats/graph.yaml", project_stats()),
        ("research/graph.yaml", research()),
        ("selective-feedback/graph.yaml", selective_feedback()),
        ("tool-router/graph.yaml", tool_router()),
        ("writer-and-critic/graph.yaml", writer_and_critic()),
        (".ai/tools/examples/review-one.yaml", review_one()),
    ];
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let folders = std::fs::read_dir(&examples).unwrap().filter_map(|entry| {
        let graph = entry.unwrap().path().join("graph.yaml");
        graph.is_file().then(|| graph.strip_prefix(&examples).unwrap().to_string_lossy().into_owned())
    });
    let missing: Vec<String> =
        folders.filter(|graph| !built.iter().any(|(name, _)| *name == graph.as_str())).collect();
    assert!(missing.is_empty(), "not built by a program: {missing:?}");
    for (name, builder) in built {
        let text = std::fs::read_to_string(examples.join(name)).unwrap();
        let written = document::load(name, &text, "examples/built").unwrap().graph;
        let built = builder.compile().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(built.graph.document["config"], written.document["config"], "{name}");
        assert_eq!(built.graph.document["config_schema"], written.document["config_schema"], "{name}");
        assert_eq!(built.graph.digest, written.digest, "{name}");
        assert_eq!(built.topology().edges.len(), graph_walker::topology::Topology::of(&written).edges.len());
    }
}

//! Operations that every SDK offers, one at a time.

use graph_sdk::host::{Level, emit, log, now, random_bytes, sleep};
use graph_sdk::prelude::*;
use graph_sdk::{Outcome, files, http, knowledge, secrets, tools};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    op: String,
    #[serde(default)]
    value: Value,
}

fn run(params: Params, context: &Context) -> Result<Outcome, Failure> {
    let Params { op, value } = params;
    let text = || value.as_str().unwrap_or_default();
    let result = match op.as_str() {
        "echo" => value,
        "activation" => {
            let of = context.activation();
            json!([of.graph_id, of.node_id, of.superstep, of.attempt, of.visit, !of.idempotency_key.is_empty()])
        }
        "argument" => context.argument::<Value>()?.unwrap_or_default(),
        "ask" => {
            let first: String = context.ask(json!({ "question": "Which one?" }))?;
            let second: Value = context.ask(json!({ "question": format!("Why {first}?") }))?;
            json!({ "first": first, "second": second })
        }
        "command" => {
            return Ok(Command::new().write("written", value).goto("after").send("sent", json!({ "n": 1 })).into());
        }
        "log" => {
            log(Level::Info, format!("value {}", text()));
            emit("seen", json!({ "value": value }))?;
            Value::Null
        }
        "clock" => {
            let before = now();
            sleep(std::time::Duration::from_millis(1500));
            let passed = u64::try_from((now() - before).as_millis()).unwrap_or(u64::MAX);
            json!([passed, before.as_secs() > 1_767_225_600, passed])
        }
        "random" => json!(random_bytes(value.as_u64().unwrap_or_default())),
        "files" => {
            files::write("/data/note.txt", text().as_bytes())?;
            let (_, size) = files::stat("/data/note.txt")?;
            let names: Vec<_> = files::list("/data")?
                .into_iter()
                .map(|entry| json!({ "name": entry.name, "kind": "file" }))
                .collect();
            json!([files::read_to_string("/data/note.txt")?, { "kind": "file", "size": size }, names])
        }
        "knowledge" => {
            knowledge::put("notes/one", text())?;
            let hits = knowledge::search("notes/", text(), 100)?;
            json!([
                knowledge::get("notes/one")?,
                knowledge::get("notes/two")?,
                knowledge::list("notes/", None, 1000)?,
                hits.into_iter().map(|hit| hit.key).collect::<Vec<_>>(),
            ])
        }
        "request" => {
            let response = http::request(text())
                .method("POST")
                .field("authorization", format!("Bearer {}", secrets::handle("TOKEN")?))
                .field("x-note", "ä")
                .body("ü".repeat(5000))
                .send()?;
            let field = |name| response.field(name).map(String::from_utf8_lossy);
            json!([response.status, field("x-seen"), field("x-none"), response.clone().text()?])
        }
        "get" => {
            let response = http::get(text())?;
            json!([response.status, response.text()?])
        }
        "secrets" => json!([secrets::names(), secrets::handle(text())?]),
        "tool" => tools::call("me/node", json!({ "op": "echo", "value": value }))?,
        "fail" => {
            let message = format!("a failure of category {}", text());
            let failure = match text() {
                "transient" => Failure::transient(message),
                "rate-limited" => Failure::rate_limited(message),
                "timeout" => Failure::timeout(message),
                "permanent" => Failure::permanent(message),
                "invalid-input" => Failure::invalid_input(message),
                "denied" => Failure::denied(message),
                "limit" => Failure::limit(message),
                _ => Failure::internal(message),
            };
            return Err(failure.with_details(json!({ "value": value })));
        }
        "missing" => json!(files::read_to_string("/data/missing.txt")?),
        "outside" => json!(files::read_to_string("/elsewhere/x.txt")?),
        "forbidden" => tools::call("me/other", json!({}))?,
        _ => return Err(Failure::invalid_input(format!("unknown operation {op}"))),
    };
    Ok(Outcome::Result(result))
}

graph_sdk::node! {
    summary: "Performs one operation of an SDK.",
    wants: [
        "wasi:clocks/wall-clock": "reads the time",
        "wasi:random/random": "draws numbers",
        "wasi:filesystem/types": "reads and writes notes",
        "wasi:http/outgoing-handler": "asks a server",
        "graph-host:host/secrets": "says who asks",
        "graph-host:host/knowledge": "keeps notes",
        "graph-host:host/tools": "calls itself",
    ],
    run
}

//! A node that reaches beyond the machine and the run: requests, secrets, knowledge, other items.

use graph_sdk::prelude::*;
use graph_sdk::{http, knowledge, secrets, tools};

/// The most redirects that `fetch` follows.
const MAX_HOPS: u32 = 5;

/// What to do.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
enum Params {
    /// Sends a request. Answers with the status, the fields and the body of the response.
    Fetch {
        /// Where to.
        url: String,
        /// How; `GET` without it.
        #[serde(default)]
        method: Option<String>,
        /// Fields, by name.
        #[serde(default)]
        fields: std::collections::BTreeMap<String, String>,
        /// The body.
        #[serde(default)]
        body: String,
        /// How often to send it, one after the other; once without it.
        #[serde(default)]
        times: Option<u32>,
        /// Whether to go where a redirect leads.
        #[serde(default)]
        follow: bool,
        /// Whether to hand the request over before its body is written.
        #[serde(default)]
        streamed: bool,
    },
    /// Sends a request with a secret in a field.
    Secret {
        /// Where to.
        url: String,
        /// The secret's name.
        name: String,
        /// The field; `authorization` without it.
        #[serde(default)]
        field: Option<String>,
    },
    /// Answers with the text of a key.
    KnowledgeGet {
        /// The key.
        key: String,
    },
    /// Writes the text of a key.
    KnowledgePut {
        /// The key.
        key: String,
        /// The text.
        text: String,
    },
    /// Answers with what a search finds: `{key, excerpt}` each.
    KnowledgeSearch {
        /// What keys begin with.
        prefix: String,
        /// Words.
        query: String,
    },
    /// Answers with keys.
    KnowledgeList {
        /// What they begin with.
        prefix: String,
        /// The key before the first one.
        #[serde(default)]
        after: Option<String>,
        /// How many at most.
        limit: u32,
    },
    /// Calls another item and answers with its result.
    Call {
        /// The item.
        item: String,
        /// What it is given.
        params: Value,
        /// How often to call it, one after the other; once without it.
        #[serde(default)]
        times: Option<u32>,
    },
}

graph_sdk::node! {
    summary: "Sends requests, uses secrets and knowledge, and calls other items.",
    wants: [
        "wasi:http/outgoing-handler": "sends what `fetch` and `secret` ask for",
        "graph-host:host/secrets": "puts the secret of `secret` into a request",
        "graph-host:host/knowledge": "reads and writes for the `knowledge-` operations",
        "graph-host:host/tools": "calls other items for `call`",
    ],
    run
}

fn run(params: Params, _ctx: &Context) -> Result<Value, Failure> {
    Ok(match params {
        Params::Fetch { url, method, fields, body, times, follow, streamed } => {
            let mut request = http::request(url).method(method.unwrap_or_else(|| "GET".to_owned())).body(body);
            for (name, value) in fields {
                request = request.field(name, value);
            }
            if streamed {
                request = request.streamed();
            }
            let mut answer = Value::Null;
            for _ in 0..times.unwrap_or(1) {
                let mut response = request.clone().send()?;
                for _ in 0..MAX_HOPS {
                    match response.field("location").filter(|_| follow) {
                        Some(place) => {
                            let place = String::from_utf8_lossy(place).into_owned();
                            response = http::get(place)?;
                        }
                        None => break,
                    }
                }
                answer = told(response);
            }
            answer
        }
        Params::Secret { url, name, field } => {
            let value = format!("Bearer {}", secrets::handle(&name)?);
            let field = field.unwrap_or_else(|| "authorization".to_owned());
            told(http::request(url).field(field, value).send()?)
        }
        Params::KnowledgeGet { key } => json!(knowledge::get(&key)?),
        Params::KnowledgePut { key, text } => {
            knowledge::put(&key, &text)?;
            json!(text.len())
        }
        Params::KnowledgeSearch { prefix, query } => knowledge::search(&prefix, &query, 10)?
            .into_iter()
            .map(|hit| json!({"key": hit.key, "excerpt": hit.excerpt}))
            .collect(),
        Params::KnowledgeList { prefix, after, limit } => {
            json!(knowledge::list(&prefix, after.as_deref(), limit)?)
        }
        Params::Call { item, params, times } => {
            let mut answer = Value::Null;
            for _ in 0..times.unwrap_or(1) {
                answer = tools::call(&item, params.clone())?;
            }
            answer
        }
    })
}

fn told(response: http::Response) -> Value {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let fields: Map<String, Value> =
        response.fields.iter().map(|(name, value)| (name.clone(), text(value).into())).collect();
    json!({"status": response.status, "fields": fields, "body": text(&response.body)})
}

//! Sends back the drafts that are too long, each to the node that wrote it and to no other.

use std::collections::BTreeMap;

use graph_sdk::prelude::*;

/// The drafts.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The drafts, by the name of the node that wrote them.
    drafts: BTreeMap<String, Draft>,
    /// How many words a draft may have.
    most_words: u64,
    /// Where to go when every draft is good.
    then: String,
}

/// A draft.
#[derive(Deserialize, JsonSchema)]
struct Draft {
    /// How many words it has.
    words: u64,
    /// How many sentences it has: one cannot be made shorter.
    sentences: u64,
}

graph_sdk::node! {
    summary: "Sends drafts that are too long back to the nodes that wrote them: writes `feedback` and `rounds`.",
    run
}

fn run(params: Params, _ctx: &Context) -> Result<Command, Failure> {
    let Params { drafts, most_words, then } = params;
    let mut feedback = Map::new();
    for (node, draft) in &drafts {
        if draft.words > most_words && draft.sentences > 1 {
            feedback.insert(node.clone(), json!(format!("{} words too many", draft.words - most_words)));
        }
    }
    let back: Vec<String> = feedback.keys().cloned().collect();
    let command = Command::new().write("feedback", feedback).write("rounds", json!([back]));
    if back.is_empty() {
        return Ok(command.goto(then));
    }
    Ok(back.into_iter().fold(command, Command::goto))
}

//! Revises a text as a person wishes.

use graph_sdk::prelude::*;

/// The text and the wish.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The text as it is.
    text: String,
    /// `shorter`, `louder`, or `replace X with Y`.
    wish: Option<String>,
}

/// The revised text.
#[derive(Serialize, JsonSchema)]
struct Revision {
    /// The text.
    text: String,
    /// What was done.
    done: String,
}

graph_sdk::node! { summary: "Revises a text: shorter, louder, or one phrase for another.", run }

fn run(params: Params, _ctx: &Context) -> Result<Revision, Failure> {
    let Params { text, wish } = params;
    let wish = wish.unwrap_or_default();
    let wish = wish.trim();
    if wish == "shorter" {
        let cut = text.trim_end_matches('.').rfind(". ").map_or(text.len(), |at| at + 1);
        return Ok(Revision { text: text[..cut].to_owned(), done: "the last sentence is gone".to_owned() });
    }
    if wish == "louder" {
        return Ok(Revision { text: text.replace('.', "!"), done: "every sentence is louder".to_owned() });
    }
    if let Some((old, new)) = wish.strip_prefix("replace ").and_then(|rest| rest.split_once(" with ")) {
        let times = text.matches(old).count();
        return Ok(Revision { text: text.replace(old, new), done: format!("`{old}` was replaced {times} times") });
    }
    Ok(Revision { text, done: format!("`{wish}` is not something that can be done here") })
}

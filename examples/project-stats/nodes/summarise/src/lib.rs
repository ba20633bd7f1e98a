//! Makes a table of counts.

use graph_sdk::prelude::*;

/// The counts.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// One for each language.
    counts: Vec<Count>,
}

/// The count of one language.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Count {
    /// The language.
    language: String,
    /// Files.
    files: u64,
    /// Lines.
    lines: u64,
    /// Bytes.
    bytes: u64,
}

/// The table.
#[derive(Serialize, JsonSchema)]
struct Summary {
    /// The languages, that with the most lines first.
    languages: Vec<Count>,
    /// Lines of all languages.
    lines: u64,
    /// Files of all languages.
    files: u64,
    /// The table as text.
    table: String,
}

graph_sdk::node! { summary: "Makes a table of counts, the largest first.", run }

fn run(params: Params, _ctx: &Context) -> Result<Summary, Failure> {
    let mut languages = params.counts;
    languages.sort_by(|a, b| b.lines.cmp(&a.lines).then_with(|| a.language.cmp(&b.language)));
    let lines = languages.iter().map(|count| count.lines).sum();
    let files = languages.iter().map(|count| count.files).sum();
    let mut table = format!("{:<18}{:>7}{:>10}\n", "language", "files", "lines");
    for count in &languages {
        table.push_str(&format!("{:<18}{:>7}{:>10}\n", count.language, count.files, count.lines));
    }
    table.push_str(&format!("{:<18}{files:>7}{lines:>10}\n", "total"));
    Ok(Summary { languages, lines, files, table })
}

//! Proposes what to write instead of lines that a review has found fault with.

use graph_sdk::prelude::*;

/// What the review found.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The issues.
    issues: Vec<Issue>,
    /// How many characters a line may have.
    #[serde(default = "most_width")]
    most_width: usize,
}

fn most_width() -> usize {
    100
}

/// An issue.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
struct Issue {
    /// The file.
    file: String,
    /// The line, from 1.
    line: u64,
    /// The rule that it breaks.
    rule: String,
    /// The line as it is.
    text: String,
}

/// What is proposed.
#[derive(Serialize, JsonSchema)]
struct Proposal {
    /// The changes as text: each place, the line as it is, and what to write instead.
    patch: String,
    /// How many lines would change.
    changes: u64,
    /// What a person has to put right.
    left: Vec<Issue>,
}

graph_sdk::node! { summary: "Proposes changes for what a review has found.", run }

fn run(params: Params, _ctx: &Context) -> Result<Proposal, Failure> {
    let mut proposal = Proposal { patch: String::new(), changes: 0, left: Vec::new() };
    for issue in params.issues {
        let instead = match issue.rule.as_str() {
            "trailing-space" => Some(vec![issue.text.trim_end().to_owned()]),
            "long-line" => wrapped(&issue.text, params.most_width),
            "unwrap" => Some(vec![issue.text.replace(".unwrap()", "?")]),
            _ => None,
        };
        let Some(instead) = instead else {
            proposal.left.push(issue);
            continue;
        };
        proposal.changes += 1;
        proposal.patch.push_str(&format!("@@ {}:{} {}\n-{}\n", issue.file, issue.line, issue.rule, issue.text));
        for line in instead {
            proposal.patch.push_str(&format!("+{line}\n"));
        }
    }
    Ok(proposal)
}

/// A comment on as many lines as it takes. Code is for a person to break.
fn wrapped(line: &str, most: usize) -> Option<Vec<String>> {
    let indent = &line[..line.len() - line.trim_start().len()];
    let mark = ["//! ", "/// ", "// ", "# "].into_iter().find(|mark| line.trim_start().starts_with(mark))?;
    let mut lines = vec![format!("{indent}{}", mark.trim_end())];
    for word in line.trim_start()[mark.len()..].split_whitespace() {
        let last = lines.last_mut()?;
        if last.chars().count() + 1 + word.chars().count() > most && last.trim() != mark.trim() {
            lines.push(format!("{indent}{mark}{word}"));
        } else {
            last.push(' ');
            last.push_str(word);
        }
    }
    (lines.len() > 1).then_some(lines)
}

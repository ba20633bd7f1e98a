//! Reviews a source file by rules that need no judgement.

use graph_sdk::files;
use graph_sdk::prelude::*;

/// The file and the rules.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The file.
    file: String,
    /// How many characters a line may have.
    #[serde(default = "most_width")]
    most_width: u64,
    /// How many lines the file may have.
    #[serde(default = "most_lines")]
    most_lines: u64,
}

fn most_width() -> u64 {
    100
}

fn most_lines() -> u64 {
    400
}

/// What is wrong with a line, or with the file.
#[derive(Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Rule {
    /// A line is too long.
    LongLine,
    /// A line ends in white space.
    TrailingSpace,
    /// A `.unwrap()` outside tests.
    Unwrap,
    /// A TODO or FIXME.
    Todo,
    /// The file has too many lines.
    LongFile,
}

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Severity {
    /// It should be looked at.
    Note,
    /// It should be put right.
    Warning,
    /// It must be put right.
    Error,
}

/// Something that is not as it should be.
#[derive(Serialize, JsonSchema)]
struct Issue {
    /// The file.
    file: String,
    /// The line, from 1.
    line: u64,
    /// The rule.
    rule: Rule,
    /// How bad it is.
    severity: Severity,
    /// The line as it is.
    text: String,
}

/// What the review came to.
#[derive(Serialize, JsonSchema)]
struct Review {
    /// The file.
    file: String,
    /// How many lines it has.
    lines: u64,
    /// What is wrong, by line.
    issues: Vec<Issue>,
    /// How many issues there are.
    count: u64,
    /// How many of them are errors.
    errors: u64,
    /// `clean`, `issues` or `errors`.
    verdict: &'static str,
}

graph_sdk::node! {
    summary: "Reviews a source file: long lines, trailing space, unwraps outside tests, TODOs, length.",
    wants: [
        "wasi:filesystem/types": "reads the file that it reviews",
        "wasi:filesystem/preopens": "finds the folders that it was granted",
        "wasi:io/streams": "reads the file as a stream",
    ],
    run
}

fn run(params: Params, _ctx: &Context) -> Result<Review, Failure> {
    let Params { file, most_width, most_lines } = params;
    let text = files::read_to_string(&file)?;
    let mut issues = Vec::new();
    let mut report = |line: u64, rule, severity, text: &str| {
        issues.push(Issue { file: file.clone(), line, rule, severity, text: text.to_owned() });
    };
    let (mut lines, mut in_tests) = (0, false);
    for line in text.lines() {
        lines += 1;
        in_tests |= line.trim() == "#[cfg(test)]";
        if line.chars().count() as u64 > most_width {
            report(lines, Rule::LongLine, Severity::Warning, line);
        }
        if line.ends_with([' ', '\t']) {
            report(lines, Rule::TrailingSpace, Severity::Warning, line);
        }
        if file.ends_with(".rs") && !in_tests && line.contains(".unwrap()") {
            report(lines, Rule::Unwrap, Severity::Error, line);
        }
        if line.contains("TODO") || line.contains("FIXME") {
            report(lines, Rule::Todo, Severity::Note, line);
        }
    }
    if lines > most_lines {
        report(lines, Rule::LongFile, Severity::Warning, "");
    }
    let errors = issues.iter().filter(|issue| issue.severity == Severity::Error).count() as u64;
    let verdict = match (issues.is_empty(), errors) {
        (true, _) => "clean",
        (false, 0) => "issues",
        (false, _) => "errors",
    };
    Ok(Review { file, lines, count: issues.len() as u64, issues, errors, verdict })
}

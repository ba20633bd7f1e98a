//! Reads a file of records.

use graph_sdk::files;
use graph_sdk::prelude::*;

/// The file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The file.
    file: String,
    /// How it is written; by its name if this is left out.
    format: Option<Format>,
    /// The names of the columns, for a table whose first line does not say them.
    #[serde(default)]
    columns: Vec<String>,
}

/// How records are written.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Format {
    /// Comma-separated values (RFC 4180).
    Csv,
    /// Values separated by tabs.
    Tsv,
    /// A JSON object on each line.
    JsonLines,
    /// The packages of a Cargo.lock.
    CargoLock,
}

/// The records.
#[derive(Serialize, JsonSchema)]
struct Records {
    /// One object for each record.
    rows: Vec<Map<String, Value>>,
    /// How many there are.
    count: u64,
}

graph_sdk::node! {
    summary: "Reads a file of records: CSV, TSV, JSON lines, or a Cargo.lock.",
    wants: [
        "wasi:filesystem/types": "reads the file",
        "wasi:filesystem/preopens": "finds the folders that it was granted",
        "wasi:io/streams": "reads the file as a stream",
    ],
    run
}

fn run(params: Params, _ctx: &Context) -> Result<Records, Failure> {
    let Params { file, format, columns } = params;
    let text = files::read_to_string(&file)?;
    let ending = file.rsplit(['.', '/']).next().unwrap_or_default();
    let format = match (format, ending) {
        (Some(format), _) => format,
        (None, "csv") => Format::Csv,
        (None, "tsv") => Format::Tsv,
        (None, "jsonl" | "ndjson") => Format::JsonLines,
        (None, "lock") => Format::CargoLock,
        (None, _) => return Err(Failure::invalid_input(format_args!("{file}: say its `format`"))),
    };
    let rows = match format {
        Format::Csv => table(split_csv(&text)?, columns)?,
        Format::Tsv => {
            table(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect(), columns)?
        }
        Format::JsonLines => json_lines(&file, &text)?,
        Format::CargoLock => cargo_lock(&text),
    };
    Ok(Records { count: rows.len() as u64, rows })
}

/// Rows of fields as objects.
fn table(lines: Vec<Vec<String>>, mut columns: Vec<String>) -> Result<Vec<Map<String, Value>>, Failure> {
    let mut lines = lines.into_iter();
    if columns.is_empty() {
        columns = lines.next().unwrap_or_default();
    }
    (1..)
        .zip(lines)
        .map(|(number, fields): (u64, _)| {
            if fields.len() != columns.len() {
                let (found, wanted) = (fields.len(), columns.len());
                return Err(Failure::invalid_input(format_args!("record {number} has {found} fields, not {wanted}")));
            }
            Ok(columns.iter().cloned().zip(fields.into_iter().map(number_or_text)).collect())
        })
        .collect()
}

/// A field that is a number in JSON is one.
fn number_or_text(field: String) -> Value {
    match graph_sdk::serde_json::from_str(&field) {
        Ok(Value::Number(number)) => Value::Number(number),
        _ => Value::String(field),
    }
}

fn split_csv(text: &str) -> Result<Vec<Vec<String>>, Failure> {
    let (mut lines, mut fields, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            '\r' if !quoted && letters.peek() == Some(&'\n') => {}
            '\n' if !quoted => {
                fields.push(std::mem::take(&mut field));
                lines.push(std::mem::take(&mut fields));
            }
            letter => field.push(letter),
        }
    }
    if quoted {
        return Err(Failure::invalid_input("a quoted field does not end"));
    }
    if !field.is_empty() || !fields.is_empty() {
        fields.push(field);
        lines.push(fields);
    }
    Ok(lines)
}

fn json_lines(file: &str, text: &str) -> Result<Vec<Map<String, Value>>, Failure> {
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line): (u64, _)| {
            graph_sdk::serde_json::from_str(line)
                .map_err(|error| Failure::invalid_input(format_args!("{file}:{number}: {error}")))
        })
        .collect()
}

/// The keys with plain text of every `[[package]]`; lists are left out.
fn cargo_lock(text: &str) -> Vec<Map<String, Value>> {
    let mut rows: Vec<Map<String, Value>> = Vec::new();
    for line in text.lines() {
        if line == "[[package]]" {
            rows.push(Map::new());
        } else if let (Some(row), Some((key, value))) = (rows.last_mut(), line.split_once(" = "))
            && let Some(value) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))
        {
            row.insert(key.to_owned(), Value::from(value));
        }
    }
    rows
}

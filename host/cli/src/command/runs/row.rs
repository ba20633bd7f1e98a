//! The row of a run, for people and as JSON.

use graph_core::diagnostic::one_line;
use graph_core::json::{self, ReadJsonError, TreeLimit};
use graph_core::limits::{ModelUse, written_cost};
use graph_core::record::Status;
use graph_host::terminal::run_report::short_number;
use graph_runtime::graph_store::{CheckpointStore, Holder, RunRow};
use serde_json::{Map, Value, json};

use super::relations::is_created;

/// Returns the status, with a note if no process holds a running run.
pub(super) fn shown_status(store: &dyn CheckpointStore, row: &RunRow) -> String {
    if is_created(store, row) {
        return "created".to_owned();
    }
    let status = row.status.as_str().replace('_', " ");
    let cut_short = row.status == Status::Running && store.holder(&row.run_id) == Ok(Holder::Nobody);
    if cut_short { format!("{status} (cut short)") } else { status }
}

/// Returns the row for JSON documents.
pub(super) fn row_json(row: &RunRow) -> Map<String, Value> {
    let mut value = bare_json(row.clone());
    value.insert("result".to_owned(), text_json(row.result.as_deref()));
    value.insert("error".to_owned(), text_json(row.error.as_deref()));
    value
}

/// Converts a text of a row to a JSON value. In the row of an imported run it may be anything: JSON that is too large is replaced by a
/// note, and a long text that is not JSON is cut, so that the rest of the row can be shown.
pub(super) fn text_json(text: Option<&str>) -> Value {
    /// Limit of a text that is not JSON, in bytes.
    const MOST: usize = 1 << 20;
    let Some(text) = text else { return Value::Null };
    match json::read(text, TreeLimit::VALUE) {
        Ok(value) => value,
        Err(ReadJsonError::TooLarge(error)) => json!(format!("(not shown: {error})")),
        Err(ReadJsonError::Malformed(_)) if text.len() > MOST => {
            let end = (0..=MOST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
            json!(format!("{}…", &text[..end]))
        }
        Err(ReadJsonError::Malformed(_)) => json!(text),
    }
}

/// Returns the row without the result, which may be large, and the error.
pub(super) fn bare_json(row: RunRow) -> Map<String, Value> {
    let bare = RunRow { result: None, error: None, ..row };
    let Ok(Value::Object(mut fields)) = serde_json::to_value(&bare) else { return Map::new() };
    fields.remove("model_use");
    fields.insert("model".to_owned(), json!(bare.model));
    fields.extend(model_columns(bare.model_use));
    fields.insert("created_at".to_owned(), json!(bare.created_at.to_string()));
    fields.insert("updated_at".to_owned(), json!(bare.updated_at.to_string()));
    fields
}

/// Returns the columns of the use of language models. `spend` is in the manifest's currency.
pub(super) fn model_columns(used: ModelUse) -> [(String, Value); 4] {
    let ModelUse { calls, input, output, cost } = used;
    // Converted through text, which rounds once: 20000 millionths are 0.02.
    let spend: f64 = written_cost(cost).parse().unwrap_or_default();
    [
        ("turns".to_owned(), json!(calls)),
        ("input_tokens".to_owned(), json!(input)),
        ("output_tokens".to_owned(), json!(output)),
        ("spend".to_owned(), json!(spend)),
    ]
}

/// Returns the cells of these columns and of the last model, for people; empty if no model was asked.
pub(super) fn model_cells(used: ModelUse, model: Option<&str>) -> [String; 5] {
    if used.is_nothing() && model.is_none() {
        return Default::default();
    }
    let ModelUse { calls, input, output, cost } = used;
    let spend = if cost == 0 { String::new() } else { written_cost(cost) };
    let model = model.map(|model| one_line(model, 64)).unwrap_or_default();
    [calls.to_string(), short_number(input), short_number(output), spend, model]
}

//! A run's row, for people and as JSON.

use std::sync::Arc;

use graph_core::record::Status;
use graph_core::time::Timestamp;
use graph_runtime::graph_store::{CheckpointStore, Holder, RunRow};
use serde_json::{Map, Value, json};

use super::relations::is_created;

/// The status, and that no process holds a run whose status is `running`.
pub(super) fn shown_status(store: &dyn CheckpointStore, row: &RunRow) -> String {
    if is_created(store, row) {
        return "created".to_owned();
    }
    let status = row.status.as_str().replace('_', " ");
    let cut_short = row.status == Status::Running && store.holder(&row.run_id) == Ok(Holder::Nobody);
    if cut_short { format!("{status} (cut short)") } else { status }
}

/// A time for people, in their own zone.
pub(super) fn time(at: Timestamp) -> String {
    let zoned = i64::try_from(at.0)
        .ok()
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
        .map(|at| at.to_zoned(jiff::tz::TimeZone::system()));
    zoned.map_or_else(|| at.to_string(), |at| at.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

/// The row as the JSON documents have it.
pub(super) fn row_json(row: &RunRow) -> Map<String, Value> {
    let mut value = bare_json(row);
    let text = |text: &Option<Arc<str>>| {
        text.as_ref()
            .map_or(Value::Null, |text| serde_json::from_str(text).unwrap_or_else(|_| json!(&**text)))
    };
    value.insert("result".to_owned(), text(&row.result));
    value.insert("error".to_owned(), text(&row.error));
    value
}

/// The same without the result, which may be large, and the error.
pub(super) fn bare_json(row: &RunRow) -> Map<String, Value> {
    let bare = RunRow { result: None, error: None, ..row.clone() };
    let Ok(Value::Object(mut fields)) = serde_json::to_value(bare) else { return Map::new() };
    fields.insert("created_at".to_owned(), json!(row.created_at.to_string()));
    fields.insert("updated_at".to_owned(), json!(row.updated_at.to_string()));
    fields
}

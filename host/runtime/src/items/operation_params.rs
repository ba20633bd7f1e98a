//! The params of operations on items other than running components.

use graph_core::item::ItemOperation;
use graph_core::text_item::SEARCH_FIELDS;
use serde_json::{Map, Value, json};

/// Default `limit` of a search.
pub(crate) const DEFAULT_LIMIT: u64 = 10;
/// The largest `limit` of a search.
pub(crate) const MOST_RESULTS: u64 = 1000;
/// The values of `source`. `system` is Rye's name for items outside of projects and users' spaces.
const SOURCES: [&str; 5] = ["all", "project", "user", "installed", "system"];

/// The refusal to sign tools in a run.
pub(crate) const NO_TOOLS: &str = "a run never signs tools: what runs is vouched for by a person";

/// Returns the JSON Schema of the params of an operation. The schema of a directive is in the directive itself.
pub(crate) fn params_schema(operation: ItemOperation) -> Value {
    let mut properties = Map::new();
    if operation == ItemOperation::Search {
        let fields: Vec<_> = SEARCH_FIELDS.iter().map(|(name, _)| *name).collect();
        properties.insert("query".to_owned(), json!({ "type": "string", "default": "" }));
        properties.insert(
            "limit".to_owned(),
            json!({ "type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "default": DEFAULT_LIMIT }),
        );
        properties.insert("source".to_owned(), json!({ "enum": SOURCES, "default": "all" }));
        properties.insert(
            "fields".to_owned(),
            json!({ "type": "array", "items": { "enum": fields }, "uniqueItems": true, "default": [] }),
        );
    }
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

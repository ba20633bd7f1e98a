//! Reads `cache` of a node: the conditions under which a stored result replaces a dispatch.

use std::time::Duration;

use super::scope::{DocumentReader, IN_ACTION};
use crate::graph::{Action, CachePolicy};
use graph_core::diagnostic::{Diagnostic, codes};
use graph_core::item::{ItemOperation, ItemType};
use graph_core::keys;
use graph_core::yaml::{Fields, MappingEntry, Yaml};

/// Reads `{ttl, key}` of a node with this action. `variable` is the name of a `foreach` item.
pub(super) fn read(
    entry: &MappingEntry,
    action: Option<&Action>,
    has_action: bool,
    variable: Option<&str>,
    reader: &DocumentReader<'_>,
) -> Option<CachePolicy> {
    let (node, problems) = (&entry.value, reader.problems);
    match &node.value {
        Yaml::Null | Yaml::Bool(false) => return None,
        Yaml::Mapping(_) => {}
        _ => {
            node.wrong_type("`cache`", "a mapping `{ttl: 10m}`", problems);
            return None;
        }
    }
    let mut fields = Fields::open(node, &keys::graph::CACHE, "`cache`", problems)?;
    let ttl = fields.required("ttl").and_then(|ttl| {
        let read = ttl.duration("`ttl`", problems)?;
        if read == Duration::ZERO {
            ttl.out_of_range("`ttl` is nothing", "a duration above zero, such as `10m`", problems);
            return None;
        }
        Some(read)
    });
    let key = fields.filled("key").map(|key| reader.template(key, IN_ACTION, variable));
    fields.finish();
    let at = entry.key.span;
    if !has_action {
        let problem = Diagnostic::error(codes::NOT_CACHED, at, "`cache` is on a node without an `action`");
        problems.push(problem.help("remove it: there is no result to keep"));
    }
    if let Some(action) = action
        && (action.operation, action.item_type) != (ItemOperation::Execute, ItemType::Tool)
    {
        let what = format!("{} {}", action.operation.as_str(), action.item_type.as_str());
        let message = format!("`cache` is on a node whose action is `{what}`");
        let problem = Diagnostic::error(codes::NOT_CACHED, at, message);
        problems.push(
            problem.help("remove it: files are read again each time, and only the results of tools are kept"),
        );
    }
    let key = match key {
        Some(key) => Some(key?),
        None => None,
    };
    Some(CachePolicy { ttl: ttl?, key })
}

//! Loads items: the documents that tasks receive.

use graph_core::item::ItemType;
use graph_core::node::{Category, Failure};
use graph_core::trust::{ComponentStanding, TextStanding};
use serde_json::{Value, json};

use super::ItemOperations;
use crate::clock::now;
use crate::items::graph_file::standing_json;
use crate::items::locate::{self, LocatedItem};
use crate::items::precedence;
use crate::items::text_items::Text;
use crate::plan::admission::AdmitError;

/// The JSON document of a text item for tasks. It does not depend on the place of the project.
pub(super) fn document(text: &Text) -> Value {
    json!({
        "item_id": text.id,
        "item_type": text.item_type,
        "space": text.space(),
        "title": text.item.title,
        "metadata": text.item.metadata,
        "content": text.content,
        "body": text.item.body,
        "digest": text.digest,
        "signature": standing_json(&text.standing),
    })
}

impl ItemOperations {
    /// Loads a component's signed statement, or the document of a graph.
    pub(super) fn load_tool(&self, item: &str) -> Result<Value, Failure> {
        let locator = &self.texts.locator;
        match locator.find(item).map_err(|error| AdmitError::Find(error).failure())? {
            LocatedItem::Component { file, envelope } => {
                let moment = locate::moment_of_superstep(self.texts.recorded);
                let verified = locate::verify(
                    item,
                    &file,
                    envelope.as_deref(),
                    &self.texts.locator,
                    &self.texts.trust,
                    moment,
                    self.allow_unsigned,
                )
                .and_then(|verified| {
                    precedence::of_component(&file, &verified, &self.texts.trust, moment)?;
                    Ok(verified)
                })
                .map_err(|error| Failure::new(Category::Denied, error.message()))?;
                let signature = match verified.standing() {
                    ComponentStanding::Signed { key, .. } => {
                        json!({ "standing": "signed", "signer": { "name": key.name, "key_id": key.id } })
                    }
                    ComponentStanding::BuiltIn => json!({ "standing": "built_in" }),
                    ComponentStanding::Unsigned => json!({ "standing": "unsigned" }),
                };
                Ok(json!({
                    "item_id": file.id,
                    "item_type": "tool",
                    "kind": "component",
                    "space": file.space,
                    "title": verified.statement().map(|statement| &statement.predicate.description.summary),
                    "metadata": verified.statement().map(|statement| &statement.predicate),
                    "digest": verified.digest(),
                    "signature": signature,
                }))
            }
            LocatedItem::Graph { file } => {
                let shown = file.shown();
                let text =
                    file.graph_text().map_err(|error| Failure::new(Category::Permanent, error.message()))?;
                let standing = file.graph_standing(&text, &self.texts.trust, now());
                if let TextStanding::Invalid(refusal) = &standing {
                    return Err(Failure::new(Category::Denied, refusal.of_file(&shown)));
                }
                let loaded = graph_walker::document::load(&shown, &text, &file.id)
                    .map_err(|problems| Failure::new(Category::Permanent, problems.to_lines().join("; ")))?;
                precedence::of_text(
                    ItemType::Tool,
                    &file,
                    &text,
                    &standing,
                    &self.texts.trust,
                    locate::moment_of_superstep(None),
                )
                .map_err(|error| Failure::new(Category::Denied, error.message()))?;
                let digest = graph_core::digest::Digest::of_bytes(text.as_bytes());
                self.keep(&digest, &text)?;
                Ok(json!({
                    "item_id": file.id,
                    "item_type": "tool",
                    "kind": "graph",
                    "space": file.space,
                    "title": loaded.graph.description,
                    "metadata": *loaded.graph.document,
                    "content": text,
                    "digest": digest,
                    "signature": standing_json(&standing),
                }))
            }
        }
    }
}

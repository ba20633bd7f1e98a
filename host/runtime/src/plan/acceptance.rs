//! Logs the items of a plan, which a run is started or resumed with.

use graph_core::trust::TextStanding;

use crate::error::Result;
use crate::items::graph_file::GraphFile;
use crate::items::text_items;
use crate::plan::Plan;
use crate::trust::log::{TrustLog, accepted, of_component};

impl TrustLog {
    /// Logs all items that a run is started or resumed with.
    pub fn accept_plan(&self, plan: &Plan, graphs: &[(&str, &GraphFile)]) -> Result<()> {
        let components = plan.items.values().filter_map(|item| item.as_ref().ok());
        let mut entries: Vec<_> = components.map(|admitted| of_component(&admitted.verified)).collect();
        for text in plan.texts.values().filter_map(|text| text.as_ref().ok()) {
            if let TextStanding::Signed { key, .. } = &text.standing {
                let item = text_items::key(text.item_type, &text.id, text.format);
                entries.push(accepted(item, text.digest, vec![key.id]));
            }
        }
        for (id, file) in graphs {
            let keys = match &file.standing {
                TextStanding::Signed { key, .. } => vec![key.id],
                TextStanding::BuiltIn => Vec::new(),
                _ => continue,
            };
            entries.push(accepted(format!("graph {id}"), file.graph.digest, keys));
        }
        self.add(entries)
    }
}

//! What the WIT of a component says about its functions: the custom section `package-docs`, if it was kept.

use std::collections::HashMap;

use wit_component::DecodedWasm;
use wit_parser::{WorldItem, WorldKey};

/// The first paragraph about each exported function, by its name in item ids. Empty if the component has no documentation.
pub(crate) fn summaries(bytes: &[u8]) -> HashMap<String, String> {
    let Ok(DecodedWasm::Component(resolve, world)) = wit_component::decode(bytes) else {
        return HashMap::new();
    };
    let mut found = HashMap::new();
    let mut add = |name: String, docs: Option<&String>| {
        let paragraph = docs.and_then(|docs| docs.split("\n\n").map(str::trim).find(|text| !text.is_empty()));
        if let Some(paragraph) = paragraph {
            found.insert(name, paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    };
    for (key, item) in &resolve.worlds[world].exports {
        match item {
            WorldItem::Function(function) => add(function.name.clone(), function.docs.contents.as_ref()),
            WorldItem::Interface { id, .. } => {
                let interface = match key {
                    WorldKey::Name(name) => name.clone(),
                    WorldKey::Interface(_) => {
                        let id = resolve.id_of(*id).unwrap_or_default();
                        id.split_once('@').map_or(id.clone(), |(path, _)| path.to_owned())
                    }
                };
                for (name, function) in &resolve.interfaces[*id].functions {
                    add(format!("{interface}/{name}"), function.docs.contents.as_ref());
                }
            }
            WorldItem::Type { .. } => {}
        }
    }
    found
}

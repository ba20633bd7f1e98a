//! The differences in a run's pins other than its documents.

use std::collections::BTreeMap;

use graph_core::trust::KeyId;

use crate::run::pins::{HOOK, Pins};

/// Lists the differences in components, signers, texts, grants and the engine, a line each. `nodes` are the nodes that use an item.
pub(crate) fn of_pins(
    before: &Pins,
    now: &Pins,
    nodes: &BTreeMap<String, Vec<String>>,
    with_grants: bool,
) -> Vec<String> {
    let mut lines = Vec::new();
    let component = |id: &str| match nodes.get(id).map(Vec::as_slice) {
        None | Some([]) => format!("component `{id}`"),
        Some([node]) => format!("component `{id}` of node `{node}`"),
        Some(nodes) => {
            let named: Vec<_> = nodes.iter().map(|node| format!("`{node}`")).collect();
            format!("component `{id}` of nodes {}", named.join(", "))
        }
    };
    for (id, digest) in &before.components {
        let what = component(id);
        match now.components.get(id) {
            Some(found) if found == digest => {}
            Some(found) => lines.push(format!("{what} was {} and is {}", digest.short(), found.short())),
            None => lines.push(format!("{what} ({}) was removed", digest.short())),
        }
    }
    let new = now.components.keys().filter(|id| !before.components.contains_key(*id));
    lines.extend(new.map(|id| format!("{} is new", component(id))));
    for id in before.unsandboxed.difference(&now.unsandboxed) {
        lines.push(format!("`{id}` was a function of the program that ran the graph, and is none"));
    }
    for id in now.unsandboxed.difference(&before.unsandboxed) {
        lines.push(format!("`{id}` is a function of the program now"));
    }
    for (text, digest) in &before.texts {
        match now.texts.get(text) {
            Some(found) if found == digest => {}
            Some(found) => lines.push(format!("the {text} was {} and is {}", digest.short(), found.short())),
            None => lines.push(format!("the {text} ({}) is not used any more", digest.short())),
        }
    }
    let new = now.texts.keys().filter(|text| !before.texts.contains_key(*text));
    lines.extend(new.map(|text| format!("the {text} is new")));
    for (item, keys) in &before.signers {
        let is_pinned = now.components.contains_key(item) || !before.components.contains_key(item);
        let named = |keys: &[KeyId]| {
            keys.iter().map(|key| format!("key {}", key.short())).collect::<Vec<_>>().join(" and ")
        };
        match now.signers.get(item) {
            // An additional signature revokes nothing.
            Some(found) if keys.iter().all(|key| found.contains(key)) => {}
            _ if !is_pinned => {}
            Some(found) => {
                lines.push(format!(
                    "`{item}` was signed with {} and is signed with {}",
                    named(keys),
                    named(found)
                ));
            }
            None => lines.push(format!("`{item}` was signed with {} and is not signed", named(keys))),
        }
    }
    if with_grants && lines.is_empty() {
        let changed = before.grants.iter().filter(|(node, grant)| now.grants.get(*node) != Some(grant));
        lines.extend(changed.map(|(node, _)| match node.strip_prefix(HOOK) {
            Some(hook) => format!("what hook `{hook}` is granted has changed"),
            None => format!("what node `{node}` is granted has changed"),
        }));
    }
    if before.engine != now.engine {
        lines.push(format!(
            "the engine was {} and is {}: results and fuel may differ",
            before.engine.short(),
            now.engine.short()
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use graph_core::digest::Digest;
    use graph_core::trust::SigningKey;

    use super::*;

    #[test]
    fn each_kind_of_pin_has_its_line() {
        let digest = |name: &str| Digest::of_bytes(name.as_bytes());
        let key = |seed| SigningKey::from_seed(&[seed; 32]).id();
        let mut before = Pins {
            components: [("t/a".to_owned(), digest("a")), ("t/b".to_owned(), digest("b"))].into(),
            texts: [("knowledge k.md".to_owned(), digest("k"))].into(),
            signers: [("t/a".to_owned(), vec![key(1)]), ("graph".to_owned(), vec![key(1)])].into(),
            grants: [("n".to_owned(), digest("g"))].into(),
            ..Pins::of_nothing(digest("engine"))
        };
        let nodes = [("t/a".to_owned(), vec!["x".to_owned(), "y".to_owned()])].into();
        assert_eq!(of_pins(&before, &before.clone(), &nodes, true), Vec::<String>::new());
        let now = Pins {
            components: [("t/a".to_owned(), digest("A")), ("t/c".to_owned(), digest("c"))].into(),
            texts: [("knowledge l.md".to_owned(), digest("k"))].into(),
            signers: [("t/a".to_owned(), vec![key(2), key(3)])].into(),
            ..Pins::of_nothing(digest("other engine"))
        };
        insta::assert_snapshot!(of_pins(&before, &now, &nodes, true).join("\n"));
        // A changed grant is reported only if nothing else explains it.
        let regranted = Pins { grants: [("n".to_owned(), digest("h"))].into(), ..before.clone() };
        assert_eq!(of_pins(&before, &regranted, &nodes, false), Vec::<String>::new());
        assert_eq!(of_pins(&before, &regranted, &nodes, true), ["what node `n` is granted has changed"]);
        // A first signature revokes nothing.
        before.signers.clear();
        assert_eq!(
            of_pins(&before, &Pins { signers: now.signers, ..before.clone() }, &nodes, true),
            Vec::<String>::new()
        );
    }
}

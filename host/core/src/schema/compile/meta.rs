//! The meta-schema of draft 2020-12, to which schemas may refer.

use std::sync::LazyLock;

use serde_json::Value;

/// Common prefix of the names of all parts of the meta-schema.
pub(super) const BASE: &str = "https://json-schema.org/draft/2020-12/";

/// The parts of the meta-schema by the rest of their names.
const PARTS: [(&str, &str); 9] = [
    ("schema", include_str!("metaschema/schema.json")),
    ("meta/applicator", include_str!("metaschema/applicator.json")),
    ("meta/content", include_str!("metaschema/content.json")),
    ("meta/core", include_str!("metaschema/core.json")),
    ("meta/format-annotation", include_str!("metaschema/format-annotation.json")),
    ("meta/format-assertion", include_str!("metaschema/format-assertion.json")),
    ("meta/meta-data", include_str!("metaschema/meta-data.json")),
    ("meta/unevaluated", include_str!("metaschema/unevaluated.json")),
    ("meta/validation", include_str!("metaschema/validation.json")),
];

/// The parsed parts, read at the first reference to one of them.
static READ: LazyLock<Vec<Option<Value>>> =
    LazyLock::new(|| PARTS.iter().map(|(_, text)| serde_json::from_str(text).ok()).collect());

/// Returns the part of the meta-schema with this URI, which has no fragment.
pub(super) fn part(uri: &str) -> Option<&'static Value> {
    let name = uri.strip_prefix(BASE)?;
    let at = PARTS.iter().position(|(known, _)| *known == name)?;
    READ.get(at)?.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_found_by_its_id() {
        for (name, _) in PARTS {
            let uri = format!("{BASE}{name}");
            assert_eq!(part(&uri).and_then(|part| part.get("$id")?.as_str()), Some(uri.as_str()));
        }
        assert_eq!(part("https://json-schema.org/draft/2019-09/schema"), None);
    }
}

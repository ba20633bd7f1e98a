//! Parts of a schema that references within it point to, without compiling it.

use std::borrow::Cow;

use serde_json::Value;

use super::compile::decoded;

/// Returns the part of a schema to which a reference in it points by a JSON pointer: `#/$defs/a`, percent-encoded as in every
/// URI; `None` for a reference by name or to another schema.
pub fn referred<'s>(schema: &'s Value, reference: &str) -> Option<&'s Value> {
    let fragment = reference.strip_prefix('#')?;
    let pointer =
        if fragment.contains('%') { Cow::Owned(decoded(fragment)?) } else { Cow::Borrowed(fragment) };
    schema.pointer(&pointer)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::InputSchema;
    use crate::work::Meter;

    #[test]
    fn a_reference_leads_where_the_compiled_schema_says() {
        let schema = |reference: &str| json!({ "$ref": reference, "$defs": { "a b": { "const": 1 }, "ü": { "const": 1 }, "a/b": { "const": 1 }, "a%20b": {} } });
        for reference in [
            "#/$defs/a%20b",
            "#/$defs/%C3%BC",
            "#/%24defs/ü",
            "#/$defs/a~1b",
            "#/$defs/a%7E1b",
            "#%2F$defs%2Fa%20b",
        ] {
            let schema = schema(reference);
            assert_eq!(referred(&schema, reference), Some(&json!({ "const": 1 })), "{reference}");
            assert!(InputSchema::compile(&schema, &Meter::of_one_step()).is_ok(), "{reference}");
        }
        for reference in [
            "#/$defs/a%252520b",
            "#/$defs/%C3",
            "#/$defs/a%2",
            "#/$defs/%zz",
            "#none",
            "other#/$defs/a%20b",
            "",
        ] {
            assert_eq!(referred(&schema(reference), reference), None, "{reference}");
        }
        assert_eq!(referred(&schema("#/$defs/a%2520b"), "#/$defs/a%2520b"), Some(&json!({})));
    }
}

//! Checks of the schemas of documents by another implementation: they are valid schemas, and both implementations
//! accept the documents that the tables of keys allow, and refuse others.
#![allow(clippy::unwrap_used)]

use graph_core::keys::{self, KeyTable, Shape, samples};
use graph_core::schema::InputSchema;
use graph_core::work::Meter;
use serde_json::{Value, json};

/// Returns the samples of a table, and each of them with an unknown key and without each of its keys.
fn documents(table: &'static KeyTable) -> Vec<Value> {
    let mut found = Vec::new();
    for sample in samples(table) {
        let Value::Object(fields) = &sample else { continue };
        for key in fields.keys() {
            let mut without = fields.clone();
            without.remove(key);
            found.push(Value::Object(without));
            let mut other = fields.clone();
            other.insert(key.clone(), json!([[7.5]]));
            found.push(Value::Object(other));
        }
        let mut more = fields.clone();
        more.insert("no_such_key".to_owned(), Value::Null);
        found.push(Value::Object(more));
        found.push(sample);
    }
    found
}

#[test]
fn another_implementation_reads_the_schemas_alike() {
    let kinds: [(&Shape, &'static KeyTable); 4] = [
        (&keys::graph::DOCUMENT, &keys::graph::TOOL),
        (&keys::manifest::DOCUMENT, &keys::manifest::MANIFEST),
        (&keys::hooks::DOCUMENT, &keys::hooks::HOOKS),
        (&keys::trust::DOCUMENT, &keys::trust::TRUST),
    ];
    let mut verdicts = [0, 0];
    for (document, table) in kinds {
        let schema = keys::json_schema(table.name, document);
        assert!(jsonschema::draft202012::meta::is_valid(&schema), "{}", table.name);
        let other = jsonschema::draft202012::new(&schema).unwrap();
        let own = InputSchema::compile(&schema, &Meter::of_one_step()).unwrap();
        for document in documents(table) {
            let is_valid = own.validate_and_fill(document.clone(), &Meter::of_one_step()).is_ok();
            assert_eq!(other.is_valid(&document), is_valid, "{}: {document}", table.name);
            verdicts[usize::from(is_valid)] += 1;
        }
    }
    assert!(verdicts[0] > 100 && verdicts[1] > 100, "{verdicts:?}");
}

//! The official test suite, from `tests/json-schema` of the repository.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::schema::InputSchema;
use crate::schema::evaluate::Run;
use crate::schema::explain;
use crate::work::Meter;

/// The reason why cases are skipped: nothing is fetched.
const REMOTE: &str = "it refers to a schema on a server";

/// Skipped cases: the file, the description, and the reason.
const SKIPPED: [(&str, &str, &str); 5] = [
    ("dynamicRef.json", "strict-tree schema, guards against misspelled properties", REMOTE),
    ("dynamicRef.json", "tests for implementation dynamic anchor and reference link", REMOTE),
    ("dynamicRef.json", "$ref and $dynamicAnchor are independent of order - $defs first", REMOTE),
    ("dynamicRef.json", "$ref and $dynamicAnchor are independent of order - $ref first", REMOTE),
    ("dynamicRef.json", "$ref to $dynamicRef finds detached $dynamicAnchor", REMOTE),
];

#[test]
fn the_required_tests_of_the_draft_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/json-schema/draft2020-12");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (mut run, mut skipped, mut wrong) = (0, 0, Vec::new());
    for file in &files {
        let name = file.file_name().unwrap().to_str().unwrap();
        let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        for case in cases {
            let about = case["description"].as_str().unwrap();
            if SKIPPED.iter().any(|(file, case, _)| (*file, *case) == (name, about)) {
                skipped += 1;
                continue;
            }
            let schema = match InputSchema::compile(&case["schema"], &Meter::of_one_step()) {
                Ok(schema) => schema,
                Err(errors) => {
                    wrong.push(format!("{name}: {about}: {errors:?}"));
                    continue;
                }
            };
            for test in case["tests"].as_array().unwrap() {
                // Defaults are not filled in: the suite expects missing properties to remain missing.
                let meter = Meter::of_one_step();
                let data = &test["data"];
                let valid = Run::new(&schema.program, &meter).fits(0, data, None).unwrap();
                let problems =
                    explain::problems(&mut Run::new(&schema.program, &meter), data, &mut |_| Ok(true))
                        .unwrap();
                if valid != test["valid"].as_bool().unwrap() || valid != problems.is_empty() {
                    wrong.push(format!("{name}: {about}: {}: {problems:?}", test["description"]));
                }
                run += 1;
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!((files.len(), skipped, run), (44, SKIPPED.len(), 1208));
}

//! `.github/SECURITY.md` names the tests of each promise: all of these exist.

use std::path::Path;

#[test]
fn every_promise_names_tests_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(".github/SECURITY.md")).unwrap();
    let promises = text.split("## What is promised").nth(1).unwrap().split("\n## ").next().unwrap();
    let folders = std::fs::read_dir(root.join("tests/hostile")).unwrap();
    let folders: Vec<_> = folders.map(|folder| folder.unwrap().path()).filter(|path| path.is_dir()).collect();
    let (mut rows, mut fixtures) = (0, 0);
    for row in promises.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Promise")) {
        rows += 1;
        let tested_by = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let names = tested_by.split('`').skip(1).step_by(2);
        for name in names.filter(|name| !name.contains(['*', ' ']) && !name.contains("::")) {
            if name.contains('/') {
                assert!(root.join(name).exists(), "`{name}` is not there: {row}");
            } else {
                fixtures += 1;
                let file = format!("{name}.yaml");
                assert!(folders.iter().any(|folder| folder.join(&file).is_file()), "`{name}`: {row}");
            }
        }
    }
    assert!(rows >= 20 && fixtures >= 30, "{rows} rows, {fixtures} fixtures");
}

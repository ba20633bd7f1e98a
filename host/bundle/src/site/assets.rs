//! Files that are the same in every bundle: the page, and the walker as JavaScript and core modules. Both are committed
//! as they are built, so that bundling needs only Rust; `tests/bundle` builds them again and compares.

/// Files, with their paths in a bundle.
pub const ASSETS: &[(&str, &[u8])] = &[
    ("index.html", include_bytes!("../../assets/index.html")),
    ("assets/page.css", include_bytes!("../../assets/page.css")),
    ("assets/page.js", include_bytes!("../../assets/page.js")),
    ("assets/worker.js", include_bytes!("../../assets/worker.js")),
    ("assets/walker.js", include_bytes!("../../assets/walker.js")),
    ("assets/walker.core.wasm", include_bytes!("../../assets/walker.core.wasm")),
    ("assets/walker.core2.wasm", include_bytes!("../../assets/walker.core2.wasm")),
    ("assets/walker.core3.wasm", include_bytes!("../../assets/walker.core3.wasm")),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;
    use crate::transpile::transpile;

    /// Compares with the walker's component in `GRAPH_WALKER`; `ASSETS_UPDATE=1` writes the files instead.
    #[test]
    #[ignore = "tests/bundle builds the walker for it"]
    fn the_walker_is_what_its_sources_build() {
        let component = std::fs::read(std::env::var_os("GRAPH_WALKER").unwrap()).unwrap();
        let transpiled = transpile("walker", &component, &[], []).unwrap();
        let mut built: BTreeMap<_, _> = transpiled.cores.into_iter().collect();
        built.insert("walker.js".to_owned(), transpiled.script);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
        if std::env::var_os("ASSETS_UPDATE").is_some() {
            for (name, bytes) in &built {
                std::fs::write(folder.join(name), bytes).unwrap();
            }
            return;
        }
        let committed = ASSETS.iter().filter_map(|(path, bytes)| {
            let name = path.strip_prefix("assets/").filter(|name| name.starts_with("walker."))?;
            Some((name.to_owned(), bytes.to_vec()))
        });
        let committed: BTreeMap<_, _> = committed.collect();
        let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&built), names(&committed));
        for (name, bytes) in &built {
            assert!(committed[name] == *bytes, "{name} differs: run `ASSETS_UPDATE=1 tests/bundle/run`");
        }
    }
}

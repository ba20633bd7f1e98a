//! The parser of graph documents: any text is a graph or a list of diagnostics that can be shown; a graph's snapshot
//! is the same graph.
#![no_main]

use graph_walker::document;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match document::load("graph.yaml", text, "fuzz/graph") {
        Ok(loaded) => {
            let again = document::load_snapshot(&loaded.graph.document).expect("a snapshot can be read");
            assert_eq!(again.digest, loaded.graph.digest, "the snapshot is another graph");
            let shown = graph_walker::topology::Topology::of(&loaded.graph).to_mermaid();
            assert!(!shown.is_empty());
        }
        Err(problems) => assert!(!problems.to_string().is_empty(), "refused without a reason"),
    }
});

//! The walker's `handle`: a graph, a line `---`, and bytes that determine the events of its run. With a folder in
//! `FUZZ_SEEDS`, it writes the seeds of all targets there instead, as that walks graphs, too.
#![no_main]

use std::path::Path;
use std::sync::Arc;

use graph_fuzz::{SEPARATOR, seeds};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: {
        if let Some(folder) = std::env::var_os("FUZZ_SEEDS") {
            let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            match seeds::write(&repository, Path::new(&folder)) {
                Ok(count) => println!("{count} seeds"),
                Err(error) => panic!("the seeds cannot be written: {error}"),
            }
            std::process::exit(0);
        }
    },
    |data: &[u8]| {
        let separator = SEPARATOR.as_bytes();
        let Some(at) = data.windows(separator.len()).position(|window| window == separator) else { return };
        let Ok(text) = std::str::from_utf8(&data[..at]) else { return };
        let Ok(loaded) = graph_walker::document::load("graph.yaml", text, "t/graph") else { return };
        graph_fuzz::walk(Arc::new(loaded.graph), &data[at + separator.len()..], |_, _| {});
    }
);

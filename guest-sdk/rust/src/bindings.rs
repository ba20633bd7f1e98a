//! Code that `wit-bindgen` generates from the contract. Nodes use the rest of the crate; the [`node!`](crate::node!) macro uses this.
#![allow(missing_docs, clippy::all, clippy::pedantic, unreachable_pub)]

wit_bindgen::generate!({
    world: "graph-host:sdk/sdk",
    path: [
        "wit/wasi/io.wit",
        "wit/wasi/clocks.wit",
        "wit/wasi/random.wit",
        "wit/wasi/filesystem.wit",
        "wit/wasi/http.wit",
        "wit/node",
        "wit/host",
        "wit/sdk.wit",
    ],
    generate_all,
    pub_export_macro: true,
    default_bindings_module: "graph_sdk::bindings",
    export_macro_name: "export",
});

/// Bindings of the interface of language models, in a separate world, so that the bindings of nodes without the feature do not change.
#[cfg(feature = "model")]
pub mod model {
    wit_bindgen::generate!({
        world: "graph-host:sdk-model/sdk-model",
        path: ["wit/node", "wit/host", "wit/model.wit"],
        with: {
            "graph-host:node/types@0.1.0": crate::bindings::graph_host::node::types,
            "graph-host:host/model@0.1.0": generate,
        },
    });
}

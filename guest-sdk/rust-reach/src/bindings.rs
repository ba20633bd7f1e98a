//! What `wit-bindgen` makes of the contract.
#![allow(missing_docs, clippy::all, clippy::pedantic, unreachable_pub)]

wit_bindgen::generate!({
    world: "graph-host:reach/reach",
    path: [
        "../../wit/wasi/io.wit",
        "../../wit/wasi/clocks.wit",
        "../../wit/wasi/http.wit",
        "../../wit/node",
        "../../wit/host",
        "wit",
    ],
    generate_all,
});

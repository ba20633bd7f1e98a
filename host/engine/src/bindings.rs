//! Host types for the WIT contract.
#![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]

wasmtime::component::bindgen!({
    inline: "
        package graph-host:engine;

        world component {
            import graph-host:host/log@0.1.0;
            import graph-host:host/events@0.1.0;
            import graph-host:host/secrets@0.1.0;
            import graph-host:host/knowledge@0.1.0;
            import graph-host:host/tools@0.1.0;
            import graph-host:host/model@0.1.0;
            import wasi:cli/environment@0.2.12;
            import wasi:cli/exit@0.2.12;
            import wasi:cli/stdin@0.2.12;
            import wasi:cli/stdout@0.2.12;
            import wasi:cli/stderr@0.2.12;
            import wasi:cli/terminal-stdin@0.2.12;
            import wasi:cli/terminal-stdout@0.2.12;
            import wasi:cli/terminal-stderr@0.2.12;
            import wasi:http/outgoing-handler@0.2.12;
            import wasi:clocks/wall-clock@0.2.12;
            import wasi:clocks/monotonic-clock@0.2.12;
            import wasi:random/random@0.2.12;
            import wasi:random/insecure@0.2.12;
            import wasi:random/insecure-seed@0.2.12;
            import wasi:filesystem/types@0.2.12;
            import wasi:filesystem/preopens@0.2.12;
            export graph-host:node/action@0.1.0;
        }
    ",
    path: [
        "wit/wasi/io.wit",
        "wit/wasi/cli.wit",
        "wit/wasi/clocks.wit",
        "wit/wasi/random.wit",
        "wit/wasi/filesystem.wit",
        "wit/wasi/http.wit",
        "wit/node",
        "wit/host",
    ],
    world: "graph-host:engine/component",
    imports: {
        "wasi:http/outgoing-handler.handle": async | trappable,
        "graph-host:host/model.complete": async | trappable,
        default: trappable,
    },
    exports: { default: async },
    ownership: Borrowing { duplicate_if_necessary: false },
    trappable_error_type: {
        "wasi:filesystem/types.error-code" => crate::host::filesystem::FsError,
    },
    with: {
        "wasi:io": wasmtime_wasi::p2::bindings::io,
        "wasi:cli/terminal-input.terminal-input": crate::host::cli::NoTerminal,
        "wasi:cli/terminal-output.terminal-output": crate::host::cli::NoTerminal,
        "wasi:http/types": wasmtime_wasi_http::p2::bindings::http::types,
        "wasi:filesystem/types.descriptor": crate::host::filesystem::FileDescriptor,
        "wasi:filesystem/types.directory-entry-stream": crate::host::filesystem::FolderEntries,
    },
});

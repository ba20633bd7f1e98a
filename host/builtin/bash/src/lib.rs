//! The built-in item `rye/bash/bash`: a shell in a component.
//!
//! It is the crate `bashkit` with the host's clock and random numbers, and with a file system in memory in which the
//! granted folders are mounted. It starts no programs and opens no connections.

mod clock;
mod commands;
mod executor;
mod folder;
mod params;
mod shell;

graph_sdk::node! {
    summary: "Runs a shell script on the granted folders, with the shell's own commands only: no programs, no network.",
    wants: [
        "wasi:filesystem/types": "the folders that scripts see",
        "wasi:filesystem/preopens": "finds the folders that it was granted",
        "wasi:io/streams": "comes with the file system",
        "wasi:io/error": "comes with the file system",
        "wasi:io/poll": "comes with the clocks",
        "wasi:clocks/wall-clock": "the time that `date` prints",
        "wasi:clocks/monotonic-clock": "`sleep`, which passes at once",
        "wasi:random/random": "`$RANDOM`, `shuf`, `mktemp`, /dev/urandom",
    ],
    shell::run
}

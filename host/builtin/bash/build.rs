//! Gives the shell a stack for nested scripts, and memory to start with that holds it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-cdylib=-zstack-size=4194304");
    println!("cargo::rustc-link-arg-cdylib=--initial-memory=8388608");
}

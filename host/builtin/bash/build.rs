//! Sets the stack size of the shell, for nested scripts, and an initial memory that has room for it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-cdylib=-zstack-size=4194304");
    println!("cargo::rustc-link-arg-cdylib=--initial-memory=8388608");
}

//! The compiler of components: this program, started as a child process for each component.

use std::path::PathBuf;

use graph_runtime::graph_engine::Compiler;

/// Returns a compiler that starts this program as a child process: its `main` calls
/// [`graph_runtime::graph_engine::compile_for_parent`].
pub fn by_this_program() -> Compiler {
    // The file that was started, even if another file has its name now.
    #[cfg(target_os = "linux")]
    let program = Some(PathBuf::from("/proc/self/exe")).filter(|path| path.exists());
    #[cfg(not(target_os = "linux"))]
    let program: Option<PathBuf> = None;
    match program.or_else(|| std::env::current_exe().ok()) {
        Some(program) => Compiler::Child(program),
        // Starting this one reports what is wrong.
        None => Compiler::Child(PathBuf::from("graph-host")),
    }
}

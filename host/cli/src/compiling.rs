//! What compiles components: this program, started once more for each.

use std::path::PathBuf;

use graph_runtime::graph_engine::Compiler;

/// A child process that runs this very program: its `main` hands over to [`graph_runtime::graph_engine::compile_for_parent`].
pub fn by_this_program() -> Compiler {
    // The file that was started, even where another one has taken its name since.
    #[cfg(target_os = "linux")]
    let program = Some(PathBuf::from("/proc/self/exe")).filter(|path| path.exists());
    #[cfg(not(target_os = "linux"))]
    let program: Option<PathBuf> = None;
    match program.or_else(|| std::env::current_exe().ok()) {
        Some(program) => Compiler::Child(program),
        // Starting it says what is wrong.
        None => Compiler::Child(PathBuf::from("graph-host")),
    }
}

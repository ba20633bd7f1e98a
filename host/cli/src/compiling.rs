//! Compiling components in a child process: who it is, and what the user is told meanwhile.

use std::path::PathBuf;

use graph_engine::{CompileObserver, Compiler, LoadError};

use crate::error::Error;
use crate::exit::Exit;
use crate::output::{Output, printable};

/// A child process that runs this very program: its `main` hands over to [`graph_engine::compile_for_parent`].
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

/// Tells on stderr what takes long.
#[derive(Debug)]
pub struct Progress(pub Output);

impl CompileObserver for Progress {
    fn slow(&self, id: &str, bytes: usize) {
        let size = if bytes < 1 << 20 {
            format!("{} KiB", bytes.div_ceil(1 << 10))
        } else {
            format!("{} MiB", bytes.div_ceil(1 << 20))
        };
        self.0.note(format_args!("compiling `{}` ({size}); this is done once", printable(id)));
    }
}

/// A component that cannot be loaded, at the edge.
pub fn cannot_load(error: &LoadError) -> Error {
    if error.is_limit() {
        Error::new(Exit::Limit, "limit", error.to_string())
            .help("have it built with optimization, or split into several; no grant lifts what protects the compiler")
    } else {
        Error::integrity(error.to_string())
    }
}

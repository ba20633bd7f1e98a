//! The parts that every operation of this crate needs, whichever run or graph it is about.

use std::sync::Arc;

use graph_engine::Compiler;

use crate::functions::Functions;
use crate::notice::NoticeObserver;
use crate::project::user_home::Home;

/// The user's space, the compiler, the observer of notices, and the functions of the program.
#[derive(Clone, Debug)]
pub struct Host {
    /// The user's space: keys, trust, installed items and caches.
    pub home: Home,
    /// Compiles components, in this process or in a child process.
    pub compiler: Compiler,
    /// Receives notices about what happens around runs.
    pub notices: Arc<dyn NoticeObserver>,
    /// The items that the program performs itself.
    pub functions: Arc<Functions>,
}

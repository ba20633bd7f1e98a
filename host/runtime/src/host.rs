//! What everything here works with, whichever run or graph it is about.

use std::sync::Arc;

use graph_core::time::Timestamp;
use graph_driver::{Clock as _, SystemClock};
use graph_engine::Compiler;

use crate::executor::functions::Functions;
use crate::notice::NoticeObserver;
use crate::project::user_home::Home;

/// The user's space, what compiles components, who hears of notices, and what the program performs itself.
#[derive(Clone, Debug)]
pub struct Host {
    /// The user's space.
    pub home: Home,
    /// What compiles components.
    pub compiler: Compiler,
    /// Hears of what happens around runs.
    pub notices: Arc<dyn NoticeObserver>,
    /// The items that the program performs itself.
    pub functions: Arc<Functions>,
}

/// The time.
pub fn now() -> Timestamp {
    SystemClock.now()
}

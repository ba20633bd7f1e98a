//! What everything here works with, whichever run or graph it is about.

use std::sync::Arc;

use graph_core::time::Timestamp;
use graph_driver::{Clock as _, SystemClock};
use graph_engine::Compiler;

use crate::notice::NoticeObserver;
use crate::project::user_home::Home;

/// The user's space, what compiles components, and who hears of notices.
#[derive(Clone, Debug)]
pub struct Host {
    /// The user's space.
    pub home: Home,
    /// What compiles components.
    pub compiler: Compiler,
    /// Hears of what happens around runs.
    pub notices: Arc<dyn NoticeObserver>,
}

/// The time.
pub fn now() -> Timestamp {
    SystemClock.now()
}

//! What happens around a run that somebody may want to know: reported as it happens, to be shown or left out.

use std::fmt;
use std::sync::Arc;

use graph_core::diagnostic::Diagnostics;
use graph_engine::{CompileObserver, Level};
use serde_json::Value;

use crate::error::Error;

/// Something that happened around a run and is no error of it.
#[derive(Clone, Copy, Debug)]
pub enum Notice<'n> {
    /// A document was read, and something in it is doubtful: a manifest, a trust store, hooks.
    Doubtful(&'n Diagnostics),
    /// A component is being compiled, and that takes a while.
    SlowCompilation {
        /// The component.
        id: &'n str,
        /// Its size.
        bytes: usize,
    },
    /// A component has written a line.
    LogLine {
        /// The node, with those of the graphs around its own.
        path: &'n str,
        /// How much it matters.
        level: Level,
        /// The line.
        message: &'n str,
    },
    /// A component has added an event to the run's stream.
    Event {
        /// The node, with those of the graphs around its own.
        path: &'n str,
        /// What kind of event it is.
        name: &'n str,
        /// What it says.
        payload: &'n Value,
    },
    /// The knowledge item about a run could not be brought up to date.
    RunItemOutdated {
        /// The run.
        run: &'n str,
        /// Why.
        error: &'n Error,
    },
}

/// Hears of notices, on whatever thread they arise.
pub trait NoticeObserver: fmt::Debug + Send + Sync {
    /// Something happened.
    fn notice(&self, notice: Notice<'_>);
}

/// Leaves every notice out.
impl NoticeObserver for () {
    fn notice(&self, _notice: Notice<'_>) {}
}

/// Reports slow compilations as notices.
#[derive(Debug)]
pub(crate) struct CompileNotices(pub(crate) Arc<dyn NoticeObserver>);

impl CompileObserver for CompileNotices {
    fn slow(&self, id: &str, bytes: usize) {
        self.0.notice(Notice::SlowCompilation { id, bytes });
    }
}

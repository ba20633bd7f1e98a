//! Notices: what happens around a run and is not an error. They are reported to an observer as they happen.

use std::fmt;
use std::sync::Arc;

use graph_core::diagnostic::Diagnostics;
use graph_core::trust::Yank;
use graph_engine::{CompileObserver, Level};
use graph_walker::walker::ItemPlace;
use serde_json::Value;

use crate::error::Error;

/// Something that happened around a run and is not an error of it.
#[derive(Clone, Copy, Debug)]
pub enum Notice<'n> {
    /// The warnings of a document: a manifest, a trust store, hooks.
    Doubtful(&'n Diagnostics),
    /// A component is being compiled.
    Compiling {
        /// The item id of the component.
        id: &'n str,
        /// The size of the component, in bytes.
        bytes: usize,
    },
    /// Compilation of a component has ended, successfully or not.
    Compiled {
        /// The item id of the component.
        id: &'n str,
    },
    /// Compilation of a component takes unusually long.
    SlowCompilation {
        /// The item id of the component.
        id: &'n str,
        /// The size of the component, in bytes.
        bytes: usize,
    },
    /// A component has logged a line.
    LogLine {
        /// The node, with those of the graphs around its own.
        path: &'n str,
        /// Which item of a `foreach` its task is for.
        item: Option<ItemPlace>,
        /// How severe the component calls it.
        level: Level,
        /// The line, without control characters.
        message: &'n str,
    },
    /// A component has emitted an event into the run's stream.
    Event {
        /// The node, with those of the graphs around its own.
        path: &'n str,
        /// Which item of a `foreach` its task is for.
        item: Option<ItemPlace>,
        /// The name that the component gave the event.
        name: &'n str,
        /// The value that the component gave the event.
        payload: &'n Value,
    },
    /// The run's state item could not be rewritten.
    RunItemOutdated {
        /// The run as a whole.
        run: &'n str,
        /// Why it could not be written.
        error: &'n Error,
    },
    /// A published version is used although it is yanked: it is locked already, or the user has allowed it.
    Yanked {
        /// The id and the version of the item, as messages name it.
        item: &'n str,
        /// The yank.
        yank: &'n Yank,
    },
    /// A yank of a published version was seen before, and is not shown any more where the version is.
    YankHidden {
        /// The id and the version of the item, as messages name it.
        item: &'n str,
    },
    /// Yanks that were seen are not remembered: who may write where the version is can hide them.
    YanksNotKept {
        /// The id of the item, as messages name it.
        item: &'n str,
        /// Why they are not.
        error: &'n Error,
    },
    /// Whether a published version is yanked is not known.
    YankUnknown {
        /// The item or its reference, as messages name it.
        item: &'n str,
        /// Why it is not known.
        reason: &'n str,
    },
}

/// Receives notices, on whichever thread they occur.
pub trait NoticeObserver: fmt::Debug + Send + Sync {
    /// Receives one notice. It must not block for long, because the run waits.
    fn notice(&self, notice: Notice<'_>);
}

impl NoticeObserver for () {
    fn notice(&self, _notice: Notice<'_>) {}
}

/// Reports compilations as notices.
#[derive(Debug)]
pub(crate) struct CompileNotices(pub(crate) Arc<dyn NoticeObserver>);

impl CompileObserver for CompileNotices {
    fn started(&self, id: &str, bytes: usize) {
        self.0.notice(Notice::Compiling { id, bytes });
    }

    fn finished(&self, id: &str) {
        self.0.notice(Notice::Compiled { id });
    }

    fn slow(&self, id: &str, bytes: usize) {
        self.0.notice(Notice::SlowCompilation { id, bytes });
    }
}

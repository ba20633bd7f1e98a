//! Notices: what happens around a run and is not an error. They are reported to an observer as they happen.

use std::fmt;
use std::sync::Arc;

use graph_core::diagnostic::Diagnostics;
use graph_core::record::LogLevel;
use graph_core::trust::Yank;
use graph_engine::CompileObserver;
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
        /// Path of the node: the names of the nodes around its graph, then its own.
        path: &'n str,
        /// Place of the task's item, if the task is for an item of a `foreach`.
        item: Option<ItemPlace>,
        /// Severity that the component states.
        level: LogLevel,
        /// The line, without control characters.
        message: &'n str,
    },
    /// A component has emitted an event into the run's stream.
    Event {
        /// Path of the node: the names of the nodes around its graph, then its own.
        path: &'n str,
        /// Place of the task's item, if the task is for an item of a `foreach`.
        item: Option<ItemPlace>,
        /// The name that the component gave the event.
        name: &'n str,
        /// The value that the component gave the event.
        payload: &'n Value,
    },
    /// The run's state item could not be rewritten.
    RunItemOutdated {
        /// Id of the run.
        run: &'n str,
        /// Error of the write.
        error: &'n Error,
    },
    /// A published version is used although it is yanked: it is locked already, or the user has allowed it.
    Yanked {
        /// The id and the version of the item, as messages name it.
        item: &'n str,
        /// The yank.
        yank: &'n Yank,
    },
    /// A yank that was seen earlier is missing from the place of the published version.
    YankHidden {
        /// The id and the version of the item, as messages name it.
        item: &'n str,
    },
    /// Yanks that were seen could not be remembered: any writer of the place of the version can hide them.
    YanksNotKept {
        /// The id of the item, as messages name it.
        item: &'n str,
        /// Error of the write.
        error: &'n Error,
    },
    /// The yanks of a published version could not be read.
    YankUnknown {
        /// The item or its reference, as messages name it.
        item: &'n str,
        /// Reason, as a sentence for the user.
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

//! Options of a [`Runtime`](super::Runtime), and of its operations on runs.

use std::path::PathBuf;
use std::sync::Arc;

use graph_core::record::CheckpointSelector;
use graph_engine::Compiler;
use graph_store::CheckpointStore;
use graph_walker::walker::{Answers, Edit};
use serde_json::{Map, Value};

use crate::functions::Functions;
use crate::notice::NoticeObserver;
use crate::run::resume::RestoreOptions;
use crate::run::stores::StoreKind;
use crate::sources::Sources;

/// Settings of a [`Runtime`](super::Runtime), in addition to its project and its user's space. By default, runs are kept
/// in the project's database, components are compiled in this process, nothing is granted, and notices are ignored.
#[derive(Clone, Debug)]
pub struct Options {
    /// Sources of items and trust.
    pub sources: Sources,
    /// The file of the manifest that says what graphs may use; without it, nothing is allowed.
    pub manifest: Option<PathBuf>,
    /// Kind of the project's store of runs.
    pub kept: StoreKind,
    /// A store of the program's own, which replaces the project's.
    pub store: Option<Arc<dyn CheckpointStore>>,
    /// Compiles components, in this process or in a child process.
    pub compiler: Compiler,
    /// Receives notices about what happens around runs.
    pub notices: Arc<dyn NoticeObserver>,
    /// Items that the program performs itself. A manifest has to permit each.
    pub functions: Functions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sources: Sources::default(),
            manifest: None,
            kept: StoreKind::default(),
            store: None,
            compiler: Compiler::InProcess,
            notices: Arc::new(()),
            functions: Functions::default(),
        }
    }
}

/// Options for the plan of a graph.
#[derive(Clone, Debug, Default)]
pub struct PlanOptions {
    /// Sources of items and trust.
    pub sources: Sources,
    /// The file of the manifest that says what the graph may use; without it, nothing is allowed.
    pub manifest: Option<PathBuf>,
    /// The key with which the run may sign items: the name of one of the user's keys, or a file.
    pub sign_with: Option<String>,
}

/// Options of a resumed run. By default, nothing is answered and nothing changed.
#[derive(Clone, Debug, Default)]
pub struct ResumeOptions {
    /// Options that take effect before the run is restored.
    pub restore: RestoreOptions,
    /// Answers to its open questions.
    pub answers: Answers,
    /// New inputs, merged into those of the run. They start another turn of a run that has ended.
    pub inputs: Option<Map<String, Value>>,
    /// Values for channels, which are folded by their reducers before the run continues.
    pub update: Option<Map<String, Value>>,
    /// The new limit on its supersteps.
    pub max_steps: Option<u64>,
}

impl From<Answers> for ResumeOptions {
    fn from(answers: Answers) -> Self {
        Self { answers, ..Self::default() }
    }
}

/// Options of a fork.
#[derive(Clone, Debug)]
pub struct ForkOptions {
    /// The checkpoint that the new run begins with.
    pub at: CheckpointSelector,
    /// Writes to the state of the new run.
    pub edit: Option<Edit>,
    /// Id of the new run; without it, a fresh one.
    pub run_id: Option<String>,
}

impl From<CheckpointSelector> for ForkOptions {
    fn from(at: CheckpointSelector) -> Self {
        Self { at, edit: None, run_id: None }
    }
}

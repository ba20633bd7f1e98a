//! A run with the runs of the graphs inside its graph. It takes events and gives effects as one walker does, so that
//! whoever drives a run need not know how many there are.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Walker;
use super::event::{Effect, Event};
use super::setup::{HandleError, RestoreError, Restored, Setup, Summary};
use crate::graph::Graph;
use crate::time::Timestamp;

/// Walks a graph, and the graphs that its nodes name.
#[derive(Debug)]
pub struct RunTree {
    root: Walker,
}

/// What was read from a store, to restore a tree of runs from.
#[derive(Clone, Debug)]
pub struct RestoredTree {
    /// The run itself.
    pub root: Restored,
}

impl From<Restored> for RestoredTree {
    fn from(root: Restored) -> Self {
        Self { root }
    }
}

impl RunTree {
    /// A tree for a new run. Its first event is [`Event::Started`].
    pub fn new(graph: Arc<Graph>, setup: Setup) -> Self {
        Self { root: Walker::new(graph, setup) }
    }

    /// A tree for a run that was persisted. Its first event is [`Event::Resumed`].
    pub fn restore(graph: Arc<Graph>, setup: Setup, restored: RestoredTree) -> Result<Self, RestoreError> {
        Ok(Self { root: Walker::restore(graph, setup, restored.root)? })
    }

    /// A tree for a new run that begins where another run stood at a checkpoint: see [`Walker::fork`]. Its first event is
    /// [`Event::Forked`].
    pub fn fork(graph: Arc<Graph>, setup: Setup, of: Restored) -> Result<Self, RestoreError> {
        Ok(Self { root: Walker::fork(graph, setup, of)? })
    }

    /// Takes an event that happened at `now` and says what is to be done.
    pub fn handle(&mut self, now: Timestamp, event: Event) -> Result<Vec<Effect>, HandleError> {
        self.root.handle(now, event)
    }

    /// The run as it stands.
    pub fn summary(&self) -> Summary {
        self.root.summary()
    }

    /// The inputs of the run in a namespace, if it is under way.
    pub fn inputs_of(&self, namespace: &str) -> Option<Arc<Value>> {
        namespace.is_empty().then(|| Arc::clone(&self.root.setup.inputs))
    }

    /// The inputs as they would be with `new` ones merged over them, shallowly.
    pub fn merged_inputs(&self, new: &Map<String, Value>) -> Value {
        self.root.merged_inputs(new)
    }
}

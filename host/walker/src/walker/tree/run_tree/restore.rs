//! Restores a tree of runs from stored records.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Child, RunTree};
use crate::graph::Graph;
use crate::host_item::HostItem;
use crate::walker::Walker;
use crate::walker::setup::{Identity, RestoreError, Restored, Setup};
use crate::walker::tasks::superstep::Superstep;
use crate::walker::tree::names::{child_namespace, graph_of, namespace_of, task_of_child};
use crate::written_graph::WrittenLimits;
use graph_core::limits::ModelUse;
use graph_core::record::AcceptedPinChange;

/// The stored records that a tree of runs is restored from.
#[derive(Clone, Debug)]
pub struct RestoredTree {
    /// The records of the root run.
    pub root: Restored,
    /// The child runs of the uncommitted superstep and their own, as [`is_child_of`](crate::walker::is_child_of) selects them.
    pub children: Vec<RestoredChild>,
    /// `true` if graphs that have changed are used in their present form.
    pub accept_changes: bool,
}

/// A child run, as it was read from a store.
#[derive(Clone, Debug)]
pub struct RestoredChild {
    /// The child run's namespace.
    pub namespace: String,
    /// The inputs with which the run was started.
    pub inputs: Value,
    /// The records of the run.
    pub restored: Restored,
    /// The graph of the stored document, if the run has written the graph itself.
    pub graph: Option<Arc<Graph>>,
}

/// The tasks of the runs' next supersteps, by namespace, which child runs belong to.
type Previews = BTreeMap<Arc<str>, Option<Superstep>>;

impl From<Restored> for RestoredTree {
    fn from(root: Restored) -> Self {
        Self { root, children: Vec::new(), accept_changes: false }
    }
}

impl RunTree {
    /// Restores the tree of a stored run. Its first event is [`Event::Resumed`](crate::walker::Event::Resumed).
    pub fn restore(graph: Arc<Graph>, setup: Setup, restored: RestoredTree) -> Result<Self, RestoreError> {
        let RestoredTree { root, mut children, accept_changes } = restored;
        let resumed = setup.max_steps;
        let mut tree = Self::with(Walker::restore(graph, setup, root)?);
        tree.lifted = resumed;
        let accepted = tree.root.accepted().to_vec();
        // A parent's namespace comes before those of its children.
        children.sort_by(|one, other| one.namespace.cmp(&other.namespace));
        let mut previews = Previews::new();
        for child in children {
            tree.restore_child(child, accept_changes, &accepted, &mut previews)?;
        }
        let children: Vec<_> = tree.children.keys().cloned().collect();
        for namespace in children {
            tree.raise_above(&namespace);
        }
        if tree.root.status().is_paused() && tree.goes_on_below() {
            // If a resume was recorded, the runs that it has answered can continue without another answer.
            tree.root.restore_resumed();
        }
        Ok(tree)
    }

    fn restore_child(
        &mut self,
        child: RestoredChild,
        accept_changes: bool,
        accepted: &[AcceptedPinChange],
        previews: &mut Previews,
    ) -> Result<(), RestoreError> {
        let RestoredChild { namespace, inputs, mut restored, graph: kept } = child;
        let failed = |reason: String| RestoreError::Child { namespace: namespace.clone(), reason };
        let task = task_of_child(&namespace);
        let parent: Arc<str> = namespace_of(&namespace).into();
        // A child run of a superstep that is over, or of a node that the graph no longer has, is not restored.
        let Some(walker) = self.walker(&parent) else { return Ok(()) };
        if *child_namespace(walker, task) != *namespace {
            return Ok(());
        }
        if !previews.contains_key(&parent) {
            let preview = self.walker_mut(&parent).ok().and_then(Walker::preview);
            previews.insert(Arc::clone(&parent), preview);
        }
        let (Some(Some(superstep)), Some(walker)) = (previews.get(&parent), self.walker(&parent)) else {
            return Ok(());
        };
        let Some(found) = superstep.find(task).map(|at| &superstep.tasks()[at]) else { return Ok(()) };
        let node = walker.graph().node(superstep.node_of(found));
        let Some(dispatch) = found.dispatch() else { return Ok(()) };
        let is_written =
            HostItem::of_dispatch(dispatch.operation, dispatch.item_type, &dispatch.item_id).is_some();
        let graph = if is_written {
            // The document of a written graph is fixed: the one with the record counts, not that in the present params.
            Some(kept.as_ref().ok_or_else(|| failed("its document was not kept".to_owned()))?)
        } else {
            graph_of(&walker.setup().graphs, &dispatch.item_id)
        };
        let Some(graph) = graph else { return Ok(()) };
        if restored.checkpoint.graph != graph.digest {
            if !accept_changes || is_written {
                return Err(failed(format!(
                    "it was made with graph {}, and `{}` is {} now",
                    restored.checkpoint.graph, graph.id, graph.digest
                )));
            }
            restored.checkpoint.graph = graph.digest;
        }
        let (root, theirs) = (self.root.setup(), walker.setup());
        let setup = Setup {
            identity: Identity {
                run: format!("{}/{namespace}", root.identity.record_run()),
                root: root.identity.root.clone(),
                parent: Some(theirs.identity.run.clone()),
                namespace: namespace.clone(),
            },
            inputs: Arc::new(inputs),
            initial_state: serde_json::Map::new(),
            // The child's task sets the narrowed manifest when it continues the child.
            manifest: Arc::clone(&theirs.manifest),
            graphs: Arc::clone(&root.graphs),
            hooks: Arc::clone(&root.hooks),
            seed: root.seed,
            pins: root.pins,
            accepted: Vec::new(),
            durability: root.durability,
            max_steps: None,
            max_concurrency: root.max_concurrency,
        };
        let path = walker.path_of(&node.name);
        // Of the changes accepted since the root run's newest checkpoint, the child has seen the first ones.
        let unseen = accepted.iter().skip_while(|change| change.before != restored.checkpoint.pins);
        let unseen = unseen.cloned().collect();
        let mut restored =
            Walker::restore(Arc::clone(graph), setup, restored).map_err(|error| failed(error.to_string()))?;
        restored.become_child(path, unseen);
        restored.set_slice_length(self.root.slice_length());
        let child = Child {
            walker: restored,
            task: task.into(),
            parent,
            attempt: None,
            timed_by_node: false,
            models_of_node: ModelUse::UNBOUNDED,
            timed_out: false,
            warnings: Vec::new(),
            written: is_written.then_some(WrittenLimits::NONE),
        };
        self.children.insert(namespace.as_str().into(), child);
        Ok(())
    }
}

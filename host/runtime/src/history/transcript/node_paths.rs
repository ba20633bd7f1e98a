//! The paths of nodes to child runs.

use std::collections::{BTreeMap, BTreeSet};

use graph_core::record::Record;
use graph_core::trust::VerifyingKey;
use graph_store::CheckpointStore;
use graph_walker::walker::task_of_child;

use crate::error::Result;
use crate::run::restore;

/// Paths of nodes to the child runs in each namespace, read on demand: the records of a child run precede the record of
/// the superstep that names its node.
#[derive(Debug)]
pub(super) struct NodePaths<'s> {
    store: &'s dyn CheckpointStore,
    run: &'s str,
    key: Option<&'s VerifyingKey>,
    /// The tasks that have started child runs.
    tasks: BTreeSet<String>,
    /// The nodes of these tasks, as far as their runs have been read.
    nodes: BTreeMap<String, String>,
    /// The namespaces of runs that have been read.
    read: BTreeSet<String>,
}

impl<'s> NodePaths<'s> {
    /// Makes the paths of a run.
    pub(super) fn new(
        store: &'s dyn CheckpointStore,
        run: &'s str,
        key: Option<&'s VerifyingKey>,
        namespaces: &[String],
    ) -> Self {
        let children = namespaces.iter().filter(|namespace| !namespace.is_empty());
        let tasks = children.map(|namespace| task_of_child(namespace).to_owned()).collect();
        Self { store, run, key, tasks, nodes: BTreeMap::new(), read: BTreeSet::new() }
    }

    /// Returns the path to a node of the run in a namespace.
    pub(super) fn of(&mut self, namespace: &str, node: &str) -> Result<String> {
        let mut path = String::new();
        // From the top: each `/` ends a namespace.
        let ends = namespace.match_indices('/').map(|(at, _)| at).chain([namespace.len()]);
        for end in ends.filter(|end| *end > 0) {
            path.push_str(&self.node(&namespace[..end])?);
            path.push('/');
        }
        path.push_str(node);
        Ok(path)
    }

    /// Returns the node that has started the child run in a namespace; its task if no record names the node.
    fn node(&mut self, namespace: &str) -> Result<String> {
        let parent = namespace.rsplit_once('/').map_or("", |(parent, _)| parent);
        let task = task_of_child(namespace);
        if !self.nodes.contains_key(task) && self.read.insert(parent.to_owned()) {
            self.read(parent)?;
        }
        let own = task.rsplit_once('/').map_or(task, |(_, own)| own);
        Ok(self.nodes.get(task).cloned().unwrap_or_else(|| own.to_owned()))
    }

    fn read(&mut self, parent: &str) -> Result<()> {
        let Self { store, run, key, tasks, nodes, .. } = self;
        let mut add = |task: String, node: String| {
            if tasks.contains(&task) {
                nodes.entry(task).or_insert(node);
            }
        };
        restore::each_checkpoint(*store, run, parent, |record| {
            if let Record::Checkpoint(checkpoint) = restore::open_record(record, *key)? {
                checkpoint.tasks.into_iter().for_each(|task| add(task.task, task.node));
            }
            Ok(())
        })?;
        restore::each_pending(*store, run, parent, |record| {
            match restore::open_record(&record, *key)? {
                Record::Task(task) => add(task.task, task.node),
                Record::Status(status) => {
                    status.tasks.into_iter().for_each(|(task, used)| add(task, used.node));
                }
                _ => {}
            }
            Ok(())
        })
    }
}

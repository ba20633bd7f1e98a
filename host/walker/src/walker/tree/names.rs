//! Names of child runs: the namespace of a child is the id of its parent's task.

use std::sync::Arc;

use crate::graph::Graph;
use crate::walker::Walker;
use crate::walker::setup::Graphs;
use graph_core::id::without_version;
use graph_core::record::Checkpoint;

/// Returns the namespace of a task: the part of its id before the last `/`.
pub(crate) fn namespace_of(task: &str) -> &str {
    task.rsplit_once('/').map_or("", |(namespace, _)| namespace)
}

/// Returns the namespace of a task's child run. After boundaries that are not supersteps (new inputs, an update), a superstep with the
/// same number may be executed again: its child runs then start again, in a namespace with the mark `@` and the boundary's number.
pub(in crate::walker) fn child_namespace(walker: &Walker, task: &str) -> Arc<str> {
    let (sequence, step) = walker.boundary();
    name(task, sequence, step).into()
}

fn name(task: &str, sequence: u64, step: u64) -> String {
    if sequence == step { task.to_owned() } else { format!("{task}@{sequence}") }
}

/// Returns the id of the task whose child run has this namespace.
pub fn task_of_child(namespace: &str) -> &str {
    let segment = namespace.rfind('/').map_or(0, |at| at + 1);
    namespace[segment..].find('@').map_or(namespace, |at| &namespace[..segment + at])
}

/// Returns `true` if a run is below another one, at any level; the root run is below none.
pub(crate) fn is_below(namespace: &str, other: &str) -> bool {
    let below = namespace.strip_prefix(other).unwrap_or_default();
    if other.is_empty() { !below.is_empty() } else { below.starts_with('/') }
}

/// Returns `true` if the run in a namespace is a child of the superstep that follows a checkpoint: all others are history.
pub fn is_child_of(namespace: &str, parent: &Checkpoint) -> bool {
    let task = task_of_child(namespace);
    let Some((step, _)) = task[segment(task)..].split_once('.') else { return false };
    namespace_of(namespace) == parent.namespace
        && step.parse() == Ok(parent.step + 1)
        && name(task, parent.sequence, parent.step) == namespace
}

fn segment(task: &str) -> usize {
    task.rfind('/').map_or(0, |at| at + 1)
}

/// Number of levels that a run is below the root run.
pub(super) fn depth(namespace: &str) -> u32 {
    if namespace.is_empty() {
        return 0;
    }
    u32::try_from(namespace.split('/').count()).unwrap_or(u32::MAX)
}

/// Returns the graph with an item id, whatever its version; `None` if the item is not a graph.
pub(in crate::walker) fn graph_of<'g>(graphs: &'g Graphs, item: &str) -> Option<&'g Arc<Graph>> {
    graphs.get(&*without_version(item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_is_what_is_inside() {
        for (namespace, other, below) in [
            ("3.0", "", true),
            ("3.0@4/1.0", "", true),
            ("", "", false),
            ("3.0/1.2", "3.0", true),
            ("3.0", "3.0", false),
            ("3.0", "3.0/1.2", false),
            ("3.01/1.2", "3.0", false),
            ("3.0@4/1.0", "3.0", false),
        ] {
            assert_eq!(is_below(namespace, other), below, "{namespace} below {other}");
        }
    }

    #[test]
    fn a_child_is_named_after_its_task() {
        assert_eq!(name("3.0/1.2", 0, 0), "3.0/1.2");
        assert_eq!(name("3.0", 4, 2), "3.0@4");
        for (namespace, task, parent, levels) in [
            ("3.0", "3.0", "", 1),
            ("3.0@4", "3.0", "", 1),
            ("3.0@4/1.0", "3.0@4/1.0", "3.0@4", 2),
            ("3.0@4/1.0@2", "3.0@4/1.0", "3.0@4", 2),
        ] {
            assert_eq!(task_of_child(namespace), task);
            assert_eq!(namespace_of(namespace), parent);
            assert_eq!(depth(namespace), levels);
        }
    }
}

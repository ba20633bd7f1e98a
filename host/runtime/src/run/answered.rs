//! Finds questions that were answered in supersteps that have committed.

use std::collections::{BTreeMap, BTreeSet};

use graph_core::record::{Checkpoint, Record, TaskSummary};
use graph_core::trust::VerifyingKey;
use graph_store::CheckpointStore;
use graph_walker::walker::{AnsweredQuestion, task_of_child};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::run::restore;

/// Finds the question of a run that was answered last under a name: an id, a node, or a path such as `each#2/ask`.
pub(crate) fn find(
    store: &dyn CheckpointStore,
    run: &str,
    key: &VerifyingKey,
    name: &str,
) -> Result<Option<AnsweredQuestion>> {
    let mut namespaces = store.namespaces(run)?;
    if !namespaces.iter().any(String::is_empty) {
        namespaces.push(String::new());
    }
    let parents: BTreeSet<&str> = namespaces
        .iter()
        .filter(|namespace| !namespace.is_empty())
        .map(|child| task_of_child(child))
        .collect();
    let mut places = BTreeMap::new();
    let mut answered = Vec::new();
    for namespace in &namespaces {
        restore::each_checkpoint(store, run, namespace, |record| {
            let opened =
                record.open(key).map_err(|error| Error::integrity(error.to_string()).caused_by(error))?;
            let Record::Checkpoint(checkpoint) = opened else { return Ok(()) };
            for task in &checkpoint.tasks {
                if !task.answers.is_empty() || parents.contains(task.task.as_str()) {
                    places.insert(task.task.clone(), (task.node.clone(), number(&checkpoint, task)));
                }
                answered.extend(questions(task).map(|question| (checkpoint.at, question)));
            }
            Ok(())
        })?;
        // Tasks of a superstep that has not committed may have child runs with committed supersteps.
        let mut pending = Vec::new();
        restore::each_pending(store, run, namespace, |record| {
            if let Record::Task(task) =
                record.open(key).map_err(|error| Error::integrity(error.to_string()).caused_by(error))?
            {
                pending.push((task.task, task.node));
            }
            Ok(())
        })?;
        for (task, node) in pending.iter().filter(|(task, _)| parents.contains(task.as_str())) {
            let of_node = pending.iter().filter(|(_, other)| other == node);
            let first = of_node.map(|(task, _)| ordinal(task)).min().unwrap_or_default();
            let number = ordinal(task).saturating_sub(first).saturating_add(1);
            places.entry(task.clone()).or_insert_with(|| (node.clone(), number));
        }
    }
    answered.sort_by_key(|(at, _)| *at);
    Ok(answered.into_iter().rev().find_map(|(_, question)| {
        let task = question.id.rsplit_once('/').map_or("", |(task, _)| task);
        let path = path_to(task, &places);
        let plain: Vec<_> = path.iter().map(|(node, _)| node.as_str()).collect();
        let node = plain.join("/");
        (question.id == name || is_named(&path, name)).then_some(AnsweredQuestion { node, ..question })
    }))
}

/// Returns the questions of a task whose answers counted.
fn questions(task: &TaskSummary) -> impl Iterator<Item = AnsweredQuestion> {
    let counts = |number: &u32| !task.dropped.contains(number) && !task.granted.contains(number);
    (0_u32..).zip(&task.answers).filter(move |(number, _)| counts(number)).map(|(number, answer)| {
        AnsweredQuestion {
            id: format!("{}/{number}", task.task),
            node: task.node.clone(),
            answer: Value::clone(&answer.0),
            at: task.arrived.get(&number).copied(),
            expired: task.expired.get(&number).copied(),
            is_final: true,
            is_ask: task.item.is_none(),
            form: None,
        }
    })
}

/// Returns the number of a task among those of its node, from 1.
fn number(checkpoint: &Checkpoint, task: &TaskSummary) -> u64 {
    let of_node = checkpoint.tasks.iter().filter(|other| other.node == task.node);
    let first = of_node.map(|other| ordinal(&other.task)).min().unwrap_or_default();
    ordinal(&task.task).saturating_sub(first).saturating_add(1)
}

fn ordinal(task: &str) -> u64 {
    task.rsplit_once('.').and_then(|(_, ordinal)| ordinal.parse().ok()).unwrap_or_default()
}

/// Returns the nodes on the path to a task, each with the number of its task.
fn path_to(task: &str, places: &BTreeMap<String, (String, u64)>) -> Vec<(String, u64)> {
    let mut path = match task.rsplit_once('/') {
        Some((namespace, _)) => path_to(task_of_child(namespace), places),
        None => Vec::new(),
    };
    path.extend(places.get(task).cloned());
    path
}

fn is_named(path: &[(String, u64)], name: &str) -> bool {
    let mut parts = name.split('/');
    let is_part = |(node, number): &(String, u64)| {
        parts.next().is_some_and(|part| part == node || *part == format!("{node}#{number}"))
    };
    !path.is_empty() && path.iter().all(is_part) && parts.next().is_none()
}

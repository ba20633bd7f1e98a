//! Documents that are written: effects, notices, and summaries.

use graph_walker::walker::{HookSpec, Notice, Summary, TaskSpec, TimerId};
use serde_json::{Value, json};

use crate::VERSION;

/// Returns an attempt of a task, or a hook's dispatch, without its `effect`.
pub(super) fn spec(spec: &TaskSpec) -> Value {
    let mut activation = json!(spec.activation);
    // `null` is an argument; only a missing field is none.
    if let (None, Some(fields)) = (&spec.activation.argument, activation.as_object_mut()) {
        fields.remove("argument");
    }
    json!({
        "graph": spec.graph.id,
        "graph_digest": spec.graph.digest,
        "node": spec.graph.node(spec.node).name,
        "path": spec.path,
        "primary": spec.operation,
        "item_type": spec.item_type,
        "item_id": spec.item_id,
        "params": spec.params,
        "activation": activation,
        "limits": spec.limits,
        "clock": spec.clock,
        "seed": spec.seed,
        "narrowing": spec.manifest.narrowing(),
    })
}

/// Returns a hook's dispatch; it has no node.
pub(super) fn hook(hook: &HookSpec) -> Value {
    let mut written = spec(&hook.call);
    written["effect"] = json!("run_hook");
    written["event"] = json!(hook.event);
    written["hook"] = json!(hook.hook);
    written["layer"] = json!(hook.layer);
    written["node"] = Value::Null;
    written
}

/// Returns a timer.
pub(super) fn timer(timer: &TimerId) -> Value {
    match timer {
        TimerId::Retry { task, attempt } => json!({ "kind": "retry", "task": task, "attempt": attempt }),
        TimerId::RunTimeout => json!({ "kind": "run_timeout" }),
        TimerId::ChildTimeout { namespace } => json!({ "kind": "child_timeout", "namespace": namespace }),
    }
}

/// Returns a notice for observers of a run.
pub(super) fn notice(notice: &Notice) -> Value {
    match notice {
        Notice::SuperstepStarted { superstep, nodes, tasks } => {
            json!({ "notice": "superstep_started", "superstep": superstep, "nodes": nodes, "tasks": tasks })
        }
        Notice::TaskFinished { task, node, attempts, fuel, failure } => json!({
            "notice": "task_finished", "task": task, "node": node, "attempts": attempts, "fuel": fuel,
            "failure": failure,
        }),
        Notice::Cached { task, node, fuel, run } => {
            json!({ "notice": "cached", "task": task, "node": node, "fuel": fuel, "run": run })
        }
        Notice::Retrying { task, node, attempt, due, failure } => json!({
            "notice": "retrying", "task": task, "node": node, "attempt": attempt, "due": due, "failure": failure,
        }),
        Notice::Committed { superstep, nodes, fuel, changed } => {
            let changed: Vec<_> = changed
                .iter()
                .map(|change| json!({ "channel": change.channel, "appended": change.appended }))
                .collect();
            json!({
                "notice": "committed", "superstep": superstep, "nodes": nodes, "fuel": fuel, "changed": changed,
            })
        }
        Notice::HookFinished(summary) => json!({ "notice": "hook_finished", "summary": summary }),
        Notice::Stopped(error) => json!({ "notice": "stopped", "error": error }),
        Notice::Warning(warning) => json!({ "notice": "warning", "message": warning }),
        Notice::ChildStarted { namespace, path, graph, .. } => {
            json!({ "notice": "child_started", "namespace": namespace, "path": path, "graph": graph })
        }
        Notice::Child { namespace, path, notice: inner } => {
            json!({ "notice": "child", "namespace": namespace, "path": path, "inner": self::notice(inner) })
        }
    }
}

/// Returns the current summary of a run.
pub(super) fn summary(summary: &Summary) -> Value {
    let checkpoint = summary.checkpoint.map(|newest| {
        json!({
            "sequence": newest.sequence, "digest": newest.digest, "result_digest": newest.result_digest.0,
        })
    });
    json!({
        "version": VERSION,
        "status": summary.status,
        "ended_by": summary.ended_by,
        "limit_reached": summary.limit_reached,
        "state": summary.state,
        "output": summary.output,
        "inputs": summary.inputs,
        "steps": summary.steps,
        "visited_digest": summary.visited_digest,
        "executions": summary.executions,
        "cached": summary.cached,
        "failed": summary.failed,
        "next": summary.next,
        "interrupts": summary.interrupts,
        "error": summary.error,
        "warnings": summary.warnings,
        "fuel": summary.fuel,
        "host": summary.host,
        "checkpoint": checkpoint,
    })
}

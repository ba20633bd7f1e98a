//! Events of a run at which hooks are asked, the layers of hooks, and the results that control a run.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An event of a run at which hooks are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEvent {
    /// The run has started, before its first superstep.
    GraphStarted,
    /// A task has committed; the next superstep has not started.
    AfterStep,
    /// A task has failed, and its retry policy is used up.
    Error,
    /// The run is about to stop at a limit.
    Limit,
    /// The run is about to wait for answers.
    Interrupt,
    /// The end of the run is stored, or the run is about to stop at a limit that no hook has extended.
    GraphCompleted,
}

impl HookEvent {
    /// All events, in the order of the reference.
    pub const ALL: [Self; 6] = [
        Self::GraphStarted,
        Self::AfterStep,
        Self::Error,
        Self::Limit,
        Self::Interrupt,
        Self::GraphCompleted,
    ];

    /// Returns the name in documents and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GraphStarted => "graph_started",
            Self::AfterStep => "after_step",
            Self::Error => "error",
            Self::Limit => "limit",
            Self::Interrupt => "interrupt",
            Self::GraphCompleted => "graph_completed",
        }
    }

    /// Returns the roots of paths that conditions and templates of the event's hooks can read.
    pub const fn roots(self) -> &'static [&'static str] {
        match self {
            Self::GraphStarted => &["event", "graph_id", "run", "state", "inputs", "step_count"],
            Self::AfterStep => &[
                "event",
                "graph_id",
                "run",
                "state",
                "inputs",
                "step_count",
                "node",
                "task",
                "attempt",
                "result",
                "next",
                "next_node",
            ],
            Self::Error => &[
                "event",
                "graph_id",
                "run",
                "state",
                "inputs",
                "step_count",
                "node",
                "task",
                "attempt",
                "error",
                "classification",
            ],
            Self::Limit => &[
                "event",
                "graph_id",
                "run",
                "state",
                "inputs",
                "step_count",
                "limit_code",
                "current_value",
                "current_max",
                "next",
            ],
            Self::Interrupt => {
                &["event", "graph_id", "run", "state", "inputs", "step_count", "node", "interrupts"]
            }
            Self::GraphCompleted => &[
                "event",
                "graph_id",
                "run",
                "state",
                "inputs",
                "step_count",
                "steps",
                "status",
                "ended_by",
                "output",
                "error",
            ],
        }
    }

    /// Checks whether a control result has an effect at this event.
    pub const fn takes(self, control: ControlAction) -> bool {
        match control {
            ControlAction::Retry => matches!(self, Self::Error),
            ControlAction::Fail | ControlAction::Continue => matches!(self, Self::Error | Self::Limit),
            ControlAction::Abort => !matches!(self, Self::GraphCompleted),
        }
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The layer of a hook. Lower layers are asked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookLayer {
    /// The `hooks` of the graph.
    Graph,
    /// The project's: `.ai/hooks.yaml`.
    Project,
    /// The user's: they observe, and never control.
    Infra,
}

impl HookLayer {
    /// Returns the number in documents and records, from 1.
    pub const fn number(self) -> u8 {
        match self {
            Self::Graph => 1,
            Self::Project => 2,
            Self::Infra => 3,
        }
    }

    /// Checks whether hooks of this layer can change how the run continues.
    pub const fn controls(self) -> bool {
        !matches!(self, Self::Infra)
    }
}

/// A hook's decision about how a run continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    /// The way in which the run continues.
    pub action: ControlAction,
    /// With `continue` at a limit, the number of additional supersteps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_steps: Option<u64>,
    /// With `retry`, the number of retries of one task by hooks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
}

/// The ways in which a run can continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlAction {
    /// The failed task is tried once more.
    Retry,
    /// The failure, or the limit, stays.
    Fail,
    /// The run fails at once.
    Abort,
    /// The failure is passed as `on_error: continue` does; at a limit, more supersteps may run.
    Continue,
}

impl ControlAction {
    /// All actions, in the order of the reference.
    pub const ALL: [Self; 4] = [Self::Retry, Self::Fail, Self::Abort, Self::Continue];

    /// Returns the name in documents and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Fail => "fail",
            Self::Abort => "abort",
            Self::Continue => "continue",
        }
    }
}

impl fmt::Display for ControlAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Control {
    /// Reads the control result in an item's answer; `None` if the answer has no known `action`. The error says which field is invalid.
    pub fn read(answer: &Value) -> Result<Option<Self>, String> {
        let Some(fields) = answer.as_object() else { return Ok(None) };
        let named = fields.get("action").and_then(Value::as_str);
        let Some(action) = ControlAction::ALL.into_iter().find(|action| named == Some(action.as_str()))
        else {
            return Ok(None);
        };
        let number = |key: &str| match fields.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_u64().filter(|number| *number > 0).map(Some).ok_or_else(|| {
                format!("its control result has `{key}: {value}`, which must be a whole number, at least 1")
            }),
        };
        let max_retries = number("max_retries")?.map(|most| u32::try_from(most).unwrap_or(u32::MAX));
        Ok(Some(Self { action, additional_steps: number("additional_steps")?, max_retries }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_are_read() {
        let read = |value: Value| Control::read(&value);
        assert_eq!(read(json!(null)), Ok(None));
        assert_eq!(read(json!({"action": "created", "max_retries": "many"})), Ok(None));
        let retry = Control { action: ControlAction::Retry, additional_steps: None, max_retries: Some(2) };
        assert_eq!(read(json!({"action": "retry", "max_retries": 2, "more": 1})), Ok(Some(retry)));
        for wrong in [json!(0), json!(-1), json!(1.5), json!("2")] {
            assert!(read(json!({"action": "retry", "max_retries": wrong})).is_err());
        }
    }

    #[test]
    fn every_control_means_something_somewhere_and_none_at_the_end() {
        for action in ControlAction::ALL {
            assert!(HookEvent::ALL.into_iter().any(|event| event.takes(action)));
            assert!(!HookEvent::GraphCompleted.takes(action));
        }
    }
}

//! Limits that a document sets for its nodes, and for each of their tasks.

use std::time::Duration;

use super::{ModelFigure, ModelUse, TaskLimits};

/// Limits of a document. They lower those of the manifest, and never raise them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeLimits {
    /// Fuel of one attempt.
    pub fuel: Option<u64>,
    /// Bytes of linear memory.
    pub memory: Option<u64>,
    /// Wall time of one attempt.
    pub timeout: Option<Duration>,
    /// Use of language models of each task: all its attempts together, and the whole of a child run.
    pub model: ModelLimits,
}

/// A budget of language models. A figure that is `None` is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelLimits {
    /// Requests.
    pub calls: Option<u64>,
    /// Tokens of requests.
    pub input: Option<u64>,
    /// Tokens of answers.
    pub output: Option<u64>,
    /// Cost, in millionths of the manifest's currency.
    pub cost: Option<u64>,
}

impl NodeLimits {
    /// Returns these limits; `others` fills in those that are `None`.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            fuel: self.fuel.or(others.fuel),
            memory: self.memory.or(others.memory),
            timeout: self.timeout.or(others.timeout),
            model: self.model.or(others.model),
        }
    }

    /// Lowers the limits of a task to these. The floor for a last request becomes a part of the lowered budget.
    #[must_use]
    pub fn lower(self, limits: TaskLimits) -> TaskLimits {
        let model = limits.model.min(self.model.budget());
        let floor = |floor| if model == limits.model { floor } else { model.floor() };
        TaskLimits {
            fuel: limits.fuel.min(self.fuel.unwrap_or(u64::MAX)),
            memory: limits.memory.min(self.memory.unwrap_or(u64::MAX)),
            timeout: limits.timeout.min(self.timeout.unwrap_or(Duration::MAX)),
            model,
            model_floor: limits.model_floor.map(floor),
            ..limits
        }
    }
}

impl ModelLimits {
    /// Checks whether no figure is limited.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the limit of a figure.
    pub const fn of(self, figure: ModelFigure) -> Option<u64> {
        match figure {
            ModelFigure::Calls => self.calls,
            ModelFigure::InputTokens => self.input,
            ModelFigure::OutputTokens => self.output,
            ModelFigure::Cost => self.cost,
        }
    }

    /// Sets the limit of a figure.
    pub const fn set(&mut self, figure: ModelFigure, most: Option<u64>) {
        match figure {
            ModelFigure::Calls => self.calls = most,
            ModelFigure::InputTokens => self.input = most,
            ModelFigure::OutputTokens => self.output = most,
            ModelFigure::Cost => self.cost = most,
        }
    }

    /// Returns these limits; `others` fills in those that are `None`.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            calls: self.calls.or(others.calls),
            input: self.input.or(others.input),
            output: self.output.or(others.output),
            cost: self.cost.or(others.cost),
        }
    }

    /// Returns the limits as an amount, in which `u64::MAX` means no limit.
    pub fn budget(self) -> ModelUse {
        ModelUse {
            calls: self.calls.unwrap_or(u64::MAX),
            input: self.input.unwrap_or(u64::MAX),
            output: self.output.unwrap_or(u64::MAX),
            cost: self.cost.unwrap_or(u64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn models() -> impl Strategy<Value = ModelLimits> {
        let figure = || proptest::option::of(prop_oneof![0..5_u64, any::<u64>()]);
        (figure(), figure(), figure(), figure()).prop_map(|(calls, input, output, cost)| ModelLimits {
            calls,
            input,
            output,
            cost,
        })
    }

    fn limits() -> impl Strategy<Value = NodeLimits> {
        let some = || proptest::option::of(any::<u64>());
        (some(), some(), some(), models()).prop_map(|(fuel, memory, timeout, model)| NodeLimits {
            fuel,
            memory,
            timeout: timeout.map(Duration::from_millis),
            model,
        })
    }

    proptest! {
        #[test]
        fn a_node_only_lowers(own in limits(), graph in limits(), model in models(), finishes: bool) {
            let model = model.budget();
            let model_floor = finishes.then(|| model.floor());
            let before = TaskLimits { model, model_floor, ..TaskLimits::DEFAULT };
            let after = own.or(graph).lower(before);
            prop_assert_eq!(after.min(before), after);
            prop_assert_eq!(after.model.above(before.model), None);
            prop_assert_eq!(after.model_floor.is_some(), finishes);
            // A last request has to fit into the task's budget.
            prop_assert_eq!(after.model_floor.unwrap_or_default().above(after.model), None);
            prop_assert_eq!(NodeLimits::default().lower(before), before);
        }
    }
}

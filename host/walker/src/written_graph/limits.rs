//! Limits that a caller of `graph/run` sets for the run of its document.

use serde_json::{Map, Value};

use graph_core::limits::{Budget, ModelUse, RunLimits, read_cost};

/// Limits of the run of a written graph, its own child runs included. A figure without a limit is `u64::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenLimits {
    /// Supersteps.
    pub steps: u64,
    /// Fuel of components and of the host's own work together.
    pub fuel: u64,
    /// Calls of the host that ask the world.
    pub calls: u64,
    /// Bytes of the requests and answers of those calls.
    pub bytes: u64,
    /// Use of language models.
    pub model: ModelUse,
}

impl WrittenLimits {
    /// Limits that leave those of the run around it unchanged.
    pub const NONE: Self = Self {
        steps: u64::MAX,
        fuel: u64::MAX,
        calls: u64::MAX,
        bytes: u64::MAX,
        model: ModelUse::UNBOUNDED,
    };

    /// Reads the limits from params that fit the schema of `graph/run`. The error is the name of a figure that is not usable.
    pub(super) fn read(limits: &Map<String, Value>) -> Result<Self, &'static str> {
        let empty = Map::new();
        let of_model = limits.get("model").and_then(Value::as_object).unwrap_or(&empty);
        Ok(Self {
            steps: whole(limits, "steps")?,
            fuel: whole(limits, "fuel")?,
            calls: whole(limits, "calls")?,
            bytes: whole(limits, "bytes")?,
            model: ModelUse {
                calls: whole(of_model, "calls")?,
                input: whole(of_model, "input_tokens")?,
                output: whole(of_model, "output_tokens")?,
                cost: match of_model.get("cost") {
                    None => u64::MAX,
                    Some(cost) => read_cost(&cost.to_string()).ok_or("cost")?,
                },
            },
        })
    }

    /// Lowers the limits of a run to these.
    #[must_use]
    pub fn lower(&self, run: RunLimits) -> RunLimits {
        RunLimits {
            steps: run.steps.min(self.steps),
            fuel: run.fuel.min(self.fuel),
            calls: run.calls.min(self.calls),
            bytes: run.bytes.min(self.bytes),
            model: run.model.min(self.model),
            // A caller that limits models gets a failure once the limit is used up, since an answer could not raise it.
            model_asks: run.model_asks && self.model == ModelUse::UNBOUNDED,
            ..run
        }
    }

    /// Returns `true` if a budget of `run`, a result of [`Self::lower`], has the value of these limits.
    pub fn sets(&self, budget: Budget, run: &RunLimits) -> bool {
        const UNBOUNDED: RunLimits = RunLimits {
            fuel: u64::MAX,
            calls: u64::MAX,
            bytes: u64::MAX,
            steps: u64::MAX,
            state: u64::MAX,
            results: u64::MAX,
            stored: u64::MAX,
            model: ModelUse::UNBOUNDED,
            ..RunLimits::DEFAULT
        };
        let own = budget.of(&self.lower(UNBOUNDED));
        budget != Budget::Work && own != u64::MAX && own == budget.of(run)
    }
}

fn whole(limits: &Map<String, Value>, name: &'static str) -> Result<u64, &'static str> {
    match limits.get(name) {
        None => Ok(u64::MAX),
        Some(figure) => figure.as_u64().ok_or(name),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_only_lower_and_say_which_are_their_own() {
        let limits = json!({ "fuel": 5, "steps": 7, "model": { "calls": 2, "cost": 0.25 } });
        let limits = WrittenLimits::read(limits.as_object().unwrap()).unwrap();
        let lowered = limits.lower(RunLimits { steps: 3, ..RunLimits::DEFAULT });
        assert_eq!((lowered.fuel, lowered.steps, lowered.calls), (5, 3, RunLimits::DEFAULT.calls));
        assert_eq!((lowered.model.calls, lowered.model.cost), (2, 250_000));
        let own = [Budget::Fuel, Budget::ModelCalls, Budget::ModelCost];
        for budget in [Budget::Steps, Budget::Calls, Budget::State, Budget::Work, Budget::ModelInputTokens] {
            assert!(!limits.sets(budget, &lowered), "{budget:?}");
        }
        assert!(own.into_iter().all(|budget| limits.sets(budget, &lowered)));
        assert_eq!(WrittenLimits::read(&Map::new()), Ok(WrittenLimits::NONE));
        assert_eq!(WrittenLimits::NONE.lower(RunLimits::DEFAULT), RunLimits::DEFAULT);
        let none = json!({ "model": { "cost": 1e-9 } });
        assert_eq!(WrittenLimits::read(none.as_object().unwrap()), Err("cost"));
    }
}

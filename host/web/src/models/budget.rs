//! Budget of one component for language models.

use graph_core::json::canonical_string;
use graph_core::limits::{ModelUse, TaskLimits};
use graph_core::model_budget::ModelBudget;
use graph_core::record::JournalEntry;
use serde_json::{Map, Value, json};

use crate::{Problem, read};

/// Budget of one component for language models: limits, use, and the reservation of the request under way.
#[derive(Clone, Debug)]
pub struct ComponentBudget {
    pub(super) own: ModelBudget,
    /// Use by the calling components, up to the call.
    around: ModelUse,
}

impl ComponentBudget {
    /// Opens an unused budget. `limits` are those of effects and grants; the smaller of each counts. Without any, there is no limit.
    pub fn open(limits: &[String]) -> Result<Self, Problem> {
        let mut most = TaskLimits::UNBOUNDED;
        for limits in limits {
            most = most.min(read::document("limits", limits)?);
        }
        Ok(Self::new(&most, ModelUse::NOTHING))
    }

    /// Opens the budget of a called component: what is left here, and at most its own limits. Its use is charged here when it has ended.
    pub fn inside(&self, limits: &str) -> Result<Self, Problem> {
        let own: TaskLimits = read::document("limits", limits)?;
        let limits = TaskLimits { model: self.own.left().min(own.model), ..own };
        Ok(Self::new(&limits, self.used_around()))
    }

    fn new(limits: &TaskLimits, around: ModelUse) -> Self {
        let floor = limits.model_floor.unwrap_or(ModelUse::NOTHING);
        let own = ModelBudget::new(limits.model).with_floor(floor).with_nodes(limits.model_of_nodes);
        Self { own, around }
    }

    /// Returns the use by this component and by those that called it.
    pub(super) fn used_around(&self) -> ModelUse {
        self.around.plus(self.own.used())
    }

    /// Charges the use of a called component or of a recorded call.
    pub fn charge(&mut self, used: &str) -> Result<(), Problem> {
        self.own.charge(read::document("use of models", used)?);
        Ok(())
    }

    /// Returns the use, as JSON: an object of `calls`, `input`, `output` (in tokens) and `cost` (in millionths), without zeros.
    pub fn used(&self) -> String {
        canonical_string(&json!(self.own.used()))
    }

    /// Returns the rest of the budget, as JSON, without unlimited figures.
    pub fn left(&self) -> String {
        let ModelUse { calls, input, output, cost } = self.own.left();
        let figures = [("calls", calls), ("input", input), ("output", output), ("cost", cost)];
        let limited = figures.into_iter().filter(|(_, left)| *left != u64::MAX);
        let left: Map<_, _> = limited.map(|(name, left)| (name.to_owned(), json!(left))).collect();
        canonical_string(&Value::Object(left))
    }
}

/// Returns the model use of a call, from its entry in a journal, in the form of [`ComponentBudget::used`].
pub fn used_in(entry: &str) -> Result<String, Problem> {
    let entry: JournalEntry = read::document("entry", entry)?;
    Ok(canonical_string(&json!(entry.model_use())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graph_core::capability::ModelPrice;

    use super::*;

    fn limits(model: ModelUse) -> String {
        json!(TaskLimits { model, ..TaskLimits::DEFAULT }).to_string()
    }

    fn of(calls: u64, input: u64, output: u64, cost: u64) -> ModelUse {
        ModelUse { calls, input, output, cost }
    }

    #[test]
    fn the_smaller_of_each_limit_holds() {
        let effect = limits(of(3, 1000, u64::MAX, u64::MAX));
        let grant = limits(of(5, 500, 70, u64::MAX));
        let mut budget = ComponentBudget::open(&[effect, grant]).unwrap();
        assert_eq!(budget.left(), r#"{"calls":3,"input":500,"output":70}"#);
        budget.charge(r#"{"calls":1,"input":100,"cost":18446744073709551615}"#).unwrap();
        assert_eq!(budget.left(), r#"{"calls":2,"input":400,"output":70}"#);
        // The use is capped to a figure that a store can hold.
        assert_eq!(budget.used(), r#"{"calls":1,"cost":9223372036854775807,"input":100}"#);

        let inside = budget.inside(&limits(of(7, 50, 7000, 12))).unwrap();
        assert_eq!(inside.left(), r#"{"calls":2,"cost":12,"input":50,"output":70}"#);
        assert_eq!(inside.used(), "{}");
    }

    #[test]
    fn limits_that_say_nothing_of_models_have_the_defaults() {
        let text = json!(TaskLimits::DEFAULT).to_string();
        assert!(!text.contains("model"), "{text}");
        assert_eq!(ComponentBudget::open(&[text]).unwrap().own.left(), ModelUse::OF_TASK);
        assert_eq!(ComponentBudget::open(&[]).unwrap().left(), "{}");
        assert_eq!(ComponentBudget::open(&["{}".to_owned()]).unwrap_err().code, "invalid_json");
        assert!(ComponentBudget::open(&[]).unwrap().charge(r#"{"tokens":1}"#).is_err());
    }

    #[test]
    fn what_is_set_aside_is_not_left() {
        let mut budget = ComponentBudget::open(&[limits(of(2, 1000, 100, u64::MAX))]).unwrap();
        budget.own.reserve(300, 50, &ModelPrice::default()).unwrap();
        assert_eq!(budget.left(), r#"{"calls":1,"input":700,"output":50}"#);
        assert_eq!(budget.used(), "{}");
    }

    #[test]
    fn an_entry_says_what_it_has_used() {
        let entry = |interface: &str, function: &str, result: Value| {
            json!({ "interface": interface, "function": function, "ok": true, "request": {}, "result": result }).to_string()
        };
        let used = json!({ "calls": 1, "input": 7 });
        let model = entry("graph-host:host/model", "complete", json!({ "response": {}, "used": used }));
        assert_eq!(used_in(&model).unwrap(), used.to_string());
        let tools = entry("graph-host:host/tools", "call", json!({ "host": { "calls": 3, "model": used } }));
        assert_eq!(used_in(&tools).unwrap(), used.to_string());
        let other = entry("wasi:http/outgoing-handler", "handle", json!({ "used": used }));
        assert_eq!(used_in(&other).unwrap(), "{}");
        assert!(used_in("{}").is_err());
    }
}

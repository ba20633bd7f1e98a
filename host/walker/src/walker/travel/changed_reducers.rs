//! Channels whose reducer a changed graph has replaced: the new reducer must be able to hold the stored value.

use serde_json::{Map, Value, json};

use crate::walker::Walker;
use crate::walker::interrupt::resume::refused;
use crate::walker::setup::HandleError;
use crate::walker::state::reduce::{holds, kind, overwritten};
use graph_core::diagnostic::excerpt_up_to;
use graph_core::json;
use graph_core::json::TreeLimit;
use graph_core::policy::Reducer;
use graph_core::record::ErrorCode;

/// Limit of a value's length in a message, in bytes.
const SHOWN: usize = 200;

impl Walker {
    /// Checks that every channel can hold its stored value, or that `update` overwrites the value. Fails only after
    /// accepted changes of the graph.
    pub(in crate::walker) fn check_changed_reducers(
        &self,
        update: Option<&Map<String, Value>>,
    ) -> Result<(), HandleError> {
        if self.accepted().is_empty() {
            return Ok(());
        }
        let is_settled = |channel: &str, reducer: Reducer| {
            let written = update.and_then(|update| overwritten(update.get(channel)?));
            reducer != Reducer::Untracked && written.is_some_and(|value| holds(reducer, value).0)
        };
        let mut lines = Vec::new();
        let mut settling = Vec::new();
        for (channel, reducer, value) in self.channels.misfits() {
            if is_settled(channel, reducer) {
                continue;
            }
            let name = self.path_of(channel);
            let shown = excerpt_up_to(&value.to_string(), SHOWN);
            if reducer == Reducer::Untracked {
                lines.push(format!(
                    "`{name}` is `untracked` now and is never stored: its value {shown} would be lost"
                ));
                continue;
            }
            let (_, wanted) = holds(reducer, value);
            let found = kind(value);
            lines.push(format!(
                "`{name}` is a `{}` channel now and holds {wanted}; its value is {found}, {shown}",
                reducer.as_str()
            ));
            let overwrite = json!({ "overwrite": converted(reducer, value) });
            settling.push((channel.to_owned(), overwrite));
        }
        if lines.is_empty() {
            return Ok(());
        }
        let lines: Vec<_> = lines.into_iter().map(|line| format!("\n- {line}")).collect();
        // An ended run is not edited in the call that starts its new turn.
        let message = format!("the changed graph cannot take over what channels hold:{}", lines.concat());
        if settling.is_empty() || !self.path().is_empty() || self.end().is_some() {
            let message = format!("{message}\ngive the channel a reducer that takes its value");
            return Err(refused(ErrorCode::Integrity, message));
        }
        Err(HandleError::Unfit { message, run: self.setup().identity.run.clone(), updates: settling })
    }
}

/// Converts a value to one that a channel with that reducer can hold: a list of the value, the number that a text
/// contains, or an empty value.
fn converted(reducer: Reducer, value: &Value) -> Value {
    match reducer {
        Reducer::Min | Reducer::Max | Reducer::Sum => {
            let number = value.as_str().and_then(|text| json::read::<Value>(text, TreeLimit::VALUE).ok());
            number.filter(Value::is_number).unwrap_or_else(|| json!(0))
        }
        Reducer::Merge => json!({}),
        _ if value.is_null() || value.to_string().len() > SHOWN => json!([]),
        _ => json!([value]),
    }
}

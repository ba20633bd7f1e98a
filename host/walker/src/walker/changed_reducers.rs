//! Channels whose reducer a changed graph has replaced: they have to be able to hold the values that are stored.

use serde_json::{Map, Value, json};

use super::Walker;
use super::reduce::{holds, kind, overwritten};
use super::resume::refused;
use super::setup::HandleError;
use graph_core::diagnostic::{excerpt_up_to, shell_quoted};
use graph_core::json;
use graph_core::json::TreeLimit;
use graph_core::policy::Reducer;
use graph_core::record::ErrorCode;

/// The longest value that a refusal shows.
const SHOWN: usize = 200;

impl Walker {
    /// Checks that every channel can hold its stored value, or that `update` overwrites it. Only accepted changes of the graph can
    /// have caused that.
    pub(super) fn check_changed_reducers(
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
            let text = json!({ "overwrite": converted(reducer, value) }).to_string();
            settling.push(format!("--update {}", shell_quoted(&format!("{channel}={text}"))));
        }
        if lines.is_empty() {
            return Ok(());
        }
        let lines: Vec<_> = lines.into_iter().map(|line| format!("\n- {line}")).collect();
        let remedy = if settling.is_empty() || !self.path().is_empty() {
            "give the channel a reducer that takes its value".to_owned()
        } else {
            let run = shell_quoted(&self.setup().identity.run);
            let updates = settling.join(" ");
            format!("settle it in the same call: graph-host resume {run} --accept-changes {updates}")
        };
        let message =
            format!("the changed graph cannot take over what channels hold:{}\n{remedy}", lines.concat());
        Err(refused(ErrorCode::Integrity, message))
    }
}

/// A value that a channel with that reducer can hold instead: the same one in a list, the number that a text is, or an empty one.
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

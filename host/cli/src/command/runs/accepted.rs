//! Accepted changes of a run, for `runs show` and `runs history`: the user resumed the run although its graph, manifest or components had
//! changed.

use graph_core::diagnostic::printable;
use graph_core::record::AcceptedPinChange;
use graph_host::terminal::local_time::local_time;
use graph_host::terminal::output::{self, Output, styled};
use graph_runtime::error::Result;
use serde_json::{Value, json};

pub(super) fn document(accepted: &[(u64, AcceptedPinChange)]) -> Value {
    let documents = accepted.iter().map(|(under, accepted)| {
        json!({
            "checkpoint": under,
            "at": accepted.at.to_string(),
            "key_id": accepted.by,
            "pins_before": accepted.before,
            "pins_after": accepted.after,
            "changes": accepted.changes,
        })
    });
    documents.collect()
}

pub(super) fn show(accepted: &[(u64, AcceptedPinChange)], output: Output) -> Result<()> {
    for (under, accepted) in accepted {
        output.line(format_args!(
            "{} after checkpoint {under} at {} by key {}",
            styled(output::CAUTION, "changes accepted"),
            local_time(accepted.at),
            accepted.by.short()
        ))?;
        for change in &accepted.changes {
            for (number, line) in change.lines().enumerate() {
                let mark = if number == 0 { "  - " } else { "      " };
                output.line(format_args!("{mark}{}", printable(line)))?;
            }
        }
    }
    Ok(())
}

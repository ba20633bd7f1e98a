//! `graph-host trust log`: lists the accepted items and changes of keys.

use graph_core::diagnostic::printable;
use graph_core::digest::Digest;
use graph_core::trust::{KeyId, LogEntry};
use graph_host::context::Context;
use graph_host::terminal::output::{BOLD, DIM, GOOD, styled};
use graph_host::terminal::paths::shown;
use graph_host::terminal::run_report::counted;
use graph_runtime::error::Result;
use graph_runtime::trust::log::TrustLog;
use serde_json::json;

/// Prints the log, or with `verify` only that it is intact. In both cases every line is checked.
pub(super) fn run(verify: bool, context: &Context) -> Result<()> {
    let log = TrustLog::in_home(&context.host.home);
    let entries = log.read()?;
    let file = shown(&log.file());
    let output = context.output;
    if output.is_json() {
        let mut document = json!({ "file": file, "intact": true, "lines": entries.len() });
        if !verify {
            document["entries"] = entries.iter().map(document_of).collect();
        }
        return output.document(&document);
    }
    if verify {
        let lines = counted(entries.len() as u64, "line");
        return output.line(format_args!("{} {file} is intact: {lines}", styled(GOOD, "✓")));
    }
    if entries.is_empty() {
        output.note(format_args!("nothing was accepted yet: {file}"));
    }
    for entry in &entries {
        let keys: Vec<_> = entry.keys.iter().map(KeyId::short).collect();
        let keys = if keys.is_empty() { String::new() } else { format!("  by {}", keys.join(", ")) };
        let digest = entry.digest.as_ref().map(|digest| format!("  {}", digest.short())).unwrap_or_default();
        output.line(format_args!(
            "{}  {:<17}  {}{digest}{keys}",
            styled(DIM, entry.at),
            entry.event.as_str(),
            styled(BOLD, printable(&entry.item)),
        ))?;
    }
    Ok(())
}

/// Restores a missing head if that is safe, and prints the outcome.
pub(super) fn repair(context: &Context) -> Result<()> {
    let log = TrustLog::in_home(&context.host.home);
    let restored = log.repair()?;
    let file = shown(&log.file());
    let output = context.output;
    if output.is_json() {
        return output.document(&json!({ "file": file, "repaired": restored.is_some(), "lines": restored }));
    }
    match restored {
        None => {
            output.line(format_args!("{} {file} is intact: there is nothing to repair", styled(GOOD, "✓")))
        }
        Some(lines) => {
            let lines = counted(lines, "line");
            output.line(format_args!(
                "{} the head of {file} is written again: {lines} kept, none changed; the log says so in a line of its own",
                styled(GOOD, "✓")
            ))
        }
    }
}

fn document_of(entry: &LogEntry) -> serde_json::Value {
    json!({
        "at": entry.at.to_string(),
        "event": entry.event,
        "item": entry.item,
        "digest": entry.digest,
        "key_ids": entry.keys,
        "statement": entry.statement.as_ref().map(Digest::to_string),
    })
}

//! Writes a trust store, or a change of it, to `trust.yaml`.

use std::fmt::Write as _;

use super::super::store::{Revocation, TrustedKey};
use crate::diagnostic::Problems;
use crate::yaml::{self, Yaml};

/// Returns the column of the dashes, from 0, if the keys are a block list.
pub(super) fn indent_of_entries(text: &str) -> Option<usize> {
    let root = yaml::parse(text, &Problems::new())?;
    let first = root.as_mapping()?.get("keys")?.as_list()?.first()?;
    first.span.column.checked_sub(3)
}

/// Inserts or replaces a field of an entry in the text. The caller has to check the meaning of the result.
pub(super) fn with_field(text: &str, at: usize, name: &str, value: &str) -> Option<String> {
    let root = yaml::parse(text, &Problems::new())?;
    let node = root.as_mapping()?.get("keys")?.as_list()?.get(at)?;
    let mapping = node.as_mapping()?;
    if let Some(present) = mapping.get(name) {
        let end = match present.value {
            Yaml::List(_) | Yaml::Mapping(_) => closed_at(text, present.span.start)?,
            _ => present.span.end,
        };
        return Some([text.get(..present.span.start)?, value, text.get(end..)?].concat());
    }
    let first = &mapping.entries.first()?.value;
    let line_end = text[first.span.end..].find('\n').map_or(text.len(), |end| first.span.end + end);
    let indent = " ".repeat(node.span.column.checked_sub(1)?);
    Some([&text[..line_end], "\n", &indent, name, ": ", value, &text[line_end..]].concat())
}

/// Returns the end of a list or a mapping in brackets; `None` for one without brackets.
fn closed_at(text: &str, start: usize) -> Option<usize> {
    let mut depth = 0_u32;
    let mut quote = None;
    for (at, c) in text.get(start..)?.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') if depth == 1 => return Some(start + at + 1),
            (None, ']' | '}') => depth = depth.checked_sub(1)?,
            (None, _) if depth == 0 => return None,
            // A character in quotes or in brackets.
            _ => {}
        }
    }
    None
}

/// Checks whether an entry has a field.
pub(super) fn has_field(text: &str, at: usize, name: &str) -> bool {
    let root = yaml::parse(text, &Problems::new());
    let keys = root.as_ref().and_then(|root| root.as_mapping()?.get("keys")?.as_list());
    keys.and_then(|keys| keys.get(at)?.as_mapping()?.get(name)).is_some()
}

/// Removes an entry with its lines from the text. The caller has to check the meaning of the rest.
pub(super) fn without_entry(text: &str, at: usize) -> Option<String> {
    let root = yaml::parse(text, &Problems::new())?;
    let keys = root.as_mapping()?.get("keys")?.as_list()?;
    let line_of = |offset: usize| text[..offset].rfind('\n').map_or(0, |end| end + 1);
    let begin = line_of(keys.get(at)?.span.start);
    let end = if let Some(next) = keys.get(at + 1) {
        line_of(next.span.start)
    } else {
        let end = keys.get(at)?.span.end;
        text[end..].find('\n').map_or(text.len(), |more| end + more + 1)
    };
    Some([&text[..begin], &text[end..]].concat())
}

/// Returns the changeable fields of an entry as text; `None` for a field without a value.
pub(super) fn fields_of(key: &TrustedKey) -> [(&'static str, Option<String>); 4] {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let items: Vec<_> = key.items.iter().map(|pattern| quoted(pattern.as_str())).collect();
    let kinds: Vec<_> = key.ceiling.kinds.iter().map(|kind| kind.as_str()).collect();
    let limits = limits_text(key).map(|limits| format!(", limits: {limits}")).unwrap_or_default();
    [
        ("items", Some(format!("[{}]", items.join(", ")))),
        ("ceiling", Some(format!("{{ kinds: [{}]{limits} }}", kinds.join(", ")))),
        ("not_before", key.not_before.map(|time| time.to_string())),
        ("not_after", key.not_after.map(|time| time.to_string())),
    ]
}

/// Returns the limits of a key's ceiling as a mapping on one line.
fn limits_text(key: &TrustedKey) -> Option<String> {
    let limits = key.ceiling.limits?;
    let millis = u64::try_from(limits.timeout.as_millis()).unwrap_or(u64::MAX);
    let bounds = [
        ("fuel", limits.fuel, ""),
        ("memory", limits.memory, ""),
        ("timeout", millis, "ms"),
        ("output", limits.output, ""),
        ("log", limits.log, ""),
        ("calls", limits.calls, ""),
        ("bytes", limits.bytes, ""),
        ("written", limits.written, ""),
        ("requests", limits.requests, ""),
        ("request_body", limits.request_body, ""),
        ("response_body", limits.response_body, ""),
    ];
    let bounds: Vec<_> = bounds
        .into_iter()
        .filter(|(_, bound, _)| *bound != u64::MAX)
        .map(|(name, bound, unit)| format!("{name}: {bound}{unit}"))
        .collect();
    Some(format!("{{ {} }}", bounds.join(", ")))
}

pub(super) fn revocation_text(revocation: Revocation) -> String {
    match revocation {
        Revocation::Always => "true".to_owned(),
        Revocation::Since(since) => since.to_string(),
    }
}

/// Returns a key as an entry of the list, with its dash at the column `indent`.
pub(super) fn entry(key: &TrustedKey, indent: usize) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut lines = vec![format!("name: {}", quoted(&key.name)), format!("key: {}", quoted(&key.key.hex()))];
    let items: Vec<_> = key.items.iter().map(|pattern| quoted(pattern.as_str())).collect();
    lines.push(format!("items: [{}]", items.join(", ")));
    let kinds: Vec<_> = key.ceiling.kinds.iter().map(|kind| kind.as_str()).collect();
    lines.push("ceiling:".to_owned());
    lines.push(format!("  kinds: [{}]", kinds.join(", ")));
    lines.extend(limits_text(key).map(|limits| format!("  limits: {limits}")));
    lines.extend(key.not_before.map(|time| format!("not_before: {time}")));
    lines.extend(key.not_after.map(|time| format!("not_after: {time}")));
    lines.extend(key.revoked.map(|revocation| format!("revoked: {}", revocation_text(revocation))));
    lines.extend(key.succeeds.as_ref().map(|before| format!("succeeds: {}", quoted(&before.name))));
    let mut written = String::new();
    for (number, line) in lines.iter().enumerate() {
        let mark = if number == 0 { "- " } else { "  " };
        // Writing to a string cannot fail.
        let _ = writeln!(written, "{:indent$}{mark}{line}", "");
    }
    written
}

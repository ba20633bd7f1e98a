//! Reads a trust store from `trust.yaml`.

use std::time::Duration;

use super::super::dsse::MAX_SIGNATURES;
use super::super::key::VerifyingKey;
use super::super::requirement::{Requirement, RulePlace};
use super::super::shown;
use super::super::store::{KeyName, Revocation, TrustStore, TrustedKey};
use crate::capability::{CapabilityKind, Ceiling, ItemPattern};
use crate::diagnostic::{Diagnostic, Problems, codes, nearest};
use crate::id::without_function;
use crate::keys;
use crate::limits::TaskLimits;
use crate::time::Timestamp;
use crate::yaml::{Fields, Node};

/// Values of the missing keys of a ceiling's `limits`: unbounded.
pub(super) const UNBOUNDED: TaskLimits =
    TaskLimits { timeout: Duration::from_millis(u64::MAX), ..TaskLimits::UNBOUNDED };

/// Reads a store; returns `None` after reporting problems.
pub(super) fn read(source_name: &str, root: &Node, problems: &Problems) -> Option<TrustStore> {
    let mut fields = Fields::open(root, &keys::trust::TRUST, "the trust store", problems)?;
    fields.format_version(1);
    let entries = fields.required("keys").and_then(|keys| keys.list("`keys`", problems));
    let rules = fields.get("require").and_then(|rules| rules.list("`require`", problems));
    fields.finish();
    let mut keys: Vec<TrustedKey> = Vec::new();
    let mut named = Vec::new();
    for node in entries? {
        named.extend(node.as_mapping().and_then(|entry| entry.get("name")).and_then(Node::as_text));
        let Some(key) = read_key(node, problems) else { continue };
        let twice = keys.iter().find(|other| other.name == key.name || other.key == key.key);
        if let Some(other) = twice {
            let message = format!("{} occurs a second time, as {}", other.named(), key.named());
            problems.push(
                Diagnostic::error(codes::TRUST_TWICE, node.span.first_line(), message)
                    .label("a second entry of that name or key")
                    .help("make one entry of the two"),
            );
        }
        keys.push(key);
    }
    for node in entries? {
        let field = |name| node.as_mapping().and_then(|entry| entry.get(name));
        let Some(before) = field("succeeds") else { continue };
        let Some(found) = find_named(before, &keys, &named, problems) else { continue };
        let own = field("name").and_then(Node::as_text);
        let Some(own) = own.and_then(|name| keys.iter().position(|key| key.name == name)) else { continue };
        if keys[own].name == found.name {
            requirement_problem(before, "a key cannot succeed itself", "itself", problems);
        } else {
            keys[own].succeeds = Some(found);
        }
    }
    let rules = rules.unwrap_or_default().iter();
    let requirements = rules.filter_map(|node| {
        let place = RulePlace { file: shown(source_name), line: node.span.line };
        Some(Requirement { place: Some(place), ..read_requirement(node, &keys, &named, problems)? })
    });
    let requirements = requirements.collect();
    Some(TrustStore { keys, requirements, ..TrustStore::default() })
}

fn requirement_problem(node: &Node, message: &str, label: &str, problems: &Problems) {
    problems.push(Diagnostic::error(codes::TRUST_REQUIREMENT, node.span.first_line(), message).label(label));
}

/// Finds the key with a name. `named` are the names of all entries, also unreadable ones, which are reported already.
fn find_named(node: &Node, keys: &[TrustedKey], named: &[&str], problems: &Problems) -> Option<KeyName> {
    let name = node.text("the name of a key", problems)?;
    let found = keys.iter().find(|key| key.name == name).map(TrustedKey::named);
    if found.is_none() && !named.contains(&name) {
        let meant = nearest(name, named.iter().copied());
        let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
        let message = format!("`keys` has no key named `{}`{meant}", shown(name));
        requirement_problem(node, &message, "no such key", problems);
    }
    found
}

fn read_requirement(
    node: &Node,
    keys: &[TrustedKey],
    named: &[&str],
    problems: &Problems,
) -> Option<Requirement> {
    let mut fields = Fields::open(node, &keys::trust::REQUIREMENT, "an entry of `require`", problems)?;
    let items = fields.required("items").and_then(|node| read_items(node, problems));
    let threshold_node = fields.required("threshold");
    let most = MAX_SIGNATURES as u64;
    let threshold = threshold_node.and_then(|node| node.u64("`threshold`", 1..=most, problems));
    let listed = fields.required("keys");
    fields.finish();
    let mut wanted: Vec<KeyName> = Vec::new();
    let list = listed?.list("`keys`", problems)?;
    for node in list {
        let Some(key) = find_named(node, keys, named, problems) else { continue };
        if wanted.contains(&key) {
            requirement_problem(node, &format!("`{}` occurs a second time", key.name), "again", problems);
        } else {
            wanted.push(key);
        }
    }
    let threshold = threshold?;
    if threshold > list.len() as u64 {
        let message =
            format!("`threshold` is {threshold}, and `keys` names {}: nothing could be signed", list.len());
        requirement_problem(threshold_node?, &message, "more than there are keys", problems);
    }
    Some(Requirement { items: items?, threshold: u32::try_from(threshold).ok()?, keys: wanted, place: None })
}

/// Reads an entry as far as possible: any reported problem makes the whole store unusable.
fn read_key(node: &Node, problems: &Problems) -> Option<TrustedKey> {
    let mut fields = Fields::open(node, &keys::trust::TRUSTED_KEY, "an entry of `keys`", problems)?;
    let name = fields.required("name").and_then(|node| {
        let name = node.text("`name`", problems)?;
        if name.trim().is_empty() || name.contains(char::is_control) {
            node.out_of_range("`name` must be a name on one line", "a name", problems);
            return None;
        }
        Some(name.to_owned())
    });
    let key = fields.required("key").and_then(|node| {
        let text = node.text("`key`", problems)?;
        let bad = |error| {
            let message = format!("`key`: {error}");
            problems.push(
                Diagnostic::error(codes::TRUST_KEY, node.span.first_line(), message)
                    .label("not an Ed25519 public key"),
            );
        };
        VerifyingKey::parse(text).map_err(bad).ok()
    });
    let items = fields.required("items").and_then(|node| read_items(node, problems));
    let ceiling = match fields.get("ceiling") {
        Some(node) => read_ceiling(node, problems),
        None => Some(Ceiling::from_kinds([])),
    };
    let not_before = fields.filled("not_before").and_then(|node| read_time(node, "`not_before`", problems));
    let not_after = fields.filled("not_after").and_then(|node| read_time(node, "`not_after`", problems));
    if let (Some(from), Some(until)) = (not_before, not_after)
        && from > until
    {
        node.out_of_range(
            "`not_after` is before `not_before`: the key would never count",
            "never valid",
            problems,
        );
    }
    let revoked = fields.get("revoked").and_then(|node| match node.as_bool() {
        Some(revoked) => revoked.then_some(Revocation::Always),
        None => read_time(node, "`revoked`", problems).map(Revocation::Since),
    });
    // The successor is looked up once all keys are known.
    fields.also_known(&["succeeds"]);
    fields.finish();
    Some(TrustedKey {
        name: name?,
        key: key?,
        items: items?,
        ceiling: ceiling?,
        not_before,
        not_after,
        revoked,
        succeeds: None,
    })
}

fn read_items(node: &Node, problems: &Problems) -> Option<Vec<ItemPattern>> {
    let texts = node.texts("`items`", problems)?;
    if node.as_list().is_some_and(<[Node]>::is_empty) {
        problems.push(
            Diagnostic::error(
                codes::EMPTY_LIST,
                node.span,
                "`items` is empty: the key could not sign anything",
            )
            .label("nothing is allowed")
            .help("name the items that the key may sign, such as `acme/*`, or take the entry out"),
        );
        return None;
    }
    let mut patterns = Vec::new();
    for (text, node) in &texts {
        match ItemPattern::parse(text) {
            Ok(pattern) if pattern.function().is_some() => problems.push(
                Diagnostic::error(
                    codes::TRUST_PATTERN,
                    node.span,
                    "a key signs components, not single functions",
                )
                .label("names a function")
                .help(format!("name the component: `{}`", without_function(text))),
            ),
            Ok(pattern) => patterns.push(pattern),
            Err(error) => problems.push(
                Diagnostic::error(codes::TRUST_PATTERN, node.span, error.to_string()).label("not a pattern"),
            ),
        }
    }
    (patterns.len() == node.as_list().map_or(0, <[Node]>::len)).then_some(patterns)
}

fn read_ceiling(node: &Node, problems: &Problems) -> Option<Ceiling> {
    let mut fields = Fields::open(node, &keys::trust::CEILING, "a ceiling", problems)?;
    let kinds = fields.required("kinds").and_then(|node| {
        let list = node.list("`kinds`", problems)?;
        if list.is_empty() {
            problems.push(
                Diagnostic::error(codes::EMPTY_LIST, node.span, "`kinds` is empty")
                    .label("nothing is allowed")
                    .help("write `[log]` for a key whose components may do nothing but log"),
            );
            return None;
        }
        let known = CapabilityKind::ALL.map(|kind| (kind.as_str(), kind));
        let kinds: Vec<_> = list.iter().filter_map(|kind| kind.choice("a kind", &known, problems)).collect();
        (kinds.len() == list.len()).then_some(kinds)
    });
    let limits = match fields.get("limits") {
        None => Some(None),
        Some(node) => read_limits(node, problems).map(Some),
    };
    fields.finish();
    Some(Ceiling { limits: limits?, ..Ceiling::from_kinds(kinds?) })
}

fn read_limits(node: &Node, problems: &Problems) -> Option<TaskLimits> {
    let before = problems.len();
    let mut fields = Fields::open(node, &keys::manifest::TASK_LIMITS, "`limits`", problems)?;
    let limits = TaskLimits {
        fuel: fields.u64("fuel", 1..=u64::MAX).unwrap_or(UNBOUNDED.fuel),
        memory: fields.size("memory").unwrap_or(UNBOUNDED.memory),
        timeout: fields.duration("timeout").unwrap_or(UNBOUNDED.timeout),
        output: fields.size("output").unwrap_or(UNBOUNDED.output),
        log: fields.size("log").unwrap_or(UNBOUNDED.log),
        calls: fields.u64("calls", 0..=u64::MAX).unwrap_or(UNBOUNDED.calls),
        bytes: fields.size("bytes").unwrap_or(UNBOUNDED.bytes),
        written: fields.size("written").unwrap_or(UNBOUNDED.written),
        requests: fields.u64("requests", 0..=u64::MAX).unwrap_or(UNBOUNDED.requests),
        request_body: fields.size("request_body").unwrap_or(UNBOUNDED.request_body),
        response_body: fields.size("response_body").unwrap_or(UNBOUNDED.response_body),
        ..crate::capability::read_task_models(&mut fields, UNBOUNDED)
    };
    fields.finish();
    if limits == UNBOUNDED && problems.len() == before {
        problems.push(
            Diagnostic::error(codes::EMPTY_LIST, node.span, "`limits` limits nothing")
                .label("empty")
                .help("name a limit, such as `memory: 64MiB`, or leave `limits` out"),
        );
    }
    (problems.len() == before).then_some(limits)
}

fn read_time(node: &Node, what: &str, problems: &Problems) -> Option<Timestamp> {
    let text = node.text(what, problems)?;
    text.parse()
        .map_err(|error| {
            problems.push(
                Diagnostic::error(codes::BAD_TIME, node.span, format!("{what}: {error}")).label("not a time"),
            );
        })
        .ok()
}

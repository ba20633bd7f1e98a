//! Reading manifests from YAML.

mod ambiguous;
mod models;
mod rules;

use std::collections::BTreeSet;
use std::time::Duration;

use self::ambiguous::AmbiguousPatterns;
use super::dispatch::{DispatchPattern, DispatchPatterns};
use super::grant::{Access, Mount};
use super::item::ItemPattern;
use super::manifest::{ItemEntry, Manifest, ManifestMount, StatedSizes};
use super::path;
use crate::diagnostic::{Diagnostic, Diagnostics, Problems, Span, codes, excerpt};
use crate::keys;
use crate::limits::{ModelUse, RunLimits, TaskLimits, cost_of};
use crate::yaml::{Fields, Mapping, MappingEntry, Node, Yaml, parse};

/// Largest depth of child runs that a manifest may allow.
const LARGEST_DEPTH: u64 = 64;

impl Manifest {
    /// Reads a manifest. `base` is the manifest's own absolute folder, to which paths are relative. Without errors there may still be
    /// warnings.
    pub fn parse(text: &str, source_name: &str, base: &str) -> Result<(Self, Diagnostics), Box<Diagnostics>> {
        let problems = Problems::new();
        let manifest = parse(text, &problems).and_then(|root| Self::read(&root, base, &problems));
        problems.finish(source_name, text, manifest)
    }

    /// Reads a manifest from a tree.
    pub fn read(root: &Node, base: &str, problems: &Problems) -> Option<Self> {
        let mut fields = Fields::open(root, &keys::manifest::MANIFEST, "the manifest", problems)?;
        fields.format_version(1);
        let dispatch = fields.get("dispatch").map(|node| read_dispatch(node, problems)).unwrap_or_default();
        let limits = match fields.fields("limits", &keys::manifest::TASK_LIMITS, "`limits`") {
            Some(fields) => read_limits(fields, TaskLimits::DEFAULT),
            None => TaskLimits::DEFAULT,
        };
        let (run, stated_sizes) = fields
            .fields("run", &keys::manifest::RUN_LIMITS, "`run`")
            .map_or((RunLimits::DEFAULT, StatedSizes::default()), read_run);
        let models = fields.filled("models").and_then(|node| node.mapping("`models`", problems));
        let names: BTreeSet<&str> =
            models.iter().flat_map(|models| models.iter()).map(|entry| &*entry.key.name).collect();
        let models = models.map_or_else(Vec::new, |entries| models::read(entries, base, problems));
        let given = ManifestDefaults { limits, base, models: &names };
        let items = fields.filled("items").and_then(|node| Some((node, node.mapping("`items`", problems)?)));
        let items =
            items.map_or_else(Vec::new, |(node, entries)| read_items(node, entries, &given, problems));
        fields.finish();
        let (items, models) = (items.into(), models.into());
        Some(Self { dispatch, items, models, limits, run, stated_sizes, ..Self::default() })
    }
}

/// Settings of a manifest that apply to its entries.
#[derive(Clone, Copy)]
struct ManifestDefaults<'a> {
    /// The limits of entries without their own.
    limits: TaskLimits,
    /// The folder to which paths are relative.
    base: &'a str,
    /// The names of the manifest's models, invalid ones included.
    models: &'a BTreeSet<&'a str>,
}

/// Reads the limits of a whole run, as under `run:` of a manifest; missing keys get their defaults.
pub fn read_run_limits(fields: Fields<'_>) -> RunLimits {
    read_run(fields).0
}

/// Reads the limits of a whole run, with the sizes that are stated.
fn read_run(mut fields: Fields<'_>) -> (RunLimits, StatedSizes) {
    let stated = StatedSizes { results: size(&mut fields, "results"), stored: size(&mut fields, "stored") };
    let run = RunLimits {
        fuel: fields.u64("fuel", 1..=u64::MAX).unwrap_or(RunLimits::DEFAULT.fuel),
        timeout: positive(&mut fields, "timeout").unwrap_or(RunLimits::DEFAULT.timeout),
        depth: fields
            .u64("depth", 0..=LARGEST_DEPTH)
            .and_then(|depth| u32::try_from(depth).ok())
            .unwrap_or(RunLimits::DEFAULT.depth),
        calls: fields.u64("calls", 0..=u64::MAX).unwrap_or(RunLimits::DEFAULT.calls),
        bytes: fields.size("bytes").unwrap_or(RunLimits::DEFAULT.bytes),
        steps: fields.u64("steps", 1..=u64::MAX).unwrap_or(RunLimits::DEFAULT.steps),
        state: size(&mut fields, "state").unwrap_or(RunLimits::DEFAULT.state),
        results: stated.results.unwrap_or(RunLimits::DEFAULT.results),
        stored: stated.stored.unwrap_or(RunLimits::DEFAULT.stored),
        ..read_run_models(&mut fields)
    };
    fields.finish();
    (run, stated)
}

fn read_dispatch(node: &Node, problems: &Problems) -> DispatchPatterns {
    let mut patterns: Vec<DispatchPattern> = Vec::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let listed = node.texts("`dispatch`", problems).unwrap_or_default();
    bounded(node, "dispatch", listed.len(), problems);
    for (text, place) in listed.into_iter().take(MOST_ENTRIES) {
        match DispatchPattern::parse(text) {
            Ok(pattern) if !known.insert(text) => problems.push(
                Diagnostic::warning(codes::BAD_DISPATCH, place.span, format!("`{pattern}` is listed twice"))
                    .label("again here"),
            ),
            Ok(pattern) => patterns.push(pattern),
            Err(error) => problems.push(
                Diagnostic::error(codes::BAD_DISPATCH, place.span, error.to_string())
                    .label("here")
                    .help(error.help),
            ),
        }
    }
    patterns.into()
}

/// Largest number of entries of `items`, of `dispatch`, and of each list of an entry. All entries are searched for each node of a graph.
pub(super) const MOST_ENTRIES: usize = 1_000;

/// Reports a list or mapping of a manifest with more than [`MOST_ENTRIES`] entries.
pub(super) fn bounded(node: &Node, key: &str, entries: usize, problems: &Problems) {
    if entries > MOST_ENTRIES {
        let message = format!("`{key}` has {entries} entries, and a manifest may have {MOST_ENTRIES} there");
        node.out_of_range(&message, "fewer entries: one with `*` stands for many", problems);
    }
}

fn read_items(
    node: &Node,
    items: &Mapping,
    given: &ManifestDefaults<'_>,
    problems: &Problems,
) -> Vec<ItemEntry> {
    bounded(node, "items", items.len(), problems);
    let mut read: Vec<(ItemEntry, &MappingEntry)> = Vec::new();
    for entry in items.iter().take(MOST_ENTRIES) {
        let pattern = match ItemPattern::parse(&entry.key.name) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                problems.push(Diagnostic::error(codes::BAD_ITEM_PATTERN, entry.key.span, error.to_string()));
                None
            }
        };
        // The content of an entry with an invalid key is checked nevertheless.
        let item = read_item(entry, pattern.clone(), given, problems);
        read.extend(item.filter(|_| pattern.is_some()).map(|item| (item, entry)));
    }
    let patterns: Vec<&ItemPattern> = read.iter().map(|(item, _)| &item.pattern).collect();
    let AmbiguousPatterns { pairs, stopped_at, .. } = AmbiguousPatterns::among(&patterns);
    let place = |at: usize| read.get(at).map_or(Span::NONE, |(_, entry)| entry.key.span);
    for (one, two) in pairs {
        let message = format!(
            "`{}` is as specific as `{}`, and some items are covered by both",
            patterns[two], patterns[one]
        );
        problems.push(
            Diagnostic::error(codes::AMBIGUOUS_ITEMS, place(two), message)
                .label("as specific")
                .also(place(one), "the other one")
                .help("only the most specific entry applies to an item: make one of them more specific"),
        );
    }
    if let Some(at) = stopped_at {
        let message = format!(
            "too many entries are as specific as `{}`: to find out whether some items are covered by two of them takes more \
             work than a manifest may",
            patterns[at]
        );
        problems.push(Diagnostic::error(codes::AMBIGUOUS_ITEMS, place(at), message).label("as specific").help(
            "let the entries begin with different names, such as `acme/a*` and `acme/b*`, or replace some by one that covers them all",
        ));
    }
    read.into_iter().map(|(item, _)| item).collect()
}

fn read_item(
    entry: &MappingEntry,
    pattern: Option<ItemPattern>,
    given: &ManifestDefaults<'_>,
    problems: &Problems,
) -> Option<ItemEntry> {
    let ManifestDefaults { limits, base, .. } = *given;
    let name = format!("the entry of `{}`", excerpt(&entry.key.name));
    let mut fields = Fields::open(&entry.value, &keys::manifest::ITEM, name.clone(), problems)?;
    if entry.value.as_mapping().is_some_and(crate::yaml::Mapping::is_empty) {
        problems
            .push(Diagnostic::error(codes::EMPTY_ENTRY, entry.key.span, format!("{name} says nothing")).help(
            "write what it grants, or `clocks: false` to grant nothing where a wider entry grants something",
        ));
    }
    let filesystem =
        fields.get("filesystem").map(|node| read_mounts(node, base, problems)).unwrap_or_default();
    let clocks = fields.bool("clocks").unwrap_or(false);
    let random = fields.bool("random").unwrap_or(false);
    let http = fields.get("http").map(|node| rules::http(node, problems)).unwrap_or_default();
    let secrets = fields.get("secrets").map(|node| rules::secrets(node, base, problems)).unwrap_or_default();
    let nodes = (fields.get("http"), fields.get("secrets"));
    rules::warn_of_idle((nodes.0, &http), (nodes.1, &secrets), problems);
    let knowledge = fields.get("knowledge").map(|node| rules::knowledge(node, problems)).unwrap_or_default();
    let tools = fields.bool("tools").unwrap_or(false);
    let model =
        fields.get("model").map(|node| models::names(node, given.models, problems)).unwrap_or_default();
    let unsandboxed = fields.bool("unsandboxed").unwrap_or(false);
    let limits = match fields.fields("limits", &keys::manifest::TASK_LIMITS, format!("`limits` of {name}")) {
        Some(fields) => read_limits(fields, limits),
        None => limits,
    };
    fields.finish();
    let pattern = pattern?;
    Some(ItemEntry {
        pattern,
        filesystem,
        clocks,
        random,
        http,
        secrets,
        knowledge,
        tools,
        model,
        unsandboxed,
        limits,
    })
}

fn read_mounts(node: &Node, base: &str, problems: &Problems) -> Vec<ManifestMount> {
    let Some(list) = node.list("`filesystem`", problems) else { return Vec::new() };
    if list.is_empty() {
        node.out_of_range("`filesystem` must list a folder", "at least one folder", problems);
    }
    bounded(node, "filesystem", list.len(), problems);
    let mut mounts: Vec<ManifestMount> = Vec::new();
    for item in list.iter().take(MOST_ENTRIES) {
        let Some(mut fields) =
            Fields::open(item, &keys::manifest::MOUNT, "each folder of `filesystem`", problems)
        else {
            continue;
        };
        let bad = |node: &Node, reason: &str| {
            let written = node.as_text().map(excerpt).unwrap_or_default();
            problems.push(Diagnostic::error(codes::BAD_FOLDER, node.span, format!("`{written}`: {reason}")));
        };
        let host = fields.required("path").and_then(|node| {
            let text = node.text("`path`", problems)?;
            match path::resolve(base, text) {
                Ok(host) => Some((text.to_owned(), host)),
                Err(reason) => {
                    bad(node, reason);
                    None
                }
            }
        });
        let guest = fields.required("as").and_then(|node| {
            let text = node.text("`as`", problems)?;
            let taken = |guest: &String| mounts.iter().any(|known| known.mount.guest == *guest);
            match path::guest(text) {
                Ok(guest) if taken(&guest) => {
                    bad(node, "another folder of this entry has this path inside the component");
                    None
                }
                Ok(guest) => Some(guest),
                Err(reason) => {
                    bad(node, reason);
                    None
                }
            }
        });
        let access = fields.choice("access", &[("ro", Access::ReadOnly), ("rw", Access::ReadWrite)]);
        fields.finish();
        if let (Some((written, host)), Some(guest)) = (host, guest) {
            let access = access.unwrap_or(Access::ReadOnly);
            mounts.push(ManifestMount { written, mount: Mount { host, guest, access } });
        }
    }
    mounts
}

/// Reads limits; missing keys have the values of `otherwise`.
fn read_limits(mut fields: Fields<'_>, otherwise: TaskLimits) -> TaskLimits {
    let limits = TaskLimits {
        fuel: fields.u64("fuel", 1..=u64::MAX).unwrap_or(otherwise.fuel),
        memory: size(&mut fields, "memory").unwrap_or(otherwise.memory),
        timeout: positive(&mut fields, "timeout").unwrap_or(otherwise.timeout),
        output: size(&mut fields, "output").unwrap_or(otherwise.output),
        log: fields.size("log").unwrap_or(otherwise.log),
        calls: fields.u64("calls", 0..=u64::MAX).unwrap_or(otherwise.calls),
        bytes: fields.size("bytes").unwrap_or(otherwise.bytes),
        written: fields.size("written").unwrap_or(otherwise.written),
        requests: fields.u64("requests", 0..=u64::MAX).unwrap_or(otherwise.requests),
        request_body: fields.size("request_body").unwrap_or(otherwise.request_body),
        response_body: fields.size("response_body").unwrap_or(otherwise.response_body),
        ..read_task_models(&mut fields, otherwise)
    };
    fields.finish();
    limits
}

/// Reads the key `model` of a run's limits; the result has the defaults for all other limits.
fn read_run_models(fields: &mut Fields<'_>) -> RunLimits {
    let otherwise = RunLimits::DEFAULT;
    let Some(mut fields) = fields.fields("model", &keys::manifest::RUN_MODEL, "`model`") else {
        return otherwise;
    };
    let asks = fields.choice("when_used_up", &[("fail", false), ("ask", true)]);
    let model = read_figures(fields, otherwise.model);
    RunLimits { model, model_asks: asks.unwrap_or(otherwise.model_asks), ..otherwise }
}

/// The outcome once a budget of models is used up.
#[derive(Clone, Copy, PartialEq)]
enum WhenUsedUp {
    Fail,
    Finish,
    Ask,
}

/// Reads the key `model` of a task's limits; the result has the limits of `otherwise` for everything else.
pub(crate) fn read_task_models(fields: &mut Fields<'_>, otherwise: TaskLimits) -> TaskLimits {
    let what = "`model`";
    let Some(mut fields) = fields.fields("model", &keys::manifest::TASK_MODEL, what) else {
        return otherwise;
    };
    let then = fields.choice(
        "when_used_up",
        &[("fail", WhenUsedUp::Fail), ("finish", WhenUsedUp::Finish), ("ask", WhenUsedUp::Ask)],
    );
    let model = read_figures(fields, otherwise.model);
    let then = then.unwrap_or(match otherwise {
        TaskLimits { model_asks: true, .. } => WhenUsedUp::Ask,
        TaskLimits { model_floor: Some(_), .. } => WhenUsedUp::Finish,
        _ => WhenUsedUp::Fail,
    });
    TaskLimits {
        model,
        model_floor: (then == WhenUsedUp::Finish).then(|| model.floor()),
        model_asks: then == WhenUsedUp::Ask,
        ..otherwise
    }
}

/// Reads the figures of a budget of models; missing ones have the values of `otherwise`.
fn read_figures(mut fields: Fields<'_>, otherwise: ModelUse) -> ModelUse {
    let model = ModelUse {
        calls: fields.u64("calls", 0..=u64::MAX).unwrap_or(otherwise.calls),
        input: fields.u64("input_tokens", 0..=u64::MAX).unwrap_or(otherwise.input),
        output: fields.u64("output_tokens", 0..=u64::MAX).unwrap_or(otherwise.output),
        cost: read_money(&mut fields, "cost").unwrap_or(otherwise.cost),
    };
    fields.finish();
    model
}

/// Largest amount of money, in millionths: 10^12 units.
const MOST_MONEY_IN_DOCUMENT: u64 = 1_000_000_000_000_000_000;

/// Reads an amount of money as millionths: a decimal number with at most six decimals.
pub fn read_money(fields: &mut Fields<'_>, key: &'static str) -> Option<u64> {
    let node = fields.get(key)?;
    let read = match &node.value {
        Yaml::Number(number) => cost_of(number),
        _ => None,
    };
    let read = read.filter(|read| *read <= MOST_MONEY_IN_DOCUMENT);
    if read.is_none() {
        let what = format!(
            "`{key}` has to be a number such as `0.25`, with at most six decimals and at most 1000000000000"
        );
        node.out_of_range(&what, "a decimal number, not negative", fields.problems());
    }
    read
}

fn size(fields: &mut Fields<'_>, key: &'static str) -> Option<u64> {
    let size = fields.size(key)?;
    if size == 0 {
        let node = fields.get(key)?;
        node.out_of_range(&format!("`{key}` must be more than nothing"), "more than 0", fields.problems());
    }
    Some(size)
}

fn positive(fields: &mut Fields<'_>, key: &'static str) -> Option<Duration> {
    let span = fields.duration(key)?;
    if span.is_zero() {
        let node = fields.get(key)?;
        node.out_of_range(&format!("`{key}` must be more than nothing"), "more than 0", fields.problems());
    }
    Some(span)
}

#[cfg(test)]
mod tests;

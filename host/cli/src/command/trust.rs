//! `graph-host trust`: the keys whose signatures are accepted.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Subcommand;
use graph_core::capability::{CapabilityKind, Ceiling, ItemPattern};
use graph_core::diagnostic::{is_invisible, printable, shell_quoted};
use graph_core::time::Timestamp;
use graph_core::trust::{
    KeyName, LogEvent, Requirement, Revocation, Rotation, RotationError, Successor, TextKind, TrustStore,
    TrustedKey,
};
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{BAD, BOLD, CAUTION, DIM, GOOD, styled};
use graph_host::terminal::paths::shown;
use graph_runtime::clock::now;
use graph_runtime::error::{Error, Result};
use graph_runtime::project::key_pairs::verifying_key;
use graph_runtime::project::text_file;
use graph_runtime::trust::log::TrustLog;
use graph_runtime::trust::trusted_keys;
use serde::Serialize;

use super::trust_set;

/// Manage the keys whose signatures you trust
///
/// For each key, the trust store says which items it may sign, what their components may be granted at most (its ceiling),
/// and when it is valid.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Trust a key to sign certain items
    Add(Add),
    /// Change which items a trusted key may sign, its ceiling and its dates
    Set(trust_set::Set),
    /// Remove a key from the trust store
    Remove(trust_set::Remove),
    /// List the keys that are trusted
    List(List),
    /// Stop trusting a key
    Revoke(Revoke),
    /// Trust the successor of a key that you trust, by the statement of its owner
    Rotate(Rotate),
    /// Show what was accepted, when, and by which keys
    Log(Log),
    /// Restore the head of a trust log that a killed process left without one
    ///
    /// A log is repaired only if a kill during its first write left it in this state, with every line present and signed by
    /// this host. No line is changed or removed, and a new line records the repair.
    Repair,
}

#[derive(Debug, clap::Args)]
struct Rotate {
    /// The statement, as `keys rotate` writes it
    statement: PathBuf,
    /// The name of the new key; without it, the old name followed by a number
    #[arg(long)]
    name: Option<String>,
    /// The time after which the old key is no longer valid; without it, its dates stay unchanged
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
    /// The time after which the new key is no longer valid; without it, that of the old key
    #[arg(long, value_name = "TIME")]
    not_after: Option<Timestamp>,
    /// Edit this trust store instead of your own
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct Log {
    /// Only check that no line was changed or removed
    #[arg(long)]
    verify: bool,
}

#[derive(Debug, clap::Args)]
struct Add {
    /// The name of the key in the trust store
    name: String,
    /// The public key: a PEM file, 64 hexadecimal digits, or the name of a key of yours
    #[arg(long, value_name = "KEY")]
    key: String,
    /// The items that it may sign; `*` matches any characters, as in `acme/*`
    #[arg(long, value_name = "PATTERN", required = true, num_args = 1..)]
    items: Vec<String>,
    /// The kinds of capability that its components may be granted at most, besides logging: clocks, random, filesystem,
    /// http, secrets, knowledge, tools, model
    #[arg(long, value_name = "KIND", num_args = 1.., value_delimiter = ',', value_parser = kind)]
    may: Vec<CapabilityKind>,
    /// The time from which it is valid: 2030-01-31 (its first moment in UTC) or 2030-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    not_before: Option<Timestamp>,
    /// The time after which it is no longer valid
    #[arg(long, value_name = "TIME")]
    not_after: Option<Timestamp>,
    /// Edit this trust store instead of your own
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct List {
    /// List the keys of this file too
    #[arg(long, value_name = "FILE")]
    trust: Vec<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct Revoke {
    /// The key: its name, its id, or the beginning of its id, at least twelve digits
    key: String,
    /// The time from which its signatures no longer count; without it, they never count
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    /// Revoke its successors, too
    #[arg(long, conflicts_with = "yes")]
    with_successors: bool,
    /// Revoke only this key and ask nothing, even if it has successors, which stay trusted
    #[arg(long)]
    yes: bool,
    /// Edit this trust store instead of your own
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Parses the name of a kind of capability.
pub(super) fn kind(text: &str) -> Result<CapabilityKind, String> {
    CapabilityKind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
        format!("one of {} is needed", CapabilityKind::ALL.map(CapabilityKind::as_str).join(", "))
    })
}

/// Parses the kind of a text item.
pub(super) fn text_kind(text: &str) -> Result<TextKind, String> {
    TextKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == text)
        .ok_or_else(|| format!("one of {} is needed", TextKind::ALL.map(TextKind::as_str).join(", ")))
}

/// Returns the error for `--kind` with a component.
pub(super) fn kind_of_a_component() -> Error {
    Error::usage("`--kind` goes with a text item; a component is a component")
}

pub(crate) fn run(args: Args, context: &Context) -> Result<Exit> {
    let output = context.output;
    match args.command {
        Command::Add(args) => {
            let report = add(args, context)?;
            output.show(&report, || {
                let hint =
                    report.hint.as_ref().map(|hint| format!("\n{}", styled(DIM, hint))).unwrap_or_default();
                format!("trusted in {}\n{}{hint}", report.file, report.key.render())
            })?;
        }
        Command::Set(args) => trust_set::set(args, context)?,
        Command::Remove(args) => trust_set::remove(&args, context)?,
        Command::List(args) => {
            let report = list(&args, context)?;
            output.show(&report, || report.render())?;
        }
        Command::Revoke(args) => {
            let report = revoke(&args, context)?;
            output.show(&report, || report.render())?;
        }
        Command::Rotate(args) => {
            let report = rotate(args, context)?;
            output.show(&report, || format!("trusted in {}\n{}", report.file, report.key.render()))?;
        }
        Command::Log(args) => super::trust_log::run(args.verify, context)?,
        Command::Repair => super::trust_log::repair(context)?,
    }
    Ok(Exit::Ok)
}

/// A trusted key in reports.
#[derive(Debug, Serialize)]
pub(super) struct TrustedReport {
    name: String,
    id: String,
    public: String,
    standing: Counts,
    items: Vec<ItemPattern>,
    ceiling: Ceiling,
    not_before: Option<String>,
    not_after: Option<String>,
    revoked: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    succeeds: Option<String>,
}

/// Validity of a key at the current time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Counts {
    Valid,
    NotYetValid,
    Expired,
    Revoked,
}

impl TrustedReport {
    pub(super) fn of(key: &TrustedKey, at: Timestamp) -> Self {
        let standing = if key.is_revoked(at) {
            Counts::Revoked
        } else if key.not_before.is_some_and(|from| at < from) {
            Counts::NotYetValid
        } else if key.not_after.is_some_and(|until| at > until) {
            Counts::Expired
        } else {
            Counts::Valid
        };
        Self {
            name: key.name.clone(),
            id: key.id().to_string(),
            public: key.key.hex(),
            standing,
            items: key.items.clone(),
            ceiling: key.ceiling.clone(),
            not_before: key.not_before.map(|time| time.to_string()),
            not_after: key.not_after.map(|time| time.to_string()),
            revoked: key.revoked.map(|revocation| match revocation {
                Revocation::Always => "all along".to_owned(),
                Revocation::Since(since) => format!("since {since}"),
            }),
            succeeds: key.succeeds.as_ref().map(|before| before.name.clone()),
        }
    }

    pub(super) fn render(&self) -> String {
        let (style, standing) = match self.standing {
            Counts::Valid => (GOOD, "valid"),
            Counts::NotYetValid => (CAUTION, "not yet valid"),
            Counts::Expired => (BAD, "expired"),
            Counts::Revoked => (BAD, "revoked"),
        };
        let mut text = format!("{}  {}\n", styled(BOLD, printable(&self.name)), styled(style, standing));
        let mut field = |name: &str, value: &str| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {} {}", styled(DIM, format_args!("{name:<10}")), printable(value));
        };
        field("id", &self.id);
        let items: Vec<_> = self.items.iter().map(ItemPattern::as_str).collect();
        field("items", &items.join(", "));
        field("ceiling", &ceiling_text(&self.ceiling));
        for (name, time) in [
            ("from", &self.not_before),
            ("until", &self.not_after),
            ("revoked", &self.revoked),
            ("follows", &self.succeeds),
        ] {
            if let Some(time) = time {
                field(name, time);
            }
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// Renders a ceiling on one line.
pub(super) fn ceiling_text(ceiling: &Ceiling) -> String {
    let mut parts: Vec<String> = ceiling.kinds.iter().map(ToString::to_string).collect();
    if let Some(limits) = ceiling.limits {
        let timeout = u64::try_from(limits.timeout.as_millis()).unwrap_or(u64::MAX);
        let bounds = [
            ("fuel", limits.fuel, ""),
            ("memory", limits.memory, " bytes"),
            ("timeout", timeout, " ms"),
            ("output", limits.output, " bytes"),
            ("log", limits.log, " bytes"),
        ];
        let bounds = bounds.into_iter().filter(|(_, bound, _)| *bound != u64::MAX);
        parts.extend(bounds.map(|(name, bound, unit)| format!("{name} ≤ {bound}{unit}")));
    }
    parts.join(", ")
}

#[derive(Debug, Serialize)]
struct EditReport {
    file: String,
    key: TrustedReport,
    /// An unexpected restriction of the key, and the command that removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// Checks whether a text can name a key: without invisible characters, no two names look the same.
fn is_key_name(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains(|c: char| c.is_control() || is_invisible(c))
}

fn add(args: Add, context: &Context) -> Result<EditReport> {
    if !is_key_name(&args.name) {
        return Err(Error::usage("a key's name is a text on one line, without invisible characters"));
    }
    if let (Some(from), Some(until)) = (args.not_before, args.not_after)
        && from > until
    {
        return Err(Error::usage("`--not-after` is before `--not-before`: the key would never count"));
    }
    let says_how_far = !args.may.is_empty();
    let key = TrustedKey {
        key: verifying_key(&context.host.home, &args.key)?,
        items: patterns(&args.items)?,
        ceiling: Ceiling::from_kinds(args.may),
        not_before: args.not_before,
        not_after: args.not_after,
        revoked: None,
        succeeds: None,
        name: args.name,
    };
    let own = args.file.is_none();
    if own {
        // Fails before the change if the change could not be logged.
        TrustLog::in_home(&context.host.home).read()?;
    }
    let file = args.file.unwrap_or_else(|| context.host.home.trust_file());
    let change = |name: &str, text: &str| Ok((TrustStore::add(name, text, &key)?, ()));
    trusted_keys::edit(&file, context.host.home.base(), change, |()| {
        let added =
            || TrustLog::in_home(&context.host.home).key(LogEvent::KeyAdded, &key.name, vec![key.id()], None);
        if own { added() } else { Ok(()) }
    })?;
    let hint = (!says_how_far).then(|| {
        let in_file = if own { String::new() } else { format!(" --file {}", shell_quoted(&shown(&file))) };
        format!(
            "without --may, what it signs can be granted nothing besides logging: no files, no clocks, no network.\n\
             graph-host trust set {} --also-may filesystem{in_file}    allows more",
            shell_quoted(&key.name)
        )
    });
    Ok(EditReport { file: shown(&file), key: TrustedReport::of(&key, now()), hint })
}

/// Parses patterns of items.
pub(super) fn patterns(texts: &[String]) -> Result<Vec<ItemPattern>> {
    let items = texts.iter().map(|text| match ItemPattern::parse(text) {
        Ok(pattern) if pattern.function().is_some() => {
            Err(Error::usage(format!("a key signs components, not single functions: `{pattern}` names one"))
                .help(format!("name the component: {}", graph_core::id::without_function(text))))
        }
        Ok(pattern) => Ok(pattern),
        Err(error) => Err(Error::usage(error.to_string())),
    });
    items.collect()
}

#[derive(Debug, Serialize)]
struct RevokeReport {
    file: String,
    key: TrustedReport,
    /// Successors that were revoked with the key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    successors_revoked: Vec<TrustedReport>,
    /// Successors that stay trusted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    successors_kept: Vec<TrustedReport>,
}

impl RevokeReport {
    fn render(&self) -> String {
        let mut text = format!("revoked in {}\n{}", self.file, self.key.render());
        for successor in &self.successors_revoked {
            let _ = write!(text, "\n{}", successor.render());
        }
        if !self.successors_kept.is_empty() {
            let _ = write!(text, "\nstill trusted, on the word of the revoked key:");
            for successor in &self.successors_kept {
                let _ = write!(text, "\n{}", successor.render());
            }
        }
        text
    }
}

/// Revokes a key. Its successors are trusted by a statement of the key, which a thief of the key can sign as well: the user decides
/// about them.
fn revoke(args: &Revoke, context: &Context) -> Result<RevokeReport> {
    let own = args.file.is_none();
    if own {
        // Fails before the change if the change could not be logged.
        TrustLog::in_home(&context.host.home).read()?;
    }
    let file = args.file.clone().unwrap_or_else(|| context.host.home.trust_file());
    let present = trusted_keys::read_store(&file, context.host.home.base())?;
    let successors: Vec<KeyName> = present.find(&args.key).map_or_else(Vec::new, |key| {
        present
            .successors(key.id())
            .into_iter()
            .map(|key| KeyName { name: key.name.clone(), id: key.id() })
            .collect()
    });
    let with_successors = args.with_successors || asked_about(&successors, args, context)?;
    let revocation = args.since.map_or(Revocation::Always, Revocation::Since);
    let change = |name: &str, text: &str| {
        let mut edited = TrustStore::revoke(name, text, &args.key, revocation)?;
        if with_successors {
            for successor in &successors {
                edited = TrustStore::revoke(name, &edited, &successor.id.to_string(), revocation)?;
            }
        }
        let (store, _) =
            TrustStore::from_yaml(name, &edited).map_err(graph_core::trust::EditError::Invalid)?;
        Ok((edited, store))
    };
    let missing = || Error::not_found(format!("the trust store has no key `{}`", args.key));
    let store = trusted_keys::edit(&file, context.host.home.base(), change, |store| {
        let revoked = store.find(&args.key).ok_or_else(missing)?;
        let known: Vec<_> = successors.iter().map(|key| key.id).collect();
        if store.successors(revoked.id()).iter().any(|key| !known.contains(&key.id())) {
            let message =
                format!("another process has added a key that follows `{}`: nothing was revoked", args.key);
            return Err(Error::storage(message).help("give the command again"));
        }
        let also = successors.iter().filter(|_| with_successors);
        let names = also.map(|key| (&key.name, key.id)).chain([(&revoked.name, revoked.id())]);
        for (name, id) in names.filter(|_| own) {
            TrustLog::in_home(&context.host.home).key(LogEvent::KeyRevoked, name, vec![id], None)?;
        }
        Ok(())
    })?;
    let at = now();
    let revoked = store.find(&args.key).ok_or_else(missing)?;
    let reports = successors.iter().filter_map(|key| store.find(&key.id.to_string()));
    let reports: Vec<_> = reports.map(|key| TrustedReport::of(key, at)).collect();
    let (successors_revoked, successors_kept) =
        if with_successors { (reports, Vec::new()) } else { (Vec::new(), reports) };
    Ok(RevokeReport {
        file: shown(&file),
        key: TrustedReport::of(revoked, at),
        successors_revoked,
        successors_kept,
    })
}

/// Returns whether the successors of a key are revoked with it; asks the user if the options do not decide.
fn asked_about(successors: &[KeyName], args: &Revoke, context: &Context) -> Result<bool> {
    if successors.is_empty() || args.yes {
        return Ok(false);
    }
    let names: Vec<_> = successors.iter().map(ToString::to_string).collect();
    let names = names.join(", ");
    let key = printable(&args.key);
    let undecided = || {
        let message = format!("`{}` vouches for other keys, which are still trusted: {names}", args.key);
        let typed = shell_quoted(&args.key);
        Error::usage(message).help(format!(
            "`graph-host trust revoke {typed} --with-successors` revokes them too; `graph-host trust revoke {typed} --yes` \
             revokes this key alone"
        ))
    };
    if !context.output.can_ask() {
        return Err(undecided());
    }
    let question = format!(
        "`{key}` vouches for {}. Revoke them too? [yes/no, Enter: nothing at all]",
        printable(&names)
    );
    match context.output.ask_line(&question)?.to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        _ => Err(undecided()),
    }
}

fn rotate(args: Rotate, context: &Context) -> Result<EditReport> {
    if args.name.as_ref().is_some_and(|name| !is_key_name(name)) {
        return Err(Error::usage("a key's name is a text on one line, without invisible characters"));
    }
    let text = text_file::read_named_as("the rotation", &args.statement)?;
    let rotation = Rotation::parse(&text).map_err(|error| {
        let message = format!("{} is not a rotation of keys: {error}", shown(&args.statement));
        match error {
            RotationError::BadSignature(_) => Error::integrity(message)
                .help("fetch the statement again from where it came; do not use this one"),
            _ => Error::invalid(message).help("`graph-host keys rotate OLD NEW` writes one"),
        }
    })?;
    let own = args.file.is_none();
    if own {
        // Fails before the change if the change could not be logged.
        TrustLog::in_home(&context.host.home).read()?;
    }
    let file = args.file.unwrap_or_else(|| context.host.home.trust_file());
    let successor = Successor { name: args.name, old_until: args.until, not_after: args.not_after };
    let change = |name: &str, text: &str| {
        let (edited, new) = TrustStore::rotate(name, text, &rotation, &successor, now())?;
        let (store, _) =
            TrustStore::from_yaml(name, &edited).map_err(graph_core::trust::EditError::Invalid)?;
        Ok((edited, store.find(&new).cloned()))
    };
    let added = trusted_keys::edit(&file, context.host.home.base(), change, |key| {
        let Some(key) = key.as_ref().filter(|_| own) else { return Ok(()) };
        let keys = vec![rotation.old().id(), key.id()];
        let statement = Some(graph_core::digest::Digest::of_bytes(text.as_bytes()));
        TrustLog::in_home(&context.host.home).key(LogEvent::KeyRotated, &key.name, keys, statement)
    })?;
    let Some(key) = added else {
        return Err(Error::storage(format!("{} does not have the key that was added to it", shown(&file))));
    };
    Ok(EditReport { file: shown(&file), key: TrustedReport::of(&key, now()), hint: None })
}

#[derive(Debug, Serialize)]
struct RequirementReport {
    items: Vec<ItemPattern>,
    threshold: u32,
    keys: Vec<String>,
    /// File and line of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
}

impl RequirementReport {
    fn of(rule: &Requirement) -> Self {
        let keys = rule.keys.iter().map(|key| key.name.clone()).collect();
        let place = rule.place.as_ref().map(ToString::to_string);
        Self { items: rule.items.clone(), threshold: rule.threshold, keys, rule: place }
    }

    fn render(&self) -> String {
        let items: Vec<_> = self.items.iter().map(ItemPattern::as_str).collect();
        let keys: Vec<_> = self.keys.iter().map(|key| printable(key).into_owned()).collect();
        format!(
            "{} {} of {} have to sign {}{}",
            styled(BOLD, "required"),
            self.threshold,
            keys.join(", "),
            items.join(", "),
            self.rule.as_ref().map(|rule| format!(" ({})", printable(rule))).unwrap_or_default()
        )
    }
}

#[derive(Debug, Serialize)]
struct ListReport {
    file: String,
    /// The files of `--trust`.
    #[serde(skip)]
    others: Vec<String>,
    keys: Vec<TrustedReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    require: Vec<RequirementReport>,
}

fn list(args: &List, context: &Context) -> Result<ListReport> {
    let store = trusted_keys::load(&context.host.home, &args.trust, &*context.host.notices)?;
    let at = now();
    let keys = store.keys().iter().map(|key| TrustedReport::of(key, at)).collect();
    let require = store.requirements().iter().map(RequirementReport::of).collect();
    let others = args.trust.iter().map(|file| shown(file)).collect();
    Ok(ListReport { file: shown(&context.host.home.trust_file()), others, keys, require })
}

impl ListReport {
    fn render(&self) -> String {
        if self.keys.is_empty() && self.require.is_empty() {
            let files: Vec<_> = std::iter::once(&self.file).chain(&self.others).map(String::as_str).collect();
            return format!("no key is trusted in {}", files.join(", "));
        }
        let keys = self.keys.iter().map(TrustedReport::render);
        keys.chain(self.require.iter().map(RequirementReport::render)).collect::<Vec<_>>().join("\n\n")
    }
}

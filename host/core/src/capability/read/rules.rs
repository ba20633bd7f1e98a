//! Reading what an entry grants beyond the machine: requests, secrets, knowledge.

use std::net::IpAddr;

use super::super::http::{AddressRange, HttpRule, Scheme, is_host, is_method};
use super::super::reach::{KnowledgeRule, SecretRule, SecretSource, is_header, is_scope, is_secret_name};
use super::super::{Access, path};
use super::{MOST_ENTRIES, bounded};
use crate::diagnostic::{Diagnostic, Problems, Span, codes, excerpt};
use crate::keys;
use crate::yaml::{Fields, Node};

pub(super) fn bad(node: &Node, reason: &str, problems: &Problems) {
    let written = node.as_text().map(|text| format!("`{}`: ", excerpt(text))).unwrap_or_default();
    problems.push(Diagnostic::error(codes::BAD_RULE, node.span, format!("{written}{reason}")));
}

/// Returns the entries of a list that must not be empty.
pub(super) fn entries<'n>(node: &'n Node, key: &str, problems: &Problems) -> &'n [Node] {
    let list = node.list(format!("`{key}`"), problems);
    if list.is_some_and(<[Node]>::is_empty) {
        node.out_of_range(&format!("`{key}` must list something"), "at least one entry", problems);
    }
    list.unwrap_or_default()
}

/// Returns at most [`MOST_ENTRIES`] entries of a list whose entries are compared with each other.
pub(super) fn bounded_entries<'n>(node: &'n Node, key: &str, problems: &Problems) -> &'n [Node] {
    let list = entries(node, key, problems);
    bounded(node, key, list.len(), problems);
    list.get(..MOST_ENTRIES).unwrap_or(list)
}

/// Reads a text that has to pass a check; anything else is reported.
fn checked(
    fields: &mut Fields<'_>,
    key: &'static str,
    is_valid: fn(&str) -> bool,
    reason: &str,
    problems: &Problems,
) -> Option<String> {
    let node = fields.required(key)?;
    let text = node.text(format!("`{key}`"), problems)?;
    if !is_valid(text) {
        bad(node, reason, problems);
        return None;
    }
    Some(text.to_owned())
}

const HOST: &str = "a host is a name in lower case such as `api.acme.com`, or an address; without a scheme, a port, a path or `*`";

fn schemes(fields: &mut Fields<'_>, problems: &Problems) -> Vec<Scheme> {
    let Some(node) = fields.get("schemes") else { return vec![Scheme::Https] };
    let choices = [("https", Scheme::Https), ("http", Scheme::Http)];
    let list = entries(node, "schemes", problems).iter();
    let mut schemes: Vec<_> =
        list.filter_map(|item| item.choice("each of `schemes`", &choices, problems)).collect();
    schemes.sort_unstable();
    schemes.dedup();
    schemes
}

pub(super) fn http(node: &Node, problems: &Problems) -> Vec<HttpRule> {
    let list = bounded_entries(node, "http", problems).iter();
    list.filter_map(|item| {
        let mut fields = Fields::open(item, &keys::manifest::HTTP, "each entry of `http`", problems)?;
        let host = checked(&mut fields, "host", is_host, HOST, problems);
        let schemes = schemes(&mut fields, problems);
        let mut ports: Vec<u16> = match fields.get("ports") {
            None => schemes.iter().map(|scheme| scheme.port()).collect(),
            Some(node) => bounded_entries(node, "ports", problems)
                .iter()
                .filter_map(|item| item.u64("each of `ports`", 1..=65535, problems))
                .filter_map(|port| u16::try_from(port).ok())
                .collect(),
        };
        ports.sort_unstable();
        ports.dedup();
        let mut methods = vec!["GET".to_owned()];
        if let Some(node) = fields.get("methods") {
            methods.clear();
            for item in bounded_entries(node, "methods", problems) {
                let Some(method) = item.text("each of `methods`", problems) else { continue };
                if !is_method(method) || method == "CONNECT" {
                    bad(
                        item,
                        "a method is a word in capital letters such as `GET`, and not `CONNECT`",
                        problems,
                    );
                }
                methods.push(method.to_owned());
            }
            methods.sort_unstable();
            methods.dedup();
        }
        let addresses = addresses(&mut fields, problems);
        fields.finish();
        Some(HttpRule { host: host?, schemes, ports, methods, addresses })
    })
    .collect()
}

/// Reads `addresses`: ranges that a host may have in addition to public addresses.
pub(super) fn addresses(fields: &mut Fields<'_>, problems: &Problems) -> Vec<AddressRange> {
    let Some(node) = fields.get("addresses") else { return Vec::new() };
    let mut addresses = Vec::new();
    for item in bounded_entries(node, "addresses", problems) {
        let Some(text) = item.text("each of `addresses`", problems) else { continue };
        match text.parse::<AddressRange>() {
            Ok(range) => addresses.push(range),
            Err(error) => bad(item, &error.to_string(), problems),
        }
    }
    addresses
}

fn is_variable_name(text: &str) -> bool {
    let is_begin = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    text.len() <= 128
        && text.as_bytes().first().is_some_and(is_begin)
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Reads the source of a secret: `{env: ..}` or `{file: ..}`.
pub(super) fn secret_source(
    node: &Node,
    what: &str,
    base: &str,
    problems: &Problems,
) -> Option<SecretSource> {
    let mut from = Fields::open(node, &keys::manifest::SECRET_SOURCE, what, problems)?;
    let (env, file) = (from.get("env"), from.get("file"));
    from.finish();
    match (env, file) {
        (Some(node), None) => {
            let name = node.text("`env`", problems)?;
            if !is_variable_name(name) {
                // The invalid name may be the secret itself, so the message omits it.
                let message = "`env` has to be the name of an environment variable: letters, digits and `_`, at most 128";
                let help =
                    "the secret itself is not written into a manifest: the host reads it from that variable";
                problems
                    .push(Diagnostic::error(codes::BAD_RULE, node.span, message).label("here").help(help));
                return None;
            }
            Some(SecretSource::Env(name.to_owned()))
        }
        (None, Some(node)) => match path::resolve(base, node.text("`file`", problems)?) {
            Ok(path) => Some(SecretSource::File(path)),
            Err(reason) => {
                bad(node, reason, problems);
                None
            }
        },
        _ => {
            bad(node, &format!("{what} has either `env` or `file`"), problems);
            None
        }
    }
}

pub(super) fn secrets(node: &Node, base: &str, problems: &Problems) -> Vec<SecretRule> {
    let mut rules: Vec<SecretRule> = Vec::new();
    for item in bounded_entries(node, "secrets", problems) {
        let Some(mut fields) =
            Fields::open(item, &keys::manifest::SECRET, "each entry of `secrets`", problems)
        else {
            continue;
        };
        let reason = "a secret's name has letters, digits and `_`";
        let name = checked(&mut fields, "name", is_secret_name, reason, problems);
        let from = fields.required("from").and_then(|node| secret_source(node, "`from`", base, problems));
        let reason = "a header is a name in lower case such as `authorization`";
        let header = checked(&mut fields, "header", is_header, reason, problems);
        let host = checked(&mut fields, "host", is_host, HOST, problems);
        let schemes = schemes(&mut fields, problems);
        fields.finish();
        let (Some(name), Some(from), Some(header), Some(host)) = (name, from, header, host) else { continue };
        if rules.iter().any(|known| known.name == name) {
            bad(item, "another secret of this entry has this name", problems);
            continue;
        }
        rules.push(SecretRule { name, from, header, host, schemes });
    }
    rules
}

/// Warns of rules under which nothing can ever be sent: a host of this machine or a private network whose address the rule does not name,
/// and a secret that no request may contain.
pub(super) fn warn_of_idle(
    (http_node, http): (Option<&Node>, &[HttpRule]),
    (secrets_node, secrets): (Option<&Node>, &[SecretRule]),
    problems: &Problems,
) {
    // Each rule that is read is searched for among at most `MOST_ENTRIES` others.
    let place = |node: Option<&Node>, key: &str, value: &str| {
        let items = node.and_then(Node::as_list).unwrap_or_default();
        let is_it = |item: &&Node| item.descend([key]).as_text() == Some(value);
        items.iter().take(MOST_ENTRIES).find(is_it).map_or(Span::NONE, |item| item.descend([key]).span)
    };
    for rule in http {
        let local = match rule.host.parse::<IpAddr>() {
            Ok(address) => (!rule.reaches(address)).then(|| address.to_string()),
            Err(_) => (rule.host == "localhost" && rule.addresses.is_empty()).then(|| "127.0.0.1".to_owned()),
        };
        let Some(address) = local else { continue };
        let message = format!("nothing can be sent to `{}`: {address} is not a public address", rule.host);
        let span = place(http_node, "host", &rule.host);
        let problem = Diagnostic::warning(codes::IDLE_RULE, span, message);
        problems.push(problem.help(format!("to allow it, name it: addresses: [\"{address}\"]")));
    }
    for secret in secrets {
        let hosts: Vec<&HttpRule> = http.iter().filter(|rule| rule.host == secret.host).collect();
        let carries = |rule: &&HttpRule| rule.schemes.iter().any(|scheme| secret.schemes.contains(scheme));
        // Without any entry of `http`, the missing grant is that of the request.
        if http.is_empty() || hosts.iter().any(carries) {
            continue;
        }
        let by: Vec<_> = secret.schemes.iter().map(|scheme| scheme.as_str()).collect();
        let (name, host, by) = (&secret.name, &secret.host, by.join(" or "));
        let why = if hosts.is_empty() {
            format!("no entry of `http` here names `{host}`")
        } else {
            format!("it goes by {by} alone, and no entry of `http` here allows `{host}` by {by}")
        };
        let message = format!("the secret `{name}` can never be sent: {why}");
        let problem = Diagnostic::warning(codes::IDLE_RULE, place(secrets_node, "name", name), message);
        problems.push(problem.help(format!(
            "write `http: [{{ host: {host}, schemes: [{}] }}]`, or give the secret the `schemes` of the entry that is there",
            by.replace(" or ", ", ")
        )));
    }
}

pub(super) fn knowledge(node: &Node, problems: &Problems) -> Vec<KnowledgeRule> {
    let list = bounded_entries(node, "knowledge", problems).iter();
    list.filter_map(|item| {
        let mut fields = Fields::open(item, &keys::manifest::KNOWLEDGE, "each entry of `knowledge`", problems)?;
        let reason = "a scope is segments of letters, digits, `_`, `-` and `.`, each followed by `/`, such as `acme/notes/`";
        let scope = checked(&mut fields, "scope", is_scope, reason, problems);
        let access = fields.choice("access", &[("ro", Access::ReadOnly), ("rw", Access::ReadWrite)]);
        fields.finish();
        Some(KnowledgeRule { scope: scope?, access: access.unwrap_or(Access::ReadOnly) })
    })
    .collect()
}

//! Reading the language models of a manifest.

use std::collections::BTreeSet;
use std::time::Duration;

use super::super::model::{ModelApi, ModelPrice, ModelRule, is_model_name, read_url};
use super::rules::{addresses, bad, entries, secret_source};
use super::{positive, read_money};
use crate::diagnostic::{Diagnostic, Problems, codes, excerpt, is_invisible};
use crate::keys;
use crate::yaml::{Fields, Mapping, Node};

/// Default time limit of one request.
const TIMEOUT: Duration = Duration::from_mins(2);
/// Default of the largest number of tokens of an answer.
const MAX_OUTPUT: u64 = 4096;
/// Largest number of tokens of an answer that a manifest can allow.
const LARGEST_OUTPUT: u64 = 1 << 20;
/// Default number of attempts of a request.
const ATTEMPTS: u32 = 3;
/// Largest number of attempts that a manifest can allow.
const MOST_ATTEMPTS: u64 = 10;
/// Number of names that a message shows.
const SHOWN: usize = 10;

/// Reads `models`: each entry names a model.
pub(super) fn read(models: &Mapping, base: &str, problems: &Problems) -> Vec<ModelRule> {
    let models = models.iter();
    models
        .filter_map(|entry| {
            let name = &entry.key.name;
            if !is_model_name(name) {
                let message = format!("`{}` cannot name a model", excerpt(name));
                problems.push(
                    Diagnostic::error(codes::BAD_MODEL, entry.key.span, message)
                        .label("here")
                        .help("a name has letters, digits, `_` and `-`, at most 64"),
                );
            }
            let what = format!("the model `{}`", excerpt(name));
            let fields = Fields::open(&entry.value, &keys::manifest::MODEL, what, problems)?;
            read_model(name, fields, base, problems).filter(|_| is_model_name(name))
        })
        .collect()
}

fn read_model(name: &str, mut fields: Fields<'_>, base: &str, problems: &Problems) -> Option<ModelRule> {
    fields.required("api");
    let api = fields.choice("api", &ModelApi::NAMES);
    let url_node = fields.required("url");
    let url = url_node.and_then(|node| {
        let text = node.text("`url`", problems)?;
        read_url(text).map_err(|reason| bad(node, reason, problems)).ok()
    });
    let model = fields.required("model").and_then(|node| {
        let text = node.text("`model`", problems)?;
        let is_hidden = |c: char| c.is_control() || is_invisible(c);
        let is_fine = !text.is_empty() && text.len() <= 256 && !text.contains(is_hidden);
        if !is_fine {
            bad(
                node,
                "the provider's name of a model has 1 to 256 characters, none of them a control character or invisible",
                problems,
            );
        }
        is_fine.then(|| text.to_owned())
    });
    let secret_node = fields.get("secret");
    let secret = secret_node.map(|node| secret_source(node, "`secret`", base, problems));
    let price = match fields.fields(
        "price",
        &keys::manifest::MODEL_PRICE,
        format!("`price` of the model `{name}`"),
    ) {
        Some(fields) => read_price(fields),
        None => ModelPrice::default(),
    };
    let timeout = positive(&mut fields, "timeout").unwrap_or(TIMEOUT);
    let max_output = fields.u64("max_output", 1..=LARGEST_OUTPUT).unwrap_or(MAX_OUTPUT);
    let media_tokens = fields.u64("media_tokens", 0..=LARGEST_OUTPUT);
    let attempts = fields.u64("attempts", 1..=MOST_ATTEMPTS).and_then(|count| u32::try_from(count).ok());
    let stream = fields.bool("stream").unwrap_or(true);
    let max_tokens_node = fields.get("max_tokens_key");
    let max_tokens =
        fields.choice("max_tokens_key", &[("max_completion_tokens", false), ("max_tokens", true)]);
    if let Some(node) = max_tokens_node.filter(|_| api.is_some_and(|api| api != ModelApi::OpenAiChat)) {
        bad(node, "this key is for servers of the API `openai-chat` alone", problems);
    }
    let reasoning_node = fields.get("encrypted_reasoning");
    let encrypted_reasoning = fields.bool("encrypted_reasoning").unwrap_or(true);
    if let Some(node) = reasoning_node.filter(|_| api.is_some_and(|api| api != ModelApi::OpenAiResponses)) {
        bad(node, "`encrypted_reasoning` is for providers of the API `openai-responses` alone", problems);
    }
    let addresses = addresses(&mut fields, problems);
    fields.finish();
    let (scheme, host, port, path) = url?;
    if let Some(own) = api.map(ModelApi::path).filter(|own| path.ends_with(own)) {
        bad(url_node?, &format!("the host adds `{own}` itself: leave it out"), problems);
        return None;
    }
    if secret_node.is_some() && scheme == super::super::http::Scheme::Http && !is_local(&host) {
        let node = secret_node?;
        bad(node, "a key is sent by `https` alone, except to this machine", problems);
        return None;
    }
    let secret = match secret {
        Some(None) => return None,
        secret => secret.flatten(),
    };
    Some(ModelRule {
        name: name.to_owned(),
        api: api?,
        scheme,
        host,
        port,
        path,
        addresses,
        model: model?,
        secret,
        price,
        timeout,
        max_output,
        media_tokens,
        attempts: attempts.unwrap_or(ATTEMPTS),
        stream,
        max_tokens: max_tokens.unwrap_or(false),
        encrypted_reasoning,
    })
}

/// Checks whether a host is this machine.
fn is_local(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn read_price(mut fields: Fields<'_>) -> ModelPrice {
    let input = read_money(&mut fields, "input").unwrap_or(0);
    let price = ModelPrice {
        input,
        output: read_money(&mut fields, "output").unwrap_or(0),
        cached: read_money(&mut fields, "cached").unwrap_or(input),
        cache_write: read_money(&mut fields, "cache_write").unwrap_or(input),
    };
    fields.finish();
    price
}

/// Reads the names of models in an entry of `items`.
pub(super) fn names(node: &Node, known: &BTreeSet<&str>, problems: &Problems) -> Vec<String> {
    let (mut names, mut listed) = (Vec::new(), BTreeSet::new());
    for item in entries(node, "model", problems) {
        let Some(name) = item.text("each of `model`", problems) else { continue };
        if !known.contains(name) {
            let message = format!("there is no model `{}` in `models`", excerpt(name));
            let help = if known.is_empty() {
                "name it at the top of the manifest: models: { fast: { api: openai-chat, url: .., model: .. } }".to_owned()
            } else {
                let more = if known.len() > SHOWN { ", .." } else { "" };
                let shown = known.iter().take(SHOWN).map(|name| format!("`{}`", excerpt(name)));
                format!("there is {}{more}", shown.collect::<Vec<_>>().join(", "))
            };
            problems.push(Diagnostic::error(codes::BAD_MODEL, item.span, message).label("here").help(help));
        } else if listed.insert(name) {
            names.push(name.to_owned());
        } else {
            bad(item, "this model is listed twice", problems);
        }
    }
    names
}

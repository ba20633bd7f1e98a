//! Language models that a manifest names: addresses and prices.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::http::{AddressRange, HttpRule, Scheme, is_host};
use super::reach::SecretSource;
use crate::limits::millis;

/// The protocol by which a model is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelApi {
    /// OpenAI's Chat Completions, which many servers have.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// OpenAI's Responses, without state at the provider.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Anthropic's Messages.
    Anthropic,
}

impl ModelApi {
    /// Every API with its name in a manifest.
    pub const NAMES: [(&'static str, Self); 3] = [
        ("openai-chat", Self::OpenAiChat),
        ("openai-responses", Self::OpenAiResponses),
        ("anthropic", Self::Anthropic),
    ];

    /// Returns the name in a manifest.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
        }
    }

    /// Returns the path of requests, relative to the provider's URL.
    pub const fn path(self) -> &'static str {
        match self {
            Self::OpenAiChat => "/chat/completions",
            Self::OpenAiResponses => "/responses",
            Self::Anthropic => "/messages",
        }
    }
}

/// The price of a model, in millionths of the manifest's currency for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// Tokens of requests.
    pub input: u64,
    /// Tokens of answers.
    pub output: u64,
    /// Tokens of requests that the provider reads from its cache.
    pub cached: u64,
    /// Tokens of requests that the provider writes to its cache.
    pub cache_write: u64,
}

/// Tokens that a call has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelTokens {
    /// Tokens of the request, `cached` and `cache_write` included.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Tokens of the request that the provider has read from its cache.
    pub cached: u64,
    /// Tokens of the request that the provider has written to its cache.
    pub cache_write: u64,
}

impl ModelPrice {
    /// Returns the cost of a call, in millionths, rounded up. It saturates.
    pub fn cost(&self, tokens: ModelTokens) -> u64 {
        let ModelTokens { input, output, cached, cache_write } = tokens;
        let cached = cached.min(input);
        let written = cache_write.min(input - cached);
        let parts = [
            (input - cached - written, self.input),
            (cached, self.cached),
            (written, self.cache_write),
            (output, self.output),
        ];
        let sum = parts.iter().fold(0_u128, |sum, (tokens, price)| {
            sum.saturating_add(u128::from(*tokens).saturating_mul(u128::from(*price)))
        });
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    /// Returns the largest cost of a call with these tokens, in millionths, whether or not the provider uses its cache.
    pub fn most(&self, input: u64, output: u64) -> u64 {
        Self { input: self.dearest_input(), ..*self }.cost(ModelTokens {
            input,
            output,
            ..ModelTokens::default()
        })
    }

    /// Returns the largest number of tokens of an answer with which a call that sends `input` tokens costs at most `cost` millionths by
    /// [`most`](Self::most); `None` if the request alone costs more.
    pub fn output_within(&self, input: u64, cost: u64) -> Option<u64> {
        let request = u128::from(input).saturating_mul(u128::from(self.dearest_input()));
        let left = u128::from(cost).saturating_mul(1_000_000).checked_sub(request)?;
        let tokens = left.checked_div(u128::from(self.output));
        Some(tokens.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or(u64::MAX))
    }

    fn dearest_input(&self) -> u64 {
        self.input.max(self.cached).max(self.cache_write)
    }
}

/// A language model that a manifest names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRule {
    /// The name by which components ask for it.
    pub name: String,
    /// The protocol.
    pub api: ModelApi,
    /// The scheme of the provider's URL.
    pub scheme: Scheme,
    /// The provider's host: a name in lower case, or an address without brackets.
    pub host: String,
    /// The provider's port.
    pub port: u16,
    /// The path of the provider's URL, without a `/` at its end; the API's own path is appended.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Address ranges that the host may have in addition to public addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressRange>,
    /// The provider's name of the model.
    pub model: String,
    /// The source of the key; `None` for a provider that needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretSource>,
    /// The price; zero if the manifest has none.
    #[serde(default, skip_serializing_if = "is_free")]
    pub price: ModelPrice,
    /// Time limit of one request.
    #[serde(with = "millis")]
    pub timeout: Duration,
    /// Largest number of tokens of an answer.
    pub max_output: u64,
    /// Number of tokens that a file in a request counts as; `None`: requests with files are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_tokens: Option<u64>,
    /// Largest number of attempts of a request, the first one included, while the provider answers that it may work later.
    pub attempts: u32,
    /// `true` if answers are streamed, so that tokens are shown while they arrive.
    pub stream: bool,
    /// `true` if the server, with the API `openai-chat`, knows only the older key `max_tokens`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub max_tokens: bool,
    /// `true` if the provider, with the API `openai-responses`, is asked for encrypted reasoning, which later requests of the conversation
    /// send back.
    #[serde(default = "asked_for", skip_serializing_if = "Clone::clone")]
    pub encrypted_reasoning: bool,
}

const fn asked_for() -> bool {
    true
}

fn is_free(price: &ModelPrice) -> bool {
    *price == ModelPrice::default()
}

impl ModelRule {
    /// Returns the HTTP rule for requests to this model.
    pub fn http(&self) -> HttpRule {
        HttpRule {
            host: self.host.clone(),
            schemes: vec![self.scheme],
            ports: vec![self.port],
            methods: vec!["POST".to_owned()],
            addresses: self.addresses.clone(),
        }
    }

    /// Returns the provider's URL, for messages.
    pub fn url(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let port = if self.port == self.scheme.port() { String::new() } else { format!(":{}", self.port) };
        format!("{}://{host}{port}{}", self.scheme, self.path)
    }
}

/// The `format` in a schema of params whose value is the name of a model in a manifest.
pub const MODEL_FORMAT: &str = "model";
/// The `format` in a schema of params whose value is the id of a tool that the graph dispatches.
pub const ITEM_FORMAT: &str = "item";
/// The `format` in a schema of params whose value is the id of a directive that the graph executes.
pub const DIRECTIVE_FORMAT: &str = "directive";

/// Checks whether a text can name a model in a manifest: letters, digits, `_` and `-`, at most 64.
pub fn is_model_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// The parts of a provider's URL: scheme, host, port, and path without a `/` at its end.
pub(super) type Url = (Scheme, String, u16, String);

/// Reads a provider's URL: `http` or `https`, a host, an optional port and path, nothing else.
pub(super) fn read_url(text: &str) -> Result<Url, &'static str> {
    let (scheme, rest) = match text.split_once("://") {
        Some(("https", rest)) => (Scheme::Https, rest),
        Some(("http", rest)) => (Scheme::Http, rest),
        _ => return Err("it has to begin with `https://` or `http://`"),
    };
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let path = path.trim_end_matches('/');
    let is_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/._~-:@%+".contains(&byte);
    if !path.bytes().all(is_path) || path.split('/').any(|part| part == "..") {
        return Err("its path may have letters, digits and `/._~-:@%+` alone, without a query");
    }
    if authority.contains('@') {
        return Err("it may not contain a user or a password: `secret` says where the key is");
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or("its address does not end with `]`")?;
            let port = match rest.strip_prefix(':') {
                Some(port) => Some(port),
                None if rest.is_empty() => None,
                None => return Err("only `:` and a port may follow its address"),
            };
            (host, port)
        }
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    if !is_host(host) {
        return Err("its host has to be a name in lower case such as `api.example.com`, or an address");
    }
    let port = match port {
        None => scheme.port(),
        Some(port) => match port.parse() {
            Ok(port) if port != 0 => port,
            _ => return Err("its port has to be a number from 1 to 65535"),
        },
    };
    Ok((scheme, host.to_owned(), port, path.to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn urls_have_a_scheme_a_host_and_a_path() {
        let read = |text: &str| read_url(text).unwrap();
        assert_eq!(
            read("https://api.example.com/v1/"),
            (Scheme::Https, "api.example.com".to_owned(), 443, "/v1".to_owned())
        );
        assert_eq!(
            read("http://127.0.0.1:4010"),
            (Scheme::Http, "127.0.0.1".to_owned(), 4010, String::new())
        );
        assert_eq!(read("http://[::1]:8080/x"), (Scheme::Http, "::1".to_owned(), 8080, "/x".to_owned()));
        for text in [
            "",
            "api.example.com",
            "ftp://a/",
            "https://",
            "https://A.com",
            "https://u:p@a.com",
            "https://a.com:0",
            "https://a.com:99999",
            "https://a.com/?k=1",
            "https://a.com/#f",
            "https://[::1",
            "https://[::1]x",
            "https://a.com/../b",
            "https://a.com/a b",
            "https://a.com:",
        ] {
            assert!(read_url(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_call_costs_what_its_tokens_cost() {
        let price = ModelPrice { input: 250_000, output: 2_000_000, cached: 25_000, cache_write: 312_500 };
        let tokens = ModelTokens { input: 1000, output: 100, cached: 600, cache_write: 200 };
        // 200 * 0.25 + 600 * 0.025 + 200 * 0.3125 + 100 * 2 = 327.5
        assert_eq!(price.cost(tokens), 328);
        assert_eq!(price.most(1000, 100), 513);
        let free = ModelPrice::default();
        assert_eq!(free.cost(tokens), 0);
        let dear = ModelPrice { input: u64::MAX, ..free };
        assert_eq!(dear.cost(ModelTokens { input: u64::MAX, ..tokens }), u64::MAX);
    }

    proptest! {
        #[test]
        fn no_call_costs_more_than_was_set_aside(
            price in proptest::array::uniform4(0_u64..10_000_000),
            input in 0_u64..1_000_000, output in 0_u64..1_000_000, cached: u64, cache_write: u64,
        ) {
            let [a, b, c, d] = price;
            let price = ModelPrice { input: a, output: b, cached: c, cache_write: d };
            let cost = price.cost(ModelTokens { input, output, cached, cache_write });
            prop_assert!(cost <= price.most(input, output));
        }
    }
}

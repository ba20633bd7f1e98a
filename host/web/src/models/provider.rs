//! The provider of a granted model, where its key is.

use graph_core::capability::{
    self, EffectiveGrant, HttpField, HttpResponse, ModelRule, SecretRule, SecretValue,
};
use graph_core::node::{Category, Failure};
use graph_model::{Bounds, DecodeError, ErrorAnswer, Response, Usage};

use super::model::Model;
use super::request::is_shallow;
use super::text::escape;
use super::tried::{Spent, Tried, TryResult, Unanswered, category};
use crate::read;

/// The provider of a granted model, with the key. The key leaves it in the header of a request alone.
#[derive(Debug)]
pub struct Provider {
    model: Model,
    outgoing: capability::Outgoing,
    /// The header for the key, with the handle in the place of the key.
    key: Option<HttpField>,
}

/// A request to a provider: a `POST`.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderRequest {
    /// The URL.
    pub url: String,
    /// The fields, with the key.
    pub fields: Vec<HttpField>,
    /// How long the whole exchange may take, in milliseconds.
    pub timeout: u64,
}

/// Why there is no response that can be read, as `error-code` of `wasi:http` names it.
struct Problem<'a> {
    error: &'a str,
    message: String,
}

impl Provider {
    /// From a grant, as JSON, the name of the model, and the key; none for a key that is not known. The error says that it is
    /// missing or cannot be used.
    pub fn open(grant: &str, name: &str, key: Option<&str>) -> Result<Self, String> {
        let grant: EffectiveGrant = read::document("grant", grant).map_err(|problem| problem.message)?;
        let rule = grant.models.into_iter().find(|rule| rule.name == name);
        let rule = rule.ok_or_else(|| format!("no model `{}` is granted", escape(name)))?;
        let model = Model::new(rule);
        let (header, before) = model.api.key_header();
        let secret = model.rule.secret.as_ref().map(|from| {
            let ModelRule { name, host, scheme, .. } = &model.rule;
            let secret = SecretRule {
                name: name.clone(),
                from: from.clone(),
                header: header.to_owned(),
                host: host.clone(),
                schemes: vec![*scheme],
            };
            let key = key.ok_or_else(|| format!("the key of the model `{name}` is missing"))?;
            SecretValue::new(&secret, key.to_owned()).map_err(|error| error.to_string())
        });
        let secret = secret.transpose()?;
        let field =
            |secret: &SecretValue| (header.to_owned(), format!("{before}{}", secret.handle()).into_bytes());
        let key = secret.as_ref().map(field);
        let rules = vec![model.rule.http()];
        let outgoing = capability::Outgoing { rules, secrets: secret.into_iter().collect() };
        Ok(Self { model, outgoing, key })
    }

    /// Completes what a try sends. The error says why it is denied.
    pub fn prepare(&self, mut fields: Vec<HttpField>) -> Result<ProviderRequest, String> {
        let ModelRule { scheme, host, port, path, timeout, .. } = &self.model.rule;
        fields.extend(self.key.clone());
        self.outgoing
            .prepare(*scheme, host, *port, "POST", &mut fields)
            .map_err(|denied| denied.to_string())?;
        let shown = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let url = format!("{scheme}://{shown}:{port}{path}{}", self.model.api.path());
        Ok(ProviderRequest { url, fields, timeout: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX) })
    }

    /// The outcome of a try that has a response, as JSON for [`Call::settle`](super::Call::settle). Its body has at most `most` bytes.
    pub fn read(&self, status: u16, fields: Vec<HttpField>, body: Vec<u8>, most: u64) -> String {
        let received = self.outgoing.receive(&self.model.rule.host, HttpResponse { status, fields, body });
        let tried = match received {
            Err(error) => self.not_exchanged(&Problem {
                error: "HTTP-response-content-coding",
                message: error.to_string(),
            }),
            Ok(response) if response.status != 200 => self.refused(&response),
            Ok(response) => {
                let answer = self.model.api.decode(&response.body, &bounds(most));
                match answer.and_then(|answer| self.cleaned(&answer)) {
                    Ok(answer) => {
                        let spent = answer.usage.map_or(Spent::Unknown(None), Spent::Said);
                        Tried { result: TryResult::Answered(answer), spent }
                    }
                    Err(error) => self.unreadable(&error),
                }
            }
        };
        written(&tried)
    }

    /// The outcome of a try without a response. `error` is a case of `error-code` of `wasi:http`. `sent` says that the request may have
    /// reached the provider whatever the error is: a browser does not say where an exchange ended.
    pub fn failed(&self, error: &str, message: String, sent: bool) -> String {
        let mut tried = self.not_exchanged(&Problem { error, message });
        if sent && tried.spent == Spent::Call {
            tried.spent = Spent::Unknown(None);
        }
        written(&tried)
    }

    /// An answer without the key, whose parts the provider may have sent apart.
    fn cleaned(&self, answer: &Response) -> Result<Response, DecodeError> {
        let shape =
            |expected| DecodeError::Shape { path: "message".to_owned(), expected, usage: answer.usage };
        let mut value =
            serde_json::to_value(answer).map_err(|_| shape("an answer that JSON can represent"))?;
        if !is_shallow(&value) {
            return Err(shape("an answer that nests less deeply"));
        }
        self.outgoing.clean_json(&mut value);
        serde_json::from_value(value).map_err(|_| shape("an answer without the key"))
    }

    fn failure(&self, category: Category, text: &str) -> Failure {
        let text = self.outgoing.clean(text.to_owned());
        Failure::new(category, format!("{}: {}", self.model.shown(), escape(&text)))
    }

    /// No response, or none that could be read to its end.
    fn not_exchanged(&self, problem: &Problem<'_>) -> Tried {
        let (category, again, is_sent) = match problem.error {
            "DNS-error" | "connection-refused" | "TLS-protocol-error" => (Category::Transient, true, false),
            "connection-timeout" => (Category::Timeout, true, false),
            "HTTP-request-denied" | "destination-IP-prohibited" => (Category::Denied, false, false),
            "TLS-certificate-error" | "HTTP-request-URI-invalid" => (Category::Permanent, false, false),
            "connection-terminated" => (Category::Transient, true, true),
            "HTTP-response-timeout" => (Category::Timeout, false, true),
            _ => (Category::Permanent, false, true),
        };
        let failure = self.failure(category, &problem.message);
        let spent = if is_sent { Spent::Unknown(None) } else { Spent::Call };
        Tried { result: TryResult::Unanswered(Unanswered { failure, again, wait: None }), spent }
    }

    /// The provider has answered that it does not answer.
    fn refused(&self, response: &HttpResponse) -> Tried {
        let fields = response
            .fields
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), std::str::from_utf8(value).ok()?)));
        let answer = ErrorAnswer::new(response.status, fields, &response.body);
        Tried { result: TryResult::Unanswered(self.provider_failed(&answer)), spent: Spent::Call }
    }

    /// An answer that cannot be read, or that is an error in its midst.
    fn unreadable(&self, error: &DecodeError) -> Tried {
        let usage: Option<Usage> = error.usage();
        let (unanswered, spent) = match error {
            DecodeError::Provider { answer, .. } => (self.provider_failed(answer), Spent::Unknown(usage)),
            error => {
                let again = error.category().can_retry();
                let failure = self.failure(category(error.category()), &error.to_string());
                // These answers were whole, so that the provider has said all.
                let is_whole = matches!(error, DecodeError::Arguments { .. });
                let spent = match usage {
                    Some(usage) if is_whole => Spent::Said(usage),
                    usage => Spent::Unknown(usage),
                };
                (Unanswered { failure, again, wait: None }, spent)
            }
        };
        Tried { result: TryResult::Unanswered(unanswered), spent }
    }

    fn provider_failed(&self, answer: &ErrorAnswer) -> Unanswered {
        let mut text = answer.message.clone();
        if let Some(status) = answer.status {
            text = format!("{text} (status {status})");
        }
        Unanswered {
            failure: self.failure(category(answer.category), &text),
            again: answer.category.can_retry(),
            wait: answer.retry_after_ms,
        }
    }
}

/// The bounds of an answer whose body has at most `most` bytes.
fn bounds(most: u64) -> Bounds {
    let own = Bounds::default();
    let answer_bytes = own.answer_bytes.min(usize::try_from(most).unwrap_or(usize::MAX));
    Bounds { answer_bytes, ..own }
}

fn written(tried: &Tried) -> String {
    // It has keys of text and no numbers that are none.
    serde_json::to_string(tried).unwrap_or_default()
}

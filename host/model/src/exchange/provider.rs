//! The provider of a granted model, in the place of its key.

use std::sync::Arc;

use graph_core::capability::{HttpField, HttpResponse, ModelRule, OutgoingGrant, SecretRule, SecretValue};
use graph_core::diagnostic::escape;
use graph_core::json::depth;
use graph_core::node::{Category, Failure};

use super::attempt::{AttemptFailure, AttemptOutcome, AttemptResult, Charge};
use super::component_json::MAX_NESTING;
use super::model::Model;
use super::remedy;
use crate::{DecodeError, ErrorAnswer, Response, Usage};

/// The provider of a granted model, with the key. The host sends the key only in the header of a request.
#[derive(Debug)]
pub struct Provider {
    model: Model,
    outgoing: Arc<OutgoingGrant>,
    key: Option<HttpField>,
}

/// Reason why a request has no response, or none that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeObstacle {
    /// The provider was not reached, and nothing was sent: its name cannot be resolved, or it accepted no connection.
    Unreachable,
    /// No connection was made in time, and nothing was sent.
    ConnectTimeout,
    /// The request or the address is not granted, and nothing was sent.
    Denied,
    /// The provider's certificate or URL is invalid, and nothing was sent.
    Invalid,
    /// The connection was closed too early.
    Terminated,
    /// No response came in time. The provider may still be processing the request.
    ResponseTimeout,
    /// The response, or the request, violates HTTP or the host's bounds.
    Unusable,
}

impl ExchangeObstacle {
    /// Returns the obstacle of a case of `error-code` of `wasi:http`, such as `connection-refused`.
    pub fn of_error_code(name: &str) -> Self {
        match name {
            "DNS-error" | "connection-refused" | "TLS-protocol-error" => Self::Unreachable,
            "connection-timeout" => Self::ConnectTimeout,
            "HTTP-request-denied" | "destination-IP-prohibited" => Self::Denied,
            "TLS-certificate-error" | "HTTP-request-URI-invalid" => Self::Invalid,
            "connection-terminated" => Self::Terminated,
            "HTTP-response-timeout" => Self::ResponseTimeout,
            _ => Self::Unusable,
        }
    }

    /// Returns the category of the failure, whether the same request can succeed later, and whether it may have been
    /// sent.
    const fn meaning(self) -> (Category, bool, bool) {
        match self {
            Self::Unreachable => (Category::Transient, true, false),
            Self::ConnectTimeout => (Category::Timeout, true, false),
            Self::Denied => (Category::Denied, false, false),
            Self::Invalid => (Category::Permanent, false, false),
            Self::Terminated => (Category::Transient, true, true),
            Self::ResponseTimeout => (Category::Timeout, false, true),
            Self::Unusable => (Category::Permanent, false, true),
        }
    }
}

impl Provider {
    /// Creates the provider of a model. `key` returns the value of the model's secret; it is not called for a model
    /// without a secret.
    pub fn new<E>(
        rule: ModelRule,
        key: impl FnOnce(&SecretRule) -> Result<SecretValue, E>,
    ) -> Result<Self, E> {
        let model = Model::new(rule);
        let rule = model.rule();
        let (header, before) = model.api().key_header();
        let secret = rule.secret.as_ref().map(|from| {
            key(&SecretRule {
                name: rule.name.clone(),
                from: from.clone(),
                header: header.to_owned(),
                host: rule.host.clone(),
                schemes: vec![rule.scheme],
            })
        });
        let secret = secret.transpose()?;
        let key = secret
            .as_ref()
            .map(|secret| (header.to_owned(), format!("{before}{}", secret.handle()).into_bytes()));
        let outgoing =
            Arc::new(OutgoingGrant { rules: vec![rule.http()], secrets: secret.into_iter().collect() });
        Ok(Self { model, outgoing, key })
    }

    /// Returns the model.
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the rules of requests to the provider, with the value of the key.
    pub const fn outgoing(&self) -> &Arc<OutgoingGrant> {
        &self.outgoing
    }

    /// Returns the header for the key. Its value has a handle, which [`OutgoingGrant::prepare`] replaces with the key.
    pub const fn key(&self) -> Option<&HttpField> {
        self.key.as_ref()
    }

    /// Returns the outcome of a try that has a response. `answer` decodes the body if the status is 200.
    pub fn read(
        &self,
        response: &HttpResponse,
        answer: impl FnOnce(&[u8]) -> Result<Response, DecodeError>,
    ) -> AttemptOutcome {
        if response.status != 200 {
            return self.refused(response);
        }
        match answer(&response.body).and_then(|answer| self.cleaned(&answer)) {
            Ok(answer) => AttemptOutcome::answered(answer),
            Err(error) => self.unreadable(&error, response),
        }
    }

    /// Returns the outcome of a try without a response, or with one that could not be read to its end. `usage` is what
    /// the provider has reported until then.
    pub fn not_exchanged(
        &self,
        obstacle: ExchangeObstacle,
        message: &str,
        usage: Option<Usage>,
    ) -> AttemptOutcome {
        let (category, again, is_sent) = obstacle.meaning();
        let spent = if is_sent { Charge::Unknown(usage) } else { Charge::Call };
        AttemptOutcome::failed(self.failure(category, message), again, spent)
    }

    /// Returns an answer without the key. A provider could return the key in parts, so the decoded answer is searched.
    fn cleaned(&self, answer: &Response) -> Result<Response, DecodeError> {
        let shape =
            |expected| DecodeError::Shape { path: "message".to_owned(), expected, usage: answer.usage };
        let mut value =
            serde_json::to_value(answer).map_err(|_| shape("an answer that JSON can represent"))?;
        // The answer is recorded and passed to a component, which read it with this limit.
        if depth(&value) > MAX_NESTING {
            return Err(shape("an answer that nests less deeply"));
        }
        self.outgoing.clean_json(&mut value);
        serde_json::from_value(value).map_err(|_| shape("an answer without the key"))
    }

    fn failure(&self, category: Category, text: &str) -> Failure {
        let text = self.outgoing.clean(text.to_owned());
        Failure::new(category, format!("{}: {}", self.model.shown(), escape(&text)))
    }

    /// Returns the outcome of a response whose status is not 200.
    fn refused(&self, response: &HttpResponse) -> AttemptOutcome {
        let fields = response
            .fields
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), std::str::from_utf8(value).ok()?)));
        let answer = ErrorAnswer::new(response.status, fields, &response.body);
        self.provider_failed(
            &answer,
            remedy::for_refusal(self.model.rule(), &answer, &response.body),
            Charge::Call,
        )
    }

    /// Returns the outcome of an answer that cannot be read, or has an error in the middle.
    fn unreadable(&self, error: &DecodeError, response: &HttpResponse) -> AttemptOutcome {
        let usage = error.usage();
        if let DecodeError::Provider { answer, .. } = error {
            return self.provider_failed(answer, None, Charge::Unknown(usage));
        }
        let mut text = error.to_string();
        if let Some(instead) = remedy::for_unreadable(error, response) {
            text = format!("{text}; {instead}");
        }
        let failure = self.failure(error.category().into(), &text);
        AttemptOutcome::failed(failure, error.category().can_retry(), Charge::Unknown(usage))
    }

    fn provider_failed(&self, answer: &ErrorAnswer, remedy: Option<String>, spent: Charge) -> AttemptOutcome {
        let mut text = answer.message.clone();
        if let Some(status) = answer.status {
            text = format!("{text} (status {status})");
        }
        if let Some(remedy) = remedy {
            text = format!("{text}; {remedy}");
        }
        let failure = self.failure(answer.category.into(), &text);
        let unanswered =
            AttemptFailure { failure, again: answer.category.can_retry(), wait: answer.retry_after_ms };
        AttemptOutcome { result: AttemptResult::Unanswered(unanswered), spent }
    }
}

//! Listings that come in pages, linked by `Link: <…>; rel="next"` (RFC 8288, distribution specification 1.1).

use graph_http::header::LINK;
use graph_http::{Method, Response, StatusCode};
use url::Url;

use super::client::{About, Ask, Registry};
use crate::manifest::shown;
use crate::transport::TransportError;

/// How many pages of a listing are read.
pub(super) const MOST_PAGES: usize = 20;

/// The pages of a listing, requested one after the other.
pub(super) struct Pages<'r> {
    registry: &'r Registry,
    about: About<'r>,
    accept: Option<&'static str>,
    next: Option<Url>,
    read: Vec<Url>,
}

impl<'r> Pages<'r> {
    pub(super) fn new(
        registry: &'r Registry,
        first: Url,
        about: About<'r>,
        accept: Option<&'static str>,
    ) -> Self {
        Self { registry, about, accept, next: Some(first), read: Vec::new() }
    }

    /// The response with the next page, of any status; `None` after the last page. If there are more pages than are read,
    /// the error is [`TransportError::CutOff`].
    pub(super) fn next(&mut self) -> Result<Option<Response>, TransportError> {
        let Some(url) = self.next.take() else { return Ok(None) };
        let what = self.about.what;
        if self.read.contains(&url) {
            return Err(self.registry.answer(what, "a `Link` to a page that was read already".to_owned()));
        }
        if self.read.len() == MOST_PAGES {
            return Err(TransportError::CutOff {
                what: what.to_owned(),
                place: self.registry.host().to_owned(),
                most: MOST_PAGES,
                unit: "pages",
            });
        }
        let fields = self.accept.map(|accept| ("accept", accept.to_owned())).into_iter().collect();
        let ask = Ask { method: Method::GET, url: url.clone(), fields, body: None };
        let response = self.registry.ask(&ask, self.about)?;
        if response.status() == StatusCode::OK {
            let fields = response.headers().get_all(LINK);
            let next = fields.iter().find_map(|field| next_page(field.to_str().ok()?));
            self.next = next.map(|next| self.joined(&url, next)).transpose()?;
        }
        self.read.push(url);
        Ok(Some(response))
    }

    /// The URL of the next page, which has to be at the registry itself.
    fn joined(&self, from: &Url, next: &str) -> Result<Url, TransportError> {
        let unusable = |reason: String| {
            self.registry.answer(self.about.what, format!("the `Link` `{}`: {reason}", shown(next)))
        };
        let url = from.join(next).map_err(|error| unusable(error.to_string()))?;
        if url.origin() == from.origin() && url.username().is_empty() && url.password().is_none() {
            Ok(url)
        } else {
            Err(unusable("the next page is at another host".to_owned()))
        }
    }
}

/// The target of the first link with `rel="next"` in the value of a `Link` field.
fn next_page(field: &str) -> Option<&str> {
    let mut rest = field;
    while let Some((_, link)) = rest.split_once('<') {
        let (target, after) = link.split_once('>')?;
        let (parameters, others) = split_outside_quotes(after, ',');
        if is_next(parameters) {
            return Some(target);
        }
        rest = others;
    }
    None
}

/// Whether the parameters of a link, each after a `;`, have the relation `next`.
fn is_next(parameters: &str) -> bool {
    let mut rest = parameters;
    while !rest.is_empty() {
        let (parameter, others) = split_outside_quotes(rest, ';');
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let mut relations = value.trim().trim_matches('"').split_ascii_whitespace();
        if name.trim().eq_ignore_ascii_case("rel") && relations.any(|it| it.eq_ignore_ascii_case("next")) {
            return true;
        }
        rest = others;
    }
    false
}

/// Splits a text at the first separator that is not in quotes; without one, all of it comes before.
fn split_outside_quotes(text: &str, separator: char) -> (&str, &str) {
    let mut is_quoted = false;
    let at = text.find(|c: char| {
        is_quoted ^= c == '"';
        c == separator && !is_quoted
    });
    at.map_or((text, ""), |at| (&text[..at], &text[at + separator.len_utf8()..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_next_page_is_found_among_links() {
        for field in [
            r#"</v2/a/tags/list?n=2&last=b>; rel="next""#,
            "</v2/a/tags/list?n=2&last=b>;rel=next",
            r#"</first>; rel="first"; title="a, <b>; rel=next", </v2/a/tags/list?n=2&last=b>; REL="last Next""#,
        ] {
            assert_eq!(next_page(field), Some("/v2/a/tags/list?n=2&last=b"), "{field}");
        }
        for field in ["", "/next; rel=next", "</a", r#"</a>; rel="prev""#, r#"</a>; title="rel""#, "</a>"] {
            assert_eq!(next_page(field), None, "{field}");
        }
    }

    proptest! {
        #[test]
        fn no_field_panics(field in "[a-z<>=;,\"ä ]{0,40}(; rel=next)?") {
            let _ = next_page(&field);
        }
    }
}

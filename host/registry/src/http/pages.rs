//! Listings that come in pages.

use graph_http::header::LINK;
use graph_http::{Method, Response, StatusCode};
use url::Url;

use super::client::{Registry, RepeatableRequest, RequestPurpose};
use crate::answer::next_page;
use crate::transport::TransportError;

/// Maximum number of pages of a listing that are read.
pub(super) const MOST_PAGES: usize = 20;

/// The pages of a listing, requested one after the other.
pub(super) struct Pages<'r> {
    registry: &'r Registry,
    about: RequestPurpose<'r>,
    accept: Option<&'static str>,
    next: Option<Url>,
    read: Vec<Url>,
}

impl<'r> Pages<'r> {
    pub(super) fn new(
        registry: &'r Registry,
        first: Url,
        about: RequestPurpose<'r>,
        accept: Option<&'static str>,
    ) -> Self {
        Self { registry, about, accept, next: Some(first), read: Vec::new() }
    }

    /// Requests the next page and returns the response, of any status; `None` after the last page. If there are more
    /// than [`MOST_PAGES`] pages, the error is [`TransportError::CutOff`].
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
        let ask = RepeatableRequest { method: Method::GET, url: url.clone(), fields, body: None };
        let response = self.registry.ask(&ask, self.about)?;
        if response.status() == StatusCode::OK {
            let fields = response.headers().get_all(LINK);
            let links = fields.iter().filter_map(|field| field.to_str().ok());
            let next = links.map(|field| next_page(&url, field)).find_map(Result::transpose).transpose();
            self.next = next.map_err(|error| self.registry.answer(what, error.to_string()))?;
        }
        self.read.push(url);
        Ok(Some(response))
    }
}

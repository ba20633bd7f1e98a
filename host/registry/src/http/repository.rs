//! The manifests, blobs, tags and referrers of one repository, and the listings of a registry.

use graph_core::digest::Digest;
use graph_http::header::CONTENT_TYPE;
use graph_http::{Method, Response, StatusCode};
use url::Url;

use super::client::{MOST_ANSWER, Registry, RepeatableRequest, RequestPurpose};
use super::pages::Pages;
use crate::answer::{self, MOST_NAMES};
use crate::manifest::{
    ArtifactManifest, Descriptor, MOST_LISTED, MOST_MANIFEST, ManifestIndex, media, shown,
};
use crate::reference::{is_repository, is_tag};
use crate::transport::{
    FetchedManifest, ManifestName, Transport, TransportError, fallback_tag, has_type, index_of_tag, listed,
};

/// Number of entries of a listing that are requested for each page.
const PAGE: usize = 200;

/// The names in a listing.
#[derive(Debug)]
pub(crate) struct Names {
    /// The names that were read.
    pub(crate) names: Vec<String>,
    /// The error that reports at which limit the listing was cut off, if it was.
    pub(crate) cut_off: Option<TransportError>,
}

/// A repository of a registry.
#[derive(Clone, Debug)]
pub struct Repository {
    registry: Registry,
    name: String,
    /// The scopes of tokens for reading and for writing.
    scopes: [String; 2],
}

impl Repository {
    pub(super) fn new(registry: Registry, name: &str) -> Self {
        let scopes = ["pull", "pull,push"].map(|actions| format!("repository:{name}:{actions}"));
        Self { registry, name: name.to_owned(), scopes }
    }

    fn reading<'a>(&'a self, what: &'a str) -> RequestPurpose<'a> {
        RequestPurpose { what, scope: &self.scopes[0], is_blob: false }
    }

    fn writing<'a>(&'a self, what: &'a str) -> RequestPurpose<'a> {
        RequestPurpose { what, scope: &self.scopes[1], is_blob: false }
    }

    fn url(&self, rest: &str) -> Result<Url, TransportError> {
        self.registry.url(&format!("{}/{rest}", self.name))
    }

    fn get(
        &self,
        rest: &str,
        accept: Option<String>,
        about: RequestPurpose<'_>,
    ) -> Result<Response, TransportError> {
        let fields = accept.map(|accept| ("accept", accept)).into_iter().collect();
        let ask = RepeatableRequest { method: Method::GET, url: self.url(rest)?, fields, body: None };
        self.registry.ask(&ask, about)
    }

    /// Returns the tags on the pages that are read.
    pub(crate) fn listed_tags(&self) -> Result<Names, TransportError> {
        let what = format!("the tags of {}", self.name);
        let first = self.url(&format!("tags/list?n={PAGE}"))?;
        names(&self.registry, first, "tags", is_tag, self.reading(&what))
    }

    fn put(
        &self,
        bytes: &[u8],
        media_type: &str,
        reference: &str,
        what: &str,
    ) -> Result<Response, TransportError> {
        let about = self.writing(what);
        let ask = RepeatableRequest {
            method: Method::PUT,
            url: self.url(&format!("manifests/{reference}"))?,
            fields: vec![("content-type", media_type.to_owned())],
            body: Some(bytes),
        };
        let response = self.registry.ask(&ask, about)?;
        if response.status() == StatusCode::CREATED {
            Ok(response)
        } else {
            Err(self.registry.failed(response, about))
        }
    }
}

impl Transport for Repository {
    fn manifest(&self, wanted: ManifestName<'_>) -> Result<FetchedManifest, TransportError> {
        let what = format!("{} of {}", wanted.shown(), self.name);
        let reference = match wanted {
            ManifestName::Tag(tag) => tag.to_owned(),
            ManifestName::Digest(digest) => digest.to_string(),
        };
        let accept = format!("{}, {}", media::MANIFEST, media::INDEX);
        let about = self.reading(&what);
        let response = self.get(&format!("manifests/{reference}"), Some(accept), about)?;
        if response.status() != StatusCode::OK {
            return Err(self.registry.failed(response, about));
        }
        let field = |name: &str| {
            let field = response.headers().get(name).and_then(|field| field.to_str().ok());
            field.map(str::to_owned)
        };
        let media_type = field(CONTENT_TYPE.as_str()).unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default().trim().to_owned();
        if ![media::MANIFEST, media::INDEX].contains(&media_type.as_str()) {
            let reason = format!("content of the type `{}`, which is no manifest", shown(&media_type));
            return Err(self.registry.answer(&what, reason));
        }
        let stated = field("docker-content-digest");
        let bytes = self.registry.body(response, &what, MOST_MANIFEST)?;
        let digest = Digest::of_bytes(&bytes);
        if let Some(stated) =
            stated.filter(|stated| stated.starts_with("sha256:") && *stated != digest.to_string())
        {
            let reason = format!("content of the digest {digest}, and says that it is {}", shown(&stated));
            return Err(self.registry.answer(&what, reason));
        }
        Ok(FetchedManifest { bytes, digest })
    }

    fn blob(&self, digest: &Digest, most: u64) -> Result<Vec<u8>, TransportError> {
        let what = format!("blob {digest}");
        let about = RequestPurpose { is_blob: true, ..self.reading(&what) };
        let response = self.get(&format!("blobs/{digest}"), None, about)?;
        if response.status() != StatusCode::OK {
            return Err(self.registry.failed(response, about));
        }
        self.registry.body(response, &what, most)
    }

    fn tags(&self) -> Result<Vec<String>, TransportError> {
        let tags = self.listed_tags()?;
        tags.cut_off.map_or(Ok(tags.names), Err)
    }

    fn referrers(&self, subject: &Digest, artifact_type: &str) -> Result<Vec<Descriptor>, TransportError> {
        let what = format!("the referrers of {subject}");
        let about = self.reading(&what);
        let mut first = self.url(&format!("referrers/{subject}"))?;
        first.query_pairs_mut().append_pair("artifactType", artifact_type);
        let mut pages = Pages::new(&self.registry, first, about, Some(media::INDEX));
        let mut found = Vec::new();
        let mut is_first = true;
        while let Some(response) = pages.next()? {
            match response.status() {
                StatusCode::OK => {
                    let bytes = self.registry.body(response, &what, MOST_MANIFEST)?;
                    let index = ManifestIndex::read(&bytes).map_err(|error| {
                        self.registry.answer(&what, format!("an index that cannot be used: {error}"))
                    })?;
                    found.extend(index.manifests);
                }
                // The registry has no referrers API: the referrers are listed under a tag.
                StatusCode::NOT_FOUND if is_first => {
                    found = index_of_tag(self, &fallback_tag(subject))?.manifests;
                }
                _ => return Err(self.registry.failed(response, about)),
            }
            is_first = false;
            // Registries need not filter, and those that do report it in `OCI-Filters-Applied`: filtering again is
            // harmless.
            found.retain(|listed| has_type(listed, artifact_type));
            if found.len() > MOST_LISTED {
                let place = self.place();
                return Err(TransportError::CutOff {
                    what: what.clone(),
                    place,
                    most: MOST_LISTED,
                    unit: "entries",
                });
            }
        }
        Ok(found)
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<(), TransportError> {
        let digest = Digest::of_bytes(bytes);
        let what = format!("blob {digest}");
        let about = self.writing(&what);
        let ask = |method, url, fields, body| RepeatableRequest { method, url, fields, body };
        let is_there = RequestPurpose { is_blob: true, ..about };
        let head = ask(Method::HEAD, self.url(&format!("blobs/{digest}"))?, Vec::new(), None);
        if self.registry.ask(&head, is_there)?.status() == StatusCode::OK {
            return Ok(());
        }
        let begin =
            ask(Method::POST, self.url("blobs/uploads/")?, vec![("content-length", "0".to_owned())], None);
        let response = self.registry.ask(&begin, about)?;
        if response.status() != StatusCode::ACCEPTED {
            return Err(self.registry.failed(response, about));
        }
        let mut url = self.registry.upload_location(&response, &begin.url, &what)?;
        url.query_pairs_mut().append_pair("digest", &digest.to_string());
        let fields = vec![("content-type", "application/octet-stream".to_owned())];
        let response = self.registry.ask(&ask(Method::PUT, url, fields, Some(bytes)), about)?;
        if response.status() == StatusCode::CREATED {
            Ok(())
        } else {
            Err(self.registry.failed(response, about))
        }
    }

    fn put_manifest(&self, manifest: &ArtifactManifest, tag: Option<&str>) -> Result<Digest, TransportError> {
        let bytes = manifest.to_bytes();
        let entry = listed(manifest, &bytes);
        let digest = entry.digest;
        let what = format!("manifest {digest}");
        let reference = tag.map_or_else(|| digest.to_string(), str::to_owned);
        let response = self.put(&bytes, media::MANIFEST, &reference, &what)?;
        let Some(subject) = &manifest.subject else { return Ok(digest) };
        if response.headers().contains_key("oci-subject") {
            return Ok(digest);
        }
        // The registry has no referrers API: the referrers have to be listed under the tag that the specification
        // defines.
        let tag = fallback_tag(&subject.digest);
        let mut index = index_of_tag(self, &tag)?;
        if !index.manifests.iter().any(|listed| listed.digest == digest) {
            index.manifests.push(entry);
            let what = format!("tag `{tag}`");
            self.put(&index.to_bytes(), media::INDEX, &tag, &what)?;
        }
        Ok(digest)
    }

    fn place(&self) -> String {
        format!("{}/{}", self.registry.host(), self.name)
    }
}

impl Registry {
    /// Returns the repositories on the pages of the registry's catalog that are read.
    pub(crate) fn listed_repositories(&self) -> Result<Names, TransportError> {
        let about = RequestPurpose { what: "the catalog", scope: "registry:catalog:*", is_blob: false };
        let first = self.url(&format!("_catalog?n={PAGE}"))?;
        names(self, first, "repositories", is_repository, about)
    }
}

/// Reads the names in a listing, page by page, up to the maximum numbers of pages and names.
fn names(
    registry: &Registry,
    first: Url,
    key: &'static str,
    is_name: impl Fn(&str) -> bool,
    about: RequestPurpose<'_>,
) -> Result<Names, TransportError> {
    let what = about.what;
    let mut pages = Pages::new(registry, first, about, None);
    let mut found = Vec::new();
    loop {
        let response = match pages.next() {
            Ok(Some(response)) => response,
            Ok(None) => return Ok(Names { names: found, cut_off: None }),
            Err(error @ TransportError::CutOff { .. }) => {
                return Ok(Names { names: found, cut_off: Some(error) });
            }
            Err(error) => return Err(error),
        };
        if response.status() != StatusCode::OK {
            return Err(registry.failed(response, about));
        }
        let bytes = registry.body(response, what, MOST_ANSWER)?;
        let page =
            answer::names(&bytes, key, &is_name).map_err(|error| registry.answer(what, error.to_string()))?;
        found.extend(page);
        if found.len() > MOST_NAMES {
            found.truncate(MOST_NAMES);
            let (what, place) = (what.to_owned(), registry.host().to_owned());
            let cut_off = TransportError::CutOff { what, place, most: MOST_NAMES, unit: "entries" };
            return Ok(Names { names: found, cut_off: Some(cut_off) });
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::super::pages::MOST_PAGES;
    use super::super::test_server::{CannedResponse, TestServer};
    use super::*;

    /// Returns a page of a listing of `pages` pages, with a link to the next one. The path of a page ends in its
    /// number.
    fn page(path: &str, pages: usize, body: impl Fn(usize) -> Value) -> CannedResponse {
        let (rest, number) = path.rsplit_once("page=").unwrap_or((path, "1"));
        let number: usize = number.parse().unwrap();
        let link = format!("<{}&page={}>; rel=\"next\"", rest.trim_end_matches('&'), number + 1);
        let fields = if number < pages { vec![("link", link)] } else { Vec::new() };
        (200, fields, body(number).to_string().into_bytes())
    }

    #[test]
    fn a_listing_of_tags_is_whole_or_an_error() {
        let serve = |pages| {
            TestServer::start(move |path| page(path, pages, |n| json!({ "tags": [format!("1.0.{n}")] })))
        };
        let server = serve(MOST_PAGES);
        assert_eq!(server.registry.repository("a/b").tags().unwrap().len(), MOST_PAGES);

        let server = serve(MOST_PAGES + 1);
        let repository = server.registry.repository("a/b");
        let error = repository.tags().unwrap_err();
        assert!(matches!(error, TransportError::CutOff { most: MOST_PAGES, .. }), "{error:?}");
        let told = error.to_string();
        for part in [server.registry.host(), "the tags of a/b", "20 pages"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert_eq!(server.asked().len(), MOST_PAGES);
        let listed = repository.listed_tags().unwrap();
        assert_eq!((listed.names.len(), listed.cut_off.is_some()), (MOST_PAGES, true));
    }

    #[test]
    fn a_catalog_says_that_it_was_cut_off() {
        let serve = |pages| {
            TestServer::start(move |path| {
                page(path, pages, |n| json!({ "repositories": [format!("a/{n}")] }))
            })
        };
        let listed = serve(2).registry.listed_repositories().unwrap();
        assert_eq!((listed.names.len(), listed.cut_off.is_some()), (2, false));
        let listed = serve(MOST_PAGES + 1).registry.listed_repositories().unwrap();
        assert_eq!((listed.names.len(), listed.cut_off.is_some()), (MOST_PAGES, true));
    }

    #[test]
    fn a_listing_is_cut_off_after_a_number_of_names() {
        let pages = |size: usize| move |_| json!({ "tags": vec!["1.0.0"; size] });
        let server = TestServer::start(move |path| page(path, 2, pages(MOST_NAMES / 2)));
        assert_eq!(server.registry.repository("a/b").tags().unwrap().len(), MOST_NAMES);

        let server = TestServer::start(move |path| page(path, 3, pages(MOST_NAMES / 2 + 1)));
        let repository = server.registry.repository("a/b");
        let error = repository.tags().unwrap_err();
        assert!(
            matches!(error, TransportError::CutOff { most: MOST_NAMES, unit: "entries", .. }),
            "{error:?}"
        );
        assert_eq!(server.asked().len(), 2);
        let listed = repository.listed_tags().unwrap();
        assert_eq!((listed.names.len(), listed.cut_off.is_some()), (MOST_NAMES, true));
    }

    #[test]
    fn an_empty_page_does_not_end_a_listing() {
        let tags = |n: usize| {
            if n == 1 { json!({ "tags": null }) } else { json!({ "tags": ["1.0.0", "not/a tag"] }) }
        };
        let server = TestServer::start(move |path| page(path, 2, tags));
        assert_eq!(server.registry.repository("a/b").tags().unwrap(), ["1.0.0"]);
    }

    #[test]
    fn pages_that_lead_back_or_elsewhere_are_refused() {
        for (link, part) in [
            ("</v2/a/b/tags/list?n=200>; rel=\"next\"", "read already"),
            ("<http://127.0.0.1:1/v2/>; rel=\"next\"", "another host"),
            ("<http://[>; rel=\"next\"", "`Link`"),
        ] {
            let server = TestServer::start(move |_| {
                (200, vec![("link", link.to_owned())], json!({ "tags": ["1.0.0"] }).to_string().into_bytes())
            });
            let error = server.registry.repository("a/b").tags().unwrap_err();
            assert!(matches!(error, TransportError::Answer { .. }), "{error:?}");
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    const SBOM: &str = "application/spdx+json";

    fn entry(name: &str, artifact_type: Option<&str>) -> Descriptor {
        Descriptor {
            artifact_type: artifact_type.map(str::to_owned),
            ..Descriptor::new(media::MANIFEST, name.as_bytes())
        }
    }

    fn index(manifests: Vec<Descriptor>) -> Vec<u8> {
        ManifestIndex { manifests, ..ManifestIndex::empty() }.to_bytes()
    }

    fn digests(found: &[Descriptor]) -> Vec<Digest> {
        found.iter().map(|listed| listed.digest).collect()
    }

    #[test]
    fn referrers_are_read_page_by_page_and_filtered() {
        let answer = |number: usize| -> Value {
            let name = format!("signature {number}");
            let all =
                vec![entry("sbom", Some(SBOM)), entry(&name, Some(media::ENVELOPE)), entry("untyped", None)];
            serde_json::from_slice(&index(all)).unwrap()
        };
        let server = TestServer::start(move |path| page(path, 2, answer));
        let subject = Digest::of_bytes(b"subject");
        let found = server.registry.repository("a/b").referrers(&subject, media::ENVELOPE).unwrap();
        let expected = ["signature 1", "untyped", "signature 2", "untyped"];
        assert_eq!(digests(&found), expected.map(|name| Digest::of_bytes(name.as_bytes())));
        let asked = server.asked();
        let first =
            format!("/v2/a/b/referrers/{subject}?artifactType=application%2Fvnd.dsse.envelope.v1%2Bjson");
        assert_eq!((asked.len(), asked[0].as_str()), (2, first.as_str()));

        let server = TestServer::start(move |path| page(path, MOST_PAGES + 1, answer));
        let error = server.registry.repository("a/b").referrers(&subject, media::ENVELOPE).unwrap_err();
        assert!(matches!(error, TransportError::CutOff { .. }), "{error:?}");
        assert!(error.to_string().contains(&format!("the referrers of {subject}")), "{error}");
    }

    #[test]
    fn referrers_are_filtered_by_the_registry_or_here() {
        let subject = Digest::of_bytes(b"subject");
        for filters in [None, Some("artifactType")] {
            let server = TestServer::start(move |_| {
                let all = [entry("signature", Some(media::ENVELOPE)), entry("sbom", Some(SBOM))];
                let sent = all.into_iter().take(if filters.is_some() { 1 } else { 2 }).collect();
                let field = filters.map(|filters| ("oci-filters-applied", filters.to_owned()));
                (200, field.into_iter().collect(), index(sent))
            });
            let found = server.registry.repository("a/b").referrers(&subject, media::ENVELOPE).unwrap();
            assert_eq!(digests(&found), [Digest::of_bytes(b"signature")], "{filters:?}");
        }
    }

    #[test]
    fn only_a_registry_without_the_referrers_api_is_asked_for_the_tag() {
        let subject = Digest::of_bytes(b"subject");
        let serve = |status: u16| {
            TestServer::start(move |path| {
                if path.contains("/referrers/") {
                    return (status, Vec::new(), Vec::new());
                }
                let all = vec![entry("signature", Some(media::ENVELOPE)), entry("sbom", Some(SBOM))];
                (200, vec![("content-type", media::INDEX.to_owned())], index(all))
            })
        };
        let server = serve(404);
        let found = server.registry.repository("a/b").referrers(&subject, media::ENVELOPE).unwrap();
        assert_eq!(digests(&found), [Digest::of_bytes(b"signature")]);
        assert_eq!(server.asked()[1], format!("/v2/a/b/manifests/{}", fallback_tag(&subject)));
        for status in [400, 403, 405, 429, 500] {
            let server = serve(status);
            let found = server.registry.repository("a/b").referrers(&subject, media::ENVELOPE);
            assert!(found.is_err(), "{status}: {found:?}");
            assert_eq!(server.asked().len(), 1, "{status}");
        }
    }
}

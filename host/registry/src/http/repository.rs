//! The manifests, blobs, tags and referrers of one repository, and the listings of a registry.

use graph_core::digest::Digest;
use graph_http::header::{CONTENT_TYPE, LINK};
use graph_http::{Method, Response, StatusCode};
use serde_json::Value;
use url::Url;

use super::client::{About, Ask, MOST_ANSWER, Registry};
use crate::manifest::{Descriptor, Index, MOST_MANIFEST, Manifest, media, shown};
use crate::reference::{is_repository, is_tag};
use crate::transport::{Fetched, Transport, TransportError, Wanted, fallback_tag, index_of_tag, listed};

/// How many pages of a listing are read, and how many entries are requested for each.
const MOST_PAGES: usize = 20;
const PAGE: usize = 200;

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

    fn reading<'a>(&'a self, what: &'a str) -> About<'a> {
        About { what, scope: &self.scopes[0], is_blob: false }
    }

    fn writing<'a>(&'a self, what: &'a str) -> About<'a> {
        About { what, scope: &self.scopes[1], is_blob: false }
    }

    fn url(&self, rest: &str) -> Result<Url, TransportError> {
        self.registry.url(&format!("{}/{rest}", self.name))
    }

    fn get(&self, rest: &str, accept: Option<String>, about: About<'_>) -> Result<Response, TransportError> {
        let fields = accept.map(|accept| ("accept", accept)).into_iter().collect();
        let ask = Ask { method: Method::GET, url: self.url(rest)?, fields, body: None };
        self.registry.ask(&ask, about)
    }

    /// The tags, at most a few thousand of them.
    pub fn tags(&self) -> Result<Vec<String>, TransportError> {
        let what = format!("the tags of {}", self.name);
        let path = format!("{}/tags/list?n={PAGE}", self.name);
        let mut tags = pages(&self.registry, &path, "tags", &what, &self.scopes[0])?;
        tags.retain(|tag| is_tag(tag));
        Ok(tags)
    }

    fn put(
        &self,
        bytes: &[u8],
        media_type: &str,
        reference: &str,
        what: &str,
    ) -> Result<Response, TransportError> {
        let about = self.writing(what);
        let ask = Ask {
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
    fn manifest(&self, wanted: Wanted<'_>) -> Result<Fetched, TransportError> {
        let what = format!("{} of {}", wanted.shown(), self.name);
        let reference = match wanted {
            Wanted::Tag(tag) => tag.to_owned(),
            Wanted::Digest(digest) => digest.to_string(),
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
        Ok(Fetched { bytes, digest })
    }

    fn blob(&self, digest: &Digest, most: u64) -> Result<Vec<u8>, TransportError> {
        let what = format!("blob {digest}");
        let about = About { is_blob: true, ..self.reading(&what) };
        let response = self.get(&format!("blobs/{digest}"), None, about)?;
        if response.status() != StatusCode::OK {
            return Err(self.registry.failed(response, about));
        }
        self.registry.body(response, &what, most)
    }

    fn referrers(&self, subject: &Digest) -> Result<Vec<Descriptor>, TransportError> {
        let what = format!("the signatures of {subject}");
        let about = self.reading(&what);
        let rest = format!("referrers/{subject}?artifactType={}", media::ENVELOPE.replace('+', "%2B"));
        let response = self.get(&rest, Some(media::INDEX.to_owned()), about)?;
        match response.status() {
            StatusCode::OK => {
                let bytes = self.registry.body(response, &what, MOST_MANIFEST)?;
                let index = Index::read(&bytes).map_err(|error| {
                    self.registry.answer(&what, format!("an index that cannot be used: {error}"))
                })?;
                Ok(index.manifests)
            }
            // A registry without the referrers API: they are listed under a tag.
            StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST | StatusCode::METHOD_NOT_ALLOWED => {
                index_of_tag(self, &fallback_tag(subject)).map(|index| index.manifests)
            }
            _ => Err(self.registry.failed(response, about)),
        }
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<(), TransportError> {
        let digest = Digest::of_bytes(bytes);
        let what = format!("blob {digest}");
        let about = self.writing(&what);
        let ask = |method, url, fields, body| Ask { method, url, fields, body };
        let is_there = About { is_blob: true, ..about };
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

    fn put_manifest(&self, manifest: &Manifest, tag: Option<&str>) -> Result<Digest, TransportError> {
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
        // A registry without the referrers API: they have to be listed under the tag that the specification defines.
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
    /// The repositories that the registry lists, at most a few thousand of them.
    pub fn repositories(&self) -> Result<Vec<String>, TransportError> {
        let path = format!("_catalog?n={PAGE}");
        let mut names = pages(self, &path, "repositories", "the catalog", "registry:catalog:*")?;
        names.retain(|name| is_repository(name));
        Ok(names)
    }
}

/// Reads a listing, page by page.
fn pages(
    registry: &Registry,
    path: &str,
    key: &str,
    what: &str,
    scope: &str,
) -> Result<Vec<String>, TransportError> {
    let about = About { what, scope, is_blob: false };
    let mut url = registry.url(path)?;
    let mut found = Vec::new();
    for _ in 0..MOST_PAGES {
        let ask = Ask { method: Method::GET, url: url.clone(), fields: Vec::new(), body: None };
        let response = registry.ask(&ask, about)?;
        if response.status() != StatusCode::OK {
            return Err(registry.failed(response, about));
        }
        let next = response.headers().get(LINK).and_then(|field| next_page(field.to_str().ok()?));
        let next = next.and_then(|next| url.join(&next).ok()).filter(|next| next.origin() == url.origin());
        let bytes = registry.body(response, what, MOST_ANSWER)?;
        let page: Value = serde_json::from_slice(&bytes)
            .map_err(|_| registry.answer(what, "something that is not JSON".to_owned()))?;
        let names = page.get(key).filter(|names| !names.is_null());
        let names = match names {
            None => &[],
            Some(names) => names
                .as_array()
                .ok_or_else(|| registry.answer(what, format!("JSON without a list of `{key}`")))?
                .as_slice(),
        };
        found.extend(names.iter().filter_map(Value::as_str).map(str::to_owned));
        match next {
            Some(next) if !names.is_empty() => url = next,
            _ => break,
        }
    }
    Ok(found)
}

/// The URL in `<…>; rel="next"` (RFC 8288).
fn next_page(field: &str) -> Option<String> {
    let (address, parameters) = field.trim().strip_prefix('<')?.split_once('>')?;
    let is_next = parameters.split(';').any(|it| matches!(it.trim(), "rel=\"next\"" | "rel=next"));
    is_next.then(|| address.to_owned())
}

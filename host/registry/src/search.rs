//! Lists what a registry or a directory offers. This is what the artifacts state, without any verification.

use crate::artifact::Kind;
use crate::http::{Options, Registry};
use crate::layout::Layout;
use crate::manifest::{Manifest, annotation, media, shown};
use crate::reference::{Location, Reference};
use crate::transport::{Transport, TransportError, Wanted};

/// How many artifacts are read.
const MOST: usize = 500;

/// An artifact that is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The reference that pulls it.
    pub reference: Reference,
    /// The kind that it states.
    pub kind: Kind,
    /// The id that it states.
    pub id: Option<String>,
    /// The version that it states.
    pub version: Option<String>,
    /// The description that it states.
    pub description: Option<String>,
}

/// Lists the items of a registry, a part of it, a repository, or a directory. Other artifacts are left out.
pub fn offers(place: &Reference, options: &Options) -> Result<Vec<Offer>, TransportError> {
    let mut found = Vec::new();
    match &place.place {
        Location::Layout { folder } => {
            let layout = Layout::new(folder);
            for listed in layout.index()?.manifests.into_iter().take(MOST) {
                let Some(name) = listed.annotations.get(annotation::REF_NAME) else { continue };
                if listed.media_type != media::MANIFEST {
                    continue;
                }
                let wanted = Wanted::Digest(&listed.digest);
                let reference = Reference { tag: Some(name.clone()), ..place.clone() };
                found.extend(offer(&layout, wanted, reference)?);
            }
        }
        Location::Registry { host, repository } => {
            let registry = Registry::new(host, options)?;
            for name in repositories(&registry, repository)? {
                let one = registry.repository(&name);
                let tags = match one.tags() {
                    Ok(tags) => tags,
                    // A registry still lists a repository after its last tag was deleted.
                    Err(TransportError::NotFound { .. }) => continue,
                    Err(error) => return Err(error),
                };
                for tag in tags.iter().filter(|tag| !is_fallback(tag)) {
                    if found.len() >= MOST {
                        return Ok(found);
                    }
                    let place = Location::Registry { host: host.clone(), repository: name.clone() };
                    let reference = Reference { place, tag: Some(tag.clone()), digest: None };
                    found.extend(offer(&one, Wanted::Tag(tag), reference)?);
                }
            }
        }
    }
    Ok(found)
}

/// The repositories below a name. If a registry lists none, the repository of that name is tried.
fn repositories(registry: &Registry, below: &str) -> Result<Vec<String>, TransportError> {
    let is_below = |name: &String| {
        below.is_empty()
            || name.strip_prefix(below).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match registry.repositories() {
        Ok(names) => {
            let found: Vec<_> = names.into_iter().filter(is_below).collect();
            Ok(if found.is_empty() && !below.is_empty() { vec![below.to_owned()] } else { found })
        }
        Err(TransportError::NotFound { .. } | TransportError::Denied { .. }) if !below.is_empty() => {
            Ok(vec![below.to_owned()])
        }
        Err(error) => Err(error),
    }
}

fn is_fallback(tag: &str) -> bool {
    tag.strip_prefix("sha256-").is_some_and(|hex| hex.len() == 64)
}

/// The offer of an artifact; none if it is not an item, or was deleted meanwhile.
fn offer(
    transport: &dyn Transport,
    wanted: Wanted<'_>,
    reference: Reference,
) -> Result<Option<Offer>, TransportError> {
    let fetched = match transport.manifest(wanted) {
        Ok(fetched) => fetched,
        Err(
            TransportError::NotFound { .. } | TransportError::Answer { .. } | TransportError::Broken { .. },
        ) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let Ok(manifest) = Manifest::read(&fetched.bytes) else { return Ok(None) };
    let Some(kind) = Kind::of(&manifest).filter(|_| manifest.subject.is_none()) else { return Ok(None) };
    let said = |key: &str| manifest.annotations.get(key).map(|text| shown(text));
    Ok(Some(Offer {
        reference,
        kind,
        id: said(annotation::ITEM),
        version: said(annotation::VERSION),
        description: said(annotation::DESCRIPTION),
    }))
}

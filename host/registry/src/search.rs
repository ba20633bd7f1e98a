//! What a registry or a directory offers, as it says itself: nothing of it has been checked.

use crate::artifact::Kind;
use crate::http::{Options, Registry};
use crate::layout::Layout;
use crate::manifest::{Manifest, annotation, media, shown};
use crate::reference::{Location, Reference};
use crate::transport::{Transport, TransportError, Wanted};

/// How many artifacts are looked at.
const MOST: usize = 500;

/// Something that is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Where it is.
    pub reference: Reference,
    /// What it says that it is.
    pub kind: Kind,
    /// The id that it says it has.
    pub id: Option<String>,
    /// The version that it says it has.
    pub version: Option<String>,
    /// What it says about itself.
    pub description: Option<String>,
}

/// Looks through a registry, a part of it, a repository, or a directory. What is no item is left out.
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
                    // A repository whose last tag was deleted is still listed.
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

/// The repositories below a name. A registry that lists none may still have the one that is named.
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

/// What an artifact says about itself; nothing for what is no item, or is not there any more.
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

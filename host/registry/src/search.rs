//! Lists the items that a registry or a directory offers, with what their artifacts state. None of it is verified.

use graph_core::digest::Digest;

use crate::artifact::Kind;
use crate::companions::stated_cases;
use crate::http::{Names, Registry, RegistryOptions};
use crate::layout::Layout;
use crate::manifest::{ArtifactManifest, annotation, media, shown};
use crate::reference::{Location, Reference};
use crate::transport::{ManifestName, Transport, TransportError};

/// Maximum number of artifacts that are read.
const MOST: usize = 500;

/// An artifact that is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The reference that pulls it.
    pub reference: Reference,
    /// The digest of its manifest.
    pub manifest: Digest,
    /// The kind that it states.
    pub kind: Kind,
    /// The id that it states.
    pub id: Option<String>,
    /// The version that it states.
    pub version: Option<String>,
    /// The description that it states.
    pub description: Option<String>,
    /// Number of cases that it states to have. None of them has been read.
    pub cases: usize,
    /// The location of its sources, as it states: any text, not only a URL.
    pub source: Option<String>,
}

/// The artifacts that a place offers.
#[derive(Debug, Default)]
pub struct Offers {
    /// The artifacts that were read.
    pub offers: Vec<Offer>,
    /// The error that reports at which limit the listing was cut off, if it was.
    pub cut_off: Option<TransportError>,
}

/// Lists the items of a registry, of a part of it, of a repository, or of a directory. Artifacts of other types are
/// left out.
pub fn offers(place: &Reference, options: &RegistryOptions) -> Result<Offers, TransportError> {
    let mut found = Offers::default();
    let mut looked_at = 0;
    // Reports whether one more artifact may be read. Artifacts that are not items count as well, because each is a
    // request.
    let mut look = |found: &mut Offers, host: &str| {
        if looked_at == MOST {
            let (what, place) = ("the artifacts".to_owned(), host.to_owned());
            found.cut_off = Some(TransportError::CutOff { what, place, most: MOST, unit: "artifacts" });
        }
        looked_at += 1;
        looked_at <= MOST
    };
    match &place.place {
        Location::Layout { folder } => {
            let layout = Layout::new(folder).within(options.budget());
            for listed in layout.index()?.manifests {
                let Some(name) = listed.annotations.get(annotation::REF_NAME) else { continue };
                if listed.media_type != media::MANIFEST {
                    continue;
                }
                if !look(&mut found, &layout.place()) {
                    break;
                }
                let wanted = ManifestName::Digest(&listed.digest);
                let reference = Reference { tag: Some(name.clone()), ..place.clone() };
                found.offers.extend(offer(&layout, wanted, reference)?);
            }
        }
        Location::Registry { host, repository } => {
            let registry = Registry::new(host, options)?;
            let repositories = repositories(&registry, repository)?;
            found.cut_off = repositories.cut_off;
            for name in repositories.names {
                let one = registry.repository(&name);
                let tags = match one.listed_tags() {
                    Ok(tags) => tags,
                    // A registry still lists a repository after its last tag was deleted.
                    Err(TransportError::NotFound { .. }) => continue,
                    Err(error) => return Err(error),
                };
                found.cut_off = found.cut_off.or(tags.cut_off);
                for tag in tags.names.iter().filter(|tag| !is_fallback(tag)) {
                    if !look(&mut found, host) {
                        return Ok(found);
                    }
                    let place = Location::Registry { host: host.clone(), repository: name.clone() };
                    let reference = Reference { place, tag: Some(tag.clone()), digest: None };
                    found.offers.extend(offer(&one, ManifestName::Tag(tag), reference)?);
                }
            }
        }
    }
    Ok(found)
}

/// Returns the repositories below a name. If the registry lists none, the repository of that name is tried.
fn repositories(registry: &Registry, below: &str) -> Result<Names, TransportError> {
    let is_below = |name: &String| {
        below.is_empty()
            || name.strip_prefix(below).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let named = || vec![below.to_owned()];
    match registry.listed_repositories() {
        Ok(mut listed) => {
            listed.names.retain(is_below);
            if listed.names.is_empty() && !below.is_empty() {
                listed.names = named();
            }
            Ok(listed)
        }
        Err(TransportError::NotFound { .. } | TransportError::Denied { .. }) if !below.is_empty() => {
            Ok(Names { names: named(), cut_off: None })
        }
        Err(error) => Err(error),
    }
}

fn is_fallback(tag: &str) -> bool {
    ["sha256-", "yanks-"].iter().any(|name| tag.strip_prefix(name).is_some_and(|hex| hex.len() == 64))
}

/// Returns the offer of an artifact; `None` if it is not an item, or was deleted meanwhile.
fn offer(
    transport: &dyn Transport,
    wanted: ManifestName<'_>,
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
    let Ok(manifest) = ArtifactManifest::read(&fetched.bytes) else { return Ok(None) };
    let Some(kind) = Kind::from_manifest(&manifest).filter(|_| manifest.subject.is_none()) else {
        return Ok(None);
    };
    let said = |key: &str| manifest.annotations.get(key).map(|text| shown(text));
    Ok(Some(Offer {
        reference,
        manifest: fetched.digest,
        kind,
        id: said(annotation::ITEM),
        version: said(annotation::VERSION),
        description: said(annotation::DESCRIPTION),
        cases: stated_cases(&manifest),
        source: manifest.annotations.get(annotation::SOURCE).cloned(),
    }))
}

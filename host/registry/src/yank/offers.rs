//! The yanks of the items that a place offers.

use graph_core::trust::PublishedVersion;

use super::{AttachedStatements, StatementSources, Yanks, attached, read};
use crate::artifact::Kind;
use crate::http::{Registry, RegistryOptions};
use crate::layout::Layout;
use crate::pull::Judge;
use crate::reference::{Location, Reference};
use crate::search::Offer;
use crate::transport::TransportError;

/// Reads the statements about each of these offers of a place. An offer without id or version gets none.
pub fn of_offers(
    place: &Reference,
    offers: &[Offer],
    options: &RegistryOptions,
    judge: Judge<'_>,
    remembered: &dyn Fn(&str) -> Vec<String>,
) -> Result<Vec<Yanks>, TransportError> {
    // All offers share one connection.
    let registry = match &place.place {
        Location::Registry { host, .. } => Some(Registry::new(host, options)?),
        Location::Layout { .. } => None,
    };
    // The statements that are attached to manifests of a directory are read once for all offers; registries do not list
    // them.
    let attached = match &place.place {
        Location::Layout { folder } => attached(&Layout::new(folder).within(options.budget()), judge.trust),
        Location::Registry { .. } => AttachedStatements::default(),
    };
    let mut all = Vec::new();
    for offer in offers {
        let (Some(id), Some(version)) = (offer.id.clone(), offer.version.clone()) else {
            all.push(Yanks::default());
            continue;
        };
        let about = PublishedVersion {
            id,
            version,
            manifest: offer.manifest,
            content: None,
            has_signed_version: offer.kind == Kind::Component,
        };
        let remembered = remembered(&about.id);
        let known = StatementSources { attached: Some(&attached), remembered: &remembered };
        all.push(match (&offer.reference.place, &registry) {
            (Location::Registry { repository, .. }, Some(registry)) => {
                read(&registry.repository(repository), &about, judge, known)?
            }
            (Location::Layout { folder }, _) => {
                let layout = Layout::new(folder).within(options.budget());
                read(&layout, &about, judge, known)?
            }
            (Location::Registry { .. }, None) => Yanks::default(),
        });
    }
    Ok(all)
}

//! Lists, pulls and verifies the artifacts of a place.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use graph_catalogue::{
    Cases, Catalogue, Content, Item, Kind, Link, SignedItem, Signer, Text, Trust, Unreadable, Usage, Version,
    YankNotice, item_page, usage, version_page,
};
use graph_core::capability::CapabilityKind;
use graph_core::digest::Digest;
use graph_core::trust::{ComponentStanding, TextStanding, TrustStore};
use graph_registry::companions::{self, CompanionKind};
use graph_registry::pull::{Judge, PullError, PulledArtifact, PulledContent, pull};
use graph_registry::reference::{Reference, version_of_tag};
use graph_registry::search::{Offer, offers};
use graph_registry::transport::{self, Transport, TransportError};
use graph_registry::yank::{self, AttachedStatements, StatementSources};
use graph_walker::topology::Topology;
use semver::Version as Semver;

use super::describe::{Described, described, kind, signers};
use super::refusal::Refusal;
use crate::error::{Error, Result};
use crate::items::locate::moment_of_superstep;
use crate::project::user_home::Home;
use crate::registry::pull::Network;
use crate::registry::yank::named;
use crate::registry::yank_memory::{remember, remembered};

/// Limit of the time for the cases of one version, so that no version uses up the time of the others.
const MOST_FOR_CASES: Duration = Duration::from_secs(20);

/// The operations that a program adds to a catalogue of verified items.
pub trait Extras: Send + Sync {
    /// Draws a graph that was verified, as SVG. A graph that cannot be drawn has a page without a picture.
    fn picture(&self, topology: &Topology) -> Result<String>;

    /// Runs the cases that were signed with a verified graph, with doubles only. By default, none is run.
    fn run_cases(&self, _graph: PublishedGraph<'_>) -> Result<Cases> {
        Ok(Cases::NotRun { reason: Text::line("this program runs no cases") })
    }
}

/// A verified graph with the cases that were published with it.
#[derive(Clone, Copy, Debug)]
pub struct PublishedGraph<'p> {
    /// The artifact that the graph was pulled from.
    pub reference: &'p Reference,
    /// Item id of the graph.
    pub id: &'p str,
    /// Text of the graph's document.
    pub text: &'p str,
    /// File names and texts of its cases; at least one.
    pub cases: &'p [(String, String)],
    /// Deadline of all cases together.
    pub until: Instant,
}

/// The parts that were published with an item, besides its content.
#[derive(Default)]
struct PublishedWith {
    cases: Cases,
    capabilities: Option<Text>,
}

/// Lists the artifacts of a place, pulls and verifies each, and makes a catalogue of them. Nothing is written or
/// installed. An error of the connection fails the whole: a catalogue never omits artifacts that a registry did not
/// send in time. `typed` is the place as the user typed it.
pub fn collect(
    place: &Reference,
    typed: &str,
    network: &Network,
    (trust, home): (&TrustStore, &Home),
    extras: &dyn Extras,
) -> Result<Catalogue> {
    if place.names_one() {
        return Err(Error::usage(format!("{place} names one artifact, and a catalogue is of a place"))
            .help("leave the tag or the digest out: oci://host, oci://host/repository, oci-layout:DIR"));
    }
    let clock = Clock { began: Instant::now(), network };
    let listed = offers(place, &network.options(home, std::slice::from_ref(place)))?;
    let mut collected = Collected {
        clock,
        trust,
        home,
        attached: None,
        time_for_cases: network.timeout,
        extras,
        items: BTreeMap::new(),
        unreadable: Vec::new(),
        yanks_unread: Vec::new(),
    };
    for offers in by_artifact(listed.offers).into_values() {
        collected.add(&offers)?;
    }
    let mut catalogue = Catalogue::new(Text::line(typed));
    catalogue.cut_off = listed.cut_off.iter().map(|error| Text::line(&error.to_string())).collect();
    catalogue.cut_off.append(&mut collected.yanks_unread);
    catalogue.items = collected.items.into_values().collect();
    catalogue.unreadable = collected.unreadable;
    for item in &mut catalogue.items {
        item.versions.sort_by_cached_key(|version| {
            let number = Semver::parse(version.version.as_str()).ok();
            (Reverse(number), Reverse(version.trust.is_trusted()), version.manifest)
        });
    }
    catalogue.unreadable.sort_by(|one, other| one.reference.cmp(&other.reference));
    add_usage(&mut catalogue);
    Ok(catalogue)
}

/// Bounds the time of all requests together.
struct Clock<'n> {
    began: Instant,
    network: &'n Network,
}

impl Clock<'_> {
    /// Returns the settings of the connection for the next artifact, with the time that is left. It fails if none is left.
    fn network(&self, reference: &Reference) -> Result<Network> {
        let timeout = self.network.timeout.saturating_sub(self.began.elapsed());
        if timeout.is_zero() {
            let (what, seconds) = ("all artifacts".to_owned(), self.network.timeout.as_secs());
            let place = Reference::of_place(reference.place.clone()).to_string();
            return Err(TransportError::Timeout { what, place, seconds }.into());
        }
        Ok(Network { timeout, ..self.network.clone() })
    }
}

/// Groups offers by artifact: same manifest, same place.
fn by_artifact(offers: Vec<Offer>) -> BTreeMap<(String, Digest), Vec<Offer>> {
    let mut artifacts: BTreeMap<_, Vec<Offer>> = BTreeMap::new();
    for offer in offers {
        artifacts.entry((place_of(&offer.reference), offer.manifest)).or_default().push(offer);
    }
    for offers in artifacts.values_mut() {
        // First a tag that is the stated version, then tags that are not versions, then other versions.
        offers.sort_by_cached_key(|offer| {
            let tagged = offer.reference.tag.as_deref().and_then(version_of_tag);
            let is_stated = tagged.is_some() && tagged == offer.version.as_deref().map(as_tag).as_deref();
            (!is_stated, tagged.is_some(), offer.reference.to_string())
        });
    }
    artifacts
}

fn place_of(reference: &Reference) -> String {
    Reference::of_place(reference.place.clone()).to_string()
}

/// Spells a version as a tag does, with `_` for `+`.
fn as_tag(version: &str) -> String {
    version.replace('+', "_")
}

/// The catalogue's items so far, and the means to collect more.
struct Collected<'c> {
    clock: Clock<'c>,
    trust: &'c TrustStore,
    /// The user's space, which remembers yanks.
    home: &'c Home,
    /// Attachments to the manifests of a directory, for all artifacts in it. Registries do not list them.
    attached: Option<AttachedStatements>,
    /// Time that is left for all cases together; at first as long as that for all requests.
    time_for_cases: Duration,
    extras: &'c dyn Extras,
    /// Items by id, kind and place: the order of the catalogue.
    items: BTreeMap<(String, Kind, String), Item>,
    unreadable: Vec<Unreadable>,
    /// Errors that leave it unknown whether some versions are yanked.
    yanks_unread: Vec<Text>,
}

impl Collected<'_> {
    /// Pulls an artifact by the first of its references, and adds it.
    fn add(&mut self, offers: &[Offer]) -> Result<()> {
        let Some(offer) = offers.first() else { return Ok(()) };
        // The manifest that was listed, even if the tag has moved since.
        let reference = offer.reference.pinned(offer.manifest);
        // The user has named the place of this artifact.
        let options = self.clock.network(&reference)?.options(self.home, std::slice::from_ref(&reference));
        let judge = Judge { trust: self.trust, at: moment_of_superstep(None) };
        let transport = match transport::open(&reference, &options) {
            Ok(transport) => transport,
            Err(error) => return self.refused(offers, error.into()),
        };
        match pull(&*transport, &reference, None, judge) {
            Ok(pulled) => self.add_verified(offers, pulled, &*transport, judge),
            Err(error) => self.refused(offers, error),
        }
    }

    /// Adds an artifact that could not be pulled. It fails if no further artifact can be pulled, either.
    fn refused(&mut self, offers: &[Offer], error: PullError) -> Result<()> {
        match Refusal::of(error) {
            Refusal::Fatal(error) => return Err(error),
            Refusal::NotVerified { reason, key_ids } => {
                self.add_stated(offers, Trust::NotVerified { reason, key_ids });
            }
            Refusal::Unreadable(reason) => {
                if let Some(offer) = offers.first() {
                    self.leave_out(&offer.reference, reason);
                }
            }
        }
        Ok(())
    }

    /// Fetches the manifest and the signed cases of a verified graph, and runs the cases.
    fn published_with(
        &mut self,
        pulled: &PulledArtifact,
        reference: &Reference,
        transport: &dyn Transport,
    ) -> Result<PublishedWith> {
        let PulledContent::Text { text, .. } = &pulled.content else { return Ok(PublishedWith::default()) };
        let name = reference.to_string();
        let listed = |kind| pulled.companions.of_kind(kind);
        let fetch = || -> std::result::Result<_, PullError> {
            let manifest = listed(CompanionKind::Manifest).next();
            let manifest = manifest.map(|one| companions::fetch_text(transport, &name, one)).transpose()?;
            let mut cases = Vec::new();
            // Anyone who may write to the registry can add cases, so only cases that the publisher signed are run.
            for one in listed(CompanionKind::Case).filter(|one| one.is_signed) {
                cases.push((one.title.clone(), companions::fetch_text(transport, &name, one)?));
            }
            Ok((manifest, cases))
        };
        let (manifest, cases) = match fetch().map_err(Refusal::of) {
            Ok(fetched) => fetched,
            Err(Refusal::Fatal(error)) => return Err(error),
            Err(Refusal::NotVerified { reason, .. } | Refusal::Unreadable(reason)) => {
                return Ok(PublishedWith { cases: Cases::NotRun { reason }, capabilities: None });
            }
        };
        let capabilities = manifest.map(|manifest| Text::source(&manifest));
        if cases.is_empty() {
            let reason = "nobody has signed them with a key that is trusted for the graph";
            let cases = match pulled.companions.unsigned(Some(CompanionKind::Case)).len() {
                0 => Cases::None,
                _ => Cases::NotRun { reason: Text::line(reason) },
            };
            return Ok(PublishedWith { cases, capabilities });
        }
        if self.time_for_cases.is_zero() {
            let reason = Text::line("the cases of other versions have used up the time for all cases");
            return Ok(PublishedWith { cases: Cases::NotRun { reason }, capabilities });
        }
        let began = Instant::now();
        let until = began + self.time_for_cases.min(MOST_FOR_CASES);
        let graph = PublishedGraph { reference, id: &pulled.id, text, cases: &cases, until };
        let cases = self.extras.run_cases(graph);
        // The time of the cases does not count as time of requests.
        self.time_for_cases = self.time_for_cases.saturating_sub(began.elapsed());
        self.clock.began += began.elapsed();
        let cases = cases.unwrap_or_else(|error| Cases::NotRun { reason: Text::line(error.message()) });
        Ok(PublishedWith { cases, capabilities })
    }

    /// Returns the yank of a verified version that is in force.
    fn yank_of(
        &mut self,
        pulled: &PulledArtifact,
        transport: &dyn Transport,
        judge: Judge<'_>,
    ) -> Result<Option<YankNotice>> {
        let about = pulled.published();
        let known = remembered(self.home, &about.id);
        let attached = self.attached.get_or_insert_with(|| yank::attached(transport, judge.trust));
        let yanks = yank::read(
            transport,
            &about,
            judge,
            StatementSources { attached: Some(attached), remembered: &known },
        )?;
        if let Err(error) = remember(self.home, &about.id, judge, &known, &yanks.statements) {
            let item = named(&about);
            self.yanks_unread
                .push(Text::line(&format!("The yanks of {item} are not remembered: {}", error.message())));
        }
        if let Some(error) = yanks.unread {
            let item = named(&about);
            self.yanks_unread.push(Text::line(&format!("Whether {item} is yanked is not known: {error}")));
        }
        Ok(yanks.yanked.map(|yank| YankNotice {
            reason: Text::line(&yank.statement().reason),
            at: yank.statement().at,
            signer: Text::line(&yank.key().name),
        }))
    }

    fn add_verified(
        &mut self,
        offers: &[Offer],
        pulled: PulledArtifact,
        transport: &dyn Transport,
        judge: Judge<'_>,
    ) -> Result<()> {
        let Some(offer) = offers.first() else { return Ok(()) };
        let mut references = Vec::new();
        for offer in offers {
            let tagged = offer.reference.tag.as_deref().and_then(version_of_tag);
            if tagged.is_some_and(|tagged| tagged != as_tag(&pulled.version)) {
                let reason =
                    PullError::Tag { reference: offer.reference.to_string(), actual: pulled.version.clone() };
                self.leave_out(&offer.reference, Text::line(&reason.to_string()));
            } else {
                references.push(Text::line(&offer.reference.to_string()));
            }
        }
        let kind = kind(pulled.kind);
        let place = place_of(&offer.reference);
        let item = item_page(&place, kind, &pulled.id);
        let page = version_page(&item, &pulled.id, &pulled.version, &pulled.manifest);
        let Described { description, content } = match described(&pulled, &page, self.extras) {
            Ok(described) => described,
            Err(error) => {
                self.leave_out(&offer.reference, Text::line(error.message()));
                return Ok(());
            }
        };
        let (not_after, signed_at) = match &pulled.content {
            PulledContent::Component { component, .. } => match component.standing() {
                ComponentStanding::Signed { not_after, .. } => (*not_after, None),
                ComponentStanding::BuiltIn | ComponentStanding::Unsigned => (None, None),
            },
            PulledContent::Text { time, standing, .. } => match standing {
                TextStanding::Signed { not_after, .. } => (*not_after, Some(*time)),
                _ => (None, Some(*time)),
            },
        };
        let trust = Trust::Trusted { signers: signers(&pulled, self.trust), not_after, signed_at };
        let PublishedWith { cases, capabilities } =
            self.published_with(&pulled, &offer.reference, transport)?;
        let yanked = self.yank_of(&pulled, transport, judge)?;
        let version = Version {
            version: Text::line(&pulled.version),
            page,
            references,
            manifest: pulled.manifest,
            digest: Some(pulled.digest),
            trust,
            description,
            source: offer.source.as_deref().and_then(Link::read),
            content: Some(content),
            capabilities,
            cases,
            yanked,
            usage: None,
        };
        self.insert((pulled.id, kind, place), version);
        Ok(())
    }

    /// Adds an artifact that was not verified, with its unverified annotations.
    fn add_stated(&mut self, offers: &[Offer], trust: Trust) {
        let Some(offer) = offers.first() else { return };
        let (kind, place) = (kind(offer.kind), place_of(&offer.reference));
        let id = offer.id.clone().unwrap_or_else(|| offer.reference.to_string());
        let number = offer.version.clone().unwrap_or_default();
        let page = version_page(&item_page(&place, kind, &id), &id, &number, &offer.manifest);
        let version = Version {
            version: Text::line(&number),
            page,
            references: offers.iter().map(|offer| Text::line(&offer.reference.to_string())).collect(),
            manifest: offer.manifest,
            digest: None,
            trust,
            description: offer.description.as_deref().map(Text::block),
            source: offer.source.as_deref().and_then(Link::read),
            content: None,
            capabilities: None,
            cases: Cases::None,
            yanked: None,
            usage: None,
        };
        self.insert((id, kind, place), version);
    }

    fn insert(&mut self, key: (String, Kind, String), version: Version) {
        let (id, kind, place) = &key;
        let empty = Item {
            id: Text::line(id),
            kind: *kind,
            place: Text::line(place),
            page: item_page(place, *kind, id),
            versions: Vec::new(),
        };
        self.items.entry(key).or_insert(empty).versions.push(version);
    }

    fn leave_out(&mut self, reference: &Reference, reason: Text) {
        self.unreadable.push(Unreadable { reference: Text::line(&reference.to_string()), reason });
    }
}

/// A verified version, with the data that a trust command for it needs.
struct Signed {
    id: String,
    page: String,
    may: Option<BTreeSet<CapabilityKind>>,
    signers: Vec<Signer>,
}

/// Adds the usage of each verified version: commands with the keys that signed it and the artifacts that it uses.
fn add_usage(catalogue: &mut Catalogue) {
    let mut signed: BTreeMap<Digest, Signed> = BTreeMap::new();
    for item in &catalogue.items {
        for version in &item.versions {
            let (Trust::Trusted { signers, .. }, Some(content)) = (&version.trust, &version.content) else {
                continue;
            };
            let may = match content {
                Content::Component(component) => Some(component.asks.at_most.clone()),
                Content::Graph(_) | Content::Text(_) => None,
            };
            let (id, page) = (item.id.as_str().to_owned(), version.page.clone());
            signed.insert(version.manifest, Signed { id, page, may, signers: signers.clone() });
        }
    }
    for item in &mut catalogue.items {
        for version in &mut item.versions {
            // A pull refuses a yanked version, so no command is suggested for it.
            let Some(content) = version.content.as_mut().filter(|_| version.yanked.is_none()) else {
                continue;
            };
            let mut manifests = vec![version.manifest];
            if let Content::Graph(graph) = content {
                for used in &mut graph.uses {
                    used.page = signed.get(&used.manifest).map(|signed| signed.page.clone());
                    manifests.push(used.manifest);
                }
            }
            let known: Vec<_> = manifests.iter().filter_map(|manifest| signed.get(manifest)).collect();
            version.usage = usage_of(
                (item.id.as_str(), item.kind),
                version.references.first(),
                content,
                &known,
                known.len() == manifests.len(),
            );
        }
    }
}

fn usage_of(
    item: (&str, Kind),
    reference: Option<&Text>,
    content: &Content,
    known: &[&Signed],
    is_whole: bool,
) -> Option<Usage> {
    let items: Vec<_> = known
        .iter()
        .map(|signed| SignedItem { id: &signed.id, may: signed.may.as_ref(), signers: &signed.signers })
        .collect();
    Some(usage(item, reference?.as_str(), content, &items, is_whole))
}

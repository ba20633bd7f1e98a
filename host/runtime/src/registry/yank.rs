//! Yanks: statements that a published version must no longer be selected, and refusals of yanked versions.

use std::cell::RefCell;

use graph_core::diagnostic::{printable, shell_quoted};
use graph_core::digest::Digest;
use graph_core::time::Timestamp;
use graph_core::trust::{PublishedVersion, SigningKey, Yank, YankStatement, YankSubject};
use graph_registry::artifact::Kind;
use graph_registry::lock::Lock;
use graph_registry::pull::Judge;
use graph_registry::range;
use graph_registry::reference::{Location, Reference, version_of_tag};
use graph_registry::search::Offer;
use graph_registry::transport::Transport;
use graph_registry::yank::{self, DescribedVersion, SignedYank, StatementSources, Yanks};
use serde_json::{Value, json};

use crate::error::{Error, Kind as ErrorKind, Result};
use crate::items::locate::moment_of_superstep;
use crate::notice::{Notice, NoticeObserver};
use crate::registry::pull::{PulledItem, Puller, place_of};
use crate::registry::yank_error::YankingError;
use crate::registry::yank_memory::{remember, remembered};
use crate::remedy::{NewerVersion, Remedy};

/// Limit of the versions in a range that are tried until one is not yanked.
pub(super) const MOST_YANKED: usize = 100;

/// Ways for the user to take a yanked version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Override {
    /// The option `--allow-yanked` of the command.
    Option,
    /// The same option of `graph-host pull`; the command itself has none.
    Pull,
}

/// Checks pulled items for yanks: each version is looked up, and reported, once.
#[derive(Debug)]
pub struct YankCheck<'c> {
    puller: &'c Puller<'c>,
    way: Override,
    notices: &'c dyn NoticeObserver,
    /// Results so far: the place, the manifest, and the yank.
    known: RefCell<Vec<(Location, Digest, Option<Yank>)>>,
}

/// A statement to make about a published version.
#[derive(Clone, Copy, Debug)]
pub struct YankRequest<'y> {
    /// The version, by a tag that names a version, or by a digest.
    pub reference: &'y Reference,
    /// Reason, for the users of the item.
    pub reason: &'y str,
    /// `true` to yank the version, `false` to take a yank back.
    pub is_yanked: bool,
}

/// The outcome of a statement about a published version.
#[derive(Clone, Debug)]
pub struct YankOutcome {
    /// Id, version and manifest.
    pub about: PublishedVersion,
    /// Kind: component, graph, knowledge or directive.
    pub kind: Kind,
    /// Yank that is in force now.
    pub yanked: Option<Yank>,
    /// `true` if a statement was published; `false` if it would change nothing.
    pub is_changed: bool,
}

impl Puller<'_> {
    pub(crate) fn judge(&self) -> Judge<'_> {
        Judge { trust: self.trust, at: moment_of_superstep(None) }
    }

    /// Reads the statements about a version at a place, by trusted keys.
    pub fn yanks(
        &self,
        reference: &Reference,
        about: &PublishedVersion,
        notices: &dyn NoticeObserver,
    ) -> Result<Yanks> {
        self.yanks_at(&*self.open(reference)?, about, notices)
    }

    /// Like [`Puller::yanks`], over an open transport. Statements that this user has seen before are added, and new ones remembered.
    fn yanks_at(
        &self,
        transport: &dyn Transport,
        about: &PublishedVersion,
        notices: &dyn NoticeObserver,
    ) -> Result<Yanks> {
        let known = remembered(self.home, &about.id);
        let yanks = yank::read(
            transport,
            about,
            self.judge(),
            StatementSources { attached: None, remembered: &known },
        )?;
        self.remember(&about.id, &known, &yanks, notices);
        Ok(yanks)
    }

    /// Remembers statements; a failure is only a notice.
    fn remember(&self, id: &str, known: &[String], yanks: &Yanks, notices: &dyn NoticeObserver) {
        if let Err(error) = remember(self.home, id, self.judge(), known, &yanks.statements) {
            notices.notice(Notice::YanksNotKept { item: &printable(id), error: &error });
        }
    }

    /// Returns the yank of a version that is in force. If some statements cannot be read or were removed, notices say so.
    pub fn yank_of(
        &self,
        reference: &Reference,
        about: &PublishedVersion,
        notices: &dyn NoticeObserver,
    ) -> Result<Option<Yank>> {
        let yanks = self.yanks(reference, about, notices)?;
        if let Some(error) = &yanks.unread {
            notices.notice(Notice::YankUnknown { item: &named(about), reason: &error.to_string() });
        }
        if yanks.is_hidden {
            notices.notice(Notice::YankHidden { item: &named(about) });
        }
        Ok(yanks.yanked)
    }

    /// Returns the yank of a reference's artifact, for display. If the yank cannot be determined, that is a notice and no error.
    pub fn yank_to_show(&self, reference: &Reference, notices: &dyn NoticeObserver) -> Option<Yank> {
        let look = || -> Result<Option<Yank>> {
            let described = yank::describe(&*self.open(reference)?, reference)?;
            self.yank_of(reference, &described.about, notices)
        };
        look().unwrap_or_else(|error| {
            let item = printable(&reference.to_string()).into_owned();
            notices.notice(Notice::YankUnknown { item: &item, reason: error.message() });
            None
        })
    }

    /// Returns the yanks of a place's offers, in their order. The first one that cannot be determined is a notice.
    pub fn yanks_of_offers(
        &self,
        place: &Reference,
        offers: &[Offer],
        notices: &dyn NoticeObserver,
    ) -> Result<Vec<Option<Yank>>> {
        let of_item = |id: &str| remembered(self.home, id);
        let all = yank::of_offers(place, offers, &self.options, self.judge(), &of_item)?;
        for (offer, yanks) in offers.iter().zip(&all) {
            if let Some(id) = &offer.id {
                self.remember(id, &of_item(id), yanks, notices);
            }
        }
        let unread = offers.iter().zip(&all).find_map(|(offer, yanks)| Some((offer, yanks.unread.as_ref()?)));
        if let Some((offer, error)) = unread {
            let item = printable(&offer.reference.to_string()).into_owned();
            notices.notice(Notice::YankUnknown { item: &item, reason: &error.to_string() });
        }
        Ok(all.into_iter().map(|yanks| yanks.yanked).collect())
    }

    /// Returns the first reference of `found` that is not yanked. `found` satisfy `range`, the greatest version first.
    pub(crate) fn not_yanked(
        &self,
        versions: &Reference,
        range: &range::Range,
        found: Vec<Reference>,
    ) -> Result<Reference> {
        let transport = self.open(versions)?;
        let count = found.len();
        let mut latest: Option<(Reference, Yank)> = None;
        for reference in found.into_iter().take(MOST_YANKED) {
            // If an artifact cannot be read, its pull reports the reason.
            let Ok(described) = yank::describe(&*transport, &reference) else { return Ok(reference) };
            // The selected version is looked up again, with notices.
            match self.yanks_at(&*transport, &described.about, &())?.yanked {
                None => return Ok(reference),
                Some(yank) => latest.get_or_insert((reference, yank)),
            };
        }
        let Some((reference, yank)) = latest else {
            let versions = Box::new(versions.clone());
            return Err(YankingError::NoVersion { versions, range: range.to_string() }.into());
        };
        let place = printable(&versions.to_string()).into_owned();
        if count > MOST_YANKED {
            return Err(YankingError::TooManyYanked { place, range: range.to_string() }.into());
        }
        Err(YankingError::AllYanked {
            place,
            range: range.to_string(),
            version: printable(&yank.statement().version).into_owned(),
            reason: said(&yank),
            reference: Box::new(reference),
        }
        .into())
    }

    /// Publishes a signed statement that a version is yanked, or no longer is. The key has to be trusted for the item.
    pub fn yank(
        &self,
        request: YankRequest<'_>,
        key: &SigningKey,
        notices: &dyn NoticeObserver,
    ) -> Result<YankOutcome> {
        let YankRequest { reference, reason, is_yanked } = request;
        check_name(reference)?;
        let transport = self.open(reference)?;
        let described = yank::describe(&*transport, reference)?;
        names_version(reference, &described)?;
        let described =
            DescribedVersion { about: yank::with_content(&*transport, described.about)?, ..described };
        let DescribedVersion { about, kind, .. } = described.clone();
        let Some(content) = about.content else {
            return Err(YankingError::Unread { version: named(&about) }.into());
        };
        let now = moment_of_superstep(None).now;
        let signer = self.trust.allow(key.id(), &about.id, now);
        match signer {
            Some(Ok(_)) => {}
            Some(Err(source)) => {
                return Err(YankingError::KeyRefused { version: named(&about), source }.into());
            }
            None => {
                return Err(YankingError::UnknownKey { version: named(&about), key: key.id() }.into());
            }
        }
        let mut yanks = self.yanks_at(&*transport, &about, notices)?;
        if let Some(error) = &yanks.unread {
            notices.notice(Notice::YankUnknown { item: &named(&about), reason: &error.to_string() });
        }
        let is_same = match &yanks.yanked {
            // A yank of the manifest only, or a removed one, is stated again.
            Some(yank) => {
                let of_content = matches!(yank.statement().subject, YankSubject::Content(_));
                is_yanked && yank.statement().reason == reason && of_content && !yanks.is_hidden
            }
            None => !is_yanked && yanks.unread.is_none(),
        };
        if is_same {
            return Ok(YankOutcome { about, kind, yanked: yanks.yanked, is_changed: false });
        }
        let at = later(now, &yanks);
        let statement = YankStatement {
            at,
            id: about.id.clone(),
            version: about.version.clone(),
            subject: YankSubject::Content(content),
            reason: reason.to_owned(),
            is_yanked,
        };
        let envelope = statement.sign(key).map_err(YankingError::Statement)?;
        let published = SignedYank { envelope: &envelope, key: key.id(), at };
        let known = remembered(self.home, &about.id);
        let (known, then) = (StatementSources { attached: None, remembered: &known }, at.max(now));
        yank::publish(
            &*transport,
            &described,
            published,
            Judge { trust: self.trust, at: then.into() },
            known,
        )?;
        let own = self.trust.verify_yank(&envelope, &about, then).map_err(YankingError::Statement)?;
        yanks.statements.extend(own);
        let yanked = self.trust.yank_of(&yanks.statements).cloned();
        Ok(YankOutcome { about, kind, yanked, is_changed: true })
    }
}

/// Checks that a reference names one artifact, as a yank does.
fn check_name(reference: &Reference) -> Result<()> {
    if reference.names_one() {
        return Ok(());
    }
    Err(YankingError::NotOne { reference: Box::new(reference.clone()) }.into())
}

impl<'c> YankCheck<'c> {
    /// Makes a check for one command.
    pub fn new(puller: &'c Puller<'c>, way: Override, notices: &'c dyn NoticeObserver) -> Self {
        Self { puller, way, notices, known: RefCell::default() }
    }

    /// Fails for yanked ones among an item and the items that it uses, the item first, unless `allowed` is true: then
    /// there is a notice. Returns the yank of each.
    pub fn refuse(
        &self,
        all: &[PulledItem],
        allowed: impl Fn(&PulledItem) -> bool,
    ) -> Result<Vec<Option<Yank>>> {
        let mut found = Vec::new();
        for one in all {
            let about = about(one);
            let place = &one.reference.place;
            let is_known = |known: &&(Location, Digest, _)| known.0 == *place && known.1 == about.manifest;
            let known = self.known.borrow().iter().find(is_known).map(|(.., yank)| yank.clone());
            let is_new = known.is_none();
            let yank = match known {
                Some(yank) => yank,
                None => self.puller.yank_of(&one.reference, &about, self.notices)?,
            };
            if let Some(yank) = &yank {
                if !allowed(one) {
                    return Err(refusal(one, yank, &all[0], self.way));
                }
                if is_new {
                    self.notices.notice(Notice::Yanked { item: &named(&about), yank });
                }
            }
            if is_new {
                self.known.borrow_mut().push((place.clone(), about.manifest, yank.clone()));
            }
            found.push(yank);
        }
        Ok(found)
    }
}

/// Checks whether a lockfile names exactly this artifact.
pub fn is_locked(lock: &Lock, one: &PulledItem) -> bool {
    let held = lock.get(one.pulled.kind.item_type(), &one.pulled.id);
    held.is_some_and(|held| held.manifest == one.pulled.manifest)
}

/// Returns a time that is later than that of all statements, so that the next one takes effect.
fn later(now: Timestamp, yanks: &Yanks) -> Timestamp {
    let latest = yanks.statements.iter().map(|yank| yank.statement().at).max();
    latest.map_or(now, |latest| now.max(Timestamp(latest.0.saturating_add(1))))
}

/// Checks that a reference names a version: a tag that can move names different ones.
fn names_version(reference: &Reference, described: &DescribedVersion) -> Result<()> {
    let is_version = reference.tag.as_deref().and_then(version_of_tag).is_some();
    if is_version || reference.digest.is_some() {
        return Ok(());
    }
    let about = &described.about;
    let pinned = Reference { tag: None, ..reference.pinned(about.manifest) };
    let pinned = shell_quoted(&pinned.to_string());
    let reference = Box::new(reference.clone());
    Err(YankingError::MovingTag { reference, version: named(about), pinned }.into())
}

/// Returns the version that yanks of a pulled item are about.
pub fn about(one: &PulledItem) -> PublishedVersion {
    one.pulled.published()
}

/// Names a version in messages.
pub fn named(about: &PublishedVersion) -> String {
    format!("`{}` {}", printable(&about.id), printable(&about.version))
}

/// Describes a yank: its reason, its signer and its time.
pub fn reason_text(yank: &Yank) -> String {
    format!("yanked: {}", said(yank))
}

/// Lists the reason of a yank, its key and its time.
fn said(yank: &Yank) -> String {
    let key = yank.key().to_string();
    format!("{} (signed by {}, {})", yank.reason(), printable(&key), yank.statement().at)
}

/// Makes the JSON document of a yank.
pub fn to_json(yank: Option<&Yank>) -> Value {
    let document = |yank: &Yank| {
        json!({
            "reason": yank.statement().reason,
            "at": yank.statement().at.to_string(),
            "signer": { "name": yank.key().name, "key_id": yank.key().id },
        })
    };
    yank.map_or(Value::Null, document)
}

/// Makes the error about a yanked version, with advice. `first` is the item that uses this one, or the item itself.
fn refusal(one: &PulledItem, yank: &Yank, first: &PulledItem, way: Override) -> Error {
    let item = named(&about(one));
    let is_first = one.pulled.manifest == first.pulled.manifest;
    let message = if is_first {
        format!("{item} is {}", reason_text(yank))
    } else {
        format!("{item}, which comes along with `{}`, is {}", printable(&first.pulled.id), reason_text(yank))
    };
    let versions = range::versions_of(&first.reference);
    let is_version = first.reference.tag.as_deref().and_then(version_of_tag).is_some();
    let newer = if is_version && (versions.tag.is_some() || first.reference.folder().is_none()) {
        // Ranges have no build metadata.
        let version = first.pulled.version.split('+').next().unwrap_or_default();
        NewerVersion::Range(format!("{versions}@>{version}"))
    } else {
        NewerVersion::Place(place_of(&first.reference.to_string()))
    };
    let pull = match way {
        Override::Option => None,
        Override::Pull => Some(first.reference.to_string()),
    };
    Error::new(ErrorKind::Integrity, "yanked", message).help(Remedy::ChooseVersion { newer, pull })
}

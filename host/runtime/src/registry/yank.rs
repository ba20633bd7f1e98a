//! Yanks: stating that a published version is no longer to be selected, and refusing versions that are yanked.

use std::cell::RefCell;

use graph_core::diagnostic::{printable, shell_quoted};
use graph_core::digest::Digest;
use graph_core::time::Timestamp;
use graph_core::trust::{PublishedVersion, SigningKey, Yank, YankError, YankStatement, YankSubject};
use graph_registry::artifact::Kind;
use graph_registry::lock::Lock;
use graph_registry::pull::Judge;
use graph_registry::range;
use graph_registry::reference::{Location, Reference, version_of_tag};
use graph_registry::search::Offer;
use graph_registry::transport::Transport;
use graph_registry::yank::{self, Described, Known, SignedYank, Yanks};
use serde_json::{Value, json};

use crate::error::{Error, Kind as ErrorKind, Result};
use crate::items::locate::judged;
use crate::notice::{Notice, NoticeObserver};
use crate::registry::pull::{Brought, Puller, listing_of};
use crate::registry::yank_memory::{remember, remembered};

/// How many versions in a range are looked at until one is found that is not yanked.
const MOST_YANKED: usize = 100;

/// How the user can take a version although it is yanked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Override {
    /// With `--allow-yanked`, an option of the command.
    Option,
    /// With the same option of `graph-host pull`; the command itself has none.
    Pull,
}

/// Checks what a command has brought for yanks: each version is looked up, and reported, once.
#[derive(Debug)]
pub struct YankCheck<'c> {
    puller: &'c Puller<'c>,
    way: Override,
    notices: &'c dyn NoticeObserver,
    /// What was looked up: the place, the manifest, and its yank.
    known: RefCell<Vec<(Location, Digest, Option<Yank>)>>,
}

/// What is to be stated about a published version.
#[derive(Clone, Copy, Debug)]
pub struct YankRequest<'y> {
    /// The version, by a tag that names a version, or by a digest.
    pub reference: &'y Reference,
    /// Why, for the users of the item.
    pub reason: &'y str,
    /// Whether the version is yanked, or a yank is taken back.
    pub is_yanked: bool,
}

/// The outcome of a statement about a published version.
#[derive(Clone, Debug)]
pub struct YankOutcome {
    /// The id, the version and the manifest.
    pub about: PublishedVersion,
    /// Whether it is a component, a graph, knowledge or a directive.
    pub kind: Kind,
    /// The yank that is in force now.
    pub yanked: Option<Yank>,
    /// Whether a statement was published. None is, if nothing would change.
    pub is_changed: bool,
}

impl Puller<'_> {
    pub(crate) fn judge(&self) -> Judge<'_> {
        Judge { trust: self.trust, at: judged(None) }
    }

    /// What is stated about a version at a place, by keys that count.
    pub fn yanks(
        &self,
        reference: &Reference,
        about: &PublishedVersion,
        notices: &dyn NoticeObserver,
    ) -> Result<Yanks> {
        self.yanks_at(&*self.open(reference)?, about, notices)
    }

    /// The same, with what this user has seen before; what counts is remembered.
    fn yanks_at(
        &self,
        transport: &dyn Transport,
        about: &PublishedVersion,
        notices: &dyn NoticeObserver,
    ) -> Result<Yanks> {
        let known = remembered(self.home, &about.id);
        let yanks = yank::read(transport, about, self.judge(), Known { attached: None, remembered: &known })?;
        self.remember(&about.id, &known, &yanks, notices);
        Ok(yanks)
    }

    /// Remembers what counts; a notice says why it cannot, and the command continues.
    fn remember(&self, id: &str, known: &[String], yanks: &Yanks, notices: &dyn NoticeObserver) {
        if let Err(error) = remember(self.home, id, self.judge(), known, &yanks.statements) {
            notices.notice(Notice::YanksNotKept { item: &printable(id), error: &error });
        }
    }

    /// The yank of a version that is in force, after a notice if that cannot be determined.
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

    /// The yank of what a reference names now. If that cannot be determined, it is a notice and no error: this is for showing it.
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

    /// The yanks of what a place offers, in the order of the offers, after a notice if that cannot be determined.
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

    /// The first of the versions in a range that is not yanked. `found` are their references, the greatest version first.
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
            // What cannot be read is an error of the pull, which says why.
            let Ok(described) = yank::describe(&*transport, &reference) else { return Ok(reference) };
            // What is selected is looked up again, with a notice about what cannot be kept.
            match self.yanks_at(&*transport, &described.about, &())?.yanked {
                None => return Ok(reference),
                Some(yank) => latest.get_or_insert((reference, yank)),
            };
        }
        let Some((reference, yank)) = latest else {
            return Err(Error::not_found(format!("no version of {versions} satisfies `{range}`")));
        };
        let place = printable(&versions.to_string()).into_owned();
        if count > MOST_YANKED {
            return Err(Error::limit(format!(
                "the {MOST_YANKED} greatest versions of {place} that satisfy `{range}` are yanked, and no more are tried"
            ))
            .help("choose another range, or name a version"));
        }
        Err(Error::not_found(format!(
            "all versions of {place} that satisfy `{range}` are yanked; the reason of {} is: {}",
            printable(&yank.statement().version),
            said(&yank)
        ))
        .help(format!(
            "choose another range; to take that version nevertheless, name it and add `--allow-yanked`: {}",
            shell_quoted(&reference.to_string())
        )))
    }

    /// States that a published version is yanked, or no longer, with a signature that counts in the trust store.
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
        let described = Described { about: yank::with_content(&*transport, described.about)?, ..described };
        let Described { about, kind, .. } = described.clone();
        let Some(content) = about.content else {
            return Err(Error::integrity(format!("{} cannot be read: it was not changed", named(&about))));
        };
        let now = judged(None).now;
        let signer = self.trust.allow(key.id(), &about.id, now);
        match signer {
            Some(Ok(_)) => {}
            Some(Err(refused)) => {
                return Err(Error::integrity(format!("{} was not changed: {refused}", named(&about)))
                    .help("sign with a key that your trust store allows for the item"));
            }
            None => {
                return Err(Error::integrity(format!(
                    "{} was not changed: the key {} is not in your trust store, so that it is not known whether it may \
                     sign the item",
                    named(&about),
                    key.id().short(),
                ))
                .help("add it with `graph-host trust add NAME --key FILE --items PATTERN`, or name a trust file with `--trust`; users need it there, too"));
            }
        }
        let mut yanks = self.yanks_at(&*transport, &about, notices)?;
        if let Some(error) = &yanks.unread {
            notices.notice(Notice::YankUnknown { item: &named(&about), reason: &error.to_string() });
        }
        let is_same = match &yanks.yanked {
            // One about the manifest alone, or that was removed, is stated again.
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
        let envelope = statement.sign(key).map_err(|error| unusable(&error))?;
        let published = SignedYank { envelope: &envelope, key: key.id(), at };
        let known = remembered(self.home, &about.id);
        let (known, then) = (Known { attached: None, remembered: &known }, at.max(now));
        yank::publish(
            &*transport,
            &described,
            published,
            Judge { trust: self.trust, at: then.into() },
            known,
        )?;
        let own = self.trust.verify_yank(&envelope, &about, then).map_err(|error| unusable(&error))?;
        yanks.statements.extend(own);
        let yanked = self.trust.yank_of(&yanks.statements).cloned();
        Ok(YankOutcome { about, kind, yanked, is_changed: true })
    }
}

/// A yank is of one artifact.
fn check_name(reference: &Reference) -> Result<()> {
    if reference.names_one() {
        return Ok(());
    }
    Err(Error::usage(format!("{reference} names no version")).help(format!(
        "add a version or a digest: `:1.0.0`, `@sha256:…`; {}",
        listing_of(&reference.to_string())
    )))
}

impl<'c> YankCheck<'c> {
    /// A check for one command.
    pub fn new(puller: &'c Puller<'c>, way: Override, notices: &'c dyn NoticeObserver) -> Self {
        Self { puller, way, notices, known: RefCell::default() }
    }

    /// Refuses what is yanked of an item and the items that came along with it, the item first, unless it is `allowed`:
    /// then a notice says so. Gives the yank of each.
    pub fn refuse(&self, all: &[Brought], allowed: impl Fn(&Brought) -> bool) -> Result<Vec<Option<Yank>>> {
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

/// Whether a lockfile names exactly this artifact.
pub fn is_locked(lock: &Lock, one: &Brought) -> bool {
    let held = lock.get(one.pulled.kind.item_type(), &one.pulled.id);
    held.is_some_and(|held| held.manifest == one.pulled.manifest)
}

/// A time that is later than that of all statements, so that the next one counts.
fn later(now: Timestamp, yanks: &Yanks) -> Timestamp {
    let latest = yanks.statements.iter().map(|yank| yank.statement().at).max();
    latest.map_or(now, |latest| now.max(Timestamp(latest.0.saturating_add(1))))
}

fn unusable(error: &YankError) -> Error {
    Error::usage(format!("the statement cannot be made: {error}"))
}

/// A yank is of a version: a tag that can move names different ones.
fn names_version(reference: &Reference, described: &Described) -> Result<()> {
    let is_version = reference.tag.as_deref().and_then(version_of_tag).is_some();
    if is_version || reference.digest.is_some() {
        return Ok(());
    }
    let about = &described.about;
    let pinned = Reference { tag: None, ..reference.pinned(about.manifest) };
    Err(Error::usage(format!("the tag of {reference} names no version; now it is {}", named(about))).help(
        format!("name the version by its own tag, or by its digest: {}", shell_quoted(&pinned.to_string())),
    ))
}

/// What a yank of something that was brought is about.
pub fn about(one: &Brought) -> PublishedVersion {
    one.pulled.published()
}

/// A version, as messages name it.
pub fn named(about: &PublishedVersion) -> String {
    format!("`{}` {}", printable(&about.id), printable(&about.version))
}

/// Why a version is yanked, who says so and since when.
pub fn reason_text(yank: &Yank) -> String {
    format!("yanked: {}", said(yank))
}

/// The reason of a yank, its key and its time.
fn said(yank: &Yank) -> String {
    let key = yank.key().to_string();
    format!("{} (signed by {}, {})", yank.reason(), printable(&key), yank.statement().at)
}

/// A yank, as `--json` has it.
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

/// The error about a yanked version, with what to type. `first`: the item that it came along with, or itself.
fn refusal(one: &Brought, yank: &Yank, first: &Brought, way: Override) -> Error {
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
        // The build metadata of a version has no place in a range.
        let version = first.pulled.version.split('+').next().unwrap_or_default();
        let range = format!("{versions}@>{version}");
        format!("`graph-host pull {}` selects a newer version, if there is one", shell_quoted(&range))
    } else {
        format!("choose another version; {}", listing_of(&first.reference.to_string()))
    };
    let anyway = match way {
        Override::Option => "`--allow-yanked` takes this one nevertheless".to_owned(),
        Override::Pull => format!(
            "`graph-host pull {} --allow-yanked` takes this one nevertheless, to be used by its id",
            shell_quoted(&first.reference.to_string())
        ),
    };
    Error::new(ErrorKind::Integrity, "yanked", message).help(format!("{newer}; {anyway}"))
}

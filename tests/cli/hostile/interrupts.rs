//! Ctrl-C at any moment of the host's work on a fixture: once, and the second time that ends a run at once.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::Duration;

use super::fixture::Fixture;
use super::offer::{Prepared, Scene, Taken};
use super::watch::{self, Ended};

/// Processor time that the host may still use once Ctrl-C was pressed.
const MOST_AFTER_PRESS: Duration = Duration::from_secs(1);
/// What ends sooner than this leaves no moment to press at.
const SHORT: Duration = Duration::from_millis(30);
/// How many fixtures are drawn of those of the host's own work, and how many of all others.
const DRAWN: usize = 10;
/// How a shell reports a process that Ctrl-C ended.
const CANCELLED: i32 = 130;
/// The signal of Ctrl-C.
const INTERRUPT: i32 = 2;

/// What is drawn by lot: which fixtures are repeated or interrupted, and when Ctrl-C is pressed. `SEED` is a number, or
/// `random`; each seed draws the same every time. `FULL=1` takes every fixture, and so does `HOSTILE` of those it names.
pub(crate) struct Draw {
    seed: u64,
    full: bool,
}

impl Draw {
    pub(crate) fn from_environment() -> Self {
        let seed = match std::env::var("SEED").as_deref() {
            Err(_) => 11,
            Ok("random") => RandomState::new().build_hasher().finish(),
            Ok(seed) => seed.parse().expect("SEED is a number or `random`"),
        };
        println!("SEED={seed} draws the same fixtures and moments");
        Self { seed, full: is_full() || is_set("HOSTILE") }
    }

    /// A share between 0 and 1 that follows from the seed, a fixture and what it is for.
    fn share(&self, fixture: &Fixture, what: &str) -> f64 {
        let text = format!("{}:{}:{what}", self.seed, fixture.name);
        let digest = graph_core::digest::Digest::of_bytes(text.as_bytes()).hex();
        let number = u32::from_str_radix(&digest[..8], 16).unwrap();
        f64::from(number) / f64::from(u32::MAX)
    }

    /// Whether a fixture is in a sample of one in eight.
    pub(crate) fn is_one_in_eight(&self, fixture: &Fixture) -> bool {
        self.full || self.share(fixture, "repeated") < 0.125
    }

    /// All fixtures that are alone in their files; of those that are variants of each other, the one that is drawn first and a quarter of
    /// the others.
    pub(crate) fn variants<'f>(&self, fixtures: &[&'f Fixture]) -> Vec<&'f Fixture> {
        let share = |fixture: &Fixture| self.share(fixture, "variant");
        let is_drawn = |fixture: &Fixture| {
            let mut others = fixtures.iter().filter(|other| other.file == fixture.file);
            share(fixture) < 0.25 || others.all(|other| share(other) >= share(fixture))
        };
        let drawn: Vec<_> =
            fixtures.iter().copied().filter(|fixture| self.full || is_drawn(fixture)).collect();
        println!("{} of {} fixtures; FULL=1 takes all", drawn.len(), fixtures.len());
        drawn
    }

    /// So many of the commands that a fixture may be given to.
    pub(crate) fn some_of<'c>(
        &self,
        fixture: &Fixture,
        commands: &[&'c [&'c str]],
        count: usize,
    ) -> Vec<&'c [&'c str]> {
        let mut shuffled = commands.to_vec();
        shuffled.sort_by(|one, other| {
            let share = |words: &[&str]| self.share(fixture, &words.join(" "));
            share(one).total_cmp(&share(other))
        });
        shuffled.truncate(if self.full { commands.len() } else { count });
        shuffled
    }

    /// The fixtures that are drawn: some that make work for the host, which are made to take long, and some of the others.
    pub(crate) fn sample<'f>(&self, fixtures: &[&'f Fixture]) -> Vec<&'f Fixture> {
        if self.full {
            return fixtures.to_vec();
        }
        let mut shuffled = fixtures.to_vec();
        shuffled.sort_by(|one, other| self.share(one, "drawn").total_cmp(&self.share(other, "drawn")));
        let (work, others): (Vec<_>, Vec<_>) = shuffled.into_iter().partition(|one| one.topic == "work");
        work.into_iter().take(DRAWN).chain(others.into_iter().take(DRAWN)).collect()
    }
}

/// Whether everything is wanted, however long it takes.
pub(crate) fn is_full() -> bool {
    is_set("FULL")
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Sees how long a fixture takes, then offers it again and presses Ctrl-C at some moment in between.
pub(crate) fn check(
    fixture: &Fixture,
    prepared: &Prepared,
    draw: &Draw,
    taken: &mut Taken,
) -> Result<(), String> {
    let undisturbed = offer_with(fixture, prepared, Vec::new())?.1;
    *taken = Taken::of(&undisturbed);
    if undisturbed.took < SHORT {
        return Ok(());
    }
    let moment = undisturbed.took.mul_f64(draw.share(fixture, "moment"));
    let mut presses = vec![moment];
    if draw.share(fixture, "twice") < 0.5 {
        presses.push(moment + Duration::from_millis(200).mul_f64(draw.share(fixture, "second")));
    }
    let (scene, ended) = offer_with(fixture, prepared, presses.clone())?;
    *taken = Taken::of(&ended);
    let wrong = |what: String| {
        format!("{what}; Ctrl-C at {presses:?}\n  {}\n  {}", ended.document, ended.stderr.trim())
    };
    if let Some(why) = &ended.stopped {
        return Err(wrong(format!("it was ended from outside: {why}")));
    }
    let own = fixture.expect.get("exit").and_then(serde_json::Value::as_i64);
    let documented = match (ended.code, ended.signal) {
        (Some(code), _) => code == CANCELLED || own == Some(code.into()),
        // Before a run begins, nothing has to be put in order.
        (None, signal) => signal == Some(INTERRUPT),
    };
    if !documented {
        return Err(wrong(format!("it ended with {:?}, signal {:?}", ended.code, ended.signal)));
    }
    if let Some(after) = ended.after_press.filter(|after| *after > MOST_AFTER_PRESS) {
        return Err(wrong(format!("it used the processor for {after:?} after Ctrl-C")));
    }
    if ended.orphans != 0 {
        return Err(wrong(format!("it left {} processes", ended.orphans)));
    }
    let verified = watch::run(scene.command(&["runs", "verify", "bad"]));
    match verified.code {
        Some(0 | 9) => Ok(()),
        other => Err(wrong(format!("`runs verify` ended with {other:?}: {}", verified.document))),
    }
}

fn offer_with<'f>(
    fixture: &'f Fixture,
    prepared: &Prepared,
    presses: Vec<Duration>,
) -> Result<(Scene<'f>, Ended), String> {
    let scene = Scene::new(fixture, prepared);
    scene.begin()?;
    let words = scene.offered("bad");
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let bounds = watch::Bounds { presses, ..scene.bounds() };
    let ended = super::beside::during(&scene, || watch::within(scene.command(&words), &bounds));
    Ok((scene, ended))
}

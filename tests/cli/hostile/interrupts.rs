//! Presses Ctrl-C at any moment of the host's work on a fixture: once, and a second time, which ends a run at once.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::Duration;

use super::fixture::Fixture;
use super::offer::{Prepared, Scene, Taken};
use super::watch::{self, Ended};

/// Limit of the host's processor time after Ctrl-C.
const MOST_AFTER_PRESS: Duration = Duration::from_secs(1);
/// Time below which a process leaves no moment to press at.
const SHORT: Duration = Duration::from_millis(30);
/// Number of drawn fixtures of the host's own work, and also of all others.
const DRAWN: usize = 10;
/// Exit code in a shell of a process that Ctrl-C ended.
const CANCELLED: i32 = 130;
/// The signal of Ctrl-C.
const INTERRUPT: i32 = 2;

/// The draw: of fixtures to repeat or to interrupt, and of the moments of Ctrl-C. `SEED` is a number, or `random`; each
/// seed draws the same every time. `FULL=1` takes every fixture, and `HOSTILE` every fixture that it names.
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

    /// Returns a share between 0 and 1 that depends on the seed, a fixture and a purpose.
    fn share(&self, fixture: &Fixture, what: &str) -> f64 {
        let text = format!("{}:{}:{what}", self.seed, fixture.name);
        let digest = graph_core::digest::Digest::of_bytes(text.as_bytes()).hex();
        let number = u32::from_str_radix(&digest[..8], 16).unwrap();
        f64::from(number) / f64::from(u32::MAX)
    }

    /// Checks whether a fixture is in a sample of one in eight.
    pub(crate) fn is_one_in_eight(&self, fixture: &Fixture) -> bool {
        self.full || self.share(fixture, "repeated") < 0.125
    }

    /// Draws all fixtures that are alone in their files, and of the variants in a file the one with the lowest share
    /// and about a quarter of the others.
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

    /// Draws `count` of the commands that a fixture may be passed to.
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

    /// Draws fixtures: some that make work for the host, which are made to take long, and some of the others.
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

/// Checks whether all fixtures are wanted, however long they take.
pub(crate) fn is_full() -> bool {
    is_set("FULL")
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Measures the time of a fixture, then offers it again and presses Ctrl-C at some moment within that time.
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
        // Before a run starts, nothing has to be cleaned up.
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

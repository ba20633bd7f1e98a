//! Activity next to a fixture while the host works on it.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::offer::Scene;

/// Calls `work`, and meanwhile performs the entries under `beside` of the fixture: `{swap, between}` makes a link point
/// to two places in turns, as fast as possible.
pub(crate) fn during<T>(scene: &Scene<'_>, work: impl FnOnce() -> T) -> T {
    let entries = scene.fixture.parts.get("beside").and_then(Value::as_array);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for entry in entries.into_iter().flatten() {
            let over = &over;
            scope.spawn(move || swap(scene, entry, over));
        }
        let done = work();
        over.store(true, Ordering::Relaxed);
        done
    })
}

#[cfg(unix)]
fn swap(scene: &Scene<'_>, entry: &Value, over: &AtomicBool) {
    let link = scene.place.path(entry["swap"].as_str().unwrap());
    let places: Vec<_> = entry["between"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    // A new link replaces the old one, so that there is a link at any moment.
    let other = scene.place.path("tmp/link");
    for place in places.iter().cycle() {
        if over.load(Ordering::Relaxed) {
            return;
        }
        std::os::unix::fs::symlink(place, &other).unwrap();
        std::fs::rename(&other, &link).unwrap();
    }
}

#[cfg(not(unix))]
fn swap(_: &Scene<'_>, _: &Value, _: &AtomicBool) {}

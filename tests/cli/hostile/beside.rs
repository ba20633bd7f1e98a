//! What goes on beside a fixture while the host works on it.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::offer::Scene;

/// Does `work`, and beside it what the fixture says under `beside`: `{swap, between}` makes a link lead to the one place and
/// to the other, in turns, as fast as it can.
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
    // Another one is made and takes its place, so that there is a link at any moment.
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

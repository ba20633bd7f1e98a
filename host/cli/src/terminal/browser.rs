//! Starting the user's browser.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time for which the program that opens a file is watched: if it fails, it exits within this time.
const WATCHED: Duration = Duration::from_secs(1);

/// Opens a file in the browser of the user: `$BROWSER`, or the opener of the platform. Returns whether a browser was started.
pub fn open(file: &Path) -> bool {
    command(file).is_some_and(starts)
}

fn command(file: &Path) -> Option<Command> {
    if let Some(named) = std::env::var("BROWSER").ok().filter(|named| !named.trim().is_empty()) {
        // `$BROWSER` is a list separated by colons; the first entry is used, with its options.
        let mut words = named.split(':').next().unwrap_or_default().split_whitespace();
        let mut command = Command::new(words.next()?);
        let mut is_named = false;
        for word in words {
            if word == "%s" {
                is_named = true;
                command.arg(file);
            } else {
                command.arg(word);
            }
        }
        if !is_named {
            command.arg(file);
        }
        return Some(command);
    }
    if cfg!(target_os = "macos") {
        return Some(with("open", file));
    }
    if cfg!(windows) {
        return Some(with("explorer", file));
    }
    // Without a display no browser can be shown.
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    has_screen.then(|| with("xdg-open", file))
}

fn with(program: &str, file: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg(file);
    command
}

fn starts(mut command: Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if begun.elapsed() > WATCHED => return true,
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(_) => return false,
        }
    }
}

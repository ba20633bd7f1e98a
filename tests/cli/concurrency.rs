//! Runs that two processes take at the same time, and disks without room.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::place::Place;

const SLOW: &str = r"start: work
max_steps: 200
channels: { n: { reducer: sum, default: 0 } }
nodes:
  work: { action: { item_id: t/kit, params: { op: spin, iterations: 30000000 } }, assign: { n: 1 }, next: [{ to: work, when: { path: state.n, op: lt, value: 20 } }, { to: [] }] }
";

/// Waits until a run has reached a step.
fn wait_for_step(place: &Place, run: &str, step: u64) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while place.json(&["runs", "show", run]).0["step"].as_u64().unwrap_or(0) < step {
        assert!(Instant::now() < deadline, "{run} does not come to step {step}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn one_process_goes_on_and_the_other_is_told_who_has_the_run() {
    let place = Place::with_compiled_testkit();
    place.graph("slow.yaml", SLOW);
    let run = ["run", "slow.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r", "--json"];
    let mut first = place.command(&run).spawn().unwrap();
    wait_for_step(&place, "r", 1);
    // While it runs, no other process can take it.
    let (refused, code) = place.json(&["resume", "r"]);
    assert_eq!((code, &refused["error"]["code"]), (10, &json!("storage")), "{refused}");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains(&format!("process {} on", first.id())), "{message}");
    first.kill().unwrap();
    first.wait().unwrap();

    // If two processes take it at the same time, one continues.
    let resume = ["resume", "r", "--json"];
    let both = [place.command(&resume).spawn().unwrap(), place.command(&resume).spawn().unwrap()];
    let ids = both.each_ref().map(std::process::Child::id);
    let ended = both.map(|child| child.wait_with_output().unwrap());
    let codes = ended.each_ref().map(|output| output.status.code().unwrap_or(-1));
    let winner = codes.iter().position(|code| *code == 0).unwrap_or_else(|| panic!("{codes:?}: {ended:?}"));
    assert_eq!(codes[1 - winner], 10, "{ended:?}");
    let document = |index: usize| serde_json::from_slice::<Value>(&ended[index].stdout).unwrap();
    assert_eq!(document(winner)["state"]["n"], 20);
    assert_eq!(document(winner)["executions"]["work"], 20);
    let told = document(1 - winner)["error"]["message"].as_str().unwrap().to_owned();
    assert!(told.contains(&format!("process {} on", ids[winner])), "{told}");
    assert_eq!(place.run(&["runs", "verify", "r"]).code, 0);
}

/// A small disk mounted over a folder, until it is dropped.
#[cfg(target_os = "linux")]
struct SmallDisk(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl SmallDisk {
    /// Mounts the disk; `None` if this process may not mount.
    fn over(folder: std::path::PathBuf, size: &str) -> Option<Self> {
        std::fs::create_dir_all(&folder).unwrap();
        let options = format!("size={size}");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(&folder)
            .output()
            .ok()?;
        mounted.status.success().then_some(Self(folder))
    }

    fn grow(&self, size: &str) {
        let options = format!("remount,size={size}");
        let grown = Command::new("mount").args(["-o", &options]).arg(&self.0).status().unwrap();
        assert!(grown.success());
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_stops_a_run_and_keeps_what_was_stored() {
    let place = Place::with_compiled_testkit();
    let Some(disk) = SmallDisk::over(place.path(".ai/state"), "768k") else {
        println!("skipped: a disk cannot be mounted here");
        return;
    };
    let text = "0123456789abcdef".repeat(512);
    let graph = format!(
        "start: a\nmax_steps: 1000\nchannels: {{ n: {{ reducer: sum, default: 0 }}, log: {{ reducer: append }} }}\n\
         nodes:\n  a: {{ assign: {{ n: 1, log: [\"{text} ${{state.n}}\"] }}, next: [{{ to: a, when: {{ path: state.n, op: lt, value: 300 }} }}, {{ to: [] }}] }}\n"
    );
    place.graph("big.yaml", &graph);
    let (document, code) = place.json(&["run", "big.yaml", "--run-id", "r"]);
    assert_eq!((code, &document["error"]["code"]), (10, &json!("storage")), "{document}");
    let message = document["error"]["message"].as_str().unwrap();
    assert!(message.contains("no room left"), "{message}");

    let (shown, code) = place.json(&["runs", "show", "r"]);
    assert_eq!(code, 0, "{shown}");
    let steps = shown["step"].as_u64().unwrap();
    assert!((1..300).contains(&steps), "{steps}");
    let verified = place.run(&["runs", "verify", "r"]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    // There is no room to continue either, and that does no harm.
    let (document, code) = place.json(&["resume", "r"]);
    assert_eq!(code, 10, "{document}");

    disk.grow("64m");
    let (document, code) = place.json(&["resume", "r"]);
    assert_eq!((code, &document["status"]), (0, &json!("completed")), "{document}");
    assert_eq!(document["state"]["n"], 300);
    assert_eq!(document["state"]["log"].as_array().unwrap().len(), 300);
    assert_eq!(place.run(&["runs", "verify", "r"]).code, 0);
}

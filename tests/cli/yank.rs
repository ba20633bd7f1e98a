//! Yanked versions: who can yank, and the effects on `pull`, `lock`, `search` and others. In directories, and in
//! registries with and without the referrers API.

use std::process::Output;

use serde_json::{Value, json};

use crate::oci_registry::Registry;
use crate::place::{Place, Ran};

const REASON: &str = "it logs its secrets";

/// A publisher's project with the key `me`, which is trusted for `t/*`, and two projects of users: `first` and `second`.
struct Market {
    place: Place,
    registry: Option<Registry>,
}

fn ok(ran: &Ran) {
    assert_eq!(ran.code, 0, "{}", ran.shown());
}

fn markets() -> [Market; 3] {
    [None, Some(true), Some(false)].map(|api| Market::new(api.map(Registry::start)))
}

impl Market {
    fn new(registry: Option<Registry>) -> Self {
        let place = Place::new();
        ok(&place.run(&["keys", "generate", "me"]));
        ok(&place.run(&["trust", "add", "me", "--key", "me", "--items", "t/*"]));
        for folder in [".ai/knowledge/t", "first/.ai", "second/.ai"] {
            std::fs::create_dir_all(place.path(folder)).unwrap();
        }
        Self { place, registry }
    }

    fn base(&self) -> String {
        match &self.registry {
            Some(registry) => format!("oci://{}/team", registry.host()),
            None => format!("oci-layout:{}", self.place.path("out").display()),
        }
    }

    /// Returns the reference of an item without a tag or a range.
    fn item(&self, id: &str) -> String {
        let between = if self.registry.is_some() { "/" } else { ":" };
        format!("{}{between}{id}", self.base())
    }

    fn note(&self, version: &str) -> String {
        format!("{}:{version}", self.item("t/note"))
    }

    /// Publishes versions of `t/note`, and returns the digests of their manifests.
    fn publish(&self, versions: &[&str]) -> Vec<String> {
        let file = ".ai/knowledge/t/note.md";
        let mut digests = Vec::new();
        for version in versions {
            self.place
                .write(file, &format!("---\ntitle: A note\nversion: {version}\n---\nText {version}.\n"));
            ok(&self.place.run(&["sign", file, "--key", "me", "--time", "2026-01-01"]));
            let (published, code) = self.place.json(&["publish", "t/note", &self.base()]);
            assert_eq!(code, 0, "{published}");
            digests.push(published["published"][0]["manifest"].as_str().unwrap().to_owned());
        }
        digests
    }

    fn yank(&self, version: &str) {
        let note = self.note(version);
        let (document, code) = self.place.json(&["yank", &note, "--key", "me", "--reason", REASON]);
        assert_eq!(
            (code, &document["changed"], &document["yanked"]["reason"]),
            (0, &json!(true), &json!(REASON))
        );
    }

    fn output(&self, project: &str, home: &str, args: &[&str]) -> Output {
        let mut command = self.place.command(args);
        command.current_dir(self.place.path(project)).env("GRAPH_HOST_HOME", self.place.path(home));
        command.output().unwrap()
    }

    /// Runs a command in a project of a user with the same trust store.
    fn there(&self, project: &str, args: &[&str]) -> Ran {
        self.place.ran(&self.output(project, "home", args))
    }

    fn there_json(&self, project: &str, args: &[&str]) -> (Value, i32) {
        self.json_by("home", project, args)
    }

    fn json_by(&self, home: &str, project: &str, args: &[&str]) -> (Value, i32) {
        let output = self.output(project, home, &[args, &["--json"]].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let ran = self.place.ran(&output);
        let document = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{}", ran.shown()));
        (document, ran.code)
    }

    /// Makes another user, in `strange`, who trusts a key that is trusted nowhere else.
    fn stranger(&self) {
        for args in [
            &["keys", "generate", "stranger"][..],
            &["trust", "add", "stranger", "--key", "stranger", "--items", "*"],
        ] {
            ok(&self.place.ran(&self.output(".", "strange", args)));
        }
    }
}

fn message(document: &Value) -> &str {
    document["error"]["message"].as_str().unwrap_or_else(|| panic!("{document}"))
}

fn help(document: &Value) -> &str {
    document["error"]["help"].as_str().unwrap_or_else(|| panic!("{document}"))
}

#[test]
fn a_yanked_version_is_not_selected_and_what_is_locked_keeps_working() {
    for market in markets() {
        market.publish(&["1.0.0", "1.1.0"]);
        let range = format!("{}@^1", market.item("t/note"));
        let locked = |project: &str| {
            let (document, code) = market.there_json(project, &["lock", &range]);
            assert_eq!(code, 0, "{document}");
            document["locked"][0]["version"].clone()
        };
        assert_eq!(locked("first"), "1.1.0");
        ok(&market.there("first", &["pull"]));
        market.yank("1.1.0");
        assert_eq!(locked("second"), "1.0.0");

        // By name, it is refused, with the command to type.
        let note = market.note("1.1.0");
        for command in ["pull", "lock"] {
            let (refused, code) = market.there_json("second", &[command, &note]);
            assert_eq!((code, &refused["error"]["code"]), (8, &json!("yanked")), "{refused}");
            let told = message(&refused);
            let expected = format!("`t/note` 1.1.0 is yanked: {REASON} (signed by `me` (");
            assert!(told.starts_with(&expected) && told.contains("), 20") && told.ends_with("Z)"), "{told}");
            assert!(help(&refused).contains("`--allow-yanked` takes this one"), "{refused}");
            assert!(help(&refused).contains(&format!("{}@>1.1.0", market.item("t/note"))), "{refused}");
        }
        let newer = format!("{}@>1.1.0", market.item("t/note"));
        assert_eq!(market.there_json("second", &["pull", &newer, "--into", "newer"]).1, 9);
        market.publish(&["1.2.0"]);
        let (pulled, code) = market.there_json("second", &["pull", &newer, "--into", "newer"]);
        assert_eq!((code, &pulled["pulled"][0]["version"]), (0, &json!("1.2.0")), "{pulled}");

        // The existing lock keeps working, with a warning.
        let warning = "warning: `t/note` 1.1.0 is yanked: it logs its secrets";
        for args in [&["pull"][..], &["lock"], &["lock", "--check"]] {
            let ran = market.there("first", args);
            assert!(ran.code == 0 && ran.stderr.contains(warning), "{args:?}: {}", ran.shown());
            assert_eq!(ran.stderr.matches("is yanked").count(), 1, "{}", ran.shown());
        }
        let (restored, _) = market.there_json("first", &["pull"]);
        assert_eq!(restored["pulled"][0]["yanked"]["reason"], REASON, "{restored}");
        let (checked, _) = market.there_json("first", &["lock", "--check"]);
        assert_eq!(
            (&checked["holds"], &checked["items"][0]["yanked"]["reason"]),
            (&json!(true), &json!(REASON))
        );

        // A user may take it nevertheless; and the publisher may take the yank back.
        let anyway = ["pull", &note, "--allow-yanked", "--allow-downgrade", "--into", "anyway"];
        let ran = market.there("second", &anyway);
        assert!(ran.code == 0 && ran.stderr.contains(warning), "{}", ran.shown());
        let ran = market.place.run(&["yank", &note, "--key", "me", "--undo"]);
        assert!(ran.code == 0 && ran.stdout.starts_with("took back the yank of knowledge t/note 1.1.0"));
        let again = ["pull", &note, "--allow-downgrade", "--into", "again"];
        let ran = market.there("second", &again);
        assert!(ran.code == 0 && !ran.stderr.contains("yanked"), "{}", ran.shown());
        assert!(!market.there("first", &["lock", "--check"]).stderr.contains("yanked"));
    }
}

#[test]
fn a_yank_is_shown_to_those_who_trust_its_key() {
    for market in markets() {
        market.publish(&["1.0.0", "1.1.0"]);
        market.yank("1.0.0");
        let ran = market.place.run(&["search", &market.base()]);
        assert!(
            ran.stdout.contains("1.0.0 (yanked)") && !ran.stdout.contains("1.1.0 (yanked)"),
            "{}",
            ran.shown()
        );
        let yanked = |home: &str| {
            let (found, code) = market.json_by(home, ".", &["search", &market.base(), "note"]);
            assert_eq!((code, found["items"].as_array().map(Vec::len)), (0, Some(2)), "{found}");
            found["items"].as_array().unwrap().iter().map(|item| item["yanked"].clone()).collect::<Vec<_>>()
        };
        let shown = yanked("home");
        assert_eq!(
            (&shown[0]["reason"], &shown[0]["signer"]["name"], &shown[1]),
            (&json!(REASON), &json!("me"), &Value::Null)
        );
        market.stranger();
        assert_eq!(yanked("strange"), [Value::Null, Value::Null]);

        let (shown, code) = market.place.json(&["inspect", &market.note("1.0.0")]);
        assert_eq!((code, &shown["yanked"]["reason"]), (0, &json!(REASON)), "{shown}");
        let ran = market.place.run(&["inspect", &market.note("1.0.0")]);
        assert!(
            ran.stdout.contains("status    yanked: it logs its secrets (signed by `me`"),
            "{}",
            ran.shown()
        );
        assert_eq!(market.place.json(&["inspect", &market.note("1.1.0")]).0["yanked"], Value::Null);
    }
}

#[test]
fn strangers_and_junk_change_nothing() {
    for market in markets() {
        let manifest = market.publish(&["1.0.0"]).remove(0);
        market.stranger();
        let note = market.note("1.0.0");
        let by_stranger = |more: &[&str]| {
            let args = [&["yank", note.as_str(), "--key", "stranger"], more].concat();
            market.place.ran(&market.output(".", "strange", &args))
        };
        ok(&by_stranger(&["--reason", "they are competitors"]));
        if let Some(registry) = &market.registry {
            for (number, layers) in
                [json!([]), json!([{ "mediaType": "text/html", "digest": manifest, "size": 1 }])]
                    .into_iter()
                    .enumerate()
            {
                registry.push(
                    "team/t/note",
                    &json!({
                        "schemaVersion": 2,
                        "mediaType": "application/vnd.oci.image.manifest.v1+json",
                        "artifactType": "application/vnd.graph-host.yank.v1",
                        "config": { "mediaType": "x/y", "digest": manifest, "size": number },
                        "layers": layers,
                        "subject": { "mediaType": "x/y", "digest": manifest, "size": 1 },
                    }),
                );
            }
        }
        let pull = |into: &str| market.there("first", &["pull", &note, "--into", into, "--no-lock"]);
        let ran = pull("one");
        assert!(ran.code == 0 && ran.stderr.is_empty(), "{}", ran.shown());
        assert_eq!(market.place.json(&["search", &market.base()]).0["items"][0]["yanked"], Value::Null);
        market.yank("1.0.0");
        ok(&by_stranger(&["--undo"]));
        assert_eq!(pull("two").code, 8);
        // A key that is revoked no longer yanks, either.
        ok(&market.place.run(&["trust", "revoke", "me"]));
        assert_eq!(market.place.json(&["search", &market.base()]).0["items"][0]["yanked"], Value::Null);
    }
}

#[test]
fn yanking_twice_and_taking_back_what_is_not_yanked_change_nothing() {
    for market in markets() {
        market.publish(&["1.0.0"]);
        let note = market.note("1.0.0");
        let run = |more: &[&str]| {
            let (document, code) =
                market.place.json(&[&["yank", note.as_str(), "--key", "me"], more].concat());
            assert_eq!(code, 0, "{document}");
            (document["changed"] == true, document["yanked"]["reason"].clone())
        };
        assert_eq!(run(&["--undo"]), (false, Value::Null));
        assert_eq!(run(&["--reason", "one"]), (true, json!("one")));
        assert_eq!(run(&["--reason", "one"]), (false, json!("one")));
        assert_eq!(run(&["--reason", "two"]), (true, json!("two")));
        // Even within one tick of the clock, the latest statement is the last one made.
        for number in 0..5 {
            assert_eq!(run(&["--undo"]), (true, Value::Null), "{number}");
            assert_eq!(run(&["--reason", "three"]), (true, json!("three")), "{number}");
        }
    }
}

#[test]
fn a_range_of_yanked_versions_selects_nothing() {
    for market in markets() {
        market.publish(&["1.0.0", "1.1.0", "2.0.0"]);
        market.yank("1.0.0");
        market.yank("1.1.0");
        let range = format!("{}@^1", market.item("t/note"));
        let (refused, code) = market.there_json("first", &["lock", &range]);
        assert_eq!(code, 9, "{refused}");
        assert!(
            message(&refused).contains("that satisfy `^1` are yanked; the reason of 1.1.0 is"),
            "{refused}"
        );
        assert!(
            message(&refused).contains(REASON) && help(&refused).contains(&market.note("1.1.0")),
            "{refused}"
        );
        let any = format!("{}@*", market.item("t/note"));
        assert_eq!(market.there_json("first", &["lock", &any]).0["locked"][0]["version"], "2.0.0");
    }
}

#[test]
fn what_cannot_be_yanked_is_refused_with_what_to_do() {
    let market = Market::new(None);
    market.publish(&["1.0.0"]);
    let note = market.note("1.0.0");
    let place = &market.place;
    ok(&place.run(&["keys", "generate", "unknown"]));
    ok(&place.run(&["keys", "generate", "narrow"]));
    ok(&place.run(&["trust", "add", "narrow", "--key", "narrow", "--items", "other/*"]));
    ok(&place.run(&["publish", "t/note", &format!("{}:t/note:latest", market.base())]));
    let refused = |reference: &str, key: &str, reason: &str, exit: i32, part: &str| {
        let (document, code) = place.json(&["yank", reference, "--key", key, "--reason", reason]);
        assert_eq!(code, exit, "{document}");
        assert!(message(&document).contains(part), "{part}: {document}");
        document
    };
    refused(&market.note("3.0.0"), "me", REASON, 9, "there is no tag `t/note:3.0.0`");
    refused("oci-layout:nowhere:t/note:1.0.0", "me", REASON, 9, "there is no");
    refused(&market.base(), "me", REASON, 2, "names no version");
    refused("t/note", "me", REASON, 2, "is not a reference");
    refused(&note, "nobody", REASON, 9, "there is no key named `nobody`");
    refused(&note, "unknown", REASON, 8, "is not in your trust store");
    refused(&note, "narrow", REASON, 8, "may not sign `t/note`");
    refused(&note, "me", " ", 2, "a yank says why");
    refused(&note, "me", &"x".repeat(2_000), 2, "at most 1000 bytes");
    assert_eq!(place.run(&["yank", &note, "--key", "me"]).code, 2, "a reason is needed");
    assert_eq!(place.json(&["search", &market.base()]).0["items"][0]["yanked"], Value::Null);
    // A tag that moves names no version; its digest, which is in the help, does.
    let latest = market.note("latest");
    let document = refused(&latest, "me", REASON, 2, "names no version; now it is `t/note` 1.0.0");
    let pinned = help(&document).rsplit(' ').next().unwrap();
    // The compared text has another name for the folder of the test.
    let pinned = format!("{}@{}", market.base(), pinned.rsplit_once('@').unwrap().1);
    ok(&place.run(&["yank", &pinned, "--key", "me", "--reason", REASON]));
    assert_eq!(market.there_json("first", &["lock", &note]).1, 8);
    assert_eq!(market.there_json("first", &["lock", &latest]).1, 8, "whatever it is named by");
    // An artifact that is no item.
    let yank = std::fs::read_to_string(place.path("out/index.json")).unwrap();
    let index: Value = serde_json::from_str(&yank).unwrap();
    let statement = index["manifests"]
        .as_array()
        .unwrap()
        .iter()
        .find(|listed| listed["artifactType"] == "application/vnd.graph-host.yank.v1");
    let statement = format!("{}@{}", market.base(), statement.unwrap()["digest"].as_str().unwrap());
    refused(&statement, "me", REASON, 8, "is an artifact of the type `application/vnd.graph-host.yank.v1`");
}

#[test]
fn what_comes_along_with_a_graph_can_be_yanked() {
    let market = Market::new(None);
    let digest = market.publish(&["1.0.0"]).remove(0);
    let place = &market.place;
    let load = "start: a\nnodes:\n  a: { action: { primary: load, item_type: knowledge, item_id: t/note } }";
    place.graph(".ai/tools/t/flow.yaml", load);
    ok(&place.run(&["sign", ".ai/tools/t/flow.yaml", "--key", "me", "--time", "2026-01-01"]));
    ok(&place.run(&["publish", "t/flow", "--with-items", &market.base()]));
    let flow = format!("{}:t/flow:1.0.0", market.base());
    ok(&market.there("first", &["lock", &flow]));
    market.yank("1.0.0");
    let (refused, code) = market.there_json("second", &["lock", &flow]);
    assert_eq!(code, 8, "{refused}");
    assert!(
        message(&refused).contains("`t/note` 1.0.0, which comes along with `t/flow`, is yanked"),
        "{refused}"
    );
    assert!(help(&refused).contains("t/flow@>1.0.0"), "{refused}");

    // A command that only uses it has no such option: the help names the command that has.
    let (refused, code) = market.there_json("second", &["validate", &flow]);
    assert_eq!(code, 8, "{refused}");
    let command = help(&refused["files"][0]).split('`').find(|part| part.contains("--allow-yanked")).unwrap();
    let words: Vec<_> = command.split(' ').skip(1).chain(["--into", "anyway", "--no-lock"]).collect();
    assert!(words[1].starts_with(&flow), "{refused}");
    ok(&market.there("second", &words));
    let ran = market.there("first", &["validate", &flow]);
    assert!(ran.code == 0 && ran.stderr.contains("`t/note` 1.0.0 is yanked"), "{}", ran.shown());
    let pinned = format!("{}@{digest}", market.base());
    let (refused, code) = market.there_json("second", &["validate", &pinned]);
    assert_eq!((code, &refused["files"][0]["error"]["code"]), (8, &json!("yanked")), "{refused}");
}

/// Returns the tag of the statements about `t/note`.
fn tag_of_yanks() -> String {
    format!("yanks-{}", graph_core::digest::Digest::of_bytes(b"t/note").hex())
}

#[test]
fn a_yank_that_cannot_be_read_is_a_warning() {
    // The tags that list referrers and the statements about the item name something else.
    let market = Market::new(Some(Registry::start(false)));
    let manifest = market.publish(&["1.0.0"]).remove(0);
    market.yank("1.0.0");
    let note = market.note("1.0.0");
    assert_eq!(market.there("first", &["lock", &note]).code, 8);
    let overwrite = |tag: &str| {
        let at = format!("{}:{tag}", market.item("t/note"));
        ok(&market.place.run(&["publish", "t/note", &at]));
    };
    // Another user, who has seen nothing yet.
    std::fs::create_dir_all(market.place.path("other")).unwrap();
    std::fs::copy(market.place.path("home/trust.yaml"), market.place.path("other/trust.yaml")).unwrap();
    let by_other = || market.place.ran(&market.output("first", "other", &["lock", &note]));
    overwrite(&manifest.replace(':', "-"));
    let ran =
        market.place.ran(&market.output("first", "other", &["pull", &note, "--no-lock", "--into", "x"]));
    assert_eq!(ran.code, 8, "one of the two is enough: {}", ran.shown());
    std::fs::remove_dir_all(market.place.path("other/yanks")).unwrap();
    overwrite(&tag_of_yanks());
    let told = |ran: &Ran| ran.stderr.replace("\n  ", " ");
    // A user who has seen the yank keeps it, and is warned.
    let ran = market.there("first", &["lock", &note]);
    assert!(ran.code == 8 && told(&ran).contains("is not where the version is any more"), "{}", ran.shown());
    let ran = by_other();
    assert!(
        ran.code == 0 && told(&ran).contains("whether `t/note` 1.0.0 is yanked is not known"),
        "{}",
        ran.shown()
    );
    ok(&market.place.run(&["search", &market.base()]));
}

/// Writes the manifest under a name of the directory again, with a change, as anyone who may write there can.
fn moved(place: &Place, name: &str, change: impl FnOnce(&mut Value)) {
    let key = "org.opencontainers.image.ref.name";
    let blobs = place.path("out/blobs/sha256");
    let mut index: Value = serde_json::from_str(&place.read("out/index.json")).unwrap();
    let listed = index["manifests"].as_array_mut().unwrap().iter_mut();
    let listed = listed.into_iter().find(|one| one["annotations"][key] == name).unwrap();
    let hex = listed["digest"].as_str().unwrap().trim_start_matches("sha256:");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(blobs.join(hex)).unwrap()).unwrap();
    manifest["annotations"]["x"] = json!("y");
    change(&mut manifest);
    let bytes = serde_json::to_vec(&manifest).unwrap();
    let digest = graph_core::digest::Digest::of_bytes(&bytes);
    std::fs::write(blobs.join(digest.hex()), &bytes).unwrap();
    listed["digest"] = json!(digest);
    listed["size"] = json!(bytes.len());
    place.write("out/index.json", &index.to_string());
}

/// Stores a blob in the directory, and returns its descriptor.
fn stored(place: &Place, media_type: &str, bytes: &[u8]) -> Value {
    let digest = graph_core::digest::Digest::of_bytes(bytes);
    std::fs::write(place.path("out/blobs/sha256").join(digest.hex()), bytes).unwrap();
    json!({ "mediaType": media_type, "digest": digest, "size": bytes.len() })
}

#[test]
fn another_manifest_around_the_same_item_takes_no_yank_back() {
    type Change = fn(&Place, &mut Value, &str);
    const NAME: &str = "t/note:1.0.0";
    let text = |place: &Place| std::fs::read_to_string(place.path(".ai/knowledge/t/note.md")).unwrap();
    let spaced = |place: &Place| text(place).replacen('\n', "  \n", 1);
    let layer: Change = |place, manifest, text| {
        let title = manifest["layers"][0]["annotations"].clone();
        manifest["layers"][0] = stored(place, "text/markdown", text.as_bytes());
        manifest["layers"][0]["annotations"] = title;
    };
    let nothing: Change = |_, _, _| {};
    for (what, change) in [("an annotation", nothing), ("a space behind the signature", layer)] {
        for has_tag in [true, false] {
            let market = Market::new(None);
            let place = &market.place;
            market.publish(&["1.0.0"]);
            market.yank("1.0.0");
            let text = spaced(place);
            moved(place, NAME, |manifest| change(place, manifest, &text));
            let note = market.note("1.0.0");
            if !has_tag {
                // The statement is still attached to the manifest that no tag names any more.
                let mut index: Value = serde_json::from_str(&place.read("out/index.json")).unwrap();
                let key = "org.opencontainers.image.ref.name";
                let listed = index["manifests"].as_array_mut().unwrap();
                listed.retain(|one| one["annotations"][key] != tag_of_yanks().as_str());
                place.write("out/index.json", &index.to_string());
            }
            let (refused, code) = market.there_json("first", &["pull", &note]);
            assert_eq!((code, &refused["error"]["code"]), (8, &json!("yanked")), "{what}: {refused}");
            assert_eq!(market.there("first", &["lock", &note]).code, 8, "{what}");
            let range = format!("{}@^1", market.item("t/note"));
            assert_eq!(market.there("second", &["lock", &range]).code, 9, "{what}");
            let (found, _) = place.json(&["search", &market.base()]);
            assert_eq!(found["items"][0]["yanked"]["reason"], REASON, "{what}: {found}");
            ok(&place.run(&["registry", "index", &market.base(), "-o", "site"]));
            assert!(place.read("site/catalogue.json").contains(REASON), "{what}");
        }
    }
}

#[test]
fn an_artifact_cannot_state_another_version_of_a_text_that_says_none() {
    let market = Market::new(None);
    let place = &market.place;
    let file = ".ai/knowledge/t/note.md";
    place.write(file, "---\ntitle: A note\n---\nText.\n");
    ok(&place.run(&["sign", file, "--key", "me", "--time", "2026-01-01"]));
    ok(&place.run(&["publish", "t/note", &market.base(), "--version", "1.0.0"]));
    market.yank("1.0.0");
    // Anyone who may write there publishes the same signed text as a newer version.
    ok(&place.run(&["publish", "t/note", &market.base(), "--version", "1.0.1"]));
    for version in ["1.0.1", "1.0.0"] {
        let (refused, code) = market.there_json("first", &["pull", &market.note(version)]);
        assert_eq!((code, &refused["error"]["code"]), (8, &json!("yanked")), "{version}: {refused}");
    }
}

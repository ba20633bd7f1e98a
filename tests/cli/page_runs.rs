//! Runs of a page of the user, or of another host: imported with its key, or without.

use crate::place::Place;

/// Makes a place with a run that waits for an answer, and its file `r.jsonl`; and another one with the file and the items.
fn two_hosts() -> (Place, Place) {
    let (page, host) = (Place::with_compiled_testkit(), Place::with_compiled_testkit());
    export(&page, &host, "r");
    (page, host)
}

/// Runs a graph on one host up to its question, and copies the file of the run to another one.
fn export(page: &Place, host: &Place, run: &str) {
    let config = "start: ask\nnodes:\n  ask: { action: { item_id: t/kit, params: { op: interrupt, payload: well } }, assign: { said: \
                  \"${result}\" }, next: end }\n  end: { type: return, output: { said: \"${state.said}\" } }";
    page.graph("g.yaml", config);
    let args = ["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", run];
    assert_eq!(page.json(&args).1, 6);
    let file = format!("{run}.jsonl");
    let exported = page.run(&["runs", "export", run, "--output", &file]);
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    host.write(&file, &page.read(&file));
    host.write("page.pem", &page.read("home/identity.pem"));
}

#[test]
fn with_its_key_a_run_of_a_page_is_resumed() {
    let (_page, host) = two_hosts();
    let (told, code) = host.json(&["runs", "import", "r.jsonl", "--identity", "page.pem"]);
    assert_eq!((code, &told["key"]), (0, &"added".into()));
    let own = host.read("home/identity.pem");
    assert_ne!(own, host.read("page.pem"), "the host keeps its own identity");
    assert_eq!(host.run(&["runs", "verify", "r"]).code, 0);
    assert_eq!(host.json(&["replay", "r", "--allow-unsigned"]).0["equal"], true);
}

#[test]
fn another_key_is_refused_by_name() {
    let (_page, host) = two_hosts();
    let other = Place::with_compiled_testkit();
    export(&other, &host, "other");
    let refused = host.run(&["runs", "import", "r.jsonl", "--identity", "page.pem"]);
    assert_eq!(refused.code, 8, "{}", refused.stderr);
    assert!(refused.stderr.contains("run r was signed by the key "), "{}", refused.stderr);
    assert!(refused.stderr.contains("the key that was given is "), "{}", refused.stderr);
    assert_eq!(host.run(&["runs", "show", "r"]).code, 9, "nothing was stored");
    assert!(!host.path("home/identities").exists());
}

#[test]
fn without_its_key_a_run_is_shown_and_verified_but_not_resumed() {
    let (_page, host) = two_hosts();
    let imported = host.run(&["runs", "import", "r.jsonl"]);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    assert!(imported.stderr.contains("--identity FILE"), "{}", imported.stderr);
    assert_eq!(host.json(&["runs", "show", "r"]).0["status"], "interrupted");
    let key = ["-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----"];
    let header = host.read("r.jsonl").lines().next().unwrap().replace("\\n", "\n");
    let begin = header.find(key[0]).unwrap();
    let end = header.find(key[1]).unwrap() + key[1].len();
    host.write("public.pem", &format!("{}\n", &header[begin..end]));
    let verified = host.run(&["runs", "verify", "r", "--key", "public.pem"]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    let refused = host.run(&["resume", "r", "--answer", "yes"]);
    assert_eq!(refused.code, 8, "{}", refused.stderr);
    let words = refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("graph-host runs import FILE --identity KEY"), "{words}");
    // That works for a run that is already here, too.
    let taken = host.run(&["runs", "import", "r.jsonl", "--identity", "page.pem"]);
    assert_eq!(taken.code, 0, "{}", taken.stderr);
    assert!(taken.stdout.contains("is here already"), "{}", taken.stdout);
    assert_eq!(host.run(&["runs", "verify", "r"]).code, 0);
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_the_key_is_asked_about_once() {
    use crate::terminal::Typed;

    let (page, host) = two_hosts();
    export(&page, &host, "s");
    export(&page, &host, "t");
    let mut typed = Typed::new(&host, 120, "graph-host runs import r.jsonl");
    typed.until("[yes/no, Enter: no]");
    typed.types("no\n");
    assert_eq!(typed.ends(), 0, "{}", typed.raw());
    assert!(typed.raw().contains("that key is not trusted here"), "{}", typed.raw());
    assert_eq!(host.run(&["runs", "verify", "r"]).code, 8);

    let mut typed = Typed::new(&host, 120, "graph-host runs import s.jsonl");
    typed.until("[yes/no, Enter: no]");
    typed.types("yes\n");
    assert_eq!(typed.ends(), 0, "{}", typed.raw());
    assert!(typed.raw().contains("a key that you trust"), "{}", typed.raw());
    assert_eq!(host.run(&["runs", "verify", "s"]).code, 0);

    // Later runs of that page ask nothing.
    let mut typed = Typed::new(&host, 120, "graph-host runs import t.jsonl");
    assert_eq!(typed.ends(), 0, "{}", typed.raw());
    assert!(!typed.raw().contains("[yes/no"), "{}", typed.raw());
    assert_eq!(host.json(&["replay", "t", "--allow-unsigned"]).0["equal"], true);
    // The key admits nothing: only its owner resumes.
    assert_eq!(host.run(&["resume", "t", "--answer", "yes"]).code, 8);
}

//! Tests `graph-host build` as far as a crate without dependencies allows.

use graph_toolchain::rust::Toolchain;

use crate::place::Place;

fn names(place: &Place, folder: &str) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(place.path(folder))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn what_cannot_be_built_is_told_and_leaves_nothing() {
    let place = Place::new();
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(place.path(name).parent().unwrap()).unwrap();
        place.write(name, text);
    };
    let manifest = |name: &str, kind: &str| {
        format!(
            "[package]\nname='{name}'\nversion='0.1.0'\nedition='2024'\n[lib]\ncrate-type=['{kind}']\n[workspace]\n"
        )
    };
    std::fs::create_dir_all(place.path("out")).unwrap();
    let build = |folder: &str, more: &[&str]| {
        let args = [&["build", folder, "--out", "out/n.wasm"], more].concat();
        let ran = place.run(&args);
        assert_eq!(names(&place, "out"), [""; 0], "{folder}: {}", ran.stderr);
        ran
    };
    let nothing = build("nowhere", &[]);
    assert_eq!(nothing.code, 9, "{}", nothing.stderr);
    assert!(
        nothing.stderr.contains(
            "there is no Cargo.toml, no package.json, no pyproject.toml and no node.toml in nowhere"
        ),
        "{}",
        nothing.stderr
    );

    write("broken/Cargo.toml", "[package\n");
    let broken = build("broken", &[]);
    assert_eq!(broken.code, 3, "{}", broken.stderr);
    assert!(broken.stderr.contains("cargo cannot read broken/Cargo.toml"), "{}", broken.stderr);

    write("n/Cargo.toml", &manifest("n", "cdylib"));
    write("n/src/lib.rs", "");
    let no_key = build("n", &["--sign-with", "nobody"]);
    assert_eq!(no_key.code, 9, "{}", no_key.stderr);
    assert!(no_key.stderr.contains("nobody"), "{}", no_key.stderr);

    // Arguments are checked before anything is compiled, with any toolchain.
    place.write("file", "");
    for (more, message) in [
        (&["--id", "Bad Id!"][..], "`Bad Id!` cannot be the id of an item: a blank is not allowed in it"),
        (&["--id", "me/n@1.0"], "the version is named with --version"),
        (&["--version", "1 2"], "`1 2` cannot be a version"),
        (&["--may", "everything"], "everything"),
    ] {
        let refused = build("n", more);
        assert_eq!(refused.code, 2, "{}", refused.shown());
        assert!(
            refused.stderr.contains(message) && !refused.stderr.contains("Compiling"),
            "{}",
            refused.shown()
        );
    }
    for (out, message) in [("out", "out is a folder"), ("file/n.wasm", "file is a file")] {
        let refused = place.run(&["build", "n", "--out", out]);
        assert_eq!(refused.code, 2, "{}", refused.shown());
        assert!(
            refused.stderr.contains(message) && !refused.stderr.contains("Compiling"),
            "{}",
            refused.shown()
        );
    }

    if let Err(missing) = Toolchain::detect() {
        println!("skipped: {missing}");
        return;
    }
    write("wrong/Cargo.toml", &manifest("wrong", "cdylib"));
    write("wrong/src/lib.rs", "fn f() -> u8 { \"text\" }");
    let wrong = build("wrong", &[]);
    assert_eq!(wrong.code, 5, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("mismatched types"), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("toolchain: rustc "), "{}", wrong.stderr);

    write("library/Cargo.toml", &manifest("library", "rlib"));
    write("library/src/lib.rs", "");
    let library = build("library", &[]);
    assert_eq!(library.code, 3, "{}", library.stderr);
    assert!(library.stderr.contains("crate-type"), "{}", library.stderr);

    // A component that is no node: it exports nothing that could be called.
    let no_node = build("n", &[]);
    assert_eq!(no_node.code, 8, "{}", no_node.stderr);
    assert!(no_node.stderr.contains("graph-host:node/action"), "{}", no_node.stderr);
}

#[test]
fn a_package_that_cannot_be_built_is_told_and_leaves_nothing() {
    let place = Place::new();
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(place.path(name).parent().unwrap()).unwrap();
        place.write(name, text);
    };
    std::fs::create_dir_all(place.path("out")).unwrap();
    write("n/src/node.js", "");
    for (manifest, code, message) in [
        ("{", 3, "n/package.json: EOF while parsing"),
        ("[]", 3, "n/package.json: it needs a text `name`"),
        (r#"{"name": "n", "version": 1, "main": "src/node.js"}"#, 3, "it needs a text `version`"),
        (r#"{"name": "n", "version": "0.1.0"}"#, 3, "it needs a text `main`"),
        (
            r#"{"name": "n", "version": "0.1.0", "main": "src/other.js"}"#,
            3,
            "`main` names n/src/other.js, which is no file",
        ),
        (r#"{"name": "n", "version": "1 2", "main": "src/node.js"}"#, 2, "`1 2` cannot be a version"),
        (r#"{"name": "n", "version": "0.1.0", "main": "src/node.js"}"#, 9, "esbuild is not installed for n"),
    ] {
        write("n/package.json", manifest);
        let ran = place.run(&["build", "n", "--out", "out/n.wasm", "--id", "me/n"]);
        assert_eq!(ran.code, code, "{manifest}: {}", ran.shown());
        assert!(ran.stderr.contains(message), "{manifest}: {}", ran.stderr);
        assert_eq!(names(&place, "out"), [""; 0], "{manifest}");
    }
    let missing = place.run(&["build", "n", "--out", "out/n.wasm"]);
    assert!(missing.stderr.contains("in n, type: npm install"), "{}", missing.stderr);
}

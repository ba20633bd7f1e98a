//! Folder paths of a manifest, as texts: nothing here looks at a disk.

/// Resolves a path relative to the absolute folder `base`, `.` and `..` by their text. Unix (`/a/b`) or Windows (`C:\a\b`) is recognized by
/// the beginning of `base` or of an absolute `path`.
pub(super) fn resolve(base: &str, path: &str) -> Result<String, &'static str> {
    if path.is_empty() {
        return Err("the path is empty");
    }
    if path.contains('\0') {
        return Err("a path holds no NUL");
    }
    if path == "~" || path.starts_with("~/") {
        return Err("`~` is not expanded; write the folder out");
    }
    let is_absolute = root(path).is_some();
    let Some((root, separator, start)) = root(if is_absolute { path } else { base }) else {
        return Err("the folder that it is relative to is not absolute");
    };
    let is_separator = |c: char| c == '/' || c == separator;
    let mut parts: Vec<&str> = Vec::new();
    let own = if is_absolute { "" } else { path };
    for part in start.split(is_separator).chain(own.split(is_separator)) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or("the path leads above the root")?;
            }
            part => parts.push(part),
        }
    }
    Ok(format!("{root}{}", parts.join(&separator.to_string())))
}

/// Splits an absolute path into its root, its separator, and the rest.
fn root(path: &str) -> Option<(String, char, &str)> {
    if let Some(below) = path.strip_prefix('/') {
        return Some(("/".to_owned(), '/', below));
    }
    let drive =
        path.get(..2).filter(|start| start.as_bytes()[0].is_ascii_alphabetic() && start.ends_with(':'))?;
    let below = path.get(2..)?.strip_prefix(['\\', '/'])?;
    Some((format!("{}\\", drive.to_ascii_uppercase()), '\\', below))
}

/// Checks whether `path` is `folder` or is below it; both as [`resolve`] returns them.
pub(super) fn is_within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || folder.ends_with(['/', '\\']) || rest.starts_with(['/', '\\']))
}

/// Checks the path of a mount inside a component: absolute, with `/`, without `.`, `..` and empty parts.
pub(super) fn guest(path: &str) -> Result<String, &'static str> {
    let Some(below) = path.strip_prefix('/') else {
        return Err("a path inside the component starts with `/`");
    };
    let below = below.strip_suffix('/').unwrap_or(below);
    if below.chars().any(|c| c.is_control() || c == '\\') {
        return Err("a path inside the component has no control characters and no `\\`");
    }
    if !below.is_empty() && below.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("a path inside the component has no `.`, `..` and empty parts");
    }
    Ok(format!("/{below}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_are_joined_as_texts() {
        for (base, path, expected) in [
            ("/home/u/p", ".", "/home/u/p"),
            ("/home/u/p/", "./src//x/", "/home/u/p/src/x"),
            ("/home/u/p", "../q", "/home/u/q"),
            ("/home/u/p", "/data/./x", "/data/x"),
            ("/", ".", "/"),
            ("/a", "..", "/"),
            (r"C:\u\p", r"src\x", r"C:\u\p\src\x"),
            (r"C:\u\p", "src/x", r"C:\u\p\src\x"),
            (r"C:\u\p", r"d:\y", r"D:\y"),
            ("/a", r"b\c", r"/a/b\c"),
        ] {
            assert_eq!(resolve(base, path).as_deref(), Ok(expected), "{base} {path}");
        }
        for (base, path) in
            [("/a", "../.."), ("a", "b"), ("/a", ""), ("/a", "~/x"), ("/a", "x\0"), ("/a", "/..")]
        {
            assert!(resolve(base, path).is_err(), "{base} {path:?}");
        }
    }

    #[test]
    fn guest_paths() {
        assert_eq!(guest("/src/").as_deref(), Ok("/src"));
        assert_eq!(guest("/").as_deref(), Ok("/"));
        for path in ["", "src", "/../x", "/a//b", "/./a", "/a\n", r"/a\b"] {
            assert!(guest(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn containment_goes_by_whole_parts() {
        assert!(is_within("/a/b", "/a") && is_within("/a", "/a") && is_within("/a", "/"));
        assert!(!is_within("/ab", "/a") && !is_within("/", "/a"));
        assert!(is_within(r"C:\a", r"C:\") && is_within(r"C:\a\b", r"C:\a"));
    }

    proptest! {
        #[test]
        fn resolving_twice_changes_nothing(base in "/[ab/.]{0,8}", path in "[ab/.]{1,8}") {
            if let Ok(once) = resolve(&base, &path) {
                prop_assert_eq!(resolve("/x", &once), Ok(once.clone()));
                prop_assert!(!once.contains("//") && !once.contains("/./") && !once.contains("/../"));
            }
        }
    }
}

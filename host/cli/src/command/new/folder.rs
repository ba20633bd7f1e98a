//! A new folder with its files, which is created whole or not at all.

use std::fs;
use std::path::Path;

use graph_core::diagnostic::shell_path;
use graph_runtime::error::{Error, Result};

/// Checks a name for a folder, the last segment of an item id, and a crate.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let fits = name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'));
    if fits {
        return Ok(());
    }
    Err("a name starts with a lower-case letter and has lower-case letters, digits, `-` and `_`, at most 64"
        .to_owned())
}

/// Quotes a path for a shell.
pub(super) fn typed(path: &Path) -> String {
    shell_path(&path.display().to_string())
}

/// Creates the folder with these files, by path inside it. An existing folder is never changed.
pub(super) fn make(folder: &Path, files: &[(&str, String)]) -> Result<()> {
    if folder.symlink_metadata().is_ok() {
        return Err(Error::usage(format!("{} exists already, and was left unchanged", folder.display()))
            .help("choose another name, or another place with --dir"));
    }
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |error: std::io::Error| Error::write("the new folder", &path, &error)
    };
    fs::create_dir_all(parent).map_err(failed(parent))?;
    let draft = tempfile::Builder::new().prefix(".new-").tempdir_in(parent).map_err(failed(parent))?;
    // The name of the draft would mean nothing to the user.
    let failed = |_: &Path| failed(folder);
    for (name, text) in files {
        let path = draft.path().join(name);
        if let Some(around) = path.parent() {
            fs::create_dir_all(around).map_err(failed(around))?;
        }
        fs::write(&path, text).map_err(failed(&path))?;
    }
    fs::rename(draft.path(), folder).map_err(failed(folder))?;
    // The draft was renamed: nothing is left to be removed.
    let _ = draft.keep();
    // A temporary folder is private; a project need not be.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).map_err(failed(folder))?;
    }
    Ok(())
}

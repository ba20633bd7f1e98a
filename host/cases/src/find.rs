//! Search for the cases below a path.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use graph_runtime::error::{Error, Result};

/// Ending of the file name of a case.
pub const SUFFIX: &str = ".case.yaml";

/// Returns every case below each path, in the order of the paths and then of file names. A path of a file is a case,
/// whatever its name. A folder without cases is an error: a test without cases must not pass.
pub fn cases(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        let kind = fs::metadata(path).map_err(|error| Error::read("the path", path, &error))?;
        if kind.is_dir() {
            let before = found.len();
            below(path, &mut found).map_err(|error| Error::read("the folder", path, &error))?;
            if found.len() == before {
                let message = format!("there is no file that ends in `{SUFFIX}` below {}", path.display());
                return Err(Error::not_found(message));
            }
        } else if !found.contains(path) {
            found.push(path.clone());
        }
    }
    Ok(found)
}

fn below(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_unstable_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // Links to folders are not followed: they could form a cycle.
        if entry.file_type()?.is_dir() {
            below(&path, found)?;
        } else if path.to_string_lossy().ends_with(SUFFIX) && path.is_file() && !found.contains(&path) {
            found.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn cases_are_found_in_order_of_names() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("b/c")).unwrap();
        for name in ["z.case.yaml", "b/c/x.case.yaml", "b/a.case.yaml", "b/graph.yaml", "a.case.yaml"] {
            fs::write(root.join(name), "").unwrap();
        }
        let found = cases(&[root.join("b"), root.to_owned()]).unwrap();
        let names: Vec<_> =
            found.iter().map(|path| path.strip_prefix(root).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["b/a.case.yaml", "b/c/x.case.yaml", "a.case.yaml", "z.case.yaml"]);
        assert_eq!(cases(&[root.join("b/graph.yaml")]).unwrap().len(), 1);
        fs::create_dir(root.join("empty")).unwrap();
        assert_eq!(cases(&[root.join("empty")]).unwrap_err().code(), "not_found");
        assert_eq!(cases(&[root.join("nowhere")]).unwrap_err().code(), "not_found");
    }
}

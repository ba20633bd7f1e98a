//! The registries that this user has named in commands, in the user's space. Any other is named by a file, such as the
//! lockfile of a project, which a stranger may have written: it is not contacted on this machine or in its networks.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _, Write as _};

use graph_registry::http::REGISTRY_VARIABLE;
use graph_registry::reference::{Location, Reference};
use graph_store::held::{FilePlace, Opening};

use crate::error::Result;
use crate::project::user_home::{Home, create_private_folder};

/// Limit of the list, in bytes, for reading and for adding.
const MOST_BYTES: u64 = 64 << 10;

/// Returns the registries that the user has named: before, by the references `typed`, and as the one that the
/// environment has credentials for. New ones are remembered; if that fails, the user has to name them again.
pub(crate) fn named(home: &Home, typed: &[Reference]) -> BTreeSet<String> {
    let mut all = read(home).unwrap_or_default();
    for reference in typed {
        if let Location::Registry { host, .. } = &reference.place
            && all.insert(host.clone())
        {
            let _ = add(home, host);
        }
    }
    all.extend(std::env::var(REGISTRY_VARIABLE).ok().map(|host| host.to_ascii_lowercase()));
    all
}

fn read(home: &Home) -> io::Result<BTreeSet<String>> {
    let mut text = String::new();
    File::open(home.registries())?.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Adds a line. Concurrent commands may add the same line twice.
fn add(home: &Home, host: &str) -> Result<(), io::Error> {
    create_private_folder(home.root()).map_err(|_| io::ErrorKind::PermissionDenied)?;
    let mut file = FilePlace::at(&home.registries()).open(Opening::Append)?;
    if file.metadata()?.len() < MOST_BYTES {
        file.write_all(format!("{host}\n").as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_was_named_stays_named_with_its_port() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("space"));
        let typed = |texts: &[&str]| {
            let typed: Vec<Reference> = texts.iter().map(|text| text.parse().unwrap()).collect();
            named(&home, &typed)
        };
        assert!(typed(&[]).is_empty());
        let two = typed(&["oci://127.0.0.1:5000/a:1", "oci://LOCALHOST", "oci-layout:out:a"]);
        assert_eq!(two, ["127.0.0.1:5000".to_owned(), "localhost".to_owned()].into());
        assert_eq!(typed(&["oci://localhost/b"]), two);
        assert_eq!(typed(&[]), two);
        assert_eq!(std::fs::read_to_string(home.registries()).unwrap(), "127.0.0.1:5000\nlocalhost\n");
        // A registry that cannot be remembered counts in this command.
        std::fs::write(home.registries(), vec![b'x'; 1 << 20]).unwrap();
        assert!(typed(&["oci://10.0.0.1/a"]).contains("10.0.0.1"));
        assert_eq!(std::fs::metadata(home.registries()).unwrap().len(), 1 << 20);
    }
}

//! Names of files. An id is untrusted text: two ids can differ only in case, and an id can be the name of a device or
//! too long for a file. A file name therefore has a readable part, and a part of the digest of everything in which two
//! pages can differ.

use graph_core::digest::{Digest, DomainHasher};

use crate::model::Kind;

/// Maximum number of characters of the readable part.
const READABLE: usize = 60;
/// Number of hexadecimal digits of the digest.
const DIGITS: usize = 16;

/// Returns the path of an item's page. `place` is the repository or directory of the item.
pub fn item_page(place: &str, kind: Kind, id: &str) -> String {
    format!("items/{}.html", name(id, &["item", place, kind.as_str(), id]))
}

/// Returns the path of a version's page. `manifest` is the digest of its OCI manifest.
pub fn version_page(item_page: &str, id: &str, version: &str, manifest: &Digest) -> String {
    let readable = format!("{id} {version}");
    format!("items/{}.html", name(&readable, &["version", item_page, version, &manifest.to_string()]))
}

/// Returns the path of a graph's picture. `version_page` is the page that shows it.
pub fn picture_file(version_page: &str) -> String {
    format!("pictures/{}.svg", name("", &["picture", version_page]))
}

fn name(readable: &str, parts: &[&str]) -> String {
    let hasher = DomainHasher::new("graph-host/catalogue/page/v1");
    let digest = parts.iter().fold(hasher, |hasher, part| hasher.field(part.as_bytes())).finish().hex();
    let mut name = String::with_capacity(READABLE + DIGITS + 1);
    for c in readable.chars().take(READABLE) {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => name.push(c),
            _ if name.ends_with('-') || name.is_empty() => {}
            _ => name.push('-'),
        }
    }
    if !name.is_empty() && !name.ends_with('-') {
        name.push('-');
    }
    name + &digest[..DIGITS]
}

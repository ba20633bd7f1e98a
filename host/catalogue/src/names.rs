//! The names of files. An id is a stranger's text, which may differ from another one only in case, be the name of a device, or be longer than
//! any name of a file: a name is a readable part, and a part of the digest of everything in which two pages can differ.

use graph_core::digest::{Digest, DomainHasher};

use crate::model::Kind;

/// The most characters of the readable part.
const READABLE: usize = 60;
/// The hexadecimal digits of the digest.
const DIGITS: usize = 16;

/// The page of an item, by where it is, its kind and its id.
pub fn item_page(place: &str, kind: Kind, id: &str) -> String {
    format!("items/{}.html", name(id, &["item", place, kind.as_str(), id]))
}

/// The page of a version, by the page of its item, the version and the digest of its manifest.
pub fn version_page(item_page: &str, id: &str, version: &str, manifest: &Digest) -> String {
    let readable = format!("{id} {version}");
    format!("items/{}.html", name(&readable, &["version", item_page, version, &manifest.to_string()]))
}

/// The picture of a graph, by the page that it is on.
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

//! Page of an item, with all its versions.

use maud::html;

use super::parts::{badge, block, number, page, signers, table, text, yanked};
use crate::model::{Catalogue, Item};

/// Returns the page of an item.
pub(crate) fn item(catalogue: &Catalogue, item: &Item) -> String {
    let newest = item.newest();
    let rows = html! {
        @for version in &item.versions {
            tr {
                td { a href={ "../" (version.page) } { (number(version)) } }
                td { (badge(&version.trust)) (yanked(version)) }
                td { (signers(&version.trust)) }
                td { code { (version.manifest.to_string()) } }
            }
        }
    };
    let content = html! {
        header {
            nav aria-label="Catalogue" { a href="../index.html" { "Catalogue of " (text(&catalogue.place)) } }
            h1 { (text(&item.id)) }
            p.facts { span { (item.kind.as_str()) } " " span { "in " code { (text(&item.place)) } } }
        }
        main {
            @if let Some(newest) = newest {
                section aria-labelledby="newest-title" {
                    h2 #newest-title { "Newest version" }
                    p {
                        a href={ "../" (newest.page) } { (text(&item.id)) " " (number(newest)) } " " (badge(&newest.trust)) (yanked(newest))
                    }
                    @if let Some(description) = &newest.description {
                        @if !newest.trust.is_trusted() { p.quiet { "The publisher states, and nothing was verified:" } }
                        (block(description))
                    }
                }
            }
            section aria-labelledby="versions-title" {
                h2 #versions-title { "Versions" }
                (table("Versions", &["Version", "Trust", "Signed by", "Manifest"], &rows))
            }
        }
    };
    page(&format!("{} – {}", item.id, catalogue.place), "../", false, &content)
}

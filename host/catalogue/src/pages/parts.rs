//! Parts that several pages share.

use maud::{DOCTYPE, Markup, html};

use crate::model::{Trust, Version};
use crate::text::{Schema, Text};

/// Content security policy of a page: no inline scripts or styles, and no requests to other hosts.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'";

/// Returns a page. `up` is the path from the page to the catalogue's folder: empty or `../`.
pub(super) fn page(title: &str, up: &str, script: bool, content: &Markup) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (title) }
                link rel="icon" href="data:,";
                link rel="stylesheet" href={ (up) "assets/catalogue.css" };
                @if script {
                    script src={ (up) "assets/catalogue.js" } defer {}
                }
            }
            body { (content) }
        }
    };
    markup.into_string()
}

/// Returns an untrusted text of one line.
pub(super) fn text(text: &Text) -> Markup {
    html! { bdi { (text.as_str()) } }
}

/// Returns an untrusted text of several lines.
pub(super) fn block(text: &Text) -> Markup {
    html! { p.block dir="auto" { (text.as_str()) } }
}

/// Returns a source in a region that can be scrolled with the keyboard.
pub(super) fn source(label: &str, source: &Text) -> Markup {
    html! { pre tabindex="0" role="region" aria-label=(label) { (source.as_str()) } }
}

/// Returns a schema in a region that can be scrolled with the keyboard.
pub(super) fn schema(label: &str, schema: &Schema) -> Markup {
    source(label, &schema.shown())
}

/// Returns a table in a region that can be scrolled with the keyboard.
pub(super) fn table(label: &str, heads: &[&str], rows: &Markup) -> Markup {
    html! {
        div.wide role="region" aria-label={ "Table: " (label) } tabindex="0" {
            table {
                thead { tr { @for head in heads { th scope="col" { (head) } } } }
                tbody { (rows) }
            }
        }
    }
}

/// Returns a badge for the trust in a version. It has a word, so that it does not depend on colours.
pub(super) fn badge(trust: &Trust) -> Markup {
    match trust {
        Trust::Trusted { .. } => html! { span.badge.good { "trusted" } },
        Trust::NotVerified { .. } => html! { span.badge.bad { "not verified" } },
    }
}

/// Returns a badge if a version is yanked.
pub(super) fn yanked(version: &Version) -> Markup {
    html! { @if version.yanked.is_some() { " " span.badge.bad { "yanked" } } }
}

/// Returns the names of the keys that have signed a version.
pub(super) fn signers(trust: &Trust) -> Markup {
    match trust {
        Trust::Trusted { signers, .. } => html! {
            @for (at, signer) in signers.iter().enumerate() {
                @if at > 0 { ", " }
                (text(&signer.name))
            }
        },
        Trust::NotVerified { .. } => html! { "no trusted key" },
    }
}

/// Returns the version number, or `no version` if the publisher states none.
pub(super) fn number(version: &Version) -> Markup {
    if version.version.is_empty() {
        html! { "no version" }
    } else {
        text(&version.version)
    }
}

/// Returns a count with its noun.
pub(super) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

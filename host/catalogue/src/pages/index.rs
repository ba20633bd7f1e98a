//! Page with the list of all items, which a script filters.

use maud::{Markup, html};

use super::parts::{badge, counted, number, page, signers, text, yanked};
use crate::model::{Catalogue, Content, Item, Kind};
use crate::text::Text;

/// Maximum number of characters of an item that the search reads.
const SEARCHED: usize = 4000;

/// Returns the page of all items.
pub(crate) fn index(catalogue: &Catalogue) -> String {
    let title = format!("Catalogue of {}", catalogue.place);
    let content = html! {
        header {
            h1 { "Catalogue of " (text(&catalogue.place)) }
            p.quiet {
                (counted(catalogue.items.len(), "item")) ", " (counted(catalogue.versions().count(), "version")) ". "
                "Signatures were verified with the trust store of the user who made this catalogue: what is trusted there is not trusted elsewhere. "
                "The same data as JSON: " a href="catalogue.json" { "catalogue.json" } "."
            }
        }
        main {
            @for reason in &catalogue.cut_off {
                p.warning { strong { "This catalogue is not complete. " } (text(reason)) }
            }
            (search())
            section aria-labelledby="items-title" {
                h2 #items-title { "Items" }
                @if catalogue.items.is_empty() { p { "There are no items." } }
                ul #items { @for item in &catalogue.items { (row(item)) } }
            }
            @if !catalogue.unreadable.is_empty() {
                section aria-labelledby="unreadable-title" {
                    h2 #unreadable-title { "Not readable" }
                    p { "These artifacts were listed, and could not be read." }
                    ul {
                        @for one in &catalogue.unreadable {
                            li { code { (text(&one.reference)) } ": " (text(&one.reason)) }
                        }
                    }
                }
            }
        }
    };
    page(&title, "", true, &content)
}

/// Returns the search form. It is hidden until the script shows it.
fn search() -> Markup {
    html! {
        form #search role="search" hidden {
            label for="query" { "Search in ids, descriptions, functions and interfaces" }
            input #query type="search" autocomplete="off" spellcheck="false" maxlength="200" aria-controls="items";
            div.row {
                label for="kind" { "Kind" }
                select #kind {
                    option value="" { "all" }
                    @for kind in Kind::ALL { option value=(kind.as_str()) { (kind.as_str()) } }
                }
                label.check { input #trusted type="checkbox"; " only trusted" }
            }
            p #found role="status" {}
        }
    }
}

fn row(item: &Item) -> Markup {
    let Some(newest) = item.newest() else { return html! {} };
    html! {
        li data-kind=(item.kind.as_str()) data-trusted=(newest.trust.is_trusted().to_string()) data-text=(searched(item)) {
            h3 { a href=(item.page) { (text(&item.id)) } }
            p.facts {
                (badge(&newest.trust)) (yanked(newest)) " " span { (item.kind.as_str()) } " "
                span { (number(newest)) }
                @if item.versions.len() > 1 { " " span { (counted(item.versions.len(), "version")) } }
                @if newest.trust.is_trusted() { " " span { "signed by " (signers(&newest.trust)) } }
            }
            @if let Some(description) = &newest.description {
                @if !newest.trust.is_trusted() { p.quiet { "The publisher states:" } }
                p.summary dir="auto" { (description.as_str()) }
            }
        }
    }
}

/// Returns the words of an item that the search compares, in lower case.
fn searched(item: &Item) -> String {
    let mut words = vec![item.id.as_str(), item.kind.as_str()];
    for version in &item.versions {
        words.extend(version.description.as_ref().map(Text::as_str));
        match &version.content {
            Some(Content::Component(component)) => {
                words.extend(
                    component.callables.iter().flat_map(|one| [one.item.as_str(), one.summary.as_str()]),
                );
                words.extend(component.asks.interfaces.iter().map(Text::as_str));
            }
            Some(Content::Graph(graph)) => {
                words.extend(graph.nodes.iter().filter_map(|node| Some(node.item.as_ref()?.as_str())));
                words.extend(graph.uses.iter().map(|used| used.id.as_str()));
            }
            Some(Content::Text(item)) => words.extend(item.title.as_ref().map(Text::as_str)),
            None => {}
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    words.retain(|word| seen.insert(*word));
    words.join(" ").to_lowercase().chars().take(SEARCHED).collect()
}

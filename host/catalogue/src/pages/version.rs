//! Page of a version of an item.

use graph_core::capability::CapabilityKind;
use graph_core::limits::TaskLimits;
use maud::{Markup, html};

use super::parts::{badge, block, number, page, schema, source, table, text, yanked};
use crate::model::{
    Asks, Callable, Cases, Catalogue, Component, Content, Graph, Item, Picture, TextItem, Trust, Version, Wit,
};
use crate::text::Text;
use crate::usage::Usage;

/// Returns the page of a version.
pub(crate) fn version(catalogue: &Catalogue, item: &Item, version: &Version) -> String {
    let content = html! {
        header {
            nav aria-label="Catalogue" {
                a href="../index.html" { "Catalogue of " (text(&catalogue.place)) } " / "
                a href={ "../" (item.page) } { (text(&item.id)) }
            }
            h1 { (text(&item.id)) " " (number(version)) }
            p.facts { (badge(&version.trust)) (yanked(version)) " " span { (item.kind.as_str()) } }
            @if let Some(description) = &version.description {
                @if !version.trust.is_trusted() { p.quiet { "The publisher states, and nothing was verified:" } }
                (block(description))
            }
        }
        main {
            @if let Some(yank) = &version.yanked {
                p.warning {
                    strong { "Yanked. " } (text(&yank.reason))
                    " (signed by " (text(&yank.signer)) ", " (yank.at.to_string()) ")"
                }
            }
            (trust(version))
            @if let Some(usage) = &version.usage { (commands(usage)) }
            @match &version.content {
                Some(Content::Component(component)) => (of_component(component)),
                Some(Content::Graph(graph)) => (of_graph(graph)),
                Some(Content::Text(item)) => (of_text(item)),
                None => {}
            }
            @if let Some(capabilities) = &version.capabilities {
                section aria-labelledby="capabilities-title" {
                    h2 #capabilities-title { "Manifest that was published with it" }
                    p.quiet { "What its publisher suggests to grant. Nothing is granted by it." }
                    (source("Manifest", capabilities))
                }
            }
            (cases(&version.cases))
            (versions(item, version))
        }
    };
    let title = format!("{} {} – {}", item.id, version.version, catalogue.place);
    page(&title, "../", false, &content)
}

fn trust(version: &Version) -> Markup {
    html! {
        section aria-labelledby="trust-title" {
            h2 #trust-title { "Trust" }
            @match &version.trust {
                Trust::Trusted { signers, not_after, signed_at } => {
                    p { "Its signature was verified, by " (if signers.len() == 1 { "this key" } else { "these keys" }) " of the trust store:" }
                    dl {
                        @for signer in signers {
                            dt { (text(&signer.name)) }
                            dd { "key id " code { (signer.key_id.to_string()) } }
                            dd { "public key " code { (signer.public_key) } }
                        }
                    }
                    p.quiet { "Compare the public key with one that you had another way: the server of this page could name another key." }
                    @if let Some(time) = signed_at { p { "Signed at " (time.to_string()) ", as the signer states." } }
                    @if let Some(time) = not_after { p { "Counts until " (time.to_string()) "." } }
                }
                Trust::NotVerified { reason, key_ids } => {
                    p.warning { strong { "Not verified. " } (text(reason)) }
                    @if !key_ids.is_empty() {
                        p { "Its signatures name these keys. They are not in the trust store; get a public key from its owner, and compare its id." }
                        ul { @for id in key_ids { li { code { (text(id)) } } } }
                    }
                }
            }
            dl {
                @if let Some(digest) = &version.digest { dt { "Digest" } dd { code { (digest.to_string()) } } }
                dt { "Manifest" } dd { code { (version.manifest.to_string()) } }
                dt { "References" }
                @for reference in &version.references { dd { code { (text(reference)) } } }
                @if let Some(link) = &version.source {
                    dt { "Sources" }
                    dd { a href=(link.as_str()) rel="noopener noreferrer nofollow" { (link.as_str()) } " (stated by the publisher, and not verified)" }
                }
            }
        }
    }
}

fn commands(usage: &Usage) -> Markup {
    html! {
        section aria-labelledby="usage-title" {
            h2 #usage-title { "How to use it" }
            @for note in &usage.notes { p { (text(note)) } }
            ol.commands {
                @for (command, number) in usage.commands.iter().zip(1..) {
                    li { (text(&command.about)) (source(&format!("Command {number}"), &command.line)) }
                }
            }
            @if let Some(graph) = &usage.graph {
                h3 { "graph.yaml" }
                (source("graph.yaml", graph))
            }
        }
    }
}

fn of_component(component: &Component) -> Markup {
    html! {
        (asks(&component.asks))
        section aria-labelledby="calls-title" {
            h2 #calls-title { "What nodes can call" }
            p { "World " code { (text(&component.world)) } ", " (component.bytes) " bytes." }
            @for callable in &component.callables { (of_callable(callable)) }
            @if component.more_callables > 0 { p { (component.more_callables) " more functions are not shown." } }
        }
        section aria-labelledby="wit-title" {
            h2 #wit-title { "WIT" }
            @match &component.wit {
                Wit::Text(wit) => {
                    p.quiet { "Read from the types of the component." }
                    (source("WIT of the component", wit))
                }
                Wit::Missing(reason) => p { "It is not shown: " (text(reason)) "." },
            }
        }
    }
}

fn of_callable(callable: &Callable) -> Markup {
    let name = callable.item.as_str();
    html! {
        article {
            h3 { code { (text(&callable.item)) } }
            @if !callable.summary.is_empty() { (block(&callable.summary)) }
            details {
                summary { "Params" }
                (schema(&format!("Params of {name}"), &callable.params))
            }
            details {
                summary { "Result" }
                (schema(&format!("Result of {name}"), &callable.result))
            }
        }
    }
}

fn asks(asks: &Asks) -> Markup {
    let kinds = |kinds: &std::collections::BTreeSet<CapabilityKind>| {
        kinds.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ")
    };
    html! {
        section aria-labelledby="asks-title" {
            h2 #asks-title { "What it asks for" }
            dl {
                dt { "Capabilities" }
                dd { "at most " (kinds(&asks.ceiling)) ", by its signed statement" }
                @if asks.at_most != asks.ceiling {
                    dd { "at most " (kinds(&asks.at_most)) " here, by the keys that signed it" }
                }
                dt { "Interfaces" }
                @if asks.interfaces.is_empty() { dd { "none" } }
                @for interface in &asks.interfaces { dd { code { (text(interface)) } } }
                @if !asks.reasons.is_empty() {
                    dt { "Reasons that its author gives" }
                    @for wanted in &asks.reasons { dd { code { (text(&wanted.interface)) } ": " (text(&wanted.why)) } }
                }
            }
            @if let Some(limits) = &asks.limits { (of_limits("Limits that its author states", limits)) }
            @if let Some(limits) = &asks.most { (of_limits("Limits of its ceiling", limits)) }
        }
    }
}

fn of_limits(label: &str, limits: &TaskLimits) -> Markup {
    let rows = [
        ("fuel", limits.fuel.to_string()),
        ("memory", format!("{} bytes", limits.memory)),
        ("timeout", format!("{} ms", limits.timeout.as_millis())),
        ("output", format!("{} bytes", limits.output)),
        ("log", format!("{} bytes", limits.log)),
        ("calls", limits.calls.to_string()),
        ("bytes of calls", format!("{} bytes", limits.bytes)),
        ("written", format!("{} bytes", limits.written)),
        ("requests", limits.requests.to_string()),
        ("request body", format!("{} bytes", limits.request_body)),
        ("response body", format!("{} bytes", limits.response_body)),
    ];
    let rows = html! { @for (name, value) in &rows { tr { td { (name) } td { (value) } } } };
    html! { h3 { (label) } (table(label, &["Limit of an attempt", "Most"], &rows)) }
}

fn of_graph(graph: &Graph) -> Markup {
    let rows = html! {
        @for node in &graph.nodes {
            tr { td { (text(&node.name)) } td { @if let Some(item) = &node.item { code { (text(item)) } } } }
        }
    };
    html! {
        section aria-labelledby="graph-title" {
            h2 #graph-title { "Graph" }
            @match &graph.picture {
                Picture::Drawn { file, .. } => {
                    div.picture role="region" aria-label="Picture of the graph" tabindex="0" {
                        img src={ "../" (file) } alt="The nodes and edges of the graph. The nodes are in the table below.";
                    }
                }
                Picture::Missing(reason) => p { "It has no picture: " (text(reason)) },
            }
            (table("Nodes", &["Node", "Item"], &rows))
            @if graph.more_nodes > 0 { p { (graph.more_nodes) " more nodes are not shown." } }
        }
        section aria-labelledby="uses-title" {
            h2 #uses-title { "What it asks for" }
            p { "What it may use is up to the manifest of the user who runs it. " @if graph.uses.is_empty() { "It brings no items along." } }
            @if !graph.uses.is_empty() {
                p { "It brings these items along:" }
                ul {
                    @for used in &graph.uses {
                        li {
                            (used.kind.as_str()) " "
                            @if let Some(page) = &used.page { a href={ "../" (page) } { (text(&used.id)) " " (text(&used.version)) } }
                            @else { (text(&used.id)) " " (text(&used.version)) " (not in this catalogue)" }
                        }
                    }
                }
            }
            @if let Some(inputs) = &graph.inputs { h3 { "Inputs" } (schema("Schema of the inputs", inputs)) }
        }
    }
}

fn of_text(item: &TextItem) -> Markup {
    html! {
        section aria-labelledby="text-title" {
            h2 #text-title { "Text" }
            @if let Some(title) = &item.title { p { (text(title)) } }
            p { (item.bytes) " bytes." }
            @if let Some(inputs) = &item.inputs { h3 { "Inputs" } (schema("Schema of the inputs", inputs)) }
        }
    }
}

fn cases(cases: &Cases) -> Markup {
    let content = match cases {
        Cases::None => return html! {},
        Cases::NotRun { reason } => html! { p { "They were not run: " (text(reason)) } },
        Cases::Ran { results } => {
            let passed = results.iter().filter(|case| case.passed).count();
            let optional = |text: &Option<Text>| text.as_ref().map(super::parts::text);
            let rows = html! {
                @for case in results {
                    tr {
                        td { (text(&case.name)) }
                        td { @if case.passed { span.badge.good { "passed" } } @else { span.badge.bad { "failed" } } }
                        td { @if let Some(about) = optional(&case.about) { (about) } }
                        td { @if let Some(problem) = optional(&case.problem) { (problem) } }
                    }
                }
            };
            html! {
                p {
                    (passed) " of " (results.len()) " passed. They were run when this catalogue was made, with a double in place of each item: "
                    "nothing of the items themselves was executed."
                }
                (table("Cases", &["Case", "Result", "About", "Problem"], &rows))
            }
        }
    };
    html! {
        section aria-labelledby="cases-title" {
            h2 #cases-title { "Cases" }
            (content)
        }
    }
}

fn versions(item: &Item, shown: &Version) -> Markup {
    html! {
        section aria-labelledby="versions-title" {
            h2 #versions-title { "Versions" }
            ul {
                @for version in &item.versions {
                    li {
                        @if version.page == shown.page { (number(version)) " (this one)" }
                        @else { a href={ "../" (version.page) } { (number(version)) } }
                        " " (badge(&version.trust)) (yanked(version))
                    }
                }
            }
        }
    }
}

//! Reports a plan: its refusals, its notices, and its JSON document.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use graph_core::trust::{ComponentStanding, TextStanding};
use serde_json::{Value, json};

use super::{Plan, PlanProblem, PlannedId, PlannedNode};
use crate::error::Kind;
use crate::error::{EmbeddedPlace, Error};
use crate::items::graph_file::standing_json;
use crate::plan::admission::Admitted;
use crate::remedy::{ManifestSuggestion, Remedy, RemedyWords};
use graph_core::diagnostic::{block, printable};

impl Plan {
    /// The nodes that use each component, by item id.
    pub fn users(&self) -> BTreeMap<String, Vec<String>> {
        let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for node in &self.nodes {
            if let PlannedId::Literal(id) = &node.item {
                users.entry(id.clone()).or_default().push(node.name.clone());
            }
        }
        users
    }

    /// The functions of the program that nodes and hooks name.
    pub fn functions(&self) -> BTreeSet<String> {
        let functions = self.all().filter(|node| node.is_function);
        let ids = functions.filter_map(|node| match &node.item {
            PlannedId::Literal(id) => Some(id.clone()),
            PlannedId::Template(_) => None,
        });
        ids.collect()
    }

    /// Nodes and hooks whose dispatch the manifest does not permit.
    pub(crate) fn not_permitted(&self) -> impl Iterator<Item = &PlannedNode> {
        self.all().filter(|node| node.dispatch == Some(false))
    }

    /// Returns the nodes, then the hooks.
    fn all(&self) -> impl Iterator<Item = &PlannedNode> {
        self.nodes.iter().chain(&self.hooks)
    }

    /// Returns the warnings of nodes and hooks that are permitted.
    pub fn warnings(&self) -> Vec<String> {
        let dispatched = self.all().filter(|node| node.dispatch != Some(false));
        let warnings = dispatched.flat_map(|node| {
            node.warnings.iter().map(move |warning| format!("{}: {warning}", node.subject()))
        });
        warnings.collect()
    }

    /// Returns the dispatches that will be denied, all warnings, and the text items without a signature.
    pub fn notices(&self) -> Vec<String> {
        let denied = self.not_permitted().map(|node| {
            let capability = node.capability.as_deref().unwrap_or_default();
            if node.left_out {
                return format!("{} will be denied `{capability}`: {LEFT_OUT}", node.subject());
            }
            format!("{} will be denied: the manifest does not permit `{capability}`", node.subject())
        });
        let texts = self.texts.values().filter_map(|text| text.as_ref().ok());
        let unsigned = texts.filter(|text| !matches!(text.standing, TextStanding::Signed { .. }));
        let unsigned = unsigned.filter(|text| text.file.is_some()).map(|text| {
            format!("the {} `{}` is not signed: its author is not known", text.item_type.as_str(), text.id)
        });
        let items = self.items.values().filter_map(|item| item.as_ref().ok()).map(|item| &item.precedence);
        let texts = self.texts.values().filter_map(|text| text.as_ref().ok()).map(|text| &text.precedence);
        let warnings = items.chain(texts).flat_map(|precedence| precedence.warnings.iter().cloned());
        denied.chain(self.warnings()).chain(unsigned).chain(warnings).collect()
    }

    /// Returns the problems that keep the run from starting: those of all nodes that may be dispatched. If no node may
    /// be dispatched at all, these are the missing permissions and all further problems.
    pub fn refusals(&self) -> Vec<(&PlannedNode, PlanProblem)> {
        let nothing_could_run =
            !self.nodes.is_empty() && self.nodes.iter().all(|node| node.dispatch == Some(false));
        if nothing_could_run {
            return self.missing();
        }
        let allowed = self.all().filter(|node| node.dispatch != Some(false));
        let refusals: Vec<_> = allowed
            .flat_map(|node| node.problems.iter().map(move |problem| (node, problem.clone())))
            .collect();
        if refusals.is_empty() {
            return refusals;
        }
        // The run is refused anyway, so later refusals are reported as well.
        let denied = self.not_permitted().flat_map(|node| {
            let problems = node.problems.iter().cloned();
            std::iter::once(not_permitted(node)).chain(problems).map(move |problem| (node, problem))
        });
        refusals.into_iter().chain(denied).collect()
    }

    /// Returns everything that is missing, for `--plan`.
    pub fn missing(&self) -> Vec<(&PlannedNode, PlanProblem)> {
        let problems =
            self.all().flat_map(|node| node.problems.iter().map(move |problem| (node, problem.clone())));
        self.not_permitted().map(|node| (node, not_permitted(node))).chain(problems).collect()
    }

    /// Makes the refusal of a run, with everything that is missing and a remedy; `suggestion` is of a manifest that grants
    /// what is missing.
    pub fn refusal(&self, suggestion: ManifestSuggestion) -> Option<Error> {
        let refusals = self.refusals();
        let (_, first) = refusals.first()?;
        let mut message = "the run was refused before it started".to_owned();
        let mut groups: Vec<(&PlanProblem, bool, Vec<String>)> = Vec::new();
        let mut places = BTreeMap::new();
        for (node, problem) in &refusals {
            let name = format!("`{}`", printable(&node.name));
            let of_hook = node.hook.is_some();
            let at = *places.entry((problem.message.as_str(), of_hook)).or_insert_with(|| {
                groups.push((problem, of_hook, Vec::new()));
                groups.len() - 1
            });
            if let Some((_, _, names)) = groups.get_mut(at) {
                names.push(name);
            }
        }
        let (mut seen, mut embedded) = (BTreeSet::new(), Vec::<(usize, &Remedy)>::new());
        for (problem, of_hook, names) in &groups {
            let kind = if *of_hook { "hook" } else { "node" };
            let plural = if names.len() == 1 { "" } else { "s" };
            let _ =
                write!(message, "\n- {kind}{plural} {}: {}", names.join(", "), block(&problem.message, "  "));
            match (&problem.manifest_lines, &problem.help) {
                (Some(lines), _) if seen.insert(lines) => {
                    for line in lines.trim_end().lines() {
                        let _ = write!(message, "\n    {line}");
                    }
                }
                (None, Some(help)) if embedded.iter().all(|(_, remedy)| *remedy != help) => {
                    embedded.push((message.len(), help));
                }
                _ => {}
            }
        }
        // A manifest cannot suggest a missing key, nor what a node above leaves out.
        let suggested =
            |problem: &PlanProblem| problem.interface.is_some() || problem.manifest_lines.is_some();
        let denied = refusals.iter().any(|(_, problem)| problem.kind == Kind::Denied && suggested(problem));
        let details: Vec<_> = refusals.iter().map(|(node, problem)| problem.to_json(node, None)).collect();
        let mut error = Error::new(first.kind, first.code, message).details(json!({ "refusals": details }));
        for (at, remedy) in embedded {
            error = error.embed(EmbeddedPlace::Message(at), "\n    ", remedy.clone());
        }
        for (number, (_, problem)) in refusals.iter().enumerate() {
            if let Some(remedy) = &problem.help {
                let place = EmbeddedPlace::Details(format!("/refusals/{number}/help"));
                error = error.embed(place, "", remedy.clone());
            }
        }
        Some(if denied { error.help(Remedy::SuggestManifest(Box::new(suggestion))) } else { error })
    }

    /// Makes the document of a plan; `words` are those of its remedies.
    pub fn to_json(&self, words: RemedyWords) -> Value {
        let items: Vec<_> = self
            .items
            .iter()
            .map(|(id, item)| match item {
                Ok(admitted) => item_json(id, admitted),
                Err(problem) => json!({ "id": id, "error": problem.message }),
            })
            .collect();
        let describe = |node: &PlannedNode| {
            let (item, template) = match &node.item {
                PlannedId::Literal(id) => (Some(id), None),
                PlannedId::Template(text) => (None, Some(text)),
            };
            json!({
                node.kind(): node.name,
                "item": item,
                "template": template,
                "capability": node.capability,
                "dispatch": match node.dispatch {
                    Some(true) => "permitted",
                    Some(false) => "missing",
                    None => "known when it is dispatched",
                },
                "grant": node.grant,
                "is_graph": node.is_graph,
                "unsandboxed": node.is_function,
            })
        };
        let nodes: Vec<_> = self.nodes.iter().map(describe).collect();
        let hooks: Vec<_> = self.hooks.iter().map(describe).collect();
        let missing: Vec<_> = self
            .missing()
            .iter()
            .map(|(node, problem)| problem.to_json(node, problem.help.as_ref().map(words).as_deref()))
            .collect();
        let texts: Vec<_> = self
            .texts
            .iter()
            .map(|((item_type, id), text)| match text {
                Ok(text) => json!({
                    "item_type": item_type,
                    "id": id,
                    "file": text.file.as_ref().map(|file| file.path.display().to_string()),
                    "space": text.space(),
                    "passed_over": text.precedence.passed_over,
                    "hides": text.precedence.hides,
                    "digest": text.digest,
                    "signature": standing_json(&text.standing),
                }),
                Err(problem) => json!({ "item_type": item_type, "id": id, "error": problem.message }),
            })
            .collect();
        json!({ "items": items, "texts": texts, "nodes": nodes, "hooks": hooks, "missing": missing })
    }
}

impl PlanProblem {
    fn to_json(&self, node: &PlannedNode, help: Option<&str>) -> Value {
        json!({
            node.kind(): node.name,
            "code": self.code,
            "message": self.message,
            "interface": self.interface,
            "manifest": self.manifest_lines,
            "help": help,
        })
    }
}

/// Makes the JSON document of a component for programs.
fn item_json(id: &str, admitted: &Admitted) -> Value {
    let verified = &admitted.verified;
    let signer = match verified.standing() {
        ComponentStanding::Signed { key, .. } => json!({ "name": key.name, "key_id": key.id }),
        ComponentStanding::BuiltIn | ComponentStanding::Unsigned => Value::Null,
    };
    json!({
        "id": id,
        "file": admitted.path.display().to_string(),
        "space": admitted.space,
        "passed_over": admitted.precedence.passed_over,
        "hides": admitted.precedence.hides,
        "digest": verified.digest(),
        "version": verified.version(),
        "signer": signer,
        "interfaces": admitted.declared.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// The reason of a denied dispatch that the manifest permits.
const LEFT_OUT: &str = "`capabilities` among the inputs, or of a node above, leave it out";

fn not_permitted(node: &PlannedNode) -> PlanProblem {
    let capability = node.capability.as_deref().unwrap_or_default();
    if node.left_out {
        let message = format!("`{}` is not left: {LEFT_OUT}", printable(capability));
        return Error::denied(message).into();
    }
    PlanProblem {
        kind: Kind::Denied,
        code: "denied",
        message: format!("the manifest does not permit `{}`", printable(capability)),
        help: None,
        interface: None,
        manifest_lines: Some(format!("dispatch: [\"{capability}\"]\n")),
    }
}

//! Names, templates and conditions, and the roots that they may read.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::compat::rye;
use crate::graph::{NodeIndex, RetryPolicy};
use graph_core::condition::Condition;
use graph_core::diagnostic::{Code, Diagnostic, Problems, Span, codes, excerpt, nearest};
use graph_core::id;
use graph_core::id::IdError;
use graph_core::template::{Path, TemplateSyntaxError, ValueTemplate};
use graph_core::work::CompileBudget;
use graph_core::yaml::{Node, Yaml};

/// Shared state for reading all parts of a document.
pub(super) struct DocumentReader<'n> {
    /// The text to which places refer.
    pub(super) text: &'n str,
    pub(super) problems: &'n Problems,
    /// The nodes by name.
    pub(super) names: BTreeMap<&'n str, NodeIndex>,
    /// The nodes with `wait_for`, which cannot be targets of edges.
    pub(super) barriers: BTreeSet<NodeIndex>,
    /// The state keys that the document mentions: those that a part of the graph can write.
    pub(super) keys: BTreeSet<&'n str>,
    /// The inputs of `config_schema` if it is closed; `None` if there may be others.
    pub(super) inputs: Option<BTreeSet<String>>,
    /// `true` if a path that is read has to be written in this document. A document of hooks is about other graphs.
    pub(super) is_graph: bool,
    /// The reported paths that are read and never written.
    pub(super) reported: RefCell<BTreeSet<String>>,
    /// The declared channels whose reducers combine writes.
    pub(super) folding: BTreeSet<String>,
    /// `true` if the document is the snapshot in a run: it was checked when the run was started.
    pub(super) is_snapshot: bool,
    /// The budget for compiling its patterns and schemas.
    pub(super) compiling: &'n CompileBudget<'n>,
    /// `config.retry`: the default for nodes without `retry`.
    pub(super) retry: Option<RetryPolicy>,
    /// `config.revisit`: the default for nodes without a `revisit` of their own.
    pub(super) feedback: bool,
}

/// Largest number of reported names that are read and never written.
const MOST_REPORTED: usize = 20;

/// State keys that the graph must not write.
const RESERVED: [&str; 4] = ["inputs", "_last_error", "_retries", rye::THREADS];

/// Root of templates of a `foreach`, in addition to its variable: the index of the item.
pub(crate) const ITEM_INDEX: &str = "item_index";

/// Roots of templates in an action and in a node's output, in addition to a `foreach` variable.
pub(super) const IN_ACTION: &[&str] = &["state", "inputs", "node", "run", "argument"];
/// Roots of templates in `assign`.
pub(super) const IN_ASSIGN: &[&str] = &["state", "inputs", "result", "node", "run", "argument"];
/// Roots of templates in a `start` argument.
pub(super) const IN_START: &[&str] = &["inputs", "run"];
/// Roots of templates in the run's output.
pub(super) const IN_OUTPUT: &[&str] = &["state", "inputs", "run"];
/// Roots of an edge's condition.
pub(super) const IN_EDGE: &[&str] = &["state", "result", "inputs", "node"];

impl<'n> DocumentReader<'n> {
    /// Returns the node with a name in the document, which may be a barrier.
    pub(super) fn node_named(&self, node: &'n Node, what: &str) -> Option<NodeIndex> {
        let name = node.text(what, self.problems)?;
        let found = self.names.get(name).copied();
        if found.is_none() && !self.problems.is_full() {
            let message = format!("{what}: there is no node `{}`", excerpt(name));
            let problem = Diagnostic::error(codes::UNKNOWN_NODE, node.span, message).label("unknown node");
            let help = match nearest(name, self.names.keys().copied()) {
                _ if name == id::END => "`__end__` ends a branch in `next`, in the `to` of an edge and in `command: {goto: [..]}`; here, name a \
                                         node, which may be of `type: return`"
                    .to_owned(),
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("nodes: {}", some_of(self.names.keys().copied())),
            };
            self.problems.push(problem.help(help));
        }
        found
    }

    /// Returns the node with a name in the document, as a target.
    pub(super) fn target(&self, node: &'n Node, what: &str) -> Option<NodeIndex> {
        let found = self.node_named(node, what)?;
        if self.barriers.contains(&found) {
            let name = node.as_text().unwrap_or_default();
            let message = format!("{what}: `{name}` waits for other nodes, and only they can activate it");
            let problem = Diagnostic::error(codes::BARRIER_TARGET, node.span, message);
            self.problems.push(problem.label("a node with `wait_for`").help(format!(
                "remove this target; to be waited for, a node is listed in the `wait_for` of `{name}`"
            )));
            return None;
        }
        Some(found)
    }

    /// Checks whether a target, or a list of targets, names the end of the branch.
    pub(super) fn names_end(&self, node: &Node) -> bool {
        match &node.value {
            Yaml::List(items) => items.iter().any(|item| self.is_end(item)),
            _ => self.is_end(node),
        }
    }

    fn is_end(&self, item: &Node) -> bool {
        item.as_text() == Some(id::END) && !self.names.contains_key(id::END)
    }

    /// Reads a target, or a list of targets, without the end of the branch, which [`id::END`] names. `None` if any of it is invalid.
    pub(super) fn targets_or_end(&self, node: &'n Node, what: &str) -> Option<Vec<NodeIndex>> {
        let items = match &node.value {
            Yaml::Text(_) => std::slice::from_ref(node),
            Yaml::List(items) => items,
            _ => {
                node.wrong_type(what, "a node's name or a list of names", self.problems);
                return None;
            }
        };
        let items: Vec<&Node> = items.iter().filter(|item| !self.is_end(item)).collect();
        // All items are checked, so that every invalid one is reported.
        let found: Vec<_> = items.iter().map(|item| self.target(item, what)).collect();
        let found: Vec<_> = found.into_iter().collect::<Option<_>>()?;
        let mut seen = BTreeSet::new();
        for (item, target) in items.into_iter().zip(&found) {
            if !seen.insert(*target) {
                let message = format!("{what} names `{}` twice", item.as_text().unwrap_or_default());
                self.problems.push(Diagnostic::warning(codes::DUPLICATE_TARGET, item.span, message));
            }
        }
        Some(found)
    }

    /// Reports an invalid id or name, at the first invalid character.
    pub(super) fn bad_name(&self, code: Code, node: &Node, what: &str, error: &IdError) {
        if self.problems.is_full() {
            return;
        }
        let text = node.as_text().unwrap_or_default();
        let place = node.span_inside(self.text, error.offset(), 1);
        let message = format!("{what} cannot be `{}`: {error}", excerpt(text));
        self.problems.push(Diagnostic::error(code, place, message));
    }

    /// Checks a state key that the graph writes; returns `false` after reporting an invalid one.
    pub(super) fn state_key(&self, name: &str, span: Span) -> bool {
        if let Err(error) = id::check_state_key(name) {
            let message = format!("a state key cannot be `{}`: {error}", excerpt(name));
            self.problems.push(Diagnostic::error(codes::BAD_STATE_KEY, span, message));
            return false;
        }
        if RESERVED.contains(&name) {
            let message = format!("the state key `{name}` is reserved");
            let problem = Diagnostic::error(codes::RESERVED_STATE_KEY, span, message);
            self.problems.push(problem.help("use another key"));
            return false;
        }
        true
    }

    /// Reads a value that may contain templates, which may read only `roots` and the variable.
    pub(super) fn template(
        &self,
        node: &Node,
        roots: &[&str],
        variable: Option<&str>,
    ) -> Option<ValueTemplate> {
        match ValueTemplate::from_arc(Arc::new(node.to_json())) {
            Ok(template) => self.check_roots(&template, node, roots, variable).then_some(template),
            Err(_) if self.problems.is_full() => None,
            Err(error) => {
                // The error is only the first: the texts are read one by one to report all.
                if self.check_leaves(node, roots, variable) {
                    self.bad_template(&error, node.descend(&error.pointer).span);
                }
                None
            }
        }
    }

    fn bad_template(&self, error: &TemplateSyntaxError, place: Span) {
        let problem = Diagnostic::error(codes::TEMPLATE_SYNTAX, place, &error.message);
        self.problems.push(match &error.help {
            Some(help) => problem.help(help),
            None => problem,
        });
    }

    /// Reports every path of a template with an unknown root. Returns `true` if there was none.
    fn check_roots(
        &self,
        template: &ValueTemplate,
        node: &Node,
        roots: &[&str],
        variable: Option<&str>,
    ) -> bool {
        let mut sound = true;
        template.each_path(&mut |used| {
            let root = used.path.root();
            let of_item = variable.is_some_and(|variable| root == variable || root == ITEM_INDEX);
            let exists = roots.contains(&root) || of_item;
            sound &= exists;
            if self.problems.is_full() {
                return;
            }
            let written = used.path.as_str();
            let place = || {
                let leaf = node.descend(used.pointer);
                leaf.as_text()
                    .and_then(|text| text.find(written))
                    .map_or(leaf.span, |at| leaf.span_inside(self.text, at, written.len()))
            };
            if exists {
                if !used.optional && !of_item {
                    self.warn_of_nothing(used.path, place);
                }
                return;
            }
            let place = place();
            self.unknown_root(
                codes::TEMPLATE_ROOT,
                place,
                written,
                root,
                roots.iter().copied().chain(variable).chain(variable.map(|_| ITEM_INDEX)),
            );
        });
        sound
    }

    /// Reports the problems of all templates in a value. Returns `true` if every text could be read.
    fn check_leaves(&self, node: &Node, roots: &[&str], variable: Option<&str>) -> bool {
        match &node.value {
            Yaml::Text(text) => match ValueTemplate::parse(&serde_json::Value::String(text.value.clone())) {
                Ok(template) => {
                    self.check_roots(&template, node, roots, variable);
                    true
                }
                Err(_) if self.problems.is_full() => false,
                Err(error) => {
                    self.bad_template(&error, node.span_inside(self.text, error.offset, 1));
                    false
                }
            },
            Yaml::List(items) => {
                items.iter().filter(|item| !self.check_leaves(item, roots, variable)).count() == 0
            }
            Yaml::Mapping(mapping) => {
                mapping.iter().filter(|entry| !self.check_leaves(&entry.value, roots, variable)).count() == 0
            }
            _ => true,
        }
    }

    /// Reads a condition, which may read only `roots` if they are given.
    pub(super) fn condition(&self, node: &Node, roots: Option<&[&str]>) -> Option<Condition> {
        let read = Condition::from_json_within(&node.to_json(), self.compiling);
        let condition = match read {
            Ok(condition) => condition,
            Err(error) => {
                let place = node.descend(&error.pointer).span.first_line();
                let problem = Diagnostic::error(codes::CONDITION_SYNTAX, place, &error.message);
                self.problems.push(match &error.help {
                    Some(help) => problem.help(help),
                    None => problem,
                });
                return None;
            }
        };
        let mut sound = true;
        for path in condition.paths() {
            if roots.is_none_or(|roots| roots.contains(&path.root())) {
                if roots.is_some() && !self.problems.is_full() {
                    let place =
                        || find_text(node, path.as_str()).map_or(node.span.first_line(), |node| node.span);
                    self.warn_of_nothing(path, place);
                }
                continue;
            }
            sound = false;
            // The place is looked for in the whole condition.
            if self.problems.is_full() {
                break;
            }
            let place = find_text(node, path.as_str()).map_or(node.span.first_line(), |node| node.span);
            let known = roots.unwrap_or_default().iter().copied();
            self.unknown_root(codes::CONDITION_ROOT, place, path.as_str(), path.root(), known);
        }
        sound.then_some(condition)
    }

    /// Warns of a path without a possible value: a state key that no part of the graph writes, or an input that the schema does not have.
    fn warn_of_nothing(&self, path: &Path, place: impl FnOnce() -> Span) {
        let Some(name) = path.first_key().filter(|name| self.is_graph && !name.starts_with('_')) else {
            return;
        };
        let leads_nowhere = match path.root() {
            "state" => !self.keys.contains(name),
            "inputs" => self.inputs.as_ref().is_some_and(|inputs| !inputs.contains(name)),
            _ => false,
        };
        let mut reported = self.reported.borrow_mut();
        if !leads_nowhere
            || reported.len() >= MOST_REPORTED
            || !reported.insert(format!("{}.{name}", path.root()))
        {
            return;
        }
        let (what, known): (_, Vec<&str>) = if path.root() == "state" {
            let what = format!("nothing in the graph writes `state.{}`", excerpt(name));
            (what, self.keys.iter().copied().collect())
        } else {
            let what = format!("`config_schema` has no input `{}`", excerpt(name));
            (what, self.inputs.iter().flatten().map(String::as_str).collect())
        };
        let problem = Diagnostic::warning(codes::READS_NOTHING, place(), format!("{what}: it reads as null"));
        self.problems.push(problem.help(match nearest(name, known) {
            Some(near) => format!("did you mean `{}.{near}`?", path.root()),
            None => format!("where it may be missing, write `${{{} || null}}`", excerpt(path.as_str())),
        }));
    }

    fn unknown_root<'a>(
        &self,
        code: Code,
        place: Span,
        written: &str,
        root: &str,
        known: impl Iterator<Item = &'a str> + Clone,
    ) {
        let message = if written == root {
            format!("there is no `{}` to read here", excerpt(root))
        } else {
            format!("`{}` reads `{}`, which does not exist here", excerpt(written), excerpt(root))
        };
        let help = if self.keys.contains(root) {
            format!("did you mean `state.{}`?", excerpt(written))
        } else {
            match nearest(root, known.clone()) {
                Some(name) => format!("did you mean `{name}`?"),
                None if is_shell_variable(root) => {
                    format!("the variable of a shell is written `$${{{}}}`", excerpt(root))
                }
                None => format!("what can be read here: {}", known.collect::<Vec<_>>().join(", ")),
            }
        };
        self.problems.push(Diagnostic::error(code, place, message).label("unknown name").help(help));
    }
}

/// Finds the `path` with this text in a condition.
fn find_text<'n>(node: &'n Node, text: &str) -> Option<&'n Node> {
    match &node.value {
        Yaml::Mapping(mapping) => mapping
            .get("path")
            .filter(|node| node.as_text() == Some(text))
            .or_else(|| mapping.iter().find_map(|entry| find_text(&entry.value, text))),
        Yaml::List(items) => items.iter().find_map(|item| find_text(item, text)),
        _ => None,
    }
}

/// Returns a few names for a message.
fn some_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 12;
    let mut names: Vec<_> = names.take(SHOWN + 1).map(excerpt).collect();
    if names.len() > SHOWN {
        names.truncate(SHOWN);
        names.push("…".to_owned());
    }
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Checks whether a name is written like a variable of the environment: in capital letters.
fn is_shell_variable(name: &str) -> bool {
    let is_in_it = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.bytes().all(is_in_it) && name.bytes().any(|byte| byte.is_ascii_uppercase())
}

//! Names, templates and conditions: what may be named and read where.

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

/// What every part of a document is read with.
pub(super) struct Reader<'n> {
    /// The text that places refer to.
    pub(super) text: &'n str,
    pub(super) problems: &'n Problems,
    /// The nodes by name.
    pub(super) names: BTreeMap<&'n str, NodeIndex>,
    /// The nodes with `wait_for`, which cannot be targets of edges.
    pub(super) barriers: BTreeSet<NodeIndex>,
    /// The state keys that the document mentions: those that something in the graph can write.
    pub(super) keys: BTreeSet<&'n str>,
    /// The inputs of `config_schema`, if it lists them all; `None` if there may be others.
    pub(super) inputs: Option<BTreeSet<String>>,
    /// Whether a path that is read has to be written in this document. A document of hooks is about other graphs.
    pub(super) is_graph: bool,
    /// The paths that were reported as read and never written.
    pub(super) told: RefCell<BTreeSet<String>>,
    /// The declared channels whose reducer folds writes.
    pub(super) folding: BTreeSet<String>,
    /// The document is what a run has kept of its graph: it was checked when it was read first.
    pub(super) is_snapshot: bool,
    /// What its patterns and schemas may still take together.
    pub(super) compiling: &'n CompileBudget<'n>,
    /// `config.retry`: how often to try a node that does not say it.
    pub(super) retry: Option<RetryPolicy>,
    /// `config.revisit`: the default for nodes without a `revisit` of their own.
    pub(super) feedback: bool,
}

/// How many names that are read and never written are reported.
const MOST_TOLD: usize = 20;

/// State keys that are not the graph's to write.
const RESERVED: [&str; 4] = ["inputs", "_last_error", "_retries", rye::THREADS];

/// What templates can read in an action and in a node's output, besides a `foreach` variable.
pub(super) const IN_ACTION: &[&str] = &["state", "inputs", "node", "run", "argument"];
/// What templates can read in `assign`.
pub(super) const IN_ASSIGN: &[&str] = &["state", "inputs", "result", "node", "run", "argument"];
/// What templates can read in a `start` argument.
pub(super) const IN_START: &[&str] = &["inputs", "run"];
/// What templates can read in the run's output.
pub(super) const IN_OUTPUT: &[&str] = &["state", "inputs", "run"];
/// What an edge's condition can read.
pub(super) const IN_EDGE: &[&str] = &["state", "result", "inputs", "node"];

impl<'n> Reader<'n> {
    /// The node that a name in the document means, as something that is waited for.
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

    /// The node that a name in the document means, as something to go to.
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

    /// Whether a list of targets, or one, names the end of the branch.
    pub(super) fn names_end(&self, node: &Node) -> bool {
        match &node.value {
            Yaml::List(items) => items.iter().any(|item| self.is_end(item)),
            _ => self.is_end(node),
        }
    }

    fn is_end(&self, item: &Node) -> bool {
        item.as_text() == Some(id::END) && !self.names.contains_key(id::END)
    }

    /// A list of targets, or one, without the end of the branch, which [`id::END`] may name. `None` if any of it is wrong.
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
        // Each is looked at before the first that is wrong ends the matter.
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

    /// A state key that the graph writes.
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

    /// A value that may hold templates, which read only `roots` and the variable.
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
                // Only the first of its texts is named: to name them all, each is read alone.
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

    /// Reports every path of a template that starts with something that does not exist here. Whether there was none.
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
            let exists = roots.contains(&root) || variable == Some(root);
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
                if !used.optional && variable != Some(root) {
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
                roots.iter().copied().chain(variable),
            );
        });
        sound
    }

    /// Reports the problems of all templates in a value. Returns whether each text could be read.
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

    /// A condition, which reads only `roots` if they are given.
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

    /// Warns of a path that leads nowhere whatever happens: a state key that nothing in the graph writes, an input that the
    /// schema does not have.
    fn warn_of_nothing(&self, path: &Path, place: impl FnOnce() -> Span) {
        let Some(name) = path.first_key().filter(|name| self.is_graph && !name.starts_with('_')) else {
            return;
        };
        let leads_nowhere = match path.root() {
            "state" => !self.keys.contains(name),
            "inputs" => self.inputs.as_ref().is_some_and(|inputs| !inputs.contains(name)),
            _ => false,
        };
        let mut told = self.told.borrow_mut();
        if !leads_nowhere || told.len() >= MOST_TOLD || !told.insert(format!("{}.{name}", path.root())) {
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

/// The `path` in a condition that has this text.
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

/// A few names for a message.
fn some_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 12;
    let mut names: Vec<_> = names.take(SHOWN + 1).map(excerpt).collect();
    if names.len() > SHOWN {
        names.truncate(SHOWN);
        names.push("…".to_owned());
    }
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Whether a name is written like a variable of the environment: in capital letters.
fn is_shell_variable(name: &str) -> bool {
    let is_in_it = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.bytes().all(is_in_it) && name.bytes().any(|byte| byte.is_ascii_uppercase())
}

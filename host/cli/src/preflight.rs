//! Everything that can be known before a run starts: which items it dispatches, who vouches for them, what each is
//! granted, and what is missing. Nothing of the graph runs here.

mod texts;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use graph_core::capability::{EffectiveGrant, Manifest, Refusal, capability_name};
use graph_core::digest::Digest;
use graph_core::graph::{Action, Graph, ItemType, Node, NodeCapabilities, NodeIndex, NodeLimits, Primary};
use graph_core::hook::{Hook, HookAction, HookEvent, is_control_item};
use graph_core::schema::InputSchema;
use graph_core::trust::{Standing, TextStanding};
use graph_core::walker::Graphs;
use graph_engine::PreparedNode;
use serde_json::{Value, json};

use crate::components::{Admitted, Components, cannot_prepare};
use crate::error::Error;
use crate::exit::Exit;
use crate::graph_file::standing_json;
use crate::output::printable;
use crate::texts::Text;

/// What a graph is about to do.
#[derive(Debug)]
pub struct Plan {
    /// The nodes with an action, in document order.
    pub nodes: Vec<PlannedNode>,
    /// The hooks that dispatch an item, in the order in which they are asked.
    pub hooks: Vec<PlannedNode>,
    /// The items that they name, by id.
    pub items: BTreeMap<String, Result<Admitted, PlanProblem>>,
    /// The knowledge and directives that they name, by type and id.
    pub texts: BTreeMap<(&'static str, String), Result<Arc<Text>, PlanProblem>>,
}

/// A node with an action, or a hook with one.
pub struct PlannedNode {
    /// Where it is.
    pub scope: Scope,
    /// Its place in its graph; of a hook it means nothing.
    pub index: NodeIndex,
    /// Its name; in a child graph the path of nodes to it.
    pub name: String,
    /// The item is a graph.
    pub is_graph: bool,
    /// When the hook is asked, if it is one.
    pub hook: Option<HookEvent>,
    /// The item, or the template that gives it.
    pub item: PlannedId,
    /// Whether the manifest permits the dispatch; not known for a template.
    pub dispatch: Option<bool>,
    /// The capability that the dispatch needs.
    pub capability: Option<String>,
    /// What its component is granted.
    pub grant: Option<EffectiveGrant>,
    /// The component, linked.
    pub ready: Option<PreparedNode>,
    /// What stands in the way.
    pub problems: Vec<PlanProblem>,
}

/// A graph under a manifest: the nodes of a child graph have what its parents leave them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The graph's digest.
    pub graph: Digest,
    /// What was left: [`Manifest::narrowing`].
    pub narrowing: String,
}

/// Which item a node dispatches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedId {
    /// This one; empty for a search over everything.
    Literal(String),
    /// One that is known when it is dispatched.
    Template(String),
}

/// Something that keeps a node from running.
#[derive(Clone, Debug)]
pub struct PlanProblem {
    /// The exit code that it stands for.
    pub exit: Exit,
    /// Its stable name.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// The interface that is not granted.
    pub interface: Option<String>,
    /// The lines of a manifest that would grant it.
    pub manifest_lines: Option<String>,
}

impl From<Error> for PlanProblem {
    fn from(error: Error) -> Self {
        Self {
            exit: error.exit(),
            code: error.code(),
            message: error.message().to_owned(),
            help: error.help_text().map(str::to_owned),
            interface: None,
            manifest_lines: None,
        }
    }
}

impl From<Refusal> for PlanProblem {
    fn from(refusal: Refusal) -> Self {
        Self {
            exit: Exit::Denied,
            code: "denied",
            message: refusal.to_string(),
            help: None,
            interface: Some(refusal.interface),
            manifest_lines: refusal.manifest_lines,
        }
    }
}

impl std::fmt::Debug for PlannedNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlannedNode")
            .field("name", &self.name)
            .field("item", &self.item)
            .finish_non_exhaustive()
    }
}

impl PlannedNode {
    /// `node` or `hook`.
    pub const fn kind(&self) -> &'static str {
        if self.hook.is_some() { "hook" } else { "node" }
    }

    /// What it is, for messages.
    pub fn subject(&self) -> String {
        match self.hook {
            Some(event) => format!("hook `{}` ({event})", printable(&self.name)),
            None => format!("node `{}`", printable(&self.name)),
        }
    }
}

impl Plan {
    /// Works out what a graph is about to do, with the hooks from outside of it. Compiling what is in no cache takes time.
    pub async fn make(graph: &Arc<Graph>, graphs: &Graphs, outer: &[Hook], components: &Components) -> Self {
        Self::make_for(graph, graphs, outer, components, |_| true).await
    }

    /// As [`Plan::make`], for those nodes and hooks alone whose action is `wanted`.
    pub async fn make_for(
        graph: &Arc<Graph>,
        graphs: &Graphs,
        outer: &[Hook],
        components: &Components,
        wanted: impl Fn(&Action) -> bool,
    ) -> Self {
        let mut items = BTreeSet::new();
        // The nodes and hooks of these items, with the graph that each is in.
        let mut named = Vec::new();
        let mut texts = BTreeMap::new();
        let mut schemas = HashMap::new();
        let (mut nodes, mut hooks) = (Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        let mut waiting = VecDeque::from([Inside {
            graph: Arc::clone(graph),
            manifest: Arc::clone(&components.manifest),
            path: String::new(),
        }]);
        while let Some(inside) = waiting.pop_front() {
            let scope = inside.scope();
            let inside = Arc::new(inside);
            // A graph that is named again under the same manifest holds nothing new.
            if !seen.insert(scope.clone()) {
                continue;
            }
            for (index, node) in inside.graph.indexed() {
                let Some(action) = node.action.as_ref() else { continue };
                if let Some(child) = inside.child(node, action, graphs) {
                    let mut planned = outline(index, &node.name, action, &inside);
                    planned.is_graph = true;
                    planned.problems.extend(unfit(action, &child.graph));
                    if planned.dispatch != Some(false) {
                        waiting.push_back(child);
                    }
                    nodes.push(planned);
                    continue;
                }
                if !wanted(action) || is_built_in(action) {
                    continue;
                }
                let mut planned = outline(index, &node.name, action, &inside);
                if look(components, action, &mut planned, &mut items, &mut texts) {
                    named.push(Named { inside: Arc::clone(&inside), hook: None, at: nodes.len() });
                }
                nodes.push(planned);
            }
            for (place, hook) in inside.graph.hooks.iter().chain(outer).enumerate() {
                let HookAction::Item(action) = &hook.action else { continue };
                if !wanted(action) || is_built_in(action) {
                    continue;
                }
                let planned = outline(NodeIndex(0), &hook.name, action, &inside);
                let mut planned = PlannedNode { hook: Some(hook.event), ..planned };
                if names_graph(action, graphs) {
                    planned.problems.push(Error::invalid("a hook runs no graph; name a component").into());
                } else if look(components, action, &mut planned, &mut items, &mut texts) {
                    named.push(Named { inside: Arc::clone(&inside), hook: Some(place), at: hooks.len() });
                }
                hooks.push(planned);
            }
        }
        let items = admit_all(components, items);
        for Named { inside, hook, at } in named {
            let planned: &mut PlannedNode = if hook.is_some() { &mut hooks[at] } else { &mut nodes[at] };
            let (action, used) = if let Some(place) = hook {
                let hook = inside.graph.hooks.iter().chain(outer).nth(place);
                let Some(HookAction::Item(action)) = hook.map(|hook| &hook.action) else { continue };
                (action, inside.used(None, inside.graph.limits))
            } else {
                let node = inside.graph.node(planned.index);
                let Some(action) = node.action.as_ref() else { continue };
                (action, inside.used(node.capabilities.as_ref(), node.limits))
            };
            let PlannedId::Literal(id) = &planned.item else { continue };
            match items.get(id) {
                Some(Ok(admitted)) => {
                    look_at(components, admitted, used, action, planned, &mut schemas).await;
                }
                Some(Err(problem)) => planned.problems.push(problem.clone()),
                None => {}
            }
        }
        Self { nodes, hooks, items, texts }
    }

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

    /// Nodes and hooks whose dispatch the manifest does not permit.
    pub fn not_permitted(&self) -> impl Iterator<Item = &PlannedNode> {
        self.all().filter(|node| node.dispatch == Some(false))
    }

    /// Nodes, then hooks.
    fn all(&self) -> impl Iterator<Item = &PlannedNode> {
        self.nodes.iter().chain(&self.hooks)
    }

    /// What will be denied when a node comes to it, and what nobody vouches for.
    pub fn notices(&self) -> Vec<String> {
        let denied = self.not_permitted().map(|node| {
            let capability = node.capability.as_deref().unwrap_or_default();
            format!("{} will be denied: the manifest does not permit `{capability}`", node.subject())
        });
        let texts = self.texts.values().filter_map(|text| text.as_ref().ok());
        let unsigned = texts.filter(|text| !matches!(text.standing, TextStanding::Signed { .. }));
        let unsigned = unsigned.filter(|text| text.file.is_some()).map(|text| {
            format!("the {} `{}` is not signed: nobody vouches for it", text.item_type.as_str(), text.id)
        });
        denied.chain(unsigned).collect()
    }

    /// What keeps the run from starting: every problem of a node that may be dispatched. Where no node may be dispatched
    /// at all, everything that is missing: the permissions, and what would be refused once they are there.
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
        // The run is refused anyway: what would be refused next is told at once.
        let denied = self.not_permitted().flat_map(|node| {
            let problems = node.problems.iter().cloned();
            std::iter::once(not_permitted(node)).chain(problems).map(move |problem| (node, problem))
        });
        refusals.into_iter().chain(denied).collect()
    }

    /// Everything that is missing, for `--plan`.
    pub fn missing(&self) -> Vec<(&PlannedNode, PlanProblem)> {
        let problems =
            self.all().flat_map(|node| node.problems.iter().map(move |problem| (node, problem.clone())));
        self.not_permitted().map(|node| (node, not_permitted(node))).chain(problems).collect()
    }

    /// The refusal of a run, with everything that is missing and the command that would help.
    pub fn refusal(&self, suggest: &str) -> Option<Error> {
        let refusals = self.refusals();
        let (_, first) = refusals.first()?;
        let mut message = "the run was refused before it started".to_owned();
        let mut groups: Vec<(&PlanProblem, bool, Vec<String>)> = Vec::new();
        for (node, problem) in &refusals {
            let name = format!("`{}`", printable(&node.name));
            let of_hook = node.hook.is_some();
            let same = |known: &PlanProblem, hook: bool| known.message == problem.message && hook == of_hook;
            match groups.iter_mut().find(|(known, hook, _)| same(known, *hook)) {
                Some((_, _, names)) => names.push(name),
                None => groups.push((problem, of_hook, vec![name])),
            }
        }
        let mut seen = Vec::new();
        for (problem, of_hook, names) in &groups {
            let kind = if *of_hook { "hook" } else { "node" };
            let plural = if names.len() == 1 { "" } else { "s" };
            let _ = write!(message, "\n- {kind}{plural} {}: {}", names.join(", "), problem.message);
            let lines = problem.manifest_lines.as_ref().or(problem.help.as_ref());
            if let Some(lines) = lines.filter(|lines| !seen.contains(lines)) {
                for line in lines.trim_end().lines() {
                    let _ = write!(message, "\n    {line}");
                }
                seen.push(lines);
            }
        }
        let denied = refusals.iter().any(|(_, problem)| problem.exit == Exit::Denied);
        let details: Vec<_> = refusals.iter().map(|(node, problem)| problem.to_json(node)).collect();
        let error = Error::new(first.exit, first.code, message).details(json!({ "refusals": details }));
        Some(if denied { error.help(format!("see what the graph needs: {suggest}")) } else { error })
    }

    /// The plan as `--plan --json` prints it.
    pub fn to_json(&self) -> Value {
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
            })
        };
        let nodes: Vec<_> = self.nodes.iter().map(describe).collect();
        let hooks: Vec<_> = self.hooks.iter().map(describe).collect();
        let missing: Vec<_> = self.missing().iter().map(|(node, problem)| problem.to_json(node)).collect();
        let texts: Vec<_> = self
            .texts
            .iter()
            .map(|((item_type, id), text)| match text {
                Ok(text) => json!({
                    "item_type": item_type,
                    "id": id,
                    "file": text.file.as_ref().map(|file| file.path.display().to_string()),
                    "space": text.space(),
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
    fn to_json(&self, node: &PlannedNode) -> Value {
        json!({
            node.kind(): node.name,
            "code": self.code,
            "message": self.message,
            "interface": self.interface,
            "manifest": self.manifest_lines,
            "help": self.help,
        })
    }
}

/// A component as programs see it.
pub fn item_json(id: &str, admitted: &Admitted) -> Value {
    let verified = &admitted.verified;
    let signer = match verified.standing() {
        Standing::Signed { key, .. } => json!({ "name": key.name, "key_id": key.id }),
        Standing::Unsigned => Value::Null,
    };
    json!({
        "id": id,
        "file": admitted.path.display().to_string(),
        "digest": verified.digest(),
        "version": verified.version(),
        "signer": signer,
        "interfaces": admitted.declared.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn not_permitted(node: &PlannedNode) -> PlanProblem {
    let capability = node.capability.as_deref().unwrap_or_default();
    PlanProblem {
        exit: Exit::Denied,
        code: "denied",
        message: format!("the manifest does not permit `{}`", printable(capability)),
        help: None,
        interface: None,
        manifest_lines: Some(format!("dispatch: [\"{capability}\"]\n")),
    }
}

/// A graph that is looked at, and what it may use.
struct Inside {
    graph: Arc<Graph>,
    manifest: Arc<Manifest>,
    /// The path of nodes to it; empty for the graph at the top.
    path: String,
}

impl Inside {
    fn scope(&self) -> Scope {
        Scope { graph: self.graph.digest, narrowing: self.manifest.narrowing().to_owned() }
    }

    fn used<'a>(&'a self, capabilities: Option<&'a NodeCapabilities>, limits: NodeLimits) -> Use<'a> {
        Use { manifest: &self.manifest, capabilities, limits }
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}/{name}", self.path) }
    }

    /// Whether the manifest permits a dispatch. What a node's own `capabilities` leave out is the walker's to deny.
    fn permits(&self, action: &Action, id: &str) -> bool {
        self.manifest.dispatch().permits(action.primary, action.item_type, id)
    }

    /// The graph that a node starts by a written-out id, with what is left for it.
    fn child(&self, node: &Node, action: &Action, graphs: &Graphs) -> Option<Self> {
        if action.primary != Primary::Execute || action.item_type != ItemType::Tool {
            return None;
        }
        let id = action.item_id.literal().and_then(Value::as_str)?;
        let graph = graphs.get(id.split_once('@').map_or(id, |(id, _)| id))?;
        let memory = node.limits.memory.or(self.graph.limits.memory);
        let manifest = self.manifest.narrowed(node.capabilities.as_ref(), memory);
        Some(Self { graph: Arc::clone(graph), manifest: Arc::new(manifest), path: self.path_of(&node.name) })
    }
}

/// What of a node's params does not fit the schema of its graph, as far as it is written out.
fn unfit(action: &Action, graph: &Graph) -> Vec<PlanProblem> {
    let Some(schema) = &graph.input_schema else { return Vec::new() };
    match InputSchema::compile(schema) {
        Ok(schema) => schema
            .check_literal(&action.params)
            .into_iter()
            .map(|problem| {
                Error::invalid(format!("its params are not what graph `{}` takes: {problem}", graph.id))
                    .into()
            })
            .collect(),
        Err(errors) => {
            let reasons: Vec<_> = errors.iter().map(ToString::to_string).collect();
            let message =
                format!("`config_schema` of graph `{}` is not usable: {}", graph.id, reasons.join("; "));
            vec![Error::invalid(message).into()]
        }
    }
}

/// Finds, verifies and compiles items: several at once, as what is in no cache takes time.
fn admit_all(
    components: &Components,
    items: BTreeSet<String>,
) -> BTreeMap<String, Result<Admitted, PlanProblem>> {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let waiting = Mutex::new(items.into_iter());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let admit = || {
        std::iter::from_fn(next)
            .map(|id| {
                let admitted = components.admit(&id).map_err(|error| error.into_error().into());
                (id, admitted)
            })
            .collect::<Vec<_>>()
    };
    let others =
        waiting.lock().unwrap_or_else(PoisonError::into_inner).len().min(processors).saturating_sub(1);
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..others).map(|_| scope.spawn(admit)).collect();
        let mut admitted = admit();
        for other in others {
            admitted.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        admitted.into_iter().collect()
    })
}

/// Whether an action names a graph by a written-out id.
fn names_graph(action: &Action, graphs: &Graphs) -> bool {
    let id = action.item_id.literal().and_then(Value::as_str);
    (action.primary, action.item_type) == (Primary::Execute, ItemType::Tool)
        && id.is_some_and(|id| graphs.contains_key(id.split_once('@').map_or(id, |(id, _)| id)))
}

/// What bounds a component where it is used.
#[derive(Clone, Copy)]
struct Use<'a> {
    manifest: &'a Manifest,
    capabilities: Option<&'a NodeCapabilities>,
    limits: NodeLimits,
}

/// Whether it is the item that the host carries out itself.
pub(crate) fn is_built_in(action: &Action) -> bool {
    let id = action.item_id.literal().and_then(Value::as_str);
    id.is_some_and(|id| is_control_item(action.primary, action.item_type, id))
}

/// What an entry alone says.
fn outline(index: NodeIndex, name: &str, action: &Action, inside: &Inside) -> PlannedNode {
    let literal = match action.item_id.literal() {
        // A search over everything.
        Some(Value::Null) if action.primary == Primary::Search => Some(""),
        literal => literal.and_then(Value::as_str),
    };
    let (item, dispatch, capability) = if let Some(id) = literal {
        let permitted = inside.permits(action, id);
        let capability = capability_name(action.primary, action.item_type, id);
        (PlannedId::Literal(id.to_owned()), Some(permitted), Some(capability))
    } else {
        let source = action.item_id.source();
        let text = source.as_str().map_or_else(|| source.to_string(), str::to_owned);
        (PlannedId::Template(text), None, None)
    };
    PlannedNode {
        scope: inside.scope(),
        index,
        name: inside.path_of(name),
        is_graph: false,
        hook: None,
        item,
        dispatch,
        capability,
        grant: None,
        ready: None,
        problems: Vec::new(),
    }
}

/// A node or a hook whose item is yet to be looked at.
struct Named {
    /// The graph that it is in.
    inside: Arc<Inside>,
    /// Its place among the hooks of its graph and those from outside, if it is one.
    hook: Option<usize>,
    /// Its place in the plan.
    at: usize,
}

/// Looks at the text that an action uses, or takes note of its item. Whether it is an item that is known by its id.
fn look(
    components: &Components,
    action: &Action,
    planned: &mut PlannedNode,
    items: &mut BTreeSet<String>,
    texts: &mut texts::Texts,
) -> bool {
    if (action.primary, action.item_type) != (Primary::Execute, ItemType::Tool) {
        texts::look_at(components, action, planned, texts);
        return false;
    }
    let PlannedId::Literal(id) = &planned.item else { return false };
    items.insert(id.clone());
    true
}

/// Grants, links and checks the params of a component at one node.
async fn look_at(
    components: &Components,
    admitted: &Admitted,
    used: Use<'_>,
    action: &Action,
    planned: &mut PlannedNode,
    schemas: &mut HashMap<String, Option<InputSchema>>,
) {
    match components.grant(admitted, used.manifest, used.capabilities, used.limits) {
        Ok(grant) => {
            match components.engine.prepare(&admitted.loaded, &grant) {
                Ok(ready) => planned.ready = Some(ready),
                Err(error) => planned.problems.push(cannot_prepare(&error).into()),
            }
            planned.grant = Some(grant);
        }
        Err(refusals) => planned.problems.extend(refusals.into_iter().map(PlanProblem::from)),
    }
    let id = admitted.verified.id();
    if !schemas.contains_key(id) {
        let schema = match components.description(admitted).await {
            Ok(description) => match InputSchema::compile(&description.params) {
                Ok(schema) => Some(schema),
                Err(errors) => {
                    let reasons: Vec<_> = errors.iter().map(ToString::to_string).collect();
                    let message =
                        format!("the params schema of `{id}` is not usable: {}", reasons.join("; "));
                    planned.problems.push(Error::integrity(message).into());
                    None
                }
            },
            Err(error) => {
                planned.problems.push(error.into());
                None
            }
        };
        schemas.insert(id.to_owned(), schema);
    }
    if let Some(Some(schema)) = schemas.get(id) {
        for problem in schema.check_literal(&action.params) {
            let message = format!("its params are not what `{id}` takes: {problem}");
            planned.problems.push(Error::invalid(message).into());
        }
    }
}

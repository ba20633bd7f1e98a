//! Builds the nodes of a graph.

use std::time::Duration;

use serde_json::Value;

use super::fields::{MappingFields, duration, list, model_limits, names, text};
use graph_core::item::{ItemOperation, ItemType};
use graph_core::limits::{ModelFigure, ModelLimits};
use graph_core::node::Category;
use graph_core::policy::OnItemError;
use graph_core::yaml::Node;

/// Builder of an action: the item that a node or a hook dispatches, and its params. Values may contain templates, `${state.rows}`.
#[derive(Clone, Debug)]
pub struct ActionBuilder(MappingFields);

impl ActionBuilder {
    /// Executes a tool: a component, a graph that runs as a child, or a function of the program.
    pub fn tool(item_id: impl Into<String>) -> Self {
        let mut fields = MappingFields::default();
        fields.set("item_id", item_id.into());
        Self(fields)
    }

    /// Performs an operation on an item of a type. A search need not name an item.
    pub fn new(operation: ItemOperation, item_type: ItemType, item_id: Option<&str>) -> Self {
        let mut fields = MappingFields::default();
        fields.set("primary", operation.as_str());
        fields.set("item_type", item_type.as_str());
        if let Some(item_id) = item_id {
            fields.set("item_id", item_id);
        }
        Self(fields)
    }

    /// Sets one of the params.
    #[must_use]
    pub fn param(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.set_inside("params", name, Node::from_json(&value.into()));
        self
    }

    /// Sets all params: an object, or a template that gives one.
    #[must_use]
    pub fn params(mut self, params: impl Into<Value>) -> Self {
        self.0.set("params", params);
        self
    }

    pub(super) fn into_node(self) -> Node {
        self.0.into_node()
    }
}

/// Retry policy for failed attempts.
#[derive(Clone, Debug)]
pub struct Retry(MappingFields);

impl Retry {
    pub(super) fn into_node(self) -> Node {
        self.0.into_node()
    }

    /// Creates a policy with a limit of attempts, the first included.
    pub fn attempts(most: u32) -> Self {
        let mut fields = MappingFields::default();
        fields.set("max_attempts", most);
        Self(fields)
    }

    /// Sets the wait before the second attempt, in whole milliseconds.
    #[must_use]
    pub fn initial_interval(mut self, wait: Duration) -> Self {
        self.0.set("initial_interval", duration(wait));
        self
    }

    /// Sets the factor of each further wait, 1 to 1,000.
    #[must_use]
    pub fn backoff(mut self, factor: f64) -> Self {
        self.0.set("backoff", factor);
        self
    }

    /// Sets the longest wait, in whole milliseconds.
    #[must_use]
    pub fn max_interval(mut self, wait: Duration) -> Self {
        self.0.set("max_interval", duration(wait));
        self
    }

    /// Draws each wait, from the run's seed, between half and all of the interval.
    #[must_use]
    pub fn jitter(mut self) -> Self {
        self.0.set("jitter", true);
        self
    }

    /// Sets the categories of failures that are tried again.
    #[must_use]
    pub fn on(mut self, categories: impl IntoIterator<Item = Category>) -> Self {
        self.0.set_node("retry_on", list(names(categories.into_iter().map(Category::as_str))));
        self
    }
}

/// Builder of a node. Edges are added to the graph; only the edges for failures and commands belong to the node.
#[derive(Clone, Debug, Default)]
pub struct NodeBuilder(MappingFields);

impl NodeBuilder {
    /// Creates a node that dispatches nothing: its result is `null`, and it may assign.
    pub fn pass() -> Self {
        Self::default()
    }

    /// Creates a node that dispatches an item.
    pub fn run(action: ActionBuilder) -> Self {
        let mut fields = MappingFields::default();
        fields.set_node("action", action.into_node());
        Self(fields)
    }

    /// Creates a node that dispatches a tool with these params.
    pub fn tool(item_id: &str, params: impl Into<Value>) -> Self {
        Self::run(ActionBuilder::tool(item_id).params(params))
    }

    /// Creates a node that runs a graph as a child run with these inputs. The id is resolved as for any tool.
    pub fn subgraph(item_id: &str, inputs: impl Into<Value>) -> Self {
        Self::tool(item_id, inputs)
    }

    /// Creates a node that dispatches an item once for each element of a list. `variable` is the element's name in the
    /// templates of the action.
    pub fn foreach(over: impl Into<Value>, variable: &str, action: ActionBuilder) -> Self {
        let mut fields = MappingFields::default();
        fields.set("type", "foreach");
        fields.set("over", over);
        fields.set("as", variable);
        fields.set_node("action", action.into_node());
        Self(fields)
    }

    /// Creates a node that ends the run with the graph's output.
    pub fn end() -> Self {
        let mut fields = MappingFields::default();
        fields.set("type", "return");
        Self(fields)
    }

    /// Creates a node that ends the run with this output.
    pub fn end_with(output: impl Into<Value>) -> Self {
        let mut node = Self::end();
        node.0.set("output", output);
        node
    }

    /// Creates a node that asks a person; the answer is its result. `ask` is the mapping of the document: `{question,
    /// about, choices, other, schema, timeout, default}`.
    pub fn ask(ask: impl Into<Value>) -> Self {
        let mut fields = MappingFields::default();
        fields.set("type", "ask");
        fields.set("ask", ask);
        Self(fields)
    }

    /// Creates a node that waits. `wait` is its mapping, such as `{"for": "10m"}` or `{"event": "paid", "match": {"order": 17}}`.
    pub fn wait(wait: impl Into<Value>) -> Self {
        let mut fields = MappingFields::default();
        fields.set("type", "wait");
        fields.set("wait", wait);
        Self(fields)
    }

    /// Creates a node that fails with this category and message.
    pub fn fail(category: Category, message: &str) -> Self {
        let mut fields = MappingFields::default();
        fields.set("type", "fail");
        fields.set("fail", serde_json::json!({ "category": category.as_str(), "message": message }));
        Self(fields)
    }

    /// Sets whether a `foreach` processes the elements in parallel. By default they are processed one after the other.
    #[must_use]
    pub fn parallel(mut self, parallel: bool) -> Self {
        self.0.set("parallel", parallel);
        self
    }

    /// Sets the number of elements that each task of a `foreach` receives, as a list. By default a task receives one element.
    #[must_use]
    pub fn batch(mut self, elements: u64) -> Self {
        self.0.set("batch", elements);
        self
    }

    /// Sets the channel that receives the results of a `foreach` in the order of the elements.
    #[must_use]
    pub fn collect(mut self, channel: &str) -> Self {
        self.0.set("collect", channel);
        self
    }

    /// Sets the policy of a `foreach` for the failure of an element.
    #[must_use]
    pub fn on_item_error(mut self, policy: OnItemError) -> Self {
        self.0.set("on_item_error", policy.as_str());
        self
    }

    /// Writes a value to a channel once the action is done; a template can read `result`.
    #[must_use]
    pub fn assign(mut self, channel: &str, value: impl Into<Value>) -> Self {
        self.0.set_inside("assign", channel, Node::from_json(&value.into()));
        self
    }

    /// Replaces the value of a channel that has a reducer.
    #[must_use]
    pub fn overwrite(self, channel: &str, value: impl Into<Value>) -> Self {
        let value: Value = value.into();
        self.assign(channel, serde_json::json!({ "overwrite": value }))
    }

    /// Sets the node that follows when the action has failed for good.
    #[must_use]
    pub fn on_error(mut self, node: &str) -> Self {
        self.0.set("on_error", node);
        self
    }

    /// Tries a failed attempt again.
    #[must_use]
    pub fn retry(mut self, policy: Retry) -> Self {
        self.0.set_node("retry", policy.into_node());
        self
    }

    /// Limits the fuel of an attempt, below the manifest's limit.
    #[must_use]
    pub fn fuel(mut self, fuel: u64) -> Self {
        self.0.set("fuel", fuel);
        self
    }

    /// Limits the linear memory of an attempt, in bytes, below the manifest's limit.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.0.set("memory", bytes);
        self
    }

    /// Limits the time of an attempt, in whole milliseconds, below the manifest's limit.
    #[must_use]
    pub fn timeout(mut self, span: Duration) -> Self {
        self.0.set("timeout", duration(span));
        self
    }

    /// Limits the time of an attempt by a template, which gives a duration, a number of seconds, or null.
    #[must_use]
    pub fn timeout_from(mut self, template: impl Into<String>) -> Self {
        self.0.set("timeout", template.into());
        self
    }

    /// Limits the use of language models by each task, below the manifest's limits: all its attempts together, or the whole child run.
    #[must_use]
    pub fn model_limits(mut self, limits: ModelLimits) -> Self {
        if let Some(model) = model_limits(limits) {
            self.0.set_inside("limits", "model", model);
        }
        self
    }

    /// Limits one figure of the use of language models by a template, which gives a number or null.
    #[must_use]
    pub fn model_limit_from(mut self, figure: ModelFigure, template: impl Into<String>) -> Self {
        let mut model =
            MappingFields::from_node(self.0.get("limits").and_then(|node| node.as_mapping()?.get("model")));
        model.set(figure.key(), template.into());
        self.0.set_inside("limits", "model", model.into_node());
        self
    }

    /// Defers the node: it runs only when nothing else is next.
    #[must_use]
    pub fn deferred(mut self) -> Self {
        self.0.set("defer", true);
        self
    }

    /// Pauses the run before the superstep in which the node is next.
    #[must_use]
    pub fn interrupt_before(self) -> Self {
        self.interrupt("before")
    }

    /// Pauses the run once the superstep of the node has committed.
    #[must_use]
    pub fn interrupt_after(self) -> Self {
        self.interrupt("after")
    }

    fn interrupt(mut self, at: &str) -> Self {
        self.0.extend("interrupt", [text(at)]);
        self
    }

    /// Permits commands of the node's item to lead to these nodes.
    #[must_use]
    pub fn command_destinations<N: Into<String>>(mut self, nodes: impl IntoIterator<Item = N>) -> Self {
        self.0.set_inside("command", "goto", list(names(nodes)));
        self
    }

    /// Permits commands of the node's item to write these channels.
    #[must_use]
    pub fn command_writes<N: Into<String>>(mut self, channels: impl IntoIterator<Item = N>) -> Self {
        self.0.set_inside("command", "write", list(names(channels)));
        self
    }

    /// Permits commands of the node's item to replace the values of these channels, which have a reducer.
    #[must_use]
    pub fn command_overwrites<N: Into<String>>(mut self, channels: impl IntoIterator<Item = N>) -> Self {
        self.0.set_inside("command", "overwrite", list(names(channels)));
        self
    }

    /// Narrows the permitted dispatches by patterns.
    #[must_use]
    pub fn may_dispatch<N: Into<String>>(mut self, patterns: impl IntoIterator<Item = N>) -> Self {
        self.0.set_inside("capabilities", "dispatch", list(names(patterns)));
        self
    }

    /// Narrows the permitted dispatches by a template, which gives a list of patterns, or null.
    #[must_use]
    pub fn may_dispatch_from(mut self, template: impl Into<String>) -> Self {
        self.0.set_inside("capabilities", "dispatch", text(&template.into()));
        self
    }

    /// Narrows the capabilities that the item may use: `filesystem`, `http`, ….
    #[must_use]
    pub fn may_use<N: Into<String>>(mut self, kinds: impl IntoIterator<Item = N>) -> Self {
        self.0.set_inside("capabilities", "interfaces", list(names(kinds)));
        self
    }

    /// Caches the node's result for this long: later dispatches with the same key use it.
    #[must_use]
    pub fn cache(mut self, ttl: Duration) -> Self {
        self.0.set_inside("cache", "ttl", text(&duration(ttl)));
        self
    }

    /// Adds a value to the key of the node's cached result, which already covers the item, its params, and its grant.
    #[must_use]
    pub fn cache_key(mut self, key: impl Into<Value>) -> Self {
        self.0.set_inside("cache", "key", Node::from_json(&key.into()));
        self
    }

    /// Stores the node's result for its next visit, in which templates read it as `node.previous`.
    #[must_use]
    pub fn feedback(mut self) -> Self {
        self.0.set_inside("revisit", "feedback", Node::from_json(&Value::Bool(true)));
        self
    }

    /// Sets metadata for tools, which the walker does not read.
    #[must_use]
    pub fn metadata(mut self, metadata: impl Into<Value>) -> Self {
        self.0.set("metadata", metadata);
        self
    }

    pub(super) const fn fields(&mut self) -> &mut MappingFields {
        &mut self.0
    }

    pub(super) fn into_node(self) -> Node {
        self.0.into_node()
    }
}

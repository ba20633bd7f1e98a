//! Reads the limits and the `capabilities` of nodes, and the limits of all nodes of a graph.

use std::time::Duration;

use super::scope::{DocumentReader, IN_ACTION};
use crate::graph::NodeTemplates;
use graph_core::capability::{DispatchPatterns, read_money};
use graph_core::diagnostic::Problems;
use graph_core::item::NodeCapabilities;
use graph_core::keys;
use graph_core::limits::{ModelFigure, ModelLimits, NodeLimits};
use graph_core::template::ValueTemplate;
use graph_core::yaml::{Fields, Node, Yaml};

/// Reads the templates of one node. They may read the same roots as its action's templates.
pub(super) struct TemplateReader<'a, 'n> {
    pub(super) reader: &'a DocumentReader<'n>,
    /// The name of a `foreach` item.
    pub(super) variable: Option<&'a str>,
}

/// A value of a node that may be a template.
enum TemplateValue {
    /// A constant, to be read by the caller.
    Constant,
    Template(ValueTemplate),
    /// A template that cannot be read; the problem was reported.
    Unreadable,
}

impl TemplateValue {
    fn template(self) -> Option<ValueTemplate> {
        match self {
            Self::Template(template) => Some(template),
            Self::Constant | Self::Unreadable => None,
        }
    }
}

impl TemplateReader<'_, '_> {
    fn read(&self, node: &Node) -> TemplateValue {
        if node.as_text().is_none_or(|text| !text.contains("${")) {
            return TemplateValue::Constant;
        }
        match self.reader.template(node, IN_ACTION, self.variable) {
            Some(template) if template.literal().is_some() => TemplateValue::Constant,
            Some(template) => TemplateValue::Template(template),
            None => TemplateValue::Unreadable,
        }
    }
}

/// Reads `limits` of a graph: constants, since they apply to every node, and to hooks.
pub(super) fn of_graph(node: &Node, problems: &Problems) -> NodeLimits {
    let Some(mut fields) = Fields::open(node, &keys::graph::LIMITS, "`limits`", problems) else {
        return NodeLimits::default();
    };
    let mut limits = constants(&mut fields);
    limits.timeout = positive(fields.get("timeout"), "`timeout`", problems);
    if let Some(mut fields) = fields.fields("model", &keys::graph::MODEL_LIMITS, "`model`") {
        limits.model = figures(&mut fields, None, &mut NodeTemplates::default());
        fields.finish();
    }
    fields.finish();
    limits
}

/// Reads the limits of a node.
pub(super) fn of_node(
    fields: &mut Fields<'_>,
    templates: &TemplateReader<'_, '_>,
    found: &mut NodeTemplates,
) -> NodeLimits {
    let problems = fields.problems();
    let mut limits = constants(fields);
    if let Some(node) = fields.get("timeout") {
        match templates.read(node) {
            TemplateValue::Constant => limits.timeout = positive(Some(node), "`timeout`", problems),
            value => found.timeout = value.template(),
        }
    }
    let budgets = fields.filled("limits");
    let budgets = budgets.and_then(|node| Fields::open(node, &keys::graph::BUDGETS, "`limits`", problems));
    let Some(mut budgets) = budgets else { return limits };
    if let Some(mut fields) = budgets.fields("model", &keys::graph::MODEL_BUDGETS, "`model`") {
        limits.model = figures(&mut fields, Some(templates), found);
        fields.finish();
    }
    budgets.finish();
    limits
}

/// Reads `fuel` and `memory`.
fn constants(fields: &mut Fields<'_>) -> NodeLimits {
    let problems = fields.problems();
    let fuel = fields.u64("fuel", 1..=u64::MAX);
    let memory = fields.get("memory").and_then(|node| {
        let size = node.size("`memory`", problems)?;
        if size == 0 {
            node.out_of_range("`memory` must be more than nothing", "at least 1 byte", problems);
        }
        (size > 0).then_some(size)
    });
    NodeLimits { fuel, memory, ..NodeLimits::default() }
}

/// Reads the figures of a budget of models.
fn figures(
    fields: &mut Fields<'_>,
    templates: Option<&TemplateReader<'_, '_>>,
    found: &mut NodeTemplates,
) -> ModelLimits {
    let mut limits = ModelLimits::default();
    for figure in ModelFigure::ALL {
        let key = figure.key();
        let value = fields.get(key).zip(templates).map(|(node, templates)| templates.read(node));
        if let Some(value @ (TemplateValue::Template(_) | TemplateValue::Unreadable)) = value {
            found.model.extend(value.template().map(|template| (figure, template)));
            continue;
        }
        let most = match figure {
            ModelFigure::Cost => read_money(fields, key),
            _ => fields.u64(key, 0..=u64::MAX),
        };
        limits.set(figure, most);
    }
    limits
}

/// Reads a duration that is not zero.
pub(super) fn positive(node: Option<&Node>, what: &str, problems: &Problems) -> Option<Duration> {
    let node = node?;
    let span = node.duration(what, problems)?;
    if span.is_zero() {
        node.out_of_range(&format!("{what} must be longer than nothing"), "at least 1ms", problems);
        return None;
    }
    Some(span)
}

/// Reads `{dispatch, interfaces}`, a list of dispatch patterns, or a template for such a list.
pub(super) fn capabilities(
    node: &Node,
    templates: &TemplateReader<'_, '_>,
    found: &mut NodeTemplates,
) -> Option<NodeCapabilities> {
    let problems = templates.reader.problems;
    if let value @ (TemplateValue::Template(_) | TemplateValue::Unreadable) = templates.read(node) {
        found.dispatch = value.template();
        return None;
    }
    if matches!(node.value, Yaml::List(_)) {
        return Some(NodeCapabilities {
            dispatch: patterns(node, "`capabilities`", problems),
            interfaces: None,
        });
    }
    let mut fields = Fields::open(node, &keys::graph::CAPABILITIES, "`capabilities`", problems)?;
    let dispatch = fields.get("dispatch").and_then(|node| match templates.read(node) {
        TemplateValue::Constant => patterns(node, "`dispatch`", problems),
        value => {
            found.dispatch = value.template();
            None
        }
    });
    let interfaces = fields.get("interfaces").and_then(|node| {
        for item in node.list("`interfaces`", problems)? {
            item.choice("`interfaces`", &keys::graph::INTERFACES.map(|name| (name, ())), problems);
        }
        Some(node.as_list()?.iter().filter_map(Node::as_text).map(str::to_owned).collect())
    });
    fields.finish();
    Some(NodeCapabilities { dispatch, interfaces })
}

/// Reads a list of dispatch patterns. A list with an invalid pattern permits nothing.
fn patterns(node: &Node, what: &str, problems: &Problems) -> Option<DispatchPatterns> {
    let found = node.texts(what, problems)?;
    for (text, node) in &found {
        if text.trim().is_empty() {
            node.out_of_range(&format!("{what} has an empty entry"), "a pattern", problems);
        }
    }
    Some(DispatchPatterns::parse(found.iter().map(|(text, _)| *text)).unwrap_or_default())
}

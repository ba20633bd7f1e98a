//! The attempts and hooks that were handed out and have not been answered, and what their components may do.

use std::collections::BTreeMap;
use std::sync::Arc;

use graph_core::capability::{EffectiveGrant, check_call};
use graph_core::digest::Digest;
use graph_core::item::NodeCapabilities;
use graph_core::limits::NodeLimits;
use graph_walker::graph::Node;
use graph_walker::walker::TaskSpec;

use crate::trust::Component;
use crate::{Problem, read};

/// Dispatches without an answer, by task or by call of a hook.
#[derive(Debug, Default)]
pub(super) struct Dispatches(BTreeMap<Arc<str>, Dispatch>);

#[derive(Debug)]
struct Dispatch {
    spec: TaskSpec,
    /// `true` for a hook: its grant does not depend on a node.
    is_hook: bool,
}

impl Dispatch {
    fn node(&self) -> Option<&Node> {
        (!self.is_hook).then(|| self.spec.graph.node(self.spec.node))
    }

    fn capabilities(&self) -> Option<&NodeCapabilities> {
        self.node().and_then(|node| node.capabilities.as_ref())
    }

    fn limits(&self) -> NodeLimits {
        self.node().map_or_else(NodeLimits::default, |node| node.limits)
    }
}

impl Dispatches {
    pub(super) fn insert(&mut self, spec: TaskSpec, is_hook: bool) {
        self.0.insert(spec.activation.task.as_str().into(), Dispatch { spec, is_hook });
    }

    pub(super) fn remove(&mut self, task: &str) {
        self.0.remove(task);
    }

    fn get(&self, task: &str) -> Result<&Dispatch, Problem> {
        let missing = || Problem::new("not_found", format!("no attempt of task `{task}` is under way"));
        self.0.get(task).ok_or_else(missing)
    }

    /// Returns the grant of a verified component for a task or a hook, as JSON.
    pub(super) fn grant(&self, task: &str, component: &Component) -> Result<String, Problem> {
        let dispatch = self.get(task)?;
        component.granted(&dispatch.spec.manifest, dispatch.capabilities(), dispatch.limits(), None)
    }

    /// Returns the digest of what the results of a component depend on, in addition to the task's input.
    pub(super) fn performer(
        &self,
        task: &str,
        component: &Component,
        engine: &Digest,
    ) -> Result<Digest, Problem> {
        let dispatch = self.get(task)?;
        component.performer(&dispatch.spec.manifest, dispatch.capabilities(), dispatch.limits(), engine)
    }

    /// Checks whether a component that performs a task may call an item at this depth of calls.
    pub(super) fn check_call(&self, task: &str, item: &str, depth: u32) -> Result<(), Problem> {
        let dispatch = self.get(task)?;
        let spec = &dispatch.spec;
        check_call(&spec.manifest, dispatch.capabilities(), spec.narrowing.as_deref(), item, depth)
            .map_err(|failure| Problem::new(failure.category.as_str(), failure.message))
    }

    /// Returns the grant of a component that another one calls: at most `caller`, the grant of that one as JSON.
    pub(super) fn grant_call(
        &self,
        task: &str,
        component: &Component,
        caller: &str,
    ) -> Result<String, Problem> {
        let dispatch = self.get(task)?;
        let limits = dispatch.node().map_or(dispatch.spec.graph.limits, |node| node.limits);
        let caller: EffectiveGrant = read::document("grant", caller)?;
        component.granted(&dispatch.spec.manifest, dispatch.capabilities(), limits, Some(&caller))
    }
}

//! The executor of items for a program that performs other tasks itself.

use std::sync::Arc;

use graph_core::trust::TrustStore;
use graph_driver::TaskExecutor;
use graph_engine::{Engine, HttpDoubles, ModelDoubles};
use graph_walker::graph::Action;

use crate::error::Result;
use crate::executor::{ComponentExecutor, ExecutorParts};
use crate::items::locate::ItemLocator;
use crate::notice::NoticeObserver;
use crate::plan::Plan;
use crate::plan::manifest_authority::AcceptedManifest;
use crate::remedy::ManifestSuggestion;
use crate::runtime::bare::BareGraph;

/// Means to find, verify, link and execute items.
#[derive(Clone)]
pub struct ItemSources {
    /// Executes components.
    pub engine: Engine,
    /// Places that items are searched in.
    pub locator: ItemLocator,
    /// The keys that sign items.
    pub trust: TrustStore,
    /// Admits components without a signature: for components under development.
    pub allow_unsigned: bool,
    /// Receives the lines that components log.
    pub notices: Arc<dyn NoticeObserver>,
    /// Answers HTTP requests instead of the network.
    pub http: Option<Arc<dyn HttpDoubles>>,
    /// Answers requests instead of the language models.
    pub model: Option<Arc<dyn ModelDoubles>>,
}

impl ItemSources {
    /// Makes the executor of the actions in a graph that satisfy `wanted`. It fails if one of their items is missing, or
    /// needs a grant that the graph's manifest does not contain. This may compile components, which takes time.
    pub async fn executor(
        self,
        graph: &BareGraph,
        wanted: impl Fn(&Action) -> bool,
    ) -> Result<Arc<dyn TaskExecutor>> {
        let manifest = AcceptedManifest::given(Arc::clone(&graph.manifest));
        let components = crate::plan::engine::components(
            self.engine,
            self.locator,
            self.trust,
            manifest,
            self.allow_unsigned,
        );
        let plan = Plan::make_for(&graph.graph, &graph.graphs, &graph.hooks, &components, wanted).await;
        if let Some(refusal) = plan.refusal(ManifestSuggestion::default()) {
            return Err(refusal);
        }
        let parts = ExecutorParts { http: self.http, model: self.model, ..ExecutorParts::bare(self.notices) };
        Ok(Arc::new(ComponentExecutor::new(components, plan, parts)))
    }
}

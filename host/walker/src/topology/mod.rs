//! The shape of a graph, for people and pictures.

mod dot;
mod facts;
mod mermaid;
mod run;
mod shape;

pub use facts::{
    ModelBounds, NodeBounds, NodePolicy, TopologyCache, TopologyChannel, TopologyCommand, TopologyLimits,
    TopologyPolicies, TopologyReport, TopologyRetry,
};
pub use shape::{Topology, TopologyEdge, TopologyEdgeKind, TopologyKind, TopologyNode, VERSION};

#[cfg(test)]
mod tests;

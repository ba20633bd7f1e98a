//! The shape of a graph, for people and pictures.

mod dot;
mod mermaid;
mod run;
mod shape;

pub use shape::{Topology, TopologyEdge, TopologyEdgeKind, TopologyKind, TopologyNode};

#[cfg(test)]
mod tests;

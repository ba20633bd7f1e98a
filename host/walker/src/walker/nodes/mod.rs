//! Nodes of a graph: the values that they read, their permissions, and the nodes that follow them.

pub(super) mod approvals;
pub(super) mod ask;
pub(super) mod dispatch;
pub(super) mod feedback;
pub(super) mod routes;
pub(super) mod scope;
pub(super) mod wait;

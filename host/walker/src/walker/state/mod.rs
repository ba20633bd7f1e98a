//! The channels of a run, and the writes that change them.

pub(super) mod assigned_state;
pub(super) mod channels;
pub(super) mod reduce;
pub(super) mod writes;

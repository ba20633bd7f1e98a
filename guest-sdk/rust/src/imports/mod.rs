//! Functions of the host that the rest of the crate calls: in a component, its imports; on the machine, where the
//! generated functions would panic, those of a test's [`Host`](crate::testing::Host).

#[cfg(target_arch = "wasm32")]
mod component;
#[cfg(not(target_arch = "wasm32"))]
mod double;

#[cfg(all(feature = "model", target_arch = "wasm32"))]
pub(crate) use component::model;
#[cfg(target_arch = "wasm32")]
pub(crate) use component::{
    events, filesystem, http, knowledge, log, monotonic_clock, preopens, random, secrets, tools, wall_clock,
};
#[cfg(all(feature = "model", not(target_arch = "wasm32")))]
pub(crate) use double::model;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use double::{
    events, filesystem, http, knowledge, log, monotonic_clock, preopens, random, secrets, tools, wall_clock,
};

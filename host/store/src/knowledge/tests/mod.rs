#![allow(clippy::unwrap_used)]

mod entries;
mod migration;
mod ranking;
mod strangers;
mod support;

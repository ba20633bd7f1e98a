//! Digests, computed as the host computes them.

use std::collections::BTreeMap;

use graph_core::digest::Digest;
use graph_core::json;
use graph_core::record::{ChannelValue, DigestTree, ValueKind};
use graph_walker::walker::inputs_digest;

use crate::{Problem, read};

/// Canonical JSON (RFC 8785, with 64-bit integers written exactly).
pub fn canonical(value: &str) -> Result<String, Problem> {
    Ok(json::canonical_string(&read::value("value", value)?))
}

/// The digest of bytes.
pub fn of_bytes(bytes: &[u8]) -> String {
    Digest::of_bytes(bytes).to_string()
}

/// The digest of inputs, as checkpoints record it.
pub fn of_inputs(inputs: &str) -> Result<String, Problem> {
    Ok(inputs_digest(&read::value("inputs", inputs)?).to_string())
}

/// The digest of what a manifest allows, whatever its layout.
pub fn of_manifest(name: &str, folder: &str, text: &str) -> Result<String, Problem> {
    Ok(read::manifest(name, folder, text)?.digest().to_string())
}

/// The state digest of a checkpoint, from the digests of its channels.
pub fn of_state(channels: &str) -> Result<String, Problem> {
    let channels: BTreeMap<String, Digest> = read::document("digests of channels", channels)?;
    let mut tree = DigestTree::default();
    for (channel, digest) in channels {
        tree.set(&channel, digest);
    }
    Ok(tree.digest().to_string())
}

/// The digest of a channel once a value, or what an append channel gained, is in it.
pub fn of_channel(value: &str, segment: bool, before: Option<&str>) -> Result<String, Problem> {
    let before = before.map(|before| read::digest("digest before", before)).transpose()?;
    let kind = if segment { ValueKind::Segment } else { ValueKind::Whole };
    let json = canonical(value)?.into();
    Ok(ChannelValue { channel: String::new(), version: 0, kind, json }.digest(before.as_ref()).to_string())
}

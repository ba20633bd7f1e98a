//! Digests, computed as in the native host.

use std::collections::BTreeMap;

use graph_core::digest::Digest;
use graph_core::json;
use graph_core::record::{ChannelValue, DigestTree, ValueKind};
use graph_walker::walker::inputs_digest;

use crate::{Problem, read};

/// Returns canonical JSON (RFC 8785, with 64-bit integers written exactly).
pub fn canonical(value: &str) -> Result<String, Problem> {
    Ok(json::canonical_string(&read::value("value", value)?))
}

/// Returns the digest of bytes.
pub fn of_bytes(bytes: &[u8]) -> String {
    Digest::of_bytes(bytes).to_string()
}

/// Returns the digest of inputs, as checkpoints record it.
pub fn of_inputs(inputs: &str) -> Result<String, Problem> {
    Ok(inputs_digest(&read::value("inputs", inputs)?).to_string())
}

/// Returns the digest of the parsed content of a manifest: its layout does not matter.
pub fn of_manifest(name: &str, folder: &str, text: &str) -> Result<String, Problem> {
    Ok(read::manifest(name, folder, text)?.digest().to_string())
}

/// Returns the state digest of a checkpoint, from the digests of its channels.
pub fn of_state(channels: &str) -> Result<String, Problem> {
    let channels: BTreeMap<String, Digest> = read::document("digests of channels", channels)?;
    let mut tree = DigestTree::default();
    for (channel, digest) in channels {
        tree.set(&channel, digest);
    }
    Ok(tree.digest().to_string())
}

/// Returns the digest of a channel after a write: of a whole value, or of the segment that an append channel gained.
pub fn of_channel(value: &str, segment: bool, before: Option<&str>) -> Result<String, Problem> {
    let before = before.map(|before| read::digest("digest before", before)).transpose()?;
    let kind = if segment { ValueKind::Segment } else { ValueKind::Whole };
    let json = canonical(value)?.into();
    Ok(ChannelValue { channel: String::new(), version: 0, kind, json }.digest(before.as_ref()).to_string())
}

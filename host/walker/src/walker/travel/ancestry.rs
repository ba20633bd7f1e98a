//! Ancestry of a checkpoint: the checkpoints of its namespace that lead to it.

use graph_core::digest::Digest;
use graph_core::record::{Checkpoint, CheckpointPlace, Source};

/// Returns the indices of the checkpoints of a namespace that lead to the one at `at`, in order: an edit that goes back
/// skips everything since. `None` if an edit goes back to a checkpoint that is missing.
pub fn way_to(line: &[(Digest, Checkpoint)], at: usize) -> Option<Vec<usize>> {
    let (mut way, mut place) = (vec![at], at);
    while place > 0 {
        place = match &line[place].1.source {
            Source::Update { restored: Some(restored), .. } => {
                let is_it = |(digest, checkpoint): &(Digest, Checkpoint)| {
                    checkpoint.sequence == restored.sequence && *digest == restored.digest
                };
                line[..place].iter().position(is_it)?
            }
            _ => place - 1,
        };
        way.push(place);
    }
    way.reverse();
    Some(way)
}

/// Returns the warnings of the checkpoints at these indices, and the newest of them that has any.
pub fn warnings_on(line: &[(Digest, Checkpoint)], way: &[usize]) -> (Vec<String>, Option<CheckpointPlace>) {
    let on_way = || way.iter().map(|place| &line[*place]);
    let warned = on_way().rev().find(|(_, checkpoint)| !checkpoint.warnings.is_empty());
    (
        on_way().flat_map(|(_, checkpoint)| checkpoint.warnings.iter().cloned()).collect(),
        warned.map(|(digest, checkpoint)| CheckpointPlace { digest: *digest, sequence: checkpoint.sequence }),
    )
}

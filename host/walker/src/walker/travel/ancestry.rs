//! Ancestry of a checkpoint: the checkpoints of its namespace that lead to it.

use graph_core::digest::Digest;
use graph_core::record::{Checkpoint, CheckpointPlace, Source};

/// Returns the indices of the checkpoints of a namespace that lead to the one at `at`, in order: an edit that goes back
/// skips everything since. `None` if an edit goes back to a checkpoint that is missing.
pub fn way_to(line: &[(Digest, Checkpoint)], at: usize) -> Option<Vec<usize>> {
    let (mut ancestry, mut place) = (vec![at], at);
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
        ancestry.push(place);
    }
    ancestry.reverse();
    Some(ancestry)
}

/// Returns the warnings of the checkpoints at these indices, and the newest of them that has any.
pub fn warnings_on(
    line: &[(Digest, Checkpoint)],
    ancestry: &[usize],
) -> (Vec<String>, Option<CheckpointPlace>) {
    let checkpoints = || ancestry.iter().map(|place| &line[*place]);
    let warned = checkpoints().rev().find(|(_, checkpoint)| !checkpoint.warnings.is_empty());
    (
        checkpoints().flat_map(|(_, checkpoint)| checkpoint.warnings.iter().cloned()).collect(),
        warned.map(|(digest, checkpoint)| CheckpointPlace { digest: *digest, sequence: checkpoint.sequence }),
    )
}

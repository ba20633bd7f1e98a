//! A run's checkpoints as a line that a person looks back along: which one is meant, and what led to it.

use std::collections::BTreeMap;
use std::fmt;

use super::checkpoint::{Checkpoint, Source};
use super::pruning::Pruning;

/// Which checkpoint of a run is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The newest.
    Newest,
    /// The one with this number.
    Sequence(u64),
    /// The one that the superstep of this number made, the newest where it ran more than once; 0 is the first
    /// checkpoint. What an update made of it has a number of its own.
    Step(u64),
    /// The newest one in which this node is next.
    Node(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newest => f.write_str("newest"),
            Self::Sequence(sequence) => write!(f, "{sequence}"),
            Self::Step(step) => write!(f, "step:{step}"),
            Self::Node(node) => write!(f, "node:{node}"),
        }
    }
}

/// What a checkpoint is recognised by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landmark {
    /// Its number.
    pub sequence: u64,
    /// Supersteps committed.
    pub step: u64,
    /// Whether a superstep made it, or the run, or the fork, began with it.
    pub is_boundary: bool,
    /// The run ended with it.
    pub is_end: bool,
    /// The nodes that are next, in task order, none twice in a row.
    pub next: Vec<String>,
    /// How many nodes had been visited and warnings raised on the way to it.
    ancestry: (usize, usize),
}

/// There is no such checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no checkpoint `{place}`: {known}")]
pub struct NotThere {
    /// What was asked for.
    pub place: Place,
    /// What there is.
    pub known: String,
}

/// A run's checkpoints, taken in order, with the nodes visited and the warnings raised on the way to the newest.
#[derive(Clone, Debug, Default)]
pub struct History {
    landmarks: BTreeMap<u64, Landmark>,
    visited: Vec<String>,
    warnings: Vec<String>,
    /// What an update that went back has left behind, with the number of that update.
    left: Vec<Left>,
    /// How many checkpoints were removed, and the number of the first that was kept.
    removed: Option<(u64, u64)>,
}

#[derive(Clone, Debug)]
struct Left {
    by: u64,
    from: (usize, usize),
    visited: Vec<String>,
    warnings: Vec<String>,
}

impl History {
    /// The history of a run whose first checkpoints were removed.
    pub fn after(pruning: &Pruning) -> Self {
        Self {
            visited: pruning.visited.clone(),
            warnings: pruning.warnings.clone(),
            removed: Some((pruning.removed, pruning.first_sequence)),
            ..Self::default()
        }
    }

    /// Takes the next checkpoint.
    pub fn push(&mut self, checkpoint: &Checkpoint) {
        if let Source::Update { restored: Some(restored), .. } = &checkpoint.source
            && let Some(found) = self.landmarks.get(&restored.sequence)
        {
            let (visited, warnings) = found.ancestry;
            self.left.push(Left {
                by: checkpoint.sequence,
                from: found.ancestry,
                visited: self.visited.split_off(visited.min(self.visited.len())),
                warnings: self.warnings.split_off(warnings.min(self.warnings.len())),
            });
        }
        self.visited.extend_from_slice(&checkpoint.visited);
        self.warnings.extend_from_slice(&checkpoint.warnings);
        let mut next: Vec<String> = checkpoint.next.iter().map(|next| next.node.clone()).collect();
        next.dedup();
        let landmark = Landmark {
            sequence: checkpoint.sequence,
            step: checkpoint.step,
            is_boundary: matches!(checkpoint.source, Source::Input | Source::Superstep | Source::Fork { .. }),
            is_end: checkpoint.end.is_some(),
            next,
            ancestry: (self.visited.len(), self.warnings.len()),
        };
        self.landmarks.insert(checkpoint.sequence, landmark);
    }

    /// The nodes visited on the way to the newest checkpoint, and the warnings raised.
    pub fn into_newest(self) -> (Vec<String>, Vec<String>) {
        (self.visited, self.warnings)
    }

    /// The nodes visited on the way to a checkpoint, and the warnings raised.
    pub fn up_to(mut self, sequence: u64) -> (Vec<String>, Vec<String>) {
        // Back before every update that came later: what it left behind stands again.
        while let Some(left) = self.left.pop_if(|left| left.by > sequence) {
            self.visited.truncate(left.from.0);
            self.visited.extend(left.visited);
            self.warnings.truncate(left.from.1);
            self.warnings.extend(left.warnings);
        }
        if let Some(landmark) = self.landmarks.get(&sequence) {
            self.visited.truncate(landmark.ancestry.0);
            self.warnings.truncate(landmark.ancestry.1);
        }
        (self.visited, self.warnings)
    }

    /// The checkpoint that is meant.
    pub fn find(&self, place: &Place) -> Result<&Landmark, NotThere> {
        let newest_first = || self.landmarks.values().rev();
        let found = match place {
            Place::Newest => newest_first().next(),
            Place::Sequence(sequence) => self.landmarks.get(sequence),
            Place::Step(step) => newest_first()
                .find(|landmark| landmark.is_boundary && landmark.step == *step)
                .or_else(|| newest_first().find(|landmark| landmark.step == *step)),
            Place::Node(node) => newest_first().find(|landmark| landmark.next.contains(node)),
        };
        found.ok_or_else(|| {
            let removed = self.removed.map(|(count, first)| match count {
                1 => format!("; the one before checkpoint {first} was removed"),
                _ => format!("; the {count} before checkpoint {first} were removed"),
            });
            let known = self.known(place) + removed.as_deref().unwrap_or_default();
            NotThere { place: place.clone(), known }
        })
    }

    fn known(&self, place: &Place) -> String {
        if self.landmarks.is_empty() {
            return "the run has none yet".to_owned();
        }
        match place {
            Place::Newest | Place::Sequence(_) => match ranges(self.landmarks.keys().copied()) {
                only if self.landmarks.len() == 1 => format!("this run has {only} alone"),
                all => format!("those of this run are {all}"),
            },
            Place::Step(_) => {
                let mut steps: Vec<u64> = self.landmarks.values().map(|landmark| landmark.step).collect();
                steps.sort_unstable();
                steps.dedup();
                match steps.as_slice() {
                    [only] => format!("step {only} alone is there"),
                    _ => format!("the steps that are there are {}", ranges(steps)),
                }
            }
            Place::Node(_) => {
                let mut nodes: Vec<&str> =
                    self.landmarks.values().flat_map(|landmark| &landmark.next).map(String::as_str).collect();
                nodes.sort_unstable();
                nodes.dedup();
                if nodes.is_empty() {
                    return "no node is next in any of them".to_owned();
                }
                let named: Vec<_> = nodes.iter().map(|node| format!("`{node}`")).collect();
                format!("the nodes that are next in one are {}", named.join(", "))
            }
        }
    }
}

/// Rising numbers in a short form: `0 to 4, 7`.
fn ranges(numbers: impl IntoIterator<Item = u64>) -> String {
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match spans.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => spans.push((number, number)),
        }
    }
    let shown: Vec<_> = spans
        .iter()
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first}, {last}"),
            _ => format!("{first} to {last}"),
        })
        .collect();
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_ranges() {
        assert_eq!(ranges([0, 1, 2, 5, 7, 8]), "0 to 2, 5, 7, 8");
        assert_eq!(ranges([u64::MAX]), u64::MAX.to_string());
    }
}

//! Selection of a checkpoint of a run by a user.

use std::collections::BTreeSet;
use std::fmt;

use super::checkpoint::Checkpoint;
use super::pruning::Pruning;

/// A user's selection of a checkpoint of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointSelector {
    /// The newest checkpoint of the namespace.
    Newest,
    /// The checkpoint with this number.
    Sequence(u64),
    /// The checkpoint that the superstep with this number made, the newest if there are several; 0 is the first checkpoint. A checkpoint
    /// that an update made is selected by its own number only.
    Step(u64),
    /// The newest checkpoint in which this node is next.
    Node(String),
}

impl fmt::Display for CheckpointSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newest => f.write_str("newest"),
            Self::Sequence(sequence) => write!(f, "{sequence}"),
            Self::Step(step) => write!(f, "step:{step}"),
            Self::Node(node) => write!(f, "node:{node}"),
        }
    }
}

/// A selected checkpoint was not found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no checkpoint `{place}`: {known}")]
pub struct NoSuchCheckpoint {
    /// The selector.
    pub place: CheckpointSelector,
    /// The checkpoints that exist.
    pub known: String,
}

/// The checkpoints of a run, for the message about one that was not found.
#[derive(Clone, Debug, Default)]
pub struct Landmarks {
    sequences: Spans,
    steps: Spans,
    /// The nodes that are next in some checkpoint.
    next: BTreeSet<String>,
    /// Number of removed checkpoints, and the number of the first remaining one.
    removed: Option<(u64, u64)>,
}

impl Landmarks {
    /// Creates the landmarks of a run whose first checkpoints may have been removed.
    pub fn after(pruning: Option<&Pruning>) -> Self {
        let removed = pruning.map(|pruning| (pruning.removed, pruning.first_sequence));
        Self { removed, ..Self::default() }
    }

    /// Adds a checkpoint of the history.
    pub fn add(&mut self, checkpoint: &Checkpoint) {
        self.sequences.add(checkpoint.sequence);
        self.steps.add(checkpoint.step);
        for next in &checkpoint.next {
            if !self.next.contains(&next.node) {
                self.next.insert(next.node.clone());
            }
        }
    }

    /// Creates the error of a search without a result.
    pub fn lack(&self, place: &CheckpointSelector) -> NoSuchCheckpoint {
        let removed = self.removed.map(|(count, first)| match count {
            1 => format!("; the one before checkpoint {first} was removed"),
            _ => format!("; the {count} before checkpoint {first} were removed"),
        });
        NoSuchCheckpoint {
            place: place.clone(),
            known: self.known(place) + removed.as_deref().unwrap_or_default(),
        }
    }

    fn known(&self, place: &CheckpointSelector) -> String {
        if self.sequences.0.is_empty() {
            return "the run has none yet".to_owned();
        }
        match place {
            CheckpointSelector::Newest | CheckpointSelector::Sequence(_) => match self.sequences.only() {
                Some(only) => format!("this run has {only} alone"),
                None => format!("those of this run are {}", self.sequences),
            },
            CheckpointSelector::Step(_) => match self.steps.only() {
                Some(only) => format!("step {only} alone is there"),
                None => format!("the steps that are there are {}", self.steps),
            },
            CheckpointSelector::Node(_) if self.next.is_empty() => {
                "no node is next in any of them".to_owned()
            }
            CheckpointSelector::Node(_) => {
                let named: Vec<_> = self.next.iter().map(|node| format!("`{node}`")).collect();
                format!("the nodes that are next in one are {}", named.join(", "))
            }
        }
    }
}

/// Numbers as spans from first to last, in rising order and with gaps between them.
#[derive(Clone, Debug, Default)]
struct Spans(Vec<(u64, u64)>);

impl Spans {
    fn add(&mut self, number: u64) {
        let at = self.0.partition_point(|(_, last)| last.saturating_add(1) < number);
        let follows = self.0.get(at + 1).is_some_and(|(first, _)| number.checked_add(1) == Some(*first));
        match self.0.get_mut(at) {
            Some((first, last)) if (*first..=*last).contains(&number) => {}
            Some((_, last)) if last.checked_add(1) == Some(number) => {
                *last = number;
                if follows {
                    let (_, end) = self.0.remove(at + 1);
                    self.0[at].1 = end;
                }
            }
            Some((first, _)) if number.checked_add(1) == Some(*first) => *first = number,
            _ => self.0.insert(at, (number, number)),
        }
    }

    /// Returns the number, if there is only one.
    fn only(&self) -> Option<u64> {
        match self.0.as_slice() {
            [(first, last)] if first == last => Some(*first),
            _ => None,
        }
    }
}

/// Writes a short form: `0 to 4, 7`.
impl fmt::Display for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (first, last)) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            match last - first {
                0 => write!(f, "{comma}{first}")?,
                1 => write!(f, "{comma}{first}, {last}")?,
                _ => write!(f, "{comma}{first} to {last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_spans_in_whatever_order_they_come() {
        let shown = |numbers: &[u64]| {
            let mut spans = Spans::default();
            for number in numbers {
                spans.add(*number);
            }
            spans.to_string()
        };
        assert_eq!(shown(&[0, 1, 2, 5, 7, 8]), "0 to 2, 5, 7, 8");
        assert_eq!(shown(&[8, 1, 7, 0, 2, 5, 1, 8]), "0 to 2, 5, 7, 8");
        assert_eq!(shown(&[3, 5, 4]), "3 to 5");
        assert_eq!(shown(&[u64::MAX, u64::MAX]), u64::MAX.to_string());
        assert_eq!(shown(&[u64::MAX, u64::MAX - 1]), format!("{}, {}", u64::MAX - 1, u64::MAX));
    }
}

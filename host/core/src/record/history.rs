//! A run's checkpoints as a line that a person looks back along: which one is meant, and what led to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

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
    /// The nodes that are next, in task order, none twice in a row. Checkpoints with the same nodes share them.
    pub next: Arc<[String]>,
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
///
/// A checkpoint takes up less than a hundred bytes here: texts that come again and again, such as the names of nodes in a
/// loop, are kept once.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// In rising order of their numbers.
    landmarks: Vec<Landmark>,
    visited: Vec<u32>,
    warnings: Vec<u32>,
    /// What an update that went back has left behind, with the number of that update.
    left: Vec<Left>,
    /// How many checkpoints were removed, and the number of the first that was kept.
    removed: Option<(u64, u64)>,
    texts: Texts,
    next: BTreeSet<Arc<[String]>>,
}

#[derive(Clone, Debug)]
struct Left {
    by: u64,
    from: (usize, usize),
    visited: Vec<u32>,
    warnings: Vec<u32>,
}

/// Texts by number, each of them once.
#[derive(Clone, Debug, Default)]
struct Texts {
    numbers: BTreeMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

impl Texts {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        // No run has so many different ones: memory ends before.
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, number);
        number
    }

    fn numbers<'t>(&mut self, texts: impl IntoIterator<Item = &'t String>) -> Vec<u32> {
        texts.into_iter().map(|text| self.number(text)).collect()
    }

    fn all(&self, numbers: &[u32]) -> Vec<String> {
        numbers.iter().filter_map(|number| Some(self.texts.get(*number as usize)?.to_string())).collect()
    }
}

impl History {
    /// The history of a run whose first checkpoints were removed.
    pub fn after(pruning: &Pruning) -> Self {
        let mut history =
            Self { removed: Some((pruning.removed, pruning.first_sequence)), ..Self::default() };
        history.visited = history.texts.numbers(&pruning.visited);
        history.warnings = history.texts.numbers(&pruning.warnings);
        history
    }

    /// Takes the next checkpoint.
    pub fn push(&mut self, checkpoint: &Checkpoint) {
        if let Source::Update { restored: Some(restored), .. } = &checkpoint.source
            && let Some(from) = self.at(restored.sequence).map(|found| found.ancestry)
        {
            let (visited, warnings) = from;
            self.left.push(Left {
                by: checkpoint.sequence,
                from,
                visited: self.visited.split_off(visited.min(self.visited.len())),
                warnings: self.warnings.split_off(warnings.min(self.warnings.len())),
            });
        }
        self.visited.extend(self.texts.numbers(&checkpoint.visited));
        self.warnings.extend(self.texts.numbers(&checkpoint.warnings));
        let mut next: Vec<String> = checkpoint.next.iter().map(|next| next.node.clone()).collect();
        next.dedup();
        let next = if let Some(known) = self.next.get(next.as_slice()) {
            Arc::clone(known)
        } else {
            let next: Arc<[String]> = next.into();
            self.next.insert(Arc::clone(&next));
            next
        };
        let landmark = Landmark {
            sequence: checkpoint.sequence,
            step: checkpoint.step,
            is_boundary: matches!(checkpoint.source, Source::Input | Source::Superstep | Source::Fork { .. }),
            is_end: checkpoint.end.is_some(),
            next,
            ancestry: (self.visited.len(), self.warnings.len()),
        };
        self.landmarks.push(landmark);
    }

    fn at(&self, sequence: u64) -> Option<&Landmark> {
        let place = self.landmarks.binary_search_by_key(&sequence, |landmark| landmark.sequence).ok()?;
        self.landmarks.get(place)
    }

    /// The nodes visited on the way to the newest checkpoint, and the warnings raised.
    pub fn into_newest(self) -> (Vec<String>, Vec<String>) {
        self.newest(usize::MAX, usize::MAX)
    }

    /// The first of the nodes visited on the way to the newest checkpoint, and of the warnings raised: at most so many of
    /// each.
    pub fn newest(&self, visited: usize, warnings: usize) -> (Vec<String>, Vec<String>) {
        let first = |numbers: &[u32], most: usize| self.texts.all(&numbers[..numbers.len().min(most)]);
        (first(&self.visited, visited), first(&self.warnings, warnings))
    }

    /// How many nodes were visited on the way to the newest checkpoint, and how many warnings were raised.
    pub fn lengths(&self) -> (usize, usize) {
        (self.visited.len(), self.warnings.len())
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
        if let Some((visited, warnings)) = self.at(sequence).map(|landmark| landmark.ancestry) {
            self.visited.truncate(visited);
            self.warnings.truncate(warnings);
        }
        self.into_newest()
    }

    /// The checkpoint that is meant.
    pub fn find(&self, place: &Place) -> Result<&Landmark, NotThere> {
        let newest_first = || self.landmarks.iter().rev();
        let found = match place {
            Place::Newest => newest_first().next(),
            Place::Sequence(sequence) => self.at(*sequence),
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
            Place::Newest | Place::Sequence(_) => {
                match ranges(self.landmarks.iter().map(|landmark| landmark.sequence)) {
                    only if self.landmarks.len() == 1 => format!("this run has {only} alone"),
                    all => format!("those of this run are {all}"),
                }
            }
            Place::Step(_) => {
                let mut steps: Vec<u64> = self.landmarks.iter().map(|landmark| landmark.step).collect();
                steps.sort_unstable();
                steps.dedup();
                match steps.as_slice() {
                    [only] => format!("step {only} alone is there"),
                    _ => format!("the steps that are there are {}", ranges(steps)),
                }
            }
            Place::Node(_) => {
                let nodes: BTreeSet<&str> =
                    self.next.iter().flat_map(|next| next.iter()).map(String::as_str).collect();
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

//! Entries of a manifest that are equally specific and cover the same items.

use std::collections::BTreeMap;

use super::super::item::ItemPattern;

/// Limit on the work of all comparisons of a manifest, in pairs of parts of patterns: enough for a thousand patterns of 16 parts with the
/// same beginning, each compared with each.
const MOST_WORK: u64 = 200_000_000;
/// Largest number of reported pairs.
const MOST_PAIRS: usize = 200;

/// Pairs of patterns that are equally specific for some item.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AmbiguousPatterns {
    /// The indices of two patterns, the smaller one first; ordered by the greater one.
    pub(super) pairs: Vec<(usize, usize)>,
    /// The index of the pattern at which the comparison stopped.
    pub(super) stopped_at: Option<usize>,
    /// Number of compared pairs.
    pub(super) compared: u64,
    /// The work of these comparisons, in pairs of parts.
    pub(super) work: u64,
}

impl AmbiguousPatterns {
    /// Compares the patterns that can overlap: those that are equally specific and begin with the same characters.
    pub(super) fn among(patterns: &[&ItemPattern]) -> Self {
        let mut found = Self::default();
        let mut places: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, pattern) in patterns.iter().enumerate() {
            places.entry(pattern.meeting_place()).or_default().push(at);
        }
        'all: for group in places.values() {
            for (nth, two) in group.iter().enumerate() {
                for one in &group[..nth] {
                    let work = patterns[*one].overlap_work(patterns[*two]);
                    if found.work.saturating_add(work) > MOST_WORK {
                        found.stopped_at = Some(*two);
                        break 'all;
                    }
                    found.work += work;
                    found.compared += 1;
                    if patterns[*one].overlaps(patterns[*two]) {
                        found.pairs.push((*one, *two));
                    }
                }
                if found.pairs.len() >= MOST_PAIRS {
                    break 'all;
                }
            }
        }
        found.pairs.sort_unstable_by_key(|(one, two)| (*two, *one));
        found
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn among(texts: impl IntoIterator<Item = String>) -> (usize, AmbiguousPatterns) {
        let patterns: Vec<_> = texts.into_iter().map(|text| ItemPattern::parse(&text).unwrap()).collect();
        (patterns.len(), AmbiguousPatterns::among(&patterns.iter().collect::<Vec<_>>()))
    }

    #[test]
    fn only_patterns_that_can_meet_are_compared() {
        for (count, texts) in [
            (4_000, Box::new(|at| format!("acme/n{at}")) as Box<dyn Fn(u32) -> String>),
            (4_000, Box::new(|at| format!("acme/n{at:05}/*"))),
            (4_000, Box::new(|at| format!("n{at:05}{}*", "x".repeat(200)))),
            (4_000, Box::new(|at| format!("acme/*#f{at}"))),
            (200, Box::new(|at| format!("{}*", "x".repeat(at as usize + 1)))),
            (200, Box::new(|at| format!("*{}", "x".repeat(at as usize + 1)))),
            (120, Box::new(|at| format!("*{}", "?".repeat(at as usize + 1)).replace("??", "?/?"))),
        ] {
            let (number, found) = among((0..count).map(&texts));
            assert_eq!(number, count as usize);
            assert!(
                found.compared <= u64::from(count) && found.stopped_at.is_none(),
                "{}: {found:?}",
                texts(7)
            );
        }
    }

    #[test]
    fn the_work_of_all_comparisons_is_bounded() {
        for texts in [
            Box::new(|at| format!("{}{at:03}", "*a".repeat(100))) as Box<dyn Fn(u32) -> String>,
            Box::new(|at| format!("acme/{}{at:03}", "?".repeat(240))),
            Box::new(|at| format!("acme/{}[ab]{at:03}*", "?".repeat(200))),
            Box::new(|at| format!("{}{at:03}", "*[!x]?".repeat(40))),
        ] {
            let (_, found) = among((0..1_000).map(&texts));
            assert!(found.work <= MOST_WORK && found.stopped_at.is_some(), "{found:?}");
        }
        // Nobody reads a thousand messages.
        let (_, alike) = among((0..1_000).map(|at| format!("*/{at:03}/*")));
        assert!(
            (MOST_PAIRS..MOST_PAIRS + 100).contains(&alike.pairs.len()) && alike.compared < 400,
            "{alike:?}"
        );
    }

    #[test]
    fn pairs_come_in_the_order_of_the_document() {
        let (_, found) = among(["b/?", "a/[xy]", "b/[xy]", "a/?", "a/b", "a/[b]"].map(str::to_owned));
        assert_eq!(found.pairs, [(0, 2), (1, 3), (4, 5)]);
    }
}

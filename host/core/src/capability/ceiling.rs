//! An upper bound on what a component may ever be granted.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::CapabilityKind;
use crate::limits::TaskLimits;

/// The upper bound on the grant of a component, whatever a manifest says: its signed statement has one, and the trust store has one for
/// each key. Both apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// The kinds that may be granted. [`CapabilityKind::Log`] is always among them.
    pub kinds: BTreeSet<CapabilityKind>,
    /// Limits of a task; `None`: only the manifest limits a task.
    #[serde(default, deserialize_with = "crate::limits::stated", skip_serializing_if = "Option::is_none")]
    pub limits: Option<TaskLimits>,
}

impl Ceiling {
    /// Creates a ceiling of these kinds and logging, without limits.
    pub fn from_kinds(kinds: impl IntoIterator<Item = CapabilityKind>) -> Self {
        let mut kinds: BTreeSet<_> = kinds.into_iter().collect();
        kinds.insert(CapabilityKind::Log);
        Self { kinds, limits: None }
    }

    /// Returns the ceiling that allows only what both allow.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self {
            kinds: self.kinds.intersection(&other.kinds).copied().collect(),
            limits: match (self.limits, other.limits) {
                (Some(one), Some(two)) => Some(one.min(two)),
                (one, two) => one.or(two),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intersection_is_never_wider_than_either() {
        let small = TaskLimits { fuel: 5, ..TaskLimits::DEFAULT };
        let one = Ceiling {
            limits: Some(small),
            ..Ceiling::from_kinds([CapabilityKind::Clocks, CapabilityKind::Random])
        };
        let two = Ceiling::from_kinds([CapabilityKind::Clocks, CapabilityKind::Filesystem]);
        let both = one.intersection(&two);
        assert_eq!(both.kinds, BTreeSet::from([CapabilityKind::Log, CapabilityKind::Clocks]));
        assert_eq!(both.limits, Some(small));
        assert_eq!(both, two.intersection(&one));
        let other = Ceiling { limits: Some(TaskLimits { output: 1, ..TaskLimits::DEFAULT }), ..one.clone() };
        assert_eq!(
            one.intersection(&other).limits,
            Some(TaskLimits { fuel: 5, output: 1, ..TaskLimits::DEFAULT })
        );
    }
}

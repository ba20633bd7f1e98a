//! Range of counted amounts.

/// Largest amount that is stored. Stores have signed columns of 64 bits, and `u64::MAX` means no limit.
pub const LARGEST_FIGURE: u64 = i64::MAX as u64;

/// Adds two figures, at most [`LARGEST_FIGURE`]. A figure of `u64::MAX`, which means no limit, is kept.
pub(super) fn sum(a: u64, b: u64) -> u64 {
    let sum = a.saturating_add(b);
    if sum <= LARGEST_FIGURE || a == u64::MAX || b == u64::MAX { sum } else { LARGEST_FIGURE }
}

/// Limits a used amount, from any source, to [`LARGEST_FIGURE`].
pub(super) fn counted(figure: u64) -> u64 {
    if figure <= LARGEST_FIGURE { figure } else { LARGEST_FIGURE }
}

#[cfg(test)]
mod tests {
    use super::super::{HostUse, ModelUse};
    use super::*;

    #[test]
    fn a_sum_of_figures_is_a_figure() {
        assert_eq!(sum(1, 2), 3);
        assert_eq!(sum(LARGEST_FIGURE, 0), LARGEST_FIGURE);
        for (a, b) in [(LARGEST_FIGURE, 1), (LARGEST_FIGURE, LARGEST_FIGURE), (1, u64::MAX - 1)] {
            assert_eq!((sum(a, b), sum(b, a)), (LARGEST_FIGURE, LARGEST_FIGURE), "{a} + {b}");
        }
        assert_eq!((sum(u64::MAX, 0), sum(5, u64::MAX)), (u64::MAX, u64::MAX), "no limit stays none");
    }

    #[test]
    fn what_was_used_is_a_figure_whoever_says_it() {
        let all = HostUse {
            calls: u64::MAX,
            bytes: u64::MAX - 1,
            fuel: LARGEST_FIGURE + 1,
            stored: 7,
            model: ModelUse::UNBOUNDED,
        };
        let counted = all.counted();
        assert_eq!(
            [counted.calls, counted.bytes, counted.fuel, counted.stored, counted.model.calls],
            [LARGEST_FIGURE, LARGEST_FIGURE, LARGEST_FIGURE, 7, LARGEST_FIGURE]
        );
        assert_eq!(counted.plus(counted), HostUse { stored: 14, ..counted });
        assert_eq!(counted.less(counted), HostUse::NOTHING, "it is no limit that stays one");
    }
}

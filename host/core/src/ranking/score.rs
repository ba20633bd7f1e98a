//! The score of an entry: `bm25`, from the counts of a query's phrases.

/// `k1` of `bm25`: the weight of repeated phrases.
const K1: f64 = 1.2;
/// `b` of `bm25`: the reduction in long entries.
const B: f64 = 0.75;
/// Least weight of a phrase, for one that most entries contain.
const LEAST: f64 = 1e-6;

/// Totals of all entries of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The number of entries.
    pub entries: u32,
    /// The words of all entries together.
    pub words: u32,
}

/// The weight of each phrase of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    phrases: Vec<f64>,
    /// The words of an entry, on average.
    average: f64,
}

impl Weights {
    /// Computes the weights from the number of entries that contain each phrase: a rarer one has a larger weight.
    pub fn new(totals: Totals, holding: &[u32]) -> Self {
        let weight = |holding: &u32| {
            let (entries, holding) = (f64::from(totals.entries.max(*holding)), f64::from(*holding));
            ln((entries - holding + 0.5) / (holding + 0.5)).max(LEAST)
        };
        let average = f64::from(totals.words.max(1)) / f64::from(totals.entries.max(1));
        Self { phrases: holding.iter().map(weight).collect(), average }
    }

    /// Returns the score of an entry, from its number of occurrences of each phrase, and its number of words. Higher is better.
    pub fn score(&self, counts: &[u32], words: u32) -> f64 {
        let length = K1 * (1.0 - B + B * f64::from(words) / self.average);
        let score = |(weight, count): (&f64, &u32)| {
            let count = f64::from(*count);
            weight * (count * (K1 + 1.0) / (count + length))
        };
        self.phrases.iter().zip(counts).map(score).sum()
    }
}

/// Computes the natural logarithm of a positive number that is neither tiny nor huge, by operations that every machine rounds alike: the
/// last bit of a machine's own library may differ. Like FreeBSD's `e_log.c`, within one unit in the last place.
fn ln(number: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    // In the order of their powers, from the second on.
    const SERIES: [f64; 7] = [
        6.666_666_666_666_735e-1,
        3.999_999_999_940_942e-1,
        2.857_142_874_366_239e-1,
        2.222_219_843_214_978_4e-1,
        1.818_357_216_161_805e-1,
        1.531_383_769_920_937_3e-1,
        1.479_819_860_511_658_6e-1,
    ];
    let (mut fraction, mut exponent) = (number, 0.0);
    while fraction > std::f64::consts::SQRT_2 {
        (fraction, exponent) = (fraction / 2.0, exponent + 1.0);
    }
    while fraction < std::f64::consts::FRAC_1_SQRT_2 {
        (fraction, exponent) = (fraction * 2.0, exponent - 1.0);
    }
    let above = fraction - 1.0;
    let half = 0.5 * above * above;
    let part = above / (2.0 + above);
    let square = part * part;
    let rest = SERIES.iter().rev().fold(0.0, |sum, factor| square * (factor + sum));
    part * (half + rest) + exponent * LN2_LOW - half + above + exponent * LN2_HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_exact_to_the_last_bit_but_one() {
        let mut number = 1e-7;
        while number < 1e8 {
            let (found, expected) = (ln(number), number.ln());
            assert!(
                (found - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(),
                "{number}: {found} {expected}"
            );
            number *= 1.000_37;
        }
        assert_eq!((ln(1.0).to_bits(), ln(2.0).to_bits()), (0, std::f64::consts::LN_2.to_bits()));
    }

    #[test]
    fn scores_are_the_same_bits_on_every_machine() {
        let weights = Weights::new(Totals { entries: 1000, words: 123_456 }, &[3, 700, 41]);
        let bits = |counts: &[u32; 3], words: u32| weights.score(counts, words).to_bits();
        let found = [bits(&[1, 1, 1], 100), bits(&[7, 1, 2], 2500), bits(&[1, 90, 1], 1)];
        assert_eq!(found, [4_621_556_929_812_404_518, 4_616_283_722_825_009_314, 4_624_520_057_807_646_352]);
    }

    #[test]
    fn what_most_entries_hold_counts_little_and_numbers_that_contradict_each_other_do_no_harm() {
        let weights = Weights::new(Totals { entries: 10, words: 100 }, &[9, 1]);
        assert!(weights.score(&[9, 0], 10) < 1e-5 && weights.score(&[1, 1], 10) > 1.0);
        for (totals, holding) in [(Totals::default(), u32::MAX), (Totals { entries: u32::MAX, words: 0 }, 0)]
        {
            assert!(Weights::new(totals, &[holding]).score(&[1], u32::MAX).is_finite());
        }
    }
}

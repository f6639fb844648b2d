//! Which row gets which value: the correlation of a column with the position of its rows.
//!
//! A Gaussian copula: a row's score is `a` times the normal quantile of its position and the rest noise; rows get the
//! values in the order of their scores. What `a` has to be is solved by trying, because ANALYZE breaks ties by position:
//! two values in random order have a correlation of about 0.5 for it.

use crate::script::Prng;

/// So many rows are tried to solve for the weight of the position; the error that this leaves is about 0.02.
const TRIED: usize = 2000;
const STEPS: usize = 14;

/// For each row the place of its value among `sorted`, so that ANALYZE finds about `correlation`.
pub fn arrange(sorted: &[u32], correlation: f64, seed: u64) -> Vec<u32> {
    let weight = solve(sorted, correlation, seed);
    if weight >= 1.0 {
        return (0..sorted.len() as u32).collect();
    }
    if weight <= -1.0 {
        return (0..sorted.len() as u32).rev().collect();
    }
    ranks(&scores(sorted.len(), weight, seed))
}

/// A permutation without any relation to the position.
pub fn shuffled(count: usize, seed: u64) -> Vec<u32> {
    ranks(&scores(count, 0.0, seed))
}

fn solve(sorted: &[u32], correlation: f64, seed: u64) -> f64 {
    let count = sorted.len();
    let tried = count.min(TRIED);
    if tried < 2 {
        return 1.0;
    }
    let sample: Vec<u32> = (0..tried)
        .map(|at| sorted[(2 * at + 1) * count / (2 * tried)])
        .collect();
    let reached = |weight: f64| {
        let ranks = ranks(&scores(tried, weight, seed));
        let codes: Vec<u32> = ranks.iter().map(|rank| sample[*rank as usize]).collect();
        analyzed(&codes)
    };
    if correlation >= 0.9995 {
        return 1.0;
    }
    if correlation <= analyzed(&sample.iter().rev().copied().collect::<Vec<_>>()) {
        return -1.0;
    }
    let (mut low, mut high) = (-1.0, 1.0);
    for _ in 0..STEPS {
        let middle = (low + high) / 2.0;
        if reached(middle) < correlation {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

fn scores(count: usize, weight: f64, seed: u64) -> Vec<f64> {
    let mut prng = Prng::seeded(seed);
    let noise = (1.0 - weight * weight).max(0.0).sqrt();
    (0..count)
        .map(|at| {
            let position = (at as f64 + 0.5) / count as f64;
            weight * normal_quantile(position) + noise * normal_quantile(prng.double())
        })
        .collect()
}

/// The rank of every score.
fn ranks(scores: &[f64]) -> Vec<u32> {
    let mut order: Vec<(u64, u32)> = scores
        .iter()
        .zip(0_u32..)
        .map(|(score, at)| (sortable(*score), at))
        .collect();
    order.sort_unstable();
    let mut ranks = vec![0; scores.len()];
    for (rank, (_, at)) in order.into_iter().enumerate() {
        ranks[at as usize] = rank as u32;
    }
    ranks
}

/// Bits that compare as the number does.
fn sortable(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | (1 << 63)
    }
}

/// What ANALYZE computes (compute_scalar_stats): values in order, ties by position, against the positions.
pub fn analyzed(codes: &[u32]) -> f64 {
    let mut order: Vec<(u32, u32)> = codes.iter().copied().zip(0_u32..).collect();
    order.sort_unstable();
    let count = codes.len() as f64;
    let products: f64 = order
        .iter()
        .enumerate()
        .map(|(rank, (_, at))| rank as f64 * f64::from(*at))
        .sum();
    let sum = count * (count - 1.0) / 2.0;
    let squares = count * (count - 1.0) * (2.0 * count - 1.0) / 6.0;
    (count * products - sum * sum) / (count * squares - sum * sum)
}

/// The inverse of the standard normal distribution: Acklam's rational approximation, relative error below 1.2e-9.
fn normal_quantile(share: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 5] = [
        -5.447609879822406e1,
        1.615858368580409e2,
        -1.556989798598866e2,
        6.680131188771972e1,
        -1.328068155288572e1,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 4] = [
        7.784695709041462e-3,
        3.224671290700398e-1,
        2.445134137142996,
        3.754408661907416,
    ];
    const LOW: f64 = 0.02425;
    let polynomial = |terms: &[f64], at: f64| terms.iter().fold(0.0, |sum, term| sum * at + term);
    let share = share.clamp(1e-12, 1.0 - 1e-12);
    let tail = |share: f64| {
        let at = (-2.0 * share.ln()).sqrt();
        polynomial(&C, at) / (polynomial(&D, at) * at + 1.0)
    };
    if share < LOW {
        tail(share)
    } else if share > 1.0 - LOW {
        -tail(1.0 - share)
    } else {
        let at = share - 0.5;
        let square = at * at;
        polynomial(&A, square) * at / (polynomial(&B, square) * square + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        assert!((normal_quantile(0.975) - 1.959964).abs() < 1e-5);
        assert!((normal_quantile(0.01) + 2.326348).abs() < 1e-5);
        assert!(normal_quantile(0.5).abs() < 1e-9);
    }

    #[test]
    fn a_few_values_of_unequal_shares_follow_the_position() {
        for shares in [[161, 806, 33], [900, 50, 50], [10, 20, 970]] {
            let each = shares.iter().zip(0_u32..);
            let sorted: Vec<u32> = each
                .flat_map(|(share, code)| std::iter::repeat_n(code, share * 60))
                .collect();
            let ranks = arrange(&sorted, 0.8686, 7);
            let codes: Vec<u32> = ranks.iter().map(|rank| sorted[*rank as usize]).collect();
            assert!(
                (analyzed(&codes) - 0.8686).abs() < 0.05,
                "{} of {shares:?}",
                analyzed(&codes)
            );
        }
    }

    proptest! {
        #[test]
        fn analyze_finds_the_correlation_that_was_asked_for(
            values in 3_u32..5000,
            correlation in -0.9_f64..1.0,
            seed: u64,
        ) {
            let count = 6000_u32;
            let sorted: Vec<u32> = (0..count).map(|at| at * values / count).collect();
            let ranks = arrange(&sorted, correlation, seed);
            let codes: Vec<u32> = ranks.iter().map(|rank| sorted[*rank as usize]).collect();
            let reversed: Vec<u32> = sorted.iter().rev().copied().collect();
            // Ties are broken by position, so few values cannot run against it entirely.
            let wanted = correlation.max(analyzed(&reversed));
            prop_assert!((analyzed(&codes) - wanted).abs() < 0.08, "{} for {wanted}", analyzed(&codes));
            let mut all = ranks;
            all.sort_unstable();
            prop_assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }
}

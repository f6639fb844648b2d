//! Columns that depend on each other without a key: joint common values, functional dependencies, and order.

use std::collections::HashMap;
use std::sync::Arc;

use super::domain::{Domain, Wanted};
use super::making::{fit, Making};
use super::plan::{CouplePlan, JointPlan, PresencePlan};
use super::{place, NULL};

/// With each round twice as many rows take part that stood the right way.
const ROUNDS: usize = 8;

/// Draws the joint common values first and subtracts them; what is left of the columns is drawn independently.
pub fn settle(making: &mut Making<'_>, joint: &JointPlan) {
    if joint.columns.iter().any(|column| making.columns[*column].is_some()) {
        return;
    }
    let mut residual: Vec<(Vec<u32>, usize)> = Vec::new();
    for column in &joint.columns {
        let Some(spread) = &making.spreads[*column] else {
            return;
        };
        residual.push((spread.counts.clone(), making.nulls(*column)));
    }
    let mut tuples: Vec<Vec<u32>> = vec![Vec::with_capacity(making.rows); joint.columns.len()];
    for value in &joint.values {
        let left = making.rows - tuples[0].len();
        let rows = (value.rows as usize).min(left);
        for (at, column) in joint.columns.iter().enumerate() {
            let domain = making.spreads[*column].as_ref().map(|spread| &spread.domain);
            let code = match (&value.values[at], domain) {
                (Some(wanted), Some(domain)) if domain.ascending() > 0 => {
                    domain.nearest(Wanted::of(&wanted.text, wanted.ordinal))
                }
                _ => NULL,
            };
            let (counts, nulls) = &mut residual[at];
            match counts.get_mut(code as usize) {
                Some(count) => *count = count.saturating_sub(rows as u32),
                None => *nulls = nulls.saturating_sub(rows),
            }
            tuples[at].extend(std::iter::repeat_n(code, rows));
        }
    }
    let drawn = tuples[0].len();
    let left = making.rows - drawn;
    for (codes, (mut counts, nulls)) in tuples.iter_mut().zip(residual) {
        let nulls = nulls.min(left);
        fit(&mut counts, left - nulls);
        let mut rest: Vec<u32> = std::iter::repeat_n(NULL, nulls).collect();
        for (code, count) in counts.iter().enumerate() {
            rest.extend(std::iter::repeat_n(code as u32, *count as usize));
        }
        // A column without any value left has nulls in their place.
        rest.resize(left, NULL);
        let order = place::shuffled(left, making.prng.next_u64());
        codes.extend(order.into_iter().map(|rank| rest[rank as usize]));
    }
    for [from, to] in &joint.functions {
        follow(&mut tuples, drawn, *from, *to);
    }
    making.place_tuples(&joint.columns, &tuples, None);
}

/// From `drawn` on, lets the codes of `to` be a function of those of `from`: the one that the tuples before have.
fn follow(tuples: &mut [Vec<u32>], drawn: usize, from: usize, to: usize) {
    let known: HashMap<u32, u32> = tuples[from][..drawn]
        .iter()
        .copied()
        .zip(tuples[to][..drawn].iter().copied())
        .collect();
    let mut order: Vec<usize> = (drawn..tuples[from].len()).collect();
    order.sort_by_key(|row| tuples[from][*row]);
    let mut values = tuples[to][drawn..].to_vec();
    values.sort_unstable();
    let mut begin = 0;
    while begin < order.len() {
        let code = tuples[from][order[begin]];
        let end = begin + order[begin..].partition_point(|row| tuples[from][*row] == code);
        let value = known.get(&code).copied().unwrap_or(values[(begin + end) / 2]);
        for row in &order[begin..end] {
            tuples[to][*row] = value;
        }
        begin = end;
    }
}

/// Lets `to` be a function of `from`: the values of both in order, each value of `from` having one of `to`.
pub fn depend(making: &mut Making<'_>, from: usize, to: usize) {
    if making.columns[to].is_some() || making.spreads[to].is_none() {
        return;
    }
    making.place_alone(from);
    let (Some(codes), Some(spread)) = (making.columns[from].clone(), making.spreads[to].as_ref()) else {
        return;
    };
    let values = spread.sorted_codes();
    if values.is_empty() {
        return;
    }
    let mut order: Vec<u32> = (0..codes.len() as u32).collect();
    order.sort_by_key(|row| codes[*row as usize]);
    let mut made = vec![NULL; codes.len()];
    let mut begin = 0;
    while begin < order.len() {
        let code = codes[order[begin] as usize];
        let end = begin + order[begin..].partition_point(|row| codes[*row as usize] == code);
        let value = values[(begin + end) / 2 * values.len() / order.len()];
        for row in &order[begin..end] {
            made[*row as usize] = value;
        }
        begin = end;
    }
    let nulls = making.nulls(to);
    if nulls > 0 {
        let ranks = place::shuffled(made.len(), making.prng.next_u64());
        for (value, rank) in made.iter_mut().zip(ranks) {
            if (rank as usize) < nulls {
                *value = NULL;
            }
        }
    }
    making.columns[to] = Some(made);
    making.settled[to] = true;
    making.settled[from] = true;
}

/// Gives rows that stand the wrong way, and some others, their values in the same order, until none is left; moves those
/// for which that is not enough.
pub fn couple(making: &mut Making<'_>, couple: &CouplePlan) {
    let CouplePlan { low, high, strict } = *couple;
    let (Some(mut lows), Some(mut highs)) = (making.columns[low].take(), making.columns[high].take()) else {
        return;
    };
    let both: Vec<usize> = (0..lows.len())
        .filter(|row| lows[*row] != NULL && highs[*row] != NULL)
        .collect();
    let (Some(of_low), Some(of_high)) = (making.spreads[low].clone(), making.spreads[high].clone()) else {
        return;
    };
    // The column on which nothing depends is the one that is moved, rather that which follows the position less.
    let correlation = |column: usize| making.column(column).correlation.abs();
    let is_low_free = !making.settled[low] && (making.settled[high] || correlation(low) <= correlation(high));
    let is_free = is_low_free || !making.settled[high];
    for round in 0..ROUNDS {
        let (wrong, right): (Vec<usize>, Vec<usize>) = both.iter().partition(|row| {
            let (low, high) = (of_low.domain.ordinal(lows[**row]), of_high.domain.ordinal(highs[**row]));
            low > high || (strict && low == high)
        });
        if wrong.is_empty() {
            break;
        }
        let others = (wrong.len() << round).min(right.len());
        let mut chosen = wrong;
        for other in 0..others {
            let within = (other * right.len() / others, (other + 1) * right.len() / others);
            chosen.push(right[making.prng.uniform(within.0 as i64, within.1 as i64 - 1) as usize]);
        }
        if is_low_free {
            reorder(&chosen, &highs, &mut lows);
        } else if is_free {
            reorder(&chosen, &lows, &mut highs);
        }
    }
    let moved = if is_low_free { low } else { high };
    let fixed = if moved == low { high } else { low };
    if let (Some(other), Some(mut spread)) = (making.spreads[fixed].clone(), making.spreads[moved].take()) {
        let limits = Limits {
            fixed: &other.domain,
            is_low: moved == low,
            strict,
        };
        let (codes, by) = if moved == low {
            (&mut lows, &highs)
        } else {
            (&mut highs, &lows)
        };
        limits.clamp(&both, codes, by, &mut spread.domain);
        making.spreads[moved] = Some(spread);
    }
    making.columns[low] = Some(lows);
    making.columns[high] = Some(highs);
}

/// Lets a flag say whether another column has a value.
pub fn reflect(making: &mut Making<'_>, presence: &PresencePlan) {
    let PresencePlan { flag, of, yes, no } = *presence;
    let (Some(codes), Some(spread)) = (making.columns[of].clone(), making.spreads[flag].as_mut()) else {
        return;
    };
    let domain = Arc::make_mut(&mut spread.domain);
    let mut code_of = |ordinal| {
        domain
            .find(Wanted::Ordinal(ordinal))
            .or_else(|| domain.add_ordinal(ordinal))
    };
    if let (Some(yes), Some(no)) = (code_of(yes), code_of(no)) {
        making.columns[flag] = Some(codes.iter().map(|code| if *code == NULL { no } else { yes }).collect());
    }
}

/// The values of `codes` in these rows, dealt out anew in the order of `by`.
fn reorder(rows: &[usize], by: &[u32], codes: &mut [u32]) {
    let mut sorted: Vec<u32> = rows.iter().map(|row| codes[*row]).collect();
    sorted.sort_unstable();
    let mut order = rows.to_vec();
    order.sort_by_key(|row| by[*row]);
    for (row, code) in order.into_iter().zip(sorted) {
        codes[row] = code;
    }
}

struct Limits<'a> {
    fixed: &'a Domain,
    is_low: bool,
    strict: bool,
}

impl Limits<'_> {
    fn clamp(&self, rows: &[usize], codes: &mut [u32], by: &[u32], domain: &mut Arc<Domain>) {
        let mut added: HashMap<i64, u32> = HashMap::new();
        for row in rows {
            let (Some(value), Some(other)) = (domain.ordinal(codes[*row]), self.fixed.ordinal(by[*row])) else {
                return;
            };
            let apart = i64::from(self.strict);
            let limit = if self.is_low {
                other.saturating_sub(apart)
            } else {
                other.saturating_add(apart)
            };
            if (self.is_low && value <= limit) || (!self.is_low && value >= limit) {
                continue;
            }
            let code = match domain
                .find(Wanted::Ordinal(limit))
                .or_else(|| added.get(&limit).copied())
            {
                Some(code) => Some(code),
                None => Arc::make_mut(domain).add_ordinal(limit),
            };
            if let Some(code) = code {
                added.insert(limit, code);
                codes[*row] = code;
            }
        }
    }
}

//! A column before its rows have places: every value, and how many rows have it.

use std::collections::HashMap;
use std::sync::Arc;

use super::domain::{Domain, Wanted};
use super::plan::{ColumnPlan, Common, Format, Maker};
use super::{shapes, text};
use crate::script::Prng;

/// Values in order, with their rows. Nulls are not among them.
#[derive(Clone, Debug)]
pub struct Spread {
    pub domain: Arc<Domain>,
    /// Rows of each code.
    pub counts: Vec<u32>,
}

impl Spread {
    pub fn rows(&self) -> u64 {
        self.counts.iter().map(|count| u64::from(*count)).sum()
    }

    pub fn distinct(&self) -> usize {
        self.counts.iter().filter(|count| **count > 0).count()
    }

    pub fn largest(&self) -> u32 {
        self.counts.iter().copied().max().unwrap_or(0)
    }

    /// The code of every row, in order.
    pub fn sorted_codes(&self) -> Vec<u32> {
        let mut codes = Vec::with_capacity(self.rows() as usize);
        for (code, count) in self.counts.iter().enumerate() {
            codes.extend(std::iter::repeat_n(code as u32, *count as usize));
        }
        codes
    }
}

/// How many rows are to be spread over how many different values, and which values these are like.
pub struct Wish<'a> {
    pub column: &'a ColumnPlan,
    pub rows: u64,
    pub distinct: u64,
    pub common: &'a [Common],
}

impl<'a> Wish<'a> {
    /// As the plan says.
    pub fn planned(column: &'a ColumnPlan, rows: u64) -> Self {
        Self {
            column,
            rows,
            distinct: column.distinct,
            common: &column.common,
        }
    }

    /// `rows` different values, one row each.
    pub fn different(column: &'a ColumnPlan, rows: u64) -> Self {
        Self {
            column,
            rows,
            distinct: rows,
            common: &[],
        }
    }

    fn rest(&self) -> u64 {
        let common: u64 = self.common.iter().map(|common| common.rows).sum();
        self.rows.saturating_sub(common)
    }
}

/// The values of a column of its own. A unique one may get fewer rows than wished, where there are too few values.
pub fn spread(wish: &Wish<'_>, prng: &mut Prng) -> Spread {
    match &wish.column.maker {
        Maker::Ordinal {
            format,
            bounds,
            step,
            extends,
        } => ordinals(wish, format, bounds, *step, *extends),
        Maker::Text {
            bounds,
            bytes,
            chars_max,
            rigid,
        } => {
            let form = text::Form {
                bytes: *bytes,
                chars_max: *chars_max,
                rigid: *rigid,
            };
            let made = text::texts(bounds, &form, different(wish), prng);
            texts(wish, made)
        }
        Maker::Listed { values } => texts(wish, listed(values, different(wish))),
        Maker::Elements {
            elements,
            counts,
            lexemes,
        } => texts(
            wish,
            shapes::collections(elements, counts, *lexemes, different(wish), prng),
        ),
        Maker::Document { templates, bytes } => {
            texts(wish, shapes::documents(templates, *bytes, different(wish), prng))
        }
        Maker::Range {
            format,
            bounds,
            step,
            lengths,
            empty_share,
        } => {
            let lows = increasing(bounds, different(wish), *step, true);
            texts(wish, shapes::ranges(format, &lows, lengths, *empty_share, prng))
        }
    }
}

/// The values of a column that refers to another one: only values that are there.
pub fn spread_on_parent(wish: &Wish<'_>, parent: &Arc<Domain>) -> Spread {
    let there = parent.ascending();
    let mut counts = vec![0_u32; parent.len()];
    if there == 0 {
        return Spread {
            domain: Arc::clone(parent),
            counts,
        };
    }
    for common in wish.common {
        let rank = parent.rank_of(Wanted::of(&common.text, common.ordinal)).min(there - 1);
        // Two common values of the child may be nearest to one and the same: the second takes a neighbour.
        let free = (rank..there).chain((0..rank).rev()).take(64);
        let mut free = free
            .map(|rank| parent.at_rank(rank))
            .filter(|code| counts[*code as usize] == 0);
        let code = free.next().unwrap_or_else(|| parent.at_rank(rank));
        counts[code as usize] += common.rows as u32;
    }
    let bounds = parent_bounds(&wish.column.maker, parent);
    let distinct = different(wish).min(there as u64);
    let ranks = increasing(&bounds, distinct, 1, false);
    let rows = if wish.column.unique {
        ranks.len() as u64
    } else {
        wish.rest()
    };
    for (at, rank) in ranks.iter().enumerate() {
        let code = parent.at_rank((*rank).clamp(0, there as i64 - 1) as usize);
        counts[code as usize] += share_of(rows, ranks.len(), at);
    }
    Spread {
        domain: Arc::clone(parent),
        counts,
    }
}

/// The bounds as ranks among the parent's values; all of them where the child says nothing of its own.
fn parent_bounds(maker: &Maker, parent: &Domain) -> Vec<i64> {
    let last = parent.ascending() as i64 - 1;
    let rank = |wanted| (parent.rank_of(wanted) as i64).min(last);
    let mut bounds: Vec<i64> = match maker {
        Maker::Ordinal { bounds, .. } => bounds.iter().map(|bound| rank(Wanted::Ordinal(*bound))).collect(),
        Maker::Text { bounds, .. } | Maker::Listed { values: bounds } => {
            bounds.iter().map(|bound| rank(Wanted::Text(bound))).collect()
        }
        _ => Vec::new(),
    };
    bounds.sort_unstable();
    if bounds.len() < 2 || bounds.first() == bounds.last() {
        return vec![0, last];
    }
    bounds
}

fn different(wish: &Wish<'_>) -> u64 {
    let rest = wish.rest();
    if wish.column.unique {
        rest
    } else {
        wish.distinct.clamp(u64::from(rest > 0), rest)
    }
}

/// The rows of the value at a position, when `rows` are dealt out evenly among `values`.
fn share_of(rows: u64, values: usize, at: usize) -> u32 {
    let (values, at) = (values as u64, at as u64);
    // The larger shares are spread over the whole, not at its beginning.
    ((at + 1) * rows / values - at * rows / values) as u32
}

fn ordinals(wish: &Wish<'_>, format: &Format, bounds: &[i64], step: i64, extends: bool) -> Spread {
    let values = increasing(bounds, different(wish), step, extends);
    let unique = wish.column.unique;
    let rest = if unique { values.len() as u64 } else { wish.rest() };
    let count = values.len();
    let mut counted: Vec<(i64, u32)> = Vec::with_capacity(count + wish.common.len());
    for (at, value) in values.into_iter().enumerate() {
        counted.push((value, share_of(rest, count, at)));
    }
    let mut specials = HashMap::new();
    for common in wish.common {
        let ordinal = common.ordinal.unwrap_or_else(|| {
            let stand_in = i64::MAX - specials.len() as i64;
            specials.insert(stand_in, common.text.clone());
            stand_in
        });
        if matches!(format, Format::Uuid {}) {
            // An ordinal has not all of its bits.
            specials.insert(ordinal, common.text.clone());
        }
        counted.push((ordinal, common.rows as u32));
    }
    if count == 0 && rest > 0 {
        // No value to give them but the common ones.
        if let Some(last) = counted.last_mut() {
            last.1 += rest as u32;
        }
    }
    counted.sort_unstable_by_key(|(value, _)| *value);
    counted.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.1 = if unique { 1 } else { kept.1 + later.1 };
        }
        same
    });
    let (values, counts) = counted.into_iter().unzip();
    Spread {
        domain: Arc::new(Domain::of_ordinals(values, format.clone(), specials)),
        counts,
    }
}

/// `made` are texts with their places, in order; the rest of the rows is dealt out among them.
fn texts(wish: &Wish<'_>, made: Vec<(f64, String)>) -> Spread {
    let count = made.len();
    let rest = if wish.column.unique { count as u64 } else { wish.rest() };
    let mut counted: Vec<(f64, String, u32)> = Vec::with_capacity(count + wish.common.len());
    for (at, (place, text)) in made.into_iter().enumerate() {
        counted.push((place, text, share_of(rest, count, at)));
    }
    let mut at_text: HashMap<&str, usize> = HashMap::new();
    let common_texts: Vec<&Common> = wish.common.iter().collect();
    for (at, common) in common_texts.iter().enumerate() {
        at_text.insert(&common.text, at);
    }
    let mut common_rows: Vec<u32> = common_texts.iter().map(|common| common.rows as u32).collect();
    counted.retain(|(_, text, rows)| match at_text.get(text.as_str()) {
        Some(at) => {
            common_rows[*at] += *rows;
            false
        }
        None => true,
    });
    if count == 0 {
        if let Some(first) = common_rows.first_mut() {
            *first += rest as u32;
        }
    }
    for (common, rows) in common_texts.iter().zip(common_rows) {
        counted.push((common.place, common.text.clone(), rows));
    }
    counted.sort_by(|one, other| one.0.total_cmp(&other.0));
    let counts = counted.iter().map(|(_, _, rows)| *rows).collect();
    let domain = Domain::of_texts(counted.iter().map(|(_, text, _)| text.as_str()));
    Spread {
        domain: Arc::new(domain),
        counts,
    }
}

/// So many of a list's values, evenly chosen.
fn listed(values: &[String], count: u64) -> Vec<(f64, String)> {
    let count = (count as usize).min(values.len());
    let chosen = (0..count).map(|at| at * values.len() / count.max(1));
    chosen.map(|at| (at as f64, values[at].clone())).collect()
}

/// `count` different whole numbers, multiples of `step` from the first bound, equally many between each two bounds.
///
/// Where there is no room between two bounds, the neighbours give some. Where there is none at all, values beyond the
/// last bound follow if the range `extends`, and are missing otherwise.
pub fn increasing(bounds: &[i64], count: u64, step: i64, extends: bool) -> Vec<i64> {
    let (Some(first), Some(last)) = (bounds.first().copied(), bounds.last().copied()) else {
        return (1..=count as i64).collect();
    };
    let step = step.max(1);
    let room = (last.saturating_sub(first) / step) as u64 + 1;
    let count = if extends { count } else { count.min(room) };
    let buckets = (bounds.len() - 1) as f64;
    let mut values: Vec<i64> = (0..count)
        .map(|at| {
            let place = if count > 1 {
                at as f64 / (count - 1) as f64 * buckets
            } else {
                buckets / 2.0
            };
            let value = between(bounds, place);
            first.saturating_add((value.saturating_sub(first) as f64 / step as f64).round() as i64 * step)
        })
        .collect();
    for at in 1..values.len() {
        values[at] = values[at].max(values[at - 1].saturating_add(step));
    }
    if count <= room {
        let top = first.saturating_add((room as i64 - 1).saturating_mul(step));
        let mut limit = top;
        for value in values.iter_mut().rev() {
            *value = (*value).min(limit);
            limit = value.saturating_sub(step);
        }
    }
    values
}

/// The number at a place among the bounds, counted in buckets.
fn between(bounds: &[i64], place: f64) -> i64 {
    let bucket = (place as usize).min(bounds.len().saturating_sub(2));
    let low = bounds[bucket];
    let high = bounds.get(bucket + 1).copied().unwrap_or(low);
    let within = (place - bucket as f64).clamp(0.0, 1.0);
    low.saturating_add((high.saturating_sub(low) as f64 * within).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn as_many_values_as_bounds_are_the_bounds() {
        assert_eq!(increasing(&[1, 5, 6, 100], 4, 1, false), [1, 5, 6, 100]);
        assert_eq!(increasing(&[7], 3, 1, true), [7, 8, 9]);
        assert_eq!(increasing(&[0, 10], 20, 5, false), [0, 5, 10]);
    }

    proptest! {
        #[test]
        fn numbers_ascend_and_stay_within_their_bounds(
            mut bounds in prop::collection::vec(-10_000_i64..10_000, 1..30),
            count in 0_u64..3_000,
            step in 1_i64..50,
            extends: bool,
        ) {
            bounds.sort_unstable();
            let values = increasing(&bounds, count, step, extends);
            let room = ((bounds[bounds.len() - 1] - bounds[0]) / step + 1) as u64;
            prop_assert!(values.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert_eq!(values.len() as u64, if extends { count } else { count.min(room) });
            if let (Some(low), Some(high)) = (values.first(), values.last()) {
                prop_assert!(*low >= bounds[0]);
                prop_assert!(count > room || *high <= bounds[bounds.len() - 1]);
            }
        }

        #[test]
        fn shares_add_up(rows in 0_u64..100_000, values in 1_usize..500) {
            let sum: u64 = (0..values).map(|at| u64::from(share_of(rows, values, at))).sum();
            prop_assert_eq!(sum, rows);
        }
    }
}

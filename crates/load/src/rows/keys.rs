//! Keys of several columns: tuples that no two rows have in common.
//!
//! Recursively from the last column: as many groups have its most common value as there are groups at all, so its
//! falling frequencies say how large the groups are. The first groups are tuples of a parent where a foreign key has
//! them, else values of one column.

use std::collections::HashSet;

use super::copy_text::Column;
use super::making::{fit, Making};
use super::plan::ForeignPlan;
use super::spread::{Spread, Wish};
use super::{place, NULL};
use crate::script::Prng;

const SWAPS: usize = 200;
/// From this share of all pairs on, and up to so many pairs, values are dealt instead of swapped.
const DENSE: f64 = 0.4;
const DENSE_PAIRS_MAX: usize = 20_000_000;
/// Of longer keys all columns are taken.
const SUBSETS_OF: usize = 8;

/// Makes the tuples of the first key that has no unique column, and lets these decide how many rows there are.
pub fn settle_first(making: &mut Making<'_>) {
    let keys = &making.table().keys;
    let is_free = |key: &&Vec<usize>| key.iter().all(|column| making.spreads[*column].is_none());
    let Some(key) = keys.iter().find(is_free) else {
        return;
    };
    if making.rows == 0 || key.iter().any(|column| making.nulls(*column) > 0) {
        return;
    }
    let Groups {
        columns,
        tuples,
        numbered,
        ..
    } = groups(making, key);
    making.rows = tuples.first().map_or(0, Vec::len);
    making.place_tuples(&columns, &tuples, numbered);
}

/// Tuples by column, and how many rows each tuple should have in the next step, if that is known. The column `numbered`
/// was added last, and counts the rows of a group.
struct Groups {
    columns: Vec<usize>,
    tuples: Vec<Vec<u32>>,
    degrees: Option<Vec<u32>>,
    numbered: Option<usize>,
}

impl Groups {
    fn len(&self) -> usize {
        self.tuples.first().map_or(0, Vec::len)
    }
}

fn groups(making: &mut Making<'_>, key: &[usize]) -> Groups {
    let foreign = base_key(making, key);
    let base: Vec<usize> = foreign.map_or_else(|| vec![base_column(making, key)], |foreign| foreign.columns.clone());
    let rest = needed(
        making,
        &base,
        key.iter().copied().filter(|column| !base.contains(column)).collect(),
    );
    let rows = making.rows;
    let mut spreads: Vec<Spread> = rest.iter().map(|column| making.spread_planned(*column, rows)).collect();
    let sizes = sizes(rows, &spreads);
    let mut groups = match foreign {
        Some(foreign) => from_parent(making, foreign, sizes[0]),
        None => from_column(making, base[0], rest.first().copied(), &sizes),
    };
    for (at, column) in rest.iter().enumerate() {
        let is_mixed = groups.degrees.is_some() || making.is_foreign(*column);
        if is_mixed {
            mix(&mut groups, *column, &mut spreads[at], sizes[at + 1], &mut making.prng);
        } else {
            nest(making, &mut groups, *column, &mut spreads[at], sizes[at + 1]);
        }
        groups.numbered = (!is_mixed).then_some(*column);
    }
    for (column, spread) in rest.iter().zip(spreads) {
        making.spreads[*column] = Some(spread);
    }
    groups
}

/// Of the `rest` of a key the columns that make it unique together with `base`: as few values as are enough.
///
/// A key may have columns that depend on the others, as that by which its table is partitioned.
fn needed(making: &Making<'_>, base: &[usize], rest: Vec<usize>) -> Vec<usize> {
    if rest.len() < 2 || rest.len() > SUBSETS_OF {
        return rest;
    }
    let values = |column: &usize| {
        let plan = making.column(*column);
        (plan.distinct + plan.common.len() as u64).max(1) as f64
    };
    let first: f64 = base.iter().map(values).product();
    let subsets = (1..1_u32 << rest.len()).map(|bits| {
        let chosen = rest.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
        chosen.map(|(_, column)| *column).collect::<Vec<usize>>()
    });
    let enough = subsets.filter(|subset| first * subset.iter().map(values).product::<f64>() >= making.rows as f64);
    let size = |subset: &Vec<usize>| (subset.iter().map(values).product::<f64>(), subset.len());
    enough
        .min_by(|one, other| {
            size(one)
                .0
                .total_cmp(&size(other).0)
                .then(size(one).1.cmp(&size(other).1))
        })
        .unwrap_or(rest)
}

/// How many groups there are before the first of the columns and after each.
fn sizes(rows: usize, spreads: &[Spread]) -> Vec<usize> {
    let mut sizes = vec![rows];
    for spread in spreads.iter().rev() {
        let size = sizes[sizes.len() - 1];
        let largest = (f64::from(spread.largest()) * size as f64 / rows as f64).ceil() as usize;
        let least = size.div_ceil(spread.distinct().max(1)).max(1);
        sizes.push(largest.clamp(least, size.max(least)));
    }
    sizes.reverse();
    sizes
}

/// The widest foreign key of several columns that lies within the key and whose parent is made.
fn base_key<'a>(making: &Making<'a>, key: &[usize]) -> Option<&'a ForeignPlan> {
    let within = making.table().foreign.iter().filter(|foreign| {
        foreign.columns.len() > 1
            && foreign.parent != making.number
            && foreign.columns.iter().all(|column| key.contains(column))
            && making.made(foreign.parent, foreign.parent_columns[0]).is_some()
    });
    within.max_by_key(|foreign| foreign.columns.len())
}

/// Where no tuples come from a parent: a column that refers to one, the more different values the better.
fn base_column(making: &Making<'_>, key: &[usize]) -> usize {
    let values = |column: &usize| {
        let plan = making.column(*column);
        (making.is_foreign(*column), plan.distinct + plan.common.len() as u64)
    };
    let foreign = key.iter().copied().filter(|column| making.is_foreign(*column));
    foreign.max_by_key(values).unwrap_or(key[0])
}

/// Tuples of the parent, those rather that are common among the children.
fn from_parent(making: &mut Making<'_>, foreign: &ForeignPlan, wanted: usize) -> Groups {
    let parents: Vec<Column> = foreign
        .parent_columns
        .iter()
        .filter_map(|column| making.made(foreign.parent, *column))
        .collect();
    let count = parents.first().map_or(0, |column| column.codes.len());
    let mut weights: Vec<f64> = vec![1.0; count];
    let rows = making.rows;
    for (column, parent) in foreign.columns.iter().zip(&parents) {
        let plan = making.column(*column);
        let child = super::spread::spread_on_parent(&Wish::planned(plan, rows as u64), &parent.domain);
        let mut there = vec![0_u32; parent.domain.len()];
        for code in parent.codes.iter().filter(|code| **code != NULL) {
            there[*code as usize] += 1;
        }
        for (weight, code) in weights.iter_mut().zip(&parent.codes) {
            *weight *= match *code {
                NULL => 0.0,
                code => f64::from(child.counts[code as usize]) / f64::from(there[code as usize]) + 1e-9,
            };
        }
        making.spreads[*column] = Some(child);
    }
    // Drawing without replacement by weights (Efraimidis and Spirakis).
    let prng = &mut making.prng;
    let mut drawn: Vec<(f64, usize)> = weights
        .iter()
        .enumerate()
        .filter(|(_, weight)| **weight > 0.0)
        .map(|(at, weight)| ((1.0 - prng.double()).ln() / weight, at))
        .collect();
    drawn.sort_by(|one, other| other.0.total_cmp(&one.0));
    drawn.truncate(wanted);
    let tuples = parents
        .iter()
        .map(|parent| drawn.iter().map(|(_, at)| parent.codes[*at]).collect())
        .collect();
    Groups {
        columns: foreign.columns.clone(),
        tuples,
        degrees: None,
        numbered: None,
    }
}

/// The values of one column. Their own frequencies count where the next column is not a numbering within the group.
fn from_column(making: &mut Making<'_>, column: usize, next: Option<usize>, sizes: &[usize]) -> Groups {
    let plan = making.column(column);
    let values = (plan.distinct as usize + plan.common.len()).min(sizes[0].max(1) * 1_000_000);
    let mixed = next.is_some_and(|next| making.is_foreign(next) || sizes[0] * 5 < values * 4);
    let spread = match sizes.get(1) {
        Some(size) if mixed => {
            let mut spread = making.spread_planned(column, making.rows);
            fit(&mut spread.counts, *size);
            spread
        }
        _ => making.spread_each_once(column, sizes[0]),
    };
    let used = spread.counts.iter().zip(0_u32..).filter(|(rows, _)| **rows > 0);
    let (degrees, codes): (Vec<u32>, Vec<u32>) = used.unzip();
    making.spreads[column] = Some(spread);
    Groups {
        columns: vec![column],
        tuples: vec![codes],
        degrees: mixed.then_some(degrees),
        numbered: None,
    }
}

/// Extends groups by a numbering: the group that has a value has all values that are more common, too.
fn nest(making: &mut Making<'_>, groups: &mut Groups, column: usize, spread: &mut Spread, size: usize) {
    let count = groups.len();
    if count == 0 {
        return;
    }
    if spread.distinct() * count < size {
        let plan = making.column(column);
        let distinct = size.div_ceil(count) as u64;
        let wish = Wish {
            distinct,
            common: &[],
            ..Wish::planned(plan, making.rows as u64)
        };
        *spread = making.spread_as(&wish, column);
    }
    fit(&mut spread.counts, size);
    cap(&mut spread.counts, count as u32);
    let mut values: Vec<(u32, u32)> = spread
        .counts
        .iter()
        .copied()
        .zip(0..)
        .filter(|(rows, _)| *rows > 0)
        .collect();
    values.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
    let order = place::shuffled(count, making.prng.next_u64());
    let mut members = Vec::with_capacity(size);
    let mut added = Vec::with_capacity(size);
    for (priority, group) in order.into_iter().enumerate() {
        for (rows, code) in &values {
            if *rows as usize <= priority {
                break;
            }
            members.push(group);
            added.push(*code);
        }
    }
    extend(groups, column, &members, added);
}

/// No count above `limit`; what is above goes to values that have room.
fn cap(counts: &mut [u32], limit: u32) {
    let mut above = 0_u64;
    for count in counts.iter_mut() {
        above += u64::from(count.saturating_sub(limit));
        *count = (*count).min(limit);
    }
    for count in counts.iter_mut().filter(|count| **count > 0) {
        let more = above.min(u64::from(limit - *count));
        *count += more as u32;
        above -= more;
    }
}

/// Extends groups by values of which each has its own frequency, as in a table that relates two others.
fn mix(groups: &mut Groups, column: usize, spread: &mut Spread, size: usize, prng: &mut Prng) {
    let count = groups.len();
    let degrees = groups.degrees.take().unwrap_or_else(|| {
        (0..count)
            .map(|at| ((at + 1) * size / count - at * size / count) as u32)
            .collect()
    });
    fit(&mut spread.counts, size);
    cap(&mut spread.counts, count as u32);
    let values = spread.distinct();
    if size as f64 > DENSE * (count * values) as f64 && count * values <= DENSE_PAIRS_MAX {
        let (members, added) = deal(&degrees, &spread.counts, prng);
        return extend(groups, column, &members, added);
    }
    let sorted = spread.sorted_codes();
    let order = place::shuffled(sorted.len(), prng.next_u64());
    let mut added: Vec<u32> = order.into_iter().map(|rank| sorted[rank as usize]).collect();
    let mut members: Vec<u32> = Vec::with_capacity(size);
    for (group, degree) in degrees.iter().enumerate() {
        members.extend(std::iter::repeat_n(group as u32, *degree as usize));
    }
    let both = members.len().min(added.len());
    members.truncate(both);
    added.truncate(both);
    let twice = swap_apart(&members, &mut added, prng);
    let keep = |codes: Vec<u32>| -> Vec<u32> {
        codes
            .into_iter()
            .enumerate()
            .filter(|(at, _)| !twice.contains(at))
            .map(|(_, code)| code)
            .collect()
    };
    let (members, added) = (keep(members), keep(added));
    extend(groups, column, &members, added);
}

/// Gives every group the values of which the most are left: where nearly all pairs exist, chance finds no way.
fn deal(degrees: &[u32], counts: &[u32], prng: &mut Prng) -> (Vec<u32>, Vec<u32>) {
    let mut left: Vec<(u32, u64, u32)> = counts
        .iter()
        .zip(0_u32..)
        .map(|(rows, code)| (*rows, 0, code))
        .collect();
    left.retain(|(rows, _, _)| *rows > 0);
    let (mut members, mut added) = (Vec::new(), Vec::new());
    let mut order: Vec<usize> = (0..degrees.len()).collect();
    order.sort_by_key(|group| std::cmp::Reverse(degrees[*group]));
    for group in order {
        for value in &mut left {
            value.1 = prng.next_u64();
        }
        left.sort_unstable_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
        for value in left
            .iter_mut()
            .take(degrees[group] as usize)
            .filter(|value| value.0 > 0)
        {
            value.0 -= 1;
            members.push(group as u32);
            added.push(value.2);
        }
    }
    (members, added)
}

/// Swaps values between groups until no group has one twice; returns the positions for which that was not possible.
fn swap_apart(members: &[u32], added: &mut [u32], prng: &mut Prng) -> HashSet<usize> {
    let mut seen = HashSet::with_capacity(added.len());
    let mut open: Vec<usize> = (0..added.len())
        .filter(|at| !seen.insert((members[*at], added[*at])))
        .collect();
    let mut twice: HashSet<usize> = open.iter().copied().collect();
    while let Some(at) = open.pop() {
        for _ in 0..SWAPS {
            let other = prng.uniform(0, added.len() as i64 - 1) as usize;
            let here = (members[at], added[other]);
            let there = (members[other], added[at]);
            if twice.contains(&other) || here == there || seen.contains(&here) || seen.contains(&there) {
                continue;
            }
            seen.remove(&(members[other], added[other]));
            seen.insert(here);
            seen.insert(there);
            added.swap(at, other);
            twice.remove(&at);
            break;
        }
    }
    twice
}

fn extend(groups: &mut Groups, column: usize, members: &[u32], added: Vec<u32>) {
    for codes in &mut groups.tuples {
        *codes = members.iter().map(|group| codes[*group as usize]).collect();
    }
    groups.columns.push(column);
    groups.tuples.push(added);
}

/// Makes the other keys unique, too, by swapping values of a column on which nothing depends.
pub fn repair(making: &mut Making<'_>) {
    for key in &making.table().keys {
        let free = key.iter().copied().filter(|column| !making.settled[*column]);
        let distinct = |column: &usize| making.spreads[*column].as_ref().map_or(0, Spread::distinct);
        let Some(column) = free.max_by_key(distinct) else {
            continue;
        };
        let others: Vec<Vec<u32>> = key
            .iter()
            .filter(|one| **one != column)
            .filter_map(|one| making.columns[*one].clone())
            .collect();
        let Some(mut codes) = making.columns[column].take() else {
            continue;
        };
        // Rows that agree in all other columns are members of one group.
        let mut numbers = std::collections::HashMap::new();
        let members: Vec<u32> = (0..codes.len())
            .map(|row| {
                let tuple: Vec<u32> = others.iter().map(|codes| codes[row]).collect();
                let next = numbers.len() as u32;
                if tuple.contains(&NULL) || codes[row] == NULL {
                    // Never equal to another row.
                    u32::MAX - row as u32
                } else {
                    *numbers.entry(tuple).or_insert(next)
                }
            })
            .collect();
        if codes.contains(&NULL) {
            making.columns[column] = Some(codes);
            continue;
        }
        swap_apart(&members, &mut codes, &mut making.prng);
        making.columns[column] = Some(codes);
    }
}

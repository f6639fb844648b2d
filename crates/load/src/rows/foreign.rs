//! Foreign keys of several columns outside a key: what is fixed already says which parents are left to choose from.

use std::collections::HashMap;
use std::sync::Arc;

use super::copy_text::Column;
use super::making::Making;
use super::plan::ForeignPlan;
use super::spread::Spread;
use super::NULL;

/// Lets every row refer to a parent that is there, as near as possible to what it had.
pub fn settle_composites(making: &mut Making<'_>) {
    for foreign in &making.table().foreign {
        if foreign.columns.len() > 1 {
            settle(making, foreign);
        }
    }
}

fn settle(making: &mut Making<'_>, foreign: &ForeignPlan) {
    let Some((fixed, free)) = divided(making, foreign) else {
        return;
    };
    let Some(parents) = parents_of(making, foreign) else {
        return;
    };
    let mut index: HashMap<Vec<u32>, Vec<u32>> = HashMap::new();
    for row in 0..parents[0].len() as u32 {
        if parents.iter().all(|codes| codes[row as usize] != NULL) {
            let key = fixed.iter().map(|at| parents[*at][row as usize]).collect();
            index.entry(key).or_default().push(row);
        }
    }
    for rows in index.values_mut() {
        rows.sort_by_key(|row| free.iter().map(|at| parents[*at][*row as usize]).collect::<Vec<u32>>());
    }
    let mut own: Vec<Vec<u32>> = Vec::new();
    for column in &foreign.columns {
        match &making.columns[*column] {
            Some(codes) => own.push(codes.clone()),
            None => return,
        }
    }
    for row in 0..making.rows {
        if own.iter().any(|codes| codes[row] == NULL) {
            continue;
        }
        let key: Vec<u32> = fixed.iter().map(|at| own[*at][row]).collect();
        let Some(choice) = index.get(&key) else {
            continue;
        };
        let mut nearest = choice.as_slice();
        for column in &free {
            nearest = narrowed(nearest, &parents[*column], own[*column][row]);
        }
        let parent = nearest[making.prng.uniform(0, nearest.len() as i64 - 1) as usize];
        for column in &free {
            own[*column][row] = parents[*column][parent as usize];
        }
    }
    for (column, codes) in foreign.columns.iter().zip(own) {
        making.columns[*column] = Some(codes);
        making.settled[*column] = true;
    }
}

/// The rows, sorted by these codes, that have the code nearest to `wanted`.
fn narrowed<'a>(rows: &'a [u32], codes: &[u32], wanted: u32) -> &'a [u32] {
    let code = |at: usize| codes[rows[at] as usize];
    let first = rows.partition_point(|row| codes[*row as usize] < wanted);
    let nearest = match (first.checked_sub(1), first < rows.len()) {
        (Some(before), true) if wanted - code(before) < code(first) - wanted => code(before),
        (_, true) => code(first),
        (Some(before), false) => code(before),
        (None, false) => return rows,
    };
    let begin = rows.partition_point(|row| codes[*row as usize] < nearest);
    let end = rows.partition_point(|row| codes[*row as usize] <= nearest);
    &rows[begin..end]
}

/// Positions within the foreign key: what may not be changed any more, and what may. None where nothing may.
fn divided(making: &Making<'_>, foreign: &ForeignPlan) -> Option<(Vec<usize>, Vec<usize>)> {
    let positions = 0..foreign.columns.len();
    let (fixed, mut free): (Vec<usize>, Vec<usize>) = positions.partition(|at| making.settled[foreign.columns[*at]]);
    let distinct = |at: &usize| {
        making.spreads[foreign.columns[*at]]
            .as_ref()
            .map_or(0, Spread::distinct)
    };
    // Of few values each is found exactly, of many one that is near.
    free.sort_by_key(distinct);
    (!free.is_empty()).then_some((fixed, free))
}

/// The parent's columns in the codes of this table; what this table has no code for is null.
fn parents_of(making: &Making<'_>, foreign: &ForeignPlan) -> Option<Vec<Vec<u32>>> {
    let each = foreign.columns.iter().zip(&foreign.parent_columns);
    each.map(|(column, parent)| {
        let made = making.made(foreign.parent, *parent)?;
        let own = &making.spreads[*column].as_ref()?.domain;
        Some(translated(&made, own))
    })
    .collect()
}

fn translated(parent: &Column, own: &Arc<super::domain::Domain>) -> Vec<u32> {
    if Arc::ptr_eq(&parent.domain, own) {
        return parent.codes.clone();
    }
    let codes = 0..parent.domain.len() as u32;
    let table: Vec<u32> = codes
        .map(|code| own.translate(&parent.domain, code).unwrap_or(NULL))
        .collect();
    let each = parent.codes.iter();
    each.map(|code| if *code == NULL { NULL } else { table[*code as usize] })
        .collect()
}

//! By which column first the rows of tuples lie: the order that explains the correlations of all their columns.
//!
//! The lines of an order lie together, though neither the number of the order nor that of the line follows the position
//! of the rows over the whole table: orders are numbered anew in every district. ANALYZE's correlation of each column
//! says in which order the table was filled.

use super::place::analyzed;
use crate::script::Prng;

/// Of longer tuples the columns are taken as they correlate.
const COLUMNS_MAX: usize = 4;
/// So many tuples are sorted for each order; the error of a correlation is about 0.007.
const TRIED: usize = 20_000;
/// What is better by less is not better: squared correlations.
const BETTER: f64 = 2e-4;

/// The columns of `tuples` in the order by which rows are sorted, given the correlation of each.
///
/// Where several explain these as well, it is the order of the columns.
pub fn best(tuples: &[Vec<u32>], correlations: &[f64], prng: &mut Prng) -> Vec<usize> {
    let count = tuples.first().map_or(0, Vec::len);
    if tuples.len() > COLUMNS_MAX || count < 2 {
        let mut order: Vec<usize> = (0..tuples.len()).collect();
        order.sort_by(|one, other| correlations[*other].abs().total_cmp(&correlations[*one].abs()));
        return order;
    }
    let chosen: Vec<usize> = match count <= TRIED {
        true => (0..count).collect(),
        false => (0..TRIED).map(|_| prng.uniform(0, count as i64 - 1) as usize).collect(),
    };
    let sample: Vec<Vec<u32>> = tuples
        .iter()
        .map(|codes| chosen.iter().map(|at| codes[*at]).collect())
        .collect();
    let mut best: Option<(f64, Vec<usize>)> = None;
    for order in permutations(tuples.len()) {
        let apart = distance(&sample, correlations, &order);
        if best.as_ref().is_none_or(|(least, _)| apart < least - BETTER) {
            best = Some((apart, order));
        }
    }
    best.map_or_else(Vec::new, |(_, order)| order)
}

/// What of a column decides the order: a falling one is sorted downwards.
pub fn key(code: u32, correlation: f64) -> u32 {
    if correlation < 0.0 {
        u32::MAX - code
    } else {
        code
    }
}

/// How far the correlations are from those that rows in this order have, as a sum of squares.
fn distance(sample: &[Vec<u32>], correlations: &[f64], order: &[usize]) -> f64 {
    let mut rows: Vec<u32> = (0..sample[0].len() as u32).collect();
    let tuple = |row: u32| {
        order
            .iter()
            .map(move |column| key(sample[*column][row as usize], correlations[*column]))
    };
    rows.sort_by(|one, other| tuple(*one).cmp(tuple(*other)));
    // What scatters the leading column scatters the others as well.
    let lead = correlations[order[0]].abs();
    (0..sample.len())
        .filter(|column| *column != order[0])
        .map(|column| {
            let codes: Vec<u32> = rows.iter().map(|row| sample[column][*row as usize]).collect();
            (lead * analyzed(&codes) - correlations[column]).powi(2)
        })
        .sum()
}

/// All orders of so many columns, the first of them as they are.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for rest in permutations(count - 1) {
        for at in (0..=rest.len()).rev() {
            let mut one = rest.clone();
            one.insert(at, count - 1);
            all.push(one);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::place::shuffled;
    use super::*;

    /// Warehouses, districts, orders and lines, sorted by these columns.
    fn filled(by: [usize; 4]) -> (Vec<Vec<u32>>, Vec<f64>) {
        let mut rows: Vec<[u32; 4]> = (0..2)
            .flat_map(|warehouse| (0..10).map(move |district| (warehouse, district)))
            .flat_map(|(warehouse, district)| (0..300).map(move |order| (warehouse, district, order)))
            .flat_map(|(warehouse, district, order)| {
                let lines = 5 + (order * 7 + district) % 11;
                (0..lines).map(move |line| [warehouse, district, order, line])
            })
            .collect();
        rows.sort_by_key(|row| by.map(|column| row[column]));
        let columns: Vec<Vec<u32>> = (0..4)
            .map(|column| rows.iter().map(|row| row[column]).collect())
            .collect();
        let correlations = columns.iter().map(|codes| analyzed(codes)).collect();
        (columns, correlations)
    }

    #[test]
    fn the_order_in_which_a_table_was_filled_is_found() {
        for by in [[0, 1, 2, 3], [2, 0, 1, 3], [1, 2, 0, 3], [3, 0, 1, 2]] {
            let (columns, correlations) = filled(by);
            let mut prng = Prng::seeded(5);
            let order = shuffled(columns[0].len(), 7);
            let shuffled: Vec<Vec<u32>> = columns
                .iter()
                .map(|codes| order.iter().map(|at| codes[*at as usize]).collect())
                .collect();
            assert_eq!(best(&shuffled, &correlations, &mut prng), by);
        }
    }

    #[test]
    fn columns_that_nothing_is_known_of_stay_in_their_order() {
        let (columns, _) = filled([0, 1, 2, 3]);
        assert_eq!(best(&columns, &[1.0, 0.0, 0.0, 0.0], &mut Prng::seeded(1))[0], 0);
        assert_eq!(permutations(3)[0], [0, 1, 2]);
        assert_eq!(permutations(4).len(), 24);
    }
}

//! What the steps of a table share: spreads and columns as far as they are made, and how a column gets its rows.

use std::collections::HashMap;
use std::sync::Arc;

use super::copy_text::Column;
use super::domain::Domain;
use super::plan::{ColumnPlan, Common, Plan, TablePlan};
use super::spread::{spread, spread_on_parent, Spread, Wish};
use super::{order, place, NULL};
use crate::script::Prng;

/// From here on columns share their noise: what both follows the order of insertion agrees with each other, too.
const SHARED_NOISE_FROM: f64 = 0.5;

/// A table while its columns are made.
pub struct Making<'a> {
    pub plan: &'a Plan,
    pub number: usize,
    pub rows: usize,
    pub prng: Prng,
    pub spreads: Vec<Option<Spread>>,
    pub columns: Vec<Option<Vec<u32>>>,
    /// Columns whose values depend on those of other columns, so that no later step may change them.
    pub settled: Vec<bool>,
    kept: &'a [HashMap<usize, Column>],
    seed: u64,
}

impl<'a> Making<'a> {
    pub fn new(plan: &'a Plan, number: usize, kept: &'a [HashMap<usize, Column>]) -> Self {
        let table = &plan.tables[number];
        let seed = plan.seed ^ (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self {
            plan,
            number,
            rows: table.rows as usize,
            prng: Prng::seeded(seed),
            spreads: vec![None; table.columns.len()],
            columns: vec![None; table.columns.len()],
            settled: vec![false; table.columns.len()],
            kept,
            seed,
        }
    }

    pub fn table(&self) -> &'a TablePlan {
        &self.plan.tables[self.number]
    }

    pub fn finish(self) -> Vec<Column> {
        let rows = self.rows;
        let each = self.spreads.into_iter().zip(self.columns);
        each.map(|(spread, codes)| Column {
            domain: spread.map_or_else(|| Arc::new(Domain::of_texts([])), |spread| spread.domain),
            codes: codes.unwrap_or_else(|| vec![NULL; rows]),
        })
        .collect()
    }

    pub fn column(&self, column: usize) -> &'a ColumnPlan {
        &self.table().columns[column]
    }

    pub fn nulls(&self, column: usize) -> usize {
        (self.column(column).nulls as usize).min(self.rows)
    }

    /// A column of this or another table, as far as it is made.
    pub fn made(&self, table: usize, column: usize) -> Option<Column> {
        if table != self.number {
            return self.kept[table].get(&column).cloned();
        }
        let domain = Arc::clone(&self.spreads[column].as_ref()?.domain);
        let codes = self.columns[column].clone()?;
        Some(Column { domain, codes })
    }

    pub fn is_foreign(&self, column: usize) -> bool {
        self.table()
            .foreign
            .iter()
            .any(|foreign| foreign.columns.contains(&column))
    }

    /// The values that a column refers to: those of its widest foreign key, as its tuples have to be found there.
    fn parent_domain(&self, column: usize) -> Option<Arc<Domain>> {
        let mut best: Option<(usize, Arc<Domain>)> = None;
        for foreign in &self.table().foreign {
            let Some(at) = foreign.columns.iter().position(|one| *one == column) else {
                continue;
            };
            let parent = foreign.parent_columns[at];
            let domain = if foreign.parent == self.number {
                if parent == column {
                    None
                } else {
                    self.spreads[parent].as_ref().map(|own| Arc::clone(&own.domain))
                }
            } else {
                self.kept[foreign.parent]
                    .get(&parent)
                    .map(|kept| Arc::clone(&kept.domain))
            };
            let width = foreign.columns.len();
            if let Some(domain) = domain {
                if best.as_ref().is_none_or(|(widest, _)| width > *widest) {
                    best = Some((width, domain));
                }
            }
        }
        best.map(|(_, domain)| domain)
    }

    pub fn spread_as(&mut self, wish: &Wish<'_>, column: usize) -> Spread {
        match self.parent_domain(column) {
            Some(parent) => spread_on_parent(wish, &parent),
            None => spread(wish, &mut self.prng),
        }
    }

    pub fn spread_planned(&mut self, column: usize, rows: usize) -> Spread {
        let plan = self.column(column);
        self.spread_as(&Wish::planned(plan, rows as u64), column)
    }

    /// About `count` values of one row each, the common ones among them.
    pub fn spread_each_once(&mut self, column: usize, count: usize) -> Spread {
        let plan = self.column(column);
        let common: Vec<Common> = plan
            .common
            .iter()
            .take(count)
            .map(|common| Common {
                rows: 1,
                ..common.clone()
            })
            .collect();
        let wish = Wish {
            common: &common,
            distinct: (count - common.len()) as u64,
            ..Wish::different(plan, count as u64)
        };
        let mut spread = self.spread_as(&wish, column);
        for rows in &mut spread.counts {
            *rows = (*rows).min(1);
        }
        spread
    }

    /// Unique columns first: where they have too few values, the table has fewer rows.
    pub fn spread_unique(&mut self) {
        for number in 0..self.columns.len() {
            let plan = self.column(number);
            if !plan.unique {
                continue;
            }
            let nulls = self.nulls(number);
            let spread = self.spread_planned(number, self.rows - nulls);
            if nulls == 0 {
                self.rows = self.rows.min(spread.rows() as usize);
            }
            self.spreads[number] = Some(spread);
        }
    }

    pub fn spread_rest(&mut self) {
        for number in 0..self.columns.len() {
            if self.spreads[number].is_none() {
                let rows = self.rows - self.nulls(number);
                self.spreads[number] = Some(self.spread_planned(number, rows));
            }
        }
    }

    /// Gives the rows of a column their values, unless they have them.
    pub fn place_alone(&mut self, number: usize) {
        if self.columns[number].is_some() {
            return;
        }
        let nulls = self.nulls(number);
        let Some(spread) = self.spreads[number].as_mut() else {
            return;
        };
        fit(&mut spread.counts, self.rows - nulls);
        let sorted = spread.sorted_codes();
        let plan = &self.plan.tables[self.number].columns[number];
        let ranks = place::arrange(&sorted, plan.correlation, noise_of(self.seed, number, plan.correlation));
        let codes: Vec<u32> = ranks.into_iter().map(|rank| sorted[rank as usize]).collect();
        self.columns[number] = Some(self.with_nulls(codes, nulls));
    }

    /// The codes with nulls strewn among them. Columns with as many nulls have them in the same rows.
    pub fn with_nulls(&self, codes: Vec<u32>, nulls: usize) -> Vec<u32> {
        if nulls == 0 && codes.len() == self.rows {
            return codes;
        }
        let nulls = self.rows - codes.len();
        let order = place::shuffled(self.rows, self.seed ^ (nulls as u64 + 7));
        let mut rest = codes.into_iter();
        let each = order.into_iter().map(|rank| {
            if (rank as usize) < nulls {
                NULL
            } else {
                rest.next().unwrap_or(NULL)
            }
        });
        each.collect()
    }

    /// Gives tuples their rows, so that the columns have their correlations as far as one order of the rows can do that.
    ///
    /// Tuples that differ in the `last` column alone are numbered and lie together: they came with one another.
    pub fn place_tuples(&mut self, columns: &[usize], tuples: &[Vec<u32>], last: Option<usize>) {
        let correlations: Vec<f64> = columns.iter().map(|column| self.column(*column).correlation).collect();
        let by = order::best(tuples, &correlations, &mut self.prng);
        let key = |at: usize, tuple: u32| order::key(tuples[at][tuple as usize], correlations[at]);
        let count = tuples.first().map_or(0, Vec::len);
        let mut sorted: Vec<u32> = (0..count as u32).collect();
        sorted.sort_by(|one, other| {
            by.iter()
                .map(|at| key(*at, *one).cmp(&key(*at, *other)))
                .find(|order| order.is_ne())
                .unwrap_or(one.cmp(other))
        });
        let numbered = by
            .last()
            .copied()
            .filter(|at| by.len() > 1 && Some(columns[*at]) == last);
        let is_next = |one: u32, other: u32| {
            numbered.is_some_and(|last| by.iter().all(|at| *at == last || key(*at, one) == key(*at, other)))
        };
        let groups: Vec<&[u32]> = sorted.chunk_by(|one, other| is_next(*one, *other)).collect();
        let lead = by.first().map_or(0.0, |at| correlations[*at].abs());
        let first: Vec<u32> = groups
            .iter()
            .map(|group| by.first().map_or(0, |at| key(*at, group[0])))
            .collect();
        let seed = noise_of(self.seed, by.first().map_or(0, |at| columns[*at]), lead);
        let placed: Vec<u32> = place::arrange(&first, lead, seed)
            .into_iter()
            .flat_map(|rank| groups[rank as usize].iter().copied())
            .collect();
        for (at, column) in columns.iter().enumerate() {
            let codes = placed.iter().map(|tuple| tuples[at][*tuple as usize]).collect();
            self.columns[*column] = Some(codes);
            self.settled[*column] = true;
        }
    }
}

fn noise_of(seed: u64, column: usize, correlation: f64) -> u64 {
    if correlation.abs() >= SHARED_NOISE_FROM {
        seed
    } else {
        seed ^ (column as u64 + 11).wrapping_mul(0xD6E8_FEB8_6659_FD93)
    }
}

/// Scales counts to so many rows in all, the shares staying as they are.
pub fn fit(counts: &mut [u32], rows: usize) {
    let sum: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    if sum == rows as u64 || sum == 0 {
        return;
    }
    let (mut before, mut given) = (0_u64, 0_u64);
    for count in counts {
        before += u64::from(*count);
        let until = (u128::from(before) * rows as u128 / u128::from(sum)) as u64;
        *count = (until - given) as u32;
        given = until;
    }
}

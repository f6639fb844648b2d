//! One table after the other: spreads, tuples that have to agree, places, and then rows as text.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::copy_text::{row, Column};
use super::domain::Domain;
use super::plan::{ColumnPlan, Common, Plan, TablePlan};
use super::spread::{spread, spread_on_parent, Spread, Wish};
use super::{foreign, joint, keys, place, NULL};
use crate::script::Prng;

const BLOCK_BYTES: usize = 512 * 1024;
/// From here on columns share their noise: what both follows the order of insertion agrees with each other, too.
const SHARED_NOISE_FROM: f64 = 0.5;

/// The tables of a plan, made in its order. What other tables refer to stays in memory.
#[derive(Debug)]
pub struct Tables {
    plan: Plan,
    kept: Vec<HashMap<usize, Column>>,
    made: Vec<Column>,
    rows: usize,
    next: usize,
    text: Vec<u8>,
}

impl Tables {
    /// Reads a plan. The error says what is wrong with it.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let plan: Plan = serde_json::from_str(text).map_err(|error| error.to_string())?;
        plan.check()?;
        Ok(Self {
            kept: vec![HashMap::new(); plan.tables.len()],
            plan,
            made: Vec::new(),
            rows: 0,
            next: 0,
            text: Vec::new(),
        })
    }

    /// Makes a table; `next_block` then gives its rows. Returns how many there are, None if the plan has no such table.
    ///
    /// These may be fewer than planned where keys leave no room for more.
    pub fn make(&mut self, number: usize) -> Option<u64> {
        let table = self.plan.tables.get(number)?;
        self.made = Making::new(&self.plan, number, &self.kept).run();
        self.rows = self
            .made
            .first()
            .map_or(table.rows as usize, |column| column.codes.len());
        self.next = 0;
        for column in self.referred(number) {
            let kept = match table.parts.is_empty() {
                true => self.made.get(column).cloned(),
                false => self.united(&table.parts, column),
            };
            if let Some(kept) = kept {
                self.kept[number].insert(column, kept);
            }
        }
        Some(self.rows as u64)
    }

    /// The columns of a table that other tables refer to, themselves or by way of a partitioned table.
    fn referred(&self, number: usize) -> HashSet<usize> {
        let tables = &self.plan.tables;
        let foreign = tables
            .iter()
            .flat_map(|table| &table.foreign)
            .filter(|foreign| foreign.parent == number);
        let mut columns: HashSet<usize> = foreign
            .flat_map(|foreign| foreign.parent_columns.iter().copied())
            .collect();
        for whole in (0..tables.len()).filter(|whole| tables[*whole].parts.contains(&number)) {
            columns.extend(self.referred(whole));
        }
        columns
    }

    fn united(&self, parts: &[usize], column: usize) -> Option<Column> {
        let parts: Vec<&Column> = parts.iter().filter_map(|part| self.kept[*part].get(&column)).collect();
        let domains: Vec<&Domain> = parts.iter().map(|part| part.domain.as_ref()).collect();
        let (domain, tables) = Domain::united(&domains)?;
        let each = parts.iter().zip(&tables);
        let codes = each.flat_map(|(part, table)| {
            part.codes
                .iter()
                .map(|code| table.get(*code as usize).copied().unwrap_or(NULL))
        });
        Some(Column {
            codes: codes.collect(),
            domain: Arc::new(domain),
        })
    }

    /// Puts the next block of the table made last into `block`; false when the last one was taken already.
    pub fn next_block(&mut self, block: &mut Vec<u8>) -> bool {
        block.clear();
        if self.next >= self.rows {
            self.made = Vec::new();
            return false;
        }
        while self.next < self.rows && block.len() < BLOCK_BYTES {
            row(&self.made, self.next, &mut self.text, block);
            self.next += 1;
        }
        true
    }

    /// How much of the table made last was given, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.next as f64 / self.rows.max(1) as f64
    }
}

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
    fn new(plan: &'a Plan, number: usize, kept: &'a [HashMap<usize, Column>]) -> Self {
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

    fn run(mut self) -> Vec<Column> {
        self.spread_unique();
        keys::settle_first(&mut self);
        self.spread_rest();
        for joint in &self.table().joint {
            joint::settle(&mut self, joint);
        }
        for [from, to] in &self.table().dependent {
            joint::depend(&mut self, *from, *to);
        }
        for column in 0..self.columns.len() {
            self.place_alone(column);
        }
        foreign::settle_composites(&mut self);
        keys::repair(&mut self);
        for couple in &self.table().couples {
            joint::couple(&mut self, couple);
        }
        for presence in &self.table().presence {
            joint::reflect(&mut self, presence);
        }
        self.finish()
    }

    fn finish(self) -> Vec<Column> {
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
    fn spread_unique(&mut self) {
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

    fn spread_rest(&mut self) {
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

    /// Gives tuples their rows, so that the column that follows the position most has its correlation.
    pub fn place_tuples(&mut self, columns: &[usize], tuples: &[Vec<u32>]) {
        let mut by_weight: Vec<(usize, f64)> = columns
            .iter()
            .enumerate()
            .map(|(at, column)| (at, self.column(*column).correlation))
            .collect();
        by_weight.sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()));
        let key = |at: usize, tuple: u32| {
            let (column, correlation) = by_weight[at];
            let code = tuples[column][tuple as usize];
            if correlation < 0.0 {
                u32::MAX - code
            } else {
                code
            }
        };
        let count = tuples.first().map_or(0, Vec::len);
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.sort_by(|one, other| {
            (0..by_weight.len())
                .map(|at| key(at, *one).cmp(&key(at, *other)))
                .find(|order| order.is_ne())
                .unwrap_or(one.cmp(other))
        });
        let lead = by_weight.first().map_or(0.0, |(_, correlation)| correlation.abs());
        let sorted: Vec<u32> = order.iter().map(|tuple| key(0, *tuple)).collect();
        let ranks = place::arrange(&sorted, lead, noise_of(self.seed, columns[by_weight[0].0], lead));
        for (at, column) in columns.iter().enumerate() {
            let codes = ranks
                .iter()
                .map(|rank| tuples[at][order[*rank as usize] as usize])
                .collect();
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

impl Plan {
    /// Positions that no table or column has would be found too late.
    fn check(&self) -> Result<(), String> {
        for table in &self.tables {
            let columns = table.columns.len();
            if table.parts.iter().any(|part| {
                self.tables
                    .get(*part)
                    .is_none_or(|part| part.columns.len() != columns || !part.parts.is_empty())
            }) {
                return Err(format!("{}: a part is not a table with the same columns", table.name));
            }
            let mut named: Vec<usize> = table.keys.iter().flatten().copied().collect();
            named.extend(table.foreign.iter().flat_map(|foreign| foreign.columns.iter().copied()));
            named.extend(table.joint.iter().flat_map(|joint| joint.columns.iter().copied()));
            named.extend(table.dependent.iter().flatten().copied());
            named.extend(table.presence.iter().flat_map(|presence| [presence.flag, presence.of]));
            named.extend(table.couples.iter().flat_map(|couple| [couple.low, couple.high]));
            if named.iter().any(|column| *column >= columns) {
                return Err(format!("{}: a column is named that it does not have", table.name));
            }
            let joints = table.joint.iter().all(|joint| {
                !joint.columns.is_empty()
                    && joint
                        .values
                        .iter()
                        .all(|value| value.values.len() == joint.columns.len())
            });
            let parents = table.foreign.iter().all(|foreign| {
                let there = self.tables.get(foreign.parent).map_or(0, |parent| parent.columns.len());
                !foreign.columns.is_empty()
                    && foreign.columns.len() == foreign.parent_columns.len()
                    && foreign.parent_columns.iter().all(|column| *column < there)
            });
            if !joints || !parents || table.keys.iter().any(Vec::is_empty) {
                return Err(format!("{}: columns and values do not go together", table.name));
            }
            if table.rows >= u64::from(u32::MAX) {
                return Err(format!("{}: {} rows are more than can be made", table.name, table.rows));
            }
        }
        Ok(())
    }
}

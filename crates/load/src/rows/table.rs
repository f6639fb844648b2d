//! One table after the other: spreads, tuples that have to agree, places, and then rows as text.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::copy_text::{row, Column};
use super::domain::Domain;
use super::making::Making;
use super::plan::Plan;
use super::{foreign, joint, keys, NULL};

const BLOCK_BYTES: usize = 512 * 1024;

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
        self.made = run(Making::new(&self.plan, number, &self.kept));
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

/// The columns of one table: unique ones first, then tuples that have to agree, then what is left.
fn run(mut making: Making<'_>) -> Vec<Column> {
    making.spread_unique();
    keys::settle_first(&mut making);
    making.spread_rest();
    for joint in &making.table().joint {
        joint::settle(&mut making, joint);
    }
    for [from, to] in &making.table().dependent {
        joint::depend(&mut making, *from, *to);
    }
    for column in 0..making.columns.len() {
        making.place_alone(column);
    }
    foreign::settle_composites(&mut making);
    keys::repair(&mut making);
    for couple in &making.table().couples {
        joint::couple(&mut making, couple);
    }
    for presence in &making.table().presence {
        joint::reflect(&mut making, presence);
    }
    making.finish()
}

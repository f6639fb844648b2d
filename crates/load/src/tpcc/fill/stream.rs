//! The rows of one table, block by block.

use super::copy::{END, HEAD};
use super::orders::shuffle_customers;
use super::{tables, Table};
use crate::script::Prng;

/// Enough that a block costs more to make than to hand over; little enough that Ctrl-C is heard at once.
const BLOCK_BYTES: usize = 512 * 1024;
/// No step writes more than this: a customer with the longest texts, or fifteen order lines.
const STEP_BYTES: usize = 2048;

/// Where the writing of one table stands.
#[derive(Debug)]
pub struct Rows {
    table: Table,
    warehouses: u32,
    seed: u64,
    warehouse: u32,
    step: u32,
    prng: Prng,
    /// Who ordered, in the district that is being written.
    customers: Vec<u32>,
}

impl Rows {
    /// The rows of `table` for the warehouses 1 to `warehouses`. Items do not depend on how many these are.
    pub fn new(table: Table, warehouses: u32, seed: u64) -> Self {
        Self {
            table,
            warehouses: if table == Table::Item { 1 } else { warehouses },
            seed,
            warehouse: 1,
            step: 0,
            prng: stream_of(table, 1, seed),
            customers: Vec::new(),
        }
    }

    /// Puts the next block into `block`, in place of what is there; false when the last one was taken already.
    pub fn next_block(&mut self, block: &mut Vec<u8>) -> bool {
        block.clear();
        if self.warehouse > self.warehouses {
            return false;
        }
        block.reserve(BLOCK_BYTES + STEP_BYTES);
        if self.warehouse == 1 && self.step == 0 {
            block.extend_from_slice(HEAD);
        }
        while block.len() < BLOCK_BYTES && self.warehouse <= self.warehouses {
            self.write_step(block);
        }
        if self.warehouse > self.warehouses {
            block.extend_from_slice(END);
        }
        true
    }

    /// How much of all rows was written, from 0 to 1.
    pub fn share(&self) -> f64 {
        let steps = f64::from(self.table.steps());
        let done = f64::from(self.warehouse - 1) * steps + f64::from(self.step);
        done / (f64::from(self.warehouses) * steps).max(1.0)
    }

    fn write_step(&mut self, out: &mut Vec<u8>) {
        let (prng, warehouse, step) = (&mut self.prng, self.warehouse, self.step);
        match self.table {
            Table::Warehouse => tables::warehouse(prng, out, warehouse),
            Table::Item => tables::item(prng, out, step),
            Table::Stock => tables::stock(prng, out, warehouse, step),
            Table::District => tables::district(prng, out, warehouse, step),
            Table::Customer => tables::customer(prng, out, warehouse, step),
            Table::History => tables::history(prng, out, warehouse, step),
            Table::Oorder => {
                let (_, order) = tables::place(step);
                if order == 1 {
                    shuffle_customers(prng, &mut self.customers);
                }
                let customer = self.customers.get(order as usize - 1).copied().unwrap_or(order);
                tables::oorder(prng, out, warehouse, step, customer);
            }
            Table::NewOrder => tables::new_order(out, warehouse, step),
            Table::OrderLine => tables::order_lines(prng, out, warehouse, step),
        }
        self.step += 1;
        if self.step == self.table.steps() {
            self.step = 0;
            self.warehouse += 1;
            self.prng = stream_of(self.table, self.warehouse, self.seed);
        }
    }
}

/// The random numbers of one warehouse of one table.
fn stream_of(table: Table, warehouse: u32, seed: u64) -> Prng {
    let mut base = Prng::seeded(seed);
    let place = ((table as u64) << 32) | u64::from(warehouse);
    Prng::seeded(base.next_u64() ^ Prng::seeded(place).next_u64())
}

#[cfg(test)]
#[allow(clippy::expect_used)]
mod tests {
    use super::*;
    use crate::tpcc::fill::orders;

    fn written(table: Table, warehouses: u32, seed: u64) -> Vec<u8> {
        let mut rows = Rows::new(table, warehouses, seed);
        let (mut block, mut all) = (Vec::new(), Vec::new());
        while rows.next_block(&mut block) {
            assert!(block.len() <= BLOCK_BYTES + STEP_BYTES);
            all.extend_from_slice(&block);
        }
        assert!((rows.share() - 1.0).abs() < 1e-9);
        all
    }

    /// Walks over all rows as the server would; gives their number.
    fn rows_in(all: &[u8]) -> u32 {
        let mut rest = all.strip_prefix(HEAD).expect("the head");
        let mut rows = 0;
        loop {
            let (fields, after) = rest.split_first_chunk::<2>().expect("a row");
            rest = after;
            let fields = i16::from_be_bytes(*fields);
            if fields == -1 {
                assert!(rest.is_empty(), "nothing follows the end");
                return rows;
            }
            for _ in 0..fields {
                let (length, after) = rest.split_first_chunk::<4>().expect("a field");
                let length = i32::from_be_bytes(*length).max(0) as usize;
                rest = after.get(length..).expect("all of the field");
            }
            rows += 1;
        }
    }

    #[test]
    fn every_table_has_the_rows_that_the_specification_asks_for() {
        let lines: u32 = (1..=2)
            .flat_map(|w| (1..=10).flat_map(move |d| (1..=3000).map(move |o| orders::lines(w, d, o))))
            .sum();
        let wanted = [2, 100_000, 200_000, 20, 60_000, 60_000, 60_000, 18_000, lines];
        for (table, rows) in Table::ALL.into_iter().zip(wanted) {
            assert_eq!(rows_in(&written(table, 2, 1)), rows, "{}", table.name());
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_another_one_others() {
        for table in Table::ALL {
            let first = written(table, 1, 3);
            assert_eq!(first, written(table, 1, 3), "{}", table.name());
            let other = written(table, 1, 4);
            assert_eq!(first != other, table != Table::NewOrder, "{}", table.name());
        }
    }

    #[test]
    fn a_warehouse_is_the_same_however_many_there_are() {
        for table in [Table::Stock, Table::Oorder, Table::OrderLine] {
            let (one, two) = (written(table, 1, 9), written(table, 2, 9));
            let rows = one.strip_suffix(END).expect("the end");
            assert!(two.starts_with(rows), "{}", table.name());
            assert_ne!(rows.get(19..1019), two.get(rows.len()..rows.len() + 1000));
        }
    }

    #[test]
    fn names_lead_back_to_their_table() {
        for table in Table::ALL {
            assert_eq!(Table::named(table.name()), Some(table));
        }
        assert_eq!(Table::named("orders"), None);
    }

    #[test]
    fn no_warehouse_is_no_row() {
        let mut rows = Rows::new(Table::Stock, 0, 1);
        assert!(!rows.next_block(&mut Vec::new()));
    }
}

//! NewOrder: a customer orders 5 to 15 items. One in a hundred asks for an item that does not exist and rolls back.

use super::answer::{Answer, Row, Short};
use super::batch::Batch;
use super::convention::{Home, Plan};
use super::statements::Sql;
use super::{Missing, Step};
use crate::script::Prng;
use crate::spec::Convention;

const LINES_MIN: i64 = 5;
const LINES_MAX: usize = 15;
/// No item has this number.
const NO_ITEM: i64 = -12345;
/// The stock after the items and their data; then a text for each district.
const DISTRICT_COLUMNS: i64 = 2;
/// Lines are inserted by statements of so many rows, as drivers do that rewrite batches.
const CHUNKS: [(usize, Sql); 4] = [
    (8, Sql::NewOrderLines8),
    (4, Sql::NewOrderLines4),
    (2, Sql::NewOrderLines2),
    (1, Sql::NewOrderLines1),
];

/// One line of the order, and what was found out about it.
#[derive(Clone, Copy, Debug)]
struct Line {
    item: i64,
    /// The warehouse that supplies it.
    supply: i64,
    quantity: i64,
    amount_cents: i64,
    /// Of the item, when the order is done.
    stock: i64,
    /// The district's text in the stock.
    info: Short<24>,
}

impl Line {
    const NONE: Self = Self {
        item: 0,
        supply: 0,
        quantity: 0,
        amount_cents: 0,
        stock: 0,
        info: Short::EMPTY,
    };
}

/// What is awaited.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Nothing,
    Customer,
    Warehouse,
    District,
    NextOrder,
    Order,
    NewOrder,
    /// Of the n-th line.
    Item(usize),
    Stock(usize),
    Lines,
    Stocks,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct NewOrder {
    warehouse: i64,
    district: i64,
    customer: i64,
    lines: [Line; LINES_MAX],
    count: usize,
    all_local: bool,
    order: i64,
    stage: Stage,
}

impl NewOrder {
    pub fn draw(home: Home, plan: &Plan, prng: &mut Prng) -> Self {
        let mut order = Self {
            warehouse: home.warehouse,
            district: home.district(prng),
            customer: plan.draw_customer(prng),
            lines: [Line::NONE; LINES_MAX],
            count: usize::try_from(prng.uniform(LINES_MIN, LINES_MAX as i64)).unwrap_or(LINES_MAX),
            all_local: true,
            order: 0,
            stage: Stage::Nothing,
        };
        let count = order.count;
        for line in order.lines.iter_mut().take(count) {
            line.item = plan.draw_item(prng);
            line.supply = home.warehouse;
            if prng.uniform(1, 100) == 1 {
                line.supply = plan.draw_other_warehouse(home.warehouse, prng);
                let stays = line.supply == home.warehouse;
                order.all_local &= stays && plan.convention == Convention::Spec;
            }
            line.quantity = prng.uniform(1, 10);
        }
        if prng.uniform(1, 100) == 1 {
            if let Some(last) = order.lines.iter_mut().take(count).last() {
                last.item = NO_ITEM;
            }
        }
        order
    }

    /// Reads the answer and says what comes next.
    pub fn next(&mut self, answer: &Answer, batch: &mut Batch) -> Result<Step, Missing> {
        let district = [self.warehouse, self.district];
        let order = [self.order, self.district, self.warehouse];
        self.stage = match self.stage {
            Stage::Nothing => {
                batch.call(Sql::NewOrderCustomer).ints(district).int(self.customer);
                Stage::Customer
            }
            Stage::Customer => {
                answer.first("customer")?;
                batch.call(Sql::NewOrderWarehouse).int(self.warehouse);
                Stage::Warehouse
            }
            Stage::Warehouse => {
                answer.first("warehouse")?;
                batch.call(Sql::NewOrderDistrict).ints(district);
                Stage::District
            }
            Stage::District => {
                let table = "district";
                self.order = answer.first(table)?.int(0).ok_or(Missing { table })?;
                batch.call(Sql::NewOrderNextOrder).ints(district);
                Stage::NextOrder
            }
            Stage::NextOrder => {
                batch.call(Sql::NewOrderOrder).ints(order).int(self.customer);
                batch.ints([self.count as i64, i64::from(self.all_local)]);
                Stage::Order
            }
            Stage::Order => {
                batch.call(Sql::NewOrderNewOrder).ints(order);
                Stage::NewOrder
            }
            Stage::NewOrder => self.ask_item(0, batch),
            Stage::Item(line) => match answer.row(0) {
                Some(item) => self.ask_stock(line, item, batch)?,
                None if self.line(line).item == NO_ITEM => return Ok(Step::RollBack),
                None => return Err(Missing { table: "item" }),
            },
            Stage::Stock(line) => {
                self.keep_stock(line, answer.first("stock")?)?;
                if line + 1 < self.count {
                    self.ask_item(line + 1, batch)
                } else {
                    self.insert_lines(batch);
                    Stage::Lines
                }
            }
            Stage::Lines => {
                self.update_stocks(batch);
                Stage::Stocks
            }
            Stage::Stocks => return Ok(Step::Commit),
        };
        Ok(Step::Ask)
    }

    fn line(&self, line: usize) -> Line {
        self.lines.get(line).copied().unwrap_or(Line::NONE)
    }

    fn ask_item(&self, line: usize, batch: &mut Batch) -> Stage {
        batch.call(Sql::NewOrderItem).int(self.line(line).item);
        Stage::Item(line)
    }

    fn ask_stock(&mut self, line: usize, item: Row<'_>, batch: &mut Batch) -> Result<Stage, Missing> {
        let price = item.cents(0).ok_or(Missing { table: "item" })?;
        if let Some(line) = self.lines.get_mut(line) {
            line.amount_cents = price * line.quantity;
            batch.call(Sql::NewOrderStock).ints([line.item, line.supply]);
        }
        Ok(Stage::Stock(line))
    }

    fn keep_stock(&mut self, line: usize, stock: Row<'_>) -> Result<(), Missing> {
        let missing = Missing { table: "stock" };
        let column = usize::try_from(DISTRICT_COLUMNS + self.district - 1).map_err(|_| missing)?;
        let info = stock.text(column).ok_or(missing)?;
        let quantity = stock.int(0).ok_or(missing)?;
        if let Some(line) = self.lines.get_mut(line) {
            line.info = Short::new(info);
            line.stock = quantity - line.quantity;
            if line.stock < 10 {
                line.stock += 91;
            }
        }
        Ok(())
    }

    fn insert_lines(&self, batch: &mut Batch) {
        let mut lines = self.lines.iter().take(self.count).zip(1..);
        let mut left = self.count;
        for (rows, sql) in CHUNKS {
            // A chunk of each size at most: there are never two times eight lines.
            if left < rows {
                continue;
            }
            left -= rows;
            batch.call(sql);
            for (line, number) in lines.by_ref().take(rows) {
                batch.ints([
                    self.order,
                    self.district,
                    self.warehouse,
                    number,
                    line.item,
                    line.supply,
                ]);
                batch
                    .int(line.quantity)
                    .cents(line.amount_cents)
                    .text(line.info.as_bytes());
            }
        }
    }

    fn update_stocks(&self, batch: &mut Batch) {
        for line in self.lines.iter().take(self.count) {
            let remote = i64::from(line.supply != self.warehouse);
            batch.call(Sql::NewOrderUpdateStock);
            batch.ints([line.stock, line.quantity, remote, line.item, line.supply]);
        }
    }
}

#[cfg(test)]
mod tests;

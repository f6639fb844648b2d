//! Payment: a customer pays; the warehouse and the district count it. The warehouse's row is locked from the first
//! statement to the last.

use std::io::Write;

use super::answer::{Answer, Row, Short};
use super::batch::{write_cents, Batch};
use super::convention::{Home, Plan, DISTRICTS};
use super::customer::Customer;
use super::statements::Sql;
use super::{Missing, Step};
use crate::script::Prng;

/// So many customers of a hundred pay at home, the others at another warehouse.
const HOME_PERCENT: i64 = 85;
/// `c_data` ends there.
const DATA_MAX: usize = 500;

/// What is awaited.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Nothing,
    UpdateWarehouse,
    Warehouse,
    UpdateDistrict,
    District,
    Customer,
    Data,
    UpdateCustomer,
    History,
}

/// What the customer's row will say.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    number: i64,
    balance_cents: i64,
    paid_cents: i64,
    payments: i64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Payment {
    warehouse: i64,
    district: i64,
    amount_cents: i64,
    customer: Customer,
    account: Account,
    warehouse_name: Short<10>,
    district_name: Short<10>,
    stage: Stage,
}

impl Payment {
    pub fn draw(home: Home, plan: &Plan, prng: &mut Prng) -> Self {
        let district = home.district(prng);
        let amount_cents = prng.uniform(100, 500_000);
        let (warehouse_of, district_of) = if prng.uniform(1, 100) <= HOME_PERCENT {
            (home.warehouse, district)
        } else {
            let elsewhere = prng.uniform(1, DISTRICTS);
            (plan.draw_other_warehouse(home.warehouse, prng), elsewhere)
        };
        Self {
            warehouse: home.warehouse,
            district,
            amount_cents,
            customer: Customer::draw(warehouse_of, district_of, plan, prng),
            account: Account::default(),
            warehouse_name: Short::EMPTY,
            district_name: Short::EMPTY,
            stage: Stage::Nothing,
        }
    }

    /// Reads the answer and says what comes next.
    pub fn next(&mut self, answer: &Answer, batch: &mut Batch) -> Result<Step, Missing> {
        let district = [self.warehouse, self.district];
        self.stage = match self.stage {
            Stage::Nothing => {
                batch
                    .call(Sql::PaymentUpdateWarehouse)
                    .cents(self.amount_cents)
                    .int(self.warehouse);
                Stage::UpdateWarehouse
            }
            Stage::UpdateWarehouse => {
                batch.call(Sql::PaymentWarehouse).int(self.warehouse);
                Stage::Warehouse
            }
            Stage::Warehouse => {
                self.warehouse_name = name(answer, "warehouse")?;
                batch
                    .call(Sql::PaymentUpdateDistrict)
                    .cents(self.amount_cents)
                    .ints(district);
                Stage::UpdateDistrict
            }
            Stage::UpdateDistrict => {
                batch.call(Sql::PaymentDistrict).ints(district);
                Stage::District
            }
            Stage::District => {
                self.district_name = name(answer, "district")?;
                self.customer
                    .ask(Sql::PaymentCustomersByName, Sql::PaymentCustomer, batch);
                Stage::Customer
            }
            Stage::Customer => {
                let row = self.customer.pick(answer)?;
                self.account = self.pay(row).ok_or(Missing { table: "customer" })?;
                if row.text(4) == Some(b"BC") {
                    batch.call(Sql::PaymentCustomerData).ints(self.customer_key());
                    Stage::Data
                } else {
                    batch.call(Sql::PaymentUpdateGoodCredit);
                    self.write_account(batch).ints(self.customer_key());
                    Stage::UpdateCustomer
                }
            }
            Stage::Data => {
                let data = answer.first("customer")?.text(0).unwrap_or_default();
                batch.call(Sql::PaymentUpdateBadCredit);
                self.write_account(batch).value(|out| self.write_data(data, out));
                batch.ints(self.customer_key());
                Stage::UpdateCustomer
            }
            Stage::UpdateCustomer => {
                self.insert_history(batch);
                Stage::History
            }
            Stage::History => return Ok(Step::Commit),
        };
        Ok(Step::Ask)
    }

    fn customer_key(&self) -> [i64; 3] {
        [self.customer.warehouse, self.customer.district, self.account.number]
    }

    /// The account after the payment, from the columns that both statements begin with.
    fn pay(&self, row: Row<'_>) -> Option<Account> {
        Some(Account {
            number: row.int(0)?,
            balance_cents: row.cents(1)? - self.amount_cents,
            paid_cents: row.cents(2)? + self.amount_cents,
            payments: row.int(3)? + 1,
        })
    }

    fn write_account<'a>(&self, batch: &'a mut Batch) -> &'a mut Batch {
        let account = self.account;
        batch
            .cents(account.balance_cents)
            .cents(account.paid_cents)
            .int(account.payments)
    }

    /// A customer of bad credit has the latest payments in the data, newest first.
    fn write_data(&self, data: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let [warehouse, district, number] = self.customer_key();
        // Memory takes everything.
        let _ = write!(
            out,
            "{number} {district} {warehouse} {} {} ",
            self.district, self.warehouse
        );
        write_cents(self.amount_cents, out);
        out.extend_from_slice(b" | ");
        out.extend_from_slice(data);
        out.truncate(start + DATA_MAX);
    }

    fn insert_history(&self, batch: &mut Batch) {
        let [warehouse, district, number] = self.customer_key();
        batch
            .call(Sql::PaymentHistory)
            .ints([district, warehouse, number, self.district, self.warehouse]);
        batch.cents(self.amount_cents).value(|out| {
            out.extend_from_slice(self.warehouse_name.as_bytes());
            out.extend_from_slice(b"    ");
            out.extend_from_slice(self.district_name.as_bytes());
        });
    }
}

/// The last column of both addresses.
fn name(answer: &Answer, table: &'static str) -> Result<Short<10>, Missing> {
    let name = answer.first(table)?.text(5);
    Ok(Short::new(name.ok_or(Missing { table })?))
}

#[cfg(test)]
mod tests;

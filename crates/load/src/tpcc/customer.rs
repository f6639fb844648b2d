//! Which customer Payment and OrderStatus are about: by number, or by a last name that several may have.

use super::answer::{Answer, Row};
use super::batch::Batch;
use super::convention::Plan;
use super::random::last_name;
use super::statements::Sql;
use super::Missing;
use crate::script::Prng;

/// Six of ten are asked for by name.
const BY_NAME_PERCENT: i64 = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selector {
    Number(i64),
    Name(u32),
}

/// A customer of a district.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Customer {
    pub warehouse: i64,
    pub district: i64,
    selector: Selector,
}

impl Customer {
    pub fn draw(warehouse: i64, district: i64, plan: &Plan, prng: &mut Prng) -> Self {
        let selector = if prng.uniform(1, 100) <= BY_NAME_PERCENT {
            Selector::Name(plan.draw_name(prng))
        } else {
            Selector::Number(plan.draw_customer(prng))
        };
        Self {
            warehouse,
            district,
            selector,
        }
    }

    /// Asks for the customer, or for all of that name in the order of their first names.
    pub fn ask(&self, by_name: Sql, by_number: Sql, batch: &mut Batch) {
        match self.selector {
            Selector::Name(name) => {
                batch.call(by_name).ints([self.warehouse, self.district]);
                batch.value(|out| last_name(name, out));
            }
            Selector::Number(number) => {
                batch.call(by_number).ints([self.warehouse, self.district, number]);
            }
        }
    }

    /// The one that is meant: of n namesakes the one at half of n, rounded up.
    pub fn pick<'a>(&self, answer: &'a Answer) -> Result<Row<'a>, Missing> {
        let place = answer.count().div_ceil(2).saturating_sub(1);
        answer.row(place).ok_or(Missing { table: "customer" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_namesakes_the_middle_one_is_meant() {
        let customer = Customer {
            warehouse: 1,
            district: 2,
            selector: Selector::Name(0),
        };
        for (rows, number) in [
            (&["7"][..], Some(7)),
            (&["7", "8"], Some(7)),
            (&["7", "8", "9"], Some(8)),
            (&["6", "7", "8", "9"], Some(7)),
            (&[], None),
        ] {
            let answer = Answer::of(rows);
            assert_eq!(
                customer.pick(&answer).ok().and_then(|row| row.int(0)),
                number,
                "{rows:?}"
            );
        }
    }
}

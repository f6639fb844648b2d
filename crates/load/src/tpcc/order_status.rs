//! OrderStatus: the newest order of a customer, with its lines.

use super::answer::Answer;
use super::batch::Batch;
use super::convention::{Home, Plan};
use super::customer::Customer;
use super::statements::Sql;
use super::{Missing, Step};
use crate::script::Prng;

/// What is awaited.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Nothing,
    Customer,
    Newest,
    Lines,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct OrderStatus {
    customer: Customer,
    stage: Stage,
}

impl OrderStatus {
    pub fn draw(home: Home, plan: &Plan, prng: &mut Prng) -> Self {
        let district = home.district(prng);
        Self {
            customer: Customer::draw(home.warehouse, district, plan, prng),
            stage: Stage::Nothing,
        }
    }

    /// Reads the answer and says what comes next.
    pub fn next(&mut self, answer: &Answer, batch: &mut Batch) -> Result<Step, Missing> {
        let Customer {
            warehouse, district, ..
        } = self.customer;
        self.stage = match self.stage {
            Stage::Nothing => {
                self.customer
                    .ask(Sql::OrderStatusCustomersByName, Sql::OrderStatusCustomer, batch);
                Stage::Customer
            }
            Stage::Customer => {
                let number = self
                    .customer
                    .pick(answer)?
                    .int(0)
                    .ok_or(Missing { table: "customer" })?;
                batch.call(Sql::OrderStatusNewest).ints([warehouse, district, number]);
                Stage::Newest
            }
            Stage::Newest => {
                // Every customer has ordered once before the load begins.
                let table = "oorder";
                let order = answer.first(table)?.int(0).ok_or(Missing { table })?;
                batch.call(Sql::OrderStatusLines).ints([order, district, warehouse]);
                Stage::Lines
            }
            Stage::Lines => {
                answer.first("order_line")?;
                return Ok(Step::Commit);
            }
        };
        Ok(Step::Ask)
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::super::rehearsal::{plan, said, said_by, HOME};
    use super::*;
    use crate::spec::Convention;

    fn drawn() -> impl Iterator<Item = OrderStatus> {
        let mut prng = Prng::seeded(5);
        let plan = plan(1, Convention::BenchBase);
        std::iter::repeat_with(move || OrderStatus::draw(HOME, &plan, &mut prng))
    }

    fn play(mut status: OrderStatus, answers: &[Answer]) -> Vec<String> {
        said_by(answers, |answer, batch| status.next(answer, batch))
    }

    #[test]
    fn the_customer_leads_to_the_newest_order_and_that_to_its_lines() {
        let answers = [
            Answer::of(&["42|-10.00", "43|-10.00"]),
            Answer::of(&["3005|-|now"]),
            Answer::of(&["1", "2"]),
        ];
        let mut begins = std::collections::BTreeSet::new();
        for status in drawn().take(100) {
            let said = play(status, &answers);
            let (first, rest) = said
                .split_first()
                .map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
            begins.insert(first.split('(').next().unwrap_or("").to_owned());
            assert_eq!(rest[1..], ["OrderStatusLines(3005, 4, 1)", "commit"]);
            assert_eq!(rest[0], "OrderStatusNewest(1, 4, 42)");
        }
        assert_eq!(
            begins.into_iter().collect::<Vec<_>>(),
            ["OrderStatusCustomer", "OrderStatusCustomersByName"]
        );
    }

    #[test]
    fn six_of_ten_customers_are_asked_for_by_name() {
        let by_name = drawn().take(10_000).filter(|status| {
            let mut batch = Batch::default();
            let mut status = status.clone();
            let _ = status.next(&Answer::default(), &mut batch);
            said(&batch).starts_with("OrderStatusCustomersByName")
        });
        let count = by_name.count();
        assert!((5_800..6_200).contains(&count), "{count}");
    }

    #[test]
    fn a_customer_without_an_order_is_a_database_that_is_not_complete() {
        let answers = [Answer::of(&["42|-10.00"]), Answer::of(&[])];
        let said = drawn().next().map(|status| play(status, &answers)).unwrap_or_default();
        assert_eq!(said.last().map(String::as_str), Some("missing oorder"));
    }
}

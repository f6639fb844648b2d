//! Delivery: the oldest undelivered order of each district goes out. A district that has none is passed over.

use super::answer::Answer;
use super::batch::Batch;
use super::convention::{Home, Plan};
use super::statements::Sql;
use super::{Missing, Step};
use crate::script::Prng;
use crate::spec::Convention;

/// What is awaited.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Nothing,
    Oldest,
    Delete,
    Customer,
    Carrier,
    Dates,
    Sum,
    Balance,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Delivery {
    warehouse: i64,
    /// Where it is, and where it ends; it begins with the first.
    district: i64,
    last: i64,
    carrier: i64,
    order: i64,
    customer: i64,
    convention: Convention,
    stage: Stage,
}

impl Delivery {
    pub fn draw(home: Home, plan: &Plan, prng: &mut Prng) -> Self {
        Self {
            warehouse: home.warehouse,
            district: 0,
            last: home.last,
            carrier: prng.uniform(1, 10),
            order: 0,
            customer: 0,
            convention: plan.convention,
            stage: Stage::Nothing,
        }
    }

    /// Reads the answer and says what comes next.
    pub fn next(&mut self, answer: &Answer, batch: &mut Batch) -> Result<Step, Missing> {
        let order = [self.order, self.district, self.warehouse];
        self.stage = match self.stage {
            Stage::Nothing => return Ok(self.next_district(batch)),
            Stage::Oldest => {
                let Some(oldest) = answer.row(0) else {
                    return Ok(self.next_district(batch));
                };
                self.order = oldest.int(0).ok_or(Missing { table: "new_order" })?;
                batch.call(Sql::DeliveryDelete);
                batch.ints([self.order, self.district, self.warehouse]);
                Stage::Delete
            }
            Stage::Delete => {
                // Another Delivery was faster; above READ COMMITTED that is a serialization failure instead.
                if answer.affected() == 0 {
                    return Ok(match self.convention {
                        Convention::BenchBase => Step::RollBack,
                        Convention::Spec => self.next_district(batch),
                    });
                }
                batch.call(Sql::DeliveryCustomer).ints(order);
                Stage::Customer
            }
            Stage::Customer => {
                let table = "oorder";
                self.customer = answer.first(table)?.int(0).ok_or(Missing { table })?;
                batch.call(Sql::DeliveryCarrier).int(self.carrier).ints(order);
                Stage::Carrier
            }
            Stage::Carrier => {
                answer.must_change("oorder")?;
                batch.call(Sql::DeliveryDates).ints(order);
                Stage::Dates
            }
            Stage::Dates => {
                answer.must_change("order_line")?;
                batch.call(Sql::DeliverySum).ints(order);
                Stage::Sum
            }
            Stage::Sum => {
                let table = "order_line";
                let sum_cents = answer.first(table)?.cents(0).ok_or(Missing { table })?;
                batch.call(Sql::DeliveryBalance).cents(sum_cents);
                batch.ints([self.warehouse, self.district, self.customer]);
                Stage::Balance
            }
            Stage::Balance => {
                answer.must_change("customer")?;
                return Ok(self.next_district(batch));
            }
        };
        Ok(Step::Ask)
    }

    fn next_district(&mut self, batch: &mut Batch) -> Step {
        self.district += 1;
        if self.district > self.last {
            return Step::Commit;
        }
        batch.call(Sql::DeliveryOldest).ints([self.district, self.warehouse]);
        self.stage = Stage::Oldest;
        Step::Ask
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::super::rehearsal::{plan, said_by, HOME};
    use super::*;

    fn play(convention: Convention, last: i64, answers: &[Answer]) -> Vec<String> {
        let home = Home { last, ..HOME };
        let mut delivery = Delivery::draw(home, &plan(1, convention), &mut Prng::seeded(1));
        delivery.carrier = 7;
        said_by(answers, |answer, batch| delivery.next(answer, batch))
    }

    fn order(number: &str) -> [Answer; 7] {
        [
            Answer::of(&[number]),
            Answer::changed(1),
            Answer::of(&["99"]),
            Answer::changed(1),
            Answer::changed(9),
            Answer::of(&["123.45"]),
            Answer::changed(1),
        ]
    }

    #[test]
    fn every_district_up_to_the_terminals_last_delivers_its_oldest_order() {
        let answers: Vec<_> = order("2101").into_iter().chain(order("2200")).collect();
        let said = play(Convention::BenchBase, 2, &answers);
        assert_eq!(
            said[..8],
            [
                "DeliveryOldest(1, 1)",
                "DeliveryDelete(2101, 1, 1)",
                "DeliveryCustomer(2101, 1, 1)",
                "DeliveryCarrier(7, 2101, 1, 1)",
                "DeliveryDates(2101, 1, 1)",
                "DeliverySum(2101, 1, 1)",
                "DeliveryBalance(123.45, 1, 1, 99)",
                "DeliveryOldest(2, 1)",
            ]
        );
        assert_eq!(said[8], "DeliveryDelete(2200, 2, 1)");
        assert_eq!(said.last().map(String::as_str), Some("commit"));
    }

    #[test]
    fn an_empty_district_is_passed_over() {
        let said = play(Convention::BenchBase, 2, &[Answer::of(&[]), Answer::of(&[])]);
        assert_eq!(said, ["DeliveryOldest(1, 1)", "DeliveryOldest(2, 1)", "commit"]);
    }

    #[test]
    fn an_order_that_is_gone_rolls_back_or_is_passed_over() {
        let answers = [Answer::of(&["2101"]), Answer::changed(0), Answer::of(&[])];
        let benchbase = play(Convention::BenchBase, 2, &answers);
        assert_eq!(benchbase[1..], ["DeliveryDelete(2101, 1, 1)", "rollback"]);
        let spec = play(Convention::Spec, 2, &answers);
        assert_eq!(spec[2..], ["DeliveryOldest(2, 1)", "commit"]);
    }

    #[test]
    fn an_order_without_lines_is_a_database_that_is_not_complete() {
        let mut answers = order("2101");
        answers[4] = Answer::changed(0);
        assert_eq!(
            play(Convention::Spec, 1, &answers).last().map(String::as_str),
            Some("missing order_line")
        );
        answers[4] = Answer::changed(5);
        answers[5] = Answer::of(&["-"]);
        assert_eq!(
            play(Convention::Spec, 1, &answers).last().map(String::as_str),
            Some("missing order_line")
        );
    }
}

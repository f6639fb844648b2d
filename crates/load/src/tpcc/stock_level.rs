//! StockLevel: how many of the items of a district's last twenty orders are running low.

use super::answer::Answer;
use super::batch::Batch;
use super::convention::{Home, Plan};
use super::statements::Sql;
use super::{Missing, Step};
use crate::script::Prng;

const ORDERS: i64 = 20;

/// What is awaited.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Nothing,
    NextOrder,
    Count,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct StockLevel {
    warehouse: i64,
    district: i64,
    threshold: i64,
    stage: Stage,
}

impl StockLevel {
    pub fn draw(home: Home, _: &Plan, prng: &mut Prng) -> Self {
        Self {
            warehouse: home.warehouse,
            district: home.stock_level.unwrap_or_else(|| home.district(prng)),
            threshold: prng.uniform(10, 20),
            stage: Stage::Nothing,
        }
    }

    /// Reads the answer and says what comes next.
    pub fn next(&mut self, answer: &Answer, batch: &mut Batch) -> Result<Step, Missing> {
        let district = [self.warehouse, self.district];
        self.stage = match self.stage {
            Stage::Nothing => {
                batch.call(Sql::StockLevelNextOrder).ints(district);
                Stage::NextOrder
            }
            Stage::NextOrder => {
                let table = "district";
                let next = answer.first(table)?.int(0).ok_or(Missing { table })?;
                batch.call(Sql::StockLevelCount).ints(district);
                batch.ints([next, next - ORDERS, self.warehouse, self.threshold]);
                Stage::Count
            }
            Stage::Count => return Ok(Step::Commit),
        };
        Ok(Step::Ask)
    }
}

#[cfg(test)]
mod tests {
    use super::super::rehearsal::{plan, said_by, HOME};
    use super::*;
    use crate::spec::Convention;

    fn play(home: Home, answers: &[Answer]) -> Vec<String> {
        let plan = plan(1, Convention::Spec);
        let mut level = StockLevel::draw(home, &plan, &mut Prng::seeded(1));
        level.threshold = 15;
        said_by(answers, |answer, batch| level.next(answer, batch))
    }

    #[test]
    fn the_last_twenty_orders_are_looked_at() {
        let answers = [Answer::of(&["3001"]), Answer::of(&["17"])];
        let said = play(HOME, &answers);
        assert_eq!(
            said,
            [
                "StockLevelNextOrder(1, 4)",
                "StockLevelCount(1, 4, 3001, 2981, 1, 15)",
                "commit"
            ]
        );
    }

    #[test]
    fn a_terminal_of_the_specification_always_asks_for_its_own_district() {
        let home = Home {
            first: 1,
            last: 10,
            stock_level: Some(9),
            ..HOME
        };
        assert_eq!(
            play(home, &[Answer::of(&[])]),
            ["StockLevelNextOrder(1, 9)", "missing district"]
        );
    }
}

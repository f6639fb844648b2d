//! A terminal: it stands in one place for the whole load and runs one transaction after another.

use super::answer::Answer;
use super::batch::Batch;
use super::convention::{Home, Plan};
use super::delivery::Delivery;
use super::new_order::NewOrder;
use super::order_status::OrderStatus;
use super::payment::Payment;
use super::statements::Sql;
use super::stock_level::StockLevel;
use super::{Kind, Missing, Step};
use crate::clock::Nanos;
use crate::script::Prng;

/// How a transaction ended on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Committed,
    /// As its inputs wanted.
    RolledBack,
}

/// What the terminal wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The batch is to be sent.
    Ask,
    Ended(End),
}

/// A transaction with its inputs and how far it has come. It lies in its terminal: a transaction must not allocate.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
enum Running {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus(OrderStatus),
    Delivery(Delivery),
    StockLevel(StockLevel),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Terminal {
    home: Home,
    kind: Kind,
    /// None before the first.
    running: Option<Running>,
    /// What the next answer is the end of.
    ending: Option<End>,
    /// The last statement that was answered.
    asked: Option<Sql>,
    /// What to send.
    pub batch: Batch,
    /// What has been answered to it.
    pub answer: Answer,
}

impl Terminal {
    /// The n-th terminal, idle.
    pub fn new(plan: &Plan, number: usize) -> Option<Self> {
        Some(Self {
            home: plan.home(number)?,
            kind: Kind::NewOrder,
            running: None,
            ending: None,
            asked: None,
            batch: Batch::default(),
            answer: Answer::default(),
        })
    }

    /// How long it rests before its next transaction. Before its first it has nothing to think about, but terminals
    /// that began at the same moment would come in step.
    pub fn rest(&self, next: Kind, plan: &Plan, prng: &mut Prng) -> Nanos {
        let before = if self.running.is_some() { self.kind } else { next };
        plan.rest(before, next, prng)
    }

    /// Draws the inputs of a transaction and writes the first batch.
    pub fn begin(&mut self, kind: Kind, plan: &Plan, prng: &mut Prng) -> Result<(), Missing> {
        let home = self.home;
        self.kind = kind;
        self.ending = None;
        self.answer.clear();
        self.batch.clear();
        self.batch.call(Sql::Begin);
        let running = self.running.insert(match kind {
            Kind::NewOrder => Running::NewOrder(NewOrder::draw(home, plan, prng)),
            Kind::Payment => Running::Payment(Payment::draw(home, plan, prng)),
            Kind::OrderStatus => Running::OrderStatus(OrderStatus::draw(home, plan, prng)),
            Kind::Delivery => Running::Delivery(Delivery::draw(home, plan, prng)),
            Kind::StockLevel => Running::StockLevel(StockLevel::draw(home, plan, prng)),
        });
        running.next(&self.answer, &mut self.batch).map(drop)
    }

    /// The statement whose answer was of no use.
    pub fn asked(&self) -> Option<Sql> {
        self.asked
    }

    /// The batch has been answered without an error: what now?
    pub fn next(&mut self) -> Result<Turn, Missing> {
        if let Some(end) = self.ending.take() {
            return Ok(Turn::Ended(end));
        }
        let Some(running) = &mut self.running else {
            return Ok(Turn::Ended(End::RolledBack));
        };
        self.asked = self.batch.last();
        self.batch.clear();
        match running.next(&self.answer, &mut self.batch)? {
            Step::Ask => {}
            Step::Commit => {
                self.batch.call(commit(self.kind));
                self.ending = Some(End::Committed);
            }
            Step::RollBack => {
                self.batch.call(rollback(self.kind));
                self.ending = Some(End::RolledBack);
            }
        }
        self.answer.clear();
        Ok(Turn::Ask)
    }
}

impl Running {
    fn next(&mut self, answer: &Answer, batch: &mut Batch) -> Result<Step, Missing> {
        match self {
            Self::NewOrder(transaction) => transaction.next(answer, batch),
            Self::Payment(transaction) => transaction.next(answer, batch),
            Self::OrderStatus(transaction) => transaction.next(answer, batch),
            Self::Delivery(transaction) => transaction.next(answer, batch),
            Self::StockLevel(transaction) => transaction.next(answer, batch),
        }
    }
}

fn commit(kind: Kind) -> Sql {
    match kind {
        Kind::NewOrder => Sql::NewOrderCommit,
        Kind::Payment => Sql::PaymentCommit,
        Kind::OrderStatus => Sql::OrderStatusCommit,
        Kind::Delivery => Sql::DeliveryCommit,
        Kind::StockLevel => Sql::StockLevelCommit,
    }
}

/// Two of the five can want it.
fn rollback(kind: Kind) -> Sql {
    match kind {
        Kind::Delivery => Sql::DeliveryRollback,
        _ => Sql::NewOrderRollback,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::rehearsal::{plan, said};
    use super::*;
    use crate::spec::Convention;
    use proptest::prelude::*;

    /// What a terminal says first in so many transactions of each kind.
    fn openings(seed: u64, convention: Convention) -> Vec<String> {
        let plan = plan(3, convention);
        let mut terminal = Terminal::new(&plan, 0).unwrap();
        let mut prng = Prng::seeded(seed);
        let mut openings = Vec::new();
        for _ in 0..20 {
            for kind in Kind::ALL {
                terminal.begin(kind, &plan, &mut prng).unwrap();
                openings.push(said(&terminal.batch));
            }
        }
        openings
    }

    #[test]
    fn begin_goes_with_the_first_statement_and_commit_goes_alone() {
        let plan = plan(1, Convention::BenchBase);
        let mut terminal = Terminal::new(&plan, 0).unwrap();
        terminal.begin(Kind::StockLevel, &plan, &mut Prng::seeded(1)).unwrap();
        assert!(said(&terminal.batch).starts_with("Begin() + StockLevelNextOrder(1, "));
        terminal.answer = Answer::of(&["3001"]);
        assert_eq!(terminal.next(), Ok(Turn::Ask));
        assert!(said(&terminal.batch).starts_with("StockLevelCount("));
        terminal.answer = Answer::of(&["0"]);
        assert_eq!(terminal.next(), Ok(Turn::Ask));
        assert_eq!(said(&terminal.batch), "StockLevelCommit()");
        assert_eq!(terminal.next(), Ok(Turn::Ended(End::Committed)));
    }

    #[test]
    fn a_transaction_that_failed_leaves_nothing_to_the_next() {
        let plan = plan(1, Convention::BenchBase);
        let mut terminal = Terminal::new(&plan, 0).unwrap();
        let mut prng = Prng::seeded(1);
        terminal.begin(Kind::StockLevel, &plan, &mut prng).unwrap();
        terminal.answer = Answer::of(&["3001"]);
        terminal.next().unwrap();
        terminal.next().unwrap();
        terminal.begin(Kind::Delivery, &plan, &mut prng).unwrap();
        assert_eq!(said(&terminal.batch), "Begin() + DeliveryOldest(1, 1)");
        assert_eq!(terminal.answer.count(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn the_same_seed_gives_the_same_inputs(seed: u64) {
            for convention in [Convention::BenchBase, Convention::Spec] {
                prop_assert_eq!(openings(seed, convention), openings(seed, convention));
                prop_assert_ne!(openings(seed, convention), openings(seed ^ 1, convention));
            }
        }
    }
}

//! What BenchBase and the specification do differently, and what a terminal needs to know of it.
//!
//! | | benchbase | spec |
//! |---|---|---|
//! | district | of the terminal's own range | any of the ten |
//! | Delivery | districts 1 to the end of that range | all ten |
//! | an order that another Delivery has taken | the transaction rolls back | the district is passed over |
//! | StockLevel's district | of the range | one for each terminal |
//! | tried again | 40001, with new parameters | 40001 and 40P01, with the same |
//! | constants of NURand | fixed | drawn once a run |
//! | one warehouse only: remote lines | stay home, and the order counts as not all local | stay home |
//! | Payment reads the customer | without a lock | FOR UPDATE |

use crate::clock::Nanos;
use crate::record::Code;
use crate::script::Prng;
use crate::spec::{Convention, TpccSpec};

use super::random::nurand;
use super::Kind;

/// Districts of a warehouse.
pub const DISTRICTS: i64 = 10;
const CUSTOMERS: i64 = 3000;
const ITEMS: i64 = 100_000;
/// What NURand for last names was made with when the database was filled.
const NAME_C_AT_LOAD: i64 = 157;
/// Sets the stream of the constants apart from those of clients and threads.
const CONSTANTS_STREAM: u64 = 0x7470_6363;
/// No one thinks longer than so many times the mean.
const THINK_MAX: i64 = 10;

/// The constants C of NURand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Constants {
    name: i64,
    customer: i64,
    item: i64,
}

impl Constants {
    const BENCHBASE: Self = Self {
        name: 223,
        customer: 259,
        item: 7911,
    };

    /// Clause 2.1.6.1: the name's must be neither too near to that of the filling nor too far from it.
    fn draw(seed: u64) -> Self {
        let mut prng = Prng::seeded(seed ^ CONSTANTS_STREAM);
        let name = loop {
            let name = prng.uniform(0, 255);
            let distance = (name - NAME_C_AT_LOAD).abs();
            if (65..=119).contains(&distance) && distance != 96 && distance != 112 {
                break name;
            }
        };
        Self {
            name,
            customer: prng.uniform(0, 1023),
            item: prng.uniform(0, 8191),
        }
    }
}

/// Where a terminal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    pub warehouse: i64,
    /// Its districts.
    pub first: i64,
    pub last: i64,
    /// StockLevel's, if it is always the same.
    pub stock_level: Option<i64>,
}

impl Home {
    /// One of its districts.
    pub fn district(&self, prng: &mut Prng) -> i64 {
        prng.uniform(self.first, self.last)
    }
}

/// TPC-C as this load runs it; all terminals share it.
#[derive(Clone, Debug)]
pub struct Plan {
    pub warehouses: i64,
    pub convention: Convention,
    pub waits: bool,
    constants: Constants,
    homes: Vec<Home>,
}

impl Plan {
    /// For so many terminals.
    pub fn new(spec: &TpccSpec, terminals: usize, seed: u64) -> Self {
        Self {
            warehouses: i64::from(spec.warehouses),
            convention: spec.convention,
            waits: spec.waits,
            constants: match spec.convention {
                Convention::BenchBase => Constants::BENCHBASE,
                Convention::Spec => Constants::draw(seed),
            },
            homes: homes(spec, terminals),
        }
    }

    /// Where this terminal stands.
    pub fn home(&self, terminal: usize) -> Option<Home> {
        self.homes.get(terminal).copied()
    }

    /// Whether a transaction that ended like this may be tried again.
    pub fn may_cure(&self, code: Code) -> bool {
        match self.convention {
            Convention::BenchBase => code == Code::SERIALIZATION,
            Convention::Spec => code.is_retryable(),
        }
    }

    /// Whether it is tried again with the same inputs.
    pub fn keeps_inputs(&self) -> bool {
        self.convention == Convention::Spec
    }

    /// How long a terminal rests between two transactions: it thinks about the one before, and keys in the next.
    pub fn rest(&self, before: Kind, next: Kind, prng: &mut Prng) -> Nanos {
        let mean_us = before.think_mean_s() * 1_000_000;
        let think_us = prng.poisson_gap_us(mean_us as f64).min(mean_us * THINK_MAX);
        let rest_us = think_us + next.keying_s() * 1_000_000;
        u64::try_from(rest_us).unwrap_or(0) * 1_000
    }

    pub fn draw_customer(&self, prng: &mut Prng) -> i64 {
        nurand(prng, 1023, self.constants.customer, 1, CUSTOMERS)
    }

    /// The number of a last name.
    pub fn draw_name(&self, prng: &mut Prng) -> u32 {
        u32::try_from(nurand(prng, 255, self.constants.name, 0, 999)).unwrap_or(0)
    }

    pub fn draw_item(&self, prng: &mut Prng) -> i64 {
        nurand(prng, 8191, self.constants.item, 1, ITEMS)
    }

    /// Any warehouse but this one; this one if there is no other.
    pub fn draw_other_warehouse(&self, home: i64, prng: &mut Prng) -> i64 {
        if self.warehouses < 2 {
            return home;
        }
        let drawn = prng.uniform(1, self.warehouses - 1);
        drawn + i64::from(drawn >= home)
    }
}

/// BenchBase's spreading, with its arithmetic: warehouses take terminals in turn, and those of one warehouse cut its
/// districts in ranges. Where there are more terminals than districts BenchBase has empty ranges and draws from them
/// what it can; here such terminals share districts.
fn homes(spec: &TpccSpec, terminals: usize) -> Vec<Home> {
    let warehouses = i64::from(spec.warehouses);
    let share = terminals as f64 / warehouses as f64;
    let mut homes = Vec::with_capacity(terminals);
    for warehouse in 1..=warehouses {
        let from = ((warehouse - 1) as f64 * share) as usize;
        let to = if warehouse == warehouses {
            terminals
        } else {
            (warehouse as f64 * share) as usize
        };
        homes.extend((from..to).map(|terminal| match spec.convention {
            Convention::BenchBase => range(warehouse, terminal - from, to - from),
            Convention::Spec => anywhere(warehouse, terminal - from),
        }));
    }
    homes
}

fn range(warehouse: i64, terminal: usize, terminals: usize) -> Home {
    let each = DISTRICTS as f64 / terminals as f64;
    let before = (terminal as f64 * each) as i64;
    let last = if terminal + 1 == terminals {
        DISTRICTS
    } else {
        ((terminal + 1) as f64 * each) as i64
    };
    Home {
        warehouse,
        first: before + 1,
        last: last.max(before + 1),
        stock_level: None,
    }
}

fn anywhere(warehouse: i64, terminal: usize) -> Home {
    Home {
        warehouse,
        first: 1,
        last: DISTRICTS,
        stock_level: Some(terminal as i64 % DISTRICTS + 1),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::spec::Isolation;
    use proptest::prelude::*;

    fn spec(warehouses: u32, convention: Convention) -> TpccSpec {
        TpccSpec {
            warehouses,
            convention,
            isolation: Isolation::Serializable,
            waits: false,
        }
    }

    fn ranges(warehouses: u32, terminals: usize) -> Vec<(i64, i64, i64)> {
        let homes = homes(&spec(warehouses, Convention::BenchBase), terminals);
        homes
            .iter()
            .map(|home| (home.warehouse, home.first, home.last))
            .collect()
    }

    #[test]
    fn a_hundred_terminals_at_ten_warehouses_own_a_district_each() {
        let expected: Vec<_> = (0..100).map(|n| (n / 10 + 1, n % 10 + 1, n % 10 + 1)).collect();
        assert_eq!(ranges(10, 100), expected);
    }

    #[test]
    fn few_terminals_leave_warehouses_without_any() {
        let homes = ranges(128, 100);
        let mut warehouses: Vec<_> = homes.iter().map(|home| home.0).collect();
        warehouses.dedup();
        assert_eq!((homes.len(), warehouses.len()), (100, 100));
        assert!(homes.iter().all(|home| (home.1, home.2) == (1, 10)));
    }

    #[test]
    fn three_terminals_cut_ten_districts_as_benchbase_does() {
        assert_eq!(ranges(1, 3), [(1, 1, 3), (1, 4, 6), (1, 7, 10)]);
    }

    #[test]
    fn the_specification_binds_only_stock_level_to_a_district() {
        let homes = homes(&spec(2, Convention::Spec), 20);
        assert!(homes.iter().all(|home| (home.first, home.last) == (1, 10)));
        let fixed: Vec<_> = homes.iter().filter_map(|home| home.stock_level).collect();
        assert_eq!(fixed, (1..=10).chain(1..=10).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_tried_again_depends_on_the_convention() {
        let plan = |convention| Plan::new(&spec(1, convention), 1, 0);
        let (benchbase, spec) = (plan(Convention::BenchBase), plan(Convention::Spec));
        assert!(benchbase.may_cure(Code::SERIALIZATION) && !benchbase.may_cure(Code::DEADLOCK));
        assert!(spec.may_cure(Code::SERIALIZATION) && spec.may_cure(Code::DEADLOCK));
        assert!(!benchbase.keeps_inputs() && spec.keeps_inputs());
        assert!(!spec.may_cure(Code::Connection) && !spec.may_cure(Code::State(*b"57014")));
    }

    #[test]
    fn rests_are_keying_and_thinking_about_the_transaction_before() {
        let plan = Plan::new(&spec(1, Convention::Spec), 1, 0);
        let mut prng = Prng::seeded(3);
        let rests: Vec<f64> = (0..20_000)
            .map(|_| plan.rest(Kind::Delivery, Kind::NewOrder, &mut prng) as f64 / 1e9)
            .collect();
        let mean = rests.iter().sum::<f64>() / rests.len() as f64;
        assert!((mean - 23.0).abs() < 0.3, "{mean}");
        assert!(rests.iter().all(|rest| (18.0..=68.0).contains(rest)));
    }

    proptest! {
        #[test]
        fn the_terminals_of_a_warehouse_cover_its_districts_once(warehouses in 1_u32..40, terminals in 1_usize..300) {
            let ranges = ranges(warehouses, terminals);
            prop_assert_eq!(ranges.len(), terminals);
            for warehouse in 1..=i64::from(warehouses) {
                let own: Vec<_> = ranges.iter().filter(|range| range.0 == warehouse).collect();
                prop_assert!(own.iter().all(|range| 1 <= range.1 && range.1 <= range.2 && range.2 <= 10));
                let mut districts: Vec<_> = own.iter().flat_map(|range| range.1..=range.2).collect();
                if own.len() > 10 {
                    prop_assert!(own.iter().all(|range| range.1 == range.2), "one district for each");
                    districts.dedup();
                }
                if !own.is_empty() {
                    prop_assert_eq!(districts, (1..=10).collect::<Vec<_>>());
                }
            }
        }

        #[test]
        fn constants_keep_the_rule_and_belong_to_the_seed(seed: u64) {
            let constants = Constants::draw(seed);
            let distance = (constants.name - NAME_C_AT_LOAD).abs();
            prop_assert!((65..=119).contains(&distance) && distance != 96 && distance != 112);
            prop_assert!((0..=255).contains(&constants.name));
            prop_assert!((0..=1023).contains(&constants.customer) && (0..=8191).contains(&constants.item));
            prop_assert_eq!(constants, Constants::draw(seed));
        }

        #[test]
        fn another_warehouse_is_another(seed: u64, warehouses in 2_u32..50, home in 1_i64..50) {
            let home = (home - 1) % i64::from(warehouses) + 1;
            let plan = Plan::new(&spec(warehouses, Convention::BenchBase), 1, 0);
            let mut prng = Prng::seeded(seed);
            let other = plan.draw_other_warehouse(home, &mut prng);
            prop_assert!(other != home && (1..=i64::from(warehouses)).contains(&other));
            prop_assert_eq!(Plan::new(&spec(1, Convention::Spec), 1, 0).draw_other_warehouse(1, &mut prng), 1);
        }
    }
}

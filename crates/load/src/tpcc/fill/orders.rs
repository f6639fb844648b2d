//! What the tables of orders have to agree on, although each is written on its own.

use super::{CUSTOMERS, FIRST_NEW_ORDER};
use crate::script::Prng;

const LINES_LOW: u32 = 5;
const LINES_HIGH: u32 = 15;

/// How many lines an order has: a hash of its key, as in BenchBase, so the same in every database.
pub fn lines(warehouse: u32, district: u32, order: u32) -> u32 {
    let key = (u64::from(warehouse) << 32) | (u64::from(district) << 16) | u64::from(order);
    let mixed = Prng::seeded(key).next_u64() >> 32;
    LINES_LOW + ((mixed * u64::from(LINES_HIGH - LINES_LOW + 1)) >> 32) as u32
}

pub const fn is_delivered(order: u32) -> bool {
    order < FIRST_NEW_ORDER
}

/// The customers of a district's orders, the first order's first: each customer once, in one single cycle (Sattolo).
pub fn shuffle_customers(prng: &mut Prng, customers: &mut Vec<u32>) {
    customers.clear();
    customers.extend(1..=CUSTOMERS);
    for at in (1..customers.len()).rev() {
        customers.swap(at, prng.uniform(0, at as i64 - 1) as usize);
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_number_of_lines_is_as_frequent() {
        let mut hits = [0_u32; 16];
        for district in 1..=10 {
            for order in 1..=3000 {
                hits[lines(3, district, order) as usize] += 1;
            }
        }
        assert_eq!(hits[..5], [0; 5]);
        // 30,000 over eleven, and four standard deviations of 50.
        assert!(hits[5..].iter().all(|hit| (2527..2927).contains(hit)), "{hits:?}");
    }

    proptest! {
        #[test]
        fn orders_belong_to_every_customer_once_in_one_cycle(seed: u64) {
            let mut customers = Vec::new();
            shuffle_customers(&mut Prng::seeded(seed), &mut customers);
            let (mut at, mut steps) = (1, 0);
            loop {
                at = customers[at as usize - 1];
                steps += 1;
                if at == 1 {
                    break;
                }
            }
            prop_assert_eq!(steps, CUSTOMERS, "a cycle through all is a permutation without a fixed point");
        }
    }
}

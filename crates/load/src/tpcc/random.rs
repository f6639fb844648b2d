//! TPC-C's own random numbers: NURand, which favours some rows over others, and the names of customers.

use crate::script::Prng;

/// What a last name is made of: one syllable for each of three digits.
const SYLLABLES: [&[u8]; 10] = [
    b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING",
];

/// NURand of the specification, clause 2.1.6: a number in `low..=high`. `a` is 255, 1023 or 8191, `c` is in `0..=a`.
pub fn nurand(prng: &mut Prng, a: i64, c: i64, low: i64, high: i64) -> i64 {
    let mixed = prng.uniform(0, a) | prng.uniform(low, high);
    (mixed + c) % (high - low + 1) + low
}

/// Appends the last name of this number; only its last three decimal digits count.
pub fn last_name(number: u32, out: &mut Vec<u8>) {
    for divisor in [100, 10, 1] {
        if let Some(syllable) = SYLLABLES.get((number / divisor % 10) as usize) {
            out.extend_from_slice(syllable);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(number: u32) -> String {
        let mut out = Vec::new();
        last_name(number, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn names_are_as_the_specification_shows_them() {
        assert_eq!(name(0), "BARBARBAR");
        assert_eq!(name(371), "PRICALLYOUGHT");
        assert_eq!(name(40), "BARPRESBAR");
        assert_eq!(name(999), "EINGEINGEING");
    }

    #[test]
    fn nurand_favours_numbers_with_many_bits() {
        let mut prng = Prng::seeded(1);
        let count = 100_000;
        let mut hits = [0_u32; 256];
        for _ in 0..count {
            let number = nurand(&mut prng, 255, 0, 0, 255);
            if let Some(hit) = usize::try_from(number).ok().and_then(|number| hits.get_mut(number)) {
                *hit += 1;
            }
        }
        // A bit of 255 is set with probability 3/4.
        let most = f64::from(hits[255]) / f64::from(count);
        assert!((most - 0.75_f64.powi(8)).abs() < 0.01, "{most}");
        assert!(hits[0] < 20, "{}", hits[0]);
    }

    proptest! {
        #[test]
        fn nurand_stays_in_its_range(seed: u64, a in prop::sample::select(vec![255_i64, 1023, 8191]), share in 0.0..1.0,
                                     low in 0_i64..10, width in 0_i64..100_000) {
            let c = (share * a as f64) as i64;
            let mut prng = Prng::seeded(seed);
            for _ in 0..50 {
                let number = nurand(&mut prng, a, c, low, low + width);
                prop_assert!((low..=low + width).contains(&number));
            }
        }
    }
}

//! pgbench's random numbers, bit for bit, so that a seed means the same work in both programs.
//!
//! The order of the draws is part of the promise: every function says how many words it takes from the stream.

use super::error::EvalError;

/// A stream of random numbers: xoroshiro128**. Copy it before a transaction to be able to retry with the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prng {
    low: u64,
    high: u64,
}

impl Prng {
    /// The stream of a seed: two splitmix64 outputs make the state.
    pub fn seeded(seed: u64) -> Self {
        let mut counter = seed;
        let low = splitmix64(&mut counter);
        let high = splitmix64(&mut counter);
        if low == 0 && high == 0 {
            // The all-zero state would only ever give zeros. No seed is known to lead here.
            return Self {
                low: 0x5851_F42D_4C95_7F2D,
                high: 0x1405_7B7E_F767_814F,
            };
        }
        Self { low, high }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let low = self.low;
        let mixed = self.high ^ low;
        self.low = low.rotate_left(24) ^ mixed ^ (mixed << 16);
        self.high = mixed.rotate_left(37);
        low.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// A double in 0 to 1 without 1, from one draw.
    pub fn double(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 52) as f64;
        (self.next_u64() >> 12) as f64 * STEP
    }

    /// A double in 0 to 1 without 0, from one draw: safe under a logarithm.
    fn positive_double(&mut self) -> f64 {
        1.0 - self.double()
    }

    /// An integer in `0..=high`. Draws again while the number is above; draws nothing when `high` is 0.
    pub(super) fn up_to(&mut self, high: u64) -> u64 {
        if high == 0 {
            return 0;
        }
        loop {
            let candidate = self.next_u64() >> high.leading_zeros();
            if candidate <= high {
                return candidate;
            }
        }
    }

    /// An integer in `low..=high`; `low` without a draw when the range has no more than one number.
    pub fn uniform(&mut self, low: i64, high: i64) -> i64 {
        if high <= low {
            return low;
        }
        low.wrapping_add(self.up_to(high.wrapping_sub(low) as u64) as i64)
    }

    /// [`Prng::uniform`], refusing an empty range and one that 64 bits cannot count: the language's `random`.
    pub fn checked_uniform(&mut self, low: i64, high: i64) -> Result<i64, EvalError> {
        count_between(low, high)?;
        Ok(self.uniform(low, high))
    }

    /// A bell over `low..=high`, cut at `parameter` standard deviations on both sides. Two draws, again while outside.
    pub fn gaussian(&mut self, low: i64, high: i64, parameter: f64) -> Result<i64, EvalError> {
        let count = count_between(low, high)?;
        if parameter.is_nan() || parameter < 2.0 {
            return Err(EvalError::GaussianParameter { parameter });
        }
        let deviation = loop {
            let deviation = self.normal();
            if -parameter <= deviation && deviation < parameter {
                break deviation;
            }
        };
        let share = (deviation + parameter) / (parameter * 2.0);
        Ok(low.wrapping_add((count * share) as i64))
    }

    /// A decline over `low..=high`, by inversion, steeper for a larger `parameter`. One draw.
    pub fn exponential(&mut self, low: i64, high: i64, parameter: f64) -> Result<i64, EvalError> {
        let count = count_between(low, high)?;
        if parameter.is_nan() || parameter <= 0.0 {
            return Err(EvalError::ExponentialParameter { parameter });
        }
        let cut = (-parameter).exp();
        let uniform = self.positive_double();
        let share = -(cut + (1.0 - cut) * uniform).ln() / parameter;
        Ok(low.wrapping_add((count * share) as i64))
    }

    /// Zipf's law over `low..=high`, by Devroye's rejection. Two draws, again while rejected; none for a single number.
    pub fn zipfian(&mut self, low: i64, high: i64, parameter: f64) -> Result<i64, EvalError> {
        let count = count_between(low, high)?;
        if !(1.001..=1000.0).contains(&parameter) {
            return Err(EvalError::ZipfianParameter { parameter });
        }
        let rank = if count <= 1.0 {
            1
        } else {
            self.zipf_rank(count, parameter)
        };
        Ok(low.wrapping_add(rank - 1))
    }

    /// The microseconds to the next transaction of a Poisson process. One draw.
    pub fn poisson_gap_us(&mut self, mean_us: f64) -> i64 {
        (-self.positive_double().ln() * mean_us + 0.5) as i64
    }

    fn normal(&mut self) -> f64 {
        let first = self.positive_double();
        let second = self.positive_double();
        (-2.0 * first.ln()).sqrt() * (2.0 * std::f64::consts::PI * second).sin()
    }

    fn zipf_rank(&mut self, count: f64, parameter: f64) -> i64 {
        let exponent = parameter - 1.0;
        let bound = 2.0_f64.powf(exponent);
        loop {
            let first = self.double();
            let second = self.double();
            let rank = first.powf(-1.0 / exponent).floor();
            let slope = (1.0 + 1.0 / rank).powf(exponent);
            if second * rank * (slope - 1.0) / (bound - 1.0) <= slope / bound && rank <= count {
                return rank as i64;
            }
        }
    }
}

/// How many integers are in `low..=high`, as the double that the distributions compute with.
fn count_between(low: i64, high: i64) -> Result<f64, EvalError> {
    if low > high {
        return Err(EvalError::EmptyRange);
    }
    let count = high.checked_sub(low).and_then(|distance| distance.checked_add(1));
    count.map(|count| count as f64).ok_or(EvalError::RangeTooLarge)
}

fn splitmix64(counter: &mut u64) -> u64 {
    *counter = counter.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *counter;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

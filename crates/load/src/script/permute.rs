//! `permute`: a pseudorandom order of 0 to n-1, so that hot keys need not be neighbours.

use super::random::Prng;

const ROUNDS: u32 = 6;

/// The place of `value` in the permutation of `0..size` that `seed` selects. A size below 2 has only place 0.
///
/// Each round scrambles the lower and the upper power-of-two block of the range (they overlap) and then shifts all.
pub(super) fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let mut prng = Prng::seeded(seed as u64);
    let size = size as u64;
    let bits = size.ilog2();
    let mut place = value as u64 % size;
    for _ in 0..ROUNDS {
        place = scramble_block(place, bits, &mut prng);
        place = size - 1 - scramble_block(size - 1 - place, bits, &mut prng);
        place = shift(place, prng.up_to(size - 1), size);
    }
    place as i64
}

/// Multiplies by an odd number, flips bits and rotates, all within the lowest `bits`; larger places stay. Two draws.
fn scramble_block(place: u64, bits: u32, prng: &mut Prng) -> u64 {
    let mask = (1u64 << bits) - 1;
    let odd = (prng.next_u64() & mask) | 1;
    let flip = prng.next_u64() & mask;
    if place > mask {
        return place;
    }
    let mixed = (place.wrapping_mul(odd) ^ flip) & mask;
    ((mixed << 1) & mask) | (mixed >> (bits - 1))
}

fn shift(place: u64, offset: u64, size: u64) -> u64 {
    // Both are below 2^63, so the sum cannot overflow.
    (place + offset) % size
}

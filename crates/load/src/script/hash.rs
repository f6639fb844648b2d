//! The two hashes of the language. They are stable across runs and machines.

const FNV_OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
const MURMUR_MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
const MURMUR_SHIFT: u32 = 47;

/// FNV-1a over the eight bytes of `value`, the low byte first.
pub(super) fn fnv1a(value: i64, seed: i64) -> i64 {
    let mut hash = FNV_OFFSET_BASIS ^ seed as u64;
    for byte in value.to_le_bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
    }
    hash as i64
}

/// The 64-bit MurmurHash2 of the eight bytes of `value`.
pub(super) fn murmur2(value: i64, seed: i64) -> i64 {
    let multiply = |word: u64| word.wrapping_mul(MURMUR_MULTIPLIER);
    let fold = |word: u64| word ^ (word >> MURMUR_SHIFT);
    let length = MURMUR_MULTIPLIER.wrapping_mul(8);
    let block = multiply(fold(multiply(value as u64)));
    let mixed = multiply((seed as u64 ^ length) ^ block);
    fold(multiply(fold(mixed))) as i64
}

//! Random texts. Nearly all bytes of a filling are letters, so one draw gives several.

use crate::script::Prng;

/// Letters that one draw of 64 bits gives: 16 bits each, which favours no letter by more than 1 in 2500.
const LANES: usize = 4;

/// Appends so many lower-case letters.
pub fn lower(prng: &mut Prng, out: &mut Vec<u8>, count: usize) {
    symbols(prng, out, count, b'a', 26);
}

pub fn upper(prng: &mut Prng, out: &mut Vec<u8>, count: usize) {
    symbols(prng, out, count, b'A', 26);
}

pub fn digits(prng: &mut Prng, out: &mut Vec<u8>, count: usize) {
    symbols(prng, out, count, b'0', 10);
}

fn symbols(prng: &mut Prng, out: &mut Vec<u8>, count: usize, first: u8, different: u32) {
    let end = out.len() + count;
    out.reserve(count + LANES);
    while out.len() < end {
        out.extend_from_slice(&lanes(prng.next_u64(), first, different));
    }
    out.truncate(end);
}

fn lanes(draw: u64, first: u8, different: u32) -> [u8; LANES] {
    let mut letters = [0; LANES];
    for (lane, letter) in letters.iter_mut().enumerate() {
        let part = (draw >> (16 * lane)) as u32 & 0xFFFF;
        *letter = first + ((part * different) >> 16) as u8;
    }
    letters
}

/// As many letters as BenchBase's generator gives when asked for `asked`: one less.
pub fn text(prng: &mut Prng, out: &mut Vec<u8>, asked: usize) {
    lower(prng, out, asked.saturating_sub(1));
}

/// [`text`] of a length asked for between both limits.
pub fn text_between(prng: &mut Prng, out: &mut Vec<u8>, low: i64, high: i64) {
    let asked = prng.uniform(low, high) as usize;
    text(prng, out, asked);
}

/// What items and stock say about themselves: in one of ten the word ORIGINAL stands somewhere.
pub fn data(prng: &mut Prng, out: &mut Vec<u8>) {
    const WORD: &[u8] = b"ORIGINAL";
    let original = prng.uniform(1, 100) <= 10;
    let asked = prng.uniform(26, 50);
    if !original {
        return text(prng, out, asked as usize);
    }
    let start = prng.uniform(2, asked - 8);
    text(prng, out, (start - 1) as usize);
    out.extend_from_slice(WORD);
    text(prng, out, (asked - start - 9).max(0) as usize);
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_comes_about_equally_often() {
        let mut prng = Prng::seeded(5);
        let mut out = Vec::new();
        lower(&mut prng, &mut out, 260_001);
        assert_eq!(out.len(), 260_001);
        let mut hits = [0_u32; 26];
        for letter in out {
            hits[usize::from(letter - b'a')] += 1;
        }
        assert!(hits.iter().all(|hit| (9_500..10_500).contains(hit)), "{hits:?}");
    }

    #[test]
    fn a_tenth_of_the_data_is_original_and_all_keep_their_length() {
        let mut prng = Prng::seeded(7);
        let mut originals = 0;
        for _ in 0..10_000 {
            let mut out = Vec::new();
            data(&mut prng, &mut out);
            assert!((22..=49).contains(&out.len()), "{}", out.len());
            originals += u32::from(out.windows(8).any(|part| part == b"ORIGINAL"));
        }
        assert!((850..1150).contains(&originals), "{originals}");
    }
}

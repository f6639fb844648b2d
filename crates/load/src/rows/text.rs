//! Texts that look like the bounds of a histogram and stand between them.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::script::Prng;

const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &[u8] = b"0123456789";
/// Characters in which the place within a bucket is written: 26 x 26 are finer than any sample sees.
const PLACE_CHARS: usize = 2;
const TRIES: usize = 8;
/// Texts of so many words on average are made of words; so many of a bound's own are kept.
const MANY_WORDS: usize = 5;
const WORDS_KEPT: usize = 2;
/// Of texts without a pattern, so that compression finds in them about what it finds in language.
const SYLLABLES: [&str; 32] = [
    "ba", "be", "bo", "ca", "co", "da", "de", "di", "do", "fa", "ga", "he", "in", "ka", "la", "le", "li", "lo", "ma",
    "me", "mi", "na", "ne", "no", "pa", "ra", "re", "ro", "sa", "ta", "ti", "tor",
];

/// What texts have in common: their mean length in bytes, 0 for that of the bounds; their limit; whether none may grow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Form {
    pub bytes: f64,
    pub chars_max: Option<u32>,
    pub rigid: bool,
}

/// `count` different texts in order with their places among the bounds; fewer where their form leaves no room.
pub fn texts(bounds: &[String], form: &Form, count: u64, prng: &mut Prng) -> Vec<(f64, String)> {
    let bytes = form.bytes;
    let limit = form.chars_max.map_or(usize::MAX, |limit| limit as usize);
    let mut seen = HashSet::with_capacity(count as usize);
    let mut made = Vec::with_capacity(count as usize);
    let stretch = stretch_to(bounds, bytes);
    let words = frequent_words(bounds);
    let vocabulary = if form.rigid { Vec::new() } else { vocabulary(bounds) };
    let words = if form.rigid { HashSet::new() } else { words };
    for (at, place) in (0..).zip(places(bounds.len(), count)) {
        let text = (0..TRIES).find_map(|tried| {
            // Short texts are soon taken: others stand nearby.
            let aside = (prng.double() - 0.5) * tried as f64 / 2.0;
            let last = bounds.len().saturating_sub(1) as f64;
            let place = if tried > 0 {
                (place + aside).clamp(0.0, last)
            } else {
                place
            };
            let mut text = if bounds.is_empty() {
                prose(bytes, at, count, prng)
            } else if vocabulary.is_empty() {
                like(
                    bounds,
                    &words,
                    place,
                    (stretch, if form.rigid { 0 } else { tried }),
                    prng,
                )
            } else {
                in_words(bounds, &vocabulary, place, stretch, tried, prng)
            };
            if let Some((cut, _)) = text.char_indices().nth(limit) {
                text.truncate(cut);
            }
            seen.insert(hash_of(&text)).then_some(text)
        });
        if let Some(text) = text {
            made.push((place, text));
        }
    }
    made
}

/// The words of texts that consist of many, each as often as it stands there; none of texts that do not.
fn vocabulary(bounds: &[String]) -> Vec<&str> {
    let words: Vec<&str> = bounds
        .iter()
        .flat_map(|bound| bound.split(' '))
        .filter(|word| !word.is_empty())
        .collect();
    if words.len() >= MANY_WORDS * bounds.len().max(1) {
        words
    } else {
        Vec::new()
    }
}

/// The beginning of the bound below `place`, and then other words of the same vocabulary.
fn in_words(bounds: &[String], vocabulary: &[&str], place: f64, stretch: f64, tried: usize, prng: &mut Prng) -> String {
    let bucket = (place as usize).min(bounds.len() - 1);
    let low = &bounds[bucket];
    if place - (bucket as f64) < 1e-9 && tried == 0 && stretch == 1.0 {
        return low.clone();
    }
    // Texts of other lengths stand between the same bounds.
    let model = &bounds[prng.uniform(0, bounds.len() as i64 - 1) as usize];
    let wanted = ((model.len() as f64 * stretch) as usize).max(low.find(' ').unwrap_or(low.len()));
    let mut text = String::with_capacity(wanted + 16);
    for word in low.split(' ').take(WORDS_KEPT) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
    while text.len() < wanted {
        text.push(' ');
        text.push_str(vocabulary[prng.uniform(0, vocabulary.len() as i64 - 1) as usize]);
    }
    text
}

/// Where the texts stand among the bounds: on every bound first, and the rest evenly between them.
fn places(bounds: usize, count: u64) -> Vec<f64> {
    let buckets = bounds.saturating_sub(1) as f64;
    let evenly = |count: u64| (0..count).map(move |at| (at as f64 + 0.5) / count as f64 * buckets);
    let on_bounds = (bounds as u64).min(count);
    let mut places: Vec<f64> = if count > bounds as u64 {
        (0..bounds)
            .map(|at| at as f64)
            .chain(evenly(count - on_bounds))
            .collect()
    } else {
        evenly(count).map(f64::round).collect()
    };
    places.sort_by(f64::total_cmp);
    places
}

/// Words that stand in several bounds: the host of an address, a title. They are no part of what differs.
fn frequent_words(bounds: &[String]) -> HashSet<&str> {
    let mut counted: HashMap<&str, usize> = HashMap::new();
    for bound in bounds {
        let words: HashSet<&str> = bound.split(|one: char| !one.is_alphanumeric()).collect();
        for word in words {
            *counted.entry(word).or_default() += 1;
        }
    }
    let enough = 3.max(bounds.len() / 20);
    counted.retain(|word, count| *count >= enough && word.len() > 1);
    counted.into_keys().collect()
}

/// Which characters of a text belong to such words; none where nothing else could differ.
fn kept_characters(text: &str, words: &HashSet<&str>) -> Vec<bool> {
    let mut kept = Vec::with_capacity(text.len());
    for word in text.split_inclusive(|one: char| !one.is_alphanumeric()) {
        let bare = word.trim_end_matches(|one: char| !one.is_alphanumeric());
        let is_kept = words.contains(bare);
        kept.extend(word.chars().map(|one| is_kept && one.is_alphanumeric()));
    }
    let can_differ = text
        .chars()
        .zip(&kept)
        .filter(|(one, kept)| class_of(*one).is_some() && !**kept)
        .count();
    if can_differ < 3 {
        kept.fill(false);
    }
    kept
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// By how much the bounds have to be longer, or shorter, than they are.
fn stretch_to(bounds: &[String], bytes: f64) -> f64 {
    let sum: usize = bounds.iter().map(String::len).sum();
    let mean = sum as f64 / bounds.len().max(1) as f64;
    let stretch = if mean > 0.0 && bytes > 0.0 { bytes / mean } else { 1.0 };
    // What is nearly right is left as it is: the bounds have lengths of real values.
    if (0.93..1.07).contains(&stretch) {
        1.0
    } else {
        stretch.clamp(0.1, 50.0)
    }
}

/// A text like the bound below `place`: the same classes of characters, the same punctuation, about the same length.
///
/// `(stretch, tried)` lengthen it: short texts grow rather than stay equal to another one.
fn like(
    bounds: &[String],
    words: &HashSet<&str>,
    place: f64,
    (stretch, tried): (f64, usize),
    prng: &mut Prng,
) -> String {
    let bucket = (place as usize).min(bounds.len() - 1);
    let low = &bounds[bucket];
    let within = place - bucket as f64;
    let is_bound = within < 1e-9;
    if is_bound && tried == 0 && stretch == 1.0 {
        return low.clone();
    }
    let high = bounds.get(bucket + 1).unwrap_or(low);
    let shared = low
        .chars()
        .zip(high.chars())
        .take_while(|(one, other)| one == other)
        .count();
    let wanted = ((low.chars().count() as f64 * stretch).round() as usize).max(1);
    let wanted = wanted + tried / 6;
    let mut text = String::with_capacity(low.len() + 4);
    let mut place_left = within.clamp(0.0, 0.999_999);
    let mut placed = 0;
    let template: Vec<char> = low.chars().collect();
    let kept = kept_characters(low, words);
    for at in 0..wanted {
        let model = template
            .get(at)
            .copied()
            .unwrap_or_else(|| template[at % template.len().max(1)]);
        if at < template.len() && (at < shared || kept[at]) {
            text.push(model);
            continue;
        }
        let Some(class) = class_of(model) else {
            text.push(model);
            continue;
        };
        if placed < PLACE_CHARS && at < template.len() {
            text.push(next_place(
                class,
                model,
                high.chars().nth(at),
                placed == 0,
                &mut place_left,
            ));
            placed += 1;
        } else {
            text.push(char::from(class[prng.uniform(0, class.len() as i64 - 1) as usize]));
        }
    }
    text
}

/// The first character lies between those of both bounds, the next ones anywhere in their class.
fn next_place(class: &[u8], low: char, high: Option<char>, is_first: bool, place: &mut f64) -> char {
    let position = |wanted: char| class.iter().position(|one| char::from(*one) == wanted);
    let from = if is_first { position(low).unwrap_or(0) } else { 0 };
    let to = match high.and_then(position) {
        Some(to) if is_first && to > from => to,
        _ if is_first => from + 1,
        _ => class.len(),
    };
    let exact = from as f64 + *place * (to - from) as f64;
    *place = exact - exact.floor();
    char::from(class[(exact as usize).min(class.len() - 1)])
}

fn class_of(one: char) -> Option<&'static [u8]> {
    match one {
        'a'..='z' => Some(LOWER),
        'A'..='Z' => Some(UPPER),
        '0'..='9' => Some(DIGITS),
        _ => None,
    }
}

/// Words of about so many bytes in all; their beginnings ascend.
pub fn prose(bytes: f64, at: u64, count: u64, prng: &mut Prng) -> String {
    let length = (bytes * (0.5 + prng.double())).round().max(1.0) as usize;
    let mut text = String::with_capacity(length + 8);
    let mut place = at as f64 / count.max(1) as f64;
    while text.len() < length {
        for syllable in 0..prng.uniform(2, 4) {
            let drawn = if text.len() < 6 {
                place *= SYLLABLES.len() as f64;
                let whole = place.floor();
                place -= whole;
                whole as usize % SYLLABLES.len()
            } else {
                prng.uniform(0, SYLLABLES.len() as i64 - 1) as usize
            };
            if syllable == 0 && !text.is_empty() {
                text.push(' ');
            }
            text.push_str(SYLLABLES[drawn]);
        }
    }
    text.truncate(length);
    text
}

/// The same text with other letters and digits from `keep` characters on.
pub fn varied(model: &str, keep: usize, prng: &mut Prng) -> String {
    let mut text = String::with_capacity(model.len());
    for (at, one) in model.chars().enumerate() {
        match class_of(one) {
            Some(class) if at >= keep => text.push(char::from(class[prng.uniform(0, class.len() as i64 - 1) as usize])),
            _ => text.push(one),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(bounds: &[&str], chars_max: Option<u32>, count: u64) -> Vec<String> {
        let bounds: Vec<String> = bounds.iter().map(|bound| (*bound).to_owned()).collect();
        let made = texts(
            &bounds,
            &Form {
                chars_max,
                ..Form::default()
            },
            count,
            &mut Prng::seeded(1),
        );
        made.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn texts_stand_between_their_bounds_and_keep_their_shape() {
        let made = made(
            &["anna.mill@a.example", "dora.hain@b.example", "zoe.quist@c.example"],
            None,
            1000,
        );
        assert_eq!(made.len(), 1000);
        assert_eq!(made.iter().collect::<HashSet<_>>().len(), 1000);
        assert!(
            made.iter()
                .all(|text| text.matches('@').count() == 1 && text.contains('.')),
            "{made:?}"
        );
        let half = made.iter().filter(|text| text.as_str() < "dora").count();
        assert!((480..=520).contains(&half), "{half}");
    }

    #[test]
    fn a_short_column_has_as_many_texts_as_it_can_hold() {
        let made = made(&["AA", "ZZ"], Some(2), 5000);
        assert!((300..=676).contains(&made.len()), "{}", made.len());
        assert!(made.iter().all(|text| text.len() <= 2));
    }

    #[test]
    fn without_bounds_texts_have_the_length_that_was_asked_for() {
        let made = texts(
            &[],
            &Form {
                bytes: 40.0,
                ..Form::default()
            },
            2000,
            &mut Prng::seeded(3),
        );
        let mean = made.iter().map(|(_, text)| text.len()).sum::<usize>() as f64 / made.len() as f64;
        assert!((37.0..43.0).contains(&mean), "{mean}");
    }
}

//! Values that have parts: arrays, lexemes, JSON, ranges. Each comes with its place among the others.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Number, Value};

use super::plan::{Element, Format};
use super::text::{prose, varied};
use crate::script::Prng;

const TRIES: u32 = 4;

/// Arrays with elements as common as planned, in the text form of an array or a tsvector. Equal ones may repeat.
pub fn collections(
    elements: &[Element],
    counts: &[f64],
    lexemes: bool,
    count: u64,
    prng: &mut Prng,
) -> Vec<(f64, String)> {
    let mut sums = Vec::with_capacity(elements.len());
    let mut sum = 0.0;
    for element in elements {
        sum += element.share.max(1e-9);
        sums.push(sum);
    }
    // What of the elements is not common are others of the same shape.
    let mean = counts.iter().sum::<f64>() / counts.len().max(1) as f64;
    let common_share = if lexemes || mean <= 0.0 {
        1.0
    } else {
        (sum / mean).min(1.0)
    };
    let common_share = if common_share > 0.9 { 1.0 } else { common_share };
    let mut made = HashSet::with_capacity(count as usize);
    for _ in 0..count.saturating_mul(8) {
        if made.len() as u64 >= count {
            break;
        }
        let wanted = quantile(counts, prng.double()).round().max(0.0) as usize;
        let chosen = choose(&sums, wanted.min(elements.len()), prng);
        let texts: Vec<String> = chosen
            .iter()
            .map(|at| {
                let text = &elements[*at].text;
                if prng.double() < common_share {
                    text.clone()
                } else {
                    varied(text, text.len() / 3, prng)
                }
            })
            .collect();
        let texts = texts.iter().map(String::as_str);
        made.insert(if lexemes { lexeme_list(texts) } else { array(texts) });
    }
    let mut made: Vec<String> = made.into_iter().collect();
    made.sort_unstable();
    made.into_iter()
        .enumerate()
        .map(|(at, text)| (at as f64, text))
        .collect()
}

fn quantile(quantiles: &[f64], share: f64) -> f64 {
    let last = quantiles.len().saturating_sub(1);
    let place = share * last as f64;
    let at = place as usize;
    let low = quantiles.get(at).copied().unwrap_or(1.0);
    let high = quantiles.get(at + 1).copied().unwrap_or(low);
    low + (high - low) * (place - at as f64)
}

/// Positions of so many different elements, drawn by their shares.
fn choose(sums: &[f64], wanted: usize, prng: &mut Prng) -> Vec<usize> {
    let whole = sums.last().copied().unwrap_or(0.0);
    let mut chosen = Vec::with_capacity(wanted);
    for _ in 0..wanted * 20 {
        if chosen.len() == wanted {
            break;
        }
        let drawn = prng.double() * whole;
        let at = sums.partition_point(|sum| *sum <= drawn).min(sums.len() - 1);
        if !chosen.contains(&at) {
            chosen.push(at);
        }
    }
    chosen
}

fn array<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = texts
        .map(|text| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
        .collect();
    format!("{{{}}}", quoted.join(","))
}

fn lexeme_list<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = texts
        .map(|text| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''")))
        .collect();
    quoted.join(" ")
}

/// Documents with the structure of the templates. What few templates differ in is drawn from them, the rest is new.
pub fn documents(templates: &[String], bytes: f64, count: u64, prng: &mut Prng) -> Vec<(f64, String)> {
    let parsed: Vec<Value> = templates
        .iter()
        .filter_map(|text| serde_json::from_str(text).ok())
        .collect();
    let mut pools = HashMap::new();
    for document in &parsed {
        collect("", document, &mut pools);
    }
    let mut seen = HashSet::new();
    let mut made = Vec::with_capacity(count as usize);
    for at in 0..count {
        let text = (0..TRIES).find_map(|_| {
            let text = match parsed.len() {
                0 => Value::from(Map::from_iter([(
                    "text".to_owned(),
                    Value::from(prose(bytes - 12.0, at, count, prng)),
                )])),
                several => {
                    let model = &parsed[(at as usize * several) / count as usize];
                    another("", model, &pools, prng)
                }
            }
            .to_string();
            seen.insert(text.clone()).then_some(text)
        });
        made.extend(text.map(|text| (at as f64 * parsed.len() as f64 / count as f64, text)));
    }
    made
}

/// The scalars that the templates have at each path.
fn collect<'a>(path: &str, value: &'a Value, pools: &mut HashMap<String, Vec<&'a Value>>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                collect(&format!("{path}.{key}"), field, pools);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect(&format!("{path}[]"), item, pools);
            }
        }
        scalar => pools.entry(path.to_owned()).or_default().push(scalar),
    }
}

fn another(path: &str, model: &Value, pools: &HashMap<String, Vec<&Value>>, prng: &mut Prng) -> Value {
    match model {
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|(key, field)| (key.clone(), another(&format!("{path}.{key}"), field, pools, prng)))
                .collect()
        }
        Value::Array(items) => items
            .iter()
            .map(|item| another(&format!("{path}[]"), item, pools, prng))
            .collect(),
        scalar => another_scalar(scalar, pools.get(path).map_or(&[], Vec::as_slice), prng),
    }
}

fn another_scalar(model: &Value, pool: &[&Value], prng: &mut Prng) -> Value {
    let mut different: Vec<&Value> = Vec::new();
    for value in pool {
        if different.len() * 2 > pool.len() {
            break;
        }
        if !different.contains(value) {
            different.push(value);
        }
    }
    let drawn = pool[prng.uniform(0, pool.len() as i64 - 1) as usize];
    if different.len() * 2 <= pool.len() {
        return drawn.clone();
    }
    match model {
        Value::String(text) => Value::from(varied(text, text.len() / 3, prng)),
        Value::Number(number) => match (number.as_i64(), drawn.as_i64()) {
            (Some(one), Some(other)) => Value::from(prng.uniform(one.min(other), one.max(other))),
            _ => {
                let (one, other) = (number.as_f64().unwrap_or(0.0), drawn.as_f64().unwrap_or(0.0));
                let mixed = one + (other - one) * prng.double();
                Number::from_f64((mixed * 1e4).round() / 1e4).map_or(Value::Null, Value::Number)
            }
        },
        _ => drawn.clone(),
    }
}

/// Ranges that begin at `lows`, with lengths drawn from the quantiles.
pub fn ranges(format: &Format, lows: &[i64], lengths: &[i64], empty_share: f64, prng: &mut Prng) -> Vec<(f64, String)> {
    let lengths: Vec<f64> = match lengths {
        [] => vec![1.0],
        some => some.iter().map(|length| *length as f64).collect(),
    };
    let finite: Vec<f64> = lengths.iter().copied().filter(|length| *length >= 0.0).collect();
    let place_of = |at: usize| at as f64;
    let mut made = Vec::with_capacity(lows.len());
    for (at, low) in lows.iter().enumerate() {
        if prng.double() < empty_share {
            made.push((place_of(at), "empty".to_owned()));
            continue;
        }
        let share = prng.double();
        let has_end = lengths[(share * lengths.len() as f64) as usize] >= 0.0;
        let mut text = vec![b'['];
        format.write(*low, &mut text);
        text.push(b',');
        if has_end {
            let length = quantile(&finite, share * lengths.len() as f64 / finite.len() as f64).max(1.0) as i64;
            format.write(low.saturating_add(length), &mut text);
        }
        text.push(b')');
        made.push((place_of(at), String::from_utf8_lossy(&text).into_owned()));
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_as_common_as_planned() {
        let elements: Vec<Element> = [("red", 0.6), ("blue", 0.3), ("gr\"een", 0.1)]
            .map(|(text, share)| Element {
                text: text.into(),
                share,
            })
            .into();
        let made = collections(&elements, &[1.0, 1.0], false, 50, &mut Prng::seeded(1));
        let texts: Vec<&str> = made.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, [r#"{"blue"}"#, r#"{"gr\"een"}"#, r#"{"red"}"#]);
        let lexemes = collections(&elements, &[3.0], true, 1, &mut Prng::seeded(1));
        assert_eq!(lexemes[0].1.matches('\'').count(), 6);
    }

    #[test]
    fn documents_keep_their_keys_and_what_few_differ_in() {
        let templates: Vec<String> = (0..20)
            .map(|at| format!(r#"{{"kind":"{}","name":"item {at}","price":{at}}}"#, ["a", "b"][at % 2]))
            .collect();
        for (_, text) in documents(&templates, 0.0, 300, &mut Prng::seeded(5)) {
            let value: Value = serde_json::from_str(&text).unwrap_or_default();
            assert!(value["kind"] == "a" || value["kind"] == "b", "{text}");
            assert!(value["name"].is_string() && value["price"].is_i64(), "{text}");
        }
    }

    #[test]
    fn a_range_begins_at_its_bound_and_is_as_long_as_drawn() {
        let format = Format::Decimal { scale: 0 };
        let made = ranges(&format, &[5, 9], &[3, 3], 0.0, &mut Prng::seeded(1));
        assert_eq!(made, [(0.0, "[5,8)".to_owned()), (1.0, "[9,12)".to_owned())]);
        let made = ranges(&format, &[5], &[-1], 0.0, &mut Prng::seeded(1));
        assert_eq!(made, [(0.0, "[5,)".to_owned())]);
    }
}

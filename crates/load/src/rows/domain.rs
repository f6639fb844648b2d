//! The different values of a column, in the order in which the column sorts.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::plan::Format;

/// Values by their code, which is their position. A child has the domain of the column that it refers to.
#[derive(Clone, Debug)]
pub struct Domain {
    values: Values,
    /// Codes in the order of the bytes: a text is looked up without knowing its collation.
    by_bytes: OnceLock<Vec<u32>>,
}

#[derive(Clone, Debug)]
enum Values {
    Ordinals {
        values: Vec<i64>,
        /// So many of the values ascend; what was added later does not.
        ascending: usize,
        format: Format,
        /// Values that the format cannot write, such as infinity, by the ordinal that stands for them.
        specials: HashMap<i64, String>,
    },
    Texts {
        bytes: Vec<u8>,
        ends: Vec<usize>,
    },
}

/// A value to look up.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    Ordinal(i64),
    Text(&'a str),
}

impl<'a> Wanted<'a> {
    pub fn of(text: &'a str, ordinal: Option<i64>) -> Self {
        ordinal.map_or(Self::Text(text), Self::Ordinal)
    }
}

impl Domain {
    /// `values` ascend.
    pub fn of_ordinals(values: Vec<i64>, format: Format, specials: HashMap<i64, String>) -> Self {
        Self::new(Values::Ordinals {
            ascending: values.len(),
            values,
            format,
            specials,
        })
    }

    pub fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for text in texts {
            bytes.extend_from_slice(text.as_bytes());
            ends.push(bytes.len());
        }
        Self::new(Values::Texts { bytes, ends })
    }

    fn new(values: Values) -> Self {
        Self {
            values,
            by_bytes: OnceLock::new(),
        }
    }

    pub fn len(&self) -> usize {
        match &self.values {
            Values::Ordinals { values, .. } => values.len(),
            Values::Texts { ends, .. } => ends.len(),
        }
    }

    /// How many values can be looked up.
    pub fn ascending(&self) -> usize {
        match &self.values {
            Values::Ordinals { ascending, .. } => *ascending,
            Values::Texts { ends, .. } => ends.len(),
        }
    }

    /// The ordinal of a code, None in a domain of texts.
    pub fn ordinal(&self, code: u32) -> Option<i64> {
        match &self.values {
            Values::Ordinals { values, .. } => values.get(code as usize).copied(),
            Values::Texts { .. } => None,
        }
    }

    /// Appends the text of a code, as it is.
    pub fn write(&self, code: u32, out: &mut Vec<u8>) {
        match &self.values {
            Values::Ordinals {
                values,
                format,
                specials,
                ..
            } => {
                let value = values[code as usize];
                match specials.get(&value) {
                    Some(text) => out.extend_from_slice(text.as_bytes()),
                    None => format.write(value, out),
                }
            }
            Values::Texts { .. } => out.extend_from_slice(self.bytes_of(code)),
        }
    }

    fn bytes_of(&self, code: u32) -> &[u8] {
        let Values::Texts { bytes, ends } = &self.values else {
            return b"";
        };
        let at = code as usize;
        let begin = if at == 0 { 0 } else { ends[at - 1] };
        &bytes[begin..ends[at]]
    }

    /// How many values sort below `wanted`, in the order that look-ups have.
    pub fn rank_of(&self, wanted: Wanted<'_>) -> usize {
        match (&self.values, wanted) {
            (Values::Ordinals { values, ascending, .. }, Wanted::Ordinal(ordinal)) => {
                values[..*ascending].partition_point(|value| *value < ordinal)
            }
            (Values::Texts { .. }, Wanted::Text(text)) => {
                let order = self.byte_order();
                order.partition_point(|code| self.bytes_of(*code) < text.as_bytes())
            }
            (Values::Ordinals { .. }, Wanted::Text(text)) => self.rank_of(Wanted::Ordinal(text.parse().unwrap_or(0))),
            (Values::Texts { .. }, Wanted::Ordinal(ordinal)) => self.rank_of(Wanted::Text(&ordinal.to_string())),
        }
    }

    /// The code at a rank of the order that look-ups have.
    pub fn at_rank(&self, rank: usize) -> u32 {
        match &self.values {
            Values::Ordinals { .. } => rank as u32,
            Values::Texts { .. } => self.byte_order()[rank],
        }
    }

    /// The code of the value nearest to `wanted`; the domain has one value at least.
    pub fn nearest(&self, wanted: Wanted<'_>) -> u32 {
        let rank = self.rank_of(wanted).min(self.ascending().saturating_sub(1));
        let (code, before) = (self.at_rank(rank), self.at_rank(rank.saturating_sub(1)));
        match (wanted, self.ordinal(before), self.ordinal(code)) {
            (Wanted::Ordinal(ordinal), Some(low), Some(high)) if ordinal.abs_diff(low) < ordinal.abs_diff(high) => {
                before
            }
            _ => code,
        }
    }

    /// The code of the very value, where there is one.
    pub fn find(&self, wanted: Wanted<'_>) -> Option<u32> {
        let rank = self.rank_of(wanted);
        if rank >= self.ascending() {
            return None;
        }
        let code = self.at_rank(rank);
        let is_same = match wanted {
            Wanted::Ordinal(ordinal) => self.ordinal(code) == Some(ordinal),
            Wanted::Text(text) => match self.values {
                Values::Texts { .. } => self.bytes_of(code) == text.as_bytes(),
                Values::Ordinals { .. } => false,
            },
        };
        is_same.then_some(code)
    }

    /// Adds an ordinal, out of order, and returns its code; None in a domain of texts.
    pub fn add_ordinal(&mut self, ordinal: i64) -> Option<u32> {
        let Values::Ordinals { values, .. } = &mut self.values else {
            return None;
        };
        values.push(ordinal);
        Some(values.len() as u32 - 1)
    }

    /// The code that the value of `code` in `other` has here.
    pub fn translate(&self, other: &Self, code: u32) -> Option<u32> {
        if let Some(ordinal) = other.ordinal(code) {
            return self.find(Wanted::Ordinal(ordinal));
        }
        self.find(Wanted::Text(other.text_of(code)))
    }

    /// A domain with the values of all of these, and for each of them its codes in the new one. None of no domain.
    pub fn united(domains: &[&Self]) -> Option<(Self, Vec<Vec<u32>>)> {
        let first = domains.first()?;
        let united = match &first.values {
            Values::Ordinals { format, specials, .. } => {
                let each = domains
                    .iter()
                    .flat_map(|domain| (0..domain.len() as u32).filter_map(|code| domain.ordinal(code)));
                let mut values: Vec<i64> = each.collect();
                values.sort_unstable();
                values.dedup();
                Self::of_ordinals(values, format.clone(), specials.clone())
            }
            Values::Texts { .. } => {
                let each = domains
                    .iter()
                    .flat_map(|domain| (0..domain.len() as u32).map(|code| domain.text_of(code)));
                let mut texts: Vec<&str> = each.collect();
                texts.sort_unstable();
                texts.dedup();
                Self::of_texts(texts)
            }
        };
        let codes_of = |domain: &&Self| {
            let codes = 0..domain.len() as u32;
            codes
                .map(|code| united.translate(domain, code).unwrap_or(super::NULL))
                .collect()
        };
        let tables = domains.iter().map(codes_of).collect();
        Some((united, tables))
    }

    fn text_of(&self, code: u32) -> &str {
        std::str::from_utf8(self.bytes_of(code)).unwrap_or_default()
    }

    fn byte_order(&self) -> &[u32] {
        self.by_bytes.get_or_init(|| {
            let mut order: Vec<u32> = (0..self.len() as u32).collect();
            order.sort_by(|one, other| self.bytes_of(*one).cmp(self.bytes_of(*other)));
            order
        })
    }
}

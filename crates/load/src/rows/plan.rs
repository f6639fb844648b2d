//! What is to be made. All counts are rows; whoever writes a plan has done the statistics.

use serde::Deserialize;

/// All tables, parents before their children wherever that is possible.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub seed: u64,
    pub tables: Vec<TablePlan>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TablePlan {
    pub name: String,
    pub rows: u64,
    pub columns: Vec<ColumnPlan>,
    /// Sets of several columns that no two rows have in common, the most important one first.
    pub keys: Vec<Vec<usize>>,
    pub foreign: Vec<ForeignPlan>,
    pub joint: Vec<JointPlan>,
    /// Pairs of which the second depends on the first.
    pub dependent: Vec<[usize; 2]>,
    pub couples: Vec<CouplePlan>,
    /// Columns of which the first has the ordinal `yes` where the second is not null, and `no` where it is.
    pub presence: Vec<PresencePlan>,
    /// A partitioned table has no rows of its own but those of these tables, which have the same columns.
    pub parts: Vec<usize>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnPlan {
    pub maker: Maker,
    pub nulls: u64,
    pub common: Vec<Common>,
    /// Different values among the rows that are neither null nor of a common value.
    pub distinct: u64,
    pub correlation: f64,
    pub unique: bool,
}

/// A common value. `place` is where it stands among the bounds, counted in buckets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Common {
    pub text: String,
    pub ordinal: Option<i64>,
    pub place: f64,
    pub rows: u64,
}

/// How the values are made that are not common.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Maker {
    /// Whole numbers that `format` writes. Equal shares of the rows lie between two bounds.
    Ordinal {
        format: Format,
        bounds: Vec<i64>,
        step: i64,
        /// Whether values may lie beyond the last bound where there are too few below it.
        extends: bool,
    },
    /// Texts like the bounds, of a mean length in bytes.
    Text {
        bounds: Vec<String>,
        bytes: f64,
        chars_max: Option<u32>,
        /// Whether texts differ from a bound in letters and digits alone, never in length.
        rigid: bool,
    },
    /// No other values than these.
    Listed { values: Vec<String> },
    /// Arrays, or the lexemes of a tsvector.
    Elements {
        elements: Vec<Element>,
        counts: Vec<f64>,
        lexemes: bool,
    },
    /// JSON like the templates, with other strings and numbers in it.
    Document { templates: Vec<String>, bytes: f64 },
    /// Ranges: lower bounds spread as an ordinal's values, lengths in the same unit, -1 for a range without end.
    Range {
        format: Format,
        bounds: Vec<i64>,
        step: i64,
        lengths: Vec<i64>,
        empty_share: f64,
    },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Element {
    pub text: String,
    pub share: f64,
}

/// How a whole number is written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Format {
    /// `scale` digits after the point; below 0, so many zeros before it.
    Decimal { scale: i32 },
    /// Microseconds since 1970.
    Timestamp { zone: bool },
    /// Days since 1970.
    Date {},
    /// Microseconds of a day.
    Time { zone: bool },
    /// Microseconds, written with days if these are counted.
    Interval { days: bool },
    /// The first 60 bits.
    Uuid {},
    /// An IPv4 address; a network of `bits` if they are given.
    Inet { bits: Option<u8> },
    /// The position in a list.
    Label { labels: Vec<String> },
}

/// Columns and the columns that they refer to; `parent` is a position among the tables of the plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForeignPlan {
    pub columns: Vec<usize>,
    pub parent: usize,
    pub parent_columns: Vec<usize>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointPlan {
    pub columns: Vec<usize>,
    pub values: Vec<JointValue>,
    /// Pairs of positions among the columns of which the second depends on the first.
    pub functions: Vec<[usize; 2]>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointValue {
    pub values: Vec<Option<JointText>>,
    pub rows: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointText {
    pub text: String,
    pub ordinal: Option<i64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresencePlan {
    pub flag: usize,
    pub of: usize,
    pub yes: i64,
    pub no: i64,
}

/// Two columns of which `high` is nowhere below `low`, and with `strict` always above.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CouplePlan {
    pub low: usize,
    pub high: usize,
    pub strict: bool,
}

impl Plan {
    /// Positions that no table or column has would be found too late.
    pub(super) fn check(&self) -> Result<(), String> {
        for table in &self.tables {
            let columns = table.columns.len();
            if table.parts.iter().any(|part| {
                self.tables
                    .get(*part)
                    .is_none_or(|part| part.columns.len() != columns || !part.parts.is_empty())
            }) {
                return Err(format!("{}: a part is not a table with the same columns", table.name));
            }
            let mut named: Vec<usize> = table.keys.iter().flatten().copied().collect();
            named.extend(table.foreign.iter().flat_map(|foreign| foreign.columns.iter().copied()));
            named.extend(table.joint.iter().flat_map(|joint| joint.columns.iter().copied()));
            named.extend(table.dependent.iter().flatten().copied());
            named.extend(table.presence.iter().flat_map(|presence| [presence.flag, presence.of]));
            named.extend(table.couples.iter().flat_map(|couple| [couple.low, couple.high]));
            if named.iter().any(|column| *column >= columns) {
                return Err(format!("{}: a column is named that it does not have", table.name));
            }
            let joints = table.joint.iter().all(|joint| {
                !joint.columns.is_empty()
                    && joint
                        .values
                        .iter()
                        .all(|value| value.values.len() == joint.columns.len())
            });
            let parents = table.foreign.iter().all(|foreign| {
                let there = self.tables.get(foreign.parent).map_or(0, |parent| parent.columns.len());
                !foreign.columns.is_empty()
                    && foreign.columns.len() == foreign.parent_columns.len()
                    && foreign.parent_columns.iter().all(|column| *column < there)
            });
            if !joints || !parents || table.keys.iter().any(Vec::is_empty) {
                return Err(format!("{}: columns and values do not go together", table.name));
            }
            if table.rows >= u64::from(u32::MAX) {
                return Err(format!("{}: {} rows are more than can be made", table.name, table.rows));
            }
        }
        Ok(())
    }
}

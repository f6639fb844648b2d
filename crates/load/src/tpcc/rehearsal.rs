//! For tests: transactions played with answers that were written down, and what they say in words.

use super::answer::Answer;
use super::batch::Batch;
use super::convention::{Home, Plan};
use super::{Missing, Step};
use crate::spec::{Convention, Isolation, TpccSpec};

/// A terminal that owns one district.
pub const HOME: Home = Home {
    warehouse: 1,
    first: 4,
    last: 4,
    stock_level: None,
};

pub fn plan(warehouses: u32, convention: Convention) -> Plan {
    let spec = TpccSpec {
        warehouses,
        convention,
        isolation: Isolation::Serializable,
        waits: false,
    };
    Plan::new(&spec, 1, 0)
}

/// A batch in words: `PaymentWarehouse(1) + ...`.
pub fn said(batch: &Batch) -> String {
    let calls = batch.calls().map(|(sql, _, values)| {
        let mut rest = values;
        let mut words = Vec::new();
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let (value, after) = after.split_at(u32::from_be_bytes(*length) as usize);
            words.push(String::from_utf8_lossy(value).into_owned());
            rest = after;
        }
        format!("{sql:?}({})", words.join(", "))
    });
    calls.collect::<Vec<_>>().join(" + ")
}

/// Everything that a transaction says, one text a batch, up to its end: `commit`, `rollback`, `missing TABLE`, or
/// nothing if the answers do not last.
pub fn said_by(answers: &[Answer], mut next: impl FnMut(&Answer, &mut Batch) -> Result<Step, Missing>) -> Vec<String> {
    let mut texts = Vec::new();
    let mut batch = Batch::default();
    let nothing = Answer::default();
    for answer in std::iter::once(&nothing).chain(answers) {
        batch.clear();
        let end = match next(answer, &mut batch) {
            Ok(Step::Ask) => {
                texts.push(said(&batch));
                continue;
            }
            Ok(Step::Commit) => "commit".to_owned(),
            Ok(Step::RollBack) => "rollback".to_owned(),
            Err(missing) => format!("missing {}", missing.table),
        };
        texts.push(end);
        break;
    }
    texts
}

//! Values that a script is dealt instead of computing them: the rows of `\draw`.

use serde::{Deserialize, Serialize};

use crate::error::LoadError;
use crate::script::Names;

/// One table of values. `\draw name` deals its rows to all clients in turn and gives every column's variable its text;
/// `None` is SQL NULL. `:name_number` is a number that no other draw of the load gets.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptValues {
    pub name: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<String>>>,
}

impl ScriptValues {
    /// Whether a script can draw from these. `script` appears in errors.
    pub(super) fn validate(&self, script: &str) -> Result<(), LoadError> {
        let refuse = |problem: String| {
            let field = format!("scripts.{script}.values.{}", self.name);
            Err(LoadError::spec(field, problem))
        };
        if !Names::is_valid(&self.name) {
            return refuse("is no name that values can have".to_owned());
        }
        if let Some(column) = self.columns.iter().find(|column| !Names::is_valid(column)) {
            return refuse(format!("{column:?} is no name that a variable can have"));
        }
        if self.rows.is_empty() {
            return refuse("at least one row is needed".to_owned());
        }
        let width = self.columns.len();
        if let Some(row) = self.rows.iter().find(|row| row.len() != width) {
            return refuse(format!("a row has {} values, not {width}", row.len()));
        }
        if self.rows.iter().flatten().flatten().any(|text| text.contains('\0')) {
            return refuse("a value has a null byte".to_owned());
        }
        Ok(())
    }
}

//! What a user reads of an error of evaluation: the variable at fault has a name and a text.

use super::error::EvalError;
use super::names::Names;
use super::variables::Variables;

impl EvalError {
    /// The message with the name of the variable, if one is at fault, and with its text where that is the fault.
    pub fn describe(&self, names: &Names, variables: &Variables) -> String {
        let text = |slot| {
            let mut found = String::new();
            variables.with_text(slot, |text| found = String::from_utf8_lossy(text).into_owned());
            found
        };
        match *self {
            Self::Undefined { slot } => format!("{self} \"{}\"", names.name(slot)),
            Self::Malformed { slot } => format!("{self} \"{}\" value: \"{}\"", names.name(slot), text(slot)),
            Self::SleepNotNumber { slot } => {
                format!("{self} \"{}\" for variable \"{}\"", text(slot), names.name(slot))
            }
            _ => self.to_string(),
        }
    }
}

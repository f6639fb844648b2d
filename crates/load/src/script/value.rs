//! The four types of the language and the conversions that pgbench allows between them.

use super::error::EvalError;
use super::number::{self, NumberText};

/// A value of an expression. There is no text type: text exists only in variables, and becomes one of these when used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// TRUE or FALSE; never converted to or from a number.
    Bool(bool),
    /// A 64-bit integer.
    Int(i64),
    /// A C double.
    Double(f64),
}

impl Value {
    /// The type's name, as pgbench says it in errors.
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Int(_) => "int",
            Self::Double(_) => "double",
        }
    }

    /// The integer that the value stands for; doubles round half to even.
    pub fn as_int(self) -> Result<i64, EvalError> {
        match self {
            Self::Int(value) => Ok(value),
            Self::Double(value) => number::round_to_int(value).ok_or(EvalError::DoubleToInt { value }),
            Self::Null | Self::Bool(_) => Err(self.cannot_become("int")),
        }
    }

    /// The double that the value stands for.
    pub fn as_double(self) -> Result<f64, EvalError> {
        match self {
            Self::Int(value) => Ok(value as f64),
            Self::Double(value) => Ok(value),
            Self::Null | Self::Bool(_) => Err(self.cannot_become("double")),
        }
    }

    /// The boolean that the value stands for: only booleans do.
    pub fn as_bool(self) -> Result<bool, EvalError> {
        match self {
            Self::Bool(value) => Ok(value),
            Self::Null | Self::Int(_) | Self::Double(_) => Err(self.cannot_become("boolean")),
        }
    }

    /// Whether `\if` and CASE take the branch: NULL is false, and a number is true unless it is zero.
    pub fn is_true(self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => value,
            Self::Int(value) => value != 0,
            Self::Double(value) => value != 0.0,
        }
    }

    /// The text that stands in SQL for this value, without allocation.
    pub fn text(self) -> NumberText {
        match self {
            Self::Null => NumberText::word("NULL"),
            Self::Bool(true) => NumberText::word("true"),
            Self::Bool(false) => NumberText::word("false"),
            Self::Int(value) => NumberText::int(value),
            Self::Double(value) => NumberText::double(value),
        }
    }

    fn cannot_become(self, wanted: &'static str) -> EvalError {
        EvalError::Type {
            found: self.type_name(),
            wanted,
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.text().as_str())
    }
}

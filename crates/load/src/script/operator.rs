//! The operators that evaluate both operands first.

use std::cmp::Ordering;

use super::error::EvalError;
use super::value::Value;

/// An operator with two operands that are both evaluated first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

impl Operator {
    /// The operator as a script writes it.
    pub(super) fn spelled(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::BitAnd => "&",
            Self::BitOr => "|",
            Self::BitXor => "#",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Equal => "=",
            Self::NotEqual => "<>",
        }
    }
    /// Computes with two values of which none is NULL: in doubles as soon as one is a double, else in integers.
    pub(super) fn apply(self, left: Value, right: Value) -> Result<Value, EvalError> {
        use Operator as Op;
        match self {
            Op::Remainder => remainder(left, right),
            Op::BitAnd | Op::BitOr | Op::BitXor | Op::ShiftLeft | Op::ShiftRight => self.on_bits(left, right),
            _ if matches!(left, Value::Double(_)) || matches!(right, Value::Double(_)) => {
                Ok(self.on_doubles(left.as_double()?, right.as_double()?))
            }
            _ => self.on_ints(left.as_int()?, right.as_int()?),
        }
    }

    fn on_bits(self, left: Value, right: Value) -> Result<Value, EvalError> {
        let (left, right) = (left.as_int()?, right.as_int()?);
        // A shift by 64 or more counts only its lowest six bits, as the processor does for pgbench.
        let distance = right as u32;
        Ok(Value::Int(match self {
            Self::BitAnd => left & right,
            Self::BitOr => left | right,
            Self::BitXor => left ^ right,
            Self::ShiftLeft => left.wrapping_shl(distance),
            _ => left.wrapping_shr(distance),
        }))
    }

    fn on_doubles(self, left: f64, right: f64) -> Value {
        match self {
            Self::Add => Value::Double(left + right),
            Self::Subtract => Value::Double(left - right),
            Self::Multiply => Value::Double(left * right),
            Self::Divide => Value::Double(left / right),
            _ => Value::Bool(self.holds(left.partial_cmp(&right))),
        }
    }

    fn on_ints(self, left: i64, right: i64) -> Result<Value, EvalError> {
        let result = match self {
            Self::Add => left.checked_add(right),
            Self::Subtract => left.checked_sub(right),
            Self::Multiply => left.checked_mul(right),
            Self::Divide if right == 0 => return Err(EvalError::DivisionByZero),
            Self::Divide => left.checked_div(right),
            _ => return Ok(Value::Bool(self.holds(Some(left.cmp(&right))))),
        };
        result.map(Value::Int).ok_or(EvalError::IntegerOverflow {
            operation: self.spelled(),
        })
    }

    /// Whether the comparison holds for this order; NaN has none and differs from everything.
    fn holds(self, order: Option<Ordering>) -> bool {
        match self {
            Self::Less => order == Some(Ordering::Less),
            Self::LessEqual => order.is_some_and(Ordering::is_le),
            Self::Greater => order == Some(Ordering::Greater),
            Self::GreaterEqual => order.is_some_and(Ordering::is_ge),
            Self::NotEqual => order != Some(Ordering::Equal),
            _ => order == Some(Ordering::Equal),
        }
    }
}

/// `%` and `mod`: always integers, with the sign of the left operand.
pub(super) fn remainder(left: Value, right: Value) -> Result<Value, EvalError> {
    let (left, right) = (left.as_int()?, right.as_int()?);
    if right == 0 {
        return Err(EvalError::DivisionByZero);
    }
    Ok(Value::Int(left.wrapping_rem(right)))
}

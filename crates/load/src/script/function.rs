//! The functions of the language: names, numbers of arguments, and what they compute.

use super::error::EvalError;
use super::random::Prng;
use super::value::Value;
use super::{hash, operator, permute};

/// At most this many arguments, so that a call needs no heap.
pub(super) const MAX_ARGUMENTS: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Mod,
    Permute,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
}

/// How many arguments a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arity {
    Exactly(usize),
    AtLeastOne,
    /// One argument fewer is allowed: the last is then `:default_seed`.
    SeedOptional(usize),
}

/// Every name that a script may use, and the function that it names. The first of equal functions is the printed name.
const NAMES: [(&str, Function); 21] = [
    ("abs", Function::Abs),
    ("debug", Function::Debug),
    ("double", Function::Double),
    ("exp", Function::Exp),
    ("greatest", Function::Greatest),
    ("hash", Function::HashMurmur2),
    ("hash_fnv1a", Function::HashFnv1a),
    ("hash_murmur2", Function::HashMurmur2),
    ("int", Function::Int),
    ("least", Function::Least),
    ("ln", Function::Ln),
    ("mod", Function::Mod),
    ("permute", Function::Permute),
    ("pi", Function::Pi),
    ("pow", Function::Power),
    ("power", Function::Power),
    ("random", Function::Random),
    ("random_exponential", Function::RandomExponential),
    ("random_gaussian", Function::RandomGaussian),
    ("random_zipfian", Function::RandomZipfian),
    ("sqrt", Function::Sqrt),
];

impl Function {
    /// Finds a function; names are case-insensitive.
    pub(super) fn find(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, function)| *function)
    }

    pub(super) fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(_, function)| *function == self)
            .map_or("", |(name, _)| name)
    }

    pub(super) fn arity(self) -> Arity {
        match self {
            Self::Pi => Arity::Exactly(0),
            Self::Abs | Self::Debug | Self::Double | Self::Exp | Self::Int | Self::Ln | Self::Sqrt => Arity::Exactly(1),
            Self::Mod | Self::Power | Self::Random => Arity::Exactly(2),
            Self::RandomExponential | Self::RandomGaussian | Self::RandomZipfian => Arity::Exactly(3),
            Self::HashFnv1a | Self::HashMurmur2 => Arity::SeedOptional(2),
            Self::Permute => Arity::SeedOptional(3),
            Self::Greatest | Self::Least => Arity::AtLeastOne,
        }
    }

    /// Computes the function. `debug` is the identity here; the evaluator has seen its argument.
    pub(super) fn apply(self, arguments: &[Value], prng: &mut Prng) -> Result<Value, EvalError> {
        match (self, arguments) {
            (Self::Pi, []) => Ok(Value::Double(std::f64::consts::PI)),
            (Self::Debug, [value]) => Ok(*value),
            (Self::Abs, [value]) => absolute(*value),
            (Self::Int, [value]) => value.as_int().map(Value::Int),
            (Self::Double | Self::Exp | Self::Ln | Self::Sqrt, [value]) => self.of_double(*value),
            (Self::Mod, [left, right]) => operator::remainder(*left, *right),
            (Self::Power, [base, exponent]) => Ok(Value::Double(base.as_double()?.powf(exponent.as_double()?))),
            (Self::HashFnv1a, [value, seed]) => Ok(Value::Int(hash::fnv1a(value.as_int()?, seed.as_int()?))),
            (Self::HashMurmur2, [value, seed]) => Ok(Value::Int(hash::murmur2(value.as_int()?, seed.as_int()?))),
            (Self::Permute, [value, size, seed]) => permuted(*value, *size, *seed),
            (Self::Least | Self::Greatest, [first, rest @ ..]) => self.extreme(*first, rest),
            (_, [low, high, parameter @ ..]) => self.draw(*low, *high, parameter, prng),
            _ => Err(EvalError::ArgumentCount),
        }
    }

    fn of_double(self, value: Value) -> Result<Value, EvalError> {
        let value = value.as_double()?;
        Ok(Value::Double(match self {
            Self::Exp => value.exp(),
            Self::Ln => value.ln(),
            Self::Sqrt => value.sqrt(),
            _ => value,
        }))
    }

    /// `least` and `greatest`: doubles as soon as one argument is a double.
    fn extreme(self, first: Value, rest: &[Value]) -> Result<Value, EvalError> {
        let all_int = !std::iter::once(&first)
            .chain(rest)
            .any(|value| matches!(value, Value::Double(_)));
        if all_int {
            return self.extreme_int(first.as_int()?, rest);
        }
        let mut best = first.as_double()?;
        for value in rest {
            let value = value.as_double()?;
            let keep = if self == Self::Least {
                best < value
            } else {
                best > value
            };
            best = if keep { best } else { value };
        }
        Ok(Value::Double(best))
    }

    fn extreme_int(self, first: i64, rest: &[Value]) -> Result<Value, EvalError> {
        let mut best = first;
        for value in rest {
            let value = value.as_int()?;
            best = if self == Self::Least {
                best.min(value)
            } else {
                best.max(value)
            };
        }
        Ok(Value::Int(best))
    }

    /// The random functions; the bounds are integers, and the parameter is looked at after them.
    fn draw(self, low: Value, high: Value, parameter: &[Value], prng: &mut Prng) -> Result<Value, EvalError> {
        let (low, high) = (low.as_int()?, high.as_int()?);
        let number = match (self, parameter) {
            (Self::Random, []) => prng.checked_uniform(low, high),
            (Self::RandomExponential, [decline]) => prng.exponential(low, high, decline.as_double()?),
            (Self::RandomGaussian, [width]) => prng.gaussian(low, high, width.as_double()?),
            (Self::RandomZipfian, [exponent]) => prng.zipfian(low, high, exponent.as_double()?),
            _ => Err(EvalError::ArgumentCount),
        };
        number.map(Value::Int)
    }
}

fn absolute(value: Value) -> Result<Value, EvalError> {
    match value {
        Value::Int(number) => Ok(Value::Int(number.wrapping_abs())),
        Value::Null | Value::Bool(_) | Value::Double(_) => Ok(Value::Double(value.as_double()?.abs())),
    }
}

fn permuted(value: Value, size: Value, seed: Value) -> Result<Value, EvalError> {
    let (value, size, seed) = (value.as_int()?, size.as_int()?, seed.as_int()?);
    if size <= 0 {
        return Err(EvalError::PermuteSize);
    }
    Ok(Value::Int(permute::permute(value, size, seed)))
}

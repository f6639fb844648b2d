//! Evaluation: recursive over the tree, no heap for numbers.

use super::error::EvalError;
use super::expr::{Expr, Node, Truth};
use super::function::{Function, MAX_ARGUMENTS};
use super::operator::Operator;
use super::random::Prng;
use super::value::Value;
use super::variables::Variables;

impl Expr {
    /// The value of the expression. Operands are evaluated from left to right; AND, OR and CASE skip what they can.
    pub fn eval(&self, variables: &mut Variables, prng: &mut Prng) -> Result<Value, EvalError> {
        match &self.node {
            Node::Constant(value) => Ok(*value),
            Node::Variable(slot) => variables.get(*slot),
            Node::Binary(operator, operands) => binary(*operator, operands, variables, prng),
            Node::And(operands) => logic(operands, false, variables, prng),
            Node::Or(operands) => logic(operands, true, variables, prng),
            Node::Not(operand) => negate(operand.eval(variables, prng)?),
            Node::Is {
                operand,
                truth,
                negated,
            } => {
                let holds = is(operand.eval(variables, prng)?, *truth);
                Ok(Value::Bool(holds != *negated))
            }
            Node::Call(function, arguments) => call(*function, arguments, variables, prng),
            Node::Case { branches, otherwise } => case(branches, otherwise, variables, prng),
        }
    }

    /// Whether `\if` takes the branch.
    pub fn is_true(&self, variables: &mut Variables, prng: &mut Prng) -> Result<bool, EvalError> {
        self.eval(variables, prng).map(Value::is_true)
    }
}

fn binary(
    operator: Operator,
    operands: &[Expr; 2],
    variables: &mut Variables,
    prng: &mut Prng,
) -> Result<Value, EvalError> {
    let [left, right] = operands;
    let left = left.eval(variables, prng)?;
    let right = right.eval(variables, prng)?;
    if left == Value::Null || right == Value::Null {
        return Ok(Value::Null);
    }
    operator.apply(left, right)
}

/// AND and OR: `decisive` (false or true) on the left decides alone. Unlike in SQL, NULL on the left is the result at
/// once, and NULL on the right is the result if the left did not decide.
fn logic(operands: &[Expr; 2], decisive: bool, variables: &mut Variables, prng: &mut Prng) -> Result<Value, EvalError> {
    let [left, right] = operands;
    let left = left.eval(variables, prng)?;
    if left == Value::Null {
        return Ok(Value::Null);
    }
    if left.as_bool()? == decisive {
        return Ok(Value::Bool(decisive));
    }
    let right = right.eval(variables, prng)?;
    if right == Value::Null {
        return Ok(Value::Null);
    }
    right.as_bool().map(Value::Bool)
}

fn negate(value: Value) -> Result<Value, EvalError> {
    if value == Value::Null {
        return Ok(Value::Null);
    }
    value.as_bool().map(|truth| Value::Bool(!truth))
}

fn is(value: Value, truth: Truth) -> bool {
    match truth {
        Truth::Null => value == Value::Null,
        Truth::True => value == Value::Bool(true),
        Truth::False => value == Value::Bool(false),
    }
}

fn call(
    function: Function,
    arguments: &[Expr],
    variables: &mut Variables,
    prng: &mut Prng,
) -> Result<Value, EvalError> {
    let mut values = [Value::Null; MAX_ARGUMENTS];
    let mut has_null = false;
    for (value, argument) in values.iter_mut().zip(arguments) {
        *value = argument.eval(variables, prng)?;
        has_null |= *value == Value::Null;
    }
    let values = values.get(..arguments.len()).unwrap_or_default();
    if function == Function::Debug {
        values.iter().for_each(|value| variables.push_debug(*value));
    }
    if has_null {
        return Ok(Value::Null);
    }
    function.apply(values, prng)
}

fn case(
    branches: &[[Expr; 2]],
    otherwise: &Expr,
    variables: &mut Variables,
    prng: &mut Prng,
) -> Result<Value, EvalError> {
    for [condition, result] in branches {
        if condition.is_true(variables, prng)? {
            return result.eval(variables, prng);
        }
    }
    otherwise.eval(variables, prng)
}

//! Expressions as trees, and their printed form with every parenthesis.

use std::fmt;

use super::function::Function;
use super::names::{Names, Slot};
use super::operator::Operator;
use super::value::Value;

/// What `IS` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    Null,
    True,
    False,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Constant(Value),
    Variable(Slot),
    Binary(Operator, Box<[Expr; 2]>),
    And(Box<[Expr; 2]>),
    Or(Box<[Expr; 2]>),
    Not(Box<Expr>),
    /// `negated` is the NOT of `IS NOT`.
    Is {
        operand: Box<Expr>,
        truth: Truth,
        negated: bool,
    },
    Call(Function, Vec<Expr>),
    Case {
        branches: Vec<[Expr; 2]>,
        otherwise: Box<Expr>,
    },
}

/// An expression of `\set` or `\if`.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub(super) node: Node,
    /// The height of the tree: evaluation recurses, so the parser limits it.
    depth: usize,
}

impl Expr {
    pub(super) fn new(node: Node) -> Self {
        let below = match &node {
            Node::Constant(_) | Node::Variable(_) => 0,
            Node::Binary(_, operands) | Node::And(operands) | Node::Or(operands) => deepest(operands.as_slice()),
            Node::Not(operand) | Node::Is { operand, .. } => operand.depth,
            Node::Call(_, arguments) => deepest(arguments),
            Node::Case { branches, otherwise } => deepest(branches.as_flattened()).max(otherwise.depth),
        };
        Self { node, depth: below + 1 }
    }

    pub(super) fn constant(value: Value) -> Self {
        Self::new(Node::Constant(value))
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// The expression with every parenthesis; it parses to the same expression again.
    pub fn display<'a>(&'a self, names: &'a Names) -> impl fmt::Display + 'a {
        Printed { expr: self, names }
    }
}

fn deepest(expressions: &[Expr]) -> usize {
    expressions.iter().map(|expression| expression.depth).max().unwrap_or(0)
}

struct Printed<'a> {
    expr: &'a Expr,
    names: &'a Names,
}

impl<'a> Printed<'a> {
    fn child(&self, expr: &'a Expr) -> Self {
        Self {
            expr,
            names: self.names,
        }
    }

    fn infix(&self, formatter: &mut fmt::Formatter<'_>, operands: &'a [Expr; 2], operator: &str) -> fmt::Result {
        let [left, right] = operands;
        write!(formatter, "({} {operator} {})", self.child(left), self.child(right))
    }

    fn call(&self, formatter: &mut fmt::Formatter<'_>, function: Function, arguments: &'a [Expr]) -> fmt::Result {
        write!(formatter, "{}(", function.name())?;
        for (position, argument) in arguments.iter().enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            write!(formatter, "{separator}{}", self.child(argument))?;
        }
        formatter.write_str(")")
    }

    fn case(&self, formatter: &mut fmt::Formatter<'_>, branches: &'a [[Expr; 2]], otherwise: &'a Expr) -> fmt::Result {
        formatter.write_str("case")?;
        for [condition, result] in branches {
            write!(formatter, " when {} then {}", self.child(condition), self.child(result))?;
        }
        write!(formatter, " else {} end", self.child(otherwise))
    }
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.expr.node {
            Node::Constant(value) => print_constant(formatter, *value),
            Node::Variable(slot) => write!(formatter, ":{}", self.names.name(*slot)),
            Node::Binary(operator, operands) => self.infix(formatter, operands, operator.spelled()),
            Node::And(operands) => self.infix(formatter, operands, "and"),
            Node::Or(operands) => self.infix(formatter, operands, "or"),
            Node::Not(operand) => write!(formatter, "(not {})", self.child(operand)),
            Node::Is {
                operand,
                truth,
                negated,
            } => {
                let not = if *negated { "not " } else { "" };
                let truth = match truth {
                    Truth::Null => "null",
                    Truth::True => "true",
                    Truth::False => "false",
                };
                write!(formatter, "({} is {not}{truth})", self.child(operand))
            }
            Node::Call(function, arguments) => self.call(formatter, *function, arguments),
            Node::Case { branches, otherwise } => self.case(formatter, branches, otherwise),
        }
    }
}

fn print_constant(formatter: &mut fmt::Formatter<'_>, value: Value) -> fmt::Result {
    match value {
        Value::Int(number) if number < 0 => write!(formatter, "({number})"),
        // All digits, unlike a double in SQL: the printed expression must mean the same.
        Value::Double(number) if number < 0.0 => write!(formatter, "({number:?})"),
        Value::Double(number) => write!(formatter, "{number:?}"),
        Value::Null | Value::Bool(_) | Value::Int(_) => write!(formatter, "{}", value.text().as_str().to_lowercase()),
    }
}

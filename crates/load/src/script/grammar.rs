//! From tokens to an expression, by precedence climbing with pgbench's own levels, which are not SQL's.

use super::error::Fault;
use super::expr::{Expr, Node, Truth};
use super::function::{Arity, Function, MAX_ARGUMENTS};
use super::names::Names;
use super::operator::Operator;
use super::token::{Keyword, Lexer, Token};
use super::value::Value;

/// Parser and evaluator recurse, so depth is limited; no script written by hand comes near.
const MAX_DEPTH: usize = 500;

/// How tightly an operator binds; a higher level binds first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Not,
    Is,
    Compare,
    Bits,
    Sum,
    Product,
    Sign,
}

impl Level {
    /// The level of the right operand of a left-associative operator: a second one at its own level stays outside.
    fn above(self) -> Self {
        match self {
            Self::Or => Self::And,
            Self::And => Self::Not,
            Self::Not => Self::Is,
            Self::Is => Self::Compare,
            Self::Compare => Self::Bits,
            Self::Bits => Self::Sum,
            Self::Sum => Self::Product,
            Self::Product | Self::Sign => Self::Sign,
        }
    }
}

/// Parses the expression that starts at byte `at` and ends with its line. Gives the byte where the next line starts.
pub(super) fn parse_line(text: &str, at: usize, names: &mut Names) -> Result<(Expr, usize), Fault> {
    let mut lexer = Lexer::new(text, at);
    let (start, token) = lexer.next()?;
    let mut parser = Parser {
        text,
        lexer,
        start,
        token,
        names,
        open: 0,
    };
    let expr = parser.expression(Level::Or)?;
    if parser.token != Token::End {
        return Err(parser.unexpected("the expression should end here, or go on with an operator"));
    }
    Ok((expr, parser.lexer.position()))
}

struct Parser<'a, 'n> {
    text: &'a str,
    lexer: Lexer<'a>,
    /// The token that comes next, and where it starts.
    start: usize,
    token: Token<'a>,
    names: &'n mut Names,
    /// Expressions begun and not finished.
    open: usize,
}

impl Parser<'_, '_> {
    /// An expression whose operators are all at `lowest` or above.
    fn expression(&mut self, lowest: Level) -> Result<Expr, Fault> {
        self.open += 1;
        self.check_depth(self.open)?;
        let mut left = self.operand()?;
        let mut compared = false;
        while let Some(level) = infix_level(self.token).filter(|level| *level >= lowest) {
            if level == Level::Compare && compared {
                return Err(self.unexpected("comparisons cannot be chained; use parentheses or AND"));
            }
            compared = level == Level::Compare;
            left = self.infix(left, level)?;
            self.check_depth(left.depth())?;
        }
        self.open -= 1;
        Ok(left)
    }

    /// The operator that comes next, applied to `left`.
    fn infix(&mut self, left: Expr, level: Level) -> Result<Expr, Fault> {
        let operator = self.token;
        self.advance()?;
        let node = match operator {
            Token::Keyword(Keyword::IsNull) => is(left, Truth::Null, false),
            Token::Keyword(Keyword::NotNull) => is(left, Truth::Null, true),
            Token::Keyword(Keyword::Is) => self.is_what(left)?,
            Token::Keyword(Keyword::And) => Node::And(Box::new([left, self.expression(level.above())?])),
            Token::Keyword(Keyword::Or) => Node::Or(Box::new([left, self.expression(level.above())?])),
            Token::Operator(operator) => Node::Binary(operator, Box::new([left, self.expression(level.above())?])),
            _ => return Err(self.unexpected("an operator is missing")),
        };
        Ok(Expr::new(node))
    }

    fn is_what(&mut self, operand: Expr) -> Result<Node, Fault> {
        let negated = self.token == Token::Keyword(Keyword::Not);
        if negated {
            self.advance()?;
        }
        let truth = match self.token {
            Token::Keyword(Keyword::Null) => Truth::Null,
            Token::Keyword(Keyword::True) => Truth::True,
            Token::Keyword(Keyword::False) => Truth::False,
            _ => return Err(self.unexpected("IS needs NULL, TRUE or FALSE")),
        };
        self.advance()?;
        Ok(is(operand, truth, negated))
    }

    /// A constant, variable, call, CASE, parenthesis, or an operator before its operand.
    fn operand(&mut self) -> Result<Expr, Fault> {
        let token = self.token;
        let start = self.start;
        match token {
            Token::Operator(Operator::Add) => self.after(Level::Sign),
            Token::Operator(Operator::Subtract) => self.negative(),
            Token::Complement => {
                let operand = self.after(Level::Bits.above())?;
                Ok(binary(Operator::BitXor, Expr::constant(Value::Int(-1)), operand))
            }
            Token::Keyword(Keyword::Not) => Ok(Expr::new(Node::Not(Box::new(self.after(Level::Not)?)))),
            Token::Keyword(Keyword::Case) => self.case(),
            Token::Number(value) => self.constant(value),
            Token::Keyword(Keyword::Null) => self.constant(Value::Null),
            Token::Keyword(Keyword::True) => self.constant(Value::Bool(true)),
            Token::Keyword(Keyword::False) => self.constant(Value::Bool(false)),
            Token::Variable(name) => {
                self.advance()?;
                Ok(Expr::new(Node::Variable(self.names.intern(name))))
            }
            Token::Open => {
                let inner = self.after(Level::Or)?;
                self.expect(Token::Close, "the parenthesis is not closed")?;
                Ok(inner)
            }
            Token::Name(name) => self.call(name, start),
            Token::MinMagnitude => Err(self.unexpected("this integer fits 64 bits only after a minus")),
            _ => Err(self.unexpected("a value is missing")),
        }
    }

    fn constant(&mut self, value: Value) -> Result<Expr, Fault> {
        self.advance()?;
        Ok(Expr::constant(value))
    }

    /// `-x` is `0 - x`, which is why `-0.0` is 0 and not negative; constants are computed here.
    fn negative(&mut self) -> Result<Expr, Fault> {
        self.advance()?;
        if self.token == Token::MinMagnitude {
            return self.constant(Value::Int(i64::MIN));
        }
        let operand = self.expression(Level::Sign)?;
        match operand.node {
            Node::Constant(Value::Int(number)) if number > 0 => Ok(Expr::constant(Value::Int(-number))),
            Node::Constant(Value::Double(number)) => Ok(Expr::constant(Value::Double(0.0 - number))),
            _ => Ok(binary(Operator::Subtract, Expr::constant(Value::Int(0)), operand)),
        }
    }

    fn call(&mut self, name: &str, start: usize) -> Result<Expr, Fault> {
        let Some(function) = Function::find(name) else {
            return Err(Fault::new(start, start + name.len(), "there is no such function"));
        };
        self.advance()?;
        self.expect(Token::Open, "a function needs parentheses")?;
        let mut arguments = Vec::new();
        while self.token != Token::Close {
            if !arguments.is_empty() {
                self.expect(Token::Comma, "a comma or a closing parenthesis is missing")?;
            }
            arguments.push(self.expression(Level::Or)?);
        }
        self.advance()?;
        check_arity(function, &mut arguments).map_err(|message| Fault::new(start, start + name.len(), message))?;
        Ok(Expr::new(Node::Call(function, arguments)))
    }

    fn case(&mut self) -> Result<Expr, Fault> {
        self.advance()?;
        let mut branches = Vec::new();
        while branches.is_empty() || self.token == Token::Keyword(Keyword::When) {
            self.expect(Token::Keyword(Keyword::When), "CASE needs WHEN")?;
            let condition = self.expression(Level::Or)?;
            self.expect(Token::Keyword(Keyword::Then), "THEN is missing")?;
            branches.push([condition, self.expression(Level::Or)?]);
        }
        let otherwise = if self.token == Token::Keyword(Keyword::Else) {
            self.after(Level::Or)?
        } else {
            Expr::constant(Value::Null)
        };
        self.expect(Token::Keyword(Keyword::End), "CASE needs END")?;
        Ok(Expr::new(Node::Case {
            branches,
            otherwise: Box::new(otherwise),
        }))
    }

    /// Steps over the current token, then reads an expression.
    fn after(&mut self, lowest: Level) -> Result<Expr, Fault> {
        self.advance()?;
        self.expression(lowest)
    }

    fn expect(&mut self, token: Token<'_>, message: &str) -> Result<(), Fault> {
        if self.token != token {
            return Err(self.unexpected(message));
        }
        self.advance()
    }

    fn advance(&mut self) -> Result<(), Fault> {
        (self.start, self.token) = self.lexer.next()?;
        Ok(())
    }

    fn unexpected(&self, message: &str) -> Fault {
        let end = self.lexer.position().min(self.text.len());
        Fault::new(self.start, end, message)
    }

    fn check_depth(&self, depth: usize) -> Result<(), Fault> {
        if depth > MAX_DEPTH {
            return Err(self.unexpected(&format!("the expression is nested more than {MAX_DEPTH} deep")));
        }
        Ok(())
    }
}

fn infix_level(token: Token<'_>) -> Option<Level> {
    match token {
        Token::Keyword(Keyword::Or) => Some(Level::Or),
        Token::Keyword(Keyword::And) => Some(Level::And),
        Token::Keyword(Keyword::Is | Keyword::IsNull | Keyword::NotNull) => Some(Level::Is),
        Token::Operator(operator) => Some(operator_level(operator)),
        _ => None,
    }
}

fn operator_level(operator: Operator) -> Level {
    use Operator as Op;
    match operator {
        Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual | Op::Equal | Op::NotEqual => Level::Compare,
        Op::BitAnd | Op::BitOr | Op::BitXor | Op::ShiftLeft | Op::ShiftRight => Level::Bits,
        Op::Add | Op::Subtract => Level::Sum,
        Op::Multiply | Op::Divide | Op::Remainder => Level::Product,
    }
}

fn binary(operator: Operator, left: Expr, right: Expr) -> Expr {
    Expr::new(Node::Binary(operator, Box::new([left, right])))
}

fn is(operand: Expr, truth: Truth, negated: bool) -> Node {
    Node::Is {
        operand: Box::new(operand),
        truth,
        negated,
    }
}

/// Refuses a wrong number of arguments and adds the seed that a script may leave out.
fn check_arity(function: Function, arguments: &mut Vec<Expr>) -> Result<(), String> {
    let given = arguments.len();
    match function.arity() {
        Arity::Exactly(wanted) if given == wanted => Ok(()),
        Arity::SeedOptional(wanted) if given == wanted => Ok(()),
        Arity::SeedOptional(wanted) if given + 1 == wanted => {
            arguments.push(Expr::new(Node::Variable(Names::DEFAULT_SEED)));
            Ok(())
        }
        Arity::AtLeastOne if (1..=MAX_ARGUMENTS).contains(&given) => Ok(()),
        Arity::Exactly(wanted) => Err(format!("this function takes {wanted} arguments, not {given}")),
        Arity::SeedOptional(wanted) => Err(format!(
            "this function takes {} or {wanted} arguments, not {given}",
            wanted - 1
        )),
        Arity::AtLeastOne => Err(format!(
            "this function takes 1 to {MAX_ARGUMENTS} arguments, not {given}"
        )),
    }
}

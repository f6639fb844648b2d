//! The variables of one client.

use super::error::EvalError;
use super::names::{Names, Slot};
use super::typing;
use super::value::Value;

/// `debug()` values kept until the engine prints them; more are dropped, because nobody may ever look.
const DEBUG_CAPACITY: usize = 1024;

#[derive(Clone, Debug, Default)]
enum State {
    #[default]
    Undefined,
    /// Text from outside, not yet used in an expression.
    Text,
    /// Text from outside and the value it turned out to mean: SQL still gets the text.
    TypedText(Value),
    /// The result of an expression.
    Value(Value),
}

#[derive(Clone, Debug, Default)]
struct Variable {
    state: State,
    /// Kept when the variable becomes a value, so that the next text needs no allocation.
    text: Vec<u8>,
}

/// The values of one client, indexed by [`Slot`].
#[derive(Clone, Debug)]
pub struct Variables {
    variables: Vec<Variable>,
    debug: Vec<Value>,
}

impl Variables {
    /// Room for every name, all undefined. Make it after all scripts are parsed.
    pub fn new(names: &Names) -> Self {
        Self {
            variables: vec![Variable::default(); names.len()],
            debug: Vec::new(),
        }
    }

    /// Stores the result of an expression.
    pub fn set(&mut self, slot: Slot, value: Value) {
        self.update(slot, |variable| variable.state = State::Value(value));
    }

    /// Stores text from `-D` or `\gset`. It is typed on first use in an expression; SQL gets it unchanged.
    pub fn set_text(&mut self, slot: Slot, text: &[u8]) {
        self.update(slot, |variable| {
            variable.text.clear();
            variable.text.extend_from_slice(text);
            variable.state = State::Text;
        });
    }

    /// Makes the variable undefined: SQL NULL as a parameter.
    pub fn unset(&mut self, slot: Slot) {
        self.update(slot, |variable| variable.state = State::Undefined);
    }

    /// Whether the variable has a value.
    pub fn is_defined(&self, slot: Slot) -> bool {
        self.variables
            .get(slot.index())
            .is_some_and(|variable| !matches!(variable.state, State::Undefined))
    }

    /// The typed value; the first use of a text types it.
    pub fn get(&mut self, slot: Slot) -> Result<Value, EvalError> {
        let Some(variable) = self.variables.get_mut(slot.index()) else {
            return Err(EvalError::Undefined { slot });
        };
        match variable.state {
            State::Undefined => Err(EvalError::Undefined { slot }),
            State::Value(value) | State::TypedText(value) => Ok(value),
            State::Text => {
                let value = typing::value_of_text(&variable.text).ok_or(EvalError::Malformed { slot })?;
                variable.state = State::TypedText(value);
                Ok(value)
            }
        }
    }

    /// Shows the variable's text to `read`; false if the variable is undefined (and `read` was not called).
    pub fn with_text(&self, slot: Slot, read: impl FnOnce(&[u8])) -> bool {
        let Some(variable) = self.variables.get(slot.index()) else {
            return false;
        };
        match &variable.state {
            State::Undefined => return false,
            State::Text | State::TypedText(_) => read(&variable.text),
            State::Value(value) => read(value.text().as_bytes()),
        }
        true
    }

    /// Whether `debug()` has seen anything since it was last drained.
    pub fn has_debug(&self) -> bool {
        !self.debug.is_empty()
    }

    /// The values that `debug()` saw since the last call, oldest first.
    pub fn drain_debug(&mut self) -> impl Iterator<Item = Value> + '_ {
        self.debug.drain(..)
    }

    pub(super) fn push_debug(&mut self, value: Value) {
        if self.debug.len() < DEBUG_CAPACITY {
            self.debug.push(value);
        }
    }

    fn update(&mut self, slot: Slot, change: impl FnOnce(&mut Variable)) {
        let index = slot.index();
        if index >= self.variables.len() {
            self.variables.resize_with(index + 1, Variable::default);
        }
        if let Some(variable) = self.variables.get_mut(index) {
            change(variable);
        }
    }
}

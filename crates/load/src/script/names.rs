//! Variable names become dense numbers once, so that a running client indexes its variables and hashes nothing.

use std::collections::HashMap;

/// The place of one variable in every client's [`super::Variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(u32);

impl Slot {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The names that the scripts of one run use. The first four exist in every run, because the engine sets them.
#[derive(Clone, Debug)]
pub struct Names {
    slots: HashMap<String, Slot>,
    names: Vec<String>,
}

impl Names {
    /// `:scale`, the scale factor.
    pub const SCALE: Slot = Slot(0);
    /// `:client_id`, the number of the client, from 0.
    pub const CLIENT_ID: Slot = Slot(1);
    /// `:random_seed`, the seed of the run.
    pub const RANDOM_SEED: Slot = Slot(2);
    /// `:default_seed`, the seed of the hash functions and of `permute` when a script gives none.
    pub const DEFAULT_SEED: Slot = Slot(3);

    /// The four names that the engine sets.
    pub fn new() -> Self {
        let mut names = Self {
            slots: HashMap::new(),
            names: Vec::new(),
        };
        for name in ["scale", "client_id", "random_seed", "default_seed"] {
            names.intern(name);
        }
        names
    }

    /// The slot of `name`, a new one when the name is new. Names are case-sensitive.
    pub fn intern(&mut self, name: &str) -> Slot {
        if let Some(slot) = self.slots.get(name) {
            return *slot;
        }
        let slot = Slot(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.slots.insert(name.to_owned(), slot);
        self.names.push(name.to_owned());
        slot
    }

    /// The slot of `name` if any script or option mentions it: a `\gset` column that nobody reads needs no slot.
    pub fn get(&self, name: &str) -> Option<Slot> {
        self.slots.get(name).copied()
    }

    /// The name of a slot.
    pub fn name(&self, slot: Slot) -> &str {
        self.names.get(slot.index()).map_or("", String::as_str)
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Never true: the engine's own names are always there.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether a variable may have this name: letters, digits, underscores and anything beyond ASCII, no digit first.
    pub fn is_valid(name: &str) -> bool {
        !name.starts_with(|first: char| first.is_ascii_digit()) && !name.is_empty() && name.bytes().all(is_name_byte)
    }
}

impl Default for Names {
    fn default() -> Self {
        Self::new()
    }
}

/// A byte that may stand in a variable name or after the first letter of a function name.
pub(super) fn is_name_byte(byte: u8) -> bool {
    byte == b'_' || byte >= 0x80 || byte.is_ascii_alphanumeric()
}

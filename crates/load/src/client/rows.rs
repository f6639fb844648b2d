//! Rows that become variables: `\gset` and `\aset`.

use crate::script::{Names, Slot, Variables};
use crate::wire::{backend, Message};

/// Buffers above this are given back after use.
const CAPACITY_MAX: usize = 64 * 1024;

/// Which variable each column sets, as long as the result looks like this.
#[derive(Debug, Default)]
pub(super) struct Columns {
    description: Vec<u8>,
    slots: Vec<Option<Slot>>,
    /// A name among them that no variable can have.
    invalid: Option<String>,
}

/// The latest result of the running command: its description, its last row, and how many rows it had.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The running command captures its rows.
    pub(super) wanted: bool,
    pub(super) count: u64,
    has_description: bool,
    description: Vec<u8>,
    row: Vec<u8>,
}

impl Rows {
    /// A command that captures was sent.
    pub(super) fn begin(&mut self) {
        self.wanted = true;
        self.count = 0;
        self.has_description = false;
        if self.row.capacity() > CAPACITY_MAX {
            self.row = Vec::new();
        }
    }

    /// A row, or what the rows of the next result look like.
    pub(super) fn message(&mut self, message: Message<'_>) {
        let buffer = if message.tag == b'T' {
            self.has_description = true;
            self.count = 0;
            &mut self.description
        } else {
            self.count += 1;
            &mut self.row
        };
        buffer.clear();
        buffer.extend_from_slice(message.body);
    }

    /// A result is complete; one without a description had no rows.
    pub(super) fn result(&mut self) {
        if !self.has_description {
            self.count = 0;
        }
        self.has_description = false;
    }

    /// Sets the variables that anybody reads. NULL becomes the empty text, as in pgbench. The error is the name that no
    /// variable can have.
    pub(super) fn assign(
        &self,
        columns: &mut Columns,
        prefix: &str,
        names: &Names,
        variables: &mut Variables,
    ) -> Result<(), String> {
        if columns.description != self.description {
            columns.description.clone_from(&self.description);
            let name = |column: &[u8]| format!("{prefix}{}", String::from_utf8_lossy(column));
            let mut all = backend::column_names(&self.description).map(name);
            columns.invalid = all.find(|name| !Names::is_valid(name));
            let slot = |column: &[u8]| names.get(&name(column));
            columns.slots = backend::column_names(&self.description).map(slot).collect();
        }
        if let Some(name) = &columns.invalid {
            return Err(name.clone());
        }
        for (slot, value) in columns.slots.iter().zip(backend::row_values(&self.row)) {
            if let Some(slot) = slot {
                variables.set_text(*slot, value.unwrap_or_default());
            }
        }
        Ok(())
    }
}

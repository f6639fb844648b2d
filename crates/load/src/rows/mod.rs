//! Rows made from the planner's statistics: a plan goes in as JSON, the text of a COPY comes out. Pure: no clock, no disk.
//!
//! ```text
//! Plan (plan.rs) ──> Tables (table.rs)   one table after the other, parents before their children
//!    a column is a Spread: its values in order (domain.rs), and how many rows have each    spread.rs, text.rs, shapes.rs
//!    tuples that have to agree: keys, joint values, composite foreign keys                  keys.rs, joint.rs, foreign.rs
//!    what these steps share                                                                 making.rs
//!    by which column first tuples lie; which row gets which value, so that the correlation with the position is
//!    as planned                                                                             order.rs, place.rs
//!    rows as text, block by block                                                           copy_text.rs, format.rs
//! ```
//!
//! A table is made in memory, a column at a time, four bytes for each value; the values themselves are kept once. What
//! children refer to is kept until the end. The same plan gives the same rows.

// Columns are arrays of equal length whose codes were counted when their domain was made.
#![allow(clippy::indexing_slicing)]

mod copy_text;
mod domain;
mod foreign;
mod format;
mod joint;
mod keys;
mod making;
mod order;
mod place;
pub mod plan;
mod shapes;
mod spread;
mod table;
mod text;

pub use plan::Plan;
pub use table::Tables;

/// Stands for null among the codes of a column.
const NULL: u32 = u32::MAX;

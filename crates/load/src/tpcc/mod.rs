//! TPC-C: five transactions of a wholesaler, the database that they need, and who does what.
//!
//! ```text
//! Plan (one a load) ──> Terminal (one a client)              convention.rs, terminal.rs
//!   begin(kind) draws the inputs                             new_order.rs, payment.rs, order_status.rs, delivery.rs,
//!   next() reads the Answer and writes the Batch ──> Turn    stock_level.rs; answer.rs, batch.rs, statements.rs
//! ```
//!
//! A transaction is a state machine without a wire: it is given the rows of the last answer and says what to send
//! next. The client (`client/tpcc.rs`) sends a batch with one Sync, so a batch is one round trip. BEGIN goes with the
//! first statement, COMMIT goes alone, as BenchBase's driver does it; order lines go in statements of eight, four, two
//! and one rows, and the updates of the stock in one batch.
//!
//! Where this differs from BenchBase although the convention says `benchbase`: dates are the server's
//! `current_timestamp` and no parameter; statements are prepared from the start and not from their fifth use; money is
//! counted in whole cents. A transaction that found no row where TPC-C has one fails, and the load goes on.

mod answer;
mod batch;
mod convention;
mod customer;
mod delivery;
pub mod fill;
mod new_order;
mod order_status;
mod payment;
pub mod random;
#[cfg(test)]
mod rehearsal;
mod statements;
mod stock_level;
mod terminal;

pub(crate) use convention::Plan;
pub(crate) use statements::texts;
pub(crate) use terminal::{End, Terminal, Turn};

/// The five transactions; their numbers are those of the program's scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    pub const ALL: [Self; 5] = [
        Self::NewOrder,
        Self::Payment,
        Self::OrderStatus,
        Self::Delivery,
        Self::StockLevel,
    ];

    /// The transaction of this script.
    pub fn of(script: u16) -> Option<Self> {
        Self::ALL.get(usize::from(script)).copied()
    }

    /// The name of its script.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "new_order",
            Self::Payment => "payment",
            Self::OrderStatus => "order_status",
            Self::Delivery => "delivery",
            Self::StockLevel => "stock_level",
        }
    }

    /// Its share of a hundred.
    pub fn weight(self) -> u32 {
        match self {
            Self::NewOrder => 45,
            Self::Payment => 43,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 4,
        }
    }

    /// How long the inputs take to key in: clause 5.2.5.7.
    fn keying_s(self) -> i64 {
        match self {
            Self::NewOrder => 18,
            Self::Payment => 3,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 2,
        }
    }

    /// How long one thinks about the outcome on average.
    fn think_mean_s(self) -> i64 {
        match self {
            Self::NewOrder | Self::Payment => 12,
            Self::OrderStatus => 10,
            Self::Delivery | Self::StockLevel => 5,
        }
    }
}

/// What a transaction does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// It has written a batch.
    Ask,
    Commit,
    /// Its inputs, or the convention, want it so.
    RollBack,
}

/// There is no row, or none of use, where TPC-C has one: the database is not a complete TPC-C database of this size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a row is missing in table {table}: this is not a complete TPC-C database of so many warehouses")]
pub(crate) struct Missing {
    table: &'static str,
}

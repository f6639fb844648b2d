//! The rows of a new TPC-C database, as the blocks of a binary COPY. Pure: a seed goes in, bytes come out.
//!
//! What the rows hold is BenchBase's reading of the specification, so that both programs measure on the same data.
//! Every warehouse of every table has a stream of random numbers of its own, so the rows depend on the seed alone, not
//! on how many connections carry them or in which order.

mod copy;
mod letters;
mod orders;
mod stream;
mod tables;

pub use stream::Rows;

/// Rows of one warehouse, fixed by the specification; the lines of an order are drawn.
pub const ITEMS: u32 = 100_000;
pub const DISTRICTS: u32 = 10;
pub const CUSTOMERS: u32 = 3000;
/// The first order of a district that is not delivered yet.
pub const FIRST_NEW_ORDER: u32 = 2101;

/// A table of TPC-C, by BenchBase's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    Warehouse,
    Item,
    Stock,
    District,
    Customer,
    History,
    Oorder,
    NewOrder,
    OrderLine,
}

impl Table {
    pub const ALL: [Self; 9] = [
        Self::Warehouse,
        Self::Item,
        Self::Stock,
        Self::District,
        Self::Customer,
        Self::History,
        Self::Oorder,
        Self::NewOrder,
        Self::OrderLine,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Warehouse => "warehouse",
            Self::Item => "item",
            Self::Stock => "stock",
            Self::District => "district",
            Self::Customer => "customer",
            Self::History => "history",
            Self::Oorder => "oorder",
            Self::NewOrder => "new_order",
            Self::OrderLine => "order_line",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// How many steps it takes to write one warehouse. A step is a row, or all lines of one order.
    const fn steps(self) -> u32 {
        match self {
            Self::Warehouse => 1,
            Self::District => DISTRICTS,
            Self::Item | Self::Stock => ITEMS,
            Self::Customer | Self::History | Self::Oorder | Self::OrderLine => DISTRICTS * CUSTOMERS,
            Self::NewOrder => DISTRICTS * (CUSTOMERS + 1 - FIRST_NEW_ORDER),
        }
    }
}

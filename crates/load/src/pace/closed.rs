//! Closed loop: the server decides the rate.

use super::Turn;
use crate::clock::Nanos;

/// A free client begins at once.
#[derive(Debug, Default)]
pub struct Closed;

impl Closed {
    pub(super) fn take(&mut self, now: Nanos) -> Turn {
        Turn::Begin { due: now, slot: now }
    }
}

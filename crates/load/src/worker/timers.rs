//! Wake-ups of clients, earliest first. A client has at most one that counts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::clock::Nanos;

/// See the module.
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Nanos, usize, u32)>>,
    /// The number of each client's latest timer; earlier ones are void.
    stamps: Vec<u32>,
}

impl Timers {
    pub(super) fn new(clients: usize) -> Self {
        Self {
            heap: BinaryHeap::with_capacity(clients),
            stamps: vec![0; clients],
        }
    }

    /// Wakes `client` at this time, and not at the time set before.
    pub(super) fn set(&mut self, client: usize, at: Nanos) {
        if let Some(stamp) = self.stamps.get_mut(client) {
            *stamp = stamp.wrapping_add(1);
            self.heap.push(Reverse((at, client, *stamp)));
        }
    }

    /// Lets `client` sleep on.
    pub(super) fn clear(&mut self, client: usize) {
        if let Some(stamp) = self.stamps.get_mut(client) {
            *stamp = stamp.wrapping_add(1);
        }
    }

    /// The earliest wake-up; it may be void.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// A client whose time has come.
    pub(super) fn pop(&mut self, now: Nanos) -> Option<usize> {
        while self.next()? <= now {
            let Reverse((_, client, stamp)) = self.heap.pop()?;
            if self.stamps.get(client) == Some(&stamp) {
                return Some(client);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_a_new_time_voids_the_old() {
        let mut timers = Timers::new(3);
        timers.set(0, 30);
        timers.set(1, 20);
        timers.set(0, 10);
        assert_eq!(timers.pop(5), None);
        assert_eq!(timers.pop(25), Some(0));
        assert_eq!(timers.pop(25), Some(1));
        assert_eq!(timers.pop(100), None);
        assert_eq!(timers.next(), None);
        timers.set(2, 5);
        timers.clear(2);
        assert_eq!(timers.pop(100), None);
    }
}

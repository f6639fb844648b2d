//! Open loop: a Poisson process decides the rate, with pgbench's gaps for the same seed.

use super::Turn;
use crate::clock::Nanos;
use crate::script::Prng;
use crate::windows::{LoadWindows, Place};

const NANOS_PER_MICRO: u64 = 1_000;
/// Waiting slots beyond these are estimated from the rate: counting them must not take seconds.
const COUNTED_MAX: u32 = 10_000_000;

/// The slots of one thread. They lie on the time in which transactions may begin: between the windows of an interleaved
/// load nothing is due, and no slot becomes later.
#[derive(Clone, Debug)]
pub struct Open {
    stream: Prng,
    gap_mean_us: f64,
    latency_limit: Option<Nanos>,
    due: Nanos,
    windows: Option<LoadWindows>,
}

impl Open {
    /// A schedule of `rate_tps` transactions a second. A slot later than `latency_limit` is passed over.
    pub fn new(stream: Prng, rate_tps: f64, latency_limit: Option<Nanos>, windows: Option<LoadWindows>) -> Self {
        Self {
            stream,
            gap_mean_us: 1e6 / rate_tps,
            latency_limit,
            due: 0,
            windows,
        }
    }

    pub(super) fn start(&mut self, now: Nanos) {
        self.due = self.on(now);
        self.advance();
    }

    pub(super) fn next_due(&self) -> Nanos {
        self.time_of(self.due)
    }

    pub(super) fn take(&mut self, now: Nanos) -> Turn {
        let (passed, slot) = (self.on(now), self.next_due());
        if self.due > passed {
            return Turn::Wait { until: slot };
        }
        let late = passed - self.due;
        let due = now - late;
        self.advance();
        match self.latency_limit {
            Some(limit) if late > limit => Turn::Skip { due, slot },
            _ => Turn::Begin { due, slot },
        }
    }

    /// How many slots were due in `from..to` and are still waiting.
    pub fn unserved(&self, from: Nanos, to: Nanos) -> u64 {
        let mut rest = self.clone();
        let mut count = 0;
        for _ in 0..COUNTED_MAX {
            let slot = rest.next_due();
            if slot >= to {
                return count;
            }
            if slot >= from && rest.counts(slot) {
                count += 1;
            }
            rest.advance();
        }
        let uncounted_us = rest.on(to).saturating_sub(rest.due.max(rest.on(from))) as f64 / NANOS_PER_MICRO as f64;
        count + (uncounted_us / rest.gap_mean_us) as u64
    }

    /// For how long transactions could begin by now.
    fn on(&self, now: Nanos) -> Nanos {
        self.windows.as_ref().map_or(now, |windows| windows.on(now))
    }

    /// When they could for so long.
    fn time_of(&self, on: Nanos) -> Nanos {
        self.windows.as_ref().map_or(on, |windows| windows.time_of(on))
    }

    fn counts(&self, slot: Nanos) -> bool {
        let windows = self.windows.as_ref();
        windows.is_none_or(|windows| matches!(windows.place(slot), Place::Counted(_)))
    }

    fn advance(&mut self) {
        let gap_us = self.stream.poisson_gap_us(self.gap_mean_us);
        self.due += u64::try_from(gap_us).unwrap_or(0) * NANOS_PER_MICRO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    fn open(rate_tps: f64, latency_limit: Option<Nanos>) -> Open {
        let mut open = Open::new(Prng::seeded(7), rate_tps, latency_limit, None);
        open.start(SECOND);
        open
    }

    #[test]
    fn the_rate_is_kept_on_average() {
        assert!((9_500..10_500).contains(&open(1_000.0, None).unserved(0, 11 * SECOND)));
    }

    #[test]
    fn a_slot_is_taken_once_and_keeps_its_time() {
        let mut open = open(10.0, None);
        let first = open.next_due();
        assert_eq!(open.take(first - 1), Turn::Wait { until: first });
        assert_eq!(
            open.take(first + 5 * SECOND),
            Turn::Begin {
                due: first,
                slot: first
            }
        );
        assert!(open.next_due() > first);
    }

    #[test]
    fn slots_beyond_the_limit_are_passed_over_until_one_is_in_time() {
        let mut open = open(1_000.0, Some(SECOND / 100));
        let now = 2 * SECOND;
        let mut skipped = 0;
        while let Turn::Skip { due, .. } = open.take(now) {
            assert!(now - due > SECOND / 100);
            skipped += 1;
        }
        assert!(skipped > 900);
        assert!(open.next_due() >= now - SECOND / 100);
    }

    #[test]
    fn unserved_slots_are_counted_without_being_taken() {
        let open = open(100.0, None);
        let first = open.unserved(SECOND, 5 * SECOND);
        assert_eq!(first, open.unserved(SECOND, 5 * SECOND));
        assert_eq!(
            first,
            open.unserved(SECOND, 2 * SECOND) + open.unserved(2 * SECOND, 5 * SECOND)
        );
    }
}

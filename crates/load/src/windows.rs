//! The windows of an interleaved load by the load's own clock: when transactions may begin, and when what ends counts.
//!
//! ```text
//!      begin   counts_from            end
//! ──────┴───────────┴──────────────────┴──────────────
//!  off  │   guard   │     counted      │  off: the turn of another load
//!       │        transactions begin    │  what still runs overruns
//! ```
//! A window that begins where the one before it ends continues it: clients do not pause between the two.

use std::sync::Arc;

use crate::clock::{Nanos, NEVER};
use crate::spec::WindowsSpec;

/// Warm-up that ends this close to the beginning of a window ends there: lengths are rounded to nanoseconds.
const ROUNDING: Nanos = 1_000_000;

/// One window, and what came before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadWindow {
    pub begin: Nanos,
    pub counts_from: Nanos,
    pub end: Nanos,
    /// The beginning of the first, and the end of the last, of the windows that touch each other and hold this one.
    since: Nanos,
    until: Nanos,
    /// Counted time, and time of any window, before this one.
    counted_before: Nanos,
    on_before: Nanos,
}

impl LoadWindow {
    fn counted(&self) -> Nanos {
        self.end.saturating_sub(self.counts_from)
    }
}

/// Where a time lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before all windows.
    Before,
    /// What ends here counts for this window.
    Counted(usize),
    /// In this window's guard.
    Guard(usize),
    /// After this window and before the next.
    Off(usize),
}

/// See the module. A copy costs next to nothing.
#[derive(Clone, Debug)]
pub struct LoadWindows {
    windows: Arc<[LoadWindow]>,
    measure_from: Nanos,
}

impl LoadWindows {
    /// The windows of a load whose clock stood at zero when `CLOCK_MONOTONIC` showed `zero`; the first `warm_up` of their
    /// counted time is warm-up. Windows that were over by then are empty.
    pub fn new(spec: &WindowsSpec, warm_up: Nanos, zero: Nanos) -> Self {
        let origin = i128::from(spec.origin_monotonic_us) * 1_000 - i128::from(zero);
        let at = |seconds: f64| -> Nanos {
            let time = origin + (seconds * 1e9).round() as i128;
            Nanos::try_from(time.max(0)).unwrap_or(NEVER)
        };
        let mut windows: Vec<LoadWindow> = Vec::with_capacity(spec.spans.len());
        for span in &spec.spans {
            let (begin, end) = (at(span.begin_s), at(span.end_s));
            let before = windows.last();
            windows.push(LoadWindow {
                begin,
                counts_from: at(span.begin_s + spec.guard_s).min(end),
                end,
                since: before
                    .filter(|before| before.end == begin)
                    .map_or(begin, |before| before.since),
                until: end,
                counted_before: before.map_or(0, |before| before.counted_before + before.counted()),
                on_before: before.map_or(0, |before| before.on_before + (before.end - before.begin)),
            });
        }
        let mut following: Option<LoadWindow> = None;
        for window in windows.iter_mut().rev() {
            if let Some(next) = following.filter(|next| next.begin == window.end) {
                window.until = next.until;
            }
            following = Some(*window);
        }
        let measure_from = windows
            .iter()
            .find(|window| window.counted_before + window.counted() > warm_up.saturating_add(ROUNDING))
            .map_or(NEVER, |window| {
                let rest = warm_up.saturating_sub(window.counted_before);
                window.counts_from + if rest > ROUNDING { rest } else { 0 }
            });
        Self {
            windows: windows.into(),
            measure_from,
        }
    }

    /// How many there are, warm-up included.
    pub fn count(&self) -> usize {
        self.windows.len()
    }

    /// One of them.
    pub fn get(&self, number: usize) -> Option<&LoadWindow> {
        self.windows.get(number)
    }

    /// When measuring begins: where the counted time of the warm-up is over.
    pub fn measure_from(&self) -> Nanos {
        self.measure_from
    }

    /// When the last one ends.
    pub fn end(&self) -> Nanos {
        self.windows.last().map_or(0, |window| window.end)
    }

    /// Where this time lies.
    pub fn place(&self, now: Nanos) -> Place {
        let Some((number, window)) = self.latest(now) else {
            return Place::Before;
        };
        if now >= window.end {
            Place::Off(number)
        } else if now < window.counts_from {
            Place::Guard(number)
        } else {
            Place::Counted(number)
        }
    }

    /// Whether transactions may begin.
    pub fn is_on(&self, now: Nanos) -> bool {
        matches!(self.place(now), Place::Counted(_) | Place::Guard(_))
    }

    /// When the next window begins, [`NEVER`] after the last one has.
    pub fn next_begin(&self, now: Nanos) -> Nanos {
        let next = self.windows.partition_point(|window| window.begin <= now);
        self.windows.get(next).map_or(NEVER, |window| window.begin)
    }

    /// Whether what began at `began` has had this window, and those that it continues, to itself.
    pub fn holds(&self, number: usize, began: Nanos) -> bool {
        self.windows.get(number).is_some_and(|window| began >= window.since)
    }

    /// The window in which something began, and how much of the time until `now` lies behind its end.
    pub fn overrun(&self, began: Nanos, now: Nanos) -> Option<(usize, Nanos)> {
        let (number, window) = self.latest(began)?;
        Some((number, now.saturating_sub(window.until)))
    }

    /// How much counted time has passed.
    pub fn counted(&self, now: Nanos) -> Nanos {
        self.latest(now).map_or(0, |(_, window)| {
            window.counted_before + now.min(window.end).saturating_sub(window.counts_from)
        })
    }

    /// For how long transactions could begin.
    pub fn on(&self, now: Nanos) -> Nanos {
        self.latest(now).map_or(0, |(_, window)| {
            window.on_before + now.min(window.end).saturating_sub(window.begin)
        })
    }

    /// The first time at which transactions could begin for longer than `on`; [`NEVER`] if there is none.
    pub fn time_of(&self, on: Nanos) -> Nanos {
        let next = self.windows.partition_point(|window| window.on_before <= on);
        let Some(window) = next.checked_sub(1).and_then(|number| self.windows.get(number)) else {
            return NEVER;
        };
        let time = window.begin + (on - window.on_before);
        if time < window.end {
            time
        } else {
            NEVER
        }
    }

    /// The last window that has begun.
    fn latest(&self, now: Nanos) -> Option<(usize, &LoadWindow)> {
        let number = self
            .windows
            .partition_point(|window| window.begin <= now)
            .checked_sub(1)?;
        Some((number, self.windows.get(number)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::WindowSpan;

    const MS: Nanos = 1_000_000;

    /// 1.0 to 2.0, 3.0 to 4.0 and 4.0 to 5.0 s after the load began, the first 100 ms of each not counted.
    fn three(warm_up: Nanos) -> LoadWindows {
        let span = |begin_s: f64| WindowSpan {
            begin_s,
            end_s: begin_s + 1.0,
        };
        let spec = WindowsSpec {
            origin_monotonic_us: 7_000_000,
            spans: vec![span(0.0), span(2.0), span(3.0)],
            guard_s: 0.1,
        };
        LoadWindows::new(&spec, warm_up, 6_000 * MS)
    }

    #[test]
    fn every_time_has_its_place() {
        let windows = three(0);
        let places = [999, 1000, 1099, 1100, 1999, 2000, 2999, 3000, 3100, 4000, 4100, 5000];
        let seen: Vec<_> = places.iter().map(|at| windows.place(at * MS)).collect();
        let wanted = [
            Place::Before,
            Place::Guard(0),
            Place::Guard(0),
            Place::Counted(0),
            Place::Counted(0),
            Place::Off(0),
            Place::Off(0),
            Place::Guard(1),
            Place::Counted(1),
            Place::Guard(2),
            Place::Counted(2),
            Place::Off(2),
        ];
        assert_eq!(seen, wanted);
        assert_eq!(windows.end(), 5_000 * MS);
        assert_eq!(windows.next_begin(0), 1_000 * MS);
        assert_eq!(windows.next_begin(1_000 * MS), 3_000 * MS);
        assert_eq!(windows.next_begin(4_000 * MS), NEVER);
    }

    #[test]
    fn time_stands_still_between_windows() {
        let windows = three(0);
        for (at, counted, on) in [
            (500, 0, 0),
            (1050, 0, 50),
            (1600, 500, 600),
            (2500, 900, 1000),
            (3500, 1300, 1500),
            (4050, 1800, 2050),
            (9000, 2700, 3000),
        ] {
            assert_eq!(
                (windows.counted(at * MS), windows.on(at * MS)),
                (counted * MS, on * MS),
                "{at}"
            );
        }
        for (on, at) in [
            (0, 1000),
            (999, 1999),
            (1000, 3000),
            (1500, 3500),
            (2000, 4000),
            (2999, 4999),
        ] {
            assert_eq!(windows.time_of(on * MS), at * MS, "{on}");
        }
        assert_eq!(windows.time_of(3_000 * MS), NEVER);
    }

    #[test]
    fn measuring_begins_where_the_counted_warm_up_is_over() {
        assert_eq!(three(0).measure_from(), 1_100 * MS);
        assert_eq!(three(900 * MS).measure_from(), 3_100 * MS);
        assert_eq!(three(900 * MS - 3).measure_from(), 3_100 * MS);
        assert_eq!(three(500 * MS).measure_from(), 1_600 * MS);
        assert_eq!(three(2_700 * MS).measure_from(), NEVER);
    }

    #[test]
    fn windows_that_touch_are_one_to_a_transaction() {
        let windows = three(0);
        assert!(windows.holds(2, 3_500 * MS) && windows.holds(1, 3_000 * MS));
        assert!(!windows.holds(1, 1_900 * MS));
        assert_eq!(windows.overrun(1_900 * MS, 2_250 * MS), Some((0, 250 * MS)));
        assert_eq!(windows.overrun(3_900 * MS, 5_250 * MS), Some((1, 250 * MS)));
        assert_eq!(windows.overrun(0, 5_250 * MS), None);
    }

    #[test]
    fn windows_of_the_past_are_empty() {
        let spec = WindowsSpec {
            origin_monotonic_us: 1_000_000,
            spans: vec![
                WindowSpan {
                    begin_s: 0.0,
                    end_s: 1.0,
                },
                WindowSpan {
                    begin_s: 2.0,
                    end_s: 3.0,
                },
            ],
            guard_s: 0.5,
        };
        let windows = LoadWindows::new(&spec, 0, 3_250 * MS);
        assert_eq!(windows.counted(NEVER), 500 * MS);
        assert_eq!(windows.end(), 750 * MS);
    }
}

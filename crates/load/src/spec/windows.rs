//! The windows of an interleaved load: the only times at which its clients begin transactions.

use serde::{Deserialize, Serialize};

use super::{LoadSpec, SECONDS_MAX};
use crate::error::LoadError;

/// How far the counted time of all windows may be from `warm_up_s` + `measure_s`, for each window: seconds are floats.
const ROUNDING_S: f64 = 1e-6;

/// One window, in seconds after the origin; its end is not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowSpan {
    pub begin_s: f64,
    pub end_s: f64,
}

/// When the clients may begin transactions. Several loads on one host that are given the same origin agree on the time
/// without sharing anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowsSpec {
    /// `CLOCK_MONOTONIC` of this host in microseconds: unlike the wall clock it is never set.
    pub origin_monotonic_us: u64,
    pub spans: Vec<WindowSpan>,
    /// How long at the beginning of each window nothing counts.
    #[serde(default)]
    pub guard_s: f64,
}

impl WindowsSpec {
    pub(super) fn validate(&self, load: &LoadSpec) -> Result<(), LoadError> {
        if self.spans.is_empty() {
            return Err(LoadError::spec("windows.spans", "at least one is needed"));
        }
        if !(self.guard_s >= 0.0 && self.guard_s <= SECONDS_MAX) {
            return Err(LoadError::spec(
                "windows.guard_s",
                format!("must be 0 to {SECONDS_MAX} seconds, not {}", self.guard_s),
            ));
        }
        let mut free_from = 0.0;
        for (number, span) in self.spans.iter().enumerate() {
            self.validate_span(number, *span, free_from)?;
            free_from = span.end_s;
        }
        self.validate_length(load)?;
        let excluded = [
            ("transactions_per_client", load.transactions_per_client.is_some()),
            ("finish_s", load.finish_s.is_some()),
            ("reconnect", load.reconnect),
        ];
        for (field, is_given) in excluded {
            if is_given {
                return Err(LoadError::spec(field, "cannot be combined with windows"));
            }
        }
        Ok(())
    }

    fn validate_span(&self, number: usize, span: WindowSpan, free_from: f64) -> Result<(), LoadError> {
        let WindowSpan { begin_s, end_s } = span;
        let problem = if !(begin_s >= 0.0 && end_s <= SECONDS_MAX && begin_s < end_s) {
            format!("must end after it begins, within 0 to {SECONDS_MAX} seconds, not {begin_s} to {end_s}")
        } else if begin_s < free_from {
            format!("begins at {begin_s} s, before the end of the one before it at {free_from} s")
        } else if end_s - begin_s <= self.guard_s {
            let guard_s = self.guard_s;
            format!(
                "lasts {} s, which must be longer than guard_s of {guard_s} s",
                end_s - begin_s
            )
        } else {
            return Ok(());
        };
        Err(LoadError::spec(format!("windows.spans[{number}]"), problem))
    }

    fn validate_length(&self, load: &LoadSpec) -> Result<(), LoadError> {
        let Some(measure_s) = load.measure_s else {
            return Err(LoadError::spec("measure_s", "must be given with windows"));
        };
        let counted_s = self.counted_s();
        let wanted_s = load.warm_up_s + measure_s;
        if (counted_s - wanted_s).abs() > ROUNDING_S * self.spans.len() as f64 {
            return Err(LoadError::spec(
                "windows.spans",
                format!("count for {counted_s} s without their guards, but warm_up_s and measure_s are {wanted_s} s"),
            ));
        }
        Ok(())
    }

    /// The length of all windows without their guards.
    fn counted_s(&self) -> f64 {
        let each = self.spans.iter().map(|span| span.end_s - span.begin_s - self.guard_s);
        each.sum()
    }
}

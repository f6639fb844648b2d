//! Latencies in microseconds: an HDR histogram from 1 us to an hour, and the exact least, greatest and sum beside it.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

use crate::result::HistogramResult;

/// Longer latencies count as this long in the histogram; the exact maximum is kept apart.
const HOUR_US: u64 = 3_600_000_000;

/// How finely values are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Three significant digits, 190 kB.
    Fine,
    /// Two significant digits, 30 kB.
    Coarse,
    /// Two significant digits, and no more memory than the longest latency so far needs: 2 kB at first.
    Growing,
}

/// What a histogram knows exactly.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exact {
    pub sum_us: u64,
    /// Of the squares.
    pub sum_us2: u128,
    pub max_us: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: hdrhistogram::Histogram<u64>,
    sum_us: u64,
    /// Of the squares.
    sum_us2: u128,
    min_us: u64,
    max_us: u64,
}

impl Histogram {
    /// An empty one. All its memory is taken now.
    pub fn new(precision: Precision) -> Self {
        let digits = match precision {
            Precision::Fine => 3,
            Precision::Coarse | Precision::Growing => 2,
        };
        let most = if precision == Precision::Growing { 2 } else { HOUR_US };
        let mut counts = hdrhistogram::Histogram::new_with_bounds(1, most, digits)
            .unwrap_or_else(|error| unreachable!("1 us to an hour is a valid range: {error}"));
        counts.auto(precision == Precision::Growing);
        Self {
            counts,
            sum_us: 0,
            sum_us2: 0,
            min_us: u64::MAX,
            max_us: 0,
        }
    }

    /// Counts one latency.
    pub fn record(&mut self, micros: u64) {
        self.record_many(micros, 1);
    }

    /// Counts a latency that was seen `count` times.
    pub fn record_many(&mut self, micros: u64, count: u64) {
        self.counts.saturating_record_n(micros, count);
        self.sum_us = self.sum_us.saturating_add(micros.saturating_mul(count));
        self.sum_us2 = self
            .sum_us2
            .saturating_add(u128::from(micros).pow(2).saturating_mul(u128::from(count)));
        self.min_us = self.min_us.min(micros);
        self.max_us = self.max_us.max(micros);
    }

    /// Adds the latencies of another histogram of the same precision.
    pub fn add(&mut self, other: &Self) {
        // Adding can only fail between histograms of different ranges, and all have the same.
        let _ = self.counts.add(&other.counts);
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
        self.sum_us2 = self.sum_us2.saturating_add(other.sum_us2);
        self.min_us = self.min_us.min(other.min_us);
        self.max_us = self.max_us.max(other.max_us);
    }

    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        self.counts.clear();
        self.sum_us = 0;
        self.sum_us2 = 0;
        self.min_us = u64::MAX;
        self.max_us = 0;
    }

    /// How many latencies were counted.
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// The latency that this share of all stays within; 0 if there are none.
    pub fn quantile(&self, share: f64) -> u64 {
        self.counts
            .value_at_quantile(share)
            .clamp(self.min_us.min(self.max_us), self.max_us)
    }

    /// The values that were seen, with their counts.
    pub fn seen(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
    }

    /// The exact sums and the maximum, in microseconds.
    pub fn exact(&self) -> Exact {
        Exact {
            sum_us: self.sum_us,
            sum_us2: self.sum_us2,
            max_us: self.max_us,
        }
    }

    /// How far latencies are from their mean, from the exact sums.
    fn stddev(&self) -> f64 {
        let count = u128::from(self.count());
        if count == 0 {
            return 0.0;
        }
        let sum = u128::from(self.sum_us);
        // In integers as long as they suffice, so that equal latencies give zero.
        let scaled = match (self.sum_us2.checked_mul(count), sum.checked_mul(sum)) {
            (Some(squares), Some(square)) => squares.saturating_sub(square) as f64,
            _ => (self.sum_us2 as f64 * count as f64 - (sum as f64).powi(2)).max(0.0),
        };
        scaled.sqrt() / count as f64
    }

    /// The summary and the interchange form.
    pub fn to_result(&self) -> HistogramResult {
        let count = self.count();
        HistogramResult {
            count,
            min_us: if count == 0 { 0 } else { self.min_us },
            max_us: self.max_us,
            mean_us: if count == 0 {
                0.0
            } else {
                self.sum_us as f64 / count as f64
            },
            stddev_us: self.stddev(),
            p50_us: self.quantile(0.5),
            p90_us: self.quantile(0.9),
            p95_us: self.quantile(0.95),
            p99_us: self.quantile(0.99),
            p999_us: self.quantile(0.999),
            p9999_us: self.quantile(0.9999),
            hdr: self.to_base64(),
        }
    }

    /// The V2-compressed interchange form.
    pub fn to_base64(&self) -> String {
        let mut bytes = Vec::new();
        match V2DeflateSerializer::new().serialize(&self.counts, &mut bytes) {
            Ok(_) => STANDARD.encode(&bytes),
            // Writing to memory does not fail.
            Err(_) => String::new(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_the_precision_and_the_ends_are_exact() {
        let mut histogram = Histogram::new(Precision::Fine);
        for micros in 1..=100_000 {
            histogram.record(micros);
        }
        let result = histogram.to_result();
        assert_eq!((result.min_us, result.max_us, result.count), (1, 100_000, 100_000));
        assert!((result.mean_us - 50_000.5).abs() < 1e-6);
        for (value, wanted) in [
            (result.p50_us, 50_000.0),
            (result.p99_us, 99_000.0),
            (result.p9999_us, 99_990.0),
        ] {
            assert!((value as f64 / wanted - 1.0).abs() < 0.001, "{value} {wanted}");
        }
    }

    #[test]
    fn the_deviation_is_exact() {
        let mut histogram = Histogram::new(Precision::Coarse);
        for micros in [2_000_001, 2_000_003, 2_000_005, 2_000_007] {
            histogram.record(micros);
        }
        assert!((histogram.to_result().stddev_us - 5.0_f64.sqrt()).abs() < 1e-12);
        let mut equal = Histogram::new(Precision::Coarse);
        equal.record_many(123_457, 1_000_000);
        assert!(equal.to_result().stddev_us.abs() < f64::EPSILON);
    }

    #[test]
    fn an_empty_histogram_is_all_zero() {
        let result = Histogram::new(Precision::Coarse).to_result();
        assert_eq!(
            (result.count, result.min_us, result.max_us, result.p99_us),
            (0, 0, 0, 0)
        );
    }

    #[test]
    fn more_than_an_hour_is_counted_and_its_maximum_is_exact() {
        let mut histogram = Histogram::new(Precision::Fine);
        histogram.record(2 * HOUR_US);
        histogram.record(0);
        let result = histogram.to_result();
        assert_eq!((result.count, result.max_us, result.min_us), (2, 2 * HOUR_US, 0));
    }

    #[test]
    fn merging_is_the_same_as_recording_together_and_the_interchange_form_is_read_back() {
        let (mut one, mut two, mut both) = (
            Histogram::new(Precision::Fine),
            Histogram::new(Precision::Fine),
            Histogram::new(Precision::Fine),
        );
        for micros in [3, 17, 4_000, 88_123] {
            one.record(micros);
            both.record(micros);
            two.record(micros * 7);
            both.record(micros * 7);
        }
        one.add(&two);
        assert_eq!(one.to_result().hdr, both.to_result().hdr);
        let bytes = STANDARD.decode(one.to_result().hdr).unwrap();
        let mut reader = hdrhistogram::serialization::Deserializer::new();
        let read: hdrhistogram::Histogram<u64> = reader.deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!(read.len(), 8);
    }
}

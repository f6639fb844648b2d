//! What the engine's own work costs for each transaction: reading the clock, recording a latency, drawing numbers.

use std::hint::black_box;
use std::time::Instant;

use criterion::{criterion_group, criterion_main, Criterion};
use pgclinic_load::script::Prng;
use pgclinic_load::wire::Framer;

const ANSWER: &[u8] = b"2\0\0\0\x04T\0\0\0\x21\0\x01abalance\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0\
    D\0\0\0\x0b\0\x01\0\0\0\x010C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";

fn clock(criterion: &mut Criterion) {
    let base = Instant::now();
    criterion.bench_function("clock read", |bencher| bencher.iter(|| black_box(base.elapsed())));
}

fn histogram(criterion: &mut Criterion) {
    for (name, digits) in [("histogram record, 3 digits", 3), ("histogram record, 2 digits", 2)] {
        let Ok(mut counts) = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 3_600_000_000, digits) else {
            return;
        };
        let mut value = 0_u64;
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| {
                value = (value + 7) % 5_000;
                counts.saturating_record_n(black_box(200 + value), 1);
            });
        });
    }
}

fn random(criterion: &mut Criterion) {
    let mut prng = Prng::seeded(42);
    criterion.bench_function("random(1, 2000000)", |bencher| {
        bencher.iter(|| black_box(prng.uniform(1, 2_000_000)));
    });
    criterion.bench_function("random_gaussian(1, 2000000, 2.5)", |bencher| {
        bencher.iter(|| black_box(prng.gaussian(1, 2_000_000, 2.5)));
    });
    criterion.bench_function("random_zipfian(1, 2000000, 1.07)", |bencher| {
        bencher.iter(|| black_box(prng.zipfian(1, 2_000_000, 1.07)));
    });
}

fn answer(criterion: &mut Criterion) {
    let mut framer = Framer::default();
    criterion.bench_function("answer of one SELECT cut into messages", |bencher| {
        bencher.iter(|| {
            let mut chunk = black_box(ANSWER);
            let mut tags = 0_u64;
            framer.pass_unread(&mut chunk, false);
            while let Ok(Some(message)) = framer.next(&mut chunk, false) {
                tags += u64::from(message.tag);
            }
            tags
        });
    });
}

criterion_group!(costs, clock, histogram, random, answer);
criterion_main!(costs);

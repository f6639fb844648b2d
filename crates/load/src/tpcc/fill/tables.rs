//! One row of each table, column by column in the order in which the tables are created.

use super::copy::{float8, int4, money, null, row, share, text, text_of, timestamp};
use super::{letters, orders, CUSTOMERS, FIRST_NEW_ORDER};
use crate::script::Prng;
use crate::tpcc::random::{last_name, nurand};

/// Whatever carries a time was written at the beginning of 2026: with the clock in them, no two fillings of one seed
/// would be equal.
const WRITTEN_US: i64 = 9_497 * 86_400 * 1_000_000;
/// What NURand adds when last names are drawn; runs use another one, as the specification asks.
const LAST_NAME_C: i64 = 157;
const NEW_ORDERS: u32 = CUSTOMERS + 1 - FIRST_NEW_ORDER;

pub fn warehouse(prng: &mut Prng, out: &mut Vec<u8>, warehouse: u32) {
    row(out, 9);
    int4(out, warehouse);
    money(out, 30_000_000);
    share(out, prng.uniform(0, 2000) as u32);
    name_and_address(prng, out);
}

pub fn district(prng: &mut Prng, out: &mut Vec<u8>, warehouse: u32, step: u32) {
    row(out, 11);
    int4(out, warehouse);
    int4(out, step + 1);
    money(out, 3_000_000);
    share(out, prng.uniform(0, 2000) as u32);
    int4(out, CUSTOMERS + 1);
    name_and_address(prng, out);
}

fn name_and_address(prng: &mut Prng, out: &mut Vec<u8>) {
    text_of(out, |out| letters::text_between(prng, out, 6, 10));
    streets(prng, out);
    text(out, b"123456789");
}

/// Two streets, a city and a state.
fn streets(prng: &mut Prng, out: &mut Vec<u8>) {
    for _ in 0..3 {
        text_of(out, |out| letters::text_between(prng, out, 10, 20));
    }
    text_of(out, |out| letters::upper(prng, out, 2));
}

pub fn item(prng: &mut Prng, out: &mut Vec<u8>, step: u32) {
    row(out, 5);
    int4(out, step + 1);
    text_of(out, |out| letters::text_between(prng, out, 14, 24));
    money(out, prng.uniform(100, 10_000));
    text_of(out, |out| letters::data(prng, out));
    int4(out, prng.uniform(1, 10_000) as u32);
}

pub fn stock(prng: &mut Prng, out: &mut Vec<u8>, warehouse: u32, step: u32) {
    row(out, 17);
    int4(out, warehouse);
    int4(out, step + 1);
    int4(out, prng.uniform(10, 100) as u32);
    money(out, 0);
    int4(out, 0);
    int4(out, 0);
    text_of(out, |out| letters::data(prng, out));
    for _ in 0..10 {
        text_of(out, |out| letters::text(prng, out, 24));
    }
}

pub fn customer(prng: &mut Prng, out: &mut Vec<u8>, warehouse: u32, step: u32) {
    let (district, number) = place(step);
    row(out, 21);
    int4(out, warehouse);
    int4(out, district);
    int4(out, number);
    share(out, prng.uniform(1, 5000) as u32);
    let bad = prng.uniform(1, 100) <= 10;
    text(out, if bad { b"BC" } else { b"GC" });
    let name = match number {
        1..=1000 => number - 1,
        _ => nurand(prng, 255, LAST_NAME_C, 0, 999) as u32,
    };
    text_of(out, |out| last_name(name, out));
    text_of(out, |out| letters::text_between(prng, out, 8, 16));
    money(out, 5_000_000);
    money(out, -1_000);
    float8(out, 10.0);
    int4(out, 1);
    int4(out, 0);
    streets(prng, out);
    text_of(out, |out| {
        letters::digits(prng, out, 4);
        out.extend_from_slice(b"11111");
    });
    text_of(out, |out| letters::digits(prng, out, 16));
    timestamp(out, WRITTEN_US);
    text(out, b"OE");
    text_of(out, |out| letters::text_between(prng, out, 300, 500));
}

pub fn history(prng: &mut Prng, out: &mut Vec<u8>, warehouse: u32, step: u32) {
    let (district, customer) = place(step);
    row(out, 8);
    int4(out, customer);
    int4(out, district);
    int4(out, warehouse);
    int4(out, district);
    int4(out, warehouse);
    timestamp(out, WRITTEN_US);
    money(out, 1_000);
    text_of(out, |out| letters::text_between(prng, out, 10, 24));
}

pub fn oorder(prng: &mut Prng, out: &mut Vec<u8>, warehouse: u32, step: u32, customer: u32) {
    let (district, order) = place(step);
    row(out, 8);
    int4(out, warehouse);
    int4(out, district);
    int4(out, order);
    int4(out, customer);
    if orders::is_delivered(order) {
        int4(out, prng.uniform(1, 10) as u32);
    } else {
        null(out);
    }
    int4(out, orders::lines(warehouse, district, order));
    int4(out, 1);
    timestamp(out, WRITTEN_US);
}

pub fn new_order(out: &mut Vec<u8>, warehouse: u32, step: u32) {
    row(out, 3);
    int4(out, warehouse);
    int4(out, step / NEW_ORDERS + 1);
    int4(out, FIRST_NEW_ORDER + step % NEW_ORDERS);
}

/// All lines of one order.
pub fn order_lines(prng: &mut Prng, out: &mut Vec<u8>, warehouse: u32, step: u32) {
    let (district, order) = place(step);
    for number in 1..=orders::lines(warehouse, district, order) {
        row(out, 10);
        int4(out, warehouse);
        int4(out, district);
        int4(out, order);
        int4(out, number);
        int4(out, prng.uniform(1, i64::from(super::ITEMS)) as u32);
        if orders::is_delivered(order) {
            timestamp(out, WRITTEN_US);
            money(out, 0);
        } else {
            null(out);
            money(out, prng.uniform(1, 999_999));
        }
        int4(out, warehouse);
        money(out, 500);
        text_of(out, |out| letters::text(prng, out, 24));
    }
}

/// The district and the number within it that a step writes.
pub const fn place(step: u32) -> (u32, u32) {
    (step / CUSTOMERS + 1, step % CUSTOMERS + 1)
}

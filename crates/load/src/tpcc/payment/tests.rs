use super::super::rehearsal::{plan, said_by, HOME};
use super::*;
use crate::spec::Convention;

fn drawn(warehouses: u32) -> impl Iterator<Item = Payment> {
    let mut prng = Prng::seeded(7);
    let plan = plan(warehouses, Convention::BenchBase);
    std::iter::repeat_with(move || Payment::draw(HOME, &plan, &mut prng))
}

/// A payment of 12.34 by a customer of the terminal's own district who is asked for by number, or by name.
fn payment(by_name: bool) -> Option<Payment> {
    let mut batch = Batch::default();
    let wanted = if by_name {
        Sql::PaymentCustomersByName
    } else {
        Sql::PaymentCustomer
    };
    let mut payment = drawn(1).find(|payment| {
        batch.clear();
        payment
            .customer
            .ask(Sql::PaymentCustomersByName, Sql::PaymentCustomer, &mut batch);
        batch.last() == Some(wanted) && payment.customer.district == HOME.first
    })?;
    payment.amount_cents = 1234;
    Some(payment)
}

const ADDRESS: &str = "street|street|city|ST|123456789|";

fn answers(customers: &[&str]) -> Vec<Answer> {
    vec![
        Answer::changed(1),
        Answer::of(&[&format!("{ADDRESS}house")]),
        Answer::changed(1),
        Answer::of(&[&format!("{ADDRESS}district")]),
        Answer::of(customers),
    ]
}

fn play(payment: Option<Payment>, answers: &[Answer]) -> Vec<String> {
    payment.map_or_else(Vec::new, |mut payment| {
        said_by(answers, |answer, batch| payment.next(answer, batch))
    })
}

#[test]
fn the_statements_come_in_benchbases_order_with_their_parameters() {
    let mut answers = answers(&["42|-10.00|10|1|GC"]);
    answers.extend([Answer::changed(1), Answer::changed(1)]);
    let mut said = play(payment(false), &answers);
    let customer = said.remove(4);
    assert!(customer.starts_with("PaymentCustomer(1, 4, "), "{customer}");
    let expected = [
        "PaymentUpdateWarehouse(12.34, 1)",
        "PaymentWarehouse(1)",
        "PaymentUpdateDistrict(12.34, 1, 4)",
        "PaymentDistrict(1, 4)",
        "PaymentUpdateGoodCredit(-22.34, 22.34, 2, 1, 4, 42)",
        "PaymentHistory(4, 1, 42, 4, 1, 12.34, house    district)",
        "commit",
    ];
    assert_eq!(said, expected);
}

#[test]
fn bad_credit_is_written_into_the_data_of_the_middle_namesake() {
    let mut answers = answers(&["5|0.00|10|1|GC", "6|100.5|1e+03|9|BC", "7|0.00|10|1|GC"]);
    let data = "x".repeat(500);
    answers.extend([Answer::of(&[&data]), Answer::changed(1), Answer::changed(1)]);
    let said = play(payment(true), &answers);
    assert_eq!(said.get(5).map(String::as_str), Some("PaymentCustomerData(1, 4, 6)"));
    let kept = "x".repeat(500 - "6 4 1 4 1 12.34 | ".len());
    let expected = format!("PaymentUpdateBadCredit(88.16, 1012.34, 10, 6 4 1 4 1 12.34 | {kept}, 1, 4, 6)");
    assert_eq!(said.get(6), Some(&expected));
    assert_eq!(said.last().map(String::as_str), Some("commit"));
}

#[test]
fn a_row_that_must_be_there_is_missed_by_its_table() {
    for (place, table) in [(1, "warehouse"), (3, "district"), (4, "customer")] {
        let mut answers = answers(&["42|-10.00|10|1|GC"]);
        answers.truncate(place);
        answers.push(Answer::of(&[]));
        assert_eq!(play(payment(false), &answers).last(), Some(&format!("missing {table}")));
    }
    let nameless = answers(&["42|-|10|1|GC"]);
    assert_eq!(
        play(payment(false), &nameless).last().map(String::as_str),
        Some("missing customer")
    );
}

#[test]
fn payments_are_drawn_as_often_as_the_rules_say() {
    let payments: Vec<_> = drawn(10).take(20_000).collect();
    let remote: Vec<_> = payments
        .iter()
        .filter(|payment| payment.customer.warehouse != 1)
        .collect();
    assert!((2_800..3_200).contains(&remote.len()), "{}", remote.len());
    for payment in &payments {
        assert!((100..=500_000).contains(&payment.amount_cents));
        assert!(payment.customer.warehouse != 1 || payment.customer.district == payment.district);
        assert_eq!((payment.warehouse, payment.district), (1, 4));
    }
    let mut districts: Vec<_> = remote.iter().map(|payment| payment.customer.district).collect();
    districts.sort_unstable();
    districts.dedup();
    assert_eq!(districts, (1..=10).collect::<Vec<_>>());
}

#[test]
fn with_one_warehouse_the_others_pay_at_home_in_any_district() {
    let elsewhere = drawn(1)
        .take(2_000)
        .filter(|payment| payment.customer.district != payment.district);
    assert!((200..340).contains(&elsewhere.count()));
    assert!(drawn(1).take(2_000).all(|payment| payment.customer.warehouse == 1));
}

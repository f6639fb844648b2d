#![allow(clippy::indexing_slicing)]

use super::super::rehearsal::{plan, said, said_by, HOME};
use super::*;

const INFO: &str = "a|b|c|d|e|f|g|h|i|j";

/// An order of one terminal after another.
fn drawn(warehouses: u32, convention: Convention) -> impl Iterator<Item = NewOrder> {
    let mut prng = Prng::seeded(11);
    let plan = plan(warehouses, convention);
    std::iter::repeat_with(move || NewOrder::draw(HOME, &plan, &mut prng))
}

/// An order of three lines that nobody drew.
fn order() -> Option<NewOrder> {
    let mut order = drawn(2, Convention::BenchBase).next()?;
    order.customer = 77;
    order.count = 3;
    order.all_local = false;
    for (line, (item, supply, quantity)) in order.lines.iter_mut().zip([(100, 1, 5), (200, 2, 10), (100, 1, 1)]) {
        (line.item, line.supply, line.quantity) = (item, supply, quantity);
    }
    Some(order)
}

fn answers(lines: &[(&str, &str)]) -> Vec<Answer> {
    let mut answers = vec![
        Answer::of(&["0.1|BARBARBAR|GC"]),
        Answer::of(&["0.1"]),
        Answer::of(&["3001|0.1"]),
        Answer::changed(1),
        Answer::changed(1),
        Answer::changed(1),
    ];
    for (price, quantity) in lines {
        answers.push(Answer::of(&[&format!("{price}|name|data")]));
        answers.push(Answer::of(&[&format!("{quantity}|data|{INFO}")]));
    }
    answers.extend([Answer::changed(1), Answer::changed(1)]);
    answers
}

fn play(order: Option<NewOrder>, answers: &[Answer]) -> Vec<String> {
    order.map_or_else(Vec::new, |mut order| {
        said_by(answers, |answer, batch| order.next(answer, batch))
    })
}

#[test]
fn the_statements_come_in_benchbases_order_with_their_parameters() {
    let said = play(order(), &answers(&[("1.50", "20"), ("99.99", "12"), ("1.50", "14")]));
    let expected = [
        "NewOrderCustomer(1, 4, 77)",
        "NewOrderWarehouse(1)",
        "NewOrderDistrict(1, 4)",
        "NewOrderNextOrder(1, 4)",
        "NewOrderOrder(3001, 4, 1, 77, 3, 0)",
        "NewOrderNewOrder(3001, 4, 1)",
        "NewOrderItem(100)",
        "NewOrderStock(100, 1)",
        "NewOrderItem(200)",
        "NewOrderStock(200, 2)",
        "NewOrderItem(100)",
        "NewOrderStock(100, 1)",
        "NewOrderLines2(3001, 4, 1, 1, 100, 1, 5, 7.50, d, 3001, 4, 1, 2, 200, 2, 10, 999.90, d) + \
         NewOrderLines1(3001, 4, 1, 3, 100, 1, 1, 1.50, d)",
        "NewOrderUpdateStock(15, 5, 0, 100, 1) + NewOrderUpdateStock(93, 10, 1, 200, 2) + \
         NewOrderUpdateStock(13, 1, 0, 100, 1)",
        "commit",
    ];
    assert_eq!(said, expected);
}

#[test]
fn stock_that_would_fall_below_ten_is_filled_up() {
    for (before, quantity, after) in [(15, 5, 10), (14, 5, 100), (10, 10, 91), (100, 1, 99)] {
        let mut order = order();
        if let Some(order) = &mut order {
            order.count = 1;
            order.lines[0].quantity = quantity;
        }
        let said = play(order, &answers(&[("1.00", &before.to_string())]));
        assert_eq!(said[9], format!("NewOrderUpdateStock({after}, {quantity}, 0, 100, 1)"));
    }
}

#[test]
fn an_item_that_does_not_exist_rolls_back_after_the_lines_before_it() {
    let mut order = order();
    if let Some(order) = &mut order {
        order.lines[2].item = NO_ITEM;
    }
    let mut answers = answers(&[("1.00", "50"), ("1.00", "50")]);
    answers.truncate(10);
    answers.push(Answer::of(&[]));
    let said = play(order, &answers);
    assert_eq!(said[9..], ["NewOrderStock(200, 2)", "NewOrderItem(-12345)", "rollback"]);
}

#[test]
fn a_row_that_must_be_there_is_missed_by_its_table() {
    let complete = answers(&[("1.00", "50")]);
    let tables = ["customer", "warehouse", "district"];
    for (place, table) in (0..).zip(tables).chain([(6, "item"), (7, "stock")]) {
        let mut answers = complete.clone();
        answers[place] = Answer::of(&[]);
        answers.truncate(place + 1);
        assert_eq!(play(order(), &answers).last(), Some(&format!("missing {table}")));
    }
}

#[test]
fn lines_go_in_chunks_of_powers_of_two() {
    for count in 5..=LINES_MAX {
        let Some(mut order) = order() else { return };
        order.count = count;
        order.order = 3001;
        let mut batch = Batch::default();
        order.insert_lines(&mut batch);
        let rows: Vec<_> = batch
            .calls()
            .map(|(_, parameters, _)| usize::from(parameters) / 9)
            .collect();
        assert_eq!(rows.iter().sum::<usize>(), count);
        assert!(rows.is_sorted_by(|larger, smaller| larger > smaller), "{rows:?}");
        assert!(
            said(&batch).contains(&format!("3001, 4, 1, {count}, ")),
            "the last line has the last number"
        );
    }
}

#[test]
fn orders_are_drawn_as_often_as_the_rules_say() {
    let orders: Vec<_> = drawn(10, Convention::BenchBase).take(20_000).collect();
    let lines: usize = orders.iter().map(|order| order.count).sum();
    let used = || orders.iter().flat_map(|order| order.lines.iter().take(order.count));
    let share = |count: usize, of: usize| count as f64 / of as f64;
    let invalid = share(used().filter(|line| line.item == NO_ITEM).count(), orders.len());
    let remote = share(used().filter(|line| line.supply != 1).count(), lines);
    let mean = share(lines, orders.len());
    assert!((0.008..0.012).contains(&invalid), "{invalid}");
    assert!((0.009..0.011).contains(&remote), "{remote}");
    assert!((9.9..10.1).contains(&mean), "{mean}");
    assert!(used().all(|line| (1..=10).contains(&line.quantity) && (1..=10).contains(&line.supply)));
    assert!(used().all(|line| line.item == NO_ITEM || (1..=100_000).contains(&line.item)));
    let is_local = |order: &NewOrder| order.lines.iter().take(order.count).all(|line| line.supply == 1);
    assert!(orders.iter().all(|order| order.all_local == is_local(order)));
}

#[test]
fn with_one_warehouse_only_benchbase_has_orders_that_count_as_not_all_local() {
    let local = |convention| drawn(1, convention).take(2_000).filter(|order| order.all_local).count();
    assert_eq!(local(Convention::Spec), 2_000);
    assert!((1_700..1_900).contains(&local(Convention::BenchBase)));
}

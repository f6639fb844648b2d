//! Everything that the five transactions say to the server, in one list.

use super::Kind;
use crate::spec::{Convention, TpccSpec};

/// A statement; its number is its place in [`LIST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Sql {
    NewOrderCustomer,
    NewOrderWarehouse,
    NewOrderDistrict,
    NewOrderNextOrder,
    NewOrderOrder,
    NewOrderNewOrder,
    NewOrderItem,
    NewOrderStock,
    NewOrderLines8,
    NewOrderLines4,
    NewOrderLines2,
    NewOrderLines1,
    NewOrderUpdateStock,
    NewOrderCommit,
    NewOrderRollback,
    PaymentUpdateWarehouse,
    PaymentWarehouse,
    PaymentUpdateDistrict,
    PaymentDistrict,
    PaymentCustomersByName,
    PaymentCustomer,
    PaymentCustomerData,
    PaymentUpdateBadCredit,
    PaymentUpdateGoodCredit,
    PaymentHistory,
    PaymentCommit,
    OrderStatusCustomersByName,
    OrderStatusCustomer,
    OrderStatusNewest,
    OrderStatusLines,
    OrderStatusCommit,
    DeliveryOldest,
    DeliveryDelete,
    DeliveryCustomer,
    DeliveryCarrier,
    DeliveryDates,
    DeliverySum,
    DeliveryBalance,
    DeliveryCommit,
    DeliveryRollback,
    StockLevelNextOrder,
    StockLevelCount,
    StockLevelCommit,
    /// Goes with the first statement of every transaction, so it has no record of its own.
    Begin,
}

/// How the text of a statement comes about.
#[derive(Clone, Copy, Debug)]
enum Text {
    Same(&'static str),
    /// The row is written back with values computed from what was read. BenchBase reads it without a lock, and loses
    /// updates below REPEATABLE READ; the specification allows no lost update, so its convention locks.
    ThenWritten(&'static str),
    /// So many order lines in one statement.
    Lines(usize),
    Begin,
}

/// A transaction's statements stand together, in the order in which it first says them.
const LIST: [(Sql, Option<Kind>, Text); 44] = {
    use Kind::{Delivery, NewOrder, OrderStatus, Payment, StockLevel};
    use Text::{Lines, Same, ThenWritten};
    [
        (
            Sql::NewOrderCustomer,
            Some(NewOrder),
            Same("SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3"),
        ),
        (
            Sql::NewOrderWarehouse,
            Some(NewOrder),
            Same("SELECT w_tax FROM warehouse WHERE w_id = $1"),
        ),
        (
            Sql::NewOrderDistrict,
            Some(NewOrder),
            Same("SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = $1 AND d_id = $2 FOR UPDATE"),
        ),
        (
            Sql::NewOrderNextOrder,
            Some(NewOrder),
            Same("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2"),
        ),
        (
            Sql::NewOrderOrder,
            Some(NewOrder),
            Same(
                "INSERT INTO oorder (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES ($1, \
                 $2, $3, $4, current_timestamp, $5, $6)",
            ),
        ),
        (
            Sql::NewOrderNewOrder,
            Some(NewOrder),
            Same("INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)"),
        ),
        (
            Sql::NewOrderItem,
            Some(NewOrder),
            Same("SELECT i_price, i_name, i_data FROM item WHERE i_id = $1"),
        ),
        (
            Sql::NewOrderStock,
            Some(NewOrder),
            Same(
                "SELECT s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, \
                 s_dist_07, s_dist_08, s_dist_09, s_dist_10 FROM stock WHERE s_i_id = $1 AND s_w_id = $2 FOR \
                 UPDATE",
            ),
        ),
        (Sql::NewOrderLines8, Some(NewOrder), Lines(8)),
        (Sql::NewOrderLines4, Some(NewOrder), Lines(4)),
        (Sql::NewOrderLines2, Some(NewOrder), Lines(2)),
        (Sql::NewOrderLines1, Some(NewOrder), Lines(1)),
        (
            Sql::NewOrderUpdateStock,
            Some(NewOrder),
            Same(
                "UPDATE stock SET s_quantity = $1, s_ytd = s_ytd + $2, s_order_cnt = s_order_cnt + 1, \
                 s_remote_cnt = s_remote_cnt + $3 WHERE s_i_id = $4 AND s_w_id = $5",
            ),
        ),
        (Sql::NewOrderCommit, Some(NewOrder), Same("COMMIT")),
        (Sql::NewOrderRollback, Some(NewOrder), Same("ROLLBACK")),
        (
            Sql::PaymentUpdateWarehouse,
            Some(Payment),
            Same("UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2"),
        ),
        (
            Sql::PaymentWarehouse,
            Some(Payment),
            Same("SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM warehouse WHERE w_id = $1"),
        ),
        (
            Sql::PaymentUpdateDistrict,
            Some(Payment),
            Same("UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3"),
        ),
        (
            Sql::PaymentDistrict,
            Some(Payment),
            Same(
                "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district WHERE d_w_id = $1 \
                 AND d_id = $2",
            ),
        ),
        (
            Sql::PaymentCustomersByName,
            Some(Payment),
            ThenWritten(
                "SELECT c_id, c_balance, c_ytd_payment, c_payment_cnt, c_credit, c_first, c_middle, c_street_1, \
                 c_street_2, c_city, c_state, c_zip, c_phone, c_credit_lim, c_discount, c_since FROM customer \
                 WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first",
            ),
        ),
        (
            Sql::PaymentCustomer,
            Some(Payment),
            ThenWritten(
                "SELECT c_id, c_balance, c_ytd_payment, c_payment_cnt, c_credit, c_first, c_middle, c_last, \
                 c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit_lim, c_discount, c_since FROM \
                 customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
            ),
        ),
        (
            Sql::PaymentCustomerData,
            Some(Payment),
            Same("SELECT c_data FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3"),
        ),
        (
            Sql::PaymentUpdateBadCredit,
            Some(Payment),
            Same(
                "UPDATE customer SET c_balance = $1, c_ytd_payment = $2, c_payment_cnt = $3, c_data = $4 WHERE \
                 c_w_id = $5 AND c_d_id = $6 AND c_id = $7",
            ),
        ),
        (
            Sql::PaymentUpdateGoodCredit,
            Some(Payment),
            Same(
                "UPDATE customer SET c_balance = $1, c_ytd_payment = $2, c_payment_cnt = $3 WHERE c_w_id = $4 AND \
                 c_d_id = $5 AND c_id = $6",
            ),
        ),
        (
            Sql::PaymentHistory,
            Some(Payment),
            Same(
                "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
                 VALUES ($1, $2, $3, $4, $5, current_timestamp, $6, $7)",
            ),
        ),
        (Sql::PaymentCommit, Some(Payment), Same("COMMIT")),
        (
            Sql::OrderStatusCustomersByName,
            Some(OrderStatus),
            Same(
                "SELECT c_id, c_balance, c_first, c_middle, c_street_1, c_street_2, c_city, c_state, c_zip, \
                 c_phone, c_credit, c_credit_lim, c_discount, c_ytd_payment, c_payment_cnt, c_since FROM customer \
                 WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first",
            ),
        ),
        (
            Sql::OrderStatusCustomer,
            Some(OrderStatus),
            Same(
                "SELECT c_id, c_balance, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, \
                 c_zip, c_phone, c_credit, c_credit_lim, c_discount, c_ytd_payment, c_payment_cnt, c_since FROM \
                 customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
            ),
        ),
        (
            Sql::OrderStatusNewest,
            Some(OrderStatus),
            Same(
                "SELECT o_id, o_carrier_id, o_entry_d FROM oorder WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = \
                 $3 ORDER BY o_id DESC LIMIT 1",
            ),
        ),
        (
            Sql::OrderStatusLines,
            Some(OrderStatus),
            Same(
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE \
                 ol_o_id = $1 AND ol_d_id = $2 AND ol_w_id = $3",
            ),
        ),
        (Sql::OrderStatusCommit, Some(OrderStatus), Same("COMMIT")),
        (
            Sql::DeliveryOldest,
            Some(Delivery),
            Same("SELECT no_o_id FROM new_order WHERE no_d_id = $1 AND no_w_id = $2 ORDER BY no_o_id LIMIT 1"),
        ),
        (
            Sql::DeliveryDelete,
            Some(Delivery),
            Same("DELETE FROM new_order WHERE no_o_id = $1 AND no_d_id = $2 AND no_w_id = $3"),
        ),
        (
            Sql::DeliveryCustomer,
            Some(Delivery),
            Same("SELECT o_c_id FROM oorder WHERE o_id = $1 AND o_d_id = $2 AND o_w_id = $3"),
        ),
        (
            Sql::DeliveryCarrier,
            Some(Delivery),
            Same("UPDATE oorder SET o_carrier_id = $1 WHERE o_id = $2 AND o_d_id = $3 AND o_w_id = $4"),
        ),
        (
            Sql::DeliveryDates,
            Some(Delivery),
            Same(
                "UPDATE order_line SET ol_delivery_d = current_timestamp WHERE ol_o_id = $1 AND ol_d_id = $2 AND \
                 ol_w_id = $3",
            ),
        ),
        (
            Sql::DeliverySum,
            Some(Delivery),
            Same("SELECT sum(ol_amount) FROM order_line WHERE ol_o_id = $1 AND ol_d_id = $2 AND ol_w_id = $3"),
        ),
        (
            Sql::DeliveryBalance,
            Some(Delivery),
            Same(
                "UPDATE customer SET c_balance = c_balance + $1, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id \
                 = $2 AND c_d_id = $3 AND c_id = $4",
            ),
        ),
        (Sql::DeliveryCommit, Some(Delivery), Same("COMMIT")),
        (Sql::DeliveryRollback, Some(Delivery), Same("ROLLBACK")),
        (
            Sql::StockLevelNextOrder,
            Some(StockLevel),
            Same("SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2"),
        ),
        (
            Sql::StockLevelCount,
            Some(StockLevel),
            Same(
                "SELECT count(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = $1 AND ol_d_id = $2 AND \
                 ol_o_id < $3 AND ol_o_id >= $4 AND s_w_id = $5 AND s_i_id = ol_i_id AND s_quantity < $6",
            ),
        ),
        (Sql::StockLevelCommit, Some(StockLevel), Same("COMMIT")),
        (Sql::Begin, None, Text::Begin),
    ]
};

/// The types of an order line's columns: a server before 10 does not take them from the table when there are several
/// rows.
const LINE_TYPES: [&str; 9] = ["int", "int", "int", "int", "int", "int", "numeric", "numeric", "text"];

impl Sql {
    /// Its place in the list, which is its number among the program's prepared statements.
    pub fn number(self) -> u16 {
        self as u16
    }
}

/// The texts of all statements, in the order of their numbers, each with the transaction that it belongs to.
pub fn texts(spec: &TpccSpec) -> impl Iterator<Item = (Option<Kind>, String)> + '_ {
    LIST.iter().map(|(_, kind, text)| (*kind, text.write(spec)))
}

impl Text {
    fn write(self, spec: &TpccSpec) -> String {
        match self {
            Self::Same(text) => text.to_owned(),
            Self::ThenWritten(text) if spec.convention == Convention::Spec => format!("{text} FOR UPDATE"),
            Self::ThenWritten(text) => text.to_owned(),
            Self::Lines(count) => insert_lines(count),
            Self::Begin => format!("BEGIN ISOLATION LEVEL {}", spec.isolation.words()),
        }
    }
}

fn insert_lines(count: usize) -> String {
    let row = |row: usize| {
        let column = |(column, kind)| format!("${}::{kind}", row * LINE_TYPES.len() + column + 1);
        let columns: Vec<_> = LINE_TYPES.iter().enumerate().map(column).collect();
        format!("({})", columns.join(", "))
    };
    let rows: Vec<_> = (0..count).map(row).collect();
    format!(
        "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, \
         ol_amount, ol_dist_info) VALUES {}",
        rows.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_statement_is_its_place_in_the_list() {
        for (place, (sql, _, _)) in (0_u16..).zip(&LIST) {
            assert_eq!(sql.number(), place, "{sql:?}");
        }
    }

    #[test]
    fn the_statements_of_a_transaction_stand_together() {
        let mut kinds: Vec<_> = LIST.iter().map(|(_, kind, _)| *kind).collect();
        kinds.dedup();
        assert_eq!(kinds.len(), Kind::ALL.len() + 1);
    }

    #[test]
    fn only_the_specification_locks_what_payment_writes_back() {
        let locking = |convention| {
            let spec = TpccSpec {
                warehouses: 1,
                convention,
                isolation: crate::spec::Isolation::ReadCommitted,
                waits: false,
            };
            let locks = texts(&spec).map(|(_, text)| text.ends_with(" FOR UPDATE"));
            locks.filter(|locks| *locks).count()
        };
        assert_eq!((locking(Convention::BenchBase), locking(Convention::Spec)), (2, 4));
    }

    #[test]
    fn lines_are_inserted_by_one_statement_with_all_their_parameters() {
        let text = insert_lines(2);
        assert!(text.ends_with("$17::numeric, $18::text)"), "{text}");
    }
}

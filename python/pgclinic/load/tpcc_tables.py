"""What a filled TPC-C database consists of besides its rows: tables, keys, and how long each takes to make."""

from __future__ import annotations

from dataclasses import dataclass

#: The largest first: begun in this order, no connection is left with a long task at the end.
TABLES = ("order_line", "stock", "customer", "oorder", "history", "new_order", "item", "district", "warehouse")


@dataclass(frozen=True)
class Key:
    """A primary key, unique constraint, index or foreign key of ``table``.

    ``parent`` is the table that a foreign key refers to. ``cost_ms`` is what it took a warehouse; only ratios matter.
    """

    table: str
    definition: str
    cost_ms: int
    parent: str | None = None

    @property
    def name(self) -> str:
        """What is being made, in words; no two keys have the same."""
        if self.parent:
            return f"foreign key {self.table} to {self.parent}"
        return f"{self.definition.partition(' (')[0]} of {self.table}"

    @property
    def statement(self) -> str:
        if self.definition.startswith("index "):
            name, _, columns = self.definition.removeprefix("index ").partition(" ")
            return f"create index {name} on {self.table} {columns}"
        return f"alter table {self.table} add {self.definition}"


#: What the rows of a table took a warehouse, in ms. Items are the same for any number of warehouses.
ROWS_COST_MS = {
    "order_line": 183,
    "stock": 240,
    "customer": 110,
    "oorder": 20,
    "history": 24,
    "new_order": 4,
    "item": 100,
    "district": 1,
    "warehouse": 1,
}
VACUUM_COST_MS = dict.fromkeys(TABLES, 10) | {"order_line": 22, "stock": 31, "customer": 28}

INDEXES = (
    Key("order_line", "primary key (ol_w_id, ol_d_id, ol_o_id, ol_number)", 125),
    Key("stock", "primary key (s_w_id, s_i_id)", 21),
    Key("customer", "primary key (c_w_id, c_d_id, c_id)", 9),
    Key("oorder", "primary key (o_w_id, o_d_id, o_id)", 6),
    Key("new_order", "primary key (no_w_id, no_d_id, no_o_id)", 2),
    Key("item", "primary key (i_id)", 2),
    Key("district", "primary key (d_w_id, d_id)", 1),
    Key("warehouse", "primary key (w_id)", 1),
    Key("customer", "index idx_customer_name (c_w_id, c_d_id, c_last, c_first)", 19),
    Key("oorder", "unique (o_w_id, o_d_id, o_c_id, o_id)", 9),
)


def _foreign(table: str, columns: str, parent: str, parent_columns: str, cost_ms: int) -> Key:
    definition = f"foreign key ({columns}) references {parent} ({parent_columns}) on delete cascade"
    return Key(table, definition, cost_ms, parent)


FOREIGN_KEYS = (
    _foreign("order_line", "ol_w_id, ol_d_id, ol_o_id", "oorder", "o_w_id, o_d_id, o_id", 29),
    _foreign("order_line", "ol_supply_w_id, ol_i_id", "stock", "s_w_id, s_i_id", 202),
    _foreign("stock", "s_i_id", "item", "i_id", 16),
    _foreign("stock", "s_w_id", "warehouse", "w_id", 14),
    _foreign("oorder", "o_w_id, o_d_id, o_c_id", "customer", "c_w_id, c_d_id, c_id", 13),
    _foreign("history", "h_c_w_id, h_c_d_id, h_c_id", "customer", "c_w_id, c_d_id, c_id", 17),
    _foreign("history", "h_w_id, h_d_id", "district", "d_w_id, d_id", 3),
    _foreign("customer", "c_w_id, c_d_id", "district", "d_w_id, d_id", 7),
    _foreign("new_order", "no_w_id, no_d_id, no_o_id", "oorder", "o_w_id, o_d_id, o_id", 3),
    _foreign("district", "d_w_id", "warehouse", "w_id", 1),
)

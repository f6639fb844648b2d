"""Existing indexes that could be dropped, by what statements took with them and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import pytest
from msgspec.structs import replace as changed

from fixtures.advised import SEEN, index, twin_of
from pgclinic.advise.measurement import WeighedStatement
from pgclinic.advise.needless import COUNTED_S_MIN, NeedlessIndexes, needless_indexes
from pgclinic.model.advise import DropReason, IndexDefinition
from pgclinic.model.twin import Twin, TwinForeignKey, TwinIndex
from pgclinic.whatif.index_trial import BuiltSet, SeenStatement

TEXTS = ("select id from orders where customer = $1", "insert into orders values ($1)")
BY_CUSTOMER = TwinIndex(name="public.by_customer", method="btree", keys=("customer",), pages=100)
MADE = "CREATE INDEX by_customer ON public.orders USING btree (customer)"
READ = replace(SEEN, used=frozenset(("orders_pkey",)))
WRITE = replace(SEEN, target="orders", buffers=(20.0, 20.0), wal_bytes=(400.0, 400.0))
LIGHTER = replace(WRITE, times_ms=(3.0, 4.5), buffers=(16.0, 16.0), wal_bytes=(300.0, 300.0))
SLOW = replace(SEEN, signature=("x", "y"), times_ms=(40.0, 60.0))


class Seen:
    """What statements take, by which existing indexes are missing."""

    def __init__(self, read: SeenStatement = READ, without: Mapping[str, SeenStatement] | None = None) -> None:
        self.read, self.without = read, without or {}

    def seen(
        self,
        kept: Sequence[IndexDefinition] | None = None,
        without: Sequence[str] = (),
        like: Mapping[int, SeenStatement] | None = None,
    ) -> dict[int, SeenStatement]:
        missing = next((self.without[name] for name in without if name in self.without), self.read)
        return {1: missing, 2: LIGHTER if without else WRITE}


def needless(twin: Twin, seen: Seen, *advised: IndexDefinition, tried: tuple[int, ...] = (1, 2)) -> NeedlessIndexes:
    weighed = {key: WeighedStatement(key, text, 0.5, 100.0) for key, text in enumerate(TEXTS, start=1)}
    before = {key: seen.seen()[key] for key in tried}
    return needless_indexes(twin, cast("BuiltSet", seen), advised, weighed, before)


def twin_with(*more: tuple[TwinIndex, str], since_s: float = 2 * COUNTED_S_MIN) -> Twin:
    pairs = ((BY_CUSTOMER, MADE), *more)
    twin = twin_of(*TEXTS, indexes=[one for one, _ in pairs], statements=[text for _, text in pairs])
    return changed(twin, workload=changed(twin.workload, since_s=since_s))


def again(name: str, keys: tuple[str, ...], text: str, **more: object) -> tuple[TwinIndex, str]:
    made = TwinIndex(name=f"public.{name}", method="btree", keys=keys, **more)  # type: ignore[arg-type]
    return made, f"CREATE INDEX {name} ON public.orders USING btree ({text})"


def test_an_index_that_no_statement_uses_can_go_after_a_month() -> None:
    (drop,) = needless(twin_with(), Seen()).drops
    assert (drop.name, drop.reason, drop.by) == ("public.by_customer", DropReason.UNUSED, None)
    assert drop.drop == "drop index concurrently public.by_customer"
    assert drop.undo == "create index concurrently by_customer ON public.orders USING btree (customer)"
    assert drop.saved_share == pytest.approx(0.0)


def test_statistics_of_a_day_call_nothing_unused() -> None:
    found = needless(twin_with(since_s=86_400.0), Seen())
    assert (found.drops, found.idle) == ((), ("public.by_customer",))


def test_an_index_in_use_stays() -> None:
    assert needless(twin_with(), Seen(replace(READ, used=frozenset(("by_customer",))))) == NeedlessIndexes()


def test_of_two_with_the_same_keys_one_stays() -> None:
    using = Seen(replace(READ, used=frozenset(("by_customer", "twice"))))
    (drop,) = needless(twin_with(again("twice", ("customer",), "customer")), using).drops
    assert (drop.reason, {drop.name, drop.by}) == (DropReason.DUPLICATE, {"public.by_customer", "public.twice"})


def test_an_index_is_the_beginning_of_another_only_with_the_same_operator_class() -> None:
    using = Seen(replace(READ, used=frozenset(("by_customer", "wide"))))
    (drop,) = needless(twin_with(again("wide", ("customer", "at"), "customer, at DESC")), using).drops
    assert (drop.name, drop.reason, drop.by) == ("public.by_customer", DropReason.PREFIX, "public.wide")
    other = again("wide", ("customer", "at"), "customer int8_ops_of_mine, at")
    assert needless(twin_with(other), using).drops == ()


def test_an_advised_index_replaces_one() -> None:
    using = Seen(replace(READ, used=frozenset(("by_customer",))))
    (drop,) = needless(twin_with(), using, index("customer", "at", name="new")).drops
    assert (drop.reason, drop.by) == (DropReason.REPLACED, "new")


def test_what_makes_a_statement_slower_stays() -> None:
    assert needless(twin_with(), Seen(without={"public.by_customer": SLOW})).drops == ()


def test_a_deletion_that_becomes_slower_by_the_check_of_a_foreign_key_keeps_its_index() -> None:
    slow = replace(WRITE, times_ms=(40.0, 60.0))

    class Deleting(Seen):
        def seen(self, kept=None, without=(), like=None):  # type: ignore[no-untyped-def]
            return {1: READ, 2: slow if without else WRITE}

    assert needless(twin_with(), Deleting()).drops == ()


def test_an_index_of_a_foreign_key_is_not_called_unused() -> None:
    twin = twin_with()
    key = TwinForeignKey(name="f", columns=("customer",), parent="public.customer", parent_columns=("id",))
    tables = (changed(twin.tables[0], foreign_keys=(key,)), twin.tables[1])
    assert needless(changed(twin, tables=tables), Seen()) == NeedlessIndexes()


def test_what_enforces_something_is_never_named() -> None:
    found = needless(twin_with(again("once", ("customer", "id"), "customer, id", is_unique=True)), Seen())
    names = {drop.name for drop in found.drops} | set(found.idle)
    assert not {"public.once", "public.orders_pkey"} & names


def test_a_table_of_a_statement_that_was_not_tried_is_left_alone() -> None:
    assert needless(twin_with(), Seen(), tried=(2,)) == NeedlessIndexes()

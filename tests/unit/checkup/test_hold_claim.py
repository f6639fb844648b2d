"""The time that a held horizon takes, against figures that were worked out by hand."""

from __future__ import annotations

import pytest

from fixtures.made_case import AT_EPOCH_S, case, counted, table, table_counters
from pgclinic.checkup.case import Case
from pgclinic.checkup.hold_claim import hold_claim, part_of_hold
from pgclinic.checkup.lookup_cost import clean_buffers
from pgclinic.model.snapshot import HorizonHolding
from pgclinic.model.snapshot_counters import Counters, StatementCounters


def hold(key: str, age: int | None) -> HorizonHolding:
    return HorizonHolding(
        kind="session",
        key=key,
        holder=key,
        pid=1,
        user="app",
        database="shop",
        state="idle in transaction",
        xmin_age=age,
        catalog_xmin_age=None,
        held_s=600.0,
        is_here=True,
        query=None,
    )


ALONE = hold("a", 1_000_000)
LOOKUP = "select v from counters where id = $1"
CLEAN = "select v from people where id = $1"


def of(*statements: tuple[str, StatementCounters], before: Counters | None = None) -> Case:
    """A table with 60 dead rows for each live one, and a clean one; a clean lookup in either visits two buffers."""
    return case(
        statements=statements,
        tables=(table(1, "counters", 100), table(2, "people", 100)),
        counters=(table_counters(1, 100, 0, dead=6_000), table_counters(2, 100, 0)),
        before=before,
    )


def part(made: Case, query_id: int = 1) -> float:
    claim = hold_claim(made, ALONE, (ALONE,))
    assert claim is not None
    return claim.by_statement[query_id]


def test_what_lookups_have_grown_by_is_the_price_of_dead_rows() -> None:
    """2 buffers in 0.1 ms before, 62 in 0.4 ms now: 0.005 ms each, so that 0.3 of 0.4 ms are lost."""
    then = Counters(at_epoch_s=AT_EPOCH_S - 5.0, statements=(counted(1, calls=1_000, buffers=2, ms=0.1),))
    now = counted(1, calls=2_000, buffers=32, ms=0.25)
    made = of((LOOKUP, now), before=then)
    assert clean_buffers(made.tables[0]) == 2.0
    assert part(made) == pytest.approx(0.75)
    claim = hold_claim(made, ALONE, (ALONE,))
    assert claim is not None
    assert not claim.at_most


def test_without_a_before_lookups_in_a_clean_table_say_what_one_takes() -> None:
    made = of((LOOKUP, counted(1, calls=100, buffers=62, ms=0.4)), (CLEAN, counted(2, calls=100, buffers=2, ms=0.1)))
    assert part(made) == pytest.approx(0.75)
    claim = hold_claim(made, ALONE, (ALONE,))
    assert claim is not None
    assert claim.query_ids == (1,)


def test_alone_it_is_the_most_that_it_can_be() -> None:
    made = of((LOOKUP, counted(1, calls=100, buffers=62, ms=0.4)))
    claim = hold_claim(made, ALONE, (ALONE,))
    assert claim is not None
    assert claim.at_most
    assert claim.by_statement[1] == pytest.approx(60.0 / 62.0)


def test_lookups_that_dead_rows_do_not_hurt_take_no_time() -> None:
    assert hold_claim(of((LOOKUP, counted(1, calls=100, buffers=3, ms=0.1))), ALONE, (ALONE,)) is None
    assert hold_claim(of((CLEAN, counted(2, calls=100, buffers=62, ms=0.4))), ALONE, (ALONE,)) is None


def test_holds_share_the_rows_that_they_keep_together() -> None:
    """Of the rows since the older one began it alone keeps three quarters, and half of the rest is its own."""
    older, younger = hold("older", 1_000), hold("younger", 250)
    both = (younger, older)
    assert part_of_hold(older, both) == pytest.approx(0.75 + 0.125)
    assert part_of_hold(younger, both) == pytest.approx(0.125)
    assert part_of_hold(ALONE, ()) == 1.0
    made = of((LOOKUP, counted(1, calls=100, buffers=62, ms=0.4)))
    claims = [hold_claim(made, one, both) for one in both]
    assert sum(claim.by_statement[1] for claim in claims if claim is not None) == pytest.approx(60.0 / 62.0)


def test_holds_of_unknown_age_share_equally() -> None:
    first, second = hold("a", None), hold("b", None)
    assert part_of_hold(first, (second,)) == part_of_hold(second, (first,)) == 0.5

"""From cumulative samples to rates: hand-made ones with known answers, and recorded ones of real servers."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from pgclinic.model.sample import Point, Row, Sample, Samples
from pgclinic.samples.deltas import (
    CUT_OFF_ROWS,
    Rate,
    backends_by_wait_event,
    grown,
    hits_per_transaction,
    horizon_age,
    increase,
    per_second,
    top_statements,
)

RECORDED = Path(__file__).parents[2] / "fixtures" / "samples"


def recorded(name: str) -> Samples:
    decoder = msgspec.json.Decoder(Sample)
    lines = (RECORDED / f"{name}.jsonl").read_bytes().splitlines()
    return Samples(taken=tuple(decoder.decode(line) for line in lines))


def samples_of(view: str, *moments: tuple[float, tuple[Row, ...]]) -> Samples:
    return Samples(taken=tuple(Sample(at_s=at_s, view=view, rows=rows) for at_s, rows in moments))


def database(at_s: float, *, reset_s: float | None = None, **counters: int) -> tuple[float, tuple[Row, ...]]:
    return at_s, ({"reset_s": reset_s, **counters},)


def statement(query_id: int, calls: int, total_ms: float) -> Row:
    return {"query_id": query_id, "calls": calls, "total_ms": total_ms, "rows": calls, "hits": 0, "reads": 0}


def test_a_rate_is_by_the_time_between_samples() -> None:
    samples = samples_of("database", database(0, commits=100), database(2, commits=300), database(3, commits=310))
    assert per_second(samples, Rate.COMMITS) == (Point(at_s=2, value=100.0), Point(at_s=3, value=10.0))


def test_several_columns_count_together() -> None:
    samples = samples_of("checkpoints", database(0, timed=1, requested=5), database(10, timed=2, requested=9))
    assert grown(samples.taken, Rate.CHECKPOINTS) is not None
    assert per_second(samples, Rate.CHECKPOINTS) == (Point(at_s=10, value=0.5),)


def test_after_a_crash_counters_begin_at_zero() -> None:
    samples = samples_of("database", database(0, commits=1000), database(1, commits=40), database(2, commits=90))
    growth = grown(samples.taken, Rate.COMMITS)
    assert growth is not None
    assert (growth.amount, growth.seconds) == (90.0, 2.0)


def test_a_reset_is_known_by_its_time_even_when_the_counter_is_larger() -> None:
    before, after = database(0, reset_s=5.0, commits=10), database(1, reset_s=6.0, commits=30)
    assert increase("database", before[1][0], after[1][0], ("commits",)) == 30
    same = database(1, reset_s=5.0, commits=30)
    assert increase("database", before[1][0], same[1][0], ("commits",)) == 20


def test_the_sum_over_tables_falls_when_one_is_dropped_and_that_is_no_reset() -> None:
    samples = samples_of(
        "relations", database(0, autovacuums=50), database(1, autovacuums=20), database(2, autovacuums=23)
    )
    growth = grown(samples.taken, Rate.VACUUMS)
    assert growth is not None
    assert growth.amount == 3.0


def test_what_a_server_does_not_have_gives_nothing() -> None:
    samples = samples_of("wal", database(0, position=1), database(1, position=9))
    assert per_second(samples, Rate.FULL_PAGE_IMAGES) == ()
    assert grown(samples.taken, Rate.FULL_PAGE_IMAGES) is None
    assert grown(samples.taken, Rate.COMMITS) is None
    assert grown(samples.taken[:1], Rate.WAL_BYTES) is None
    assert per_second(samples_of("wal", (0, ({"position": None},)), (1, ({"position": None},))), Rate.WAL_BYTES) == ()


def test_hits_per_transaction_need_commits() -> None:
    one, two, three = samples_of(
        "database",
        database(0, hits=100, commits=10),
        database(1, hits=160, commits=20),
        database(2, hits=190, commits=20),
    ).taken
    assert hits_per_transaction(one, two) == 6.0
    assert hits_per_transaction(two, three) is None


def test_backends_are_counted_by_what_they_wait_for() -> None:
    def row(state: str | None, kind: str | None, event: str | None, backends: int) -> Row:
        return {"state": state, "wait_event_type": kind, "wait_event": event, "backends": backends}

    samples = samples_of(
        "activity",
        (0, (row("active", None, None, 3), row("active", "Lock", "transactionid", 2), row("idle", "Client", "x", 9))),
        (1, (row("active", "Lock", "transactionid", 1), row("active", "Lock", "transactionid", 4))),
        (2, (row("idle in transaction", "Client", "ClientRead", 1), row(None, "IO", "DataFileRead", 1))),
    )
    found = {name: [point.value for point in series] for name, series in backends_by_wait_event(samples).items()}
    assert found == {
        "running": [3.0, 0.0, 0.0],
        "Lock:transactionid": [2.0, 5.0, 0.0],
        "idle in transaction": [0.0, 0.0, 1.0],
        "IO:DataFileRead": [0.0, 0.0, 1.0],
    }


def test_the_horizon_is_as_old_as_its_oldest_holder() -> None:
    def row(name: str, age: int, held_s: float | None) -> Row:
        return {"holder": "session", "name": name, "pid": 7, "age_xids": age, "held_s": held_s, "state": "idle"}

    samples = samples_of("horizon", (0, ()), (1, (row("a", 10, 1.0), row("b", 500, 90.0))), (2, (row("a", 40, 2.0),)))
    assert [point.value for point in horizon_age(samples)] == [0.0, 500.0, 40.0]


def test_a_statement_that_a_cut_off_sample_lacks_is_not_taken_for_a_new_one() -> None:
    many = tuple(statement(number, 0, 0.0) for number in range(CUT_OFF_ROWS))
    late = CUT_OFF_ROWS
    later = ((5, (statement(late, 7000, 70.0),)), (9, (statement(late, 7008, 71.0),)))
    (seen,) = top_statements(samples_of("statements", (0, many), *later))
    assert (seen.query_id, seen.calls) == (late, 8.0)
    (new,) = top_statements(samples_of("statements", (0, many[:-1]), *later))
    assert (new.query_id, new.calls) == (late, 7008.0), "a whole sample without it says that it came later"


def test_statements_have_their_texts_and_survive_a_reset() -> None:
    samples = Samples(
        taken=(
            *samples_of(
                "statements",
                (0, (statement(1, 100, 50.0), statement(2, 5, 1.0))),
                (5, (statement(1, 3, 2.0), statement(2, 6, 9.0))),
            ).taken,
            *samples_of("statement_texts", (5, ({"query_id": 2, "query": "select $1"},))).taken,
        )
    )
    first, second = top_statements(samples)
    assert (first.query_id, first.text, first.calls, first.total_ms, first.wal_bytes) == (2, "select $1", 1, 8.0, None)
    assert (second.query_id, second.text, second.calls, second.total_ms) == (1, None, 3.0, 2.0)


def test_samples_can_be_aligned_and_stored_line_by_line() -> None:
    samples = Samples(taken=(Sample(at_s=100.5, view="wal", rows=({"position": 7, "name": None},)),), gaps=2)
    moved = samples.since(100)
    assert (moved.taken[0].at_s, moved.gaps) == (0.5, 2)
    line = msgspec.json.encode(moved.taken[0])
    assert b"\n" not in line
    assert msgspec.json.decode(line, type=Sample) == moved.taken[0]


@pytest.mark.parametrize("name", ["update_load_18", "update_load_13"])
def test_recorded_rates_add_up_to_what_the_counters_say(name: str) -> None:
    samples = recorded(name)
    for rate in (Rate.COMMITS, Rate.BUFFER_HITS, Rate.WAL_BYTES, Rate.VACUUMS, Rate.CHECKPOINTS):
        taken = samples.of(rate.view)
        seconds = [after.at_s - before.at_s for before, after in pairwise(taken)]
        total = sum(point.value * s for point, s in zip(per_second(samples, rate), seconds, strict=True))
        first, last = taken[0].rows[0], taken[-1].rows[0]
        expected = sum((last[column] or 0) - (first[column] or 0) for column in rate.columns)  # type: ignore[operator]
        assert total == pytest.approx(expected), rate


@pytest.mark.parametrize("name", ["update_load_18", "update_load_13"])
def test_a_recorded_hold_is_seen_while_it_lasted(name: str) -> None:
    """A report began three seconds after the load, at about 1.5 s of the measured time."""
    samples = recorded(name)
    held = [row for sample in samples.of("horizon") for row in sample.rows if row["name"] == "nightly report"]
    assert {row["holder"] for row in held} == {"session"}
    assert held[-1]["held_s"] == pytest.approx(4.8, abs=0.7)
    ages = {point.at_s: point.value for point in horizon_age(samples)}
    assert max(age for at_s, age in ages.items() if at_s < 1) < 100
    assert max(ages.values()) > 2000


@pytest.mark.parametrize("name", ["update_load_18", "update_load_13"])
def test_a_recorded_load_has_its_table_and_its_statement(name: str) -> None:
    samples = recorded(name)
    first, *_, last = [row for sample in samples.of("tables") for row in sample.rows if row["table"] == "hot"]
    updated = last["updated"] - first["updated"]  # type: ignore[operator]
    busiest = max(top_statements(samples), key=lambda growth: growth.calls)
    assert busiest.text == "update hot set n = n + $1 where id = $2"
    assert updated == pytest.approx(busiest.calls, rel=0.01)
    assert updated == pytest.approx(grown(samples.taken, Rate.COMMITS).amount, rel=0.02)  # type: ignore[union-attr]
    busy = backends_by_wait_event(samples).values()
    assert 1 <= max(sum(series[at].value for series in busy) for at in range(len(samples.of("activity")))) <= 8

"""What blocks on a twin say of its original: weights, bounds of what is not reproduced, and the word."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pgclinic.judge.reasons import transport_reason
from pgclinic.judge.transport import OUTSIDE_MAX, BlockSeen, PerCall, touched_tables, transported
from pgclinic.model.fidelity import TOLERANCE, Fidelity, OmittedStatement, StatementFidelity
from pgclinic.model.transport import Transport
from pgclinic.model.verdict_word import CompareWord
from pgclinic.report.words.reasons import sentence_of
from pgclinic.report.words.transport import closed_loop_words, outside_words, server_time_words

ZONE = (0.95, 1 / 0.95)
ORDERS = frozenset({"orders"})


def statement(name: str, share: float, *, is_within: bool = True, table: str = "orders") -> StatementFidelity:
    return StatementFidelity(
        query_id=hash(name) % 1000,
        text=f"select {name} from {table}",
        calls_share=share,
        time_share=share,
        rows=1.0,
        blocks=10.0,
        ms=1.0,
        is_within=is_within,
        fingerprints=(name,),
    )


def twin(
    *statements: StatementFidelity, omitted: float = 0.0, reason: str = "function", judges: bool = True
) -> Fidelity:
    left_out = OmittedStatement(
        query_id=1, text="select f()", reason=reason, detail="f", calls_share=omitted, time_share=omitted
    )
    return Fidelity(
        figures=(),
        statements=statements,
        omitted=(left_out,) if omitted else (),
        judges_throughput=judges,
        transactions=1,
    )


def blocks(number: int = 8, **ratios: float) -> list[BlockSeen]:
    """Blocks in which each statement takes so many times as long in b; a little noise, and as many buffers."""
    found = []
    for at in range(number):
        noise = math.exp(0.01 * (-1) ** at)
        found.append(
            BlockSeen(
                a={name: PerCall(ms=2.0, buffers=100.0) for name in ratios},
                b={name: PerCall(ms=2.0 * ratio * noise, buffers=100.0 * ratio) for name, ratio in ratios.items()},
                b_later=at % 2 == 0,
            )
        )
    return found


def carried(
    fidelity: Fidelity, seen: list[BlockSeen], touched: frozenset[str] | None = ORDERS, *, fixed: bool = True
) -> Transport:
    found = transported(fidelity, seen, touched=touched, null_zone=ZONE, fixed=fixed, by_server=True, sessions=6)
    assert found is not None
    return found


def test_weights_are_the_originals_time_and_not_the_twins_calls() -> None:
    seen = carried(twin(statement("slow", 0.9), statement("fast", 0.1)), blocks(slow=0.1, fast=1.0))
    assert seen.ratio == pytest.approx(0.19, rel=0.02)
    assert (seen.word, seen.measured_share, seen.outside) == (CompareWord.FASTER, 1.0, 0)
    assert next(one.text for one in seen.statements) == "select slow from orders"
    assert seen.low == seen.ci_low
    assert seen.high == seen.ci_high


def test_what_does_not_run_widens_the_interval_and_does_not_silence_it() -> None:
    seen = carried(twin(statement("slow", 0.95), omitted=0.002), blocks(slow=0.05))
    assert seen.word is CompareWord.FASTER
    assert seen.outside == 1
    assert seen.low is not None
    assert seen.high is not None
    assert seen.ci_high is not None
    assert seen.high - seen.ci_high == pytest.approx(9 * 0.002 / 0.952, rel=0.1)
    words = outside_words(seen)
    assert words is not None
    assert "0.2 %" in words


@pytest.mark.parametrize(("share", "word"), [(0.05, CompareWord.FASTER), (0.3, CompareWord.INVALID)])
def test_only_where_the_sign_may_turn_there_is_no_answer(share: float, word: CompareWord) -> None:
    """With 5 % anything up to 0.2 + 0.5; with 30 % up to 0.2 + 3."""
    seen = carried(twin(statement("slow", 1.0 - share), omitted=share), blocks(slow=0.2))
    assert seen.word is word


def test_no_difference_needs_bounds_within_the_margin() -> None:
    assert carried(twin(statement("s", 1.0)), blocks(s=1.0)).word is CompareWord.NO_DIFFERENCE
    assert carried(twin(statement("s", 0.9), omitted=0.1), blocks(s=1.0)).word is CompareWord.INCONCLUSIVE
    assert carried(twin(statement("s", 1.0)), blocks(s=3.0)).word is CompareWord.SLOWER


def test_a_statement_out_of_tolerance_is_unchanged_where_the_change_cannot_touch_it() -> None:
    seen = blocks(slow=0.1, other=1.0)
    other = statement("other", 0.5, is_within=False, table="customers")
    assert carried(twin(statement("slow", 0.5), other), seen).ratio == pytest.approx(0.55, rel=0.02)
    assert carried(twin(statement("slow", 0.5), other), seen).untouched_share == 0.5
    # It names the table, its buffers change, or the change is a setting, which touches all.
    of_table = statement("other", 0.5, is_within=False)
    assert carried(twin(statement("slow", 0.5), of_table), seen).outside == 1
    assert carried(twin(statement("slow", 0.5), other), blocks(slow=0.1, other=0.5)).outside == 1
    assert carried(twin(statement("slow", 0.5), other), seen, touched=None).outside == 1


def test_a_statement_that_was_tried_alone_and_did_not_change_is_unchanged() -> None:
    report = replace(statement("report", 0.1), unchanged=True)
    seen = carried(twin(statement("slow", 0.9), report), blocks(slow=0.1))
    assert (seen.outside, seen.untouched_share) == (0, pytest.approx(0.1))
    assert seen.ratio == pytest.approx(0.19, rel=0.02)
    assert carried(twin(statement("slow", 0.9), replace(report, unchanged=False)), blocks(slow=0.1)).outside == 1
    # What blocks have seen to change is not unchanged.
    both = replace(statement("other", 0.5, is_within=False), unchanged=True)
    assert carried(twin(statement("slow", 0.5), both), blocks(slow=0.1, other=1.0)).untouched_share == 0.5
    assert carried(twin(statement("slow", 0.5), both), blocks(slow=0.1, other=0.5)).outside == 1


def test_a_statement_that_was_tried_alone_is_not_much_slower_than_that_where_blocks_do_not_see_it() -> None:
    """At most 1.5 times what it took then, the tolerance, where it could have been ten times its time else."""
    report = replace(statement("report", 0.1), tried_ratio=0.2)
    seen = carried(twin(statement("slow", 0.9), report), blocks(slow=0.1))
    assert (seen.outside, seen.word) == (1, CompareWord.FASTER)
    assert seen.high == pytest.approx(0.9 * 0.1 + 0.1 * TOLERANCE, rel=0.05)
    other = carried(twin(statement("slow", 0.9), replace(report, tried_ratio=None)), blocks(slow=0.1))
    assert other.high == pytest.approx(0.9 * 0.1 + 0.1 * 10.0, rel=0.05)
    # What an index adds to a write may be half as much again, and never more than nothing would be known.
    for ratio, most in ((1.4, 1.4 * TOLERANCE), (40.0, 10.0)):
        writes = replace(report, tried_ratio=ratio)
        high = carried(twin(statement("slow", 0.9), writes), blocks(slow=0.1)).high
        assert high == pytest.approx(0.9 * 0.1 + 0.1 * most, rel=0.05)
    # The same for one that runs, and is another statement on the twin.
    another = replace(statement("other", 0.1, is_within=False), tried_ratio=0.2)
    assert carried(twin(statement("slow", 0.9), another), blocks(slow=0.1, other=0.5)).high == pytest.approx(
        0.24, rel=0.05
    )


def test_what_does_not_run_but_was_tried_alone_is_not_much_slower_than_that() -> None:
    known = twin(statement("slow", 0.9), omitted=0.1)
    tried = replace(known, omitted=tuple(replace(one, tried_ratio=1.0) for one in known.omitted))
    assert carried(known, blocks(slow=0.5)).word is CompareWord.INVALID
    assert carried(tried, blocks(slow=0.5)).word is CompareWord.FASTER


def rough(share: float, factor: float, *, same_plan: bool | None = None) -> StatementFidelity:
    """A statement that visits ``factor`` times the buffers on the twin."""
    one = statement("rough", share, is_within=False)
    return replace(one, twin_rows=1.0, twin_blocks=10.5 * factor - 0.5, same_plan=same_plan)


def test_a_statement_that_misses_the_tolerance_by_a_little_widens_the_interval_by_a_little() -> None:
    within, beyond = (
        carried(twin(statement("slow", 0.5), one), blocks(slow=0.2, rough=1.0), touched=None)
        for one in (replace(rough(0.5, TOLERANCE), is_within=True), rough(0.5, TOLERANCE * 1.02))
    )
    assert within.high is not None and beyond.high is not None
    assert within.high < beyond.high < 1.05 * within.high


def test_a_statement_with_other_buffers_may_be_off_by_the_square_of_what_is_beyond_the_tolerance() -> None:
    seen = carried(twin(statement("slow", 0.5), rough(0.5, 2.0)), blocks(slow=0.2, rough=1.0), touched=None)
    assert (seen.outside, seen.rough, seen.rough_share) == (0, 1, 0.5)
    assert seen.ratio == pytest.approx(0.6, rel=0.02)
    assert seen.low is not None and seen.high is not None
    beyond = 2.0 / TOLERANCE
    assert seen.low == pytest.approx(0.1 + 0.5 / beyond**2, rel=0.05)
    assert seen.high == pytest.approx(0.1 + 0.5 * beyond**2, rel=0.05)
    words = outside_words(seen)
    assert words is not None and "1 statement with 50 %" in words
    assert "the square of what is beyond" in sentence_of(transport_reason(seen))


@pytest.mark.parametrize("one", [rough(0.5, 4.5), rough(0.5, 1.2, same_plan=False)])
def test_a_statement_of_other_size_or_plan_is_not_reproduced(one: StatementFidelity) -> None:
    seen = carried(twin(statement("slow", 0.5), one), blocks(slow=0.2, rough=1.0), touched=None)
    assert (seen.outside, seen.rough) == (1, 0)


def test_no_statement_takes_more_than_ten_times_as_long_unless_it_was_seen_to() -> None:
    for ratio in (5.0, 20.0):
        seen = carried(twin(statement("s", 0.01), rough(0.99, 3.0)), blocks(s=1.0, rough=ratio), touched=None)
        assert seen.high == pytest.approx(max(ratio, OUTSIDE_MAX), rel=0.1)


def test_a_utility_statement_is_untouched_and_one_that_names_the_table_is_not() -> None:
    slow = statement("slow", 0.7)
    assert carried(twin(slow, omitted=0.3, reason="utility"), blocks(slow=0.2)).outside == 0
    assert carried(twin(slow, omitted=0.3, reason="utility"), blocks(slow=0.2), frozenset({"f"})).outside == 1


def test_a_statement_that_seldom_ran_has_no_ratio_and_a_missing_block_has_the_usual_one() -> None:
    seen = blocks(slow=0.1)
    rare = {"rare": PerCall(ms=1.0, buffers=1.0)}
    some = [
        BlockSeen(a={**one.a, **(rare if at < 4 else {})}, b={**one.b, **(rare if at < 4 else {})}, b_later=one.b_later)
        for at, one in enumerate(seen)
    ]
    fidelity = twin(statement("slow", 0.99), statement("rare", 0.01))
    assert carried(fidelity, some).outside == 0
    fewer = [one if at < 3 else seen[at] for at, one in enumerate(some)]
    assert carried(fidelity, fewer).outside == 1


def test_without_blocks_or_ratios_nothing_is_said() -> None:
    for fidelity, seen in ((twin(statement("s", 1.0)), []), (twin(statement("s", 1.0)), blocks(other=1.0))):
        assert transported(fidelity, seen, touched=None, null_zone=ZONE, fixed=True, by_server=True, sessions=1) is None
    few = carried(twin(statement("s", 1.0)), blocks(3, s=0.1))
    assert (few.word, few.low, few.high) == (CompareWord.INCONCLUSIVE, None, None)


@given(
    shares=st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6),
    ratios=st.lists(st.floats(0.01, 20.0), min_size=6, max_size=6),
    outside=st.floats(0.0, 0.5),
)
def test_the_ratio_is_a_weighted_mean_and_the_bounds_hold_what_is_outside(
    shares: list[float], ratios: list[float], outside: float
) -> None:
    named = {f"s{at}": ratio for at, ratio in zip(range(len(shares)), ratios, strict=False)}
    whole = sum(shares)
    fidelity = twin(
        *(statement(name, (1 - outside) * share / whole) for name, share in zip(named, shares, strict=True)),
        omitted=outside,
    )
    seen = carried(fidelity, blocks(**named))
    used = list(named.values())
    assert min([*used, 1.0]) * 0.97 <= seen.ratio <= max([*used, 1.0]) * 1.03
    assert seen.low is not None
    assert seen.high is not None
    assert seen.low <= seen.ratio * 1.0001
    assert seen.high >= seen.ratio * 0.9999
    mean = sum(share * ratio for share, ratio in zip(shares, used, strict=True)) / whole
    for truth in (0.0, 1.0, OUTSIDE_MAX):
        assert seen.low * 0.99 <= (1 - outside) * mean + outside * truth <= seen.high * 1.01


@pytest.mark.parametrize(
    ("statements", "tables"),
    [
        (["create index concurrently i on public.orders (x)"], {"orders"}),
        (["CREATE INDEX ON orders (x)", 'alter table only "Shop"."Line" alter x type int'], {"orders", "line"}),
        (["drop index i"], None),
        (["create index i on orders (x)", "vacuum full orders"], None),
        ([], set()),
    ],
)
def test_the_tables_that_a_change_touches(statements: list[str], tables: set[str] | None) -> None:
    assert touched_tables(statements) == (frozenset(tables) if tables is not None else None)


def test_it_is_said_of_the_original_and_the_throughput_of_its_loop() -> None:
    seen = carried(twin(statement("slow", 0.95), omitted=0.01, judges=False), blocks(slow=0.05))
    assert server_time_words(seen).startswith("b takes 0.0")
    assert "the server time of a for the original's workload, 95 % CI" in server_time_words(seen)
    assert "its commits" not in sentence_of(transport_reason(seen))
    assert "1 statement with 1 % of the time" in sentence_of(transport_reason(seen))
    assert closed_loop_words(seen, None) is None

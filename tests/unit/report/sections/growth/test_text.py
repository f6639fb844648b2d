"""The words of a growth."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from fixtures.growth import shop_growth
from pgclinic.model.grow import GrowthInterval, PlanChange, WorkingSet
from pgclinic.report.sections.growth.text import (
    difference_words,
    exponent_words,
    factor,
    growing_statement,
    growth_sentence,
    law_words,
    memory_words,
    short,
    time_rows,
    trust_words,
)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (14.2, "14x"),
        (1.31, "1.3x"),
        (0.894, "0.89x"),
        (1234.0, "1,200x"),
        (9.96, "10x"),
        (0.0123, "0.012x"),
        (0.0, "0x"),
    ],
)
def test_a_factor_has_two_digits(value: float, said: str) -> None:
    assert factor(value) == said


def test_the_answer_names_the_whole_and_the_first_statement() -> None:
    said = growth_sentence(shop_growth())
    assert said.startswith("at 10x the rows the server needs ")
    # One factor with its interval and one share: what they are made of has rows of its own.
    assert len(re.findall(r"\d[\d,.]*(?:x| %)", said.partition(": ")[0])) == 4
    assert time_rows(shop_growth())[0].startswith("10x the calls, each ")
    assert "select status, count(*) from orders group by status" in said


def test_what_does_not_grow_is_said_so() -> None:
    lookup = next(one for one in shop_growth().statements if one.query_id == 1)
    assert law_words(lookup.time) == "whose time per call does not grow"
    assert exponent_words(GrowthInterval(value=-0.001, low=-0.2, high=0.2)) == "0.00 (-0.20 to 0.20)"


def test_a_long_statement_is_cut() -> None:
    assert short("select  1\n from x") == "select 1 from x"
    assert len(short("x " * 100, 40)) <= 40


def test_when_the_buffers_are_outgrown() -> None:
    found = shop_growth()
    assert found.working_set is not None
    seen = WorkingSet(
        now_bytes=2e8,
        at_to_bytes=2e9,
        shared_buffers_bytes=2.0**27,
        memory_bytes=2.0**30,
        leaves_buffers_at=0.6,
        leaves_memory_at=5.0,
    )
    words = " ".join(memory_words(replace(found, working_set=seen)))
    assert "larger than shared_buffers (128MB) already" in words
    assert "outgrow the memory (1GB) at 5x" in words


def test_an_extrapolation_is_called_one() -> None:
    found = shop_growth()
    assert any("extrapolated" in words for words in trust_words(found))
    assert not any("extrapolated" in words for words in trust_words(replace(found, to=3.0)))


def test_next_comes_the_statement_that_grows() -> None:
    first = growing_statement(shop_growth())
    assert first is not None and "select status" in first.text
    lookup = [one for one in shop_growth().statements if one.query_id == 1]
    assert growing_statement(replace(shop_growth(), statements=tuple(lookup))) is None


def test_a_plan_change_names_the_nodes_that_differ() -> None:
    change = PlanChange(
        before_size=2.0,
        size=4.0,
        before="Limit(Bitmap Heap Scan customer(Bitmap Index Scan customer_city_idx))",
        after="Limit(Seq Scan customer)",
    )
    said = difference_words(change)
    assert said == "without Bitmap Heap Scan customer, Bitmap Index Scan customer_city_idx; with Seq Scan customer"
    turned = PlanChange(
        before_size=2.0, size=4.0, before="Hash Join(Seq Scan a, Seq Scan b)", after="Hash Join(Seq Scan b, Seq Scan a)"
    )
    assert difference_words(turned) == f"{turned.before} -> {turned.after}"

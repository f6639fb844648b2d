"""What masks keep and what they never keep, for any values."""

from __future__ import annotations

import json
import re
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st

from pgclinic.twin.composite_values import JsonPart, change_array, change_json, change_range, change_record
from pgclinic.twin.monotone import move_addresses, move_numbers, move_times
from pgclinic.twin.text_mask import mask_texts, trie_mask

TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=12)
SEEDS = st.integers(0, 2**32)


def form(text: str) -> str:
    """Classes of characters, with punctuation as it is."""
    return re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", re.sub(r"[0-9]", "0", text)))


@given(st.sets(TEXTS, min_size=1, max_size=60), SEEDS)
def test_a_trie_keeps_order_length_form_and_prefixes(values: set[str], seed: int) -> None:
    ordered = sorted(values)
    masked = trie_mask(ordered, (), Random(seed))
    assert set(masked) == values
    assert len(set(masked.values())) == len(values)
    for old, new in masked.items():
        assert len(old) == len(new)
        assert form(old) == form(new) or not old.isascii()
    for one in ordered:
        for other in ordered:
            length = next(
                (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
            )
            assert masked[one][:length] == masked[other][:length]


@given(st.sets(st.text("abcxyzABC019 -", min_size=1, max_size=10), min_size=1, max_size=60), SEEDS)
def test_a_trie_keeps_the_order_of_bytes(values: set[str], seed: int) -> None:
    ordered = sorted(values)
    masked = trie_mask(ordered, (), Random(seed))
    assert [masked[value] for value in ordered] == sorted(masked.values())


@given(st.sets(st.text("abcdefgh", min_size=4, max_size=10), min_size=1, max_size=60), SEEDS, st.data())
def test_no_value_comes_out_but_constants_of_the_schema(values: set[str], seed: int, data: st.DataObject) -> None:
    kept = data.draw(st.sets(st.sampled_from(sorted(values)), max_size=3))
    masked, _ = mask_texts(values, kept, Random(seed))
    assert set(masked) == values
    for old, new in masked.items():
        assert (old == new) == (old in kept)
    assert not (set(masked.values()) - kept) & values


@given(st.sets(st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=2, max_size=2), min_size=2, max_size=200), SEEDS)
def test_dense_codes_become_other_codes(values: set[str], seed: int) -> None:
    masked, are_codes = mask_texts(values, (), Random(seed))
    assert are_codes
    assert not set(masked.values()) & values
    assert len(set(masked.values())) == len(values)
    assert {form(new) for new in masked.values()} == {"AA"}


@given(st.sets(st.decimals(-10_000, 10_000, places=2), min_size=1, max_size=80), SEEDS)
def test_numbers_keep_their_order_and_sign(numbers: set[Decimal], seed: int) -> None:
    values = {format(number, "f"): number for number in numbers}
    moved = {old: Decimal(new) for old, new in move_numbers(values, (), Random(seed)).items()}
    ordered = sorted(values, key=lambda text: (values[text], text))
    for one, other in pairwise(ordered):
        assert (values[one] < values[other]) == (moved[one] < moved[other])
    for old, number in values.items():
        assert (number > 0, number < 0) == (moved[old] > 0, moved[old] < 0)
        assert -moved[old].as_tuple().exponent <= 2  # type: ignore[operator]


@given(st.sets(st.integers(-1000, 1000), min_size=2, max_size=50), st.sets(st.integers(-1000, 1000), max_size=3), SEEDS)
def test_numbers_stay_on_their_side_of_the_schema_s_constants(numbers: set[int], bounds: set[int], seed: int) -> None:
    moved = move_numbers([str(number) for number in numbers], [str(one) for one in bounds], Random(seed))
    for old, new in moved.items():
        for bound in bounds:
            assert (int(old) < bound, int(old) > bound) == (int(new) < bound, int(new) > bound)
        assert (
            (int(new) != int(old) and int(new) not in numbers)
            or any(abs(other - int(old)) <= 2 for other in (numbers | bounds | {0}) - {int(old)})
            or int(old) in bounds | {0}
            or int(old) in (min(numbers), max(numbers))
        )


@given(st.sets(st.dates(date(1900, 1, 1), date(2100, 1, 1)), min_size=2, max_size=50), SEEDS)
def test_dates_keep_their_order(days: set[date], seed: int) -> None:
    moved = move_times([day.isoformat() for day in days], (), Random(seed))
    ordered = sorted(moved)
    assert [date.fromisoformat(moved[text]) for text in ordered] == sorted(map(date.fromisoformat, moved.values()))
    assert min(moved.values()) >= min(moved) and max(moved.values()) <= max(moved)


@given(st.sets(st.datetimes(), min_size=1, max_size=20), SEEDS, st.booleans())
def test_moved_times_are_printed_as_they_were(moments: set, seed: int, zone: bool) -> None:  # type: ignore[type-arg]
    texts = [f"{moment.isoformat(' ')}{'+00' if zone else ''}" for moment in moments]
    for old, new in move_times(texts, (), Random(seed)).items():
        assert new.endswith("+00") == zone
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?(\+00)?", new), (old, new)


@given(st.sets(st.ip_addresses(v=4), min_size=2, max_size=20), SEEDS)
def test_addresses_stay_addresses(addresses: set, seed: int) -> None:  # type: ignore[type-arg]
    moved = move_addresses([str(address) for address in addresses], Random(seed))
    assert set(moved) == {str(address) for address in addresses}
    assert len(set(moved.values())) == len(addresses)


@given(st.lists(st.one_of(st.none(), st.text(max_size=8).filter(lambda text: "\0" not in text)), max_size=6))
def test_an_array_is_put_together_as_it_was(elements: list[str | None]) -> None:
    text = "{" + ",".join("NULL" if one is None else _quoted(one) for one in elements) + "}"
    seen: list[str] = []

    def see(element: str) -> str:
        seen.append(element)
        return element

    again = change_array(text, see)
    assert seen == [one for one in elements if one is not None]
    assert change_array(again, lambda element: element) == again


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(
    st.lists(st.one_of(st.none(), st.text(max_size=8).filter(lambda text: "\0" not in text)), min_size=2, max_size=5)
)
def test_a_composite_value_is_put_together_as_it_was(fields: list[str | None]) -> None:
    doubled = ["" if one is None else '"' + one.replace("\\", "\\\\").replace('"', '""') + '"' for one in fields]
    seen: dict[int, str] = {}

    def see(number: int, field: str) -> str:
        seen[number] = field
        return field

    again = change_record(f"({','.join(doubled)})", see)
    assert seen == {number: one for number, one in enumerate(fields) if one is not None}
    assert change_record(again, lambda _, field: field) == again


@given(st.tuples(st.sampled_from("[("), st.integers(), st.integers(), st.sampled_from(")]")))
def test_bounds_of_a_range_are_changed(parts: tuple[str, int, int, str]) -> None:
    start, low, high, end = parts
    assert (
        change_range(f"{start}{low},{high}{end}", lambda bound: str(int(bound) + 1))
        == f"{start}{low + 1},{high + 1}{end}"
    )
    assert change_range(f"{start},{high}{end}", lambda bound: "x y") == f'{start},"x y"{end}'


CHANGED = {JsonPart.NUMBER: "7", JsonPart.STRING: "secret"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_json_keeps_its_keys_and_its_form(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assume("\\u" not in text)
    assert json.loads(change_json(text, lambda part, path, scalar: scalar)) == value
    masked = json.loads(change_json(text, lambda part, path, scalar: CHANGED.get(part, scalar)))
    assert shape(masked) == shape(value)


def shape(value: object) -> object:
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return value if isinstance(value, bool) or value is None else type(value).__name__


def test_a_week_of_days_cannot_be_moved_and_stays() -> None:
    week = [(date(2024, 1, 1) + timedelta(days=day)).isoformat() for day in range(7)]
    assert move_times(week, (), Random(1)) == {day: day for day in week}

"""Which constants of a schema keep a value as it is."""

from __future__ import annotations

from random import Random

import pytest

from pgclinic.twin.schema_literals import literals
from pgclinic.twin.text_mask import mask_texts


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("check (state = any (array['new'::text, 'it''s']))", {"new", "it's"}),
        ("create index i on t (a) where code like 'AB%'", {"AB%", "AB"}),
        ("check (phone ~ '^\\+49 [0-9]+$')", {"^\\+49 [0-9]+$", "+49 ", "^"}),
        ("check (path ~ '^ab*')", {"^ab*", "a"}),
        ("check (value ~ '^[A-Z]{2}')", {"^[A-Z]{2}"}),
        ("a numeric(12,2) check (a < 100000 and b >= 1.5)", {"100000", "1.5"}),
        ("create table t2 (x varchar(10) default '7')", {"7"}),
    ],
)
def test_literals(statement: str, found: set[str]) -> None:
    assert literals(statement) == found


def test_a_prefix_that_a_check_demands_is_kept() -> None:
    masked, _ = mask_texts({"+49 12345", "+49 99887"}, literals("check (phone ~ '^\\+49 [0-9]+$')"), Random(1))
    assert all(value.startswith("+49 ") for value in masked.values())
    assert not set(masked.values()) & set(masked)

"""In which branches of PostgreSQL a setting exists."""

from __future__ import annotations

import pytest

from pgclinic.settings.history import setting_history, where_it_exists


@pytest.mark.parametrize(
    ("name", "version", "where"),
    [
        ("io_method", "17.2", "io_method exists from PostgreSQL 18 on"),
        ("db_user_namespace", "17.2", "db_user_namespace exists up to PostgreSQL 16"),
        # A branch that has it, but not this minor release; and one that nobody has recorded.
        ("io_method", "18.0", "io_method came to PostgreSQL 18 in a later minor release"),
        ("io_method", "19beta1", "io_method exists from PostgreSQL 18 on"),
        ("work_mem", "18.0", None),
        ("work_mme", "18.0", None),
    ],
)
def test_a_version_that_lacks_it_leads_to_those_that_have_it(name: str, version: str, where: str | None) -> None:
    assert where_it_exists(name, version) == where


def test_a_span_with_two_ends_names_both() -> None:
    bounded = {name: span for name, span in setting_history().settings.items() if span.since and span.until}
    assert bounded
    for name, span in bounded.items():
        until = "only" if span.since == span.until else f"to {span.until}"
        joined = f"in PostgreSQL {span.since} {until}"
        assert where_it_exists(name, "9.6.1") == f"{name} exists {joined}"

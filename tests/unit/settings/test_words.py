"""``--set NAME=VALUE``."""

from __future__ import annotations

import pytest

from pgclinic.errors import UsageError
from pgclinic.settings.words import parse_settings


def test_the_value_is_what_follows_the_first_equals_sign() -> None:
    given = ["search_path= a, b ", "primary_conninfo=host=x port=1", "log_line_prefix=", " Work_Mem =64MB"]
    assert parse_settings(given) == {
        "search_path": "a, b",
        "primary_conninfo": "host=x port=1",
        "log_line_prefix": "",
        "work_mem": "64MB",
    }
    assert parse_settings([]) == {}


@pytest.mark.parametrize("word", ["work_mem", "=64MB", " =64MB", ""])
def test_a_word_without_name_or_value_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="is not NAME=VALUE"):
        parse_settings([word])

"""Arguments and schemas as the protocol has them."""

from __future__ import annotations

import pytest

from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.mcp_server.server import object_schema, read_arguments
from pgclinic.model.tool_answer import CheckupAsked, FindingsAnswer, RunsAsked


def test_arguments_make_a_record() -> None:
    assert read_arguments(RunsAsked, {"limit": 5}) == RunsAsked(limit=5)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"kind": ["bench"]}, "kind"),
    ],
)
def test_values_of_another_type_are_refused_by_their_name(arguments: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        read_arguments(RunsAsked, arguments)


def test_a_missing_and_an_unknown_argument() -> None:
    with pytest.raises(UsageError, match="service"):
        read_arguments(CheckupAsked, {})
    with pytest.raises(UnknownNameError) as refused:
        read_arguments(CheckupAsked, {"service": "shop", "dsn": "x", "observ": "5s"})
    assert refused.value.name == "dsn"


def test_the_root_of_a_schema_is_the_object_itself() -> None:
    schema = object_schema(FindingsAnswer)
    assert schema["type"] == "object" and "untrusted" in schema["properties"]
    assert "FindingLine" in schema["$defs"] and "FindingsAnswer" not in schema["$defs"]

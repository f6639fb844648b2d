"""Names of settings: PostgreSQL reads them in any case."""

from __future__ import annotations

import pytest

from pgclinic.errors import SettingError, UsageError
from pgclinic.settings.conf_file import parse_conf
from pgclinic.settings.names import canonical_name, canonical_names, current_name
from pgclinic.settings.words import parse_settings


@pytest.mark.parametrize(
    ("given", "canonical"),
    [("Shared_Buffers", "shared_buffers"), ("TIMEZONE", "TimeZone"), ("datestyle", "DateStyle"), ("My.Own", "my.own")],
)
def test_a_name_is_as_pg_settings_has_it(given: str, canonical: str) -> None:
    assert canonical_name(given) == canonical
    assert parse_settings([f"{given}=1"]) == {canonical: "1"}
    assert parse_conf(f"{given} = 1\n", "a.conf").settings == {canonical: "1"}


def test_a_setting_in_two_cases_is_given_twice() -> None:
    with pytest.raises(SettingError, match="work_mem is given twice"):
        canonical_names({"work_mem": "1MB", "Work_Mem": "2MB"})
    with pytest.raises(UsageError, match="given twice"):
        parse_settings(["work_mem=1MB", "WORK_MEM=2MB"])
    assert parse_conf("work_mem = 1MB\nWork_Mem = 2MB\n", "a.conf").settings == {"work_mem": "2MB"}


def test_former_names_are_those_of_the_version() -> None:
    assert current_name("Force_Parallel_Mode", 16) == "debug_parallel_query"
    assert current_name("force_parallel_mode", 15) == "force_parallel_mode"
    assert current_name("sort_mem", 13) == "work_mem"

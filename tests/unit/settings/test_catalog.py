"""Settings are checked against a catalog before any server sees them."""

from __future__ import annotations

import pytest

from pgclinic.errors import SettingError, UnknownNameError
from pgclinic.settings.catalog import Setting, SettingsCatalog, checked_settings


def setting(name: str, vartype: str, **more: object) -> Setting:
    return Setting(**{"name": name, "vartype": vartype, "context": "user", "category": "Test", **more})  # type: ignore[arg-type]


CATALOG = SettingsCatalog(
    version="18.6",
    major=18,
    settings=(
        setting("work_mem", "integer", unit="kB", min_val="64", max_val="2147483647"),
        setting("shared_buffers", "integer", unit="8kB", min_val="16", max_val="1073741823"),
        setting("random_page_cost", "real", min_val="0", max_val="1.79769e+308"),
        setting("wal_level", "enum", enumvals=("minimal", "replica", "logical")),
        setting("synchronous_commit", "enum", enumvals=("local", "remote_write", "remote_apply", "on", "off")),
        setting("fsync", "bool"),
        setting("block_size", "integer", context="internal", setting="8192", min_val="8192", max_val="8192"),
        setting("DateStyle", "string"),
        setting("debug_parallel_query", "enum", enumvals=("off", "on", "regress")),
        setting("log_min_duration_statement", "integer", unit="ms", min_val="-1", max_val="2147483647"),
    ),
)


def check(**settings: str) -> dict[str, str]:
    return checked_settings(CATALOG, settings)


def test_good_settings_keep_their_text_and_get_their_catalog_name() -> None:
    assert check(WORK_MEM="64kB", datestyle="ISO", random_page_cost="1e300") == {
        "work_mem": "64kB",
        "DateStyle": "ISO",
        "random_page_cost": "1e300",
    }


def test_minus_one_is_allowed_where_the_range_says_so() -> None:
    assert check(log_min_duration_statement="-1")


def test_a_name_with_a_dot_belongs_to_an_extension() -> None:
    assert checked_settings(CATALOG, {"auto_explain.log_min_duration": "0"})


def test_former_names_mean_the_present_setting() -> None:
    assert check(force_parallel_mode="on") == {"debug_parallel_query": "on"}


def test_an_unknown_name_leads_to_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"PostgreSQL 18.6: unknown setting 'work_mme'") as caught:
        check(work_mme="1MB")
    assert caught.value.hint == "did you mean work_mem?"


@pytest.mark.parametrize(
    ("name", "version", "where"),
    [
        ("io_method", "13.3", "io_method exists from PostgreSQL 18 on"),
        ("IO_Method", "17.6", "IO_Method exists from PostgreSQL 18 on"),
        ("stats_temp_directory", "18.6", "stats_temp_directory exists up to PostgreSQL 14"),
        ("allow_in_place_tablespaces", "13.3", "allow_in_place_tablespaces came to PostgreSQL 13 in a later minor"),
    ],
)
def test_a_setting_of_another_version_says_which(name: str, version: str, where: str) -> None:
    catalog = SettingsCatalog(version=version, major=int(version.split(".", maxsplit=1)[0]), settings=CATALOG.settings)
    with pytest.raises(SettingError, match=rf"PostgreSQL {version} has no setting {name}") as caught:
        checked_settings(catalog, {name: "on"})
    assert (caught.value.hint or "").startswith(where)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("work_mem", "32kB", r"work_mem = '32kB': it is outside 64kB to .*base unit kB"),
        ("shared_buffers", "64kB", r"outside 128kB to"),
        ("work_mem", "4XB", r"'XB' is not a unit, units are B, kB, MB, GB, TB"),
        ("random_page_cost", "-1", r"outside 0 to"),
        ("random_page_cost", "inf", r"outside 0 to"),
        ("fsync", "maybe", r"it is on or off"),
        ("block_size", "8192", r"cannot be set"),
        ("fsync", "o\0n", r"null byte"),
    ],
)
def test_refused_values_are_named_with_the_reason(name: str, value: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        check(**{name: value})


def test_a_wrong_word_leads_to_the_nearest() -> None:
    with pytest.raises(UnknownNameError) as caught:
        check(wal_level="logicall")
    assert caught.value.hint == "did you mean logical?"


@pytest.mark.parametrize(
    ("name", "value"), [("synchronous_commit", "true"), ("wal_level", "hot_standby"), ("wal_level", "Minimal")]
)
def test_words_that_are_listed_nowhere_but_work(name: str, value: str) -> None:
    assert check(**{name: value}) == {name: value}


def test_one_setting_under_two_spellings_is_refused() -> None:
    with pytest.raises(SettingError, match="given twice"):
        check(work_mem="64kB", WORK_MEM="128kB")

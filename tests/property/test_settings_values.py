"""Our reading of values against the judgement of real servers, on thousands of generated spellings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fixtures.lab_home import binaries_for, temporary_home
from pgclinic.errors import SettingError, UnknownNameError
from pgclinic.lab.cluster import settings_catalog
from pgclinic.lab.instance import start_server
from pgclinic.pg.connect import Connection, connect
from pgclinic.settings.catalog import Setting, SettingsCatalog, checked_settings
from pgclinic.settings.conf_file import quoted
from pgclinic.settings.history import setting_history
from pgclinic.settings.values import parse_bool, parse_integer, parse_real

EXAMPLES = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

# One setting for every type and unit, free of checks beyond type and range, and of effect on the question itself.
NUMBERS = {
    18: (
        "work_mem",
        "temp_buffers",
        "lock_timeout",
        "random_page_cost",
        "join_collapse_limit",
        "vacuum_cost_delay",
    ),
    13: (
        "work_mem",
        "temp_buffers",
        "lock_timeout",
        "random_page_cost",
        "join_collapse_limit",
        "vacuum_cost_delay",
    ),
}
WORDS = ("enable_seqscan", "synchronous_commit", "bytea_output", "constraint_exclusion", "client_min_messages")

digits = st.sampled_from(
    ["0", "1", "7", "08", "010", "0x1F", "0X", "42", "64", "1.5", ".5", "1.", "1e2", "1e400", "2.5e-3"]
)
numbers = st.one_of(
    digits,
    st.integers(-(2**33), 2**33).map(str),
    st.floats(allow_nan=True, allow_infinity=True).map(repr),
    st.decimals(-10_000, 10_000, places=3, allow_nan=False).map(str),
    st.text("0123456789.eExX+-", max_size=6),
)
units = st.sampled_from(
    ["", "B", "kB", "KB", "MB", "GB", "TB", "us", "ms", "s", "min", "h", "d", "m", "sec", "kBB", "%"]
)
blanks = st.sampled_from(["", "", "", " ", "\t", "  "])
numeric_texts = st.tuples(blanks, st.sampled_from(["", "", "-", "+"]), numbers, blanks, units, blanks).map("".join)
word_texts = st.one_of(
    st.sampled_from(
        ["on", "off", "o", "of", "true", "T", "tr", "YES", "no", "n", "1", "0", "2", "", " on", "local", "Escape"]
    ),
    st.sampled_from(["partition", "debug", "debug1", "notice", "remote_apply", "hex", "fatal", "info", "warningg"]),
    st.text("onftrueyslai01", max_size=5),
)


class Judge:
    """A running server that says whether it takes a value, and what it makes of it."""

    def __init__(self, connection: Connection, catalog: SettingsCatalog) -> None:
        self.connection = connection
        self.catalog = catalog

    def verdict(self, name: str, text: str) -> str | None:
        """The value in units of pg_settings, None when the server refuses."""
        try:
            with self.connection.transaction(force_rollback=True):
                self.connection.execute("select set_config(%s, %s, true)", (name, text))
                row = self.connection.execute("select setting from pg_settings where name = %s", (name,)).fetchone()
        except psycopg.Error as error:
            assert error.sqlstate in ("22023", "22003"), error
            return None
        assert row is not None
        return str(row[0])

    def setting(self, name: str) -> Setting:
        found = self.catalog.find(name)
        assert found is not None
        return found


@pytest.fixture(scope="module", params=["18", "13"])
def judge(request: pytest.FixtureRequest) -> Iterator[Judge]:
    binaries = binaries_for(request.param)
    with (
        temporary_home(),
        start_server(binaries, settings={"autovacuum": "off"}) as running,
        connect(running.server, users_search_path=True) as connection,
    ):
        yield Judge(connection, settings_catalog(binaries))


def ours(judge: Judge, name: str, text: str) -> bool:
    try:
        checked_settings(judge.catalog, {name: text})
    except (SettingError, UnknownNameError):
        return False
    return True


@example(name="lock_timeout", text="1.797693134862316e+305ms")
@example(name="work_mem", text=" .5MB")
@example(name="work_mem", text=".5MB")
@given(name=st.sampled_from(NUMBERS[18]), text=numeric_texts)
@EXAMPLES
def test_numbers_are_read_as_the_server_reads_them(judge: Judge, name: str, text: str) -> None:
    theirs, setting = judge.verdict(name, text), judge.setting(name)
    assert ours(judge, name, text) == (theirs is not None)
    if theirs is not None:
        major = judge.catalog.major
        if setting.vartype == "integer":
            assert parse_integer(text, setting.unit, major) == int(theirs)
        else:
            # pg_settings shows six digits
            assert parse_real(text, setting.unit, major) == pytest.approx(float(theirs), rel=1e-5)


@given(name=st.sampled_from(WORDS), text=word_texts)
@EXAMPLES
def test_words_are_read_as_the_server_reads_them(judge: Judge, name: str, text: str) -> None:
    theirs = judge.verdict(name, text)
    assert ours(judge, name, text) == (theirs is not None)
    if theirs is not None and judge.setting(name).vartype == "bool":
        assert parse_bool(text) == (theirs == "on")


@given(text=st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=60))
@EXAMPLES
def test_any_text_survives_the_configuration_file(judge: Judge, text: str) -> None:
    """The server reads its file when it is asked to show it."""
    row = judge.connection.execute("show config_file").fetchone()
    assert row is not None
    file = Path(row[0])
    before = file.read_bytes()
    file.write_bytes(before + f"test.value = {quoted(text)}\n".encode())
    try:
        read = judge.connection.execute(
            "select setting from pg_file_settings where name = 'test.value' and error is null"
        ).fetchall()
    finally:
        file.write_bytes(before)
    assert read == [(text,)]


def test_every_default_passes_our_own_check(judge: Judge) -> None:
    """What a version starts with cannot be wrong: all settings it shows are accepted as they are shown."""
    for setting in judge.catalog.settings:
        if setting.context != "internal" and setting.boot_val is not None:
            assert ours(judge, setting.name, setting.boot_val), setting


@pytest.mark.parametrize("branch", ["13", "14", "17", "18"])
def test_the_history_of_settings_agrees_with_the_servers_own_settings(branch: str) -> None:
    history = setting_history()
    places = {one: at for at, one in enumerate(history.branches)}
    names = {setting.name.lower() for setting in settings_catalog(binaries_for(branch)).settings}
    for name, span in history.settings.items():
        first, last = places[span.since or history.branches[0]], places[span.until or history.branches[-1]]
        assert (name in names) == (first <= places[branch] <= last), name

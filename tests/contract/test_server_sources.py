"""What every source of servers promises, on all of them: embedded, Maven, installed, attached."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.lab_home import binaries_for
from pgclinic.errors import UsageError
from pgclinic.lab.instance import start_server
from pgclinic.lab.reaper import processes_of
from pgclinic.lab.sources import AttachedSource, ServerSource, find_source
from pgclinic.model.version import version_of_number
from pgclinic.pg.connect import connect
from pgclinic.pg.dsn import dsn_of

pytestmark = pytest.mark.usefixtures("fresh_home")

STARTING = ("embedded", "maven", "bindir")


@contextmanager
def source_of(kind: str) -> Iterator[ServerSource]:
    """A source of that kind, with a running server where it needs one."""
    if kind == "embedded":
        yield find_source()
    elif kind == "maven":
        yield find_source("14")
    elif kind == "bindir":
        yield find_source(bindir=binaries_for("13").bindir)
    else:
        with start_server(binaries_for("18"), settings={}) as somebody:
            yield AttachedSource(dsn_of(somebody.server))
            assert somebody.is_alive(), "an attached server is never stopped"


@pytest.fixture(params=[*STARTING, "attached"])
def source(request: pytest.FixtureRequest) -> Iterator[ServerSource]:
    with source_of(request.param) as made:
        assert made.kind == request.param
        yield made


@pytest.fixture(params=STARTING)
def starting_source(request: pytest.FixtureRequest) -> Iterator[ServerSource]:
    with source_of(request.param) as made:
        yield made


def test_an_open_server_answers_and_is_what_it_says(source: ServerSource) -> None:
    with source.open({}) as handle:
        server = handle.server
        assert server.source == source.kind
        assert handle.is_alive()
        with connect(server, secrets=handle.secrets, users_search_path=True) as connection:
            number = connection.execute("select current_setting('server_version_num')::int").fetchone()
        assert number == (server.version_num,)
        assert server.version == str(version_of_number(server.version_num))


def test_a_server_never_carries_a_secret(source: ServerSource) -> None:
    with source.open({}) as handle:
        assert not {"password", "sslpassword"} & set(handle.server.parameters)


def test_a_started_server_is_gone_afterwards(starting_source: ServerSource) -> None:
    with starting_source.open({}) as handle:
        data_dir = Path(handle.server.data_dir or "")
        assert processes_of(data_dir)
    assert not data_dir.exists()
    assert processes_of(data_dir) == ()
    assert not handle.is_alive()


def test_a_started_server_has_the_settings_asked_for(starting_source: ServerSource) -> None:
    with (
        starting_source.open({"work_mem": "123kB"}) as handle,
        connect(handle.server, users_search_path=True) as connection,
    ):
        assert connection.execute("show work_mem").fetchone() == ("123kB",)


def test_two_servers_of_one_source_do_not_meet(starting_source: ServerSource) -> None:
    with starting_source.open({}) as one, starting_source.open({}) as other:
        with connect(one.server, users_search_path=True) as connection:
            connection.execute("create table only_here ()")
        with connect(other.server, users_search_path=True) as connection:
            assert connection.execute("select to_regclass('only_here')").fetchone() == (None,)


def test_an_attached_server_keeps_its_settings() -> None:
    with source_of("attached") as source, pytest.raises(UsageError, match=r"are not changed \(work_mem\)"):
        source.open({"work_mem": "64kB"})


def test_an_attached_server_has_no_process_of_ours() -> None:
    with source_of("attached") as source, source.open({}) as handle:
        assert (handle.server.pid, handle.server.data_dir, handle.server.log_path) == (None, None, None)


@pytest.mark.parametrize(
    "dsn",
    [
        "host=/nowhere user=postgres password=s3cret",
        "postgresql://postgres:s3cret@127.0.0.1:1/postgres",
        "postgresql://postgres:s3cret@127.0.0.1:notaport/postgres",
        "host=nosuchhost.invalid user=postgres password=s3cret",
    ],
)
def test_an_unreachable_server_is_a_clear_error_without_secrets(dsn: str) -> None:
    with pytest.raises(UsageError) as caught:
        AttachedSource(dsn).open({})
    assert caught.value.exit_code == 1
    assert "s3cret" not in str(caught.value)


def test_a_directory_without_programs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no initdb and no postgres"):
        find_source(bindir=tmp_path).ensure()


def test_the_directory_above_is_a_common_mistake() -> None:
    bindir = binaries_for("13").bindir
    with pytest.raises(UsageError) as caught:
        find_source(bindir=bindir.parent).ensure()
    assert caught.value.hint == f"did you mean {bindir}?"


def test_a_version_and_a_directory_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="mutually exclusive"):
        find_source("13", binaries_for("13").bindir)


def test_the_embedded_release_is_chosen_by_branch_and_by_release() -> None:
    release = find_source().version
    assert [find_source(wish).kind for wish in (release, release.partition(".")[0])] == ["embedded", "embedded"]
    assert find_source("18.1").kind == "maven"

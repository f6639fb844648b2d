"""Scripts are parsed by a real server before anything is measured: what is certain to fail, and what must pass."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.lab_home import binaries_for
from pgclinic.errors import UsageError
from pgclinic.lab.instance import start_server
from pgclinic.load.engine import builtin_scripts
from pgclinic.model.load import Protocol, Script
from pgclinic.pg.session import Access, Session
from pgclinic.study.read import read_study, shipped_studies
from pgclinic.trial.script_check import check_scripts

FILL = """
create table counters (id int primary key, cnt bigint);
create table pgbench_accounts (aid int primary key, bid int, abalance int, filler char(84));
create table pgbench_branches (bid int primary key, bbalance int, filler char(88));
create table pgbench_tellers (tid int primary key, bid int, tbalance int, filler char(84));
create table pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
create function make_table() returns void language plpgsql as $$ begin create temp table made (id int); end $$;
"""


@pytest.fixture(scope="module", params=["18", "9.6"])
def access(request: pytest.FixtureRequest) -> Iterator[Access]:
    with start_server(binaries_for(request.param), settings={"fsync": "off"}) as running:
        access = Access(running.server)
        with Session(access, statement_timeout_ms=60_000, application_name="test", users_search_path=True) as session:
            session.execute(FILL)
        yield access


def check(access: Access, text: str, protocol: Protocol = Protocol.SIMPLE, others: tuple[str, ...] = ()) -> None:
    check_scripts(access, (Script(name="mine", text=text),), protocol, others)


@pytest.mark.parametrize("protocol", [Protocol.SIMPLE, Protocol.PREPARED])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\\set id 1\nselct cnt from counters where id = :id;\n", "line 2: syntax error at or near \"selct\" (42601)"),
        ("select 1;\n\nselect cnt from countres where id = 1;\n", 'line 3: relation "countres" does not exist (42P01)'),
        ("\\set id 1\nselect cnt from countres where id = :id;\n", 'line 2: relation "countres" does not exist'),
        ("\\set id 1\nupdate counters set cnt = :id from nowhere;\n", 'line 2: relation "nowhere" does not exist'),
        ("begin;\nselect cntt from counters;\nend;\n", 'line 2: column "cntt" does not exist (42703)'),
        ("select nothing_like_this(1);\n", "line 1: function nothing_like_this(integer) does not exist (42883)"),
        ("create tabel x (id int);\n", 'line 1: syntax error at or near "tabel" (42601)'),
    ],
)  # fmt: skip
def test_what_can_only_fail_is_named(access: Access, protocol: Protocol, text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        check(access, text, protocol)
    assert caught.value.message.startswith("script mine, ")
    assert words in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        "\\set n 3\nselect * from pgbench_:n;\n",
        "\\set n 3\nselect * from counters_:n where id = :n;\n",
        "\\set id 1\nselect cnt from counters where id = ':id';\n",
        "\\set n 10\nselect cnt from counters limit :n;\nselect interval ':n s';\n",
        "select cnt :what from counters;\n",
        "select :columns from counters where :condition order by id :direction;\n",
        "\\set f 1\nselect :f (3);\n",
        "create temp table mine (id int) on commit drop;\nselect id from mine;\n",
        "select 1 as id into mine;\nselect id from mine;\ndrop table mine;\n",
        "drop table if exists a;\ncreate table a (id int);\ninsert into a values (1);\n",
        "select make_table();\nselect id from made;\n",
        "do $$ begin create temp table made (id int); end $$;\nselect id from made;\n",
        "set search_path to elsewhere;\nselect * from there;\n",
        "\\set v 1\n\\if :v > 2\nselect from the_future where selct;\n\\endif\nselect 1;\n",
        "select 1 as one, 2 as two \\gset p_\nselect :p_one + :p_two;\n",
        "select 1 \\; select 2;\n",
        "vacuum counters;\nexplain select 1;\nlock table counters;\n",
        "\\shell psql -c 'create table other (id int)'\nselect id from other;\n",
        ":statement;\n",
    ],
)
def test_what_may_work_is_left_to_the_first_trial(access: Access, text: str) -> None:
    """A check that finds something raises."""
    check(access, text)


def test_what_a_condition_makes_is_there(access: Access) -> None:
    """A check that finds something raises."""
    check(access, "select id from made_meanwhile;\n", others=("create table made_meanwhile (id int)",))


@pytest.mark.parametrize("protocol", list(Protocol))
def test_builtin_scripts_pass(access: Access, protocol: Protocol) -> None:
    """A check that finds something raises."""
    for script in builtin_scripts():
        check(access, script.text, protocol)


def test_nothing_is_executed(access: Access) -> None:
    check(access, "insert into counters values (1, 1);\ndrop table counters;\nselect pg_sleep(100);\n")
    with Session(access, statement_timeout_ms=10_000, application_name="test", users_search_path=True) as session:
        assert session.row("select count(*) from counters") == (0,)


def test_scripts_of_the_shipped_studies_are_syntactically_right(access: Access) -> None:
    """A check that finds something raises."""
    if access.major < 18:
        return
    for name in shipped_studies():
        workload = read_study(name)[0].workload
        # Their tables are made by their fills, which is more than is to be checked here.
        check_scripts(access, workload.scripts, workload.protocol, ("create table any ()",))

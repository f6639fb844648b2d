"""A twin that somebody wrote to get out of its database: nothing of it has an effect there, and all is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.command import Command
from fixtures.lab_home import binaries_for
from pgclinic.capture.statements import create_role
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.model.twin import ObjectKind, SchemaObject, Twin, TwinColumn, TwinStatement, TwinTable, TwinWorkload
from pgclinic.model.twin_refusal import ObjectRefusal
from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.twin.author import AUTHOR
from pgclinic.twin.build import build_twin
from pgclinic.twin.file import write_twin

SETTINGS = {"fsync": "off", "max_connections": "40"}


K = ObjectKind


def attempt(there: Path, name: str) -> str:
    return f"copy (select 1) to program 'touch {there}/{name}'"


def body(there: Path, name: str) -> str:
    return (
        f"begin begin reset role; exception when others then null; end;"
        f" begin set session authorization postgres; exception when others then null; end;"
        f" begin execute $q${attempt(there, name)}$q$; exception when insufficient_privilege then null; end;"
        f" begin perform pg_catalog.lo_export(pg_catalog.lo_create(0), '{there}/{name}_lo');"
        f" exception when others then null; end;"
        f" begin execute 'alter system set log_statement = ''all'''; exception when others then null; end;"
        f" begin execute 'alter role {AUTHOR} set work_mem = ''77MB'''; exception when others then null; end;"
        f" begin execute 'alter role postgres superuser'; exception when others then null; end;"
        f" begin execute 'grant pg_execute_server_program to {AUTHOR}'; exception when others then null; end;"
        f" begin perform pg_catalog.lo_import('{there}'); exception when others then null; end;"
        f" begin execute 'copy public.read from ''/etc/passwd'''; exception when others then null; end;"
        f" begin execute 'create extension dblink'; exception when others then null; end;"
        f" begin execute 'create event trigger e on ddl_command_start execute function public.f_trigger()';"
        f" exception when others then null; end;"
    )


def function(there: Path, name: str, arguments: str = "a int", returns: str = "int", result: str = "return a;") -> str:
    return (
        f"create function public.{name}({arguments}) returns {returns} language plpgsql"
        f" as $f$ {body(there, name)} {result} end $f$"
    )


def written_by_no_capture(there: Path) -> list[tuple[ObjectKind, str, str]]:
    return [
        (K.ROLE, "role pg_execute", create_role("somebody")),
        (K.ROLE, "role do", f"do $$ begin execute $q${attempt(there, 'do')}$q$; end $$"),
        (K.TABLE, "top", attempt(there, "top")),
        (K.TABLE, "system", "alter system set log_statement = 'all'"),
        (K.TABLE, "load", "load 'auto_explain'"),
        (K.TABLE, "two", f"create table public.two (a int); {attempt(there, 'two')}"),
        (K.TABLE, "comment", f"create table public.three (a int) -- here\n; {attempt(there, 'comment')}"),
        (K.TABLE, "psql", f"\\! touch {there}/psql"),
        (K.TABLE, "authorization", "set session authorization postgres"),
        (K.TABLE, "reset", "reset role"),
        (K.TRIGGER, "event", "create event trigger e on ddl_command_start execute function public.f_default()"),
        (K.FUNCTION, "c", "create function public.c() returns int language c as 'libc.so.6', 'system'"),
        (K.FUNCTION, "python", "create function public.p() returns int language plpython3u as 'return 1'"),
        *(
            (K.EXTENSION, f"extension {name}", f"create extension {name}")
            for name in ("file_fdw", "postgres_fdw", "dblink", "adminpack", "plpython3u", "plperlu", "pltclu")
        ),
    ]


def written_by_a_capture(there: Path) -> list[tuple[ObjectKind, str, str]]:
    """Functions that try the same, and everything that calls them."""
    return [
        (K.FUNCTION, "public.f_default", function(there, "f_default")),
        (
            K.FUNCTION,
            "public.f_index",
            # It is only said to be immutable: what it calls may write.
            "create function public.f_index(a int) returns int language plpgsql immutable"
            " as $f$ begin perform public.f_work(a); return a; end $f$",
        ),
        (K.FUNCTION, "public.f_view", function(there, "f_view")),
        (K.FUNCTION, "public.f_work", function(there, "f_work")),
        (K.FUNCTION, "public.f_trigger", function(there, "f_trigger", "", "trigger", "return new;")),
        # A better match than that of the catalog for what a careless session of a superuser calls.
        (K.FUNCTION, "public.format", function(there, "format", "a text, b int", "text", "return a;")),
        (K.FUNCTION, "public.current_setting", function(there, "current_setting", "a varchar", "text", "return a;")),
        (
            K.TABLE,
            "public.t",
            "create table public.t (a int not null, b int default public.f_default(1),"
            " check (public.f_default(a) = a))",
        ),
        (K.INDEX, "public.t_i", "create index t_i on public.t (public.f_index(a))"),
        (K.VIEW, "public.v", "create view public.v as select public.f_view(a) from public.t"),
        (K.VIEW, "public.m", "create materialized view public.m as select public.f_view(a) from public.t"),
        (K.TRIGGER, "public.r", "create rule r as on delete to public.t do also select public.f_view(1)"),
        (
            K.TRIGGER,
            "public.t.trigger g",
            "create trigger g before insert or update on public.t for each row execute function public.f_trigger()",
        ),
    ]


def hostile(major: str, there: Path) -> Twin:
    """Every place from which a statement of the file can be run tries to leave a file behind in ``there``."""
    objects = [*written_by_no_capture(there), *written_by_a_capture(there)]
    workload = (
        ("select public.f_work($1) from public.t", "select"),
        ("insert into public.t (a) values ($1)", "insert"),
        (attempt(there, "work"), "select"),
        (f"select 1; {attempt(there, 'work_two')}", "select"),
        ("select pg_read_file('/etc/passwd')", "select"),
        # Lines that a script of pgbench takes for commands of the shell, inside of what is a text or a comment in SQL.
        (f"select '\n\\shell touch {there}/quoted\n'", "select"),
        (f"select 1 /*\n\\shell touch {there}/comment\n*/", "select"),
        (f"select 1\n\\setshell x touch {there}/behind", "select"),
        (f"select 1;\n\\shell touch {there}/second", "select"),
    )
    return Twin(
        version=f"{major}.0",
        version_num=int(major) * 10_000,
        captured_epoch_s=1.0,
        capture_s=0.1,
        database="evil",
        database_bytes=1000,
        encoding="UTF8",
        collate="C",
        ctype="C",
        settings={
            "work_mem": "5MB",
            "archive_mode": "on",
            "archive_command": f"touch {there}/archive",
            "jit_provider": "evil",
            "local_preload_libraries": "evil",
        },
        objects=tuple(SchemaObject(kind=kind, name=name, statement=text) for kind, name, text in objects),
        tables=(
            TwinTable(
                name="public.t",
                columns=(TwinColumn(name="a", type="integer", base_type="int4", not_null=True),),
                rows=100.0,
                pages=1,
                pages_now=1,
            ),
            TwinTable(
                name=f"public.t (a) from stdin; {attempt(there, 'name')}; --",
                columns=(TwinColumn(name="a", type="integer", base_type="int4"),),
                rows=5.0,
            ),
        ),
        workload=TwinWorkload(
            statements=tuple(
                TwinStatement(query_id=number, text=text, calls=100, rows=100, total_ms=10.0, kind=kind)
                for number, (text, kind) in enumerate(workload, start=1)
            ),
            since_s=60.0,
        ),
    )


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Path]:
    """A folder in which the server's account may make files."""
    for folder in (tmp_path, *tmp_path.parents):
        if str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    place = tmp_path / "there"
    place.mkdir()
    place.chmod(0o777)
    yield place
    assert sorted(path.name for path in place.iterdir()) == []


def session_of(running: RunningServer, user: str, database: str = "evil") -> Session:
    server = replace(running.server, user=user, database=database)
    return Session(Access(server), statement_timeout_ms=60_000, application_name="test")


#: What the role that owns the twin's objects is for.
USES = (
    "insert into public.t values (1)",
    "select * from public.v",
    "delete from public.t where a = 1",
    "refresh materialized view public.m",
    "analyze public.t",
)
#: What it must not be able to do; ``{there}`` is a folder that the server can write to.
ESCAPES = (
    "alter system set work_mem = '1MB'",
    "load 'auto_explain'",
    "set role postgres",
    "select pg_catalog.pg_read_file('PG_VERSION')",
    "copy (select 1) to '{there}/copied'",
    "create database other",
    "create role other",
    "alter database evil set work_mem = '1MB'",
    "set session authorization postgres",
    "copy (select 1) to program 'touch {there}/program'",
    "copy public.t from '/etc/passwd'",
    "select pg_catalog.pg_ls_dir('.')",
    "select pg_catalog.pg_read_binary_file('postgresql.conf')",
    "select pg_catalog.lo_import('/etc/passwd')",
    "select pg_catalog.pg_reload_conf()",
    "select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity where usename is null",
    *(
        f"create extension {name}"
        for name in ("dblink", "file_fdw", "postgres_fdw", "plpython3u", "plperlu", "pageinspect")
    ),
    "create foreign data wrapper w",
    "create subscription s connection 'host=127.0.0.1' publication p",
    "create event trigger e on ddl_command_start execute function public.f_trigger()",
    "create function public.c() returns int language c as 'libc.so.6', 'system'",
    "create function public.i() returns int language internal as 'pg_ls_dir'",
    "alter function pg_catalog.pg_ls_dir(text) owner to current_user",
    "update pg_catalog.pg_authid set rolsuper = true",
    "alter role current_user superuser",
    "set session_preload_libraries = 'auto_explain'",
    "create tablespace x location '{there}'",
    "create table pg_catalog.shadow (a int)",
)


@pytest.mark.parametrize("major", ["13", "14", "18"])
def test_nothing_leaves_the_database(major: str, there: Path) -> None:
    twin = hostile(major, there)
    with start_server(binaries_for(major), settings=SETTINGS) as running:
        with session_of(running, "postgres", "postgres") as session:
            # What the twin tries works for a superuser here: the folder can be written.
            session.execute(f"copy (select 1) to program 'touch {there}/proof'")
            assert (there / "proof").exists()
            (there / "proof").unlink()
            session.execute("create database evil")
        built = build_twin(Access(replace(running.server, database="evil")), twin)
        refused = {one.name: one.refusal for one in built.left_out if one.refusal is not None}
        assert {
            name: refused.pop(name)
            for name in ("role do", "top", "two", "psql", "c", "python", "extension dblink", "event", "load", "system")
        } == {
            "role do": ObjectRefusal.STATEMENT,
            "top": ObjectRefusal.STATEMENT,
            "two": ObjectRefusal.UNREADABLE,
            "psql": ObjectRefusal.UNREADABLE,
            "c": ObjectRefusal.LANGUAGE,
            "python": ObjectRefusal.LANGUAGE,
            "extension dblink": ObjectRefusal.EXTENSION,
            "event": ObjectRefusal.STATEMENT,
            "load": ObjectRefusal.STATEMENT,
            "system": ObjectRefusal.STATEMENT,
        }
        assert {"comment", "authorization", "reset", "extension file_fdw", "extension adminpack"} <= set(refused)
        assert ObjectRefusal.NAME in refused.values()
        assert built.rows == {"public.t": 100}, built
        with session_of(running, "postgres") as session:
            set_for = session.rows("select r.rolname from pg_db_role_setting s join pg_roles r on r.oid = s.setrole")
        assert set_for == [("postgres",)]
        with session_of(running, AUTHOR) as session:
            for use in USES:
                session.execute(use)
            for escape in ESCAPES:
                with pytest.raises(QueryError):
                    session.execute(escape.format(there=there))
        with session_of(running, "postgres") as session:
            assert session.row("show search_path") == ("pg_catalog, pg_temp",)
            assert session.row("select format('%s', 5)") == ("5",)
            session.execute("vacuum analyze")
            assert session.rows("select setting from pg_file_settings where sourcefile like '%auto.conf'") == []
            roles = session.rows("select rolname from pg_roles where rolsuper")
            owned = session.rows(
                "select distinct pg_get_userbyid(relowner) from pg_class where relnamespace = 'public'::regnamespace"
            )
        assert roles == [("postgres",)]
        assert owned == [(AUTHOR,)]


@pytest.fixture
def file(there: Path, tmp_path: Path) -> Path:
    path = tmp_path / "evil.twin"
    write_twin(path, hostile("18", there), masked_text="")
    return path


def test_check_names_what_it_left_out(file: Path, command: Command) -> None:
    ran = command.run("twin", "check", str(file), "--time", "1s", timeout=300)
    assert ran.returncode in (0, 3), ran.stderr
    assert "left out of the file: " in ran.stdout
    assert "COPY is not a statement that a capture writes" in ran.stdout


@pytest.mark.drawn(0.2)
def test_bench_and_compare_stay_in_the_database(file: Path, command: Command) -> None:
    ran = command.run("bench", "--twin", str(file), "-T", "1", "--json", timeout=300)
    assert ran.returncode == 0, ran.stderr
    quick = ("--measure", "1s", "--warm-up", "0", "--blocks", "4", "-c", "1", "--no-calibrate", "--json")
    ran = command.run("compare", "--twin", str(file), "--b", "set:work_mem=8MB", *quick, timeout=400)
    assert ran.returncode in (0, 3, 4), ran.stderr
    assert all(record["load"]["transactions"] > 0 for record in command.records())
    arm = json.loads((command.only_run() / "plan.json").read_text())["arms"]["a"]
    # What the comparison sets itself, to see the statements, is there too.
    assert arm["settings"].keys() <= {"work_mem", "shared_preload_libraries", "pg_stat_statements.track"}
    assert arm["settings"]["work_mem"] == "5MB"
    assert arm["settings"].get("shared_preload_libraries", "pg_stat_statements") == "pg_stat_statements"


def test_a_server_with_a_twin_is_given_to_its_author(file: Path, command: Command) -> None:
    try:
        ran = command.run(
            "lab", "start", "--twin", str(file), "--name", "evil", "--version", "18", "--json", timeout=300
        )
        assert ran.returncode == 0, ran.stderr
        assert "left out: table top: COPY is not" in ran.stderr
        assert f"user={AUTHOR}" in json.loads(ran.stdout)["dsn"]
    finally:
        command.run("lab", "stop", "evil")

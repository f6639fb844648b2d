"""What one arm of a comparison is asked to be: words and files -> an arm, and every way of getting them wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgclinic.errors import UsageError
from pgclinic.load.script_argument import parse_script
from pgclinic.model.study import Holder
from pgclinic.study.compare import about
from pgclinic.study.compare_arms import parse_arm, read_arm_file
from pgclinic.trial.server import split_statements


def test_every_key_has_its_place(tmp_path: Path) -> None:
    script, schema = tmp_path / "one.sql", tmp_path / "schema.sql"
    script.write_text("select 1;\n")
    schema.write_text("create table t(n int);\n")
    arm = parse_arm(
        (
            "version=17",
            f"script={script}@3",
            "script=builtin:select",
            f"schema={schema}",
            "clients=8",
            "set:work_mem=64MB",
            "set:log_line_prefix=a=b",
            "var:rows=100",
            "condition:held=session",
            "condition:idle=40",
            "condition:checkpoint=2.5",
        ),
        "--b",
    )
    assert (arm.version, arm.clients, arm.schema) == ("17", 8, "create table t(n int);\n")
    assert [(one.name, one.weight) for one in arm.scripts] == [(str(script), 3), ("select-only", 1)]
    assert arm.settings == {"work_mem": "64MB", "log_line_prefix": "a=b"}
    assert arm.variables == {"rows": "100"}
    assert arm.condition.horizon_held_by is Holder.SESSION
    assert (arm.condition.idle_sessions, arm.condition.checkpoint_every_s) == (40, 2.5)


def test_an_arm_is_told_in_a_line_and_without_its_password() -> None:
    arm = parse_arm(("set:work_mem=64MB", "var:n=1", "condition:idle=4", "version=17"), "--a")
    assert about(arm) == "work_mem = 64MB, :n = 1, idle 4, version 17"
    assert about(parse_arm((), "--a")) == "nothing set"
    attached = parse_arm(("dsn=postgresql://me:secret-word@host/db",), "--a")
    assert "secret-word" in (attached.dsn or "")
    assert "secret-word" not in about(attached)


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("work_mem=4MB",), "unknown key 'work_mem'", "did you mean set:work_mem?"),
        (("sett:work_mem=4MB",), "unknown key 'sett:work_mem'", "did you mean set:work_mem?"),
        (("versoin=17",), "unknown key 'versoin'", "did you mean version?"),
        (("held=session",), "unknown key 'held'", "did you mean condition:held?"),
        (("condition:hold=session",), "unknown condition 'hold'", "did you mean held?"),
        (("condition:held=sesion",), "unknown holder 'sesion'", "did you mean session?"),
        (("script=builtin:selct",), 'no builtin script found for name "selct"', "did you mean select-only?"),
        (("script=select-only",), 'could not open file "select-only"', "did you mean builtin:select-only"),
        (("schema=nowhere.sql",), "cannot read the schema nowhere.sql", None),
        (("version",), "is not KEY=VALUE", "--b version=17"),
        (("version=",), "is not KEY=VALUE", "--b version=17"),
        (("version=17", "version=18"), "version is given twice", None),
        (("version=17", "bindir=/usr"), "version and bindir are mutually exclusive", None),
        (("clients=0",), "clients=0 must be a whole number, at least 1", None),
        (("condition:idle=-1",), "must be a whole number, at least 0", None),
        (("condition:checkpoint=0",), "must be a number of seconds above 0", None),
        (("var:x-y=1",), "is not a valid variable name", None),
        (("script=builtin:select-only@0",), "a weight is at least 1", None),
    ],
)
def test_what_is_wrong_is_named_with_the_nearest(words: tuple[str, ...], message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as raised:
        parse_arm(words, "--b")
    assert message in raised.value.message
    assert (hint or "") in (raised.value.hint or "")


def test_an_address_is_not_repeated_in_an_error() -> None:
    with pytest.raises(UsageError) as raised:
        parse_arm(("dsn: postgresql://me:secret-word@host/db",), "--a")
    assert "secret-word" not in raised.value.message + (raised.value.hint or "")


def test_an_arm_file_says_what_the_words_say(tmp_path: Path) -> None:
    file = tmp_path / "arm.toml"
    file.write_text('version = "17"\nscript = ["builtin:select-only@2"]\n[set]\nwork_mem = "4MB"\nfsync = false\n')
    arm = parse_arm(read_arm_file(file), "--a")
    assert (arm.version, arm.settings) == ("17", {"work_mem": "4MB", "fsync": "false"})
    assert arm.scripts == (parse_script("builtin:select-only@2"),)
    file.write_text("[sets]\nwork_mem = 1\n")
    with pytest.raises(UsageError, match="unknown table 'sets'"):
        read_arm_file(file)
    file.write_text("version = ")
    with pytest.raises(UsageError, match="not TOML"):
        read_arm_file(file)


def test_a_schema_may_have_functions() -> None:
    function = "create function f() returns int language plpgsql as $body$\nbegin\n  return 1;\nend;\n$body$;"
    assert split_statements(f"create table t(n int);\n{function}\nvacuum t;\n") == (
        "create table t(n int);",
        function,
        "vacuum t;",
    )
    assert split_statements("do $$ begin perform 1; end $$;\nselect 1;") == (
        "do $$ begin perform 1; end $$;",
        "select 1;",
    )

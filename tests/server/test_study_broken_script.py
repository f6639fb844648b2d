"""A script that can only fail ends the run at once, with the server's own words; shell commands need leave."""

from __future__ import annotations

import os
from pathlib import Path
from pwd import getpwnam

import pytest

from fixtures.command import Command
from pgclinic.lab.account import DEFAULT_ACCOUNT

UPDATE = "update global_counters set cnt = cnt + :v_delta where id = :b_id;"


def study_with(command: Command, statement: str, before: str = UPDATE) -> str:
    """The small study with another statement in its script, in trials that nobody wants to wait for twice."""
    file = Path(command.study(free_s=2, held_s=2))
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, statement), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("selct 1 from global_counters;", 'script update, line 3: syntax error at or near "selct" (42601)'),
        ("select 1 from globale_counters;", 'line 3: relation "globale_counters" does not exist (42P01)'),
    ],
)
def test_a_statement_that_cannot_be_parsed_is_refused_before_any_trial(
    command: Command, statement: str, words: str
) -> None:
    done = command.run("study", "run", study_with(command, statement))
    assert done.returncode == 1, done.stderr
    assert words in done.stderr
    assert not command.runs.exists()


@pytest.mark.drawn(0.2)
def test_a_load_that_only_fails_stops_after_its_first_trial(command: Command) -> None:
    # What the server says only when it runs it.
    done = command.run("study", "run", study_with(command, "select 1;\nselect 1 / (:b_id - :b_id);"))
    assert done.returncode == 2, done.stderr
    assert "no transaction of arm " in done.stderr
    assert "script update, line 4: division by zero (22012)" in done.stderr
    assert "--resume" not in done.stderr
    assert len(command.records()) == 1


@pytest.mark.drawn(0.2)
def test_a_missing_privilege_stops_a_comparison_at_the_broken_arm(command: Command) -> None:
    (command.folder / "good.sql").write_text("select 1;\n")
    (command.folder / "bad.sql").write_text("set role pg_monitor;\nselect count(*) from secret;\n")
    (command.folder / "schema.sql").write_text("create table secret (id int);\n")
    lengths = ("--warm-up", "0", "--measure", "1s", "--blocks", "4", "--no-calibrate", "--schema", "schema.sql")
    done = command.run("compare", "--a", "script=good.sql", "--b", "script=bad.sql", *lengths)
    assert done.returncode == 2, done.stderr
    assert "no transaction of arm b succeeded; script bad.sql, line 2: permission denied for" in done.stderr
    assert "(42501)" in done.stderr
    assert len(command.records()) <= 2


@pytest.mark.parametrize("verb", ["study", "compare"])
def test_shell_commands_need_leave(command: Command, verb: str) -> None:
    marker = command.folder / "ran"
    file = study_with(command, f"\\shell touch {marker}\n{UPDATE}")
    arguments = ["study", "run", file] if verb == "study" else ["compare", "--from", file]
    done = command.run(*arguments)
    assert done.returncode == 1, done.stderr
    assert "script update, line 3 runs a command of the shell" in done.stderr
    assert "--allow-shell" in done.stderr
    assert not marker.exists()
    assert not command.runs.exists()


@pytest.mark.drawn(0.2)
def test_allowed_shell_commands_never_run_as_root(command: Command) -> None:
    # The error that ends the run after one trial says who ran the command.
    file = study_with(command, "\\setshell who id -u\nselect ('run by ' || :who)::int;")
    done = command.run("study", "run", file, "--allow-shell")
    assert done.returncode == 2, done.stderr
    who = str(os.geteuid()) if os.geteuid() != 0 else str(getpwnam(DEFAULT_ACCOUNT).pw_uid)
    assert f'invalid input syntax for type integer: "run by {who}"' in done.stderr
    resumed = command.run("study", "run", "--resume", str(command.only_run()))
    assert resumed.returncode == 1
    assert "--allow-shell" in resumed.stderr


def test_bench_runs_shell_commands_and_not_as_root(command: Command) -> None:
    (command.folder / "shell.sql").write_text(
        "\\setshell who id -u\n\\if :who = 0\nselect 1 / 0;\n\\endif\nselect :who;\n"
    )
    done = command.run("bench", "--lab", "-n", "-f", "shell.sql", "-t", "3")
    assert done.returncode == 0, done.stderr
    assert "3/3" in done.stdout

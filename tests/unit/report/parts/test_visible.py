"""No text of a study or a server steers the terminal."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fixtures.command import small_study_text
from fixtures.planned import judge
from fixtures.records import blocks_of, global_counters
from pgclinic.cli import main
from pgclinic.cli.live import SHOW_CURSOR, LiveView
from pgclinic.report.parts.visible import VisibleStream, visible, visible_values, write_own
from pgclinic.report.sections.answer.text import verdict_text

#: What a view needs: colours, the cursor a line up, a line erased, the cursor hidden and shown, its start.
OWN = re.compile(r"\x1b\[(\d*m|1A|2K|\?25[lh])|\r")
EVIL = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\r\x9b1m\u202ereversed\x7f[bold]x[/bold][/]"


def steers(text: str) -> bool:
    return any(ord(letter) < 0x20 and letter not in "\n\t" for letter in text) or any(
        letter in text for letter in "\x7f\x9b\u202e"
    )


@given(st.text())
def test_what_is_visible_steers_nothing_and_stays_json(text: str) -> None:
    assert not steers(visible(text))
    assert visible(visible(text)) == visible(text)
    encoded = msgspec.json.encode(text).decode()
    assert json.loads(visible(encoded)) == text


def test_ordinary_text_is_left_alone() -> None:
    assert visible("µs → ▁▂▃ 95 %\n\tx") == "µs → ▁▂▃ 95 %\n\tx"
    assert visible("a\x1b[0mb\r") == "a\u241b[0mb\u240d"


def test_what_no_file_of_text_or_xml_can_have_is_written_as_json_does() -> None:
    assert visible("\udcff\ufffe") == "\\udcff\\ufffe"
    assert visible_values({"a\x1b": ["\x7f", 1, None, ("\x07",)]}) == {"a\u241b": ["\\u007f", 1, None, ["\u2407"]]}


def test_our_own_sequences_go_around() -> None:
    out = io.StringIO()
    stream = VisibleStream(out)  # type: ignore[arg-type]
    stream.write("\x1b[1m")
    write_own(stream, SHOW_CURSOR)  # type: ignore[arg-type]
    print("x\x1b", file=stream)  # type: ignore[call-overload]
    assert out.getvalue() == "\u241b[1m" + SHOW_CURSOR + "x\u241b\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_live_view_clears_itself_and_obeys_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    with LiveView(VisibleStream(out)) as live:  # type: ignore[arg-type]
        live.stage(EVIL)
        live.say(EVIL)
    written = out.getvalue()
    assert "\u241b[2J" in written
    assert not steers(OWN.sub("", written))
    assert written.endswith(SHOW_CURSOR)


@pytest.mark.parametrize("colour", [False, True])
def test_a_verdict_keeps_its_colours_and_shows_those_of_others(colour: bool) -> None:
    study = global_counters()
    trials = blocks_of(study, (0.60, 0.61, 0.59))
    verdict = judge(study, trials)
    plain = verdict_text(study, trials, verdict, colour=colour)
    evil = replace(study, claims=tuple(replace(claim, text=EVIL) for claim in study.claims))
    text = verdict_text(evil, trials, judge(evil, trials), colour=colour)
    assert text.count("\x1b") == plain.count("\x1b")
    assert ("\x1b" in text) is colour
    assert not steers(text.replace("\x1b", ""))


def test_a_study_that_is_shown_steers_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    title = 'title = "\\u001b]0;owned\\u0007\\u001b[2J\\u009b1m [bold]x[/bold]" #'
    file = tmp_path / "evil.toml"
    file.write_text(small_study_text().replace("title =", title, 1), encoding="utf-8")
    for arguments in (["study", "show", str(file)], ["study", "show", str(file), "--json"]):
        assert main.run(arguments) == 0
        out = capsys.readouterr().out
        assert not steers(out)
        assert "[bold]x[/bold]" in out
    assert main.run(["study", "run", "a\x1b[31m.toml"]) == 1
    assert not steers(capsys.readouterr().err)

"""Numbers, names and texts that would fail only after all trials are refused when a study is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.headline import headline_text
from pgclinic.cli.duration import parse_duration_s
from pgclinic.errors import StudyFileError, UsageError
from pgclinic.load.script_argument import parse_script
from pgclinic.study.compare_arms import parse_arm, read_arm_file
from pgclinic.study.read import parse_study, read_study

SHIPPED = headline_text()


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("warm_up_s = 1", "warm_up_s = nan", r"profiles\.\w+\.warm_up_s is nan: it must be a finite number"),
        ("warm_up_s = 1", "warm_up_s = inf", "a finite number"),
        ("warm_up_s = 1", "warm_up_s = -1", r"warm_up_s is -1\.0: it must be from 0 to"),
        ("warm_up_s = 1", "warm_up_s = 5e-324", "too small"),
        ("clients = 10", "clients = 0", r"workload\.clients is 0: it must be from 1 to"),
        ("clients = 10", "clients = -3", r"workload\.clients is -3"),
        ("clients = 10", f"clients = {10**30}", "an integer of more than 18 digits|clients"),
        ("clients = 10", f"clients = {'9' * 5000}", "not TOML"),
        ("clients = 10", f"clients = {'[' * 5000}{']' * 5000}", "nested too deeply"),
        ("tail_s = 5", "tail_s = 1e-320", "tail_s"),
        ("ratio = 0.603", "ratio = 1e300", r"published\.ratio is 1e\+300: it must be from 1e-06 to"),
        ("ratio_min = 2.0", "ratio_min = inf", r"ratio_min is inf"),
        ("tail_s = 5", "tail_s = 5e9", "tail_s|needs"),
        ('name = "global-counters"', 'name = "../up"', r"name: '\.\./up' cannot be a name: '/' is not allowed"),
        ('name = "global-counters"', 'name = "a\\u0000b"', "NUL"),
        ('name = "global-counters"', 'name = "a\\u001bb"', r"\\x1b"),
        ('name = "global-counters"', 'name = ""', "cannot be a name"),
        ('name = "global-counters"', f'name = "{"x" * 300}"', "too long for a name"),
        ("title = ", 'title = "a\\u0000b"\n# ', r"title has a NUL"),
    ],
)
def test_what_cannot_be_used_is_refused(right: str, wrong: str, words: str) -> None:
    assert right in SHIPPED
    with pytest.raises(StudyFileError, match=words):
        parse_study(SHIPPED.replace(right, wrong, 1), "mine.toml")


def test_a_name_of_an_arm_is_a_name_too() -> None:
    text = SHIPPED.replace("[arms.held", '[arms."he/ld"').replace("held = ", '"he/ld" = ').replace('"held"', '"he/ld"')
    with pytest.raises(StudyFileError, match="arms: 'he/ld' cannot be a name"):
        parse_study(text, "mine.toml")


def test_an_open_side_of_a_region_may_be_infinite() -> None:
    text = SHIPPED.replace("tail_s = 5", 'tail_s = 5\nregion = [1.2, inf]\nregion_reason = "any gain"', 1)
    text = text.replace("ratio = 0.603", "ratio = 1.5")
    claim = parse_study(text, "mine.toml").claims[0]
    assert (claim.region, claim.region_edges) == ((1.2, None), (1.2, float("inf")))


@pytest.mark.parametrize("content", [b"\xff\xfe", b"name = '\xed\xa0\x80'"])
def test_a_file_that_is_not_utf_8_is_named(content: bytes, tmp_path: Path) -> None:
    for name in ("study.toml", "arm.toml"):
        (tmp_path / name).write_bytes(content)
    with pytest.raises(StudyFileError, match=r"study\.toml: it is not UTF-8 at byte"):
        read_study(str(tmp_path / "study.toml"))
    with pytest.raises(UsageError, match=r"arm\.toml: it is not UTF-8 at byte"):
        read_arm_file(tmp_path / "arm.toml")


def test_a_nul_in_a_file_name_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot read the schema"):
        parse_arm(("schema=a\0b",), "--a")
    with pytest.raises(UsageError, match="could not open file"):
        parse_script("a\0b@2")


@pytest.mark.parametrize("text", ["9" * 400, "1e9h", "99999999h"])
def test_a_duration_has_an_end(text: str) -> None:
    with pytest.raises(UsageError, match="--budget"):
        parse_duration_s(text, "--budget")

"""Study files: what is accepted, and how what is not is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.headline import headline_text
from pgclinic.errors import StudyFileError, UnknownNameError, UsageError
from pgclinic.model.study import Source
from pgclinic.study.read import parse_study, read_study, shipped_studies, study_text

SHIPPED = headline_text()


def test_every_shipped_study_is_read() -> None:
    assert "global-counters" in shipped_studies()
    for name in shipped_studies():
        study, text = read_study(name)
        assert study.name == name
        assert study.claims
        assert text == study_text(name)


def test_the_published_series_is_the_article_s() -> None:
    study, _ = read_study("global-counters")
    windows = study.claims[0].published_windows
    assert windows is not None
    assert windows.tps == (7228.1, 6591.6, 6011.2, 5503.5, 4574.6, 4360.8)
    assert study.claims[0].published_ratio == pytest.approx(4360.8 / 7228.1, abs=0.001)


@pytest.mark.parametrize(
    ("right", "wrong", "nearest"),
    [
        ("clients = 10", "cleints = 10", "clients"),
        ("tail_s = 5", "tails_s = 5", "tail_s"),
        ('builds_on = "free"', 'build_on = "free"', "builds_on"),
        ("blocks_min = 5", "block_min = 5", "blocks_min"),
        ("horizon_held_by", "horizon_hold_by", "horizon_held_by"),
        ("ratio_min = 2.0", "ratio_mn = 2.0", "ratio_min"),
    ],
)
def test_an_unknown_key_names_its_line_and_the_nearest_key(right: str, wrong: str, nearest: str) -> None:
    text = SHIPPED.replace(right, wrong, 1)
    line = next(n for n, row in enumerate(text.splitlines(), start=1) if wrong.split(maxsplit=1)[0] in row)
    with pytest.raises(UnknownNameError) as caught:
        parse_study(text, "mine.toml")
    assert f"mine.toml:{line}" in caught.value.message
    assert wrong.split(maxsplit=1)[0] in caught.value.message
    assert caught.value.hint == f"did you mean {nearest}?"
    assert caught.value.exit_code == 1


def test_an_unknown_study_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown study 'global-counter'") as caught:
        study_text("global-counter")
    assert caught.value.nearest == "global-counters"


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("format = 2", "format = 3", "format is 3"),
        ('builds_on = "free"', 'builds_on = "fre"', "unknown arm 'fre'"),
        ('control = "free"', 'control = "fee"', "unknown arm 'fee'"),
        ("measure_s = { free = 10, held = 30 }", "measure_s = { free = 15 }", "has no arm held"),
        ("measure_s = { free = 10, held = 30 }", "measure_s = { free = 3, held = 30 }", "needs 5"),
        ("blocks_min = 5", "blocks_min = 7", "blocks_min <= blocks_max"),
        ("ratio = 0.603", "ratio = 0", "above 0"),
        ("tail_s = 5", "tail_s = 5\nregion = [0.8, 0.4]", "the smaller one first"),
        ("clients = 10", 'clients = "ten"', "clients"),
        ('about = "nothing holds the horizon"', 'about = "x"\nbuilds_on = "held"', "in a cycle"),
        ("warm_up_s = 1", 'warm_up_s = 30\nwarm_up_ends = "steady"', "held does not come to rest"),
        ("warm_up_s = 1", 'warm_up_s = 10\nwarm_up_ends = "steady"', "from 22 to 60"),
        ("warm_up_s = 1", 'warm_up_s = 10\nwarm_up_ends = "stead"', "warm_up_ends"),
        ("format = 2", "format = ", "not TOML"),
    ],
)
def test_what_contradicts_itself_is_refused(right: str, wrong: str, words: str) -> None:
    assert right in SHIPPED
    with pytest.raises((StudyFileError, UnknownNameError), match=words):
        parse_study(SHIPPED.replace(right, wrong, 1), "mine.toml")


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        " javascript:alert(1)",
        "data:text/html,x",
        "//x.org",
        "https://a b",
    ],
)
def test_a_source_links_to_the_web_alone(url: str) -> None:
    with pytest.raises(StudyFileError, match="is not an http or https address"):
        parse_study(SHIPPED.replace('url = "https://habr.com/articles/898872"', f"url = '{url}'", 1), "mine.toml")
    assert Source(title="t", author="a", published="2026", url=url).link is None


def test_shipped_sources_are_links() -> None:
    studies = [read_study(name)[0] for name in shipped_studies()]
    assert [study.name for study in studies if study.source.url and study.source.link is None] == []
    assert Source(title="t", author="a", published="2026", url="HTTPS://x.org/a?b=(c)#d").link is not None


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SHIPPED.replace('name = "global-counters"', 'name = "mine"'), encoding="utf-8")
    assert read_study(str(file))[0].name == "mine"
    with pytest.raises(StudyFileError, match="cannot read the study file"):
        read_study(str(tmp_path / "gone.toml"))


def test_a_study_file_keeps_no_password() -> None:
    text = headline_text().replace("[arms.held]", '[arms.held]\ndsn = "host=there password=secret-word"')
    with pytest.raises(UsageError, match="must not contain a password") as raised:
        parse_study(text, "mine.toml")
    assert "secret-word" not in raised.value.message
    both = headline_text().replace("[arms.held]", '[arms.held]\ndsn = "host=there"\nversion = "17"')
    with pytest.raises(UsageError, match="version and dsn are mutually exclusive"):
        parse_study(both, "mine.toml")

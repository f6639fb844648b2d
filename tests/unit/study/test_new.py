"""A new study file is whole, says what it is about, and never replaces another."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgclinic.errors import UsageError
from pgclinic.study.new import write_new_study
from pgclinic.study.read import read_study


def test_it_reads_back_as_a_study_of_that_name(tmp_path: Path) -> None:
    path = write_new_study("my-question", tmp_path, author='Ann "A" \\', schema=Path("study.schema.json"))
    study, text = read_study(str(path))
    assert study.name == "my-question"
    assert study.source.author == 'Ann "A" \\'
    assert set(study.profiles) == {"quick", "full"}
    assert text.startswith("#:schema study.schema.json\n")
    assert "$" not in text.replace("$$", "")
    # The comments of the template are kept.
    assert "\n# The arms. Each names the arm it builds on" in text


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    write_new_study("mine", tmp_path, author="Ann", schema=None)
    before = (tmp_path / "mine.toml").read_bytes()
    with pytest.raises(UsageError, match="already exists"):
        write_new_study("mine", tmp_path, author="Bob", schema=None)
    assert (tmp_path / "mine.toml").read_bytes() == before


@pytest.mark.parametrize("name", ["", "Mine", "my question", "../mine", "-mine"])
def test_a_name_that_no_study_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is no name for a study"):
        write_new_study(name, tmp_path, author="Ann", schema=None)
    assert list(tmp_path.iterdir()) == []

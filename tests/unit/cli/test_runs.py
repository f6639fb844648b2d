"""``pgclinic runs``: what is listed, and that nothing is deleted unasked."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from fixtures.bench_results import bench_folder, bench_result
from fixtures.checkups import HEALTHY, SICK
from fixtures.kept_runs import PLAN, kept_checkup
from fixtures.records import run_info
from pgclinic.cli.main import run
from pgclinic.store.directory_lock import directory_lock
from pgclinic.store.run_folder import RunFolder

DAY_US = 86_400 * 10**6


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Three studies of 1, 2 and 40 days ago, a checkup of now that found something, and one that did not."""
    for days in (1, 2, 40):
        info = run_info(started_epoch_us=round(time.time() * 1e6) - days * DAY_US)
        RunFolder.create(tmp_path, f"study-{days}", info, PLAN)
    for name, found in (("shop", SICK), ("mail", HEALTHY)):
        kept_checkup(tmp_path, found, name=name, started_epoch_us=round(time.time() * 1e6))
    return tmp_path


def names(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert run(["runs", "list", "--json", *words]) == 0
    return [Path(one["path"]).name for one in json.loads(capsys.readouterr().out)]


def test_the_newest_run_comes_first_and_filters_leave_the_others_out(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ("--runs", str(runs))
    assert names(capsys, *where)[2:] == ["study-1", "study-2", "study-40"]
    assert names(capsys, *where, "--older-than", "36h") == ["study-2", "study-40"]
    assert names(capsys, *where, "--kind", "study", "--older-than", "30d") == ["study-40"]
    (sick,) = names(capsys, *where, "--answer", SICK.health.value)
    assert sick in names(capsys, *where, "--name", "shop")
    assert len(names(capsys, *where, "--answer", "unfinished")) == 3
    assert names(capsys, *where, "--name", "nobody") == []


def test_a_list_for_people_has_every_answer_in_words(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", "list", "--runs", str(runs)]) == 0
    text = capsys.readouterr().out
    assert f"  {SICK.health.value.upper()}   " in text
    assert text.count("no answer yet") == 3
    assert text.splitlines()[-1].startswith("5 runs, ")


def test_show_says_how_a_run_goes_on(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", "show", "study-2", "--runs", str(runs)]) == 0
    text = capsys.readouterr().out
    assert f"pgclinic study judge {runs / 'study-2'}" in text
    assert f"pgclinic study run --resume {runs / 'study-2'}" in text
    assert "started    2 days ago" in text
    with directory_lock(runs / "study-2"):
        assert run(["runs", "show", "study-2", "--runs", str(runs), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "running"


def test_the_settings_of_a_bench_are_shown_and_differ_between_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = bench_result("-c", "2", "-T", "5")
    small, large = (bench_folder(tmp_path, result, work_mem=value, jit="off") for value in ("4MB", "8MB"))
    assert run(["runs", "show", str(small)]) == 0
    assert "settings   work_mem = 4MB, jit = off" in capsys.readouterr().out
    assert run(["report", str(small), str(large)]) == 0
    text = capsys.readouterr().out
    assert "  setting work_mem\n    a  4MB\n    b  8MB\n" in text
    assert "setting jit" in text.partition("The same: ")[2]


def test_rm_deletes_what_is_named_or_nothing(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--runs", str(runs))
    assert run(["runs", "rm", "study-1", "study-3", *where]) == 1
    assert "did you mean study-" in capsys.readouterr().err
    with directory_lock(runs / "study-2"):
        assert run(["runs", "rm", "study-1", "study-2", *where]) == 1
    assert "in use" in capsys.readouterr().err
    assert (runs / "study-1").is_dir()
    assert run(["runs", "rm", "study-1", str(runs / "study-2"), *where]) == 0
    assert sorted(path.name for path in runs.iterdir() if path.name.startswith("study")) == ["study-40"]
    assert capsys.readouterr().out.count("deleted ") == 2


def test_prune_deletes_only_with_yes_and_leaves_what_is_in_use(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--runs", str(runs))
    assert run(["runs", "prune", *where]) == 1
    assert "--older-than" in capsys.readouterr().err
    assert run(["runs", "prune", *where, "--older-than", "36h"]) == 0
    listed = capsys.readouterr()
    assert "nothing was deleted" in listed.err
    assert "2 runs, " in listed.out
    assert (runs / "study-40").is_dir()
    with directory_lock(runs / "study-40"):
        assert run(["runs", "prune", *where, "--older-than", "36h", "--yes"]) == 0
    left = capsys.readouterr()
    assert "study-40 is in use" in left.err
    assert left.out.startswith(f"deleted {runs / 'study-2'}")
    assert (runs / "study-40").is_dir()
    # The newest of each kind and name stays.
    assert run(["runs", "prune", *where, "--keep", "1", "--yes"]) == 0
    capsys.readouterr()
    assert names(capsys, *where, "--kind", "study") == ["study-1"]
    assert len(names(capsys, *where)) == 3


def test_what_is_kept_is_the_newest_of_all_and_not_of_the_old_ones(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ("--runs", str(runs))
    assert run(["runs", "prune", *where, "--older-than", "36h", "--keep", "2", "--yes"]) == 0
    assert capsys.readouterr().out.startswith(f"deleted {runs / 'study-40'}")
    assert names(capsys, *where, "--kind", "study") == ["study-1", "study-2"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("list", "--kind", "studdy"), "did you mean study?"),
        (("list", "--answer", "faser"), "did you mean faster?"),
        (("list", "--older-than", "old"), "write 90s"),
    ],
)
def test_a_wrong_word_names_the_nearest(
    runs: Path, words: tuple[str, ...], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["runs", *words, "--runs", str(runs)]) == 1
    assert hint in capsys.readouterr().err

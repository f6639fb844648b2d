"""The run folder of an advice: found by its kind, read by nobody else."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.advised import an_advice
from fixtures.records import run_info
from pgclinic.errors import UsageError
from pgclinic.model.run import RunKind
from pgclinic.report.kept_run import rendered_run
from pgclinic.report.runs.list import answer_text, run_output
from pgclinic.store.advise_folder import write_advice, write_advice_folder
from pgclinic.store.run_folder import read_run
from pgclinic.store.run_list import found_run, why_not_deleted

INFO = replace(run_info(), kind=RunKind.ADVISE, name="my shop/2")


def kept(parent: Path) -> Path:
    folder = write_advice_folder(parent, INFO)
    write_advice(folder, an_advice())
    (folder / "proofs").mkdir()
    return folder


def test_it_is_found_with_its_answer(tmp_path: Path) -> None:
    folder = kept(tmp_path)
    assert folder.name.endswith("-advise-my-shop-2")
    found = found_run(folder)
    assert found.answer == an_advice()
    assert answer_text(run_output(found)).startswith("INDEXES ADVISED   1 index saves 46 % of the server time of shop")
    assert why_not_deleted(found) is None


def test_it_can_be_read_by_its_owner_alone(tmp_path: Path) -> None:
    folder = kept(tmp_path)
    for path in (folder, folder / "run.json", folder / "advice.json"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_a_report_of_it_is_markdown_or_json(tmp_path: Path) -> None:
    rendered = rendered_run(found_run(kept(tmp_path)))
    assert "create index concurrently orders_customer_at_idx" in rendered.markdown()
    with pytest.raises(UsageError, match="no page"):
        rendered.html()


def test_it_has_no_trials_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="its proof is a run of its own"):
        read_run(kept(tmp_path))

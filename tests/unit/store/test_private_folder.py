"""What was read of a server is its owner's alone, whatever the umask is, and stays so when it is written again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.checkups import SICK, SNAPSHOT
from fixtures.records import run_info
from pgclinic.model.event import ProofReached
from pgclinic.model.finding import Proof
from pgclinic.model.run import RunKind
from pgclinic.store.checkup_folder import (
    Examined,
    add_proof_event,
    write_checkup,
    write_checkup_folder,
)
from pgclinic.store.document import write_document
from pgclinic.store.private_folder import write_private_report


@pytest.fixture(params=(0o000, 0o022, 0o077), ids=oct, autouse=True)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_snapshot_is_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "snapshot.json"
    write_document(file, SNAPSHOT)
    assert _mode(file) == 0o600
    file.chmod(0o644)
    write_document(file, SNAPSHOT, force=True)
    assert _mode(file) == 0o600


def test_a_checkups_run_is_its_owners_alone(tmp_path: Path) -> None:
    folder = write_checkup_folder(tmp_path, replace(run_info(), kind=RunKind.CHECKUP), Examined(SNAPSHOT))
    write_checkup(folder, SICK)
    write_private_report(folder, "<p>")
    for number in (1, 2):
        event = ProofReached(finding="x", proof=Proof(treatment=number, word=None), at_epoch_us=number)
        add_proof_event(folder, event)
    assert len((folder / "events.jsonl").read_bytes().splitlines()) == 2
    assert _mode(folder) == 0o700
    names = {file.name: _mode(file) for file in folder.iterdir()}
    assert names == dict.fromkeys(("run.json", "snapshot.json", "checkup.json", "report.html", "events.jsonl"), 0o600)

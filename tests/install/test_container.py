"""The container file: an unprivileged user, and all that is written in a volume."""

from __future__ import annotations

import json
import re

from fixtures.tree import ROOT

TEXT = (ROOT / "Containerfile").read_text(encoding="utf-8")
LINES = TEXT.replace("\\\n", "").splitlines()


def _words(instruction: str) -> list[str]:
    """What stands after an instruction, of its last use."""
    return [line.partition(" ")[2] for line in LINES if line.startswith(f"{instruction} ")][-1:]


def test_the_user_is_not_root_and_all_that_is_written_is_a_volume() -> None:
    uid, _, gid = _words("USER")[0].partition(":")
    environment = dict(re.findall(r"(\w+)=(\S+)", _words("ENV")[0]))
    assert int(uid) > 0 and int(gid) > 0
    assert f"useradd --uid {uid} " in TEXT
    assert {environment["PGCLINIC_HOME"], environment["PGCLINIC_RUNS"]} == set(json.loads(_words("VOLUME")[0]))
    assert _words("WORKDIR") == [environment["PGCLINIC_RUNS"]]

"""Every pathology makes a server of the tests ill, and what is seen beside it is allowed and has a reason."""

from __future__ import annotations

from pathlib import Path

from fixtures.cross_fire import FOLDER, all_illnesses, allowed_pairs, cross_fire_page
from pgclinic.checkup.catalog import catalog

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cross-fire.md"
#: These no server of the lab can have: real snapshots get changed figures. The lab's programs have no JIT, and no disk
#: here is slow enough to flush for seconds.
BY_SNAPSHOT = {"jit-overeager": "test_planner.py", "checkpoint-flush-slow": "test_wal.py"}


def test_every_pathology_makes_a_server_ill() -> None:
    assert {illness.pathology for illness in all_illnesses()} == set(catalog()) - set(BY_SNAPSHOT)
    for name, file in BY_SNAPSHOT.items():
        assert f'"{name}"' in (FOLDER / file).read_text(encoding="utf-8")


def test_what_is_allowed_beside_an_illness_is_known_and_has_a_reason() -> None:
    for (ill, other), reason in allowed_pairs().items():
        assert {ill, other} <= set(catalog()), (ill, other)
        assert len(reason.split()) >= 3, (ill, other, reason)


def test_the_page_is_what_the_tests_allow() -> None:
    assert PAGE.read_text(encoding="utf-8") == cross_fire_page(), "run tools/write-cross-fire"

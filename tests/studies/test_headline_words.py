"""The headline claim of every shipped study gets its word on a real server: its own arms in few and short trials.

TPS on a machine that others use may be refused or left open; they may not be turned round, and the cause must show.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from fixtures.command import Command
from pgclinic.model.study import Claim
from pgclinic.store.machine import read_machine
from pgclinic.study.read import read_study, shipped_studies, study_text

#: Fewer blocks give no interval.
BLOCKS = 4
#: These have tests of their own: test_study_run.py and test_ladder.py; and a recorded day does not fit into seconds:
#: tests/server/test_horizon.py replays a short recording.
ELSEWHERE = {"global-counters", "slow-by-configuration", "horizon-replayed"}
#: Half of the memory is the most that a trial gets as shared_buffers.
LARGE_POOL = "8GB" if read_machine().memory_bytes > 17 * 2**30 else "2GB"


@dataclass(frozen=True)
class Small:
    """The headline claim of a study in a profile of its own, and the words that it may get."""

    study: str
    measure_s: dict[str, float]
    words: tuple[str, ...]
    warm_up_s: float = 0.0
    settings: str = ""
    changed: tuple[tuple[str, str], ...] = ()
    shows_on_a_busy_machine: bool = True
    #: The first claim, or one that seconds are enough for.
    claim_at: int = 0

    @property
    def claim(self) -> Claim:
        return read_study(self.study)[0].claims[self.claim_at]

    def text(self) -> str:
        """The shipped file with the profile ``small``."""
        text = study_text(self.study)
        for right, wrong in self.changed:
            assert right in text
            text = text.replace(right, wrong)
        measure = ", ".join(f"{arm} = {seconds}" for arm, seconds in self.measure_s.items())
        return (
            f'{text}\n[profiles.small]\nclaims = ["{self.claim.name}"]\nwarm_up_s = {self.warm_up_s}\n'
            f"measure_s = {{ {measure} }}\nblocks_min = {BLOCKS}\nblocks_max = {BLOCKS}\nbudget_s = 600\n"
            f"{self.settings}"
        )


SMALL = (
    # Snapshots are a fifth of the CPU here, so other programs may drown them; and four short blocks may leave it open.
    Small(
        "connection-scaling",
        {"idle-14-2000": 1.5, "idle-13-2000": 1.5},
        ("confirmed", "inconclusive"),
        warm_up_s=0.5,
        shows_on_a_busy_machine=False,
    ),
    Small(
        "drop-table",
        {"pool-8mb": 1.0, "pool-1gb": 1.0, "pool-8gb": 1.5},
        ("replicated", "replicated in direction"),
        warm_up_s=0.3,
        settings=f'settings = {{ pool-8gb = {{ shared_buffers = "{LARGE_POOL}" }} }}\n',
    ),
    # Every connection must get to its last table.
    Small("memory-contexts", {"tables-100": 1.0, "tables-400": 2.0, "tables-1600": 5.0}, ("confirmed",)),
    Small("query-identity", {"constants": 1.5, "same-constants": 1.5}, ("replicated",), warm_up_s=0.5),
    # A table so small that the first changes of its pages are over within the warm-up, on a slow machine too.
    Small(
        "wal-pressure",
        {"calm": 2.0, "checkpoints": 2.0},
        ("confirmed",),
        warm_up_s=3.0,
        changed=(("200000", "30000"),),
        shows_on_a_busy_machine=False,
    ),
    Small("which-of-the-32", {"base": 1.5, "planner": 3.0}, ("confirmed",), warm_up_s=0.5, settings="warehouses = 1\n"),
    # Against the defaults: how the two slow ones compare is open after seconds.
    Small(
        "worse-than-42000x",
        {"defaults": 1.5, "found": 3.0},
        ("confirmed",),
        warm_up_s=0.5,
        settings="warehouses = 1\n",
        changed=(("clients = 40", "clients = 10"),),
        claim_at=1,
    ),
)


def test_no_shipped_study_is_left_out() -> None:
    assert {small.study for small in SMALL} | ELSEWHERE == set(shipped_studies())


@pytest.mark.drawn(0.25)
@pytest.mark.parametrize("small", SMALL, ids=lambda small: small.study)
def test_the_headline_gets_its_word(command: Command, small: Small) -> None:
    file = command.folder / "small.toml"
    file.write_text(small.text(), encoding="utf-8")
    done = command.run("study", "run", str(file), "--profile", "small", "--seed", "3", "--json", timeout=560)
    assert done.returncode in (0, 4), done.stderr
    verdict: dict[str, Any] = json.loads(done.stdout)["verdict"]
    assert (verdict["trials_done"], verdict["trials_failed"]) == (BLOCKS * len(small.measure_s), 0), done.stderr
    (seen,) = verdict["claims"]
    assert seen["claim"] == small.claim.name
    assert seen["interval"]["blocks"] == BLOCKS, seen["reasons"]
    busy = "starved_cpu" in [doubt["kind"] for doubt in verdict["doubts"]]
    reasons: set[str | None] = {None}
    allowed = set(small.words)
    if busy and small.claim.measure == "tps":
        allowed |= {"inconclusive", "invalid"}
        reasons.add("starved_cpu")
    if busy and not small.shows_on_a_busy_machine:
        reasons.add("cause_not_shown")
    else:
        assert seen["mechanisms"]
        assert all(mechanism["moved"] for mechanism in seen["mechanisms"]), seen["mechanisms"]
        assert small.claim.measure != "tps" or (seen["interval"]["ratio"] - 1) * seen["direction"] > 0, seen["blocks"]
    assert seen["word"] in allowed, seen["reasons"]
    assert seen.get("invalid_because") in reasons, seen["reasons"]

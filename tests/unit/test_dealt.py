"""The order in which tests are dealt to workers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fixtures.dealt import dealt


@dataclass(frozen=True)
class Item:
    path: Path
    number: int
    is_drawn: bool = False

    def get_closest_marker(self, name: str) -> bool | None:
        return True if self.is_drawn and name == "drawn" else None


def module(name: str, count: int, drawn: int = 0) -> list[Item]:
    return [Item(Path("tests") / name, number, is_drawn=number < drawn) for number in range(count)]


def test_every_worker_begins_with_its_share_of_what_takes_long() -> None:
    items = [*module("unit/test_many.py", 400), *(one for n in range(8) for one in module(f"server/test_{n}.py", 5, 1))]
    found = dealt(items, 4)
    parts = [found[at : at + len(found) // 4] for at in range(0, len(found), len(found) // 4)]
    assert len(parts) == 4
    for part in parts:
        assert sum("server" in one.path.parts for one in part[:10]) == 10
        assert not any("server" in one.path.parts for one in part[10:])


@given(
    counts=st.lists(st.tuples(st.sampled_from(["unit", "server"]), st.integers(1, 9), st.integers(0, 3)), max_size=12),
    workers=st.integers(2, 5),
)
def test_nothing_is_lost_and_a_module_stays_together(counts: list[tuple[str, int, int]], workers: int) -> None:
    items = [
        one
        for number, (where, count, drawn) in enumerate(counts)
        for one in module(f"{where}/test_{number}.py", count, drawn)
    ]
    found = dealt(items, workers)
    assert sorted(found, key=lambda one: (one.path, one.number)) == sorted(
        items, key=lambda one: (one.path, one.number)
    )
    long = [one.path for one in found if "server" in one.path.parts]
    assert len(list(dict.fromkeys(long))) == sum(a != b for a, b in zip(long, [None, *long], strict=False))

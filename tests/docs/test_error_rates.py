"""docs/concepts/error-rates.md is what its program writes: the same tables, row for row, with figures within chance."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "concepts" / "error-rates.md").read_text()
STUDIES = 20


@pytest.fixture(scope="module")
def program() -> ModuleType:
    return loaded("verdict_simulations")


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "benches" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def part(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end -->", PAGE, re.DOTALL)
    assert found is not None, f"the page has no part {name}: run the program with --write"
    return found[1]


def labels(table: str) -> list[str]:
    """Head and first column."""
    head, _, *rows = table.splitlines()
    return [head, *(row.split(" | ")[0] for row in rows)]


def shares(table: str) -> list[float]:
    return [float(cell) / 100 for cell in re.findall(r"([0-9.]+) %(?= \|)", table)]


def test_every_part_of_the_page_is_one_that_the_program_writes(program: ModuleType) -> None:
    names = set(re.findall(r"<!-- (\w+) -->", PAGE)) - {"end"}
    assert names == {*program.SECTIONS, "program", "exceptions"}
    assert re.search(r"--studies \d+ --seed \d+ --write", part("program"))


@pytest.mark.parametrize(
    "name", ["equal", "edge", "coverage", "values", "widths", "kinds", "waves", "blocks", "sweeps", "steadiness"]
)
def test_a_table_is_what_the_program_makes_at_reduced_size(program: ModuleType, name: str) -> None:
    made = program.markdown(list(program.SECTIONS[name](STUDIES, np.random.default_rng(1))))
    assert labels(made) == labels(part(name))
    few, many = shares(made.replace(labels(made)[0], "")), shares(part(name).replace(labels(made)[0], ""))
    assert len(few) == len(many)
    # 10 or 20 runs are within 60 points of the rate in more than 9,999 of 10,000 cases.
    assert all(abs(one - other) < 0.6 for one, other in zip(few, many, strict=True))


def test_the_same_seed_gives_the_same_figures(program: ModuleType) -> None:
    once, again = (list(program.SECTIONS["edge"](STUDIES, np.random.default_rng(3))) for _ in range(2))
    assert once == again


def test_what_errs_too_often_is_named(program: ModuleType) -> None:
    assert program.exceptions([row for name in program.NOISES for row in rows_of(part(name))]) == part("exceptions")


def rows_of(table: str) -> list[tuple[str, str, str]]:
    """Row, column and figure of each cell."""
    head, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return [(line[0], column, seen) for line in lines for column, seen in zip(head[1:], line[1:], strict=True)]


def test_the_table_of_an_assay_is_that_of_the_kept_counts() -> None:
    bench = loaded("assay_error_rates")
    kept = [bench.Counted(**load) for load in json.loads(bench.KEPT.read_text())]
    page = bench.PAGE.read_text()
    assert f"<!-- assay -->\n{bench.table(kept)}\n<!-- end -->" in page
    assert [(one.deviation, one.heavy) for one in kept] == list(bench.NOISES)
    assert all(f"--runs {one.runs} --write" in page for one in kept)
    # One assay of the program finds a carrier of half the speed, and no other setting.
    assert bench.named({"s3": 0.5}, 0.05, 7, False) == {"s3"}

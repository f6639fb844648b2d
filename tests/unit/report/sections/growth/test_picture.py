"""The picture of a growth: lines that rise to the right, dashed behind the largest twin."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.growth import shop_growth
from pgclinic.report.sections.growth.picture import growth_picture


def test_lines_go_from_the_first_size_to_the_target() -> None:
    picture = growth_picture(shop_growth())
    assert picture is not None
    assert [tick.text for tick in picture.sizes] == ["1x", "2x", "4x", "8x", "10x"]
    assert picture.sizes[0].at == 0.0
    assert picture.sizes[-1].at == 100.0
    scan = picture.lines[0]
    assert [dot.x for dot in scan.dots] == sorted(dot.x for dot in scan.dots)
    # Further up is a smaller y.
    assert scan.dots[0].y > scan.dots[-1].y
    assert scan.beyond is not None
    assert scan.beyond[2] == 100.0
    assert scan.limits is not None
    assert scan.limits[1] >= scan.beyond[3] >= scan.limits[2]
    assert all(0 <= dot.y <= 100 for line in picture.lines for dot in line.dots)
    assert "Time per call at 10x the rows" in picture.description


def test_what_does_not_grow_is_level() -> None:
    picture = growth_picture(shop_growth())
    assert picture is not None
    lookup = next(line for line in picture.lines if "customer_id" in line.name)
    assert [dot.y for dot in lookup.dots] == pytest.approx([lookup.dots[0].y] * 4)


def test_without_statements_there_is_no_picture() -> None:
    assert growth_picture(replace(shop_growth(), statements=())) is None

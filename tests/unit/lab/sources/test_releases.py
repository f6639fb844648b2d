"""Versions as users write them, and which published release is meant."""

from __future__ import annotations

import pytest

from pgclinic.errors import UsageError
from pgclinic.lab.sources.releases import choose, nearest, parse_release
from pgclinic.model.version import Version, parse_version, version_of_number

PUBLISHED = [
    parse_release(text)
    for text in (
        "9.6.16",
        "9.6.24",
        "12.9.0",
        "13.1.0",
        "13.1.0-1",
        "13.3.0",
        "13.23.0",
        "14.10.0",
        "14.10.1",
        "18.6.0",
    )
]


@pytest.mark.parametrize(
    ("text", "shown", "number"),
    [
        ("13", "13", 130000),
        ("13.3", "13.3", 130003),
        ("9.6", "9.6", 90600),
        ("9.6.24", "9.6.24", 90624),
        ("18.6", "18.6", 180006),
        ("17rc1", "17rc1", 170000),
        ("postgres (PostgreSQL) 13.23", "13.23", 130023),
        ("PostgreSQL 16.4 (Debian 16.4-1.pgdg120+1) on x86_64", "16.4", 160004),
    ],
)
def test_versions_are_read_in_all_their_spellings(text: str, shown: str, number: int) -> None:
    version = parse_version(text)
    assert str(version) == shown
    assert version.number == number


@pytest.mark.parametrize("text", ["", "abc", "13.x", "9", "v13", "-1"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_version(text)


def test_numbers_become_versions() -> None:
    assert str(version_of_number(180006)) == "18.6"
    assert str(version_of_number(90624)) == "9.6.24"
    assert version_of_number(90624).major == 9


def test_versions_are_ordered_by_time() -> None:
    assert Version(family=90600, minor=24) < Version(family=130000, minor=3) < Version(family=130000, minor=23)


@pytest.mark.parametrize(
    ("wish", "coordinate"),
    [
        ("13", "13.23.0"),
        ("13.3", "13.3.0"),
        ("13.1", "13.1.0-1"),
        ("13.1.0", "13.1.0"),
        ("14", "14.10.1"),
        ("9.6", "9.6.24"),
        ("9.6.16", "9.6.16"),
        ("13.1.0-1", "13.1.0-1"),
        ("14.10.0", "14.10.0"),
        ("14.10.7", None),
        ("13.6", None),
        ("19", None),
    ],
)
def test_the_newest_fitting_release_is_chosen(wish: str, coordinate: str | None) -> None:
    chosen = choose(wish, PUBLISHED)
    assert (chosen.coordinate if chosen else None) == coordinate


@pytest.mark.parametrize(
    ("wish", "nearest"), [("13.4", "13.3"), ("13.99", "13.23"), ("19", "18.6"), ("9.5.3", "9.6.24"), ("11.1", "12.9")]
)
def test_the_nearest_release_is_of_the_same_branch_if_there_is_one(wish: str, nearest: str) -> None:
    assert str(min(PUBLISHED, key=lambda release: release.distance(wish)).version) == nearest


@pytest.mark.parametrize(
    ("wish", "meant"),
    [
        ("133", "13.3"),
        ("1323", "13.23"),
        ("1399", "13.23"),
        ("96", "9.6.24"),
        ("9624", "9.6.24"),
        ("88", "18.6"),
        ("777", "18.6"),
        ("13.4", "13.3"),
    ],
)
def test_a_version_without_its_point_leads_to_the_one_that_is_meant(wish: str, meant: str) -> None:
    assert str(nearest(wish, PUBLISHED).version) == meant


def test_a_branch_may_be_outdated_but_a_release_is_exact() -> None:
    release = parse_release("13.23.0")
    assert release.fits_exactly("13.23")
    assert not release.fits_exactly("13")
    assert not release.fits_exactly("13.3")


@pytest.mark.parametrize("text", ["", "13", "13.x.0", "13.3.0-SNAPSHOT"])
def test_what_is_no_coordinate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a published version"):
        parse_release(text)

"""Which values real servers start with."""

from __future__ import annotations

import pytest

from fixtures.drawn import drawn_majors
from fixtures.lab_home import MAJORS, binaries_for
from pgclinic.lab.cluster import settings_catalog
from pgclinic.lab.config_check import rejected_settings
from pgclinic.model.tuning import Aim, AttemptOutcome, Risk, SettingLevel
from pgclinic.tune.levels import allowed, levels_of
from pgclinic.tune.prior import HostSize, prior
from pgclinic.tune.start_check import starter, usable_levels

MACHINE = HostSize(memory_bytes=8 * 2**30, cores=2)


@pytest.mark.parametrize("major", MAJORS)
@pytest.mark.parametrize("aim", list(Aim))
def test_every_version_has_values_of_the_prior_and_others(major: str, aim: Aim) -> None:
    catalog = settings_catalog(binaries_for(major))
    levels = levels_of(catalog, prior(), aim, base={}, machine=MACHINE)
    assert [level.weight for level in levels] == sorted((level.weight for level in levels), reverse=True)
    assert sum(level.weight > 0 for level in levels) >= 15
    assert sum(level.weight == 0 for level in levels) >= 40
    may, may_not = allowed(levels, ())
    names, left_out = {one.setting for one in may}, {one.setting for one in may_not}
    assert not names & {"fsync", "full_page_writes", "synchronous_commit", "statement_timeout", "log_min_messages"}
    assert {"fsync", "statement_timeout"} <= left_out
    assert {"fsync", "full_page_writes"} <= {one.setting for one in allowed(levels, (Risk.DURABILITY,))[0]}
    assert "random_page_cost" in names
    assert all(level.setting not in ("port", "listen_addresses", "data_directory") for level in levels)


def test_the_names_of_the_prior_exist() -> None:
    """In one of the versions at least: a slip of the pen would be tried never."""
    known = {name.lower() for major in MAJORS for name in settings_catalog(binaries_for(major)).names()}
    for aim in Aim:
        for one in prior().advice(aim):
            assert {name.lower() for name in (one.setting, *one.together)} <= known | _ELSEWHERE, one.setting
            assert one.reason and one.source


#: Names of branches that are not tested everywhere.
_ELSEWHERE = {"force_parallel_mode", "debug_parallel_query"}


@pytest.mark.drawn(0.2)
@pytest.mark.parametrize("major", ["18", *drawn_majors("levels", MAJORS[1:])])
def test_what_the_prior_advises_starts(major: str) -> None:
    binaries = binaries_for(major)
    catalog = settings_catalog(binaries)
    levels = [one for one in levels_of(catalog, prior(), Aim.WORST, base={}, machine=MACHINE) if one.weight > 0]
    tried = usable_levels(allowed(levels, ())[0], starter(binaries, {}), catalog)
    failed = {one.level.setting: one.message for one in tried if one.outcome is not AttemptOutcome.DONE}
    # Some file systems of test machines know no direct I/O.
    assert failed.keys() <= {"debug_io_direct"}, failed


@pytest.mark.drawn(0.2)
def test_an_extreme_that_does_not_start_is_moved_until_it_does() -> None:
    """A pool of eight terabytes is a valid value of no machine."""
    binaries = binaries_for("18")
    level = SettingLevel(setting="shared_buffers", value="1073741823")
    (tried,) = usable_levels([level], starter(binaries, {}), settings_catalog(binaries))
    assert tried.outcome is AttemptOutcome.DONE
    assert tried.asked == "1073741823"
    assert 16_384 < int(tried.level.value) < 1_073_741_823
    assert tried.message is not None


def test_rejected_and_refused_are_kept_apart() -> None:
    binaries = binaries_for("18")
    levels = [
        SettingLevel(setting="work_mem", value="1MB"),
        SettingLevel(setting="default_tablespace", value="x"),
        SettingLevel(setting="wal_level", value="minimal"),
        SettingLevel(setting="work_mem", value="not a number"),
    ]
    outcomes = [level.outcome for level in usable_levels(levels, starter(binaries, {}), settings_catalog(binaries))]
    assert outcomes == [
        AttemptOutcome.DONE,
        AttemptOutcome.DONE,
        AttemptOutcome.REFUSED,
        AttemptOutcome.REJECTED,
    ]


def test_the_server_says_what_it_would_refuse_without_a_start() -> None:
    binaries = binaries_for("18")
    assert rejected_settings(binaries, {"work_mem": "64kB"}) is None
    words = rejected_settings(binaries, {"work_mem": "1kB"})
    assert words is not None and "work_mem" in words

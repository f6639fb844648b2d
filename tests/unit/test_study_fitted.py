"""The ladder on older servers: what they lack is replaced or left out, and the verdict says so."""

from __future__ import annotations

import pytest

from pgclinic.errors import StudyFileError, UnknownNameError
from pgclinic.model.load import Convention, Isolation
from pgclinic.model.trial import DoubtKind, ServerSpec
from pgclinic.study.expand import expand, profile_of, resolve_arm
from pgclinic.study.fitted import fitted
from pgclinic.study.read import parse_study, read_study, study_text

LADDER, TEXT = read_study("slow-by-configuration")


def settings_on(major: int, arm: str) -> dict[str, str]:
    study = fitted(LADDER, major).study
    return resolve_arm(study, profile_of(study, "full"), arm, {}).settings


def test_the_newest_branch_runs_all_that_was_published() -> None:
    suited = fitted(LADDER, 18)
    assert suited.study == LADDER
    assert suited.doubts == ()


def test_the_article_has_32_settings() -> None:
    own = {name for arm in LADDER.arms.values() for name in arm.settings}
    ours = {"work_mem", "max_connections", "max_worker_processes", "max_parallel_workers"}
    assert len(own - ours) == 32


def test_a_rung_keeps_the_settings_of_the_rungs_before() -> None:
    settings = settings_on(18, "io")
    assert settings["io_workers"] == "1"
    assert settings["random_page_cost"] == "1e300"
    assert settings["checkpoint_flush_after"] == "1"
    assert settings["autovacuum_naptime"] == "1"
    assert settings["shared_buffers"] == "8MB"
    assert settings_on(18, "wal")["shared_buffers"] == "2MB"


def test_an_older_branch_leaves_out_what_it_lacks_and_says_it() -> None:
    suited = fitted(LADDER, 14)
    assert "summarize_wal" not in settings_on(14, "wal")
    assert "track_wal_io_timing" in settings_on(14, "wal")
    assert settings_on(14, "autovacuum")["log_destination"] == "stderr"
    (doubt,) = suited.doubts
    assert doubt.kind is DoubtKind.SETTING_LEFT_OUT
    assert "io_workers = 1 (needs 18; left out)" in doubt.text
    assert "log_destination = stderr,jsonlog (needs 15; stderr instead)" in doubt.text


def test_an_arm_without_any_of_its_settings_goes_with_its_claims() -> None:
    suited = fitted(LADDER, 17)
    assert list(suited.study.arms) == ["base", "cache-8mb", "cache", "autovacuum", "wal", "planner"]
    assert all("io" not in (claim.arm, claim.control) for claim in suited.study.claims)
    assert len(suited.study.claims) == len(LADDER.claims) - 2


def test_an_arm_that_builds_on_a_lost_one_builds_on_what_is_left() -> None:
    text = TEXT.replace('builds_on = "planner"', 'builds_on = "between"').replace(
        "[arms.io]",
        '[arms.between]\nabout = "new"\nbuilds_on = "planner"\nsettings = { io_method = "sync" }\n\n[arms.io]',
    )
    text = text.replace("io = 20 }", "io = 20, between = 20 }").replace("io = 120 }", "io = 120, between = 120 }")
    text = text.replace('io_workers = "1"', 'work_mem = "1MB"')
    study = fitted(parse_study(text, "mine.toml"), 17).study
    assert "between" not in study.arms
    assert study.arms["io"].builds_on == "planner"


def test_a_profile_sets_what_its_size_needs_and_no_rung_is_changed_by_it() -> None:
    quick = profile_of(LADDER, "quick")
    assert resolve_arm(LADDER, quick, "base", {}).settings["shared_buffers"] == "2GB"
    assert resolve_arm(LADDER, quick, "cache", {}).settings["shared_buffers"] == "2MB"
    assert resolve_arm(LADDER, profile_of(LADDER, "full"), "base", {}).settings["shared_buffers"] == "10GB"


def test_the_load_is_tpcc_of_the_profiles_size() -> None:
    sizes = (("quick", 10, Isolation.READ_COMMITTED), ("full", 128, Isolation.SERIALIZABLE))
    for name, warehouses, isolation in sizes:
        profile = profile_of(LADDER, name)
        blocks = expand(LADDER, profile, seed=1, server=ServerSpec(version="18.6"), extra_settings={})
        for spec in blocks[0]:
            assert spec.load.tpcc is not None
            assert spec.load.tpcc.warehouses == warehouses
            assert spec.load.tpcc.convention is Convention.BENCHBASE
            assert spec.load.tpcc.isolation is isolation
            assert (spec.load.clients, spec.load.max_tries, spec.load.scripts) == (100, 3, ())
            assert spec.load.measure_s == profile.measure_s[spec.arm]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("warehouses = 10\n", "", "profiles.quick needs warehouses"),
        ('[workload.tpcc]\nconvention = "benchbase"\nisolation = "serializable"\nmax_tries = 3\n', "", "needs scripts"),
        ("clients = 100\n", 'clients = 100\nfill = "select 1;"\n', "brings its own data"),
        ("{ ratio = 2.381e-5, text", "{ ratio = 0.0, text", "must be above 0"),
    ],
)
def test_contradictions_in_the_file_are_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(StudyFileError, match=message):
        parse_study(TEXT.replace(old, new, 1), "mine.toml")


def test_settings_of_a_profile_name_an_arm() -> None:
    text = study_text("slow-by-configuration").replace(
        "[profiles.quick.settings.base]", "[profiles.quick.settings.bas]"
    )
    with pytest.raises(UnknownNameError, match="unknown arm 'bas'"):
        parse_study(text, "mine.toml")


def test_a_pool_beyond_half_of_the_memory_is_left_out_and_the_rungs_above_keep_the_rest() -> None:
    full = profile_of(LADDER, "full")
    suited = fitted(LADDER, 18, full, memory_bytes=16 * 2**30)
    assert "base" not in suited.study.arms
    settings = resolve_arm(suited.study, full, "cache", {}).settings
    assert settings["shared_buffers"] == "2MB"
    assert settings["work_mem"] == "32MB"
    (doubt,) = suited.doubts
    assert doubt.kind is DoubtKind.ARM_LEFT_OUT
    assert "base (shared_buffers = 10GB)" in doubt.text
    assert all("base" not in (claim.arm, claim.control) for claim in suited.study.claims)


def test_the_profiles_own_pool_counts() -> None:
    assert fitted(LADDER, 18, profile_of(LADDER, "quick"), memory_bytes=8 * 2**30).study == LADDER

"""The ladder on older servers: what they lack is replaced or left out, and the verdict says so."""

from __future__ import annotations

import pytest

from fixtures.planned import plan_of
from pgclinic.errors import StudyFileError, UnknownNameError
from pgclinic.experiment.fit import fitted
from pgclinic.experiment.plan import planned_trials
from pgclinic.model.dataset import TpccDataset
from pgclinic.model.doubt import DoubtKind
from pgclinic.model.load import Convention, Isolation
from pgclinic.model.traffic import TpccTraffic
from pgclinic.report.words.doubts import doubt_words
from pgclinic.study.inheritance import inherited_arm, profile_of
from pgclinic.study.read import parse_study, read_study, study_text

LADDER, TEXT = read_study("slow-by-configuration")


def settings_on(major: int, arm: str) -> dict[str, str]:
    study = fitted(LADDER, major).study
    return inherited_arm(study, profile_of(study, "full"), arm).settings


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
    assert "io_workers = 1 (needs 18; left out)" in doubt_words(doubt).text
    assert "log_destination = stderr,jsonlog (needs 15; stderr instead)" in doubt_words(doubt).text


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
    assert inherited_arm(LADDER, quick, "base").settings["shared_buffers"] == "2GB"
    assert inherited_arm(LADDER, quick, "cache").settings["shared_buffers"] == "2MB"
    assert inherited_arm(LADDER, profile_of(LADDER, "full"), "base").settings["shared_buffers"] == "10GB"


def test_the_load_is_tpcc_of_the_profiles_size() -> None:
    sizes = (("quick", 10, Isolation.READ_COMMITTED), ("full", 128, Isolation.SERIALIZABLE))
    for name, warehouses, isolation in sizes:
        profile = profile_of(LADDER, name)
        for spec in planned_trials(plan_of(LADDER, profile), 1):
            assert spec.dataset == TpccDataset(warehouses=warehouses)
            assert spec.traffic == TpccTraffic(convention=Convention.BENCHBASE, isolation=isolation)
            assert (spec.load.clients, spec.load.max_tries, spec.load.scripts) == (100, 3, ())
            assert spec.load.measure_s == profile.measure_s[spec.arm]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("warehouses = 10\n", "", "profiles.quick needs warehouses"),
        ('[workload.tpcc]\nconvention = "benchbase"\nisolation = "serializable"\nmax_tries = 3\n', "", "needs scripts"),
        ("clients = 100\n", 'clients = 100\nfill = "select 1;"\n', "has its own data"),
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
    settings = inherited_arm(suited.study, full, "cache").settings
    assert settings["shared_buffers"] == "2MB"
    assert settings["work_mem"] == "32MB"
    (doubt,) = suited.doubts
    assert doubt.kind is DoubtKind.ARM_LEFT_OUT
    assert "base (shared_buffers = 10GB)" in doubt_words(doubt).text
    assert all("base" not in (claim.arm, claim.control) for claim in suited.study.claims)


def test_the_profiles_own_pool_counts() -> None:
    assert fitted(LADDER, 18, profile_of(LADDER, "quick"), memory_bytes=8 * 2**30).study == LADDER


def test_an_arm_that_does_not_fit_takes_the_arms_built_on_it_with_it() -> None:
    """It used to leave the buffers of 8 GB to the arm that builds on it."""
    study, _ = read_study("drop-table")
    profile = profile_of(study, "full")
    suited = fitted(study, 18, profile, memory_bytes=12 * 2**30)
    sizes = {
        name: inherited_arm(suited.study, profile, name).settings.get("shared_buffers") for name in suited.study.arms
    }
    assert "8GB" not in sizes.values()
    gone = {name for name in study.arms if inherited_arm(study, profile, name).settings.get("shared_buffers") == "8GB"}
    assert any(study.arms[name].builds_on in gone for name in gone), "the study has an arm that inherits its buffers"
    assert not gone & suited.study.arms.keys()
    assert not [claim.name for claim in suited.study.claims if {claim.arm, claim.control} & gone]

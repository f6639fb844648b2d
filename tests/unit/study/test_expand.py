"""Expansion: seeded order, literals only, the same load for both arms of a block."""

from __future__ import annotations

import itertools
import tracemalloc
from collections import Counter

import msgspec
import pytest
from msgspec.structs import replace

from fixtures.headline import headline_text
from fixtures.planned import plan_of, planned_blocks
from pgclinic.errors import UnknownNameError
from pgclinic.experiment.plan import planned_trials
from pgclinic.experiment.resolve import resolve
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.study import Holder
from pgclinic.model.trial import ServerSpec, TrialSpec
from pgclinic.study.inheritance import profile_of
from pgclinic.study.read import parse_study, read_study, shipped_studies

STUDY = parse_study(headline_text(), "headline.toml")


def blocks_of(seed: int, extra: dict[str, str] | None = None) -> tuple[tuple[TrialSpec, ...], ...]:
    return tuple(planned_blocks(plan_of(STUDY, profile_of(STUDY, "full"), seed=seed, settings=extra)))


def test_every_block_has_one_trial_of_every_arm() -> None:
    blocks = blocks_of(7)
    assert len(blocks) == STUDY.profiles["full"].blocks_max
    for number, block in enumerate(blocks, start=1):
        assert {spec.arm for spec in block} == {"free", "held"}
        assert {spec.block for spec in block} == {number}
        assert [spec.position for spec in block] == [1, 2]
    assert [spec.number for block in blocks for spec in block] == list(range(1, 2 * len(blocks) + 1))


def test_the_seed_decides_the_order_and_nothing_else_does() -> None:
    assert blocks_of(7) == blocks_of(7)
    orders = {tuple(spec.arm for block in blocks_of(seed) for spec in block) for seed in range(20)}
    # Every second cycle mirrors the one before it, so that few blocks have few orders.
    assert len(orders) > 8
    first = Counter(block[0].arm for seed in range(20) for block in blocks_of(seed))
    assert 0.35 < first["free"] / sum(first.values()) < 0.65


def test_blocks_are_made_as_they_are_needed() -> None:
    """Ten million blocks mean "until the budget is spent"; made all at once they took 7 GB."""
    plan = plan_of(STUDY, replace(profile_of(STUDY, "full"), blocks_max=10_000_000), seed=7)
    tracemalloc.start()
    some = [*itertools.islice(planned_blocks(plan), 50)]
    last = planned_trials(plan, 10_000_000)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 5_000_000
    assert tuple(some[:20]) == blocks_of(7)[:20]
    assert last[0].block == 10_000_000


def test_both_arms_of_a_block_draw_the_same_rows() -> None:
    seeds = [{spec.load.seed for spec in block} for block in blocks_of(7)]
    assert all(len(of_block) == 1 for of_block in seeds)
    assert len({next(iter(of_block)) for of_block in seeds}) == len(seeds)


def test_arms_build_on_each_other() -> None:
    text = headline_text().replace(
        'about = "nothing holds the horizon"',
        'about = "nothing holds the horizon"\nsettings = { work_mem = "1MB", fsync = "off" }',
    )
    text = text.replace('builds_on = "free"', 'builds_on = "free"\nsettings = { work_mem = "2MB" }')
    study = parse_study(text, "mine.toml")
    plan = plan_of(study, profile_of(study, "quick"), settings={"shared_buffers": "64MB"})
    by_arm = {spec.arm: spec for spec in planned_trials(plan, 1)}
    assert by_arm["free"].settings == {"work_mem": "1MB", "fsync": "off", "shared_buffers": "64MB"}
    assert by_arm["held"].settings == {"work_mem": "2MB", "fsync": "off", "shared_buffers": "64MB"}
    assert by_arm["held"].condition.horizon_held_by is Holder.SESSION
    assert by_arm["free"].condition.horizon_held_by is None


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown profile 'quik'"):
        profile_of(STUDY, "quik")


@pytest.mark.parametrize("name", shipped_studies())
def test_the_plan_of_every_profile_is_read_back_as_it_was_written(name: str) -> None:
    """A region without an upper limit was written as null, which is no number."""
    study, _ = read_study(name)
    for profile in study.profiles:
        plan = resolve(study, profile, seed=1, server=ServerSpec(version="18.6"), major=18, memory_bytes=2**36)
        assert plan.study.claims
        assert msgspec.json.decode(msgspec.json.encode(plan), type=ExperimentPlan) == plan


def test_settings_have_one_name_whatever_their_case_is() -> None:
    """The nearer value wins also where it is spelled otherwise, and what decides on a setting finds it."""
    spelled = replace(STUDY.arms["free"], settings={"Shared_Buffers": "1GB", "TIMEZONE": "UTC"})
    study = replace(STUDY, arms=STUDY.arms | {"free": spelled})
    plan = plan_of(study, profile_of(STUDY, "full"), settings={"SHARED_BUFFERS": "256MB"})
    own = plan.arms["free"].settings
    assert own["shared_buffers"] == "256MB"
    assert own["TimeZone"] == "UTC"
    assert len({name.lower() for name in own}) == len(own)

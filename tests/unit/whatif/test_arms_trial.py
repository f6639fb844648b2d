"""What a transaction has to do to make arm b of arm a on a twin."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.planned import plan_of
from fixtures.records import global_counters
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.plan import ArmSpec
from pgclinic.whatif.arms_trial import arms_change

STUDY = global_counters()
ARM = next(iter(plan_of(STUDY, STUDY.profiles["quick"], seed=7).arms.values()))


def arm(changes: str = "", **settings: str) -> ArmSpec:
    return replace(ARM, dataset=TwinDataset(name="shop", sha256="0", changes=changes), settings=settings)


def test_settings_and_statements_that_b_has_beyond_a_are_the_change() -> None:
    a = arm("create index i on t (a);", work_mem="4MB", jit="on")
    b = arm("create index i on t (a);\ncreate index j\n  on t (b);\n", work_mem="64MB", jit="on")
    change = arms_change(a, b)
    assert change is not None
    assert (change.settings, change.before) == ({"work_mem": "64MB"}, {"work_mem": "4MB"})
    assert change.statements == ("create index j\n  on t (b)",)
    assert change.only_indexes


def test_a_setting_that_a_leaves_at_its_default_has_no_value_before() -> None:
    change = arms_change(arm(), arm(work_mem="64MB"))
    assert change is not None
    assert (change.settings, change.before, change.statements) == ({"work_mem": "64MB"}, {}, ())


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (arm(), arm()),
        (arm(work_mem="4MB"), arm()),
        (arm("create index i on t (a);"), arm()),
        (arm("create index i on t (a);"), arm("create index j on t (a);")),
        (replace(arm(), dataset=ARM.dataset), arm(work_mem="4MB")),
        (arm(), replace(arm(work_mem="4MB"), server=replace(ARM.server, version="14.1"))),
    ],
    ids=["same", "setting-gone", "index-gone", "other-index", "no-twin", "other-version"],
)
def test_what_no_transaction_makes_of_a_is_not_tried(a: ArmSpec, b: ArmSpec) -> None:
    assert arms_change(a, b) is None

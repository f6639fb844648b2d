"""Which statements of an arm are a migration."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.comparison import asked
from fixtures.planned import plan_of
from pgclinic.model.dataset import SqlDataset, TwinDataset
from pgclinic.study.compare import PROFILE
from pgclinic.whatif.migration_locks import added_statements

STUDY = asked()
ARM = plan_of(STUDY, STUDY.profiles[PROFILE]).arms["a"]
TWIN = TwinDataset(name="shop", sha256="0" * 64)


def added(a: str, b: str) -> tuple[str, ...]:
    one, other = (replace(ARM, dataset=replace(TWIN, changes=changes)) for changes in (a, b))
    return added_statements(one, other)


def test_a_migration_is_what_b_runs_after_what_both_run() -> None:
    assert added("", "create index i on t (a);\n-- why\ndrop index j;\n") == (
        "create index i on t (a);",
        "-- why\ndrop index j;",
    )
    assert added("select 1;\n", "select 1;\nselect 2;\n") == ("select 2;",)
    assert added("select 1;\n", "select 2;\n") == ()
    assert added("select 1;\n", "select 1;\n") == ()


def test_only_a_twin_has_rows_to_lock() -> None:
    own = replace(ARM, dataset=SqlDataset(statements="create table t (a int);"))
    assert added_statements(own, own) == ()

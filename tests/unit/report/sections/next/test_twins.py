"""What to do after advise, upgrade and grow follows from their answers."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.advised import an_advice
from fixtures.growth import shop_growth
from fixtures.records import run_info
from fixtures.upgrades import BEFORE_ANALYZE, PREFLIGHT, SLOWER, UNCHANGED, UNEXPLAINED, UPGRADE
from pgclinic.model.advise import AdviceWord
from pgclinic.model.upgrade import Preflight
from pgclinic.report.reported import ReportedAdvice, ReportedGrowth, ReportedUpgrade
from pgclinic.report.sections.next.step import NextStep
from pgclinic.report.sections.next.twins import advice_next, growth_next, upgrade_next

INFO = run_info(command=("pgclinic", "advise", "shop.twin"), budget_s=300.0)


def after_advice(**changed: object) -> NextStep:
    return advice_next(ReportedAdvice(INFO, an_advice(**changed), "runs/r"))


def after_upgrade(**changed: object) -> NextStep:
    return upgrade_next(ReportedUpgrade(INFO, replace(UPGRADE, **changed), "runs/r"))


def test_advised_indexes_are_created_and_others_are_not() -> None:
    step = after_advice()
    assert step.is_sql
    assert all(f"{line};" in step.commands for index in an_advice().indexes for line in index.create)
    unproven = after_advice(proof=None)
    assert "on a test server first" in unproven.words
    assert after_advice(word=AdviceWord.CONTRADICTED).commands == ()
    none = after_advice(word=AdviceWord.NONE, indexes=(), drops=())
    assert none == NextStep("create no index")
    late = after_advice(word=AdviceWord.NONE, indexes=(), measured=0, candidates=9, budget_s=60.0)
    assert late.commands == ("pgclinic advise shop.twin --budget 20m",)


def test_what_stops_an_upgrade_comes_before_a_statement_that_becomes_slower() -> None:
    assert after_upgrade(preflight=PREFLIGHT).words.startswith("before the upgrade: ")
    slower = after_upgrade(preflight=Preflight(), statements=(UNEXPLAINED, SLOWER))
    assert SLOWER.cause is not None
    assert slower.is_sql
    assert all(name in slower.text for name in SLOWER.cause.settings)
    alone = after_upgrade(preflight=Preflight(), statements=(UNEXPLAINED,))
    assert "two plans" in alone.words
    analyze = after_upgrade(preflight=Preflight(), statements=(), before_analyze=BEFORE_ANALYZE)
    assert analyze.commands[0].startswith("vacuumdb ")
    nothing = after_upgrade(preflight=Preflight(), statements=(UNCHANGED,), before_analyze=None)
    assert nothing.words.startswith("go ahead with the upgrade: nothing has to be done")


def test_the_statement_that_grows_most_is_looked_at() -> None:
    growth = shop_growth()
    step = growth_next(ReportedGrowth(INFO, growth, "runs/r"))
    assert step.commands == ("pgclinic checkup --prove DSN",)
    assert "look at the plan of" in step.words
    open_ = growth_next(ReportedGrowth(INFO, replace(growth, server_time=None), "runs/r"))
    assert "larger budget" in open_.words
    still = growth_next(ReportedGrowth(INFO, replace(growth, statements=()), "runs/r"))
    assert still.commands == ()

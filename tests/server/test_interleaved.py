"""Interleaved blocks on real servers: arms take turns, fail together, and leave nothing."""

from __future__ import annotations

import json
import signal
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fixtures.command import Command, wait_for
from fixtures.lab_home import python
from pgclinic.errors import UsageError
from pgclinic.experiment.resolve import UNRESOLVED_TARGET
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import start_server
from pgclinic.lab.orphan_cleanup import clean_up_orphans
from pgclinic.lab.registry import entries
from pgclinic.load.engine import run_load
from pgclinic.model.block import BlockMode, BlockSpec
from pgclinic.model.dataset import SqlDataset
from pgclinic.model.doubt import DoubtKind
from pgclinic.model.load import LoadResult, LoadSpec, Script, Windows, WindowSpan
from pgclinic.model.study import Condition, WarmUpEnd
from pgclinic.model.traffic import ScriptTraffic
from pgclinic.model.trial import ServerSpec, TrialOutcome, TrialRecord, TrialSpec
from pgclinic.pg.load_target import target_of
from pgclinic.pg.session import Access, Session
from pgclinic.trial.interleaved import run_interleaved
from pgclinic.trial.run import TrialListener

TABLE = "create table item (id int primary key);\ninsert into item select generate_series(1, 1000);\n"
LOOKUP = "\\set id random(1, 1000)\nselect id from item where id = :id;\n"
# Half a second of work and more, on any machine.
LONG = "select sum(n) from generate_series(1, 3000000) as n;\n"


def arm(name: str, position: int, script: str = LOOKUP, fill: str = TABLE, measure_s: float = 2.0) -> TrialSpec:
    return TrialSpec(
        number=position,
        block=1,
        position=position,
        arm=name,
        server=ServerSpec(version="18"),
        settings={},
        dataset=SqlDataset(statements=fill),
        traffic=ScriptTraffic(scripts=(Script(name="script", text=script),)),
        condition=Condition(),
        load=LoadSpec(target=UNRESOLVED_TARGET, clients=2, warm_up_s=0.5, measure_s=measure_s, seed=5),
    )


def block(*trials: TrialSpec, window_s: float = 0.5, guard_s: float = 0.05) -> BlockSpec:
    return BlockSpec(number=1, trials=trials, mode=BlockMode.INTERLEAVED, window_s=window_s, guard_s=guard_s)


def turns_of(record: TrialRecord) -> list[tuple[float, float, str]]:
    """When the arm's windows counted, in epoch seconds."""
    load = record.load
    assert load is not None and load.windows is not None
    began_s = load.started_epoch_us / 1e6
    return [(began_s + one.at_s, began_s + one.at_s + one.counted_s, record.spec.arm) for one in load.windows.each]


@pytest.mark.drawn(0.2)
@pytest.mark.usefixtures("fresh_home")
def test_arms_take_turns_and_count_for_the_same_time() -> None:
    stages: list[str] = []
    seconds: list[str] = []
    listener = TrialListener(on_stage=stages.append, on_second=lambda second: seconds.append(second.arm))
    asked = block(arm("b", 1), arm("a", 2))
    records = run_interleaved(asked, lambda _: listener)
    assert [record.spec for record in records] == list(asked.trials), "what was planned, in its order"
    assert [record.outcome for record in records] == [TrialOutcome.DONE] * 2, [record.failure for record in records]
    turns = sorted(turn for record in records for turn in turns_of(record))
    assert len(turns) == 12
    # Epochs come from two engines that read the clock at different times.
    assert all(earlier[1] <= later[0] + 0.02 for earlier, later in pairwise(turns)), turns
    order = "".join(name for _, _, name in turns)
    assert all(order[at : at + 4] in {"abba", "baab"} for at in range(0, 12, 4)), order
    for record in records:
        load = record.load
        assert load is not None and load.windows is not None
        assert load.measured_s == pytest.approx(2.0, abs=1e-3)
        assert load.span_s > 1.8 * load.measured_s and load.loaded_s == pytest.approx(2.25, abs=0.06)
        assert load.transactions == sum(one.transactions for one in load.windows.each) > 0
        assert record.resting is not None and record.resting.cores > 0
        assert len(record.samples.of("database")) >= 2 and record.cpu is not None
        assert not {doubt.kind for doubt in record.doubts} & {DoubtKind.SHORT_TRIAL, DoubtKind.BLED_INTO_WINDOW}
    assert {"starting", "warming up", "probing"} <= set(stages) and set(seconds) == {"a", "b"}
    assert entries() == ()


@pytest.mark.usefixtures("fresh_home")
def test_an_arm_that_cannot_be_had_fails_the_whole_block() -> None:
    broken = arm("b", 2, fill=TABLE + "select 1 / 0;\n")
    records = run_interleaved(block(arm("a", 1), broken), lambda _: TrialListener())
    assert [record.outcome for record in records] == [TrialOutcome.FAILED] * 2
    assert "division by zero" in (records[1].failure or "")
    told = records[0].failure or ""
    assert told.startswith("not measured: the arms of an interleaved block run together, and arm b failed: "), told
    assert "division by zero" in told and records[0].load is None
    assert entries() == ()


def test_work_in_the_windows_of_the_other_arm_gives_a_doubt() -> None:
    records = run_interleaved(
        block(arm("a", 1, measure_s=3.0), arm("b", 2, script=LONG, measure_s=3.0)), lambda _: TrialListener()
    )
    doubts = {record.spec.arm: {doubt.kind for doubt in record.doubts} for record in records}
    kept = {record.spec.arm: record.resting for record in records}
    assert DoubtKind.BLED_INTO_WINDOW in doubts["b"], kept
    assert DoubtKind.BLED_INTO_WINDOW not in doubts["a"], kept
    load = records[1].load
    assert load is not None and load.windows is not None and load.windows.overran > 0


def test_arms_that_cannot_take_turns_are_refused() -> None:
    longer = arm("b", 2, measure_s=3.0)
    steady = replace(arm("b", 2), warm_up_ends=WarmUpEnd.STEADY)
    for trials, words in (
        ((arm("a", 1),), "two arms or more"),
        ((arm("a", 1), arm("a", 2)), "each once"),
        ((arm("a", 1), longer), "for the same time"),
        ((arm("a", 1), steady), "fixed length"),
    ):
        with pytest.raises(UsageError, match=words):
            run_interleaved(block(*trials), lambda _: TrialListener())


@pytest.mark.usefixtures("fresh_home")
def test_wrong_usage_of_one_arm_is_raised_when_nothing_runs_any_more() -> None:
    wrong = replace(arm("b", 2), settings={"work_mem": "much"})
    with pytest.raises(UsageError, match="work_mem"):
        run_interleaved(block(arm("a", 1), wrong), lambda _: TrialListener())
    assert entries() == ()


BLOCK = """
    import sys
    from pgclinic.cli.main import answer_signals
    from pgclinic.model.block import BlockMode, BlockSpec
    from pgclinic.model.dataset import SqlDataset
    from pgclinic.model.load import LoadSpec, Script, Target
    from pgclinic.model.study import Condition
    from pgclinic.model.traffic import ScriptTraffic
    from pgclinic.model.trial import ServerSpec, TrialSpec
    from pgclinic.trial.interleaved import run_interleaved
    from pgclinic.trial.run import TrialListener
    answer_signals()
    def arm(name, position):
        return TrialSpec(
            number=position, block=1, position=position, arm=name, server=ServerSpec(version="18"), settings={},
            dataset=SqlDataset(), traffic=ScriptTraffic(scripts=(Script(name="s", text="select 1;"),)),
            condition=Condition(),
            load=LoadSpec(target=Target(host="", port=0, user="", database=""), clients=2, measure_s=60.0),
        )
    block = BlockSpec(number=1, trials=(arm("a", 1), arm("b", 2)), mode=BlockMode.INTERLEAVED)
    run_interleaved(block, lambda _: TrialListener(on_second=lambda second: print("second", flush=True)))
    print("over", flush=True)
"""


@pytest.mark.alone
def test_an_interrupt_ends_the_block_and_leaves_nothing(fresh_home: Path) -> None:
    process = python(BLOCK)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "second"
    assert len(entries()) == 2
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err and "over" not in out
    assert process.returncode != 0
    wait_for(lambda: list((fresh_home / "instances").iterdir()) == [])
    assert clean_up_orphans() == ()


def test_a_load_stays_connected_between_its_windows_and_asks_nothing(binaries: Binaries) -> None:
    with start_server(binaries, settings={}) as running:
        access = Access(running.server)
        origin_us = time.monotonic_ns() // 1000
        spec = LoadSpec(
            target=target_of(access),
            scripts=(Script(name="one", text="select 1;"),),
            clients=4,
            measure_s=0.8,
            windows=Windows(
                origin_monotonic_us=origin_us,
                spans=(WindowSpan(begin_s=1.0, end_s=1.5), WindowSpan(begin_s=4.5, end_s=5.0)),
                guard_s=0.1,
            ),
        )
        found: list[LoadResult] = []
        load = threading.Thread(target=lambda: found.append(run_load(spec)))
        load.start()
        with Session(access, statement_timeout_ms=5000, application_name="test", users_search_path=True) as session:
            time.sleep(max(0.0, origin_us / 1e6 + 3.0 - time.monotonic()))
            looked_s = time.monotonic() - origin_us / 1e6
            asked = session.rows(
                "select state, extract(epoch from clock_timestamp() - state_change) from pg_stat_activity "
                "where application_name = 'pgclinic-load'"
            )
        load.join()
    assert looked_s < 4.5, "this machine is too slow for this test"
    assert [state for state, _ in asked] == ["idle"] * 4
    assert all(float(idle_s) > 0.5 for _, idle_s in asked)
    (result,) = found
    assert result.windows is not None and len(result.windows.each) == 2
    assert all(one.transactions > 0 for one in result.windows.each)
    assert result.measured_s == pytest.approx(0.8, abs=1e-3) and result.span_s == pytest.approx(3.9, abs=1e-3)


def test_windows_that_cannot_be_are_wrong_usage() -> None:
    spec = replace(arm("a", 1).load, windows=Windows(origin_monotonic_us=1, spans=()))
    scripts = (Script(name="one", text="select 1;"),)
    target = replace(UNRESOLVED_TARGET, host="/tmp", port=5432, user="u", database="d")
    with pytest.raises(UsageError, match=r"windows\.spans: at least one is needed"):
        run_load(replace(spec, target=target, scripts=scripts))


def compared(command: Command, seconds: tuple[float, float], *words: str) -> dict[str, Any]:
    (command.folder / "sleep.sql").write_text("select pg_sleep(:t);\n", encoding="utf-8")
    arms = [word for name, t in zip("ab", seconds, strict=True) for word in (f"--{name}", f"var:t={t:g}")]
    done = command.run(
        *("compare", "--script", "sleep.sql", *arms, "--interleaved", "--no-calibrate", "--json"),
        *("--warm-up", "0.5s", "--seed", "7", *words),
        timeout=200,
    )
    assert done.returncode in (0, 4), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)["comparison"]
    return found


@pytest.mark.drawn(0.2)
def test_transactions_as_long_as_their_windows_do_not_bias_the_ratio(command: Command) -> None:
    """0.9 s against 1.2 s: in windows of a second most of the one and all of the other would count for nothing."""
    found = compared(command, (0.9, 1.2), "--measure", "6s", "--blocks", "4")
    kinds = [doubt["kind"] for doubt in found["doubts"]]
    assert "windows_too_short" in kinds
    assert 0.6 < found["interval"]["ratio"] < 0.95
    assert found["interval"]["blocks"] == 4


@pytest.mark.drawn(0.2)
def test_short_transactions_keep_their_windows(command: Command) -> None:
    found = compared(command, (0.005, 0.005), "--measure", "2s", "--blocks", "4")
    assert "windows_too_short" not in [doubt["kind"] for doubt in found["doubts"]]
    assert all(record["load"]["windows"] is not None for record in command.records())

"""Comparisons on a twin: the shop is captured, and an index is judged on its twin through the command."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.command import Command
from fixtures.shop import DATABASE, shop_scripts, shop_server
from pgclinic.load.engine import Stopper, run_load
from pgclinic.model.load import LoadSpec
from pgclinic.pg.load_target import target_of
from pgclinic.pg.reach import in_database
from pgclinic.pg.session import Access

QUICK = ("--measure", "1s", "--warm-up", "0", "--blocks", "4", "-c", "2", "--seed", "3", "--no-calibrate", "--json")


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The shop after its clients have run for some seconds."""
    folder = tmp_path_factory.mktemp("twin")
    with shop_server("18") as running:
        access = in_database(Access(running.server), DATABASE)
        # Until it is stopped: on a busy machine the command takes its time to begin.
        spec = LoadSpec(target=target_of(access), scripts=shop_scripts(), clients=2, measure_s=300.0)
        stopper = Stopper()
        load = threading.Thread(target=run_load, args=(spec,), kwargs={"stopper": stopper})
        load.start()
        path = folder / "shop.twin"
        server = running.server
        dsn = f"host={server.host} port={server.port} user={server.user} dbname={DATABASE}"
        captured = Command(folder).run("capture", "twin", dsn, "-o", str(path), "--observe", "6s")
        stopper.stop()
        load.join()
        assert captured.returncode == 0, captured.stderr
    yield path


def test_an_index_is_judged_on_the_twin(twin: Path, command: Command) -> None:
    drop = 'index:create index order_by_total_idx on "order" (total)'
    ran = command.run("compare", "--twin", str(twin), "--b", drop, *QUICK, timeout=400)
    assert ran.returncode in (0, 4), ran.stderr
    assert "twin: " in ran.stderr
    seen = json.loads(ran.stdout)["comparison"]
    statements = len(seen["fidelity"]["statements"])
    assert statements > 40
    # Most were tried alone with the index before the blocks, and nearly all are as they were.
    tried = [one["tried_ratio"] for one in seen["fidelity"]["statements"] if one["tried_ratio"] is not None]
    assert len(tried) > statements / 2
    assert sum(ratio < 1.2 for ratio in tried) > len(tried) / 2
    folder = command.only_run()
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["arms"]["a"]["dataset"]["kind"] == "twin"
    assert plan["arms"]["a"]["dataset"]["changes"] == ""
    assert "create index" in plan["arms"]["b"]["dataset"]["changes"]
    records = command.records()
    # A busy machine may cost a block, which is then run again in longer windows.
    assert len({record["spec"]["block"] for record in records}) == 4
    assert 8 <= len(records) <= 8 + 4
    assert all(record["load"]["transactions"] > 0 for record in records)
    assert "The twin and its original" in (folder / "report.html").read_text()
    # The answer is about the original, whatever the commits of the twin are.
    assert seen["transport"] is not None
    assert seen["transport"]["by_server"]
    # Windows of a second: which of the rarer statements run in them is chance.
    assert seen["transport"]["measured_share"] > 0.3
    assert seen["transport"]["sessions"] == 2
    assert seen["word"] == seen["transport"]["word"] or seen["invalid_because"] == "starved_cpu"
    again = command.run("study", "judge", str(folder), "--json")
    assert json.loads(again.stdout)["comparison"]["word"] == seen["word"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--twin", "shop.twin", "--b", "index:drop index x"), "takes a CREATE INDEX statement"),
        (("--twin", "shop.twin", "--tpcc", "--b", "set:jit=on"), "mutually exclusive"),
        (("--twin", "shop.twin", "--dsn", "host=x", "--b", "set:jit=on"), "mutually exclusive"),
        (("--twin", "nothing.twin", "--b", "set:jit=on"), "nothing.twin"),
        (("--tpcc", "--b", "index:create index i on item (i_price)"), "mutually exclusive"),
    ],
)
def test_what_does_not_go_together_is_refused(twin: Path, command: Command, words: tuple[str, ...], said: str) -> None:
    (command.folder / "shop.twin").write_bytes(twin.read_bytes())
    refused = command.run("compare", *words)
    assert (refused.returncode, said in refused.stderr) == (1, True), refused.stderr
    assert not list(command.runs.glob("*"))


@pytest.mark.drawn(0.2)
def test_an_index_is_judged_on_pgbench_tables_too(command: Command) -> None:
    change = "index:create index on pgbench_accounts (abalance)"
    ran = command.run("compare", "--b", change, "--script", "builtin:select-only", *QUICK)
    assert ran.returncode in (0, 4), ran.stderr
    plan = json.loads((command.only_run() / "plan.json").read_text())
    assert plan["arms"]["b"]["dataset"]["statements"].endswith("(abalance);")


@pytest.mark.drawn(0.2)
def test_bench_runs_the_workload_of_a_twin(twin: Path, command: Command) -> None:
    ran = command.run("bench", "--twin", str(twin), "-T", "2", "--json")
    assert ran.returncode == 0, ran.stderr
    assert "twin: " in ran.stderr
    result = json.loads(ran.stdout)
    assert len(result["load"]["scripts"]) > 10
    assert result["load"]["transactions"] > 0
    refused = command.run("bench", "--twin", str(twin), "-S", "-T", "1")
    assert (refused.returncode, "mutually exclusive" in refused.stderr) == (1, True), refused.stderr

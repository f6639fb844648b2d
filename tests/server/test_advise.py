"""``advise`` on the shop without some of its indexes: it finds those that matter and drops none that it must keep."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fixtures.application import at_work
from fixtures.command import PATIENCE, Command, alive, postmaster_below, wait_for
from fixtures.shop import DATABASE, SHOP
from pgclinic.twin.file import read_twin

#: Taken away, and by which column the statements then look for rows of which table.
TAKEN = {
    "order_customer_id_ordered_at_idx": ('public."order"', "customer_id"),
    "address_customer_id_kind_idx": ("public.address", "customer_id"),
    "support_ticket_customer_id_idx": ("public.support_ticket", "customer_id"),
}
#: The same keys as stock_product_id_idx, and one that is unique: it enforces something.
PLANTED = (
    "create index stock_product_id_again on stock (product_id)",
    "create unique index customer_once on customer (customer_id, email)",
)


@dataclass(frozen=True)
class Advised:
    """The advice on a live server, and the run that has its twin."""

    advice: dict[str, Any]
    folder: Path
    script: str
    stderr: str

    @property
    def twin(self) -> Path:
        return self.folder / "proofs" / f"{DATABASE}.twin"


@pytest.fixture(scope="module")
def advised(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Advised]:
    folder = tmp_path_factory.mktemp("advise")
    with SHOP.copied_server("18") as running:
        with SHOP.session(running) as session:
            for statement in (*(f"drop index {name}" for name in TAKEN), *PLANTED):
                session.execute(statement)
            session.execute("select pg_stat_statements_reset()")
        server = running.server
        dsn = f"host={server.host} port={server.port} user={server.user} dbname={DATABASE}"
        with at_work(SHOP.load(running, clients=2, rate_tps=100)):
            time.sleep(5)
            ran = Command(folder).run(
                "advise", dsn, "--no-prove", "--budget", "5m", "-o", "shop.sql", "--json", timeout=500
            )
    assert ran.returncode == 0, ran.stderr
    output = json.loads(ran.stdout)
    yield Advised(output["advice"], folder / output["run"], (folder / "shop.sql").read_text(), ran.stderr)


def test_the_indexes_that_matter_are_found_again(advised: Advised) -> None:
    advice = advised.advice
    assert advice["word"] == "indexes advised"
    assert advice["saved_share"] > 0.2
    found = {(index["definition"]["table"], key) for index in advice["indexes"] for key in index["definition"]["keys"]}
    assert set(TAKEN.values()) <= found, found


def test_each_index_serves_statements_and_has_a_part_of_its_own(advised: Advised) -> None:
    for index in advised.advice["indexes"]:
        assert index["saved_share"] >= 0.005, index
        assert index["size_bytes"] > 0
        best = index["serves"][0]
        assert best["time_ms_after"] < best["time_ms"], best
    assert sum(index["cost"]["wal_bytes_after"] for index in advised.advice["indexes"]) > 0


def test_a_duplicate_can_be_dropped_and_what_enforces_something_never(advised: Advised) -> None:
    drops = {drop["name"]: drop for drop in advised.advice["drops"]}
    same = {"public.stock_product_id_again", "public.stock_product_id_idx"}
    assert len(same & drops.keys()) == 1, drops
    twin = read_twin(advised.twin)
    enforcing = {key.name for table in twin.tables for key in table.keys}
    enforcing |= {index.name for table in twin.tables for index in table.indexes if index.is_unique}
    assert not enforcing & drops.keys()
    # Statements were counted for seconds: nothing is called unused.
    assert "unused" not in {drop["reason"] for drop in drops.values()}


def test_the_script_creates_concurrently_and_has_each_undo(advised: Advised) -> None:
    lines = advised.script.splitlines()
    assert "\\set ON_ERROR_STOP on" in lines
    for index in advised.advice["indexes"]:
        assert f"{index['create'][0]};" in lines
        assert f"-- Undo: {index['undo']};" in lines
    active = [line for line in lines if line and not line.startswith(("--", "\\"))]
    assert all(line.startswith(("create index", "analyze")) for line in active), active


def test_the_run_is_listed_and_reported(advised: Advised) -> None:
    command = Command(advised.folder.parent.parent)
    listed = json.loads(command.run("runs", "list", "--json").stdout)
    assert [(run["kind"], run["answer"], run["state"]) for run in listed] == [("advise", "indexes advised", "finished")]
    written = command.run("report", str(advised.folder), "-o", "shop.md")
    assert written.returncode == 0, written.stderr
    text = (command.folder / "shop.md").read_text()
    assert "indexes advised" in text.casefold()
    page = command.run("report", str(advised.folder))
    assert page.returncode == 0, page.stderr
    assert "Indexes for shop" in (advised.folder / "report.html").read_text()


@pytest.mark.drawn(0.3)
def test_a_twin_is_advised_on_within_limits_and_proven_in_blocks(advised: Advised, command: Command) -> None:
    ran = command.run("advise", str(advised.twin), "--max-indexes", "2", "--budget", "2m", "--json", timeout=500)
    assert ran.returncode == 0, ran.stderr
    advice = json.loads(ran.stdout)["advice"]
    assert 1 <= len(advice["indexes"]) <= 2
    assert advice["proof"] is not None
    # A busy machine may leave no time for blocks, or starve them; what they say is no harm.
    assert advice["proof"]["ratio"] is None or advice["proof"]["ratio"] < 1.05, advice["proof"]


@pytest.mark.drawn(0.3)
def test_an_interrupt_leaves_nothing_running(advised: Advised, command: Command) -> None:
    process = command.start("advise", str(advised.twin), "--no-prove", "--plain")
    postmaster = wait_for(lambda: postmaster_below(process.pid))
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60 * PATIENCE)
    assert process.returncode == 130, stderr
    assert "the run is" in stderr or "is kept in" in stderr
    assert not alive(postmaster)
    (run,) = json.loads(command.run("runs", "list", "--json").stdout)
    assert (run["kind"], run["state"]) == ("advise", "unfinished")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing.twin",), "nothing.twin"),
        (("shop.twin", "--observe", "5s"), "--observe needs a server"),
        (("shop.twin", "--scale", "0"), "--scale must be"),
        (("shop.twin", "--max-size", "2"), "--max-size 2 is not a valid size"),
        (("shop.twin", "--max-write-overhead", "much"), "is not a valid percentage"),
        (("shop.twin", "-o", "indexes.txt"), "has the suffix .sql"),
        (("shop.twin", "--budget", "soon"), "--budget"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_runs(
    advised: Advised, command: Command, words: tuple[str, ...], said: str
) -> None:
    (command.folder / "shop.twin").write_bytes(advised.twin.read_bytes())
    refused = command.run("advise", *words)
    assert (refused.returncode, said in refused.stderr) == (1, True), refused.stderr
    assert not list(command.runs.glob("*"))

"""``bench --tpcc`` without a server: the words, the figures of a load, and what is printed."""

from __future__ import annotations

from dataclasses import replace as changed

import pytest
from msgspec.structs import replace

from fixtures.bench_results import tpcc_load as loaded
from fixtures.bench_results import tpcc_request as asked
from fixtures.bench_results import tpcc_result as made
from fixtures.records import histogram
from pgclinic.bench.command_line import read_command_line
from pgclinic.bench.load_spec import load_spec
from pgclinic.bench.prepare import Tables
from pgclinic.bench.request import TpccInitRequest
from pgclinic.bench.result import ABORTED, DONE, exit_code
from pgclinic.bench.run import Ran
from pgclinic.bench.server_connection import ServerConnection
from pgclinic.bench.tpcc_data import refuse_unfit, settled
from pgclinic.bench.tpcc_figures import tpcc_figures
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.load.tpcc_state import StateKind, TpccState
from pgclinic.model.bench import TpccViolation
from pgclinic.model.dataset import TPCC_SEED
from pgclinic.model.load import (
    Convention,
    Failure,
    InFlight,
    Isolation,
    OnError,
    Protocol,
    StatementResult,
)
from pgclinic.model.load_progress import LoadProgress
from pgclinic.model.server import Server
from pgclinic.pg.session import Access
from pgclinic.report.live.load import FillFigures, LiveFigures
from pgclinic.report.sections.load.tpcc import tpcc_lines


def filling(*words: str) -> TpccInitRequest:
    request = read_command_line(["--tpcc", "-i", *words], {}).asked
    assert isinstance(request, TpccInitRequest)
    return request


def test_defaults_are_those_of_benchbase() -> None:
    request = settled(asked(), 10)
    tpcc = request.tpcc
    assert tpcc is not None
    assert (tpcc.warehouses, request.clients, request.max_tries, request.duration_s) == (10, 100, 3, 60)
    assert (tpcc.convention, tpcc.isolation) == (Convention.BENCHBASE, Isolation.SERIALIZABLE)
    assert (request.scripts, request.vacuum, tpcc.waits, tpcc.check) == ((), False, False, False)


def test_the_specification_tries_more_often() -> None:
    assert asked("--convention", "spec").max_tries == 10
    assert asked("--convention", "spec", "--max-tries", "4").max_tries == 4
    assert asked("--max-tries", "0").max_tries == 0
    with pytest.raises(UsageError, match="unlimited number"):
        asked("--max-tries", "0", "-t", "10")


def test_values_reach_the_request() -> None:
    request = asked(
        "--warehouses=3", "--terminals", "7", "--convention=SPEC", "--isolation=read_committed", "--waits", "-T", "5",
        "-j", "20", "--seed", "9", "--warm-up", "2s",
    )  # fmt: skip
    assert request.tpcc is not None
    assert (request.clients, request.seed, request.duration_s, request.warm_up_s) == (7, 9, 5, 2.0)
    assert (request.tpcc.isolation, request.tpcc.waits) == (Isolation.READ_COMMITTED, True)
    assert settled(request, 3).threads == 7
    assert asked("-c", "4", "--warehouses", "2").clients == 4
    assert asked("-t", "5").duration_s is None


def test_as_many_terminals_as_the_data_have_warehouses() -> None:
    assert settled(asked("-j", "32"), 2).threads == 20
    assert settled(asked("--terminals", "3"), 2).clients == 3


def test_the_lab_checks_by_itself() -> None:
    def checks(*words: str) -> bool:
        tpcc = asked(*words).tpcc
        assert tpcc is not None
        return tpcc.check

    assert checks("--lab")
    assert checks("--check-consistency")
    assert not checks("--lab", "--no-check-consistency")
    assert not checks()


def test_a_fill_takes_its_own_options() -> None:
    request = filling("--warehouses", "4", "-j", "2", "--random-seed", "5", "--replace", "shop")
    assert (request.warehouses, request.connections, request.seed, request.replace) == (4, 2, 5, True)
    assert request.address.dbname == "shop"
    assert (filling().seed, filling().warehouses, filling().check) == (TPCC_SEED, 1, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-S"], "--select-only and --tpcc are mutually exclusive"),
        (["-f", "nofile.sql"], "could not open"),
        (["-b", "tpcb-like"], "--builtin and --tpcc"),
        (["-s", "3"], "--scale and --tpcc .*--warehouses"),
        (["-M", "simple"], "--protocol and --tpcc .*prepared"),
        (["-C"], "--connect and --tpcc"),
        (["-D", "a=1"], "--define and --tpcc"),
        (["-v"], "--vacuum-all and --tpcc"),
        (["--partitions", "2"], "--partitions and --tpcc"),
        (["--replace"], "--replace and --tpcc .*without -i"),
        (["-c", "2", "--terminals", "2"], "same option"),
        (["--waits"], "--waits needs --convention spec"),
        (["--waits", "--convention", "spec", "-R", "5"], "--waits and --rate"),
        (["--check-consistency", "--no-check-consistency"], "mutually exclusive"),
        (["--warehouses", "0"], "--warehouses must be in range"),
        (["-i", "-T", "5"], "--time cannot be used with --tpcc -i"),
        (["-i", "-s", "5"], "--scale cannot be used with --tpcc -i"),
        (["-i", "--lab"], "--lab cannot be used with --tpcc -i"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_command_line(["--tpcc", *words], {})


@pytest.mark.parametrize("words", [["--warehouses", "2"], ["--isolation", "serializable"], ["-i", "--terminals", "2"]])
def test_without_tpcc_its_options_mean_nothing(words: list[str]) -> None:
    with pytest.raises(UsageError, match="needs --tpcc"):
        read_command_line(words, {})


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (["--convention", "benchbse"], "benchbase"),
        (["--isolation", "serialisable"], "serializable"),
        (["--warehuoses=3"], "--warehouses"),
    ],
)
def test_unknown_words_name_the_nearest(words: list[str], nearest: str) -> None:
    with pytest.raises(UnknownNameError) as raised:
        read_command_line(["--tpcc", *words], {})
    assert raised.value.hint == f"did you mean {nearest}?"


@pytest.mark.parametrize(
    ("state", "message", "hint"),
    [
        (TpccState(kind=StateKind.ABSENT), "no TPC-C tables", "-i --warehouses 5 shop"),
        (TpccState(kind=StateKind.HALF_FILLED), "never filled to the end", "-i --warehouses 5 shop"),
        (TpccState(kind=StateKind.FOREIGN, table="stock"), "table stock was not filled", "empty database"),
        (
            TpccState(kind=StateKind.FILLED, warehouses=3),
            "--warehouses says 5, the tables were filled with 3",
            "--replace",
        ),
    ],
)
def test_data_that_do_not_fit_say_what_to_type(state: TpccState, message: str, hint: str) -> None:
    wanted = asked("--warehouses", "5").tpcc
    assert wanted is not None
    with pytest.raises(UsageError, match=message) as raised:
        refuse_unfit(state, wanted, "shop")
    assert hint in str(raised.value.hint)


def test_what_is_there_is_the_default() -> None:
    filled = TpccState(kind=StateKind.FILLED, warehouses=3)
    for words in ((), ("--warehouses", "3")):
        wanted = asked(*words).tpcc
        assert wanted is not None
        refuse_unfit(filled, wanted, "shop")


SERVER = Server(
    name="d",
    source="attached",
    version="18.6",
    version_num=180006,
    host="/tmp",
    port=5432,
    user="u",
    database="d",
)


def test_the_engine_gets_terminals_that_go_on_after_errors() -> None:
    request = settled(asked("--isolation", "repeatable-read", "--terminals", "4"), 2)
    connection = ServerConnection(session=None, access=Access(SERVER), connect_timeout_s=1.0, words="")  # type: ignore[arg-type]
    spec = load_spec(request, Tables(scale=2), connection)
    assert spec.tpcc is not None
    assert (spec.scripts, spec.clients, spec.protocol, spec.on_error) == ((), 4, Protocol.PREPARED, OnError.CONTINUE)
    assert (spec.tpcc.warehouses, spec.tpcc.isolation) == (2, Isolation.REPEATABLE_READ)
    aborting = load_spec(changed(request, exit_on_abort=True), Tables(scale=2), connection)
    assert aborting.on_error is OnError.ABORT_LOAD
    # The page of an observed load has a heat map; others need no histogram of each second.
    watched = load_spec(changed(request, observe=True), Tables(scale=2), connection)
    assert (spec.second_histograms, watched.second_histograms) == (False, True)


def test_every_fate_is_counted_once() -> None:
    figures = tpcc_figures(loaded())
    new_order, payment = figures.transactions[:2]
    assert (new_order.commits, new_order.rolled_back) == (450, 5)
    assert (new_order.given_up, new_order.deadlocks, new_order.other_errors) == (27, 2, 1)
    assert (payment.given_up, payment.deadlocks, payment.other_errors) == (6, 0, 0)
    assert new_order.share == pytest.approx(450 / 490)
    assert new_order.target_share == pytest.approx(0.45)
    assert figures.transactions[4].p99_ms is None


def test_errors_are_throughput_for_benchbase_alone() -> None:
    figures = tpcc_figures(loaded())
    assert figures.commits == pytest.approx(490 / 20)
    # Everything that began and ended in the window; the commits of the warm-up on top of those measured.
    assert figures.benchbase_throughput == pytest.approx((490 + 5 + 36 - 10) / 20)
    assert figures.benchbase_goodput == pytest.approx((490 + 110) / 20)
    assert figures.new_orders_per_minute == pytest.approx(450 * 3)
    assert figures.statements == pytest.approx(450)
    low, high = figures.commits_limits
    assert low < figures.commits < high


def test_a_load_of_nothing_has_figures_too() -> None:
    nothing = replace(loaded(), transactions=0, rolled_back=0, failed=0, measured_s=0.0, scripts=(), failures=())
    figures = tpcc_figures(nothing)
    assert (figures.commits, figures.benchbase_throughput, figures.commits_limits) == (0.0, 0.0, (0.0, 0.0))


def test_the_result_in_words() -> None:
    flying = (
        InFlight(client=0, script="payment", statement=0, age_us=812_000),
        InFlight(client=1, script="new_order", statement=3, age_us=20_000),
    )
    text = "\n".join(tpcc_lines(made(replace(loaded(), in_flight=flying), "--warm-up", "5", violations=())))
    assert "TPC-C   10 warehouses · 100 terminals · convention benchbase · serializable · up to 3 tries" in text
    assert "24.5 commits/s   490 commits in 20.0 s after 5 s of warm-up" in text
    assert "BenchBase figures   throughput 26.1, goodput 30.0 requests/s" in text
    assert "includes failed and rolled-back transactions (41)" in text
    assert "statements   450/s" in text
    assert "still running   2 at the end, cancelled and not counted: 1 NewOrder, 1 Payment; the oldest, Payment" in text
    assert "failed   40001   33x   NewOrder 27 · Payment 6: could not serialize access" in text
    assert "satisfy the conditions" in text
    assert "95 %" not in text
    header, new_order = text.splitlines()[5:7]
    assert header.split()[:2] == ["commits", "share"]
    assert new_order.split()[:11] == ["NewOrder", "450", "91.8", "%", "45", "%", "5", "27", "2", "1", "90"]
    assert all(len(line) <= 120 for line in text.splitlines() if not line.startswith(("engine", "latency")))


def test_the_report_of_statements_stands_below_their_type() -> None:
    load = loaded()
    long = StatementResult(line=1, text="select\n" + "x" * 200, executions=9, failures=4, latency=histogram(9))
    scripts = (replace(load.scripts[0], statements=(long,)), *load.scripts[1:])
    lines = tpcc_lines(made(replace(load, scripts=scripts), "-r"))
    (at,) = [number for number, line in enumerate(lines) if "4 failed" in line]
    assert lines[at - 1].startswith("  NewOrder")
    assert lines[at].endswith("…") and len(lines[at]) <= 120


def test_a_server_that_is_lost_makes_the_run_incomplete() -> None:
    gone = Failure(sqlstate="connection", script="payment", statement=0, count=1, message="connection reset")
    load = replace(loaded(), failures=(*loaded().failures, gone))
    assert exit_code(asked(), Ran(load=load), ()) == ABORTED
    assert exit_code(asked(), Ran(load=loaded()), ()) == DONE


def test_few_commits_come_with_exact_limits() -> None:
    load = replace(loaded(new_orders=11), transactions=11, measured_s=90.0)
    text = "\n".join(tpcc_lines(made(load)))
    assert "0.122 commits/s" in text
    assert "exact 95 % CI of the rate: 0.061 to 0.219 commits/s" in text


def test_the_specification_counts_new_orders_a_minute_and_claims_nothing() -> None:
    text = "\n".join(tpcc_lines(made(loaded(), "--convention", "spec")))
    assert "1,350 commits per minute, not a valid tpmC" in text
    assert "BenchBase" not in text
    waiting = "\n".join(tpcc_lines(made(loaded(), "--convention", "spec", "--waits")))
    assert "convention spec with waits" in waiting
    assert "an audit" in waiting


def test_a_violation_names_condition_and_key() -> None:
    found = TpccViolation(condition=3, text="the new orders of a district have no gap", key="warehouse 1, district 4")
    line = "condition 3: the new orders of a district have no gap; first at warehouse 1, district 4"
    assert f"INCONSISTENT   {line}" in tpcc_lines(made(loaded(), violations=(found,)))
    expected = tpcc_lines(made(loaded(), violations=(replace(found, expected=True),)))
    assert f"lost updates   expected under this convention: {line}" in expected


def test_the_live_line_shows_statements_while_nothing_commits() -> None:
    still = LoadProgress(
        phase="measure", second=3, transactions=0, failed=0, skipped=0, retries=0, tps=0.0, latency_us_mean=0.0,
        latency_us_p50=0, latency_us_p99=0, latency_us_max=0, clients_connected=4, clients=4, statements=17,
    )  # fmt: skip
    assert "17 statements/s" in LiveFigures(measure_s=10.0).line(still)
    assert "statements" not in LiveFigures(measure_s=10.0).line(replace(still, transactions=5))


def test_a_fill_tells_how_long_it_will_take() -> None:
    assert FillFigures(began_s=100.0).line("stock", 1, 100, now_s=100.2) == "    1 %   stock"
    fill = FillFigures(began_s=100.0, every_s=5.0)
    assert fill.line("stock", 25, 100, now_s=110.0) == "   25 %   0:30 left   stock"
    assert fill.line("stock", 40, 100, now_s=112.0) is None
    assert fill.line("stock", 50, 100, now_s=115.0) == "   50 %   0:15 left   stock"
    assert fill.line("stock", 100, 100, now_s=115.5) == "  100 %   stock"

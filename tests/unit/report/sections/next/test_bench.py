"""What to do after a bench: its doubt first, else a comparison with the same load."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.bench import bench_result, bench_run_info, bench_trial
from fixtures.bench_results import tpcc_load, tpcc_result
from fixtures.doubts import starved
from pgclinic.model.load import Script
from pgclinic.report.sections.next.bench import bench_next
from pgclinic.report.words.doubts import doubt_words


def test_a_doubtful_load_is_run_again() -> None:
    record = bench_trial(doubts=(starved(0.9),))
    info = replace(bench_run_info(), command=("pgclinic", "bench", "-S"))
    step = bench_next(info, bench_result(record), record)
    assert step.words == doubt_words(starved(0.9)).advice
    assert step.commands == ("pgclinic bench -S",)


def test_the_comparison_has_the_same_scripts_scale_and_clients() -> None:
    record = bench_trial()
    result = bench_result(record)
    own = Script(name="<builtin: select only>", text="select 1")
    builtin = replace(result, scale=5, options=replace(result.options, scripts=(own,), clients=3))
    assert bench_next(bench_run_info(), builtin, record).commands == (
        "pgclinic compare --b set:NAME=VALUE --script builtin:select-only -s 5 -c 3",
    )
    script = replace(result, options=replace(result.options, scripts=(Script(name="mine.sql", text="select 1"),)))
    assert bench_next(bench_run_info(), script, record).commands[-1] == (
        "pgclinic compare --b set:NAME=VALUE --twin my.twin"
    )
    tpcc = tpcc_result(tpcc_load())
    (command,) = bench_next(bench_run_info(), tpcc, record).commands
    assert f"--tpcc --warehouses {tpcc.scale} -c {tpcc.options.clients}" in command

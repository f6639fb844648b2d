"""The run folder of ``pgclinic bench``.

run.json        what was asked, on which machine, by which tool
bench.json      the whole result
seconds.jsonl   one line a second and script

and of a load that was observed, in the form of a study's trial:

trials/1/       record.json and observed.json
events.jsonl    its seconds as they came
report.html     made from the above, and made again by ``study judge``
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from pgclinic.model.bench import BenchResult
from pgclinic.model.event import SecondMeasured
from pgclinic.model.run import RunInfo, RunKind, Second
from pgclinic.model.trial import TrialRecord
from pgclinic.store.run_folder import RunFolder, decoded, disk_errors, new_folder, write_whole


def bench_name(result: BenchResult) -> str:
    """What the folder or the file of a run is called."""
    return f"{time.strftime('%Y-%m-%d')}-bench-{result.options.seed}"


def write_bench_folder(
    parent: Path,
    info: RunInfo,
    result: BenchResult,
    trial: TrialRecord | None = None,
    seconds: Sequence[Second] = (),
) -> RunFolder:
    """Make a new folder below ``parent``. ``trial`` and its ``seconds`` are of a load that was observed.

    Raises DiskFullError, RunFailedError.
    """
    with disk_errors(parent):
        parent.mkdir(parents=True, exist_ok=True)
        path = new_folder(parent, bench_name(result))
        write_whole(path / "run.json", _json(info))
        write_whole(path / "bench.json", _json(result))
        write_whole(path / "seconds.jsonl", _lines(result.load.seconds))
        folder = RunFolder(path)
        if trial is not None:
            (path / "trials").mkdir()
            folder.add_trial(trial)
            write_whole(path / "events.jsonl", _lines([SecondMeasured(second=second) for second in seconds]))
    return folder


def read_bench_result(path: Path) -> BenchResult:
    """The result in a run folder of ``bench``. Raises RunFailedError where it is damaged."""
    return decoded(path / "bench.json", BenchResult)


def bench_info(result: BenchResult, server: str) -> RunInfo:
    """run.json; ``server`` is in words, without secrets."""
    scripts, tpcc = result.options.scripts, result.options.tpcc
    return RunInfo(
        command=result.command,
        kind=RunKind.BENCH,
        name="tpcc" if tpcc else scripts[0].name if len(scripts) == 1 else "multiple scripts",
        seed=result.options.seed,
        profile="bench",
        budget_s=float(result.options.duration_s or 0),
        server=server,
        started_epoch_us=result.started_epoch_us,
        machine=result.machine,
        tool=result.tool,
    )


def _lines(records: Sequence[msgspec.Struct]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


def _json(record: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"

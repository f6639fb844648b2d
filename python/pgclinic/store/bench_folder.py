"""The run folder of ``pgclinic bench``.

run.json        what was asked, on which machine, by which tool
events.jsonl    stages and seconds of its loads, appended live; the loads of a search for a rate are numbered
bench.json      the whole result
seconds.jsonl   one line a second and script

and of a load that was observed, in the form of a study's trial:

trials/<n>/     record.json and observed.json; n is the number of the load
report.html     made from the above, and made again by ``study judge``
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from pgclinic.model.bench import BenchOptions, BenchResult
from pgclinic.model.machine import Machine
from pgclinic.model.run import RunInfo, RunKind, Tool
from pgclinic.model.trial import TrialRecord
from pgclinic.store.directory_lock import directory_lock
from pgclinic.store.run_folder import RunFolder, decoded, disk_errors, new_folder, write_whole


def bench_name(info: RunInfo) -> str:
    """What the folder or the file of a run is called."""
    return f"{time.strftime('%Y-%m-%d')}-bench-{info.seed}"


@contextmanager
def new_bench_folder(parent: Path, info: RunInfo) -> Iterator[RunFolder]:
    """Make a new folder below ``parent``, and have it for this command alone.

    Raises DiskFullError, RunFailedError.
    """
    with disk_errors(parent):
        parent.mkdir(parents=True, exist_ok=True)
        path = new_folder(parent, bench_name(info))
    with directory_lock(path):
        with disk_errors(path):
            write_whole(path / "run.json", _json(info))
        yield RunFolder(path)


def write_bench(folder: RunFolder, result: BenchResult, trial: TrialRecord | None = None) -> None:
    """Write what came out. ``trial`` is the load where that was observed.

    Raises DiskFullError, RunFailedError.
    """
    with disk_errors(folder.path):
        if trial is not None:
            (folder.path / "trials").mkdir()
            folder.add_trial(trial)
        write_whole(folder.path / "seconds.jsonl", _lines(result.load.seconds))
        # The answer comes last: with it the run is complete.
        write_whole(folder.path / "bench.json", _json(result))


def read_bench_result(path: Path) -> BenchResult:
    """The result in a run folder of ``bench``. Raises RunFailedError where it is damaged."""
    return decoded(path / "bench.json", BenchResult)


def bench_info(
    command: Sequence[str],
    options: BenchOptions,
    server: str,
    *,
    machine: Machine,
    tool: Tool,
    started_epoch_us: int,
    settings: Mapping[str, str],
) -> RunInfo:
    """run.json; ``server`` is in words, without secrets, ``settings`` are those that it was given for this run."""
    scripts, tpcc = options.scripts, options.tpcc
    return RunInfo(
        command=tuple(command),
        kind=RunKind.BENCH,
        name="tpcc" if tpcc else scripts[0].name if len(scripts) == 1 else "multiple scripts",
        seed=options.seed,
        profile="bench",
        budget_s=float(options.duration_s or 0),
        server=server,
        started_epoch_us=started_epoch_us,
        machine=machine,
        tool=tool,
        settings=dict(settings),
    )


def _lines(records: Sequence[msgspec.Struct]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


def _json(record: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"

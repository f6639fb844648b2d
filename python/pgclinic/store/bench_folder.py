"""The run folder of ``pgclinic bench``.

run.json        what was asked, on which machine, by which tool
bench.json      the whole result
seconds.jsonl   one line a second and script
"""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from pgclinic.model.bench import BenchResult
from pgclinic.model.run import RunInfo
from pgclinic.store.run_folder import disk_errors, new_folder, write_whole


def write_bench_folder(parent: Path, result: BenchResult) -> Path:
    """Make a new folder below ``parent`` and return it. Raises DiskFullError, RunFailedError."""
    name = f"{time.strftime('%Y-%m-%d')}-bench-{result.options.seed}"
    with disk_errors(parent):
        parent.mkdir(parents=True, exist_ok=True)
        path = new_folder(parent, name)
        write_whole(path / "run.json", _json(_run_info(result)))
        write_whole(path / "bench.json", _json(result))
        rows = b"".join(msgspec.json.encode(second) + b"\n" for second in result.load.seconds)
        write_whole(path / "seconds.jsonl", rows)
    return path


def _run_info(result: BenchResult) -> RunInfo:
    scripts, tpcc = result.options.scripts, result.options.tpcc
    return RunInfo(
        command=result.command,
        kind="bench",
        name="tpcc" if tpcc else scripts[0].name if len(scripts) == 1 else "multiple scripts",
        seed=result.options.seed,
        profile="bench",
        budget_s=float(result.options.duration_s or 0),
        server=f"PostgreSQL {result.server_version} at {result.host}",
        started_epoch_us=result.started_epoch_us,
        machine=result.machine,
        tool=result.tool,
    )


def _json(record: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"

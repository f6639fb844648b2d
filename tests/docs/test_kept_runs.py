"""Runs are kept once, small, and in the format of today."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from fixtures.kept_runs import kept_study
from fixtures.tool import tool
from fixtures.written_histogram import WRITTEN_BY_THE_ENGINE
from pgclinic.errors import UsageError
from pgclinic.experiment.road import judge_stored
from pgclinic.experiment.stored import plan_of as plan_of_stored
from pgclinic.model.dataset import Dataset, TpccDataset
from pgclinic.model.doubt import CpuTaken, DiskContended
from pgclinic.model.load import Convention, Isolation
from pgclinic.model.traffic import TpccTraffic, Traffic
from pgclinic.model.trial import CpuUse
from pgclinic.stats.hdr import decode_histogram
from pgclinic.store.run_folder import read_run

ROOT = Path(__file__).parents[2]
EVIDENCE = ROOT / "docs/evidence"
ARCHIVE = EVIDENCE / "global-counters-demo.tar.xz"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    with tarfile.open(ARCHIVE) as tar:
        tar.extractall(folder, filter="data")
    (path,) = folder.iterdir()
    return path


def keep(run: Path, into: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools/keep-run"), str(run), "--into", str(into)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_run_is_packed_the_same_way_every_time_and_kept_once(run: Path, tmp_path: Path) -> None:
    for _ in range(2):
        done = keep(run, tmp_path)
        assert done.returncode == 0, done.stderr
        # What is thinned already stays as it is.
        assert (tmp_path / ARCHIVE.name).read_bytes() == ARCHIVE.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == [ARCHIVE.name]
    with tarfile.open(tmp_path / ARCHIVE.name) as tar:
        names = tar.getnames()
    assert f"{run.name}/run.json" in names
    assert not [name for name in names if name.endswith(("observed.json", "report.html", "verdict.json"))]
    refused = keep(tmp_path, tmp_path)
    assert refused.returncode == 1
    assert "is not a run folder" in refused.stderr


def test_a_rerun_takes_the_place_of_the_run_before(run: Path, tmp_path: Path) -> None:
    again = tmp_path / "runs" / "2026-12-01-global-counters-1"
    shutil.copytree(run, again)
    shutil.rmtree(again / "trials" / "12")
    for one in (run, again):
        assert keep(one, tmp_path / "kept").returncode == 0
    (archive,) = (tmp_path / "kept").iterdir()
    with tarfile.open(archive) as tar:
        assert {name.split("/")[0] for name in tar.getnames()} == {again.name}


def test_a_thinned_histogram_has_the_figures_of_the_whole_one() -> None:
    program = tool("keep-run")
    whole = decode_histogram(WRITTEN_BY_THE_ENGINE)
    text = program.thinned(WRITTEN_BY_THE_ENGINE)
    thin = decode_histogram(text)
    assert thin.total == whole.total
    assert (thin.counts[0], thin.counts[-1][0]) == (whole.counts[0], whole.counts[-1][0])
    for percent in program.PERCENTILES:
        assert thin.percentile(percent) == whole.percentile(percent)
    assert len(thin.counts) <= len(program.PERCENTILES) + 2 < len(whole.counts)
    assert program.thinned(text) == text


@pytest.fixture
def converter() -> ModuleType:
    return tool("convert-evidence")


def of_format_1(folder: Path, change: dict[int, dict[str, Any]]) -> None:
    """Turn a run into one of format 1; ``change`` is laid over the records of single trials."""
    info = json.loads((folder / "run.json").read_text())
    info["prelude_s"] = info.pop("calibration_s")
    (folder / "run.json").write_text(json.dumps({**info, "format": 1}))
    text = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(text.replace("workload.custom_metrics]", "workload.gauges]"))
    (folder / "plan.json").unlink()
    seconds = [json.dumps(json.loads(line)["second"]) for line in (folder / "events.jsonl").read_text().splitlines()]
    (folder / "events.jsonl").unlink()
    (folder / "seconds.jsonl").write_text("".join(f"{line}\n" for line in seconds))
    for file in folder.glob("trials/*/record.json"):
        record = json.loads(file.read_text())
        spec = record["spec"]
        spec["gauges"], spec["fill"] = spec.pop("custom_metrics"), spec.pop("dataset")["statements"]
        spec["load"]["scripts"] = spec.pop("traffic")["scripts"]
        file.write_text(json.dumps({**record, **change.get(int(file.parent.name), {}), "format": 1}))


def test_a_run_of_format_1_becomes_one_of_today(tmp_path: Path, converter: ModuleType) -> None:
    folder = kept_study(tmp_path)
    now = read_run(folder)
    of_format_1(folder, {})
    with pytest.raises(UsageError, match="format 1"):
        read_run(folder)
    assert converter.convert(folder)
    then = read_run(folder)
    assert (then.info, then.trials, then.seconds) == (now.info, now.trials, now.seconds)
    assert then.study_toml == now.study_toml
    assert judge_stored(then, plan_of_stored(then)).claims == judge_stored(now, plan_of_stored(now)).claims
    assert not converter.convert(folder)


def test_doubts_in_words_become_typed(tmp_path: Path, converter: ModuleType) -> None:
    folder = kept_study(tmp_path)
    cpu = CpuUse(elapsed_s=5.0, cores=2, server_s=3.0, client_s=1.0, observer_s=0.2, others_s=4.0)
    words = [
        ("starved_cpu", 0.4, "other processes took 40% of the CPU"),
        ("io_pressure", 0.5, "processes waited for I/O 50% of the time, the server's for 3%"),
        ("io_pressure", 0.5, "processes waited for I/O 50% of the time"),
    ]
    doubts = [{"kind": kind, "share": share, "text": text, "advice": "repeat"} for kind, share, text in words]
    of_format_1(folder, {1: {"doubts": doubts, "cpu": msgspec.to_builtins(cpu)}})
    converter.convert(folder)
    found = read_run(folder).trials[0].doubts
    assert [doubt.share for doubt in found] == [0.4, 0.5, 0.5]
    assert [doubt.facts for doubt in found] == [
        CpuTaken(obtained_s=4.0, available_s=10.0),
        DiskContended(server_share=0.03),
        DiskContended(server_share=None),
    ]


def test_tpcc_of_format_1_is_converted(converter: ModuleType) -> None:
    tpcc = {"warehouses": 3, "convention": "spec", "isolation": "read_committed", "waits": True}
    spec = converter.converted_spec({"server": {}, "gauges": {}, "fill": "", "load": {"tpcc": tpcc}})
    assert msgspec.convert(spec["dataset"], Dataset) == TpccDataset(warehouses=3)
    assert msgspec.convert(spec["traffic"], Traffic) == TpccTraffic(
        convention=Convention.SPEC, isolation=Isolation.READ_COMMITTED, waits=True
    )


def test_every_kept_run_is_small_and_of_today(tmp_path: Path) -> None:
    archives = sorted(EVIDENCE.glob("*.tar.xz"))
    assert sum(archive.stat().st_size for archive in archives) < 1_000_000
    for archive in archives:
        with tarfile.open(archive) as tar:
            tar.extractall(tmp_path / archive.name, filter="data")
        (folder,) = (tmp_path / archive.name).iterdir()
        stored = read_run(folder)
        assert stored.plan is not None
        assert archive.name == f"{stored.info.name}-{stored.info.profile}.tar.xz"

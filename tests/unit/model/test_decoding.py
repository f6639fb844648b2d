"""Threads may read the same records first, and no module goes round the one way to read them."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from fixtures.bench_results import bench_folder, bench_result
from fixtures.checkups import SICK
from fixtures.kept_runs import kept_checkup, kept_study
from fixtures.served import served
from pgclinic.model.decoding import converted, decoded_json, decoder_of
from pgclinic.model.load_progress import LoadProgress

#: Four threads that read the same records first, with as many changes of thread as possible. With
#: ``msgspec.json.decode`` in place of ``decode`` this ended with a segmentation fault in 10 of 10 runs.
RACE = """
import sys, threading
sys.setswitchinterval(1e-6)
import msgspec
from pgclinic.model.advise import IndexAdvice
from pgclinic.model.decoding import decoder_of
from pgclinic.model.event import Event
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.load import LoadResult
from pgclinic.model.snapshot import Snapshot
from pgclinic.model.trial import TrialRecord
from pgclinic.model.twin import Twin
def decode(content, kind):
    return DECODE
begin, ended = threading.Barrier(4), []
def read():
    begin.wait()
    for kind in (LoadResult, Event, TrialRecord, ExperimentPlan, Snapshot, Twin, IndexAdvice):
        try:
            decode(b'{"format": 2, "tps": 1.0}', kind)
        except msgspec.ValidationError:
            pass
    ended.append(True)
threads = [threading.Thread(target=read) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(ended))
"""


@pytest.mark.parametrize("time", range(3))
def test_threads_may_read_the_same_records_first(time: int) -> None:
    race = RACE.replace("DECODE", "decoder_of(kind).decode(content)")
    done = subprocess.run([sys.executable, "-c", race], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4\n", "")


def test_pages_that_are_asked_for_at_once_are_all_answered(tmp_path: Path) -> None:
    names = [kept_study(tmp_path).name, kept_checkup(tmp_path, SICK).name]
    names.append(bench_folder(tmp_path, bench_result("-c", "2", "-T", "5")).name)
    with served(tmp_path) as site, ThreadPoolExecutor(9) as pool:
        answers = list(pool.map(lambda name: site.get(f"/runs/{name}")[0], names * 3))
        assert site.process.poll() is None
    assert answers == [200] * 9


def test_a_kind_has_one_decoder_and_a_number_in_text_is_one_only_where_that_was_asked() -> None:
    assert decoder_of(tuple[int, ...]) is decoder_of(tuple[int, ...])
    assert decoder_of(tuple[int, ...], strict=False).decode(b'["1"]') == (1,)
    with pytest.raises(msgspec.ValidationError, match="Expected `int`, got `str`"):
        decoded_json(b'["1"]', tuple[int, ...])


def test_an_unknown_key_is_refused_from_json_and_from_a_table() -> None:
    with pytest.raises(msgspec.ValidationError, match="speed"):
        decoded_json(b'{"speed": 1}', LoadProgress)
    with pytest.raises(msgspec.ValidationError, match="speed"):
        converted({"speed": 1}, LoadProgress)

"""Records are known before threads read them: pages that are asked for at the same moment are all answered."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fixtures.bench_results import bench_folder, bench_result
from fixtures.checkups import SICK
from fixtures.kept_runs import kept_checkup, kept_study
from fixtures.served import served

#: Four threads that read the same records first, with as many changes of thread as possible. Without ``know_records``
#: this ended with a segmentation fault in 10 of 10 runs.
RACE = """
import sys, threading
sys.setswitchinterval(1e-6)
import msgspec
from pgclinic.serve.read_records import READ, know_records
know_records()
begin, ended = threading.Barrier(4), []
def read():
    begin.wait()
    for kind in READ:
        try:
            msgspec.json.decode(b'{"format": 2, "tps": 1.0}', type=kind)
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
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4\n", "")


def test_pages_that_are_asked_for_at_once_are_all_answered(tmp_path: Path) -> None:
    names = [kept_study(tmp_path).name, kept_checkup(tmp_path, SICK).name]
    names.append(bench_folder(tmp_path, bench_result("-c", "2", "-T", "5")).name)
    with served(tmp_path) as site, ThreadPoolExecutor(9) as pool:
        answers = list(pool.map(lambda name: site.get(f"/runs/{name}")[0], names * 3))
        assert site.process.poll() is None
    assert answers == [200] * 9

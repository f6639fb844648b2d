"""The CPU of a server that is not ours: counted where its processes are visible, else nobody is blamed for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from fixtures.attached import free_port, trial_spec
from fixtures.lab_home import binaries_for, python
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.lab.sources import attach
from pgclinic.model.doubt import DoubtKind
from pgclinic.model.processes import ProcessKind
from pgclinic.model.trial import TrialOutcome
from pgclinic.observe.local_server import visible_postmaster
from pgclinic.pg.dsn import dsn_of
from pgclinic.trial.run import TrialListener, run_trial

BUSY = "select count(*) from generate_series(1, 20000);\n"
#: A process that sees no other process of this machine, as in a container: one trial, and what it could tell.
ELSEWHERE = """
    import sys
    import msgspec
    from pgclinic.model.trial import TrialSpec
    from pgclinic.trial.run import TrialListener, run_trial
    record = run_trial(msgspec.json.decode(sys.stdin.readline(), type=TrialSpec), TrialListener(), dsn=sys.argv[1])
    print(record.outcome.value, record.cpu.server_s, len(record.processes), *(one.kind.value for one in record.doubts))
"""
#: A server that numbers its processes itself, as in a container.
CONTAINED = """
    import sys
    from pgclinic.lab.instance import start_server
    from pgclinic.lab.sources import find_source
    with start_server(find_source("18").ensure(), settings={}, port=int(sys.argv[1])) as running:
        print(running.server.host, running.server.pid, flush=True)
        sys.stdin.readline()
"""
UNSHARED = ("unshare", "--pid", "--fork", "--mount-proc")


@pytest.fixture(scope="module")
def running() -> Iterator[RunningServer]:
    with start_server(binaries_for("18"), settings={"fsync": "off"}, port=free_port()) as one:
        yield one


@pytest.mark.parametrize("way", ["socket", "loopback"])
def test_the_cpu_of_a_server_on_this_machine_is_the_servers(running: RunningServer, way: str) -> None:
    passwords = Path(running.instance.directory) / "pgpass"
    server = running.server
    if way == "loopback":
        server = replace(server, host="127.0.0.1", parameters={"passfile": str(passwords)})
    dsn = dsn_of(server)
    record = run_trial(trial_spec(dsn, BUSY), TrialListener(), dsn=dsn)
    assert record.outcome is TrialOutcome.DONE, record.failure
    assert record.cpu is not None and record.cpu.server_s is not None
    assert record.cpu.server_s > 0.1
    assert record.counters["server_cpu_us_per_transaction"] > 0
    assert any(sample.of(ProcessKind.CLIENT) for sample in record.processes)
    assert DoubtKind.SERVER_NOT_VISIBLE not in {doubt.kind for doubt in record.doubts}


def test_a_server_that_is_not_visible_is_said_to_be_and_its_cpu_blames_nobody(running: RunningServer) -> None:
    dsn = dsn_of(running.server)
    with python(ELSEWHERE, arguments=[dsn], prefix=UNSHARED) as elsewhere:
        out, err = elsewhere.communicate(msgspec_line(trial_spec(dsn, BUSY)), timeout=60)
    assert elsewhere.returncode == 0, err
    outcome, server_s, processes, *doubts = out.split()
    assert (outcome, server_s, processes) == ("done", "None", "0")
    assert "server_not_visible" in doubts
    assert "starved_cpu" not in doubts


@pytest.mark.usefixtures("fresh_home")
def test_a_server_in_a_container_is_found_among_our_processes() -> None:
    port = free_port()
    with python(CONTAINED, arguments=[str(port)], prefix=UNSHARED) as contained:
        try:
            assert contained.stdout is not None
            host, inner = contained.stdout.readline().split()
            for where in (f"host={host}", f"host=127.0.0.1 passfile={host}/pgpass"):
                pid = visible_postmaster(attach(f"{where} port={port} user=postgres dbname=postgres"))
                assert pid is not None, "its processes are visible from here"
                assert pid != int(inner), "under another number than it has inside"
                assert "postgres" in Path(f"/proc/{pid}/cmdline").read_text()
        finally:
            contained.communicate("\n", timeout=30)


def msgspec_line(spec: object) -> str:
    return msgspec.json.encode(spec).decode() + "\n"

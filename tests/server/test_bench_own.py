"""What ``pgclinic bench`` has beyond pgbench, and how it finds and refuses servers; on a real server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from fixtures.lab_home import PACKAGE_ROOT, binaries_for, cli
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.model.bench import BenchResult
from pgclinic.model.load import SecondResult
from pgclinic.pg.connect import connect, set_password
from pgclinic.stats.hdr import decode_histogram

PORT_SETTINGS = {"max_connections": "12", "superuser_reserved_connections": "0", "fsync": "off"}


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with start_server(binaries_for("18"), settings=PORT_SETTINGS) as running:
        done = cli("bench", "-i", "-q", **where(running))
        assert done.returncode == 0, done.stderr
        yield running


def where(running: RunningServer) -> dict[str, str]:
    server = running.server
    return {"PGHOST": server.host, "PGPORT": str(server.port), "PGUSER": server.user, "PGDATABASE": "postgres"}


def result_of(running: RunningServer, *words: str, code: int = 0) -> BenchResult:
    done = cli("bench", "--json", *words, **where(running))
    assert done.returncode == code, done.stdout + done.stderr
    return msgspec.json.decode(done.stdout, type=BenchResult)


def test_json_is_the_published_record_and_its_percentiles_are_those_of_the_engine(server: RunningServer) -> None:
    result = result_of(server, "-S", "-T", "1", "-c", "2", "--random-seed=5")
    assert result.options.seed == 5
    assert result.scale == 1
    latency = result.load.latency
    buckets = decode_histogram(latency.hdr)
    assert buckets.total == latency.count == result.load.transactions
    for percent, value in ((50, latency.p50_us), (90, latency.p90_us), (99, latency.p99_us), (99.9, latency.p999_us)):
        assert min(buckets.percentile(percent), latency.max_us) == value
    assert buckets.mean() == pytest.approx(latency.mean_us, rel=0.005)


def test_thresholds_decide_the_exit_code(server: RunningServer) -> None:
    crossed = result_of(server, "-S", "-t", "20", "--fail-if", "p50>1us", "--fail-if", "failed>0", code=3)
    assert [threshold.crossed for threshold in crossed.thresholds] == [True, False]
    result_of(server, "-S", "-t", "20", "--fail-if", "p99.9>60s")


def test_the_files_of_a_run(server: RunningServer, tmp_path: Path) -> None:
    seconds, hdr, runs = tmp_path / "s.jsonl", tmp_path / "l.hlog", tmp_path / "runs"
    result = result_of(server, "-S", "-T", "2", "--seconds", str(seconds), "--hdr", str(hdr), "--runs", str(runs))
    rows = [json.loads(line) for line in seconds.read_text().splitlines()]
    # As its published schema says.
    assert all(msgspec.json.decode(line, type=SecondResult) for line in seconds.read_text().splitlines())
    assert sum(row["transactions"] for row in rows) == result.load.transactions
    tagged = [line.split(",") for line in hdr.read_text().splitlines() if line.startswith("Tag=")]
    assert sum(decode_histogram(cells[-1]).total for cells in tagged) == result.load.transactions
    (folder,) = runs.iterdir()
    assert {path.name for path in folder.iterdir()} == {"run.json", "bench.json", "seconds.jsonl", "events.jsonl"}
    stored = msgspec.json.decode((folder / "bench.json").read_bytes(), type=BenchResult)
    assert stored.load.transactions == result.load.transactions


def test_open_loop_serves_the_rate(server: RunningServer) -> None:
    result = result_of(server, "-S", "-T", "2", "-R", "100", "-c", "2")
    assert result.load.offered is not None and 120 <= result.load.offered <= 280
    assert result.load.lag is not None


def test_open_loop_tells_what_was_not_served(server: RunningServer, tmp_path: Path) -> None:
    slow = tmp_path / "slow.sql"
    slow.write_text("select pg_sleep(0.2);\n", encoding="utf-8")
    result = result_of(server, "-n", "-f", str(slow), "-T", "2", "-R", "50")
    assert result.load.unserved is not None and result.load.unserved > 50
    assert result.load.latency.max_us > 1_000_000


@pytest.mark.drawn(0.2)
def test_find_rate_ends_with_a_rate_that_was_confirmed(server: RunningServer, tmp_path: Path) -> None:
    # A server that is arithmetic: one client, 20 ms a transaction, so a little under 50 TPS at most.
    script = tmp_path / "twenty.sql"
    script.write_text("\\sleep 20 ms\nselect 1;\n", encoding="utf-8")
    done = cli("bench", "--json", "-n", "-f", str(script), "-T", "1", "--find-rate", "p90<120ms", **where(server))
    assert done.returncode == 0, done.stderr
    search = msgspec.json.decode(done.stdout, type=BenchResult).rate_search
    said = done.stderr.splitlines()
    assert "1 s in closed loop, then about 7 loads of 1 s: about 0:08 in total, at most 0:31" in said[0]
    told = [line.split() for line in said if " TPS offered   " in line]
    assert search is not None and len(told) == len(search.trials)
    for words, trial in zip(told, search.trials, strict=True):
        assert words[3] == ("met" if trial.kept else "missed")
        assert words[4] == "p90" and words[6].startswith("ms")
    assert search is not None and search.rate_tps is not None
    assert 10 <= search.rate_tps <= 50
    assert search.trials[-1].stage == "confirm"
    assert search.trials[-1].kept


def test_a_target_that_no_rate_keeps_is_a_failure(server: RunningServer, tmp_path: Path) -> None:
    script = tmp_path / "fifty.sql"
    script.write_text("\\sleep 50 ms\n", encoding="utf-8")
    result = result_of(server, "-n", "-f", str(script), "-T", "1", "--find-rate", "p50<20ms", code=3)
    assert result.rate_search is not None
    assert result.rate_search.rate_tps is None


@pytest.mark.drawn(0.2)
def test_until_stable_ends_early(server: RunningServer, tmp_path: Path) -> None:
    script = tmp_path / "even.sql"
    script.write_text("\\sleep 10 ms\n", encoding="utf-8")
    result = result_of(server, "-n", "-f", str(script), "-T", "60", "--until-stable")
    assert result.stability is not None and result.stability.stable_after_s is not None
    assert result.load.measured_s < 60, "it ended before the time it was given"


def test_progress_lines_go_to_stderr(server: RunningServer) -> None:
    done = cli("bench", "-S", "-T", "2", "-P", "1", **where(server))
    assert [line[:14] for line in done.stderr.splitlines() if line.startswith("progress")] == [
        "progress: 1.0 ",
        "progress: 2.0 ",
    ]
    assert "progress" not in done.stdout


def test_a_lab_server_is_started_filled_and_gone() -> None:
    done = cli("bench", "--lab", "-S", "-t", "50", "-s", "2", "--json", "--set", "work_mem=8MB")
    assert done.returncode == 0, done.stderr
    result = msgspec.json.decode(done.stdout, type=BenchResult)
    assert result.scale == 2
    assert result.load.transactions == 50
    assert not Path(result.host).exists()


@pytest.mark.drawn(0.2)
def test_ctrl_c_shows_what_was_measured(server: RunningServer) -> None:
    words = [sys.executable, "-c", "from pgclinic.cli.main import main; main()", "bench", "-S", "-T", "60", "-P", "1"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT), **where(server)}
    process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("progress: 1.0"):
            break
    process.send_signal(signal.SIGINT)
    # The load had most of its minute left.
    out, err = process.communicate(timeout=40)
    assert process.returncode == 130
    assert "tps = " in out
    assert "Traceback" not in err


def test_more_clients_than_the_server_takes(server: RunningServer) -> None:
    done = cli("bench", "-S", "-n", "-t", "5", "-c", "20", **where(server))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "could not create connection for" in done.stderr
    assert "too many clients already" in done.stderr


@pytest.mark.parametrize("form", ["uri", "keywords", "dbname option", "service", "words"])
def test_all_ways_to_name_a_server(server: RunningServer, tmp_path: Path, form: str) -> None:
    at = server.server
    keywords = f"host={at.host} port={at.port} user={at.user} dbname=postgres"
    environment = {"PGHOST": "/nonexistent"}
    if form == "uri":
        words = [f"postgresql://{at.user}@/postgres?host={at.host}&port={at.port}"]
    elif form == "keywords":
        words = ["-h", "/elsewhere", keywords]  # the string wins, as in pgbench
    elif form == "dbname option":
        words = [f"--dbname={keywords}"]
    elif form == "service":
        file = tmp_path / "services.conf"
        file.write_text("[clinic]\n" + keywords.replace(" ", "\n") + "\n", encoding="utf-8")
        words = ["service=clinic"]
        environment = {"PGSERVICEFILE": str(file)}
    else:
        words = ["-h", at.host, "-p", str(at.port), "-U", at.user, "postgres"]
    done = cli("bench", "-S", "-t", "3", *words, **environment)
    assert done.returncode == 0, done.stderr


def test_a_password_comes_from_the_password_file_and_stays_secret(tmp_path: Path) -> None:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with start_server(binaries_for("18"), settings={"fsync": "off"}, port=port) as running:
        with connect(running.server, users_search_path=True) as connection:
            set_password(connection, "postgres", "s3cret word")
        file = tmp_path / "pgpass"
        file.write_text(f"127.0.0.1:{port}:*:postgres:s3cret word\n", encoding="utf-8")
        file.chmod(0o600)
        words = ["-n", "-t", "3", "-f", str(tmp_path / "one.sql"), "--json", "--debug"]
        (tmp_path / "one.sql").write_text("select 1;\n", encoding="utf-8")
        at = ["-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "postgres"]
        good = cli("bench", *words, *at, PGPASSFILE=str(file))
        assert good.returncode == 0, good.stderr
        assert "s3cret" not in good.stdout + good.stderr
        uri = f"postgresql://postgres:s3cret%20word@127.0.0.1:{port}/postgres"
        by_uri = cli("bench", *words, uri)
        assert by_uri.returncode == 0, by_uri.stderr
        assert "s3cret" not in by_uri.stdout + by_uri.stderr
        bad = cli("bench", *words, *at, PGPASSFILE="/nonexistent", PGPASSWORD="wrong")
        assert bad.returncode == 1
        assert "password authentication failed" in bad.stderr


def test_a_server_that_is_not_there_is_one_clear_line() -> None:
    done = cli("bench", "-S", "-h", "/nonexistent", "db")
    assert done.returncode == 1
    assert "/nonexistent" in done.stderr
    assert "Traceback" not in done.stderr


def on_a_terminal(server: RunningServer, *more: str) -> tuple[bytes, str]:
    """What a bench of two seconds writes to a terminal as its stderr, and to its stdout."""
    import pty

    ours, theirs = pty.openpty()
    words = [sys.executable, "-c", "from pgclinic.cli.main import main; main()", "bench", "-S", "-T", "2", *more]
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(PACKAGE_ROOT), **where(server)}
    process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    drawn = b""
    try:
        while block := os.read(ours, 4096):
            drawn += block
    except OSError:
        pass  # the terminal is gone with the process
    finally:
        os.close(ours)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    return drawn, out


def test_a_terminal_shows_a_live_view_and_clears_it(server: RunningServer) -> None:
    drawn, out = on_a_terminal(server)
    assert b"TPS" in drawn and b"p50" in drawn and b"p99" in drawn and b"0:00 left" in drawn
    assert drawn.endswith(b"\x1b[1A\x1b[2K\x1b[?25h")
    assert "tps = " in out


def test_plain_lines_have_no_control_sequence(server: RunningServer) -> None:
    drawn, out = on_a_terminal(server, "--plain")
    assert b"\x1b" not in drawn and b"p99" not in drawn
    assert "tps = " in out

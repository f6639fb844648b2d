"""``pgclinic serve`` as its process answers: pages, refusals, events, and its end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures import tuning
from fixtures.bench_results import bench_folder, bench_result
from fixtures.checkups import HEALTHY, SICK
from fixtures.command import wait_for
from fixtures.kept_runs import kept_checkup, kept_study
from fixtures.live_run import Writer
from fixtures.records import run_info
from fixtures.served import Served, served
from pgclinic.model.run import RunKind
from pgclinic.serve.app import POLL_S
from pgclinic.store.run_folder import RunFolder

TOKEN = "a-token-of-24-characters"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study, two checkups of different machines, an assay without answer, a bench without a page."""
    parent = tmp_path_factory.mktemp("runs")
    kept_study(parent)
    kept_checkup(parent, SICK)
    kept_checkup(parent, HEALTHY, server="PostgreSQL 13.3")
    RunFolder.create(parent, "an-assay", run_info(kind=RunKind.ASSAY), tuning.plan())
    bench_folder(parent, bench_result("-c", "2", "-T", "5"))
    (parent / "no-run").mkdir()
    return parent


@pytest.fixture(scope="module")
def site(runs: Path) -> Iterator[Served]:
    with served(runs) as found:
        yield found


def test_the_list_has_every_run_and_filters_leave_the_others_out(site: Served, runs: Path) -> None:
    status, page = site.get("/")
    names = {folder.name for folder in runs.iterdir()} - {"no-run"}
    assert status == 200
    assert {name for name in names if f'value="{name}"' in page} == names
    assert "no-run" not in page
    for query, amount in (
        ("kind=checkup", 2),
        ("answer=unfinished", 2),
        ("server=PostgreSQL+13.3&kind=", 1),
        ("machine=x", 0),
    ):
        assert site.get(f"/?{query}")[1].count('name="run"') == amount
    status, words = site.get("/?answer=sic")
    assert (status, "did you mean sick?" in words) == (404, True)


def test_a_run_has_its_report_or_what_there_is_of_it(site: Served, runs: Path) -> None:
    assert "held xmin horizon" in site.get("/runs/a-study")[1]
    assert 'href="/"' in site.get("/runs/a-study")[1]
    assert "pgclinic assay --resume" in site.get("/runs/an-assay")[1]
    (bench,) = [folder.name for folder in runs.iterdir() if "bench" in folder.name]
    page = site.get(f"/runs/{bench}")[1]
    assert ("tps = " in page, " UTC</dd>" in page, "<dt>size</dt>" in page) == (True, True, True)
    # Nothing is written.
    assert not list(runs.glob("*/report.html"))


def test_two_runs_stand_side_by_side(site: Served) -> None:
    assert "They are runs of different commands" in site.get("/compare?run=a-study&run=an-assay")[1]
    assert site.get("/compare?a=a-study&b=an-assay")[0] == 200
    assert site.get("/compare?run=a-study") == (404, "choose exactly two runs to compare\n")


@pytest.mark.parametrize(
    "path", ["/runs/..", "/runs/%2e%2e", "/runs/..%2f..%2fetc%2fpasswd", "/runs/no-run", "/runs/a-study%00"]
)
def test_only_listed_runs_have_a_page(path: str, site: Served) -> None:
    assert site.get(path)[0] == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:8432"}, 403),
        ({"Host": "[::1"}, 403),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "[::1]:8432"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_another_site_gets_nothing(headers: dict[str, str], status: int, site: Served) -> None:
    assert site.get("/", **headers)[0] == status
    assert site.get("/", Origin=site.address)[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_only_get_is_answered(method: str, site: Served) -> None:
    assert site.get("/", method=method, body=b"x")[0] == 405


def test_a_token_is_asked_for_and_shown_nowhere(runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    with served(runs, "--token-file", str(file)) as site:
        refused = site.get("/runs/a-study")
        assert (refused[0], 'action="/token"' in refused[1], "xmin" in refused[1]) == (401, True, False)
        assert site.get("/events")[0] == 401
        assert site.get("/", Authorization=f"Bearer {TOKEN}")[0] == 200
        assert site.get("/", Authorization=f"Bearer {TOKEN[:-1]}")[0] == 401
        assert site.get("/", Cookie=f"pgclinic={TOKEN}")[0] == 401
        wrong = site.get("/token", method="POST", body=b"token=wrong")
        assert (wrong[0], "That is not the token" in wrong[1]) == (403, True)
        assert site.get("/token", method="POST", body=b"token=" + b"x" * 9999)[0] == 413
        assert site.get("/token", method="POST", body=b"x", Origin="http://evil.example")[0] == 403
        # The cookie that follows a right token opens all pages.
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(f"{site.address}/token", data=f"token={TOKEN}".encode(), timeout=30) as answer:
            page = answer.read().decode()
        assert "a-study" in page
        assert TOKEN not in page


def test_events_follow_a_run_that_another_process_writes(tmp_path: Path) -> None:
    writer = Writer(tmp_path, "new")
    with served(tmp_path) as site, urllib.request.urlopen(f"{site.address}/events?seen=0", timeout=30) as listed:
        assert b"changed" in b"".join(listed.readline() for _ in range(3))
        while listed.readline().strip():
            pass
        writer.step()
        assert listed.readline() == b"event: changed\n"
        wait_for(lambda: ">running<" in site.get("/?answer=running")[1])
        live = wait_for(lambda: (page := site.get("/runs/new")[1]) and "starting" in page and page)
        assert ("<dt>started</dt>" in live, "<dt>size</dt>" in live) == (True, False)
        with urllib.request.urlopen(f"{site.address}/runs/new/events?state=running-0&seen=0", timeout=30) as events:
            writer.step()
            points: list[object] = []
            while len(points) < 20:
                line = events.readline()
                assert line, "the stream has ended"
                if line.startswith(b"data: {"):
                    message = json.loads(line[6:])
                    points += message["points"]
            assert message["arms"]
            writer.finish()
            rest = events.read().decode()
        assert rest.endswith("event: turned\ndata: \n\n")
        assert "replicated" in site.get("/runs/new")[1]


def test_ctrl_c_ends_it_with_an_open_page_and_without_a_traceback(runs: Path) -> None:
    with served(runs) as site, urllib.request.urlopen(f"{site.address}/events", timeout=30) as events:
        events.readline()
        site.process.send_signal(signal.SIGINT)
        began_s = time.monotonic()
        out, err = site.process.communicate(timeout=60)
        assert site.process.returncode == 130
        assert err == "pgclinic: interrupted\n"
        assert out == ""
        # What it waits for is the next poll of the page that is open.
        assert time.monotonic() - began_s < POLL_S * 60


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--host", "0.0.0.0"), "it needs a token and TLS"),
        (("--tls-key", "key.pem"), "--tls-key needs --tls-cert"),
        (("--tls-cert", "none.pem"), "none.pem cannot be used"),
        (("--token-file", "none"), "none cannot be read"),
        (("--runs", "none"), "there is no directory none"),
        (("--host", "no.such.host.invalid", "--token-file", "t"), "cannot be read"),
    ],
)
def test_what_may_not_be_served_is_one_error(options: tuple[str, ...], words: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pgclinic", "serve", "--runs", ".", "--port", "0", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("text", "mode", "words"), [(TOKEN, 0o644, "chmod 600"), ("short", 0o600, "less than 16")])
def test_a_token_that_protects_nothing_is_refused(text: str, mode: int, words: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    file.chmod(mode)
    done = subprocess.run(
        [sys.executable, "-m", "pgclinic", "serve", "--runs", str(tmp_path), "--token-file", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert words in done.stderr


def test_without_the_extra_it_is_named(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['starlette'] = sys.modules['uvicorn'] = None; "
    started = "from pgclinic.cli.main import run; sys.exit(run(['serve']))"
    done = subprocess.run(
        [sys.executable, "-c", hidden + started], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert "pip install 'pgclinic[serve]'" in done.stderr

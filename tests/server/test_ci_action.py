"""The GitHub Action and the GitLab template, by a stand-in that runs their steps with the real pgclinic."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from fixtures.command import Command
from fixtures.lab_home import PYTHON_PATH, binaries_for, temporary_home
from fixtures.visits import SWITCH, VISITS, captured
from pgclinic.lab.instance import start_server
from pgclinic.pg.dsn import dsn_of

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
GITLAB = yaml.safe_load((ROOT / "ci" / "gitlab" / "pgclinic.gitlab-ci.yml").read_text(encoding="utf-8"))[".pgclinic"]
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
QUICK = "--measure 0.5s --warm-up 0 --blocks 4 -c 2 -s 1 --seed 3 --no-calibrate"


class Comments(BaseHTTPRequestHandler):
    """The part of GitHub's API that comments on a pull request."""

    kept: dict[int, str]
    seen: list[tuple[str, str]]

    def do_GET(self) -> None:
        comments = [{"id": number, "body": body} for number, body in self.kept.items()]
        self._answer(comments if "page=1" in self.path.split("&") else [])

    def do_POST(self) -> None:
        self.kept[max(self.kept, default=0) + 1] = self._body()
        self._answer({})

    def do_PATCH(self) -> None:
        self.kept[int(self.path.rpartition("/")[2])] = self._body()
        self._answer({})

    def _body(self) -> str:
        return str(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"])

    def _answer(self, content: object) -> None:
        self.seen.append((self.command, self.headers.get("Authorization", "")))
        text = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


@dataclass
class Runner:
    """Runs the steps of a composite action as GitHub's runner does; ``uses`` steps are only looked at."""

    folder: Path
    api: str
    home: str
    event: str = "pull_request"
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    used: dict[str, dict[str, str]] = field(default_factory=dict)
    printed: str = ""
    failed: bool = False
    code: int = 0

    def run(self, **inputs: str) -> None:
        known = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
        missing = [name for name, one in ACTION["inputs"].items() if one.get("required") and name not in inputs]
        assert not missing
        assert inputs.keys() <= known.keys()
        given = {name: self._filled(value, {}) for name, value in (known | inputs).items()}
        for step in ACTION["runs"]["steps"]:
            if self._wanted(step.get("if"), given):
                self._step(step, given)

    def _wanted(self, condition: str | None, inputs: dict[str, str]) -> bool:
        if condition is None:
            return not self.failed
        terms = [term.strip() for term in condition.split("&&")]
        assert terms[0] == "always()", condition
        for term in terms[1:]:
            left, _, right = term.partition(" == ")
            if self._value(left, inputs) != right.strip("'"):
                return False
        return True

    def _step(self, step: dict[str, Any], inputs: dict[str, str]) -> None:
        if "uses" in step:
            self.used[step["uses"]] = {name: self._filled(value, inputs) for name, value in step["with"].items()}
            return
        assert step["shell"] == "bash"
        script = self.folder / "step.sh"
        # What comes from outside reaches a step by its environment, never by its text.
        assert "${{" not in step["run"]
        script.write_text(step["run"], encoding="utf-8")
        output = self.folder / "output"
        output.write_text("", encoding="utf-8")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.folder,
            env=self._environment()
            | {"GITHUB_OUTPUT": str(output)}
            | {name: self._filled(value, inputs) for name, value in step.get("env", {}).items()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )
        self.printed += done.stdout
        if done.returncode != 0:
            self.failed, self.code = True, done.returncode
        if "id" in step:
            lines = output.read_text(encoding="utf-8").splitlines()
            self.outputs[step["id"]] = dict(line.split("=", 1) for line in lines)

    def _environment(self) -> dict[str, str]:
        event = self.folder / "event.json"
        event.write_text(json.dumps({"pull_request": {"number": 7}}), encoding="utf-8")
        return {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": PYTHON_PATH,
            "PGCLINIC_HOME": self.home,
            "HOME": str(self.folder),
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_REPOSITORY": "someone/shop",
            "GITHUB_SERVER_URL": "https://git.example.org",
            "GITHUB_RUN_ID": "99",
            "GITHUB_API_URL": self.api,
        }

    def _filled(self, text: object, inputs: dict[str, str]) -> str:
        return EXPRESSION.sub(lambda found: self._value(found[1], inputs), str(text))

    def _value(self, name: str, inputs: dict[str, str]) -> str:
        kind, _, rest = name.partition(".")
        if kind == "inputs":
            return inputs[rest]
        if kind == "steps":
            step, _, output = rest.partition(".outputs.")
            return self.outputs.get(step, {}).get(output, "")
        fixed = {
            "github.token": "the-token",
            "github.event_name": self.event,
            "github.run_id": "99",
            "runner.os": "Linux",
            "runner.arch": "X64",
        }
        return fixed[name]


@pytest.fixture
def comments() -> Iterator[type[Comments]]:
    """The comments of the pull request, kept by a server of ours."""
    kind = type("Kept", (Comments,), {"kept": {}, "seen": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    kind.api = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield kind
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A lab home of these jobs: what one of them has filled is there for the next, as with the action's cache."""
    with temporary_home() as home:
        yield home


@pytest.fixture
def runner(tmp_path: Path, comments: type[Comments], home: Path) -> Runner:
    return Runner(tmp_path, comments.api, str(home))


def code_of(folder: Path, decided: int) -> int:
    """The exit code of the comparison in ``folder``: on a starved machine it is invalid, and then that is 4."""
    return 4 if (folder / "report.md").read_text(encoding="utf-8").startswith("### !") else decided


def failures(runner: Runner) -> int:
    root = ElementTree.parse(Path(runner.outputs["run"]["folder"]) / "junit.xml").getroot()
    return sum(int(suite.attrib["failures"]) for suite in root)


def test_a_comparison_fails_the_job_after_report_and_comment(runner: Runner, comments: type[Comments]) -> None:
    arguments = (
        f'--a set:enable_indexscan=on --b condition:idle=1 --fail-if "b<5a" {QUICK} --script builtin:select-only'
    )
    runner.run(verb="compare", arguments=arguments, package="", name="one: two")
    folder = Path(runner.outputs["run"]["folder"])
    expected = code_of(folder, 3)
    assert runner.code == expected, runner.printed
    assert runner.outputs["run"]["exit-code"] == str(expected)
    assert failures(runner) == (1 if expected == 3 else 0)
    assert list(folder.glob("runs/*/report.html"))
    assert runner.used["actions/upload-artifact@v4"]["path"] == str(folder)
    assert "This machine can measure" in runner.printed
    (body,) = comments.kept.values()
    assert body.startswith("<!-- pgclinic: one: two -->\n###")
    assert ("crossed" in body) == (expected == 3)
    assert "https://git.example.org/someone/shop/actions/runs/99" in body
    assert body.splitlines()[1] in (runner.folder / "summary.md").read_text(encoding="utf-8")
    assert {token for _, token in comments.seen} == {"Bearer the-token"}
    assert "the-token" not in runner.printed
    # A later run takes the place of the comment.
    comments.kept[9] = "of somebody else"
    again = f'--a set:enable_indexscan=on --b condition:idle=1 --fail-if "b<0.01a" {QUICK} --script builtin:select-only'
    runner.failed, runner.code = False, 0
    runner.run(verb="compare", arguments=again, package="", name="one: two")
    assert runner.code == code_of(folder, 0), runner.printed
    assert len(comments.kept) == 2
    assert "b\\<0.01a" in comments.kept[1]


def test_a_checkup_fails_by_its_findings(runner: Runner) -> None:
    with start_server(binaries_for("18"), settings={"fsync": "off"}) as running:
        dsn = dsn_of(running.server)
        runner.run(verb="checkup", arguments=f"'{dsn}' --fail-on warning --observe 0", package="")
        assert runner.code == 5, runner.printed
        assert failures(runner) >= 1
        runner.failed = False
        runner.run(verb="checkup", arguments=f"'{dsn}' --observe 0", package="")
        assert not runner.failed, runner.printed
        assert failures(runner) == 0


def test_a_study_fails_by_its_claims(runner: Runner, command: Command) -> None:
    study = command.study()
    runner.run(verb="study run", arguments=study, package="", comment="false")
    code = int(runner.outputs["run"]["exit-code"])
    assert code in (0, 3, 4), runner.printed
    assert runner.code == code
    assert (failures(runner) > 0) == (code == 3)
    assert (Path(runner.outputs["run"]["folder"]) / "report.md").read_text(encoding="utf-8").strip()


@pytest.mark.drawn(0.15)
def test_an_upgrade_fails_by_its_threshold(runner: Runner, comments: type[Comments]) -> None:
    twin = captured(VISITS, "14", runner.folder / "visits.twin")
    arguments = f'"{twin}" --to 18 --budget 4m --fail-if "b<0.95a" --seed 2'
    runner.run(verb="upgrade", arguments=arguments, package="")
    # 18 needs several times the time for it, which blocks on a starved machine may leave undecided.
    assert runner.code in (3, 4), runner.printed
    assert runner.outputs["run"]["exit-code"] == str(runner.code)
    assert (failures(runner) > 0) == (runner.code == 3)
    (body,) = comments.kept.values()
    assert "14." in body
    assert "18." in body
    assert SWITCH in body.replace("\\", "")


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"verb": "search", "arguments": "--worst"}, "verb 'search' is none of compare, study run, upgrade, checkup"),
        ({"verb": "compare", "arguments": "--b 'open"}, "arguments: No closing quotation"),
    ],
)
def test_wrong_inputs_fail_with_an_error(runner: Runner, inputs: dict[str, str], said: str) -> None:
    runner.run(package="", **inputs)
    assert runner.failed
    assert f"::error::{said}" in runner.printed
    assert "::warning::there is no report to comment with" in runner.printed


def test_a_comment_that_cannot_be_written_is_a_warning(runner: Runner) -> None:
    runner.api = "http://127.0.0.1:9"
    with start_server(binaries_for("18"), settings={"fsync": "off"}) as running:
        runner.run(verb="checkup", arguments=f"'{dsn_of(running.server)}' --observe 0", package="")
    assert "::warning::the comment could not be written" in runner.printed
    assert (runner.failed, runner.code) == (False, 0), runner.printed


def test_nothing_is_commented_outside_a_pull_request(runner: Runner, comments: type[Comments]) -> None:
    runner.event = "schedule"
    runner.run(verb="search", arguments="", package="")
    assert comments.seen == []


def test_the_gitlab_job_keeps_report_and_exit_code(tmp_path: Path, home: Path) -> None:
    arguments = f'--b set:jit=off --fail-if "b<5a" {QUICK} --script builtin:select-only'
    variables = {"PGCLINIC_VERB": "compare", "PGCLINIC_ARGUMENTS": arguments, "PGCLINIC_PACKAGE": ""}
    script = tmp_path / "script.sh"
    script.write_text("\n".join(["set -eo pipefail", *GITLAB["before_script"], *GITLAB["script"]]), encoding="utf-8")
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": PYTHON_PATH,
        "CI_PROJECT_DIR": str(tmp_path),
        "PGCLINIC_HOME": str(home),
    }
    done = subprocess.run(
        ["bash", str(script)],
        cwd=tmp_path,
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    report = tmp_path / "pgclinic-report"
    expected = code_of(report, 3)
    assert done.returncode == expected, done.stdout + done.stderr
    assert (report / "exit-code").read_text() == f"{expected}\n"
    assert ElementTree.parse(tmp_path / GITLAB["artifacts"]["reports"]["junit"]).getroot().tag == "testsuites"
    assert (report / "report.md").read_text(encoding="utf-8").startswith("###")
    assert GITLAB["artifacts"]["when"] == "always"
    assert GITLAB["cache"]["paths"] == [".pgclinic/versions"]


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "workflows").glob("*.yml")), ids=lambda path: path.name)
def test_an_example_gives_the_action_inputs_that_it_has(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"] if step["uses"].startswith("pgclinic/")]
    assert steps
    for step in steps:
        assert step["with"].keys() <= ACTION["inputs"].keys()
        assert {name for name, one in ACTION["inputs"].items() if one.get("required")} <= step["with"].keys()
        assert "secrets." not in step["with"]["arguments"]

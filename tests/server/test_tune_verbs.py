"""``pgclinic assay``, ``search`` and ``bisect`` as commands on real servers."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import msgspec
import pytest

from fixtures.command import PATIENCE, Command, wait_for
from fixtures.crowding import budget
from fixtures.lab_home import MAJORS, binaries_for
from pgclinic.model.output import AssayOutput, BisectOutput, SearchOutput
from pgclinic.model.tuning import Assay, AttemptOutcome, BisectWord

QUICK = ("--script", "builtin:select-only", "-c", "2", "--measure", "1s", "--warm-up", "0", "--seed", "3")


def written(command: Command, name: str, text: str) -> str:
    (command.folder / name).write_text(text, encoding="utf-8")
    return name


def with_shell(plan: str, marker: Path) -> str:
    """The same plan, whose arms run a command of the shell, and whose study does not say so."""
    changed = json.loads(plan)
    for arm in changed["arms"].values():
        arm["traffic"]["scripts"][0]["text"] += f"\n\\shell touch {marker}\n"
    return json.dumps(changed)


@pytest.mark.drawn(0.3)
def test_the_bad_setting_of_a_file_is_named(command: Command) -> None:
    """No look-up by key uses an index any more, which shows at any load of the machine."""
    file = written(
        command,
        "bad.conf",
        "random_page_cost = 1e300\nwork_mem = 8MB\nlog_lock_waits = on\nport = 5433\ntemp_buffers = 16MB\n",
    )
    done = command.run("assay", file, *QUICK, "-s", "2", "--budget", budget(110), "--json", timeout=250)
    assert done.returncode == 0, done.stderr
    found = msgspec.json.decode(done.stdout, type=AssayOutput)
    assert found.whole is not None and found.whole.ratio < 0.5
    assert "random_page_cost" not in found.bystanders
    if found.carriers or not command.was_starved():
        assert found.carriers[0].setting == "random_page_cost"
        assert found.carriers[0].factor < 0.5
        assert found.carriers[0].interval[1] < 1
        assert found.smallest == ("random_page_cost",)
    assert "left out, as the lab decides them: port" in done.stderr
    page = (command.only_run() / "report.html").read_text()
    assert "random_page_cost" in page and "At a glance" in page
    stored = msgspec.json.decode((command.only_run() / "assay.json").read_bytes(), type=Assay)
    assert stored.carriers == found.carriers
    judged = command.run("study", "judge", str(command.only_run()))
    assert (judged.returncode, "pgclinic assay --resume" in judged.stderr) == (1, True), judged.stderr
    assert (command.only_run() / "report.html").read_text() == page


@pytest.mark.drawn(0.3)
def test_an_interrupted_assay_goes_on_with_its_trials(command: Command) -> None:
    words = ("assay", "--set", "random_page_cost=1e300", "--set", "work_mem=8MB", *QUICK, "--budget", budget(60))
    process = command.start(*words)

    def three_trials() -> bool:
        return command.runs.is_dir() and len(list(command.runs.glob("*/trials/*/record.json"))) >= 3

    wait_for(three_trials, 60)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60 * PATIENCE)
    assert process.returncode == 130
    assert "--resume" in err
    before = {record["spec"]["number"]: record["started_epoch_us"] for record in command.records()}
    # A run folder may come from anybody.
    plan = command.only_run() / "plan.json"
    stored = plan.read_text(encoding="utf-8")
    plan.write_text(with_shell(stored, command.folder / "ran"), encoding="utf-8")
    refused = command.run("assay", "--resume", str(command.only_run()))
    assert (refused.returncode, "--allow-shell" in refused.stderr) == (1, True), refused.stderr
    assert not (command.folder / "ran").exists()
    plan.write_text(stored, encoding="utf-8")
    done = command.run("assay", "--resume", str(command.only_run()), "--json", timeout=200)
    assert done.returncode in (0, 4), done.stderr
    after = {record["spec"]["number"]: record["started_epoch_us"] for record in command.records()}
    assert before.items() <= after.items()
    assert json.loads(done.stdout)["trials"] >= len(before)


@pytest.mark.drawn(0.3)
def test_a_slow_configuration_is_found_and_written_as_a_file(command: Command) -> None:
    only = [word for name in ("random_page_cost", "work_mem", "track_functions") for word in ("--only", name)]
    words = (*QUICK, "-s", "2", "--budget", budget(80), "--within", "20s", *only, "-o", "slow.conf", "--json")
    done = command.run("search", "--worst", *words, timeout=240)
    if done.returncode == 4:
        assert command.was_starved(), done.stderr
        return
    assert done.returncode == 0, done.stderr
    found = msgspec.json.decode(done.stdout, type=SearchOutput)
    assert found.settings["random_page_cost"] == "1e300"
    assert found.effect is not None and found.effect.ratio < 0.5
    assert found.rule is not None and found.rule.passed
    text = (command.folder / "slow.conf").read_text()
    assert "random_page_cost = '1e300'" in text
    assert "slower" in text
    again = command.run("search", "--worst", *words, timeout=240)
    assert again.returncode == 1
    assert "slow.conf" in again.stderr


@pytest.mark.drawn(0.3)
def test_a_number_with_which_transactions_fail_is_moved_until_they_work(command: Command) -> None:
    """A look at 3,000 partitions takes as many locks, for which the least max_locks_per_transaction has no room."""
    schema = written(
        command,
        "schema.sql",
        "create table day (day int) partition by list (day);\n"
        "do $$ begin for n in 1 .. 3000 loop "
        "execute format('create table day_%s partition of day for values in (%s)', n, n); end loop; end $$;\n",
    )
    script = written(command, "days.sql", "select count(*) from day;\n")
    words = ("--script", script, "--schema", schema, "--only", "max_locks_per_transaction")
    words = (
        *words,
        "--allow",
        "kills_work",
        "-c",
        "1",
        "--measure",
        "1s",
        "--warm-up",
        "0",
        "--budget",
        budget(80),
        "--json",
    )
    done = command.run("search", "--worst", *words, timeout=240)
    assert done.returncode in (0, 4), done.stderr
    steps = msgspec.json.decode(done.stdout, type=SearchOutput).steps
    failed = [step for step in steps if step.outcome is AttemptOutcome.CLIENTS_FAILED]
    if not failed and command.was_starved():
        # The budget ended before anything was tried.
        return
    assert failed[0].added == {"max_locks_per_transaction": "10"}, steps
    assert all("out of shared memory (53200)" in (one.reason or "") for one in failed)
    worked = [int(value) for step in steps if step.outcome is AttemptOutcome.DONE for value in step.added.values()]
    assert any(10 < value < 64 for value in worked), steps
    assert not any(one.accepted for one in failed)


@pytest.mark.drawn(0.3)
def test_equal_releases_are_compared_with_one_error(command: Command) -> None:
    """The same programs twice, once as a version and once by their directory."""
    bindir = str(binaries_for(MAJORS[0]).bindir)
    words = ("builtin:select-only", "--bindir", bindir, "--bindir", bindir, "-c", "2", "--measure", "1s")
    done = command.run("bisect", *words, "--warm-up", "0", "--budget", budget(60), "--seed", "3", "--json", timeout=200)
    assert done.returncode in (0, 4), done.stderr
    found = msgspec.json.decode(done.stdout, type=BisectOutput)
    assert found.word is not BisectWord.CHANGED
    assert len(found.releases) == 2
    assert found.comparisons == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("assay",), "there is nothing to assay"),
        (("assay", "none.conf"), "no such file"),
        (("assay", "--set", "work_mm=1MB"), "work_mem"),
        (("assay", "--set", "work_mem=1MB", "--budget", "soon"), "not a valid duration"),
        (("search",), "name one of --worst and --best"),
        (("search", "--worst", "--best"), "name one of --worst and --best"),
        (("search", "--best", "--allow", "durabilty"), "durability"),
        (("search", "--worst", "--p99", "1.1x"), "--p99 is for --best"),
        (("search", "--best", "--p99", "little"), "is not a ratio"),
        (("search", "--best", "--memory", "much"), "--memory 'much'"),
        (("bisect", "builtin:select-only"), "name the releases"),
        (("bisect", "--versions", "13..18"), "there is no workload"),
        (("bisect", "builtin:select-only", "--versions", "18"), "two releases or more"),
        (("bisect", "builtin:select-only", "--versions", "18..13"), "is older than"),
        (("bisect", "builtin:select-onyl", "--versions", "17,18"), "select-only"),
    ],
)
def test_wrong_words_get_one_clear_error(command: Command, words: tuple[str, ...], said: str) -> None:
    done = command.run(*words)
    assert done.returncode == 1, done.stdout
    assert said in done.stderr
    assert not command.runs.exists() or not any(command.runs.iterdir())

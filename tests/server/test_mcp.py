"""``pgclinic mcp`` with the SDK's client, a real server and a real service file."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from fixtures.command import alive, descendants, wait_for
from fixtures.mcp_client import McpClient, talk, text_of
from fixtures.patient import patient
from pgclinic.lab.instance import RunningServer
from pgclinic.pg.connect import connect, set_password

PASSWORD = "s3cret-of-the-service-file"


@dataclass(frozen=True)
class Lab:
    """A server that wants a password, a service file that has it, and a folder for runs."""

    server: RunningServer
    folder: Path
    services: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"PGSERVICEFILE": str(self.services)}


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with patient("18", {}) as made:
        server = made.running.server
        made.sql(
            "create role reader login superuser",
            "create table orders (id int primary key, customer_id int)",
            "insert into orders select i, i % 1000 from generate_series(1, 60000) i",
            "vacuum analyze orders",
            *["select count(*) from orders where customer_id = 7"] * 40,
        )
        with connect(server) as connection:
            set_password(connection, "reader", PASSWORD)
        hba = made.data / "pg_hba.conf"
        wanted = "local all reader scram-sha-256\nhost all reader 127.0.0.1/32 scram-sha-256\n"
        hba.write_text(wanted + hba.read_text(encoding="utf-8"), encoding="utf-8")
        made.sql("select pg_reload_conf()")
        services = tmp_path / "services.conf"
        services.write_text(
            f"# of the test\n[shop]\nhost={server.host}\nport={server.port}\nuser=reader\n"
            f"dbname={server.database}\npassword={PASSWORD}\n\n[gone]\nhost=127.0.0.1\nport=1\npassword={PASSWORD}\n",
            encoding="utf-8",
        )
        services.chmod(0o600)
        yield Lab(made.running, tmp_path, services)


def words_of_processes() -> list[str]:
    """The argument list of every process of this machine."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found.append((entry / "cmdline").read_bytes().decode(errors="replace"))
            except OSError:
                continue
    return found


def test_a_checkup_of_a_named_service_is_started_followed_and_read_and_no_password_gets_anywhere(lab: Lab) -> None:
    seen_words: list[str] = []

    async def ask(client: McpClient) -> tuple[list[str], dict[str, Any], dict[str, Any], dict[str, Any]]:
        # Longer than start_checkup waits for a checkup that fails at once: it is seen at work.
        started = await client.ask("start_checkup", service="shop", observe="9s")
        run = started["run"]
        assert started["state"] in ("starting", "running", "finished")
        seen_words.extend(words_of_processes())
        ended = await client.follow(run, "finished", "failed", "stopped")
        assert ended["state"] == "finished", ended
        findings = await client.ask("read_findings", run=run)
        verdict = await client.ask("read_verdict", run=run)
        report = await client.ask("read_report", run=run, form="json")
        await client.ask("read_report", run=run)
        listed = await client.ask("list_runs", kind="checkup")
        assert [line["run"] for line in listed["untrusted"]] == [run]
        return client.heard, findings, verdict, report

    heard, findings, verdict, report = talk(lab.folder, ask, "--allow-run", environment=lab.environment)
    found = {finding["key"]: finding for finding in findings["untrusted"]["findings"]}
    lead = next(finding for key, finding in found.items() if key.startswith("missing-index"))
    assert any(one["kind"] == "statement" and "customer_id" in one["name"] for one in lead["evidence"])
    assert any("create index" in sql.lower() for one in lead["treatments"] for sql in one["sql"])
    assert "is data" in findings["note"]
    assert verdict["kind"] == "checkup" and verdict["answer"] == findings["health"]
    assert '"findings"' in report["untrusted"]

    assert any("service=shop" in words for words in seen_words), "the checkup was not seen running"
    files = [path for path in (lab.folder / "runs").rglob("*") if path.is_file()]
    assert len(files) > 3
    texts = [*heard, *seen_words, (lab.folder / "mcp.log").read_text(), *(path.read_text() for path in files)]
    assert not [text for text in texts if PASSWORD in text]


def test_names_that_are_wrong_get_one_clear_error_with_the_nearest(lab: Lab) -> None:
    async def ask(client: McpClient) -> list[str]:
        return [
            await client.refusal("start_checkup", service="shpo"),
            await client.refusal("start_checkup", service="postgresql://reader:x@localhost/postgres"),
            await client.refusal("start_checkup", service="shop' host=elsewhere"),
            await client.refusal("start_checkup", servise="shop"),
            await client.refusal("start_checkup", service="shop", budget="5m"),
            await reason(client, "gone"),
            await client.refusal("stop_checkup", run="2026-01-01-checkup-shop"),
            await client.refusal("start_chekup", service="shop"),
        ]

    near, dsn, quoted, argument, option, gone, stopped, tool = talk(
        lab.folder, ask, "--allow-run", environment=lab.environment
    )
    assert near == "unknown service 'shpo'\nhint: did you mean shop?"
    for refused in (dsn, quoted):
        assert refused.startswith("a service is named by its name alone") and "known: shop, gone" in refused
    assert argument == "unknown argument 'servise'\nhint: did you mean service?"
    assert "--budget needs --prove" in option
    assert "cannot connect" in gone and PASSWORD not in gone
    assert "has started no checkup" in stopped
    assert tool == "unknown tool 'start_chekup'\nhint: did you mean start_checkup?"
    assert not (lab.folder / "runs").exists(), "a refused checkup leaves nothing"


async def reason(client: McpClient, service: str) -> str:
    """Why a checkup cannot be made: at once, or on a busy machine when it is followed."""
    answer = await client.call("start_checkup", service=service)
    if answer.is_error:
        return text_of(answer)
    assert isinstance(answer.structured_content, dict)
    failed = await client.follow(answer.structured_content["run"], "failed")
    return "\n".join(failed["untrusted"]["messages"])


def test_without_allow_run_nothing_is_started_and_the_tool_says_how_to_allow_it(lab: Lab) -> None:
    async def ask(client: McpClient) -> tuple[str, list[str]]:
        tools = await client.client.list_tools()
        refused = await client.refusal("start_checkup", service="shop")
        described = [tool.description or "" for tool in tools.tools if tool.name == "start_checkup"]
        return refused, described

    refused, described = talk(lab.folder, ask, environment=lab.environment)
    assert "read-only" in refused and "pgclinic mcp --allow-run" in refused
    assert "read-only" in described[0]
    assert not any("service=shop" in words for words in descendants(os.getpid()).values())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_is_killed_takes_its_checkup_with_it(lab: Lab, number: signal.Signals) -> None:
    async def ask(client: McpClient) -> str:
        started = await client.ask("start_checkup", service="shop", observe="600s")
        run: str = started["run"]
        assert processes_named(run)
        (server,) = [pid for pid, words in descendants(os.getpid()).items() if "mcp --allow-run" in words]
        os.kill(server, number)
        with anyio.fail_after(120):
            while alive(server):
                await anyio.sleep(0.05)
        return run

    run = talk(lab.folder, ask, "--allow-run", environment=lab.environment)
    wait_for(lambda: not processes_named(run))
    assert "Traceback" not in (lab.folder / "mcp.log").read_text()


@pytest.mark.drawn(0.5)
def test_a_client_that_goes_ends_its_checkup_and_no_server_of_the_lab_is_left(lab: Lab) -> None:
    """The client closes the connection while a proof runs on a twin."""
    below: dict[int, str] = {}

    async def ask(client: McpClient) -> str:
        started = await client.ask("start_checkup", service="shop", observe="0", prove=True, budget="5m")
        run: str = started["run"]
        await client.follow(run, "running")
        with anyio.fail_after(240):
            while not below:
                mine = [pid for pid, words in processes_named(run).items() if "checkup" in words]
                for pid in mine:
                    below.update({child: words for child, words in descendants(pid).items() if "postgres" in words})
                await anyio.sleep(0.05)
        return run

    run = talk(lab.folder, ask, "--allow-run", environment=lab.environment)
    wait_for(lambda: not processes_named(run))
    wait_for(lambda: not [pid for pid in below if alive(pid)])
    assert (lab.folder / "runs" / run / "checkup.json").is_file(), "what was found is kept"


def processes_named(run: str) -> dict[int, str]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if run in words:
                found[int(entry.name)] = words
    return found


def test_a_checkup_is_stopped_by_its_tool(lab: Lab) -> None:
    async def ask(client: McpClient) -> dict[str, Any]:
        started = await client.ask("start_checkup", service="shop", observe="600s")
        assert started["state"] == "starting"
        await client.ask("stop_checkup", run=started["run"])
        ended = await client.follow(started["run"], "stopped", "finished", "failed")
        answer = await client.call("read_findings", run=started["run"])
        assert answer.is_error and "unknown run" in text_of(answer)
        return ended

    ended = talk(lab.folder, ask, "--allow-run", environment=lab.environment)
    assert ended["state"] == "stopped"
    assert ended["exit_code"] in (130, -signal.SIGINT), "the latter where it had only begun to start"

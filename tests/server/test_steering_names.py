"""Names, statements and settings that would steer a terminal or end an element: nothing of them is raw in an output."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fixtures.command import Command
from fixtures.drawn import drawn_majors
from fixtures.lab_home import binaries_for
from fixtures.mcp_client import McpClient, talk
from fixtures.owner_session import owner_session
from pgclinic.lab.instance import start_server
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.reach import in_database
from pgclinic.pg.session import Access

SQL = Path(__file__).parents[1] / "fixtures" / "steering_names.sql"
ESC, BELL, RIGHT_TO_LEFT = "\x1b", "\x07", "\u202e"
#: 31 accents above one letter are 63 bytes, as long as a name may be.
MARKS = "a" + "\u0301" * 31
assert len(MARKS.encode()) == 63
DATABASE = f"{ESC}[31m\"d</script>'\n{RIGHT_TO_LEFT}"
STEERS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), 0x202E) if chr(code) not in "\n\t"]


@pytest.fixture(scope="module", params=drawn_majors("steering names", ("14", "18")))
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    settings = {"shared_preload_libraries": "pg_stat_statements", "autovacuum": "off"}
    with start_server(binaries_for(request.param), settings=settings) as running:
        with owner_session(running) as client:
            client.execute('create database "{}"'.format(DATABASE.replace('"', '""')))
        with owner_session(running, DATABASE) as client, owner_session(running, DATABASE) as idle:
            text = SQL.read_text(encoding="utf-8")
            for name, sign in {"esc": ESC, "bel": BELL, "rtl": RIGHT_TO_LEFT, "marks": MARKS}.items():
                text = text.replace(f"<{name}>", sign)
            client.execute(text)
            client.execute(f"set application_name = '{ESC}[31m</script>'")
            for number in range(5):
                client.execute(f'select {number} /* {ESC}[31m</script> */ as "{ESC}[31m", count(*) from "{MARKS}"')
            idle.execute(f"set application_name = '{ESC}[2J</script>\u202e'")
            idle.execute("begin")
            idle.execute(f'delete from "line\nbreak\n-- | x" where "{ESC}[31m" = 5')
            yield dsn_of(in_database(Access(running.server), DATABASE).server)


def assert_steers_nothing(text: str, *, scripts: int | None = None) -> None:
    assert [sign for sign in STEERS if sign in text] == []
    if scripts is not None:
        assert text.lower().count("</script") == scripts


class Elements(HTMLParser):
    """Counts scripts, and remembers what those that hold data have."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.data: list[str] = []
        self._is_data = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self._is_data = tag == "script" and ("type", "application/json") in attrs

    def handle_data(self, data: str) -> None:
        if self._is_data:
            self.data.append(data)
            self._is_data = False


def assert_page(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    found = Elements()
    found.feed(page)
    assert_steers_nothing(page, scripts=found.scripts)
    for data in found.data:
        json.loads(data)


def assert_line(out: str, err: str) -> None:
    assert_steers_nothing(out)
    assert_steers_nothing(err)


def test_a_checkup_shows_them_and_none_is_raw(address: str, command: Command) -> None:
    exports = ("--markdown", "c.md", "--junit", "c.xml", "--prometheus", "c.prom")
    ran = command.run("checkup", address, "--observe", "1s", "--full", *exports)
    assert ran.returncode == 0, ran.stderr
    assert_line(ran.stdout, ran.stderr)
    assert "\u241b" in ran.stdout
    run = command.only_run()
    assert_page(run / "report.html")
    texts = {name: (command.folder / name).read_text(encoding="utf-8") for name in ("c.md", "c.xml", "c.prom")}
    for text in texts.values():
        assert_steers_nothing(text)
        assert "\u241b" in text
    assert ElementTree.fromstring(texts["c.xml"]).tag == "testsuites"
    assert all(line.startswith(("#", "pgclinic_checkup_")) for line in texts["c.prom"].splitlines())
    for words in (("--json",), ("--graph", "text"), ("--graph", "dot")):
        again = command.run("checkup", "--from", str(run), *words)
        assert again.returncode == 0, again.stderr
        assert_line(again.stdout, again.stderr)
        if words == ("--json",):
            json.loads(again.stdout)
    treated = command.run("treat", str(run), "--all", "-o", "all.sql")
    assert treated.returncode == 0, treated.stderr
    # Statements need the names as they are; what people read beside them does not.
    script = (command.folder / "all.sql").read_text(encoding="utf-8")
    assert_steers_nothing("\n".join(line for line in script.splitlines() if line.startswith("--")))


def test_runs_and_their_reports(address: str, command: Command) -> None:
    assert command.run("checkup", address, "--observe", "0", "--json").returncode == 0
    run = command.only_run()
    for words in (("list",), ("list", "--json"), ("show", run.name), ("show", run.name, "--json")):
        ran = command.run("runs", *words)
        assert ran.returncode == 0, ran.stderr
        assert_line(ran.stdout, ran.stderr)
        if "--json" in words:
            json.loads(ran.stdout)
    for name in ("again.html", "again.md", "again.json"):
        assert command.run("report", run.name, "-o", name).returncode == 0
    assert_page(command.folder / "again.html")
    assert_steers_nothing((command.folder / "again.md").read_text(encoding="utf-8"))
    json.loads((command.folder / "again.json").read_bytes())


def test_a_capture(address: str, command: Command) -> None:
    for words in (("twin", "-o", "s.twin"), ("snapshot", "-o", "s.json"), ("horizon", "-o", "h.json", "--for", "1s")):
        ran = command.run("capture", words[0], address, *words[1:])
        assert ran.returncode == 0, ran.stderr
        assert_line(ran.stdout, ran.stderr)


def test_bench_observers(address: str, command: Command) -> None:
    script = command.folder / f"{ESC}[31m.sql"
    script.write_text(f'select count(*) /* {ESC}[31m</script> */ from "{MARKS}";\n', encoding="utf-8")
    words = ("--report=b.html", "-n", "-T", "2", "-c", "2", "-f", str(script))
    ran = command.run("bench", *words, address)
    assert ran.returncode == 0, ran.stderr
    assert_line(ran.stdout, ran.stderr)
    assert_page(command.folder / "b.html")
    ran = command.run("bench", "--json", *words[1:], address)
    assert ran.returncode == 0, ran.stderr
    assert_line(ran.stdout, ran.stderr)
    json.loads(ran.stdout)


def test_a_program_that_asks(address: str, command: Command) -> None:
    assert command.run("checkup", address, "--observe", "0").returncode == 0
    run = command.only_run().name

    async def ask(client: McpClient) -> list[str]:
        await client.ask("list_runs")
        await client.ask("read_findings", run=run)
        await client.ask("read_report", run=run)
        return client.heard

    for heard in talk(command.folder, ask):
        assert_steers_nothing(json.dumps(json.loads(heard), ensure_ascii=False))
        assert "\\u001b" not in heard

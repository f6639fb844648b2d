"""Examples of every command: the only place where they stand. Help texts and man pages show them.

A test parses each of them, so an option that is renamed or removed is noticed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DSN = "postgresql://reader@db/shop"


@dataclass(frozen=True)
class Example:
    """``line`` is what the user types, ``purpose`` a sentence that says what it is for."""

    line: str
    purpose: str


def _examples(*pairs: tuple[str, str]) -> tuple[Example, ...]:
    return tuple(Example(line=line, purpose=purpose) for line, purpose in pairs)


#: By the words of the command after ``pgclinic``; those of ``pgclinic`` itself stand under the empty text.
EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "": _examples(
        (f"pgclinic checkup {DSN}", "Why is this server slow?"),
        ("pgclinic compare --a version=17 --b version=18", "Is version 18 faster than 17?"),
        ("pgclinic study run global-counters --profile demo", "Repeat a published claim on this machine."),
    ),
    "checkup": _examples(
        (f"pgclinic checkup {DSN}", "Examine a server."),
        (f"pgclinic checkup {DSN} --prove --budget 10m", "Test every treatment on a twin as well."),
        (f"pgclinic checkup {DSN} --fail-on critical --markdown -", "In CI: exit code 5 if a finding is critical."),
    ),
    "treat": _examples(
        ("pgclinic treat runs/2026-11-22-checkup-shop 1", "Print the treatment of the first finding."),
        ("pgclinic treat runs/2026-11-22-checkup-shop --all -o cure.sql", "Write all treatments as one script."),
    ),
    "advise": _examples(
        (f"pgclinic advise {DSN} -o indexes.sql", "Write the indexes that the workload needs."),
        ("pgclinic advise shop.twin --max-indexes 3 --max-size 2GB", "At most three indexes of at most 2 GB together."),
    ),
    "report": _examples(
        ("pgclinic report runs/2026-11-22-checkup-shop -o report.md", "Write the report as Markdown."),
        ("pgclinic report runs/monday runs/friday", "Show two runs side by side."),
    ),
    "serve": _examples(
        ("pgclinic serve --open", "Open the runs of ./runs in a browser."),
        (
            "pgclinic serve --host 0.0.0.0 --token-file token --tls-cert cert.pem --tls-key key.pem",
            "Let other machines read them too.",
        ),
    ),
    "mcp": _examples(
        ("pgclinic mcp", "Let a program read the runs that are kept in ./runs."),
        (
            "pgclinic mcp --allow-run --runs shop/runs",
            "Let it start checkups of the services of the service file as well.",
        ),
    ),
    "compare": _examples(
        ("pgclinic compare --a version=13.3 --b version=18", "Compare two releases with pgbench's TPC-B."),
        (
            "pgclinic compare --a set:jit=on --b set:jit=off --script report.sql --schema shop.sql",
            "Compare two values of a setting with a script.",
        ),
        (
            "pgclinic compare --twin shop.twin --b schema:migration.sql --fail-if 'b<0.95a'",
            "In CI: exit code 3 if a migration makes the workload more than 5 % slower.",
        ),
    ),
    "assay": _examples(
        ("pgclinic assay postgresql.conf --tpcc", "Which settings of this file matter for TPC-C?"),
        (f"pgclinic assay {DSN} --budget 30m", "Which settings of a live server matter for its workload?"),
    ),
    "search": _examples(
        ("pgclinic search --best --twin shop.twin -o best.conf", "Find the fastest configuration for a workload."),
        ("pgclinic search --worst --tpcc", "Find the slowest configuration for TPC-C."),
    ),
    "bisect": _examples(
        ("pgclinic bisect builtin:select-only --versions 13..18", "Since which major version has the speed changed?"),
        ("pgclinic bisect report.sql --schema shop.sql --versions 16.0..17.4", "The same for minor releases."),
    ),
    "upgrade": _examples(
        (f"pgclinic upgrade {DSN} --to 18", "What changes for this workload on version 18?"),
        ("pgclinic upgrade shop.twin --to 18 --fail-if 'b<0.95a'", "In CI: exit code 3 if it becomes 5 % slower."),
    ),
    "grow": _examples(
        (f"pgclinic grow {DSN} --to 10x", "What do ten times the rows cost?"),
        ("pgclinic grow shop.twin --to 5x --fixed countries --memory 64GB", "One table keeps its size."),
    ),
    "doctor": _examples(
        ("pgclinic doctor", "What would make the verdicts of this machine better?"),
    ),
    "bench": _examples(
        ("pgclinic bench --lab -S -c 8 -T 10", "Select-only on a server that is started for this run."),
        ("pgclinic bench -c 16 -j 2 -T 60 -P 5 shop", "TPC-B on the database shop."),
        ("pgclinic bench --lab --tpcc --warehouses 10 -T 300", "TPC-C on a server that is started for this run."),
        ("pgclinic bench -f checkout.sql -R 500 --fail-if 'p99>50ms' -T 60 shop", "A script at 500 transactions/s."),
    ),
    "study": _examples(("pgclinic study run all", "Run all studies and print one table of verdicts.")),
    "study list": _examples(("pgclinic study list", "List the installed studies.")),
    "study show": _examples(("pgclinic study show global-counters", "Show the claims of a study.")),
    "study run": _examples(
        ("pgclinic study run global-counters --profile demo", "Run the shortest profile of a study."),
        ("pgclinic study run mine.toml --budget 20m", "Run a study of your own."),
    ),
    "study new": _examples(("pgclinic study new slow-sort", "Write slow-sort.toml.")),
    "study judge": _examples(
        ("pgclinic study judge runs/2026-11-22-global-counters-933", "Judge a stored run again."),
    ),
    "lab": _examples(
        ("pgclinic lab start --version 13.3", "Start a server."),
        ("pgclinic lab psql", "Open psql on it."),
        ("pgclinic lab stop", "Stop it and remove its data."),
    ),
    "lab start": _examples(
        ("pgclinic lab start --version 13.3", "Start a server of one release."),
        ("pgclinic lab start --set work_mem=64MB --port 5433", "Listen on TCP, with a setting."),
        ("pgclinic lab start --twin shop.twin --scale 0.1", "Rebuild a captured database with a tenth of its rows."),
    ),
    "lab stop": _examples(("pgclinic lab stop --all", "Stop all servers that `lab start` started.")),
    "lab list": _examples(("pgclinic lab list", "List the running servers.")),
    "lab versions": _examples(("pgclinic lab versions --all", "List every release that can be started.")),
    "lab psql": _examples(("pgclinic lab psql -- -c 'SELECT version()'", "Run one statement.")),
    "lab logs": _examples(("pgclinic lab logs -f", "Follow the log of the only server.")),
    "lab events": _examples(("pgclinic lab events --json", "Print the events of the log as JSON lines.")),
    "lab memory": _examples(
        (f"pgclinic lab memory 4711 {DSN}", "The memory contexts of a backend."),
        ("pgclinic lab memory 4711 --times 5 --every 2s", "How they change."),
    ),
    "lab leftovers": _examples((f"pgclinic lab leftovers {DSN} --drop", "Drop what killed commands left there.")),
    "lab prune": _examples(("pgclinic lab prune --unused-days 7", "Remove templates unused for a week.")),
    "capture": _examples((f"pgclinic capture twin {DSN} -o shop.twin", "Capture a database without its rows.")),
    "capture snapshot": _examples(
        (f"pgclinic capture snapshot {DSN} --observe 30s -o shop.json", "Write the state of a server to a file."),
    ),
    "capture horizon": _examples(
        (f"pgclinic capture horizon {DSN} --for 24h --html horizon.html", "Record a whole day."),
    ),
    "capture twin": _examples(
        (f"pgclinic capture twin {DSN} -o shop.twin", "Capture a database."),
        (f"pgclinic capture twin {DSN} --tables 'public.*' --observe 10m", "Some tables, and the next ten minutes."),
    ),
    "twin": _examples(("pgclinic twin check shop.twin", "How closely does a twin match its original?")),
    "twin check": _examples(
        ("pgclinic twin check shop.twin", "Compare a twin with what was captured."),
        (f"pgclinic twin check shop.twin --against {DSN}", "Compare its query plans as well."),
    ),
    "runs": _examples(("pgclinic runs list", "List the runs of ./runs.")),
    "runs list": _examples(("pgclinic runs list --kind checkup --older-than 30d", "Old checkups.")),
    "runs show": _examples(("pgclinic runs show runs/2026-11-22-checkup-shop", "Show one run.")),
    "runs history": _examples(
        ("pgclinic runs history global-counters", "How did the figures of a study change?"),
        ("pgclinic runs history shop --fail-on worse -o history.xml", "In CI: exit code 3 if a figure became worse."),
    ),
    "runs rm": _examples(("pgclinic runs rm runs/2026-11-22-checkup-shop", "Delete one run.")),
    "runs prune": _examples(("pgclinic runs prune --older-than 90d --keep 5 --yes", "Delete old runs but five.")),
}


def examples_text(name: str) -> str:
    """Return the examples of a command, as help shows them; empty for a command that has none."""
    lines = [f"  {example.purpose}\n    $ {example.line}" for example in EXAMPLES.get(name, ())]
    return "\n".join(["Examples:", *lines]) if lines else ""

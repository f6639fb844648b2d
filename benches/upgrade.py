#!/usr/bin/env python3
"""How often `pgclinic upgrade` names what is known to change, and whether it names anything where nothing changes.

--same: the twin of a shop (49 statements) from a version to itself, as often as --runs: every statement that is called
slower or faster is a false finding. Otherwise regressions are planted, by --plant:

plan       a rare aggregate of a web shop's visits from 14 to 18, slower since 16. Named: the statement, the switch that
           restores it, and the release.
jit        the same visits from a server that does not compile to one that does, as from 11 to 12, where the default of
           jit became on; twins begin with 13, and the lab's downloaded servers have no JIT, so the target is an
           installed server (--bindir). The original has a low jit_above_cost. Named: a slower statement with cause jit.
locks      1,050 partitions and max_locks_per_transaction = 10. Named before anything runs.
collation  indexes by a collation of ICU, to an installed server (--bindir) whose ICU has another version of it, and as
           a control to one with the same version. Named before anything runs, and not in the control.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from fixtures.application import Application
from fixtures.shop import SHOP
from fixtures.visits import SLOWER, SWITCH, VISITS, captured
from pgclinic.lab.instance import start_server
from pgclinic.lab.sources import find_source
from pgclinic.model.load import Script
from pgclinic.pg.session import Access, Session

#: Statements of the visits that cost more than this are compiled; the default is 100,000.
_JIT_ABOVE = {"jit_above_cost": "500"}
_LOCKS = {"max_locks_per_transaction": "10"}
_PARTITIONS = 1050
_COLLATION = "de-x-icu"
_SHARDS = f"""
create table reading (sensor_id int not null, taken_at timestamptz not null, value real) partition by range (sensor_id);

do $$ begin
  for n in 0..{_PARTITIONS - 1} loop
    execute format('create table reading_%s partition of reading for values from (%s) to (%s)', n, n * 10, n * 10 + 10);
    commit;
  end loop;
end $$;

insert into reading select g % {_PARTITIONS * 10}, timestamptz '2025-01-01' + g * interval '1 minute', g
  from generate_series(1, 20000) g;
"""
_NAMES = f"""
create table person (person_id int primary key, name text collate "{_COLLATION}" not null);
insert into person select g, md5(g::text) from generate_series(1, 5000) g;
create index person_name on person (name);
"""


def upgraded(folder: Path, twin: Path, *words: str) -> dict[str, Any]:
    """What one run prints as JSON."""
    command = [sys.executable, "-m", "pgclinic", "upgrade", str(twin), *words, "--no-blocks", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)["upgrade"]
    return found


def said(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in found["statements"] if one["word"] in ("slower", "faster")]


def same(folder: Path, runs: int, version: str, budget: str) -> None:
    """Every run is a new one: other turns, other moments of the machine, other samples of ANALYZE."""
    twin = captured(SHOP, version, folder / "shop.twin")
    statements, false, with_one = 0, 0, 0
    for number in range(1, runs + 1):
        began_s = time.monotonic()
        found = upgraded(folder, twin, "--to", version, "--from", version, "--budget", budget, "--seed", str(number))
        named = said(found)
        statements, false, with_one = statements + len(found["statements"]), false + len(named), with_one + bool(named)
        plans = sum(one["plan_changed"] for one in found["statements"])
        print(
            f"{number:3}  {len(found['statements'])} statements, {len(named)} named, {plans} plans changed, within "
            f"{found['same_spread']:.2f}x  {time.monotonic() - began_s:.0f} s",
            *(f"\n     {one['word']} {one['ratio']:.2f} {one['text']}" for one in named),
            flush=True,
        )
    print(f"{version} to itself, {runs} runs: {false} of {statements} statements named, in {with_one} runs")


def plan(folder: Path, asked: argparse.Namespace) -> None:
    twin = captured(VISITS, "14", folder / "visits.twin")
    hits = {"statement": 0, "cause": 0, "release": 0}
    others = 0
    for number in range(1, asked.runs + 1):
        found = upgraded(folder, twin, "--to", "18", "--bisect", "--budget", asked.budget, "--seed", str(number))
        slower = [one for one in found["statements"] if one["word"] == "slower"]
        (hit, *_) = [one for one in slower if SLOWER in one["text"]] or [None]
        others += len(slower) - (hit is not None)
        hits["statement"] += hit is not None
        hits["cause"] += hit is not None and hit["cause"] is not None and SWITCH in hit["cause"]["settings"]
        hits["release"] += hit is not None and (hit["since"] or "").startswith("16.")
        print(f"{number:3}  {hit['ratio'] if hit else 0:.1f}x, {hits}, {others} others slower", flush=True)
    print(f"plan: 14 to 18, {asked.runs} runs: {hits}, {others} others called slower")


def jit(folder: Path, asked: argparse.Namespace) -> None:
    if not compiles(asked.bindir):
        print(f"jit: not planted, as {asked.bindir} has no JIT", flush=True)
        return
    twin = captured(VISITS, "14", folder / "jit.twin", settings=_JIT_ABOVE)
    named = with_cause = 0
    for number in range(1, asked.runs + 1):
        words = ("--bindir", str(asked.bindir), "--budget", asked.budget, "--seed", str(number))
        found = upgraded(folder, twin, *words)
        slower = [one for one in found["statements"] if one["word"] == "slower"]
        causes = [one["cause"]["kind"] for one in slower if one["cause"] is not None]
        named, with_cause = named + bool(slower), with_cause + ("jit" in causes)
        print(
            f"{number:3}  {len(slower)} of {len(found['statements'])} slower, causes: {', '.join(causes) or 'none'}",
            *(f"\n     {one['ratio'] or 0:.1f}x {one['text'][:80]}" for one in slower),
            flush=True,
        )
    print(
        f"jit: 14 to {found['after']}, {asked.runs} runs: a slower statement in {named}, with cause jit in {with_cause}"
    )


def locks(folder: Path, asked: argparse.Namespace) -> None:
    app = _small("readings", _SHARDS, "\\set s random(0, 9)\nselect count(*) from reading where sensor_id = :s;")
    found = upgraded(
        folder, captured(app, "14", folder / "locks.twin", settings=_LOCKS), "--to", "18", "--budget", asked.budget
    )
    seen = found["preflight"]["locks"]
    print(f"locks: {'named' if seen is not None else 'NOT named'}: {seen}", flush=True)


def collation(folder: Path, asked: argparse.Namespace) -> None:
    app = _small("names", _NAMES, "\\set n random(1, 5000)\nselect name from person where person_id = :n;")
    twin = captured(app, "14", folder / "names.twin")
    for words in (("--bindir", str(asked.bindir)), ("--to", "17")):
        found = upgraded(folder, twin, *words, "--budget", asked.budget)
        seen = found["preflight"]["collations"]
        print(f"collation: 14 to {found['after']}: {'named' if seen else 'not named'}: {seen}", flush=True)


def compiles(bindir: Path) -> bool:
    """Whether the installed server has JIT."""
    binaries = find_source(None, bindir).ensure()
    with (
        start_server(binaries, settings={}) as running,
        Session(Access(running.server), statement_timeout_ms=60_000, application_name="bench") as session,
    ):
        (answer,) = session.row("select pg_jit_available()")
    return bool(answer)


def _small(name: str, tables: str, text: str) -> Application:
    def fill(access: Access) -> None:
        with Session(
            access, statement_timeout_ms=600_000, application_name="fixture", users_search_path=True
        ) as client:
            # A DO that commits is alone in its message.
            for part in tables.split("\n\n"):
                client.execute(part)

    return Application(name=name, rows=name, fill=fill, scripts=(Script(name="read", text=text, weight=1),))


_PLANTS: dict[str, Callable[[Path, argparse.Namespace], None]] = {
    "plan": plan,
    "jit": jit,
    "locks": locks,
    "collation": collation,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--same", metavar="VERSION")
    parser.add_argument("--plant", nargs="*", choices=tuple(_PLANTS), default=["plan"])
    parser.add_argument("--bindir", type=Path, default=Path("/usr/lib/postgresql/15/bin"))
    parser.add_argument("--budget", default="90s")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pgclinic-bench-") as name:
        if options.same:
            same(Path(name), options.runs, options.same, options.budget)
        else:
            for plant in options.plant:
                _PLANTS[plant](Path(name), options)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Whole consultations: applications with planted causes, each examined by `pgclinic checkup --prove` with 3 minutes.

The clients of an application work at a fixed rate, first on a healthy server, then on one that was made ill. What is
kept of each planted cause is whether a finding names it, with which share of the time beside that of the statements
which it slows down and what these lose by it, when its cure was shown by plans, and what blocks said. What is kept of
each finding is what it claims to save and what its proof measured; of the command, how long it took.

Variants that are in --out already are not run again.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from applications import SETTINGS, Application, application, at_work, temporary_home
from claimed_gains import gains_of
from consultation_rows import Row, key_of, report, seen_of
from consulted import ConsultationError, consult
from kept_rows import KeptRows
from pgclinic.cli.duration import parse_duration_s
from pgclinic.errors import PgclinicError
from pgclinic.lab.instance import RunningServer
from pgclinic.model.load import LoadSpec
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.session import Session
from sick_applications import VARIANTS, Variant
from statement_shares import Calls, counted, grown

MAJOR = "18"
CLIENTS = 8
#: As a server has them whose administrator has read the manual; a variant changes some.
_SETTINGS = SETTINGS | {"autovacuum": "on", "shared_buffers": "256MB"}


@contextmanager
def sick(one: Application, variant: Variant) -> Iterator[RunningServer]:
    """The server as the variant makes it, its held sessions open; nobody works on it yet."""
    with one.copied_server(MAJOR, _SETTINGS | variant.settings) as running, ExitStack() as stack:
        with one.session(running, "administrator") as session:
            _run(session, variant.ills)
        for name, statements in variant.held.items():
            _run(stack.enter_context(one.session(running, name)), statements)
        with one.session(running, "administrator") as session:
            _run(session, variant.ages)
            session.execute("select pg_stat_statements_reset()")
        yield running


def _load(one: Application, running: RunningServer, variant: Variant) -> LoadSpec:
    return one.load(running, clients=CLIENTS, rate_tps=variant.rate_tps)


def _run(session: Session, statements: Sequence[str]) -> None:
    for statement in statements:
        session.execute(statement)


def healthy_calls(one: Application, variant: Variant, options: argparse.Namespace) -> dict[str, Calls]:
    """What the statements of the same clients take on the healthy server."""
    with one.copied_server(MAJOR, _SETTINGS) as running, at_work(_load(one, running, variant)):
        time.sleep(options.settle_s)
        with one.session(running, "bench") as session:
            before = counted(session)
            time.sleep(options.warm_s)
            return grown(before, counted(session))


def consultation(variant: Variant, options: argparse.Namespace, folder: Path) -> Row:
    """Raises PgclinicError, ConsultationError."""
    one = application(variant.application, options.warehouses)
    healthy, calls = healthy_calls(one, variant, options), dict[str, Calls]()
    with sick(one, variant) as running, at_work(_load(one, running, variant)):
        time.sleep(options.settle_s)
        with one.session(running, "bench") as session:
            before = counted(session)
            time.sleep(options.warm_s)
            load_before = os.getloadavg()[0]
            dsn = dsn_of(one.access(running).server)
            seen = consult(dsn, options.budget, folder, lambda: calls.update(grown(before, counted(session))))
    return Row(
        variant=variant.name,
        took_s=seen.took_s,
        budget_s=parse_duration_s(options.budget, "--budget"),
        load_before=load_before,
        load_after=os.getloadavg()[0],
        planted=tuple(seen_of(planted, seen, calls, healthy) for planted in variant.planted),
        gains=tuple(gains_of(variant.name, seen.checkup)),
        findings=tuple(f"{finding.severity.value} {finding.key}" for finding in seen.checkup.findings),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [one.name for one in VARIANTS]
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help="or a part of the name: " + "; ".join(names))
    parser.add_argument("--budget", default="3m")
    parser.add_argument("--settle-s", type=float, default=5.0, help="until caches are warm")
    parser.add_argument("--warm-s", type=float, default=25.0, help="until the command begins")
    parser.add_argument("--warehouses", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("consultation.json"))
    options = parser.parse_args()
    kept = KeptRows(options.out, Row, key_of, {"budget": options.budget, "warehouses": options.warehouses})
    chosen = [one for one in VARIANTS if not options.variants or any(part in one.name for part in options.variants)]
    with temporary_home():
        for variant in chosen:
            found = kept.get(variant.name)
            if found is not None and found.failure is None:
                continue
            with tempfile.TemporaryDirectory(prefix="pgclinic-bench-") as folder:
                try:
                    row = consultation(variant, options, Path(folder))
                except (PgclinicError, ConsultationError) as error:
                    row = Row(variant=variant.name, failure=str(error) or repr(error))
            kept.add(row)
            options.out.with_suffix(".md").write_text(report(kept.rows), encoding="utf-8")
            print(report([row]), file=sys.stderr, flush=True)
    print(report(kept.rows), end="")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Indexes chosen by measurements against indexes chosen by the planner's costs, on the same twin.

Indexes of an application are taken away, its clients run for a while, and a twin is captured. Three methods then choose
as many indexes for it at most: `advise`; Dexter's (all single columns and pairs at once, and of these what plans use
whose cost falls by half); and Extend (Schlosser et al., ICDE 2019: step by step the new or longer index that saves most
cost per byte). The other two ask EXPLAIN with real indexes in place of hypothetical ones. Each set is then executed on
the twin: printed is the server time of the workload, as a share of that without any of them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path

from applications import NAMES, Application, application, at_work, temporary_home
from pgclinic.advise.advisor import AdviceAsked, AdviceSubject, advise
from pgclinic.advise.measurement import WeighedStatement, saved_share
from pgclinic.capture.twin import capture_twin
from pgclinic.cli.duration import parse_duration_s
from pgclinic.experiment.on_twin import OnTwin, on_twin
from pgclinic.experiment.servers import ChosenServer, ServerAsked, choose_server
from pgclinic.experiment.twin_check import known_settings
from pgclinic.indexes.definition import create_statement, qualified_name
from pgclinic.indexes.naming import index_name
from pgclinic.indexes.searched_columns import searched_columns
from pgclinic.model.advise import AdviceLimits, IndexDefinition
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.twin import Twin
from pgclinic.pg.query_files import query
from pgclinic.pg.session import QueryError, Session
from pgclinic.sql.quoting import identifier, name_parts
from pgclinic.trial.server import binaries_of
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.file import write_twin
from pgclinic.twin.kept_file import keep_twin
from pgclinic.twin.mask import mask_twin
from pgclinic.twin.values import ValueSource
from pgclinic.twin.wanted import TwinWanted
from pgclinic.whatif.change_trial import texts_of
from pgclinic.whatif.explained import explained
from pgclinic.whatif.index_trial import IndexTrial
from pgclinic.whatif.trial_session import trial_session

MAJOR = "18"
#: Indexes that statements of the application need; of TPC-C all that are no keys.
TAKEN = {
    "shop": (
        "order_customer_id_ordered_at_idx",
        "review_customer_id_idx",
        "support_ticket_customer_id_idx",
        "payment_order_id_idx",
        "address_customer_id_kind_idx",
        "stock_product_id_idx",
        "product_attributes_idx",
        "audit.event_customer_id_occurred_at_idx",
    ),
    "clinic": (
        "appointment_patient_id_starts_at_idx",
        "visit_patient_id_started_at_idx",
        "lab_result_patient_id_taken_at_idx",
        "vital_sign_patient_id_taken_at_idx",
        "patient_name_idx",
        "invoice_visit_id_idx",
        "lab_result_order_no_idx",
    ),
}
_SECONDARY = (
    "select format('%I.%I', n.nspname, c.relname) from pg_index i join pg_class c on c.oid = i.indexrelid "
    "join pg_namespace n on n.oid = c.relnamespace where not i.indisunique and n.nspname = 'public'"
)
#: Dexter's default: an index is worth it where a statement's cost falls by half.
_DEXTER_SAVED = 0.5
_EXTEND_WIDTH = 3
_BUILD_TIMEOUT_MS = 300_000
_OTHER_SEED = 7

Method = Callable[["PlannerCosts", int], list[IndexDefinition]]


@dataclass
class PlannerCosts:
    """The planner's cost of each statement with real indexes, in one transaction that is rolled back."""

    session: Session
    twin: Twin
    statements: Sequence[CalibratedStatement]
    source: ValueSource
    texts: dict[int, tuple[str, ...]] = field(default_factory=dict)
    weights: dict[int, float] = field(default_factory=dict)
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    of_table: dict[str, set[int]] = field(default_factory=dict)
    whole: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tables = {table.name: table for table in self.twin.tables}
        found: dict[str, dict[str, None]] = {}
        for one in self.statements:
            key = one.statement.counted.query_id
            self.texts[key] = tuple(texts_of(self.source, one))[:1]
            self.weights[key] = float(one.statement.counted.calls)
            for source in one.statement.typed.sources:
                table = tables.get(source.table)
                if table is None:
                    continue
                searched = searched_columns(one.statement.typed, source.number)
                names = (*searched.equal, *searched.joined, *searched.ranges, *searched.ordered)
                known = {
                    column.name for column in table.columns if column.base_type not in ("jsonb", "point", "tsvector")
                }
                found.setdefault(table.name, {}).update(dict.fromkeys(name for name in names if name in known))
                self.of_table.setdefault(table.name, set()).add(key)
        self.columns = {table: tuple(names) for table, names in found.items()}

    def index(self, table: str, columns: Sequence[str]) -> IndexDefinition:
        kept = next(one for one in self.twin.tables if one.name == table)
        return IndexDefinition(
            table=table,
            keys=tuple(identifier(name) for name in columns),
            name=index_name(name_parts(table)[-1], ("bench", *columns), frozenset()),
            is_partitioned=kept.is_partitioned,
        )

    @contextmanager
    def there(self, indexes: Sequence[IndexDefinition]) -> Iterator[int]:
        """The indexes are there, with so many bytes in all."""
        self.session.execute("savepoint there")
        try:
            before = self._bytes()
            self.session.execute(f"set local statement_timeout = {_BUILD_TIMEOUT_MS}")
            for one in indexes:
                self.session.execute(create_statement(one, concurrently=False))
                parts = self.session.rows(query("index_parts", int(MAJOR)), {"name": qualified_name(one)})
                self.whole.update((str(name), one.name) for (name,) in parts)
            yield self._bytes() - before
        finally:
            self.session.execute("rollback to savepoint there")

    def costs(self, keys: Sequence[int]) -> dict[int, float]:
        return {key: float(plan["Total Cost"]) for key, plan in self.plans(keys).items()}

    def plans(self, keys: Sequence[int]) -> dict[int, Mapping[str, object]]:
        found = {}
        for key in keys:
            for text in self.texts[key]:
                try:
                    found[key] = explained(self.session, "format json", text)
                except QueryError as error:
                    if error.sqlstate is None:
                        raise
        return found

    def _bytes(self) -> int:
        (size,) = self.session.row("select coalesce(sum(pg_relation_size(oid)), 0) from pg_class where relkind = 'i'")
        return int(size)


def dexter(costs: PlannerCosts, most: int) -> list[IndexDefinition]:
    """Single columns and pairs, all at once; kept is what the plans of statements use whose cost falls by half."""
    saved: dict[IndexDefinition, float] = {}
    for table, columns in costs.columns.items():
        wanted = [costs.index(table, one) for count in (1, 2) for one in permutations(columns[:6], count)]
        keys = sorted(costs.of_table[table])
        before = costs.costs(keys)
        with costs.there(wanted):
            for key, plan in costs.plans(keys).items():
                after = float(str(plan["Total Cost"]))
                if key in before and after <= (1 - _DEXTER_SAVED) * before[key]:
                    names = {costs.whole.get(name, name) for name in names_in(plan)}
                    for index in (one for one in wanted if one.name in names):
                        saved[index] = saved.get(index, 0.0) + costs.weights[key] * (before[key] - after)
    return sorted(saved, key=lambda one: -saved[one])[:most]


def names_in(plan: Mapping[str, object]) -> Iterator[str]:
    """The indexes of a plan."""
    if "Index Name" in plan:
        yield str(plan["Index Name"])
    below = plan.get("Plans", ())
    for one in below if isinstance(below, list) else ():
        yield from names_in(one)


def extend(costs: PlannerCosts, most: int) -> list[IndexDefinition]:
    """The step that saves most cost per byte: a new index on a column, or one more column behind those of an index."""
    chosen: list[tuple[str, tuple[str, ...]]] = []
    while True:
        best, ratio = None, 0.0
        for table, columns in costs.columns.items():
            own = [one for one in chosen if one[0] == table]
            steps = [[*own, (table, (name,))] for name in columns] if len(chosen) < most else []
            for wide in (one for one in own if len(one[1]) < _EXTEND_WIDTH):
                others = [one for one in own if one != wide]
                steps += [[*others, (table, (*wide[1], name))] for name in columns if name not in wide[1]]
            keys = sorted(costs.of_table[table])
            with costs.there([costs.index(*one) for one in own]) as own_bytes:
                now = costs.costs(keys)
            for step in (one for one in steps if len(set(one)) == len(one)):
                with costs.there([costs.index(*one) for one in step]) as size:
                    after = costs.costs(keys)
                gained = sum(costs.weights[key] * (now[key] - after[key]) for key in now.keys() & after.keys())
                if gained / max(size - own_bytes, 8192) > ratio:
                    ratio, best = gained / max(size - own_bytes, 8192), (table, step, gained)
        if best is None or best[2] <= 0.005 * sum(
            costs.weights[key] * cost for key, cost in costs.costs(sorted(costs.texts)).items()
        ):
            break
        chosen = [one for one in chosen if one[0] != best[0]] + list(best[1])
    return [costs.index(*one) for one in chosen]


@dataclass(frozen=True)
class Subject:
    """A twin with the server that it runs on and its workload."""

    twin: Twin
    dataset: TwinDataset
    on: OnTwin
    server: ChosenServer


def captured(one: Application, folder: Path, seconds: float) -> Subject:
    """The twin of the application without the indexes that are taken away."""
    path = folder / f"{one.name}.twin"
    with one.copied_server(MAJOR) as running:
        with one.session(running) as session:
            names = TAKEN.get(one.name) or [name for (name,) in session.rows(_SECONDARY)]
            for name in names:
                session.execute(f"drop index {name}")
            session.execute("select pg_stat_statements_reset()")
        print(f"{one.name}: without {', '.join(names)}")
        with at_work(one.load(running, clients=2)):
            time.sleep(seconds)
            twin = mask_twin(capture_twin(one.access(running)))
    write_twin(path, twin, masked_text="", force=True)
    server = choose_server(ServerAsked(version=MAJOR))
    on = on_twin(
        TwinWanted(path), (binaries_of(server.spec),), clients=None, own_scripts=False, on_stage=lambda _: None
    )
    return Subject(twin, keep_twin(path), on, server)


def by_costs(subject: Subject, method: Method, most: int) -> list[IndexDefinition]:
    checked = subject.on.checked
    statements = checked.mix.statements if checked is not None else ()
    settings = known_settings(binaries_of(subject.server.spec), subject.twin)
    with trial_session(binaries_of(subject.server.spec), subject.dataset, settings) as session:
        costs = PlannerCosts(session, subject.twin, statements, ValueSource(session, subject.twin))
        session.execute("begin")
        try:
            return method(costs, most)
        finally:
            session.execute("rollback")


def by_measurements(subject: Subject, most: int, budget_s: float, folder: Path) -> list[IndexDefinition]:
    asked = AdviceAsked(
        AdviceLimits(max_indexes=most), budget_s, time.monotonic(), folder, ("pgclinic", "advise"), prove=False
    )
    found = advise(AdviceSubject(subject.twin, subject.dataset, subject.on, subject.server), asked)
    return [one.definition for one in found.indexes]


def measured(subject: Subject, indexes: Sequence[IndexDefinition]) -> float:
    """The server time of the workload with the indexes, as a share of that without: by executions of its statements,
    with other values than those by which any method chose."""
    checked = subject.on.checked
    statements = checked.mix.statements if checked is not None else ()
    whole = sum(one.total_ms for one in subject.twin.workload.statements)
    counted = [one.statement.counted for one in statements]
    weighed = {
        one.query_id: WeighedStatement(one.query_id, one.text, one.total_ms / whole, float(one.calls))
        for one in counted
    }
    settings = known_settings(binaries_of(subject.server.spec), subject.twin)
    with trial_session(binaries_of(subject.server.spec), subject.dataset, settings) as session:
        trial = IndexTrial(session, statements, ValueSource(session, subject.twin, seed=_OTHER_SEED))
        trial.as_it_is()
        with trial.built(indexes) as built:
            first = built.seen([])
            after = built.seen()
            return 1.0 - saved_share(weighed, (first, built.seen([])), after)


def compared(one: Application, numbers: Sequence[int], seconds: float, budget_s: float, folder: Path) -> None:
    subject = captured(one, folder, seconds)
    methods: dict[str, Callable[[int], list[IndexDefinition]]] = {
        "Dexter's method": lambda most: by_costs(subject, dexter, most),
        "Extend": lambda most: by_costs(subject, extend, most),
        "advise": lambda most: by_measurements(subject, most, budget_s, folder / "runs"),
    }
    for most in numbers:
        for name, method in methods.items():
            began_s = time.monotonic()
            found = method(most)
            took_s = time.monotonic() - began_s
            share = measured(subject, found)
            row = f"{one.name:<8} at most {most:>2}   {name:<16} {len(found):>2} indexes   {share:.3f} of the time"
            print(f"{row}   chosen in {took_s:.0f} s")
            for index in found:
                print(f"    {create_statement(index, concurrently=False)}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["tpcc", "shop"], help=f"of {', '.join(NAMES)}")
    parser.add_argument("--indexes", type=int, nargs="*", default=[5, 10])
    parser.add_argument("--time", default="20s", help="how long the clients run before the capture")
    parser.add_argument("--budget", default="10m", help="of advise")
    asked = parser.parse_args()
    with temporary_home(), tempfile.TemporaryDirectory() as folder:
        for name in asked.names:
            compared(
                application(name),
                asked.indexes,
                parse_duration_s(asked.time, "--time"),
                parse_duration_s(asked.budget, "--budget"),
                Path(folder),
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())

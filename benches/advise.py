#!/usr/bin/env python3
"""Indexes chosen by measurements against indexes chosen by the planner's costs, on the same twin.

Indexes of an application are taken away, its clients run for a while, and a twin is captured; TPC-H has none but its
primary keys, and each of its 22 queries is executed twice. Three methods then choose as many indexes at most: `advise`;
Dexter's (all single columns and pairs at once, and of these what plans use whose cost falls by half); and Extend
(Schlosser et al., ICDE 2019: step by step the new or longer index that saves most cost per byte). The other two ask
EXPLAIN, with HypoPG where it can be had for this version, else with real indexes. Each set is then executed on the
twin: printed is the server time of the workload, as a share of that without any of them, beside that with the indexes
that were taken away; and which of these each method found again. One of them matters if it saves 0.5 % of the time
beyond what the others save.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from applications import NAMES, Application, application, at_work, temporary_home
from hypopg import HypoPG, find_hypopg
from index_methods import Method, PlannerCosts, dexter, extend
from pgclinic.advise.advisor import AdviceAsked, AdviceSubject, advise
from pgclinic.advise.choice import MIN_SAVED
from pgclinic.advise.measurement import WeighedStatement, saved_share
from pgclinic.capture.twin import capture_twin
from pgclinic.cli.duration import parse_duration_s
from pgclinic.experiment.on_twin import OnTwin, on_twin
from pgclinic.experiment.servers import ChosenServer, ServerAsked, choose_server
from pgclinic.experiment.twin_check import known_settings
from pgclinic.indexes.definition import create_statement
from pgclinic.lab.instance import start_server
from pgclinic.model.advise import AdviceLimits, IndexDefinition
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.twin import Twin
from pgclinic.pg.session import Access, Session
from pgclinic.trial.server import binaries_of, template_of
from pgclinic.twin.author import AUTHOR
from pgclinic.twin.file import write_twin
from pgclinic.twin.kept_file import keep_twin
from pgclinic.twin.mask import mask_twin
from pgclinic.twin.values import ValueSource
from pgclinic.twin.wanted import TwinWanted
from pgclinic.whatif.index_trial import IndexTrial
from pgclinic.whatif.trial_session import TIMEOUT_MS, trial_session
from tpch import run_queries, tpch_application

TPCH = "tpch"
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
_DEFINITION = (
    "select pg_get_indexdef(i.indexrelid), c.relname, t.relkind = 'p', "
    "array(select pg_get_indexdef(i.indexrelid, k, true) from generate_series(1, i.indnkeyatts) k) "
    "from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid "
    "where i.indexrelid = %(name)s::regclass"
)
_DEFINED = re.compile(r"CREATE INDEX .+? ON (?:ONLY )?(?P<table>.+?) USING (?P<method>\w+) \((?P<rest>.*)\Z", re.DOTALL)
_OTHER_SEED = 7
#: How often each query of TPC-H is executed, and after how long it is stopped.
_TPCH_ROUNDS, _TPCH_LIMIT_S = 2, 300.0


@dataclass(frozen=True)
class TakenIndex:
    """An index that was there: as it was made, and its keys without operator classes and orders."""

    definition: IndexDefinition
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """A twin with the server that it runs on, its workload, and the indexes that the original had."""

    twin: Twin
    dataset: TwinDataset
    on: OnTwin
    server: ChosenServer
    taken: tuple[TakenIndex, ...]
    hypopg: HypoPG | None


@dataclass(frozen=True)
class Asked:
    """What the command line asks for. ``time_s`` is how long the clients run."""

    major: str
    scale: float
    time_s: float
    budget_s: float
    folder: Path


def captured(one: Application, asked: Asked, hypopg: HypoPG | None) -> Subject:
    """The twin of the application without the indexes that are taken away."""
    path = asked.folder / f"{one.name}.twin"
    with one.copied_server(asked.major) as running:
        with one.session(running) as session:
            names = TAKEN.get(one.name) or [name for (name,) in session.rows(_SECONDARY)]
            taken = tuple(taken_index(session, name) for name in names)
            for name in names:
                session.execute(f"drop index {name}")
            session.execute("select pg_stat_statements_reset()")
        print(f"{one.name}: without {', '.join(names) or 'any index but its keys'}", flush=True)
        if one.name == TPCH:
            run_queries(
                one.access(running), asked.scale, rounds=_TPCH_ROUNDS, limit_s=_TPCH_LIMIT_S, on_query=say_query
            )
            twin = mask_twin(capture_twin(one.access(running)))
        else:
            with at_work(one.load(running, clients=2)):
                time.sleep(asked.time_s)
                twin = mask_twin(capture_twin(one.access(running)))
    write_twin(path, twin, masked_text="", force=True)
    server = choose_server(ServerAsked(version=asked.major))
    on = on_twin(
        TwinWanted(path), (binaries_of(server.spec),), clients=None, own_scripts=False, on_stage=lambda _: None
    )
    return Subject(twin, keep_twin(path), on, server, taken, hypopg)


def say_query(number: int, seconds: float | None) -> None:
    took = f"{seconds:.1f} s" if seconds is not None else f"stopped after {_TPCH_LIMIT_S:g} s: it is left out"
    print(f"  query {number}: {took}", flush=True)


def taken_index(session: Session, name: str) -> TakenIndex:
    text, bare, is_partitioned, columns = session.row(_DEFINITION, {"name": name})
    found = _DEFINED.match(str(text))
    if found is None:
        sys.exit(f"not understood: {text}")
    keys, behind = _parenthesised(found["rest"])
    where = behind.partition(" WHERE ")[2]
    include = re.search(r"INCLUDE \(([^)]*)\)", behind)
    return TakenIndex(
        IndexDefinition(
            table=found["table"],
            keys=(keys,),
            name=str(bare),
            method=found["method"],
            include=(include[1],) if include else (),
            predicate=where or None,
            is_partitioned=bool(is_partitioned),
        ),
        tuple(str(one) for one in columns),
    )


def _parenthesised(rest: str) -> tuple[str, str]:
    """What stands before the parenthesis that was open, and what behind it."""
    depth = 1
    for at, letter in enumerate(rest):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return rest[:at], rest[at + 1 :]
    return rest, ""


@contextmanager
def costs_session(subject: Subject) -> Iterator[Session]:
    """A session of the twin's author on a server of its own, with HypoPG's functions where there are any."""
    binaries = binaries_of(subject.server.spec)
    settings = {**known_settings(binaries, subject.twin), "full_page_writes": "off", "autovacuum": "off"}
    template = template_of(binaries, subject.dataset)
    with start_server(binaries, settings=settings, template=template) as running:
        access = Access(running.server, running.secrets, author=AUTHOR)
        if subject.hypopg is not None:
            subject.hypopg.create(Access(running.server, running.secrets))
        with Session(
            access.of_author, statement_timeout_ms=TIMEOUT_MS, application_name="costs", users_search_path=True
        ) as session:
            yield session


def by_costs(subject: Subject, method: Method, most: int) -> list[IndexDefinition]:
    checked = subject.on.checked
    statements = checked.mix.statements if checked is not None else ()
    with costs_session(subject) as session:
        source = ValueSource(session, subject.twin)
        costs = PlannerCosts(session, subject.twin, statements, source, subject.hypopg is not None)
        session.execute("begin")
        try:
            return method(costs, most)
        finally:
            session.execute("rollback")


def by_measurements(subject: Subject, most: int, asked: Asked) -> list[IndexDefinition]:
    wanted = AdviceAsked(
        AdviceLimits(max_indexes=most),
        asked.budget_s,
        time.monotonic(),
        asked.folder / "runs",
        ("pgclinic", "advise"),
        prove=False,
    )
    found = advise(AdviceSubject(subject.twin, subject.dataset, subject.on, subject.server), wanted)
    return [one.definition for one in found.indexes]


def measured(
    subject: Subject, indexes: Sequence[IndexDefinition], *, parts: bool = False
) -> tuple[float, dict[IndexDefinition, float]]:
    """The server time of the workload with the indexes, as a share of that without: by executions of its statements,
    with other values than those by which any method chose. With ``parts`` what each saves beyond the others too."""
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
            fewer = {
                one: built.seen([other for other in built.made if other != one], like=after)
                for one in (built.made if parts else ())
            }
            around = (first, built.seen([]))
            saved = saved_share(weighed, around, after)
            own = {one: saved - saved_share(weighed, around, seen) for one, seen in fewer.items()}
            return 1.0 - saved, own


def found_again(taken: TakenIndex, chosen: Sequence[IndexDefinition]) -> str:
    """By an index of the same kind whose first keys are those of the one that was taken away, in any order; in part if
    it only begins alike."""
    wanted = [bare_key(one) for one in taken.columns]
    word = "not"
    for one in chosen:
        if one.table != taken.definition.table or one.method != taken.definition.method:
            continue
        keys = [bare_key(key) for key in one.keys]
        if set(keys[: len(wanted)]) == set(wanted):
            return "found"
        if keys[:1] == wanted[:1]:
            word = "in part"
    return word


def bare_key(key: str) -> str:
    """A key without operator class, order and outer parentheses."""
    if key.startswith("("):
        inner, _ = _parenthesised(key[1:])
        return re.sub(r"\s+|::text", "", inner)
    # The operator class or the order stands behind a blank; pg_get_indexdef gives an expression bare.
    return re.sub(r"\s+|::text", "", key if re.search(r"[(>]", key) else key.split(" ", maxsplit=1)[0])


def compared(one: Application, numbers: Sequence[int], asked: Asked, hypopg: HypoPG | None) -> None:
    subject = captured(one, asked, hypopg)
    if subject.taken:
        say_taken(one, subject)
    methods: dict[str, Callable[[int], list[IndexDefinition]]] = {
        "Dexter's method": lambda most: by_costs(subject, dexter, most),
        "Extend": lambda most: by_costs(subject, extend, most),
        "advise": lambda most: by_measurements(subject, most, asked),
    }
    for most in numbers:
        for name, method in methods.items():
            began_s = time.monotonic()
            found = method(most)
            took_s = time.monotonic() - began_s
            share, _ = measured(subject, found)
            row = f"{one.name:<8} at most {most:>2}   {name:<16} {len(found):>2} indexes   {share:.3f} of the time"
            print(f"{row}   chosen in {took_s:.0f} s")
            for index in found:
                print(f"    {create_statement(index, concurrently=False)}")
            again = {index.definition.name: found_again(index, found) for index in subject.taken}
            for word in ("found", "in part", "not"):
                names = [key for key, value in again.items() if value == word]
                if names:
                    print(f"    {word if word != 'not' else 'not found'} again: {', '.join(names)}")
            sys.stdout.flush()


def say_taken(one: Application, subject: Subject) -> None:
    """What the indexes that were taken away save on the twin."""
    share, own = measured(subject, [index.definition for index in subject.taken], parts=True)
    print(f"{one.name:<8} as it was      {len(own):>2} indexes   {share:.3f} of the time")
    for index, part in sorted(own.items(), key=lambda pair: -pair[1]):
        print(f"    {part:6.1%} by itself{'' if part >= MIN_SAVED else ', does not matter'}: {index.name}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["tpcc", "shop"], help=f"of {', '.join((*NAMES, TPCH))}")
    parser.add_argument("--indexes", type=int, nargs="*", default=[5, 10])
    parser.add_argument("--time", default="20s", help="how long the clients run before the capture")
    parser.add_argument("--budget", default="10m", help="of advise")
    parser.add_argument("--scale", type=float, default=0.05, help="of TPC-H")
    parser.add_argument("--version", default="15", help="of PostgreSQL; Debian has HypoPG for 15")
    parser.add_argument("--hypopg", type=Path, help="a folder with hypopg.so and its script, for that version")
    parser.add_argument("--real", action="store_true", help="real indexes in place of hypothetical ones")
    options = parser.parse_args()
    with temporary_home() as home, tempfile.TemporaryDirectory() as folder:
        hypopg, said = None, "real indexes and EXPLAIN, as asked"
        if not options.real:
            # The server's account reads the library.
            hypopg, said = find_hypopg(options.version, home / "hypopg", options.hypopg)
        print(f"PostgreSQL {options.version}; costs by {said if hypopg else f'real indexes: {said}'}", flush=True)
        asked = Asked(
            major=options.version,
            scale=options.scale,
            time_s=parse_duration_s(options.time, "--time"),
            budget_s=parse_duration_s(options.budget, "--budget"),
            folder=Path(folder),
        )
        for name in options.names:
            one = tpch_application(options.scale) if name == TPCH else application(name)
            compared(one, options.indexes, asked, hypopg)
    return 0


if __name__ == "__main__":
    sys.exit(main())

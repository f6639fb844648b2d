"""When autovacuum comes to a table: its thresholds, as settings or storage parameters have them."""

from __future__ import annotations

from pgclinic.checkup.case import Case, Table
from pgclinic.settings.units import amount_of

#: Words that PostgreSQL takes for false.
_FALSE = frozenset({"off", "of", "false", "fals", "fal", "fa", "f", "no", "n", "0"})


def is_switched_off(value: str | None) -> bool:
    """Whether a storage parameter is there and says no."""
    return value is not None and value.lower() in _FALSE


def is_vacuumed(case: Case, table: Table) -> bool:
    """Whether autovacuum looks after this table at all."""
    return (
        case.word("autovacuum") != "off"
        and case.word("track_counts") != "off"
        and not is_switched_off(table.option("autovacuum_enabled"))
    )


def parameter(case: Case, table: Table, name: str) -> float:
    """A plain number: the table's own storage parameter, or else the setting; -1 where this version has none."""
    own = table.option(name)
    found = amount_of(own, None) if own is not None else case.number(name)
    return -1.0 if found is None else found


def planned_rows(table: Table) -> float:
    """Rows as autovacuum knows them: what the last VACUUM or ANALYZE found."""
    return max(table.state.rows or 0.0, 0.0)


def dead_rows_trigger(case: Case, table: Table) -> float:
    """Autovacuum starts a VACUUM when more rows than this are dead."""
    threshold = max(parameter(case, table, "autovacuum_vacuum_threshold"), 0.0)
    scale = max(parameter(case, table, "autovacuum_vacuum_scale_factor"), 0.0)
    trigger = threshold + scale * planned_rows(table)
    most = parameter(case, table, "autovacuum_vacuum_max_threshold")
    return min(trigger, most) if most >= 0 else trigger


def inserted_rows_trigger(case: Case, table: Table) -> float | None:
    """The same of rows inserted since the last VACUUM; None where inserts start none."""
    threshold = parameter(case, table, "autovacuum_vacuum_insert_threshold")
    if threshold < 0:
        return None
    scale = max(parameter(case, table, "autovacuum_vacuum_insert_scale_factor"), 0.0)
    return threshold + scale * planned_rows(table)


def analyze_trigger(case: Case, table: Table) -> float:
    """Autovacuum starts an ANALYZE when more rows than this have changed."""
    threshold = max(parameter(case, table, "autovacuum_analyze_threshold"), 0.0)
    scale = max(parameter(case, table, "autovacuum_analyze_scale_factor"), 0.0)
    return threshold + scale * planned_rows(table)


def is_vacuum_due(case: Case, table: Table) -> bool:
    """Whether the next worker of autovacuum that looks at the table vacuums it."""
    if not is_vacuumed(case, table):
        return False
    inserts = inserted_rows_trigger(case, table)
    added = table.counters.inserted_since_vacuum if table.counters is not None else 0
    return table.dead > dead_rows_trigger(case, table) or (inserts is not None and added > inserts)


def naptime_s(case: Case) -> float:
    """The pause between two looks of autovacuum at a database."""
    return case.number("autovacuum_naptime") or 60.0

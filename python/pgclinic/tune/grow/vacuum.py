"""What autovacuum has to do for the tables of a twin, now and when they have grown. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pgclinic.model.grow import RelationGrowth, RelationKind, VacuumGrowth
from pgclinic.model.twin import ObjectKind, Twin
from pgclinic.settings.values import parse_real
from pgclinic.tune.grow.sizes import PAGE_BYTES
from pgclinic.twin.grown import GrowthPlan, table_rows
from pgclinic.twin.parameters import runnable_statements

#: Settings with their units and defaults; what nobody has changed is not captured.
_DEFAULTS: dict[str, tuple[str | None, float]] = {
    "autovacuum_vacuum_threshold": (None, 50.0),
    "autovacuum_vacuum_scale_factor": (None, 0.2),
    "autovacuum_vacuum_cost_limit": (None, -1.0),
    "autovacuum_vacuum_cost_delay": ("ms", 2.0),
    "autovacuum_naptime": ("s", 60.0),
    "vacuum_cost_limit": (None, 200.0),
    "vacuum_cost_page_dirty": (None, 20.0),
}
#: The price of a page that is not in the buffers became 2 in version 14; before it was 10.
_PAGE_MISS = "vacuum_cost_page_miss"
_CHEAP_MISS_SINCE = 14
#: From version 18 on no table waits for more dead rows than this.
_MAX_THRESHOLD, _MAX_THRESHOLD_SINCE, _MAX_THRESHOLD_DEFAULT = "autovacuum_vacuum_max_threshold", 18, 100_000_000.0
_OPTION = re.compile(r"\b(autovacuum_vacuum_\w+)\s*=\s*'?([\d.]+)'?")
_CHANGES = frozenset(("update", "delete", "merge"))
_HOUR_S = 3600.0


def grown_vacuums(
    twin: Twin, plan: GrowthPlan, relations: Sequence[RelationGrowth], to: float
) -> tuple[VacuumGrowth, ...]:
    """Every table whose rows the workload updates or deletes, those with the most dead rows at ``to`` first."""
    rows = table_rows(twin)
    found = []
    for table, dead in _dead_rows(twin).items():
        if table not in rows:
            continue
        settings = _VacuumSettings(twin, table)
        per_hour = dead / twin.workload.since_s * _HOUR_S if twin.workload.since_s else None
        rows_then = rows[table] * (to if table in plan.growing else 1.0)
        now, then = settings.threshold(rows[table]), settings.threshold(rows_then)
        own = [one for one in relations if one.table == table]
        found.append(
            VacuumGrowth(
                table=table,
                dead_rows_per_hour=per_hour,
                dead_rows_per_hour_at_to=per_hour * to if per_hour is not None else None,
                threshold_rows=now,
                threshold_rows_at_to=then,
                interval_s=settings.interval_s(now, per_hour) if per_hour else None,
                interval_s_at_to=settings.interval_s(then, per_hour * to) if per_hour else None,
                pages=sum(one.bytes for one in own) / PAGE_BYTES,
                pages_at_to=sum(one.bytes_at_to for one in own) / PAGE_BYTES,
                delay_s=settings.delay_s(
                    heap=sum(one.bytes for one in own if one.kind is RelationKind.TABLE) / PAGE_BYTES,
                    whole=sum(one.bytes for one in own) / PAGE_BYTES,
                    dead=now,
                ),
                delay_s_at_to=settings.delay_s(
                    heap=sum(one.bytes_at_to for one in own if one.kind is RelationKind.TABLE) / PAGE_BYTES,
                    whole=sum(one.bytes_at_to for one in own) / PAGE_BYTES,
                    dead=then,
                ),
            )
        )
    return tuple(sorted(found, key=lambda one: (-(one.dead_rows_per_hour or 0.0), one.table)))


def _dead_rows(twin: Twin) -> dict[str, int]:
    """By table, how many rows the statements of the workload have updated or deleted."""
    found: dict[str, int] = {}
    runnable, _ = runnable_statements(twin)
    for one in runnable:
        if one.typed.target is not None and one.typed.verb in _CHANGES:
            found[one.typed.target] = found.get(one.typed.target, 0) + one.counted.rows
    return {table: rows for table, rows in found.items() if rows}


class _VacuumSettings:
    """Autovacuum's settings for one table: its own storage parameters first."""

    def __init__(self, twin: Twin, table: str) -> None:
        self._major = twin.version_num // 10_000
        self._settings = twin.settings
        self._own = _own_options(twin, table)

    def threshold(self, rows: float) -> float:
        """Dead rows that start a VACUUM of a table with so many rows."""
        dead = self._value("autovacuum_vacuum_threshold") + self._value("autovacuum_vacuum_scale_factor") * rows
        if self._major < _MAX_THRESHOLD_SINCE:
            return dead
        most = self._parsed(_MAX_THRESHOLD, None, _MAX_THRESHOLD_DEFAULT)
        return min(dead, most) if most >= 0 else dead

    def interval_s(self, threshold_rows: float, dead_rows_per_hour: float) -> float:
        """Between two VACUUMs: until so many rows are dead, and no shorter than the pause between two looks."""
        return max(threshold_rows / dead_rows_per_hour * _HOUR_S, self._value("autovacuum_naptime"))

    def delay_s(self, *, heap: float, whole: float, dead: float) -> float:
        """How long the cost limit makes a VACUUM sleep that reads ``whole`` pages from disk, of table and indexes."""
        limit = self._value("autovacuum_vacuum_cost_limit")
        if limit <= 0:
            limit = self._value("vacuum_cost_limit")
        delay_ms = self._value("autovacuum_vacuum_cost_delay")
        miss = self._parsed(_PAGE_MISS, None, 2.0 if self._major >= _CHEAP_MISS_SINCE else 10.0)
        cost = whole * miss + min(heap, dead) * self._value("vacuum_cost_page_dirty")
        return max(0.0, cost / limit * delay_ms / 1000.0)

    def _value(self, name: str) -> float:
        unit, default = _DEFAULTS[name]
        return self._parsed(name, unit, default)

    def _parsed(self, name: str, unit: str | None, default: float) -> float:
        text = self._own.get(name, self._settings.get(name))
        try:
            return default if text is None else parse_real(text, unit, self._major)
        except ValueError:
            return default


def _own_options(twin: Twin, table: str) -> Mapping[str, str]:
    for made in twin.objects:
        if made.kind is ObjectKind.TABLE and made.name == table:
            return dict(_OPTION.findall(made.statement))
    return {}

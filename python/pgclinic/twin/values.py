"""Values for the places of a statement, from the rows of the twin: those of one mention of a table from one row."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from pgclinic.model.twin import Twin, TwinColumn, TwinForeignKey, TwinTable
from pgclinic.pg.session import Session
from pgclinic.sql.quoting import literal, quoted
from pgclinic.sql.statement_places import Place, PlaceUse, TableSource
from pgclinic.twin.choice import Choice
from pgclinic.twin.fresh_keys import conditions_of_new_rows, keys_of_parents, room_for, wants_new_rows
from pgclinic.twin.parameters import CannotRun, Domains, OmissionReason, RunnableStatement, table_named
from pgclinic.twin.plain_values import Values, array_of, pattern_of
from pgclinic.twin.row_expressions import RowExpressions, is_by_itself
from pgclinic.twin.rowless_values import RowlessValues
from pgclinic.twin.usual_values import OF_PARTS, UsualValues

#: From tables with more rows a random part is read, in blocks from those that are larger still.
_WHOLE_ROWS = 50_000
_BY_ROW_ROWS = 2_000_000
_SAMPLED_ROWS = 20_000
#: A part of the rows has common values more often than all rows have them: of smaller tables combinations are counted.
_COUNTED_ROWS = 300_000
#: So many sorted values stand for the distribution of an expression.
_SORTED = 4_000
#: Rows that are drawn at once: for calibration, and for a load.
_POOL = 400
_LARGE_POOL = 20_000
#: At most so many keys are looked up one by one.
_LOOK_UPS = 1_000
#: The most common combinations of values that are kept.
_RANKED = 20_000
_SEED = 0.42

#: One row as text.
_Row = tuple[str | None, ...]


class _Pool:
    """Rows in random order; ``is_part`` says that there are more."""

    def __init__(self, rows: list[_Row], *, is_part: bool) -> None:
        self.rows = rows
        self.is_part = is_part
        self._at = -1

    def next(self) -> _Row:
        self._at = (self._at + 1) % len(self.rows)
        return self.rows[self._at]


class ValueSource:
    """Draws values from the database of a twin. One session, used by one thread.

    ``usual`` are those that an application may write into a statement.
    """

    def __init__(self, session: Session, twin: Twin, *, seed: int = 1) -> None:
        self._session = session
        self._twin = twin
        self._random = random.Random(seed)
        self._sorted: dict[tuple[str, str, str], list[str]] = {}
        self._rows: dict[str, float] = {}
        self._pools: dict[tuple[object, ...], _Pool] = {}
        self._ranked: dict[str, list[_Row]] = {}
        self._groups_of_rows: dict[tuple[object, ...], dict[_Row, list[_Row]]] = {}
        self._domains = Domains(twin)
        self.usual = UsualValues(session, twin, self._random, lambda source: self._table(source, _ANY))
        self._columns = {(table.name, column.name): column for table in twin.tables for column in table.columns}
        self._rowless = RowlessValues(session, self._columns)
        session.rows("select pg_catalog.setseed(%(seed)s)", {"seed": _SEED})

    def draw(self, statement: RunnableStatement, choice: Choice, count: int) -> list[Values]:
        """Values for ``count`` executions. Raises CannotRun where there are none, QueryError when a query fails."""
        made: list[Values] = [{} for _ in range(count)]
        typed = statement.typed
        for sources in self._groups(statement, choice):
            self._of_rows(statement, sources, choice, made)
        if choice.of_parent:
            self._of_parents(statement, made)
        if choice.shared:
            self._share(statement, made)
        for values in made:
            values.update(choice.constants)
        for place in typed.places:
            for values in made:
                if place.number not in values:
                    values[place.number] = self._rowless.value(statement, place, choice)
        self._change_states(statement, made)
        return made

    def _share(self, statement: RunnableStatement, made: list[Values]) -> None:
        """Give columns of one domain the value of the first of them."""
        first: dict[tuple[str, str], int] = {}
        for place in statement.typed.places:
            if place.use is PlaceUse.EQUAL and place.table is not None and place.column is not None:
                number = first.setdefault(self._domains.of(place.table, place.column), place.number)
                for values in made:
                    values[place.number] = values[number]

    def _change_states(self, statement: RunnableStatement, made: list[Values]) -> None:
        """What a statement sets is not what it searches for: its rows would be found again and again."""
        places = statement.typed.places
        for place in places:
            for other in places if place.use is PlaceUse.ASSIGN else ():
                if other.use is PlaceUse.EQUAL and (other.table, other.column) == (place.table, place.column):
                    for values in made:
                        values[place.number] = self.usual.other_than(place, values[place.number], values[other.number])

    def draw_given(self, statement: RunnableStatement, choice: Choice, given: list[Values]) -> list[Values]:
        """As ``draw``, where some values are known already: the others come from rows that have these.

        Where no row has them the values are those of any row.
        """
        made = self.draw(statement, choice, len(given))
        known = set(given[0]) if given else set()
        if not known:
            return made
        for source in statement.typed.sources:
            places = [place for place in _drawn_places(statement, choice) if place.source == source.number]
            fixed = [place for place in places if place.number in known and place.type is not None]
            free = [place for place in places if place not in fixed]
            if not fixed:
                continue
            if places[0].use is PlaceUse.INSERT or not any(_is_needed(place, choice) for place in free):
                for values, one in zip(made, given, strict=True):
                    values |= {place.number: one[place.number] for place in fixed}
                continue
            self._matched(statement, source, fixed, free, choice, given, made)
        return made

    def _matched(
        self,
        statement: RunnableStatement,
        source: TableSource,
        fixed: list[Place],
        free: list[Place],
        choice: Choice,
        given: list[Values],
        made: list[Values],
    ) -> None:
        """Give ``made`` the values of rows that have the given ones."""
        numbers = tuple(place.number for place in fixed)
        key = (
            statement.counted.query_id,
            source.number,
            numbers,
            choice.distinct,
            choice.filtered,
            choice.width is None,
            choice.key_of,
            choice.constants,
        )
        if key not in self._groups_of_rows:
            self._groups_of_rows[key] = {}
            sampled = self._rows_with(statement, source, fixed, free, choice)
            for row in sampled:
                self._groups_of_rows[key].setdefault(row[: len(fixed)], []).append(row[len(fixed) :])
        groups = self._groups_of_rows[key]
        wanted = [tuple(_text(one[number]) for number in numbers) for one in given]
        # A key that no sampled row has is rare: its rows are few, and an index finds them.
        missing = [one for one in dict.fromkeys(wanted) if one not in groups][:_LOOK_UPS]
        for row in self._rows_with(statement, source, fixed, free, choice, missing) if missing else ():
            groups.setdefault(row[: len(fixed)], []).append(row[len(fixed) :])
        for values, one, known in zip(made, wanted, given, strict=True):
            rows = groups.get(one)
            if rows:
                values.update({number: known[number] for number in numbers})
                values.update(self._valued(free, self._random.choice(rows), rows, choice, statement))

    def _rows_with(
        self,
        statement: RunnableStatement,
        source: TableSource,
        fixed: list[Place],
        free: list[Place],
        choice: Choice,
        keys: Sequence[_Row] | None = None,
    ) -> list[_Row]:
        """Values of ``fixed`` and ``free`` of the rows of a sample, or of those with one of the ``keys``."""
        places = [*fixed, *free]
        expressions = self._expressions(statement, places, choice)
        columns = [f"({expressions.of(place)})::text" for place in places]
        conditions = [f"({expressions.of(place)}) is not null" for place in free if _is_needed(place, choice)]
        conditions += source.filters if choice.filtered else ()
        lateral = expressions.lateral()
        one = "distinct " if choice.distinct else ""
        table = self._table(source, choice, is_sampled=keys is None)
        if keys is None:
            where = f" where {' and '.join(conditions)}" if conditions else ""
            inner = f"select {one}{', '.join(columns)} from {table}{lateral}{where}"
            return [
                tuple(row)
                for row in self._session.rows(
                    f"select * from ({inner}) as drawn order by random() limit {_SAMPLED_ROWS}"
                )
            ]
        conditions += [f"({expressions.of(place)}) = d.g{at}::{place.type}" for at, place in enumerate(fixed)]
        names = ", ".join(f"g{at}" for at in range(len(fixed)))
        arrays = ", ".join(f"%(g{at})s::text[]" for at in range(len(fixed)))
        inner = f"select {one}{', '.join(columns)} from {table}{lateral} where {' and '.join(conditions)}"
        rows = self._session.rows(
            f"select r.* from unnest({arrays}) as d({names}) cross join lateral"
            f" ({inner.replace('%', '%%')} limit 20) as r",
            {f"g{at}": [one[at] for one in keys] for at in range(len(fixed))},
        )
        return [tuple(row) for row in rows]

    def _expressions(self, statement: RunnableStatement, places: Sequence[Place], choice: Choice) -> RowExpressions:
        return RowExpressions(
            places,
            statement.typed.places,
            choice,
            plain=lambda place: self._rowless.value(statement, place, choice),
            column=self._column_of,
        )

    def _column_of(self, place: Place) -> TwinColumn | None:
        return self._columns.get((str(place.table), str(place.column)))

    def _groups(self, statement: RunnableStatement, choice: Choice) -> list[list[TableSource]]:
        """The mentions of tables that are drawn together."""
        wanted = {place.source for place in _drawn_places(statement, choice)}
        sources = [source for source in statement.typed.sources if source.number in wanted]
        if not choice.joined:
            return [[source] for source in sources]
        groups = {source.number: {source.number} for source in statement.typed.sources}
        for join in statement.typed.joins:
            one, other = (groups[number] for number in join.sources)
            if one is not other:
                one |= other
                for number in other:
                    groups[number] = one
        unique: list[set[int]] = []
        for source in sources:
            if not any(source.number in group for group in unique):
                unique.append(groups[source.number])
        return [[statement.typed.sources[number] for number in sorted(group)] for group in unique]

    # Rows

    def _of_rows(
        self, statement: RunnableStatement, sources: list[TableSource], choice: Choice, made: list[Values]
    ) -> None:
        numbers = {source.number for source in sources}
        of_sources = [place for place in _drawn_places(statement, choice) if place.source in numbers]
        rows_of_insert = sorted({place.row for place in of_sources if place.use is PlaceUse.INSERT}) or [0]
        for row in rows_of_insert:
            places = [place for place in of_sources if place.use is not PlaceUse.INSERT or place.row == row]
            for part in [part for part in (_apart(places) if choice.apart else [places]) if part]:
                pool = self._pool(statement, sources, part, choice, len(made))
                for values in made:
                    values.update(self._valued(part, pool.next(), pool.rows, choice, statement))

    def _pool(
        self, statement: RunnableStatement, sources: list[TableSource], places: list[Place], choice: Choice, count: int
    ) -> _Pool:
        """Rows that are dealt one after another, so that no row comes twice before all have come."""
        numbers = tuple(place.number for place in places)
        has_range = any(place.use in (PlaceUse.LOW, PlaceUse.HIGH) for place in places)
        key = (
            has_range and choice.width is None,
            *(statement.counted.query_id, numbers, choice.distinct, choice.joined, choice.filtered),
            choice.elements if any(place.use in OF_PARTS for place in places) else 0,
            choice.ranks,
            choice.skew,
            choice.copies,
            choice.key_of,
            choice.constants,
        )
        pool = self._pools.get(key)
        if pool is None or (len(pool.rows) < count and pool.is_part):
            wanted = _POOL if count <= _POOL else _LARGE_POOL
            rows = self._drawn(statement, sources, places, choice, wanted)
            if not rows:
                raise CannotRun(OmissionReason.VALUE, sources[0].table)
            pool = self._pools[key] = _Pool(rows, is_part=len(rows) >= wanted)
        return pool

    def _drawn(
        self, statement: RunnableStatement, sources: list[TableSource], places: list[Place], choice: Choice, count: int
    ) -> list[tuple[str | None, ...]]:
        if places[0].use is PlaceUse.INSERT:
            return self._inserted(statement, sources[0], places, count)
        expressions = self._expressions(statement, places, choice)
        columns = [f"({expressions.of(place)})::text" for place in places]
        conditions = [
            f"{column} is not null" for column, place in zip(columns, places, strict=True) if _is_needed(place, choice)
        ]
        if choice.filtered:
            conditions += [condition for source in sources for condition in source.filters]
        numbers = {source.number for source in sources}
        conditions += [
            join.condition for join in statement.typed.joins if set(join.sources) <= numbers and len(sources) > 1
        ]
        lateral = expressions.lateral()
        listed = ", ".join(columns)
        new = self._of_new_rows(statement, numbers)
        # A small part may have none of the rows; and where there are none at all, a transaction makes them before.
        for is_sampled, wanted in ((True, [*conditions, *new]), (False, [*conditions, *new]), (False, conditions)):
            where = f" where {' and '.join(f'({one})' for one in wanted)}" if wanted else ""
            tables = ", ".join(
                self._table(source, choice, is_sampled=is_sampled and not at) for at, source in enumerate(sources)
            )
            if choice.ranks is not None or choice.skew is not None:
                by = ", ".join(str(at + 1) for at in range(len(columns)))
                grouped = f"select {listed} from {tables}{lateral}{where} group by {by} order by count(*) desc, {by}"
                rows = self._of_ranks(grouped, choice, count)
                if rows or not (new or self._is_sampled(sources[0], choice)):
                    return rows
                continue
            inner = f"select {'distinct ' if choice.distinct else ''}{listed} from {tables}{lateral}{where}"
            rows = self._session.rows(f"select * from ({inner}) as drawn order by random() limit {count}")
            if rows or not (new or self._is_sampled(sources[0], choice)):
                return [tuple(row) for row in rows]
        return []

    def _of_new_rows(self, statement: RunnableStatement, numbers: set[int]) -> list[str]:
        """The condition under which an INSERT ... SELECT makes rows that are not there yet, of the drawn mentions."""
        typed = statement.typed
        if not typed.filled or typed.target is None or not wants_new_rows(typed, statement.counted.rows_per_call):
            return []
        found = conditions_of_new_rows(typed, table_named(self._twin, typed.target))
        return [condition for source, condition in found if source in numbers]

    def _of_ranks(self, grouped: str, choice: Choice, count: int) -> list[_Row]:
        """Some of the most common combinations, in random order; counting them is done once for all ranks."""
        if grouped not in self._ranked:
            rows = self._session.rows(f"{grouped} limit {_RANKED}")
            self._ranked[grouped] = [tuple(row) for row in rows]
        ranked = self._ranked[grouped]
        if choice.ranks is not None:
            first, number = choice.ranks
            begin = round(first * choice.copies)
            wanted = ranked[begin : begin + max(1, round(number * choice.copies))]
        else:
            wanted = self._skewed(ranked, choice.skew or 0.0, count, choice.copies)
        self._random.shuffle(wanted)
        return wanted[:count]

    def _skewed(self, ranked: list[_Row], exponent: float, count: int, copies: float) -> list[_Row]:
        """So many rows by Zipf's law, evenly over all of its distribution."""
        sums = list(accumulate((int(at / copies) + 1) ** -exponent for at in range(len(ranked))))
        places = ((at + self._random.random()) / count * sums[-1] for at in range(count if sums else 0))
        return [ranked[min(bisect_right(sums, place), len(ranked) - 1)] for place in places]

    def _inserted(
        self, statement: RunnableStatement, source: TableSource, places: list[Place], count: int
    ) -> list[tuple[str | None, ...]]:
        """Values of one row, so that checks between columns hold and parents are those that rows have."""
        table = table_named(self._twin, source.table)
        is_new = wants_new_rows(statement.typed, statement.counted.rows_per_call)
        parents = keys_of_parents(statement.typed, table) if is_new else ()
        columns = [f"{quoted(str(place.column))}::text" for place in places]
        rows = self._session.rows(
            f"select {', '.join(columns)} from {self._table(source, _ANY)} order by random() limit {count}"
        )
        drawn = [tuple(row) for row in rows] or [(None,) * len(places)]
        if rows and not parents and (is_new or not table.foreign_keys):
            return drawn
        references = self._parents(table, parents, len(drawn) if rows else count)
        if not references and parents:
            # No parent is left without a row: a new one is needed, which only a transaction makes.
            references = self._parents(table, (), len(drawn))
        names = [str(place.column) for place in places]
        return [
            tuple(reference.get(name, value) for name, value in zip(names, drawn[at % len(drawn)], strict=True))
            for at, reference in enumerate(references)
        ]

    def _of_parents(self, statement: RunnableStatement, made: list[Values]) -> None:
        """Keys of parent rows for whole foreign keys that the statement compares."""
        for source in statement.typed.sources:
            places = {
                place.column: place
                for place in statement.typed.places
                if place.source == source.number and place.use is PlaceUse.EQUAL and place.column is not None
            }
            for foreign in self._foreign_keys(source.table):
                if not set(foreign.columns) <= places.keys():
                    continue
                columns = ", ".join(f"{quoted(column)}::text" for column in foreign.parent_columns)
                key = (foreign.parent, columns)
                if key not in self._pools:
                    rows = self._session.rows(
                        f"select {columns} from {foreign.parent} order by random() limit {_LARGE_POOL}"
                    )
                    if not rows:
                        raise CannotRun(OmissionReason.VALUE, foreign.parent)
                    self._pools[key] = _Pool([tuple(row) for row in rows], is_part=False)
                for values in made:
                    row = self._pools[key].next()
                    values.update({places[name].number: row[at] for at, name in enumerate(foreign.columns)})

    def room_for(self, statement: RunnableStatement, values: Values) -> list[str]:
        """What has to go before a trial of an INSERT, whose parents all have a row already: it is rolled back."""
        typed = statement.typed
        if typed.target is None or not wants_new_rows(typed, statement.counted.rows_per_call):
            return []
        literals = {
            place.column: literal(str(values[place.number]))
            for place in typed.places
            if place.use is PlaceUse.INSERT and place.column is not None and values[place.number] is not None
        }
        return list(room_for(typed, table_named(self._twin, typed.target), literals)) if typed.verb == "insert" else []

    def has_key(self, table: str, columns: set[str]) -> bool:
        """Whether ``columns`` contain a whole key of the table."""
        keys = next((one.keys for one in self._twin.tables if one.name == table), ())
        return any(set(key.columns) <= columns for key in keys)

    def _foreign_keys(self, table: str) -> tuple[TwinForeignKey, ...]:
        return next((one.foreign_keys for one in self._twin.tables if one.name == table), ())

    def _parents(self, table: TwinTable, key: Sequence[str], count: int) -> list[dict[str, str | None]]:
        """Keys of parents; with ``key`` combinations that no row has."""
        parts: list[str] = []
        columns: list[tuple[str, str]] = []
        of_each = max(50, round((4 * count) ** (1 / max(1, len(table.foreign_keys)))))
        used: set[str] = set()
        for at, foreign in enumerate(table.foreign_keys):
            if used & set(foreign.columns):
                continue
            used |= set(foreign.columns)
            parts.append(f"(select * from {foreign.parent} order by random() limit {of_each}) as p{at}")
            columns += [
                (column, f"p{at}.{quoted(parent)}")
                for column, parent in zip(foreign.columns, foreign.parent_columns, strict=True)
            ]
        if not parts:
            return [{}]
        same = " and ".join(f"c.{quoted(column)} = {text}" for column, text in columns if column in key)
        where = f" where not exists (select from {table.name} as c where {same})" if key and same else ""
        listed = ", ".join(f"{text}::text" for _, text in columns)
        rows = self._session.rows(
            f"select {listed} from {' cross join '.join(parts)}{where} order by random() limit {count}"
        )
        return [dict(zip((column for column, _ in columns), row, strict=True)) for row in rows]

    def _table(self, source: TableSource, choice: Choice, *, is_sampled: bool = True) -> str:
        sample = ""
        if is_sampled and self._is_sampled(source, choice):
            rows = self.rows_of(source.table)
            method = "bernoulli" if rows < _BY_ROW_ROWS else "system"
            share = min(100.0, 100.0 * _SAMPLED_ROWS / rows)
            sample = f" tablesample {method} ({share:.6f}) repeatable (7)"
        return f"{source.table} as {quoted(source.alias)}{sample}"

    def _is_sampled(self, source: TableSource, choice: Choice) -> bool:
        is_counted = choice.ranks is not None or choice.skew is not None
        most = _BY_ROW_ROWS if choice.distinct else _COUNTED_ROWS if is_counted else _WHOLE_ROWS
        return self.rows_of(source.table) > most

    def rows_of(self, table: str) -> float:
        """As the planner counts them, of a partitioned table those of its partitions; a view has none."""
        if table not in self._rows:
            rows = self._session.rows(
                "with recursive part as (select c.oid, c.relkind, c.reltuples from pg_catalog.pg_class as c"
                " where c.oid = pg_catalog.to_regclass(%(table)s) union all"
                " select c.oid, c.relkind, c.reltuples from part join pg_catalog.pg_inherits as i"
                " on i.inhparent = part.oid join pg_catalog.pg_class as c on c.oid = i.inhrelid)"
                " select coalesce(sum(reltuples) filter (where relkind in ('r', 'm')), 0)::float8 from part",
                {"table": table},
            )
            self._rows[table] = rows[0][0]
        return self._rows[table]

    # Values

    def _valued(
        self,
        places: list[Place],
        row: tuple[str | None, ...],
        drawn: list[tuple[str | None, ...]],
        choice: Choice,
        statement: RunnableStatement,
    ) -> Values:
        values: Values = {}
        # What is set comes from one row: checks relate its columns.
        other = self._random.choice(drawn)
        ranges: dict[str, tuple[str, str]] = {}
        for at, place in enumerate(places):
            value = row[at]
            match place.use:
                case PlaceUse.LOW | PlaceUse.HIGH if choice.width is not None:
                    key = str(place.expression)
                    if key not in ranges:
                        ranges[key] = self._range(statement, place, places, choice, value)
                    values[place.number] = ranges[key][0 if place.use is PlaceUse.LOW else 1]
                case PlaceUse.PATTERN if value is not None:
                    values[place.number] = pattern_of(value, choice.prefix)
                case PlaceUse.ARRAY:
                    chosen = [value, *(one[at] for one in self._random.sample(drawn, min(len(drawn), choice.elements)))]
                    values[place.number] = array_of(chosen[: choice.elements])
                case PlaceUse.ONE_OF if place.is_list:
                    chosen = [value, *(one[at] for one in self._random.sample(drawn, min(len(drawn), choice.elements)))]
                    values[place.number] = tuple(chosen[: choice.elements])
                case PlaceUse.ONE_OF if at and places[at - 1].use is PlaceUse.ONE_OF:
                    # The first element belongs to the row, the others to any.
                    values[place.number] = self._random.choice(drawn)[at]
                case PlaceUse.ASSIGN if not choice.in_place:
                    values[place.number] = other[at]
                case _:
                    values[place.number] = value
        return values

    def _range(
        self, statement: RunnableStatement, place: Place, places: list[Place], choice: Choice, value: str | None
    ) -> tuple[str, str]:
        """The lower and the upper bound of a range that has ``choice.width`` of the rows."""
        source = statement.typed.sources[place.source or 0]
        ordered = self._ordered(source, str(place.expression))
        if not ordered or choice.width is None:
            return value or "", value or ""
        last = len(ordered) - 1
        span = choice.width * last
        uses = {one.use for one in places if one.expression == place.expression}
        if uses >= {PlaceUse.LOW, PlaceUse.HIGH}:
            start = last - span if choice.recent else self._random.uniform(0, max(0.0, last - span))
            return ordered[round(start)], ordered[round(min(last, start + span))]
        jitter = self._random.uniform(0.8, 1.2) * span
        return ordered[round(max(0.0, last - jitter))], ordered[round(min(float(last), jitter))]

    def _ordered(self, source: TableSource, expression: str) -> list[str]:
        """Values of an expression at equal distances of rows, in the order of its type."""
        key = (source.table, source.alias, expression)
        if key not in self._sorted:
            # By the value itself: a bare name would mean the text that is returned.
            rows = self._session.rows(
                f"select drawn.one::text from (select {expression} as one from {self._table(source, _ANY)}"
                f" order by random() limit {_SORTED}) as drawn where drawn.one is not null order by drawn.one"
            )
            self._sorted[key] = [str(row[0]) for row in rows]
        return self._sorted[key]


#: For rows of which only the columns are asked.
_ANY = Choice()
_NOT_NEEDED = frozenset((PlaceUse.ASSIGN, PlaceUse.INSERT, PlaceUse.UNEQUAL, PlaceUse.MEMBER, PlaceUse.PART))
#: Uses by which rows are searched for.
SEARCHED = frozenset(
    (PlaceUse.EQUAL, PlaceUse.CONTAINS, PlaceUse.ELEMENT, PlaceUse.ONE_OF, PlaceUse.ARRAY, PlaceUse.SEARCH)
)


def _text(value: str | tuple[str | None, ...] | None) -> str | None:
    return value[0] if isinstance(value, tuple) else value


def _drawn_places(statement: RunnableStatement, choice: Choice) -> list[Place]:
    """The places whose values come from rows."""
    constants = dict(choice.constants)
    return [place for place in statement.typed.places if place.number not in constants and not is_by_itself(place)]


def _apart(places: list[Place]) -> list[list[Place]]:
    """Each value that rows are searched for by itself, the others together."""
    searched = [place for place in places if place.use in SEARCHED]
    return [[place for place in places if place not in searched], *([place] for place in searched)]


def _is_needed(place: Place, choice: Choice) -> bool:
    """Whether the row must have a value for the place: not where the bounds of a range come from all rows."""
    if place.use in (PlaceUse.LOW, PlaceUse.HIGH):
        return choice.width is None
    return place.use not in _NOT_NEEDED

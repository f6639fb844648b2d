"""As many pages as the original had: the bloat of a table decides plans as much as its rows do.

Large tables get a fill factor while they are loaded, small ones versions of rows that die in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.model.record import Record
from pgclinic.model.twin import Twin
from pgclinic.pg.session import Session
from pgclinic.sql.quoting import literal, quoted
from pgclinic.twin.synthesise import PAGE_BYTES, TableRows

#: The server's own limits of a fill factor.
FILLFACTOR_MIN, FILLFACTOR_MAX = 10, 100
#: Fewer pages than that share of the target are made up for.
_NEAR = 0.96
#: Rows of a table that is small enough to be updated again and again.
_UPDATED_ROWS_MAX = 20_000
#: Of more pages 64 are too few to matter.
_REWRITTEN_PAGES_MAX = 2000
_ROUNDS_MAX = 20_000
_REWRITES_MAX = 4
_FILLFACTOR_PAGES_MIN = 3
#: Updates change the order of rows: they are for what no fill factor reaches.
_FAR = 0.9
#: From this share of a page on rows that came out too narrow explain its free space.
_NEARLY_FULL = 0.9
_INDEX_PAGES_MIN = 8
_INDEX_NEAR = 0.85
_INDEX_FILLFACTOR = 90


class Density(Record):
    """Rows and pages of a part of a table, loaded for a trial."""

    rows: int
    pages: int

    def fillfactor_for(self, rows: int, pages: float) -> int | None:
        """The fill factor with which ``rows`` rows take ``pages`` pages, None where the ordinary one does."""
        if self.pages < _FILLFACTOR_PAGES_MIN or self.is_full_with(rows, pages * _NEAR):
            return None
        return max(FILLFACTOR_MIN, min(FILLFACTOR_MAX, round(100 * self.dense_pages(rows) / pages)))

    def is_full_with(self, rows: int, pages: float) -> bool:
        """Whether so many rows fill that many pages."""
        return self.rows == 0 or self.dense_pages(rows) >= pages

    def dense_pages(self, rows: int) -> float:
        """The pages that so many rows take without free space."""
        return rows * self.pages / self.rows


def rows_per_page(session: Session, table: str, statement: str, block: bytes) -> Density:
    """How dense the rows of one block lie; they are loaded and given up again."""
    session.execute("begin")
    session.execute(f"truncate {table}")
    session.copy_in(statement, [block])
    # Not the file's size: a file grows by more pages than rows need at the moment.
    pages = session.row(f"select count(distinct (ctid::text::point)[0]) from {table}")[0]
    session.execute("rollback")
    # A line break within a value is escaped.
    return Density(rows=block.count(b"\n"), pages=int(pages))


def fit_pages(session: Session, table: str, target: float, fillfactor: int) -> None:
    """Rewrite a small table until it has about ``target`` pages: its file has grown by more pages than its rows took.

    The server extends a file by up to 64 pages at once, and large rows leave more or less room than was asked for.
    """
    for _ in range(_REWRITES_MAX):
        pages = int(session.row(f"select pg_relation_size({literal(table)})")[0]) // PAGE_BYTES
        if pages < 2 or pages > _REWRITTEN_PAGES_MAX:
            return
        used = int(session.row(f"select coalesce(max((ctid::text::point)[0]), -1) + 1 from {table}")[0])
        is_thin = used >= _FILLFACTOR_PAGES_MIN and used < target * _NEAR and fillfactor > FILLFACTOR_MIN
        if used >= pages * _NEAR and not is_thin:
            return
        if is_thin:
            fillfactor = max(FILLFACTOR_MIN, min(fillfactor - 2, round(fillfactor * used / target)))
            session.execute(f"alter table {table} set (fillfactor = {fillfactor})")
        session.execute(f"vacuum full {table}")


def pages_target(rows: TableRows) -> float:
    """The pages that the table should have, 0 where nothing is known of them."""
    return float(
        (rows.table.pages_now or rows.table.pages) * min(rows.scale, 1.0) if rows.scale < 1 else rows.table.pages_now
    )


def has_full_pages(rows: TableRows, density: Density, count: int, pages: float) -> bool:
    """Whether the ``pages`` of the original were full: ``count`` rows take nearly as many here, as widths differ.

    A table without dead rows is inserted into alone: its new rows go behind the others, and not into gaps between them.
    Its pages are frozen as they are loaded, so that no VACUUM looks into them and notes their gaps as free space.
    """
    is_full = density.is_full_with(count, pages * _NEARLY_FULL)
    return is_full and rows.table.dead_rows == 0 and rows.table.fillfactor == FILLFACTOR_MAX


def drop_empty_end(session: Session, table: str) -> None:
    """Give pages behind the last row back to the file system: the server extends a file by more pages than it needs."""
    used, pages = session.row(
        f"select coalesce(max((ctid::text::point)[0]), -1) + 1, pg_relation_size({literal(table)}) / {PAGE_BYTES}"
        f" from {table}"
    )
    if float(used) < float(pages) * _NEAR:
        # A VACUUM that looks into no page does not count rows, and foreign keys are checked by plans.
        session.execute(f"vacuum (analyze) {table}")


def add_empty_pages(session: Session, rows: TableRows, pages: float) -> None:
    """Let a table have so many pages by empty ones behind its rows, which the next rows fill."""
    table, names = rows.table.name, ", ".join(quoted(name) for name in rows.columns)
    used, count = session.row(f"select coalesce(max((ctid::text::point)[0]), -1) + 1, count(*) from {table}")
    missing = round(pages - float(used))
    if missing < 1 or not count:
        return
    copied = max(1, round(missing * int(count) / float(used)))
    session.execute("begin")
    session.execute(f"insert into {table} ({names}) overriding system value select {names} from {table} limit {copied}")
    # Those that fill the last page of the rows are few; a VACUUM frees all of them.
    session.execute(f"delete from {table} where xmin = pg_current_xact_id()::xid")
    session.execute("commit")


def open_pages(session: Session, rows: TableRows, pages: float) -> None:
    """Let a small table grow to so many pages by updates: what they leave behind is free space after a VACUUM."""
    table = rows.table.name
    columns = [column for column in rows.table.columns if not column.generated and column.identity != "a"]
    if pages < 2 or not columns or rows.table.is_partitioned:
        return
    count, size = session.row(f"select count(*), pg_relation_size({literal(table)}) from {table}")
    target = round(pages * PAGE_BYTES)
    if not 0 < count <= _UPDATED_ROWS_MAX or not 0 < size < target * _FAR:
        return
    name = quoted(columns[0].name)
    # In one transaction, so that no version that died in it can be pruned. The last round only takes what is missing,
    # but for tables so small that this is little: their rows keep their order.
    whole = "true" if size * 10 < target else "false"
    session.execute(
        f"do $pages$ declare rounds int := 0; missing float8; begin loop"
        f" missing := ({target - PAGE_BYTES // 2} - pg_relation_size({literal(table)})) / {float(size)};"
        f" exit when missing <= 0 or rounds >= {_ROUNDS_MAX};"
        f" update {table} set {name} = {name} where {whole} or missing >= 1 or ctid = any (array("
        f"select ctid from {table} limit greatest(1, (missing * {count})::int)));"
        f" rounds := rounds + 1; end loop; end $pages$"
    )


def index_filled_as_before(session: Session, twin: Twin, scale: float, indexes: Sequence[tuple[str, ...]]) -> None:
    """Build B-trees again that came out much denser than they were; ``indexes`` are (name, pages now, table's rows)."""
    wanted = {index.name: (index, table) for table in twin.tables for index in table.indexes}
    for name, pages_text, rows_text in indexes:
        if name not in wanted:
            continue
        index, table = wanted[name]
        pages, there = int(pages_text), float(rows_text)
        share = there / table.rows if table.rows else scale
        # The file as it was; without it the planner's figure, which is of the rows at that time.
        target = index.pages_now * min(scale, 1.0) if index.pages_now else index.pages * min(share, 1.0)
        if index.method != "btree" or target < _INDEX_PAGES_MIN or pages >= target * _INDEX_NEAR:
            continue
        fillfactor = max(FILLFACTOR_MIN, round(_INDEX_FILLFACTOR * pages / target))
        session.execute(f"alter index {name} set (fillfactor = {fillfactor})")
        session.execute(f"reindex index {name}")
        session.execute(f"alter index {name} reset (fillfactor)")

"""A twin: what is kept of a live database so that it can be rebuilt without its data. The file twin.json in NAME.twin.

Values stand as the text that PostgreSQL prints for them. Names of tables are qualified and quoted where SQL wants it.
"""

from __future__ import annotations

from enum import Enum

from pgclinic.model.record import Record


class ObjectKind(str, Enum):
    """What a statement of the schema makes. Rows go in when the last TABLE and COLUMN is made and before any KEY.

    ``column`` are settings of a column that rows depend on (storage, compression, statistics target). ``key`` is a
    primary key, a unique or an exclusion constraint; ``check`` one of a table, made behind its rows. Rules count as
    triggers.
    """

    ROLE = "role"
    EXTENSION = "extension"
    SCHEMA = "schema"
    COLLATION = "collation"
    TYPE = "type"
    SEQUENCE = "sequence"
    FUNCTION = "function"
    TABLE = "table"
    COLUMN = "column"
    KEY = "key"
    CHECK = "check"
    INDEX = "index"
    STATISTICS = "statistics"
    VIEW = "view"
    FOREIGN_KEY = "foreign_key"
    TRIGGER = "trigger"
    POLICY = "policy"


class SchemaObject(Record):
    """One object of the schema. ``needs`` are the names of objects that must be there before it.

    Names are unique: ``schema.table``, ``schema.table.constraint``, ``extension x``; roles, extensions, collations and
    statistics carry their kind, as they may share a name with a table. Objects stand in an order that can be replayed.

    ``table`` is the table it belongs to, None for an object of its own. An object that the lab cannot make (its
    extension is missing there) is left out with all that need it.
    """

    kind: ObjectKind
    name: str
    statement: str
    table: str | None = None
    needs: tuple[str, ...] = ()


class ColumnStatistics(Record):
    """pg_stats of one column, or of one expression of an index. Shares from 0 to 1, ``width`` in bytes.

    ``distinct`` is n_distinct as ANALYZE left it: a number of values, or below 0 the negative share of the rows.
    ``histogram`` of a range type are ranges whose lower bounds are one histogram and whose upper bounds are another.
    ``range_lengths`` is a histogram of the lengths of ranges that are not empty, Infinity for an open one.
    """

    null_share: float
    width: int
    distinct: float
    common_values: tuple[str, ...] = ()
    common_shares: tuple[float, ...] = ()
    histogram: tuple[str, ...] = ()
    correlation: float | None = None
    common_elements: tuple[str, ...] = ()
    common_element_shares: tuple[float, ...] = ()
    element_counts: tuple[float, ...] = ()
    range_lengths: tuple[str, ...] = ()
    range_empty_share: float | None = None


class JointStatistics(Record):
    """What extended statistics say of several columns. A common value has one text, or None for null, a column.

    ``columns`` are names, or expressions behind them. ``distinct`` has the number of distinct combinations
    by names joined by ", "; ``dependencies`` the degree from 0 to 1, by "a, b => c".
    """

    name: str
    columns: tuple[str, ...]
    common_values: tuple[tuple[str | None, ...], ...] = ()
    common_shares: tuple[float, ...] = ()
    distinct: dict[str, float] = {}
    dependencies: dict[str, float] = {}


class TwinColumn(Record):
    """A column. ``type`` is as declared, ``base_type`` the pg_type.typname below all domains, ``type_kind`` typtype.

    ``element_type`` is the base type of an array's elements. ``generated`` is '', 's' (stored) or 'v' (virtual),
    ``identity`` '', 'a' (always) or 'd' (by default), as in pg_attribute. ``labels`` are those of an enum, in order.
    """

    name: str
    type: str
    base_type: str
    type_kind: str = "b"
    category: str = "U"
    element_type: str | None = None
    collation: str | None = None
    not_null: bool = False
    generated: str = ""
    identity: str = ""
    default: str | None = None
    labels: tuple[str, ...] = ()
    statistics: ColumnStatistics | None = None


class TwinKey(Record):
    """A primary key, a unique constraint or a unique index without expression and predicate."""

    name: str
    columns: tuple[str, ...]
    is_primary: bool = False


class TwinForeignKey(Record):
    name: str
    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]


class TwinIndex(Record):
    """An index as it lies on disk. ``keys`` are columns or expressions; ``pages`` and ``rows`` are pg_class's.

    ``pages_now`` is the size of its file when it was captured, in pages; 0 where it has none.
    ``statistics`` stand beside the keys that are expressions, None beside columns; empty where no key is an expression.
    """

    name: str
    method: str
    keys: tuple[str, ...]
    is_unique: bool = False
    predicate: str | None = None
    pages: int = 0
    pages_now: int = 0
    rows: float = 0.0
    statistics: tuple[ColumnStatistics | None, ...] = ()


class TwinTable(Record):
    """A table, a partition (``parent`` names the table it belongs to) or a partitioned table (``is_partitioned``).

    ``partition_by`` of the latter is such as "RANGE (paid_at)".

    ``rows`` and ``pages`` are pg_class's; ``pages_now`` the size of the file when it was captured, in pages.
    ``rows`` is None for a table that was never analyzed. ``checks`` are the texts of its check constraints.
    """

    name: str
    columns: tuple[TwinColumn, ...]
    rows: float | None = None
    pages: int = 0
    pages_now: int = 0
    all_visible: int = 0
    toast_bytes: int = 0
    dead_rows: int = 0
    fillfactor: int = 100
    parent: str | None = None
    bound: str | None = None
    is_partitioned: bool = False
    partition_by: str | None = None
    row_security: bool = False
    keys: tuple[TwinKey, ...] = ()
    foreign_keys: tuple[TwinForeignKey, ...] = ()
    indexes: tuple[TwinIndex, ...] = ()
    checks: tuple[str, ...] = ()
    joint: tuple[JointStatistics, ...] = ()


class TwinSequence(Record):
    """``last_value`` is None where it was never used, or may not be read."""

    name: str
    last_value: int | None = None
    owned_by: str | None = None


class TwinStatement(Record):
    """One statement of pg_stat_statements over the time of the capture. Times in ms, blocks of 8 kB, sums over calls.

    ``text`` has ``$n`` for every constant; of a statement without a plan it is the command alone. ``first_seen_s`` is
    the epoch at which the server first ran it, as far as it says (17 and newer).
    """

    query_id: int
    text: str
    calls: int
    rows: int
    total_ms: float
    kind: str = "select"
    blocks_hit: int = 0
    blocks_read: int = 0
    blocks_dirtied: int = 0
    temp_blocks: int = 0
    wal_bytes: int = 0
    first_seen_s: float | None = None

    @property
    def rows_per_call(self) -> float:
        return self.rows / self.calls if self.calls else 0.0

    @property
    def blocks_per_call(self) -> float:
        """Shared blocks found in or read into the buffers."""
        return (self.blocks_hit + self.blocks_read) / self.calls if self.calls else 0.0


class TransactionSeen(Record):
    """Statements that sessions were seen to run in one transaction, in this order; ``seen`` is how often.

    ``explicit`` says that a session was idle within it, so that it has a BEGIN; ``alone`` that its only statement began
    with the transaction itself, as one without a BEGIN does. ``samples`` is in how many samples one was open, ``age_s``
    how long it had been open then, on average: half of the time that it takes.
    """

    query_ids: tuple[int, ...]
    seen: int
    samples: int = 0
    age_s: float = 0.0
    explicit: bool = False
    alone: bool = False


class ConnectionProfile(Record):
    """Who is connected. ``active`` and ``idle_in_transaction`` are means over the samples."""

    sessions: int = 0
    sessions_max: int = 0
    active: float = 0.0
    idle_in_transaction: float = 0.0
    samples: int = 0


class TwinWorkload(Record):
    """What clients do. ``since_s`` is how long the counters ran, ``is_difference`` whether between two snapshots.

    ``commits`` and ``rollbacks`` are transactions of the same time; None where the server counts them since another.
    """

    statements: tuple[TwinStatement, ...] = ()
    transactions: tuple[TransactionSeen, ...] = ()
    since_s: float | None = None
    is_difference: bool = False
    commits: int | None = None
    rollbacks: int | None = None
    connections: ConnectionProfile = ConnectionProfile()


class MaskMethod(str, Enum):
    """What was done to the values of a column.

    ``trie`` keeps order, common prefixes, classes of characters, lengths and punctuation; ``codes`` replaces short
    dense codes and gives up their order; ``monotone`` moves numbers and times and keeps their order; ``json`` keeps
    keys and masks strings and numbers; ``dropped`` keeps the shares and removes the values; ``none`` leaves them.
    The reason says why.
    """

    TRIE = "trie"
    CODES = "codes"
    MONOTONE = "monotone"
    JSON = "json"
    DROPPED = "dropped"
    NONE = "none"


class Mask(Record):
    """One column; ``values`` is how many values the twin has of it, ``kept`` how many of them as they were."""

    table: str
    column: str
    method: MaskMethod
    values: int = 0
    kept: int = 0
    reason: str = ""


class Gap(Record):
    """What could not be captured, of which tables (all, if none is named), and what would help, as a statement.

    ``since`` is the major version that has it, where this server is older: nothing is missing then.
    """

    what: str
    problem: str
    tables: tuple[str, ...] = ()
    grant: str | None = None
    since: int | None = None


class HorizonHold(Record):
    """One hold of the xmin horizon, as far as it was seen. ``kind``: session, query, prepared, slot or standby.

    ``began_s`` is in seconds after the start of the capture, below 0 for a hold that was there before. With
    ``lasts`` it was still there at the end. ``catalog_only`` keeps rows of the system's catalogs alone.
    """

    kind: str
    began_s: float
    held_s: float
    age_transactions: int = 0
    holder: str = ""
    lasts: bool = False
    catalog_only: bool = False


class Twin(Record):
    """A live database without its data. Settings are those that differ from the defaults and are not of the machine."""

    version: str
    version_num: int
    captured_epoch_s: float
    capture_s: float
    database: str
    database_bytes: int
    encoding: str
    collate: str
    ctype: str
    settings: dict[str, str]
    objects: tuple[SchemaObject, ...]
    tables: tuple[TwinTable, ...]
    sequences: tuple[TwinSequence, ...] = ()
    workload: TwinWorkload = TwinWorkload()
    holds: tuple[HorizonHold, ...] = ()
    masks: tuple[Mask, ...] = ()
    masked: bool = True
    gaps: tuple[Gap, ...] = ()
    format: int = 1

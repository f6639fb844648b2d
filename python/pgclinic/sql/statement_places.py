"""What a statement wants values for: one record for each place, and for each mention of a table."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.record import Record


class PlaceUse(str, Enum):
    """How a value is used. ``E`` is an expression with columns, ``$`` the value.

    equal: E = $. unequal: E <> $. low: E > $. high: E < $. pattern: E LIKE $. one_of: E IN ($, ...).
    array: E = ANY ($). element: $ = ANY (E). contains: E @> $. within: E <@ $. overlaps: E && $. key: E -> $, E ? $.
    path: of a key, E #> $. member: what stands at a key or path of a document. part: E || $ of documents and arrays.
    search: E @@ $. delta: E + $. bound: GREATEST (E, $). insert, assign: the value of a column. limit: how many
    rows, by LIMIT or generate_series. offset. unit: of a function such as
    date_trunc. other: nothing is known of it.
    """

    EQUAL = "equal"
    UNEQUAL = "unequal"
    LOW = "low"
    HIGH = "high"
    PATTERN = "pattern"
    ONE_OF = "one_of"
    ARRAY = "array"
    ELEMENT = "element"
    CONTAINS = "contains"
    WITHIN = "within"
    OVERLAPS = "overlaps"
    KEY = "key"
    PATH = "path"
    MEMBER = "member"
    PART = "part"
    SEARCH = "search"
    DELTA = "delta"
    BOUND = "bound"
    INSERT = "insert"
    ASSIGN = "assign"
    LIMIT = "limit"
    OFFSET = "offset"
    UNIT = "unit"
    OTHER = "other"


class Place(Record):
    """One place, ``$number`` in the text. ``type`` is what stands in its cast, None if the server has to find it out.

    ``is_computed`` says that the application had several constants there, as in ``$1 - $2``: no value that it knew.

    ``source`` is the mention of ``table`` that ``expression`` speaks of, by that mention's alias; ``column`` is
    its name where the expression is a column alone. ``function`` and ``argument`` are the call in which it stands.
    ``row`` is which row of VALUES, ``is_list`` that the server put one constant in place of a longer list.
    """

    number: int
    use: PlaceUse
    type: str | None = None
    source: int | None = None
    expression: str | None = None
    table: str | None = None
    column: str | None = None
    element: str | None = None
    function: str | None = None
    argument: int = 0
    row: int = 0
    is_list: bool = False
    is_computed: bool = False


class TableSource(Record):
    """One mention of a table. ``filters`` are conditions on it alone that need no value.

    ``ordered`` are its columns that the rows are sorted by, if no other table's are.
    """

    number: int
    table: str
    alias: str
    filters: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()


class JoinedBy(Record):
    """A condition without a value that joins two mentions of tables; ``columns`` where it is an equality of columns."""

    sources: tuple[int, int]
    condition: str
    columns: tuple[str, str] | None = None


class FilledColumn(Record):
    """A column that INSERT ... SELECT fills from the rows that it reads, and not by a value alone.

    ``expression`` speaks of the columns of the mention ``source`` alone; both are None for anything else.
    """

    column: str
    source: int | None = None
    expression: str | None = None


class ReturnedColumn(Record):
    """A column of a table among those that a statement returns, by the ``name`` that it has in the result.

    ``is_made`` says that the statement itself makes the row, as INSERT ... RETURNING does.
    """

    name: str
    table: str
    column: str
    is_made: bool = False


class TypedStatement(Record):
    """A statement with typed places. ``verb`` is select, insert, update, delete or merge; ``target`` what it changes.

    ``tables`` are all tables it mentions, those in the bodies of its functions among them; ``unknown_relations`` those
    that the schema does not have. ``filled`` are columns of INSERT ... SELECT, ``conflict`` is what ON CONFLICT does:
    nothing or update. ``returned`` is empty if a column of the result has no name that every client can use.
    """

    text: str
    verb: str
    target: str | None
    places: tuple[Place, ...]
    sources: tuple[TableSource, ...]
    joins: tuple[JoinedBy, ...] = ()
    tables: tuple[str, ...] = ()
    unknown_relations: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    locks_rows: bool = False
    filled: tuple[FilledColumn, ...] = ()
    conflict: str | None = None
    returned: tuple[ReturnedColumn, ...] = ()

"""What the generator of rows is asked for (crates/load/src/rows/plan.rs). Every count is a number of rows."""

from __future__ import annotations

from pgclinic.model.record import Record


class DecimalFormat(Record, tag="decimal", tag_field="kind"):
    """``scale`` digits after the point; below 0, so many zeros before it."""

    scale: int = 0


class TimestampFormat(Record, tag="timestamp", tag_field="kind"):
    """Microseconds since 1970, in UTC where there is a ``zone``."""

    zone: bool = False


class DateFormat(Record, tag="date", tag_field="kind"):
    """Days since 1970."""


class TimeFormat(Record, tag="time", tag_field="kind"):
    """Microseconds of a day."""

    zone: bool = False


class IntervalFormat(Record, tag="interval", tag_field="kind"):
    """Microseconds; with ``days``, whole days are written as such."""

    days: bool = False


class UuidFormat(Record, tag="uuid", tag_field="kind"):
    """The first 60 bits."""


class InetFormat(Record, tag="inet", tag_field="kind"):
    """An IPv4 address, of a network of ``bits`` where they are given."""

    bits: int | None = None


class LabelFormat(Record, tag="label", tag_field="kind"):
    """The position in a list."""

    labels: tuple[str, ...] = ()


Format = (
    DecimalFormat | TimestampFormat | DateFormat | TimeFormat | IntervalFormat | UuidFormat | InetFormat | LabelFormat
)


class OrdinalMaker(Record, tag="ordinal", tag_field="kind"):
    """Whole numbers, equal shares of the rows between two bounds, multiples of ``step`` from the first one."""

    format: Format
    bounds: tuple[int, ...] = ()
    step: int = 1
    extends: bool = True


class TextMaker(Record, tag="text", tag_field="kind"):
    """Texts like the bounds, of ``bytes`` on average; 0 leaves them as long as the bounds are.

    Texts that are ``rigid`` differ from a bound in letters and digits alone, never in length.
    """

    bounds: tuple[str, ...] = ()
    bytes: float = 0.0
    chars_max: int | None = None
    rigid: bool = False


class ListedMaker(Record, tag="listed", tag_field="kind"):
    """No other values than these."""

    values: tuple[str, ...] = ()


class Element(Record):
    """``share`` is the share of the rows that have it."""

    text: str
    share: float


class ElementsMaker(Record, tag="elements", tag_field="kind"):
    """Arrays, or tsvectors. ``counts`` are quantiles of the number of different elements."""

    elements: tuple[Element, ...] = ()
    counts: tuple[float, ...] = ()
    lexemes: bool = False


class DocumentMaker(Record, tag="document", tag_field="kind"):
    """JSON like the templates; without any, of about so many ``bytes``."""

    templates: tuple[str, ...] = ()
    bytes: float = 0.0


class RangeMaker(Record, tag="range", tag_field="kind"):
    """Ranges: lower bounds as an ordinal's values, lengths as quantiles in the same unit, -1 where there is no end."""

    format: Format
    bounds: tuple[int, ...] = ()
    step: int = 1
    lengths: tuple[int, ...] = ()
    empty_share: float = 0.0


Maker = OrdinalMaker | TextMaker | ListedMaker | ElementsMaker | DocumentMaker | RangeMaker


class CommonValue(Record):
    """A common value. ``place`` is where it stands among the bounds, counted in buckets."""

    text: str
    ordinal: int | None
    place: float
    rows: int


class ColumnPlan(Record):
    """``distinct`` counts the values that are neither null nor common."""

    maker: Maker
    nulls: int = 0
    common: tuple[CommonValue, ...] = ()
    distinct: int = 0
    correlation: float = 0.0
    unique: bool = False


class ForeignPlan(Record):
    """Positions of columns; ``parent`` is the position of a table."""

    columns: tuple[int, ...]
    parent: int
    parent_columns: tuple[int, ...]


class JointText(Record):
    text: str
    ordinal: int | None


class JointValue(Record):
    values: tuple[JointText | None, ...]
    rows: int


class JointPlan(Record):
    """``functions`` are pairs of positions among ``columns`` of which the second depends on the first."""

    columns: tuple[int, ...]
    values: tuple[JointValue, ...]
    functions: tuple[tuple[int, int], ...] = ()


class CouplePlan(Record):
    """Two columns of which ``high`` is never below ``low``, with ``strict`` always above."""

    low: int
    high: int
    strict: bool = False


class PresencePlan(Record):
    """``flag`` has the ordinal ``yes`` where the column ``of`` is not null, and ``no`` where it is."""

    flag: int
    of: int
    yes: int
    no: int


class TablePlan(Record):
    """A table; a partitioned one has the rows of its ``parts`` and none of its own, for the tables that refer to it.

    ``keys`` are sets of several columns that no two rows have in common. ``dependent`` are pairs of which the second
    depends on the first.
    """

    name: str
    rows: int
    columns: tuple[ColumnPlan, ...]
    keys: tuple[tuple[int, ...], ...] = ()
    foreign: tuple[ForeignPlan, ...] = ()
    joint: tuple[JointPlan, ...] = ()
    dependent: tuple[tuple[int, int], ...] = ()
    couples: tuple[CouplePlan, ...] = ()
    presence: tuple[PresencePlan, ...] = ()
    parts: tuple[int, ...] = ()


class RowPlan(Record):
    """All tables, parents before their children where that is possible."""

    seed: int
    tables: tuple[TablePlan, ...]

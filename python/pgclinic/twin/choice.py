"""How the values of one statement are drawn: what the counters of the original do not say, and calibration finds."""

from __future__ import annotations

from pgclinic.model.record import Record


class Choice(Record):
    """Which values a statement gets.

    ``distinct`` draws each combination of values once, else rows are drawn and common values come often; ``joined``
    draws the mentions of tables together, by their join; ``filtered`` keeps to rows that the rest of the statement
    asks for; ``apart`` takes every value that is searched for from a row of its own; ``shared`` gives columns that hold
    the same kind of value the same one, in whatever mention of a table. ``width`` is the share of the rows that a range
    has, None takes the bound from the row itself; ``recent`` puts the range to the upper end. ``prefix`` is how many
    characters a pattern keeps, ``elements`` the length of a list or how many parts a document, an array or a search
    has, ``limit`` the value of LIMIT, ``offset`` that of OFFSET. ``in_place`` assigns what the row has already.
    ``of_parent`` looks for the keys that a foreign key could have, and not only for those that rows have. ``ranks``
    keeps to some of the combinations of values by how common they are: from the first number, from 0, so many as the
    second says. ``skew`` draws them by
    Zipf's law with this exponent, the common ones more often. ``key_of`` takes keys of documents that have such values,
    as jsonb_typeof calls them: the statement may cast what it finds. ``constants`` are values of places by number that
    never change: an application writes them into its text. ``copies`` is how many combinations take the place of one
    that ``ranks`` and ``skew`` count: those of a database that has grown.
    """

    distinct: bool = False
    joined: bool = False
    filtered: bool = True
    apart: bool = False
    shared: bool = False
    width: float | None = None
    recent: bool = False
    prefix: int = 3
    elements: int = 1
    limit: int = 10
    offset: int = 0
    in_place: bool = False
    of_parent: bool = False
    ranks: tuple[int, int] | None = None
    skew: float | None = None
    key_of: str | None = None
    constants: tuple[tuple[int, str], ...] = ()
    copies: float = 1.0

    @property
    def is_one_value(self) -> bool:
        """Whether all executions search for the same combination of values."""
        return self.ranks is not None and self.ranks[1] == 1

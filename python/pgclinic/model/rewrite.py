"""A statement of the user's written anew, and whether it gives the same rows: both were run on a twin."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.record import Record


class RewriteKind(str, Enum):
    """``keyset page``: the rows behind the last one that was shown, instead of an OFFSET that skips all before."""

    KEYSET_PAGE = "keyset page"


class RewriteWord(str, Enum):
    """What running both gave. ``failed``: the server refuses the new statement, or it takes too long. ``open``: the
    twin cannot decide."""

    SAME = "same rows"
    DIFFERENT = "other rows"
    FAILED = "failed"
    OPEN = "open"


class OpenBecause(str, Enum):
    """Why a twin cannot decide. ``values``: none are known for the statement. ``one_page``: no draw has a second page.
    ``rows``: it has too many to compare. ``refused``: the original fails on the twin, or takes too long. ``text``: no
    new statement can be written for what runs on the twin. ``budget``: the time was over. ``no_twin``: there is none.
    """

    VALUES = "values"
    ONE_PAGE = "one_page"
    ROWS = "rows"
    REFUSED = "refused"
    TEXT = "text"
    BUDGET = "budget"
    NO_TWIN = "no_twin"


class RewriteCheck(Record):
    """Of ``draws`` sets of values ``same`` gave the same rows in the same order. ``buffers`` of 8 kB are those of a
    call of the original, ``buffers_after`` of the new statement, as means over the draws. ``detail`` is what the server
    said.
    """

    word: RewriteWord
    draws: int = 0
    same: int = 0
    buffers: float | None = None
    buffers_after: float | None = None
    because: OpenBecause | None = None
    detail: str = ""


class Rewrite(Record):
    """What a treatment makes of the statement ``query_id``. ``unique`` are columns that no two of its rows share.

    ``statement`` is the new text, with the ``keys`` of the last row shown as its parameters from ``first_parameter``
    on. It is None unless both were run on a twin and gave the same rows, as ``check`` says.
    """

    query_id: int
    kind: RewriteKind
    unique: tuple[str, ...] = ()
    statement: str | None = None
    keys: tuple[str, ...] = ()
    first_parameter: int = 1
    check: RewriteCheck | None = None

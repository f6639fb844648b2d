"""SQL with its keywords, constants, comments and variables in colours of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from markupsafe import Markup, escape

#: A longer text is shown without colours, which take five times its size.
HIGHLIGHTED_MAX = 20_000
#: A statement on one line is cut here; all of it is a click away.
LINE_MAX = 120
#: PostgreSQL's reserved words, and of the others those that begin or join parts of a statement. The rest, such as name,
#: event and state, are names of columns and tables far more often.
_KEYWORDS_TEXT = """
    all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate
    collation column concurrently constraint create cross current_catalog current_date current_role
    current_schema current_time current_timestamp current_user default deferrable desc distinct do else end
    except false fetch for foreign freeze from full grant group having ilike in initially inner intersect into
    is isnull join lateral leading left like limit localtime localtimestamp natural not notnull null offset on
    only or order outer overlaps placing primary references returning right select session_user similar some
    symmetric system_user table tablesample then to trailing true union unique user using variadic verbose when
    where window with add alter begin between by cascade commit conflict copy database delete drop execute
    exists explain extension filter function if include index insert interval materialized matched merge nothing
    nowait over partition prepare procedure recursive reindex release rename replace reset restrict returns
    revoke rollback row rows savepoint schema sequence set share show start statistics table temp temporary
    transaction trigger truncate type unlogged update vacuum values view within
"""
_KEYWORDS = frozenset(_KEYWORDS_TEXT.split())
#: Words that are SQL's own behind one other word.
_AFTER = {"primary": ("key",), "foreign": ("key",), "alter": ("role", "system")}
#: A command of a pgbench script is no SQL.
_COMMAND = re.compile(r"^[ \t]*\\[a-z].*$", re.MULTILINE)


def one_line(text: str) -> str:
    """A statement on one line, cut where it gets long."""
    line = " ".join(text.split())
    return line if len(line) <= LINE_MAX else f"{line[: LINE_MAX - 1]}…"


def highlighted(text: str) -> Markup:
    """The text, escaped, with a span around all that has a colour: for inside ``<code class="sql">``.

    What the browser shows, and copies, is the text as it stands.
    """
    if len(text) > HIGHLIGHTED_MAX:
        return escape(text)
    return Markup("").join(
        Markup('<span class="{}">{}</span>').format(name, part) if name else escape(part)
        for name, part in _merged(list(_coloured(text)))
    )


def _coloured(text: str) -> Iterator[tuple[str, str]]:
    """Parts of the text with the class of each, empty for what is plain."""
    at = 0
    for command in _COMMAND.finditer(text):
        yield from _of_sql(text[at : command.start()])
        yield "", command[0]
        at = command.end()
    yield from _of_sql(text[at:])


def _of_sql(text: str) -> Iterator[tuple[str, str]]:
    # Loaded where it is used, so that help answers at once.
    from pygments.lexers.sql import PostgresLexer

    # A lexer keeps the text that it reads; a page may be made in several threads.
    before = ""
    for _, kind, part in PostgresLexer().get_tokens_unprocessed(text):
        name = _class(kind)
        # The dot between two names is a number to the lexer, and what follows it is a name.
        word = part.lower()
        if part == "." or (
            name == "kw" and (before == "." or (word not in _KEYWORDS and word not in _AFTER.get(before, ())))
        ):
            name = ""
        yield name, part
        before = before if part.isspace() else word


def _class(kind: Any) -> str:
    from pygments.token import Comment, Keyword, Name, Number, String

    # A name in double quotes is a name.
    if kind in String.Name:
        return ""
    names = {Comment: "com", Keyword: "kw", Name.Variable: "var", Number: "num", String: "str"}
    return next((name for whole, name in names.items() if kind in whole), "")


def _merged(parts: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Neighbours of one class in one part, with the space between them: a page has a third of the spans then."""
    names = ["", *(name for name, _ in parts), ""]
    bridged = [
        (before if part.isspace() and before == after else name, part)
        for before, after, (name, part) in zip(names, names[2:], parts, strict=False)
    ]
    for name, group in groupby(bridged, key=itemgetter(0)):
        yield name, "".join(part for _, part in group)

"""What a statement is, whatever its constants are: a fingerprint of its text.

PostgreSQL's own parser tells where postgast can be loaded; else the words of the text do.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b

from pgclinic.model.statement import FingerprintMethod
from pgclinic.sql.parser import UnreadableError, fingerprint_of
from pgclinic.sql.statement_comments import without_comments

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<constant>\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$
        |[eE]'(?:[^'\\]|\\.|'')*'
        |(?:[bBxXnN]|[uU]&)?'(?:[^']|'')*'
        |\$\d+
        |0[xXoObB][0-9a-fA-F_]+
        |(?:\d[\d_]*(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<variable>(?<!:):[^\W\d]\w*)
    |(?P<quoted>"(?:[^"]|"")*")
    |(?P<word>[^\W\d][\w$]*)
    |(?P<sign>::|[^\s\w]|.)""",
    re.DOTALL | re.VERBOSE,
)
_PLACE = "?"
_CONSTANT_WORDS = frozenset(("true", "false", "null"))
# Behind these a sign belongs to the number that follows; behind any other word it is an operator.
_BEFORE_VALUE = frozenset(
    (
        *("and", "between", "by", "case", "else", "from", "in", "like", "limit", "not", "offset", "or", "returning"),
        *("select", "set", "then", "to", "values", "when", "where"),
    )
)
_PARAMETER = re.compile(r"\$\d+")
#: Alone they are the start of a constant that has no end.
_OPENS_CONSTANT = ("'", "$")
_IN_LIST = re.compile(r"\bin \( \?(?: , \?)+ \)")


def fingerprint_method() -> FingerprintMethod:
    """The best that can be had here."""
    return FingerprintMethod.WORDS if _parser() is None else FingerprintMethod.PARSER


def fingerprint(text: str, method: FingerprintMethod | None = None) -> str:
    """The same for texts that differ in constants, comments, spaces and the case of words.

    pgbench's variables and the ``$1`` of prepared statements count as constants. What the parser refuses, as a text
    that was cut off, is told apart by its words.
    """
    parse = _parser() if method is not FingerprintMethod.WORDS else None
    if parse is not None:
        found = parse(_with_parameters(text))
        if found is not None:
            return found
    return f"w{blake2b(normalised(text).encode(errors='replace'), digest_size=8).hexdigest()}"


def normalised(text: str) -> str:
    """The words of a statement, with a question mark for each constant."""
    tokens: list[str] = []
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup, match[0]
        if kind == "space":
            continue
        if kind in ("constant", "variable") or token.lower() in _CONSTANT_WORDS:
            if tokens and tokens[-1] in ("-", "+") and _is_sign(tokens[:-1]):
                tokens.pop()
            tokens.append(_PLACE)
        else:
            tokens.append(token.lower() if kind == "word" else token)
    while tokens and tokens[-1] == ";":
        tokens.pop()
    return _IN_LIST.sub(f"in ( {_PLACE} )", " ".join(tokens))


def without_constants(text: str) -> str:
    """The same statement with a question mark for each constant, without comments; ``$1`` stays.

    A text that was cut off inside a constant or a comment ends there.
    """
    shown: list[str] = []
    # Comments nest, which no expression can say.
    text = without_comments(text)
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup, match[0]
        if kind == "space":
            shown.append(token if token.isspace() else " ")
        elif kind == "constant" and not _PARAMETER.fullmatch(token):
            shown.append(_PLACE)
        elif token in _OPENS_CONSTANT or text.startswith("/*", match.start()):
            shown.append(_PLACE)
            break
        else:
            shown.append(token)
    return "".join(shown)


def _is_sign(before: list[str]) -> bool:
    """Whether a minus behind these tokens belongs to the number after it."""
    if not before:
        return True
    last = before[-1]
    if last[0].isalnum() or last[0] == "_":
        return last in _BEFORE_VALUE
    return last[0] not in (_PLACE, ")", "]", '"')


def _with_parameters(text: str) -> str:
    """pgbench's variables as the parameters that a parser knows."""
    if ":" not in text:
        return text
    return "".join("$1" if match.lastgroup == "variable" else match[0] for match in _TOKEN.finditer(text))


@lru_cache(maxsize=1)
def _parser() -> Callable[[str], str | None] | None:
    try:
        import postgast  # noqa: F401  whether it can be
    except ImportError:
        return None

    def parse(text: str) -> str | None:
        try:
            return fingerprint_of(text)
        except UnreadableError:
            return None

    return parse

"""log_line_prefix as a pattern: any combination of its escapes, padded or not, read back from a line."""

from __future__ import annotations

import re
from functools import lru_cache

from pgclinic.model.log import LogOrigin
from pgclinic.pg.log.form import known_name
from pgclinic.pg.log.moments import moment_us

_ESCAPE = re.compile(r"%(-?\d*)([aubdrhLpPtmniecslvxqQ%])", re.DOTALL)
_TIMESTAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
# Names may hold anything but a line break, and are cut at 63 bytes. But several of them with spaces between could be
# divided in very many ways: those of users and databases then hold no space, and the others few words.
_NAME = r"[^\n]{0,64}?"
_NAME_BEFORE_SPACE = r"[^\s]{0,64}?"
_WORDS = r"(?:[^\s]{1,64}?(?: [^\s]{1,64}?){0,4}?)?"
# The usual values of escapes that hold spaces themselves: they tell where a name before them ends.
_USUAL = {
    "b": r"(?:client backend|autovacuum (?:launcher|worker)|background (?:writer|worker)|parallel worker|checkpointer"
    r"|walwriter|walsender|walreceiver|walsummarizer|archiver|startup|logger|postmaster|not initialized|io worker"
    r"|logical replication (?:launcher|(?:apply |parallel |tablesync )?worker)|slotsync worker|standalone backend)?",
    "i": r"(?:[A-Z]+(?: [A-Z]+){0,4}?|idle(?: in transaction(?: \(aborted\))?)?|authentication)?(?: waiting)?",
}
_PATTERNS = {
    "a": _NAME,
    "u": _NAME,
    "d": _NAME,
    "b": _WORDS,
    "r": r"[^\s]{0,300}?",
    "h": r"[^\s]{0,300}?",
    "L": r"[^\s]{0,300}?",
    "p": r"[0-9]{0,10}",
    "P": r"[0-9]{0,10}",
    "t": rf"(?:{_TIMESTAMP} \S+?)?",
    "m": rf"(?:{_TIMESTAMP}\.\d{{3}} \S+?)?",
    "n": r"(?:[0-9]{1,12}\.[0-9]{3})?",
    "i": _WORDS,
    "e": r"(?:[0-9A-Z]{5})?",
    "c": r"(?:[0-9a-f]{1,16}\.[0-9a-f]{1,16})?",
    "l": r"[0-9]{0,18}",
    "s": rf"(?:{_TIMESTAMP} \S+?)?",
    "v": r"(?:-?[0-9]{1,10}/[0-9]{1,10})?",
    "x": r"[0-9]{0,10}",
    "Q": r"(?:-?[0-9]{1,19})?",
}
# Two spaces set the severity off from the text; languages may put a space before the colon.
_SEVERITY = r"(?P<severity>[^\W\d_]{2,20}(?: [^\W\d_]{2,20})?\d?) ?:  "


class LinePrefix:
    """A log_line_prefix, ready to read the lines that it wrote."""

    def __init__(self, setting: str, zone: str | None) -> None:
        self._headers = (_header(setting, usual=True), _header(setting, usual=False))
        self._zone = zone
        self.tells_sqlstate = "e" in _escapes(setting)

    def match(self, line: str) -> re.Match[str] | None:
        """The start of a message, up to and with the colon behind its severity (group ``severity``)."""
        usual, any_value = self._headers
        return usual.match(line) or any_value.match(line)

    def origin(self, match: re.Match[str]) -> tuple[LogOrigin, str | None]:
        """Who wrote the line, and its SQLSTATE when the prefix tells it."""
        found = {name: value.strip() or None for name, value in match.groupdict(default="").items()}
        text = found.get
        origin = LogOrigin(
            at_us=self._moment(text("n"), text("m") or text("t")),
            pid=_whole(text("p")),
            backend_type=text("b"),
            application_name=known_name(text("a")),
            user=known_name(text("u")),
            database=known_name(text("d")),
            session_id=text("c"),
            line_number=_whole(text("l")),
            query_id=_whole(text("Q")) or None,
        )
        return origin, text("e")

    def _moment(self, epoch: str | None, text: str | None) -> int | None:
        if epoch is not None:
            seconds, _, milliseconds = epoch.partition(".")
            return int(seconds) * 1_000_000 + int(milliseconds) * 1000
        return None if text is None else moment_us(text, self._zone)


@lru_cache(maxsize=32)
def _header(setting: str, *, usual: bool) -> re.Pattern[str]:
    """One pattern for sessions, and behind %q, where all else stops, for the server's own processes."""
    patterns = {**_PATTERNS, **_USUAL} if usual else _PATTERNS
    pattern, seen, position, optional = "", set[str](), 0, False
    for match in _ESCAPE.finditer(setting):
        pattern += re.escape(setting[position : match.start()])
        position = match.end()
        padding, escape = match[1], match[2]
        if escape == "q":
            pattern += "" if optional else "(?:"
            optional = True
        elif escape == "%":
            pattern += "%"
        else:
            before_space = setting[position : position + 1] in ("", " ", "%")
            value = _NAME_BEFORE_SPACE if before_space and escape in ("u", "d") else patterns[escape]
            pattern += _padded(f"(?:{value})" if escape in seen else f"(?P<{escape}>{value})", padding)
            seen.add(escape)
    pattern += re.escape(setting[position:]) + (")?" if optional else "")
    return re.compile(pattern + _SEVERITY)


def _padded(value: str, padding: str) -> str:
    """A padded value may stand between spaces."""
    if not padding.lstrip("-"):
        return value
    return value + " *" if padding.startswith("-") else " *" + value


def _escapes(setting: str) -> set[str]:
    return {match[2] for match in _ESCAPE.finditer(setting)}


def _whole(text: str | None) -> int | None:
    return int(text) if text else None

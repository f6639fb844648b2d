"""No bytes break the log reader, nothing gets lost between its pieces, and any prefix reads back what it wrote."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from fixtures.server_logs import FILES, settings_of
from pgclinic.model.log import LogSettings
from pgclinic.pg.log.events import EventCollector
from pgclinic.pg.log.follow import FormatName, log_format

EXAMPLES = settings(max_examples=300, deadline=None)
NAMES: tuple[FormatName, ...] = ("stderr", "csv", "json")
SETTINGS = LogSettings(log_line_prefix="%m [%p] %q%u@%d/%a ", log_timezone="Europe/Berlin")
RECORDED = b"".join(path.read_bytes() for path in FILES)
TOKENS = sorted(set(re.findall(rb"[A-Za-z_]+|[^A-Za-z_]{1,3}", RECORDED[:60_000])))
# Bytes of any kind, and bytes made of the words of real logs, which come further into the readers.
BYTES = st.one_of(
    st.binary(max_size=300),
    st.lists(st.sampled_from(TOKENS), max_size=80).map(b"".join),
    st.integers(0, len(RECORDED)).flatmap(lambda at: st.integers(0, 2000).map(lambda size: RECORDED[at : at + size])),
)


@pytest.mark.parametrize("name", NAMES)
@EXAMPLES
@given(data=BYTES)
@example(data=b"[" * 100_000)
@example(data=b'{"message":' * 20_000)
@example(data=b'"' * 100_000)
@example(data=b"\n" * 10_000)
@example(data=b":  " * 10_000)
def test_no_bytes_break_a_format(name: FormatName, data: bytes) -> None:
    form = log_format(name, SETTINGS)
    spans = list(form.spans(data))
    assert b"".join(data[start:end] for start, end in spans) == data
    assert all(start < end for start, end in spans)
    telling = list(form.telling(data))
    assert all(before[1] <= after[0] for before, after in pairwise(telling))
    for quiet in (False, True):
        assert 0 <= form.settled(data, quiet=quiet) <= len(data)
    entries = [form.entry(data[start:end]) for start, end in (*spans, *telling, (0, len(data)))]
    collector = EventCollector()
    collector.feed(entry for entry in entries if entry is not None)
    collector.finish()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_damaged_logs_give_fewer_events_and_no_error(path: Path, seed: int) -> None:
    """Bytes are changed, dropped or doubled in a real log; all around the damage is still read."""
    draw = random.Random(seed)
    data = bytearray(path.read_bytes())
    form = log_format({".csv": "csv", ".json": "json"}.get(path.suffix, "stderr"), settings_of(path))  # type: ignore[arg-type]
    whole = len(EventCollector().feed(entry for entry in map(form.entry, _cut(form, bytes(data))) if entry))
    for _ in range(3):
        at = draw.randrange(len(data))
        data[at : at + draw.randrange(3)] = draw.randbytes(draw.randrange(4))
    found = EventCollector().feed(entry for entry in map(form.entry, _cut(form, bytes(data))) if entry)
    assert len(found) > whole * 0.8


def _cut(form: object, data: bytes) -> list[bytes]:
    return [data[start:end] for start, end in form.telling(data)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@settings(max_examples=60, deadline=None)
@given(at=st.floats(0, 1))
def test_what_is_settled_splits_a_log_between_entries(path: Path, at: float) -> None:
    data = path.read_bytes()
    form = log_format({".csv": "csv", ".json": "json"}.get(path.suffix, "stderr"), settings_of(path))  # type: ignore[arg-type]
    cut = form.settled(data[: int(at * len(data))], quiet=False)
    assert cut <= int(at * len(data))
    assert _cut(form, data) == _cut(form, data[:cut]) + _cut(form, data[cut:])


FIXED = {
    "p": st.integers(1, 4_000_000).map(str),
    "P": st.just(""),
    "t": st.just("2026-11-21 11:39:15 CET"),
    "m": st.just("2026-11-21 11:39:15.363 CET"),
    "n": st.just("1795257555.363"),
    "e": st.sampled_from(("00000", "22012", "XX000")),
    "c": st.just("6b0174ea.5b5c"),
    "l": st.integers(1, 10**9).map(str),
    "s": st.just("2026-11-21 11:39:00 CET"),
    "v": st.sampled_from(("5/7", "")),
    "x": st.integers(0, 2**32 - 1).map(str),
    "Q": st.integers(-(2**63), 2**63 - 1).filter(bool).map(str),
    "r": st.sampled_from(("[local]", "10.0.0.1(5432)")),
    "h": st.sampled_from(("[local]", "db.example.org")),
    "L": st.sampled_from(("[local]", "[none]")),
    "b": st.sampled_from(("client backend", "checkpointer")),
    "i": st.sampled_from(("SELECT", "idle in transaction", "CREATE TABLE")),
}
WORD = st.from_regex(r"[a-z][a-z0-9_.]{0,20}", fullmatch=True)
VALUES = st.fixed_dictionaries({**FIXED, "a": WORD, "u": WORD, "d": WORD})
# What people put between: at least one sign that no value holds.
LITERALS = st.sampled_from((" | ", "] <", "; ", " user=", ", db=", "~"))
ESCAPES = st.lists(st.sampled_from("aubdrhLpPtmniecslvxQ"), unique=True, min_size=1, max_size=10)
WIDTHS = st.sampled_from(("", "", "5", "-5", "20", "-20"))


@pytest.mark.drawn(0.2)
@EXAMPLES
@given(values=VALUES, escapes=ESCAPES, draw=st.data(), message=st.text(st.characters(codec="utf-8"), max_size=40))
def test_any_prefix_reads_back_what_it_wrote(
    values: dict[str, str], escapes: list[str], draw: st.DataObject, message: str
) -> None:
    assume(not re.search(r" at character \d+\Z", message))
    prefix = line = draw.draw(st.sampled_from(("", "<", "pg: ")))
    for escape in escapes:
        width, literal = draw.draw(WIDTHS), draw.draw(LITERALS)
        value = values[escape]
        size = abs(int(width or 0))
        prefix += f"%{width}{escape}{literal}"
        line += (value.ljust(size) if width.startswith("-") else value.rjust(size)) + literal
    text = message.replace("\n", "\n\t")
    form = log_format("stderr", LogSettings(log_line_prefix=prefix, log_timezone="Europe/Berlin"))
    entry = form.entry(f"{line}ERROR:  {text}\n".encode())
    assert entry is not None
    assert (entry.severity, entry.sqlstate) == ("ERROR", values["e"] if "e" in escapes else None)
    assert entry.message.replace("\r", "") == message.replace("\r", "")
    told = {
        "a": entry.origin.application_name,
        "u": entry.origin.user,
        "d": entry.origin.database,
        "b": entry.origin.backend_type,
        "c": entry.origin.session_id,
        "p": entry.origin.pid and str(entry.origin.pid),
        "l": entry.origin.line_number and str(entry.origin.line_number),
        "Q": entry.origin.query_id and str(entry.origin.query_id),
    }
    assert told == {name: values[name] if name in escapes else None for name in told}
    dated = [name for name in escapes if name in "tmn"]
    assert entry.origin.at_us in ({1795257555_000_000, 1795257555_363_000} if dated else {None})

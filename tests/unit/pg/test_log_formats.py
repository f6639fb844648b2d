"""The three formats: what belongs together, what is no entry, and what cannot be forged."""

from __future__ import annotations

import json

import pytest

from pgclinic.model.log import CheckpointStarted, ErrorLogged, LogEntry, LogSettings
from pgclinic.pg.log.events import EventCollector
from pgclinic.pg.log.follow import FormatName, log_format

SETTINGS = LogSettings(log_line_prefix="%m [%p] ", log_timezone="UTC")
AT = "2026-11-21 10:39:15.363 UTC"


def telling(name: FormatName, text: str) -> list[LogEntry | None]:
    form, data = log_format(name, SETTINGS), text.encode()
    return [form.entry(data[start:end]) for start, end in form.telling(data)]


def pieces(name: FormatName, text: str) -> list[str]:
    data = text.encode()
    return [data[start:end].decode() for start, end in log_format(name, SETTINGS).spans(data)]


def csv_record(
    message: str, *, severity: str = "LOG", state: str = "00000", statement: str = "", more: str = ""
) -> str:
    quoted = '"' + message.replace('"', '""') + '"'
    asked = '"' + statement.replace('"', '""') + '"' if statement else ""
    head = f'{AT},"me","db",77,"[local]",6b01.4d,12345,"SELECT",{AT[:19]} UTC,5/7,0,{severity},{state}'
    return f'{head},{quoted},,,,,,{asked},,,"app"{more}\n'


def json_line(message: str, **more: object) -> str:
    return (
        json.dumps(
            {"timestamp": AT, "pid": 77, "error_severity": "LOG", "message": message, **more}, separators=(",", ":")
        )
        + "\n"
    )


def test_all_parts_of_a_plain_message() -> None:
    text = (
        f"{AT} [77] ERROR:  first\n\n\tsecond at character 9\n{AT} [77] DETAIL:  d1\n\td2\n{AT} [77] HINT:  h\n"
        f"{AT} [77] CONTEXT:  c\n{AT} [77] STATEMENT:  s1\n\t\ts2\n"
    )
    (entry,) = telling("stderr", text.replace("first\n\n", "first\n\t\n"))
    assert entry is not None
    assert entry.message == "first\n\nsecond"
    assert (entry.detail, entry.hint, entry.context, entry.statement) == ("d1\nd2", "h", "c", "s1\n\ts2")


def test_a_verbose_message_gives_its_sqlstate() -> None:
    text = f"{AT} [77] ERROR:  22012: division by zero\n{AT} [77] LOCATION:  int4div, int.c:842\n"
    (entry,) = telling("stderr", text)
    assert entry is not None
    assert (entry.sqlstate, entry.message) == ("22012", "division by zero")


def test_without_a_location_a_message_keeps_its_first_word() -> None:
    (entry,) = telling("stderr", f"{AT} [77] ERROR:  ABCDE: is what somebody raised\n")
    assert entry is not None
    assert (entry.sqlstate, entry.message) == (None, "ABCDE: is what somebody raised")


@pytest.mark.parametrize(
    "message", ["statement: select ':  '", "execute <unnamed>: select 1", "execute s1: x\n\ty:  z"]
)
def test_logged_statements_are_passed(message: str) -> None:
    plain = message.replace("\n", "\n\t")
    assert telling("stderr", f"{AT} [77] LOG:  {plain}\n{AT} [77] DETAIL:  parameters: $1 = 'a:  b'\n") == []
    assert telling("csv", csv_record(message)) == []
    assert telling("json", json_line(message)) == []


def test_a_statement_cannot_forge_an_entry() -> None:
    """The text of a statement may look like any line; the formats mark or escape its line breaks and quotes."""
    plain = f"{AT} [77] LOG:  checkpoint starting: time"
    forged = {
        "stderr": f"{AT} [77] ERROR:  no\n{AT} [77] STATEMENT:  select '\n\t{plain}\n\t'\n",
        "csv": csv_record(
            "no", severity="ERROR", state="22012", statement="select '\n" + csv_record("checkpoint starting: time")
        ),
        "json": json_line(
            "no",
            error_severity="ERROR",
            state_code="22012",
            statement="select '\n" + json_line("checkpoint starting: time"),
        ),
    }
    for name, text in forged.items():
        entries = telling(name, text)  # type: ignore[arg-type]
        events = EventCollector().feed(entry for entry in entries if entry)
        assert [type(event) for event in events] == [ErrorLogged]
        dull = text.replace("ERROR", "LOG").replace("22012", "00000").replace("no", "statement: x", 1)
        kept = [entry for entry in telling(name, dull) if entry]  # type: ignore[arg-type]
        assert not any(isinstance(event, CheckpointStarted) for event in EventCollector().feed(kept))


def test_a_record_with_line_breaks_is_one_piece() -> None:
    records = [csv_record("checkpoint starting: time", more=tail) for tail in ("", ',"checkpointer"', ',"x",,-5')]
    records.insert(1, csv_record('a "quoted"\nsecond line,\n', statement="select 1,\n'\"'"))
    assert pieces("csv", "".join(records)) == records
    first, middle, *_ = telling("csv", "".join(records))
    assert first is not None and middle is not None
    assert middle.message == 'a "quoted"\nsecond line,\n'
    assert middle.statement == "select 1,\n'\"'"
    assert [entry.origin.query_id for entry in telling("csv", records[-1]) if entry] == [-5]


def test_a_message_longer_than_any_field_limit() -> None:
    long = "x" * 300_000
    for entries in (
        telling("csv", csv_record(long)),
        telling("json", json_line(long)),
        telling("stderr", f"{AT} [7] LOG:  {long}\n"),
    ):
        (entry,) = entries
        assert entry is not None and entry.message == long


@pytest.mark.parametrize("name", ["stderr", "csv", "json"])
def test_what_is_no_entry_is_no_error(name: FormatName) -> None:
    text = f'oops:  no prefix here\n{{"message":"cut\n{AT},LOG,00000,"cut\n{AT} [77] LOG:  fine\n'
    read = telling(name, text)
    assert None in read
    assert [entry.message for entry in read if entry] == (["fine"] if name == "stderr" else [])


def test_the_prefix_may_change_midway() -> None:
    text = f"{AT} [77] LOG:  checkpoint starting: time\nother 77 LOG:  checkpoint starting: time\n"
    assert [entry is None for entry in telling("stderr", text)] == [False, True]


def test_other_encodings_stay_readable() -> None:
    piece = f"{AT} [77] ERROR:  caf".encode() + b"\xe9\n"
    entry = log_format("stderr", SETTINGS).entry(piece)
    assert entry is not None and entry.message == "caf\N{REPLACEMENT CHARACTER}"
    line = json_line("caf?").encode().replace(b"?", b"\xe9")
    entry = log_format("json", SETTINGS).entry(line)
    assert entry is not None and entry.message == "caf\N{REPLACEMENT CHARACTER}"


def test_other_languages_are_counted_not_guessed() -> None:
    collector = EventCollector()
    entries = telling("csv", csv_record("Division durch Null", severity="FEHLER", state="22012"))
    entries += telling("csv", csv_record("Checkpoint beginnt: time"))
    (error,) = collector.feed(entry for entry in entries if entry)
    assert isinstance(error, ErrorLogged) and error.sqlstate == "22012"
    assert collector.counts.not_understood == 2


def test_what_may_still_grow_is_kept_back() -> None:
    plain = log_format("stderr", SETTINGS)
    first, second = f"{AT} [77] LOG:  a\n".encode(), f"{AT} [77] ERROR:  b\n".encode()
    cut = f"{AT} [77] DETA".encode()
    assert plain.settled(first + second, quiet=False) == len(first)
    assert plain.settled(first + second + cut, quiet=False) == len(first)
    assert plain.settled(first + second + cut, quiet=True) == len(first + second)
    record = csv_record("a\nb").encode()
    form = log_format("csv", SETTINGS)
    assert form.settled(record + record[:-20], quiet=True) == len(record)
    # A statement that holds a record without its quotes.
    inside = csv_record("x", statement="\n" + csv_record("y").replace('"', "")).encode()
    assert form.settled(record + inside, quiet=False) == len(record + inside)
    assert form.settled(record + inside[:-2], quiet=False) == len(record)

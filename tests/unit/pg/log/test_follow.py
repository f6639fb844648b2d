"""Files of a log: rotation, renaming, truncation, cut lines, and reading on from where one stopped."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from fixtures.server_logs import FOLDER, events_of, read_new, settings_of
from pgclinic.model.log import LogPosition, LogSettings
from pgclinic.pg.log import follow
from pgclinic.pg.log.follow import LogFollower, LogReader

AT = "2026-11-21 10:39:15.363 UTC"
SETTINGS = LogSettings(log_line_prefix="%m [%p] ", log_timezone="UTC")


def line(number: int) -> str:
    return f"{AT} [77] ERROR:  {number}\n"


def write(path: Path, text: str, *, age_s: float = 10.0, mode: str = "w") -> None:
    """Write as if it had happened a while ago, so that nothing is kept back."""
    with path.open(mode) as stream:
        stream.write(text)
    then = time.time() - age_s
    os.utime(path, (then, then))


def messages(reader: LogReader, position: LogPosition) -> tuple[list[str], LogPosition]:
    reading = read_new(reader, position)
    return [entry.message for entry in reading.entries], reading.position


def test_reading_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    reader = LogReader(path, SETTINGS)
    assert messages(reader, LogPosition()) == ([], LogPosition()), "no file yet"
    write(path, line(1) + line(2))
    found, position = messages(reader, LogPosition())
    assert found == ["1", "2"]
    assert messages(reader, position) == ([], position)
    write(path, line(3), mode="a")
    assert messages(reader, position)[0] == ["3"]


def test_a_cut_line_waits_for_its_rest(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    reader = LogReader(path, SETTINGS)
    write(path, line(1) + line(2)[:20])
    found, position = messages(reader, LogPosition())
    assert found == ["1"]
    write(path, line(2)[20:], mode="a")
    assert messages(reader, position)[0] == ["2"]


def test_the_last_entry_waits_for_its_detail(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    reader = LogReader(path, SETTINGS)
    write(path, line(1) + line(2), age_s=-5)
    found, position = messages(reader, LogPosition())
    assert found == ["1"]
    write(path, f"{AT} [77] DETAIL:  more\n", mode="a")
    (entry,) = read_new(reader, position).entries
    assert (entry.message, entry.detail) == ("2", "more")


def test_a_renamed_file_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    reader = LogReader(path, SETTINGS)
    write(path, line(1))
    _, position = messages(reader, LogPosition())
    write(path, line(2), mode="a", age_s=9)
    path.rename(tmp_path / "server.log.1")
    write(path, line(3), age_s=5)
    found, position = messages(reader, position)
    assert found == ["2", "3"]
    assert messages(reader, position)[0] == []


def test_an_emptied_file_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    reader = LogReader(path, SETTINGS)
    write(path, line(1) + line(2))
    _, position = messages(reader, LogPosition())
    write(path, line(3))
    assert messages(reader, position)[0] == ["3"]


def test_a_folder_is_read_in_the_order_of_writing(tmp_path: Path) -> None:
    write(tmp_path / "b.log", line(1), age_s=30)
    write(tmp_path / "a.log", line(2) + line(3)[:-1], age_s=20)
    write(tmp_path / "c.log", line(4), age_s=10)
    write(tmp_path / "c.log.gz", line(5))
    write(tmp_path / ".hidden.log", line(6))
    found, position = messages(LogReader(tmp_path, SETTINGS), LogPosition())
    assert found == ["1", "2", "4"], "a cut line of an old file stays unread"
    assert {file.name for file in position.files} == {"a.log", "b.log", "c.log"}


def test_a_folder_with_every_format_is_read_once(tmp_path: Path) -> None:
    for suffix in (".log", ".csv", ".json"):
        write(tmp_path / f"recorded{suffix}", (FOLDER / f"18{suffix}").read_text())
    settings = settings_of(FOLDER / "18.json")
    followers = {name: LogFollower(tmp_path, settings, format_name=name) for name in ("stderr", "csv", "json", None)}  # type: ignore[arg-type]
    found = {name: len(list(follower.finish())) for name, follower in followers.items()}
    assert set(found.values()) == {len(events_of(FOLDER / "18.json"))}


@pytest.mark.parametrize("suffix", [".log", ".csv", ".json"])
def test_following_in_any_portions_gives_the_same_events(tmp_path: Path, suffix: str) -> None:
    recorded = FOLDER / f"17{suffix}"
    follower = LogFollower(tmp_path / f"grows{suffix}", settings_of(recorded))
    data, events = recorded.read_bytes(), []
    for start in range(0, len(data), 997):
        with (tmp_path / f"grows{suffix}").open("ab") as stream:
            stream.write(data[start : start + 997])
        events += follower.poll()
    events += follower.finish()
    assert events == events_of(recorded)
    assert follower.counts.bytes_read == len(data)
    assert follower.counts.events == len(events)
    assert follower.counts.unparsed == 0


@pytest.mark.parametrize("suffix", [".log", ".csv", ".json"])
@pytest.mark.parametrize("size", [64, 4096])
def test_the_size_of_the_blocks_does_not_matter(monkeypatch: pytest.MonkeyPatch, suffix: str, size: int) -> None:
    recorded = FOLDER / f"18{suffix}"
    expected = events_of(recorded)
    monkeypatch.setattr(follow, "_CHUNK_BYTES", size)
    assert events_of(recorded) == expected


def test_a_follower_may_begin_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    write(path, line(1))
    follower = LogFollower(path, SETTINGS)
    follower.skip()
    write(path, line(2), mode="a")
    assert [event.message for event in follower.poll()] == ["2"]  # type: ignore[union-attr]

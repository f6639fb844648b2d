"""A twin's file is read as it was written, and anything else is one clear error."""

from __future__ import annotations

import fcntl
import zipfile
from pathlib import Path

import pytest

from pgclinic.errors import UsageError
from pgclinic.model.twin import ColumnStatistics, ObjectKind, SchemaObject, Twin, TwinColumn, TwinTable
from pgclinic.twin.file import read_twin, write_twin

TWIN = Twin(
    version="18.1",
    version_num=180001,
    captured_epoch_s=1.5,
    capture_s=0.1,
    database="shop",
    database_bytes=1000,
    encoding="UTF8",
    collate="C",
    ctype="C",
    settings={"work_mem": "4MB"},
    objects=(SchemaObject(kind=ObjectKind.TABLE, name="public.t", statement="create table public.t (a int)"),),
    tables=(
        TwinTable(
            name="public.t",
            columns=(
                TwinColumn(
                    name="a",
                    type="integer",
                    base_type="int4",
                    statistics=ColumnStatistics(null_share=0, width=4, distinct=1),
                ),
            ),
        ),
    ),
)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.twin"
    write_twin(path, TWIN, masked_text="# Values\n")
    assert read_twin(path) == TWIN
    with zipfile.ZipFile(path) as archive:
        assert set(archive.namelist()) == {"twin.json", "schema.sql", "MASKED.md"}
        assert b"create table public.t (a int);" in archive.read("schema.sql")
    assert [one.name for one in tmp_path.iterdir()] == ["x.twin"]


def test_no_file_is_replaced_without_being_asked(tmp_path: Path) -> None:
    path = tmp_path / "x.twin"
    path.write_text("mine")
    with pytest.raises(UsageError, match="exists"):
        write_twin(path, TWIN, masked_text="")
    assert path.read_text() == "mine"
    write_twin(path, TWIN, masked_text="", force=True)
    assert read_twin(path) == TWIN


def test_two_commands_do_not_write_one_file(tmp_path: Path) -> None:
    path, part = tmp_path / "shop.twin", tmp_path / ".shop.twin.part"
    with part.open("wb") as other:
        other.write(b"half")
        other.flush()
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another command writes"):
            write_twin(path, TWIN, masked_text="")
        assert part.read_bytes() == b"half"
    # The other one was killed: what it left is in nobody's way.
    write_twin(path, TWIN, masked_text="")
    assert read_twin(path) == TWIN
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "no twin.json"),
        ({"twin.json": b"{"}, "truncated"),
        ({"twin.json": b"\xff\xfe"}, "not a twin"),
        ({"twin.json": b"[]"}, "Expected `object`"),
        ({"twin.json": b'{"format": 1}'}, "version"),
        ({"twin.json": b'{"format": 99}'}, "format 99"),
    ],
)
def test_another_zip_is_not_a_twin(tmp_path: Path, content: dict[str, bytes], words: str) -> None:
    path = tmp_path / "x.twin"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in content.items():
            archive.writestr(name, text)
    with pytest.raises(UsageError, match=words) as error:
        read_twin(path)
    assert error.value.hint


def test_a_damaged_file_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "x.twin"
    write_twin(path, TWIN, masked_text="")
    whole = path.read_bytes()
    for cut in range(0, len(whole), 37):
        for damaged in (whole[:cut], whole[:cut] + bytes([whole[cut] ^ 0xFF]) + whole[cut + 1 :]):
            path.write_bytes(damaged)
            try:
                assert read_twin(path) == TWIN
            except UsageError:
                continue


def test_a_file_that_is_missing_or_a_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_twin(tmp_path / "none.twin")
    with pytest.raises(UsageError, match="cannot be read"):
        read_twin(tmp_path)

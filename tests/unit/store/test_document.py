"""One record as one file that the user names."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgclinic.errors import UsageError
from pgclinic.model.record import Record
from pgclinic.store.document import decode_document, read_document, refuse_existing, write_document, write_new


class Written(Record):
    """A record of one number."""

    number: int


def test_a_document_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    write_document(file, Written(number=3))
    assert read_document(file, Written, "a number") == Written(number=3)


def test_an_existing_file_is_replaced_with_force_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("mine", encoding="utf-8")
    for refused in (lambda: write_new(file, b"new"), lambda: refuse_existing(file, force=False)):
        with pytest.raises(UsageError, match=r"a\.json exists already") as caught:
            refused()
        assert "--force" in (caught.value.hint or "")
    assert file.read_text(encoding="utf-8") == "mine"
    refuse_existing(file, force=True)
    write_new(file, b"new", force=True)
    assert file.read_bytes() == b"new"


def test_a_folder_that_is_not_there_is_named_before_any_work(tmp_path: Path) -> None:
    file = tmp_path / "none" / "a.json"
    with pytest.raises(UsageError, match="there is no directory"):
        refuse_existing(file, force=True)
    with pytest.raises(UsageError, match=r"a\.json cannot be written: No such file"):
        write_new(file, b"new")


@pytest.mark.parametrize("content", [b"", b"{}", b'{"number": "x"}', b"\xff", b"[" * 100_000])
def test_a_file_that_holds_something_else_is_named(content: bytes) -> None:
    with pytest.raises(UsageError, match=r"^a\.json is not a number: "):
        decode_document(content, Written, where="a.json", what="a number")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        read_document(tmp_path, Written, "a number")

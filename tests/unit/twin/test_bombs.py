"""Files that claim to be twins and would take memory without end are refused before they do."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

MEGABYTE = 1_000_000
#: What the interpreter with its libraries takes is far below; an unbounded reader needs gigabytes.
LIMIT_BYTES = 1_500 * MEGABYTE
READ = """
import resource, sys
from pathlib import Path
from pgclinic.errors import PgclinicError
from pgclinic.twin.file import read_twin
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
try:
    read_twin(Path(sys.argv[1]))
except PgclinicError as error:
    print(error.exit_code, error.message, "|", error.hint)
else:
    print("read")
"""


def zipped(parts: Iterator[bytes], name: str = "twin.json") -> bytes:
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", compression=zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w", force_zip64=False) as file,
    ):
        for part in parts:
            file.write(part)
    return out.getvalue()


def spaces() -> bytes:
    return zipped(b" " * MEGABYTE for _ in range(400))


def understated() -> bytes:
    """The archive says that 1,000 bytes come out of it."""
    content = bytearray(spaces())
    size = struct.pack("<L", 400 * MEGABYTE)
    while (at := content.find(size)) >= 0:
        content[at : at + 4] = struct.pack("<L", 1000)
    return bytes(content)


def many_values() -> bytes:
    """Two bytes for each value, all of one list."""

    def parts() -> Iterator[bytes]:
        yield b'{"format": 1, "gaps": ['
        for _ in range(200):
            yield b"1," * (MEGABYTE // 2)

    return zipped(parts())


def deep() -> bytes:
    return zipped(iter((b'{"x": ', b"[" * MEGABYTE, b"]" * MEGABYTE, b"}")))


def many_entries() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(20_000):
            archive.writestr(f"../../{number}", b"")
    return out.getvalue()


def other_method() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression=zipfile.ZIP_LZMA) as archive:
        archive.writestr("twin.json", b" " * MEGABYTE)
    return out.getvalue()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (spaces, "400,000,000 bytes, of"),
        (understated, "not a twin"),
        (many_values, "values"),
        (deep, "not a twin"),
        (many_entries, "20,000 entries"),
        (other_method, "another method"),
    ],
)
def test_a_bomb_is_refused_within_bounded_memory(make: Callable[[], bytes], words: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.twin"
    path.write_bytes(make())
    ran = subprocess.run(
        [sys.executable, "-c", READ.format(limit=LIMIT_BYTES), str(path)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("1 "), ran.stdout
    assert words in ran.stdout
    assert "pgclinic capture twin" in ran.stdout


def test_what_is_no_regular_file_is_refused() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", READ.format(limit=LIMIT_BYTES), "/dev/zero"], capture_output=True, text=True, check=False
    )
    assert "not a regular file" in ran.stdout, ran.stderr

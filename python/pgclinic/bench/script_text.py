"""Script files as text: pgbench sends their bytes as they are, the engine sends UTF-8."""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from pgclinic.errors import UsageError

ENCODING_VARIABLE = "PGCLIENTENCODING"


def read_script(name: str, environment: Mapping[str, str]) -> str:
    """The text of a file, of standard input for ``-``. Raises UsageError when it cannot be read or decoded."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f'could not open file "{name}": {error.strerror}') from error
    asked = client_encoding(environment)
    try:
        return data.decode(_codec(asked))
    except UnicodeDecodeError as error:
        raise UsageError(
            f'script "{name}" is not {asked} at byte {error.start}',
            hint=None if environment.get(ENCODING_VARIABLE) else f"name its encoding: {ENCODING_VARIABLE}=LATIN1",
        ) from error


def client_encoding(environment: Mapping[str, str]) -> str:
    """PostgreSQL's name of the encoding that scripts are in."""
    name = environment.get(ENCODING_VARIABLE, "")
    return "UTF8" if name.lower() in ("", "auto", "sql_ascii") else name


def _codec(name: str) -> str:
    """Python's name for an encoding of PostgreSQL."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    windows = re.fullmatch(r"win(\d+)", plain)
    known = {"koi8r": "koi8_r", "koi8u": "koi8_u", "unicode": "utf8", "eucjp": "euc_jp", "euckr": "euc_kr"}
    known |= {"euccn": "gb2312", "shiftjis2004": "shift_jis_2004", "eucjis2004": "euc_jis_2004", "uhc": "cp949"}
    codec = f"cp{windows[1]}" if windows else known.get(plain, plain)
    try:
        return codecs.lookup(re.sub(r"^iso8859(\d)", r"iso8859_\1", codec)).name
    except LookupError:
        raise UsageError(f'{ENCODING_VARIABLE}: scripts in the encoding "{name}" cannot be read') from None

"""What names a script on a command line, by pgbench's rules: a file or one of its own, and its weight behind an @.

pgbench sends the bytes of a file as they are, the engine sends UTF-8; so a file is read in the encoding that
PGCLIENTENCODING names.
"""

from __future__ import annotations

import codecs
import difflib
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from pgclinic.errors import UsageError
from pgclinic.load.engine import BuiltinScript, builtin_scripts
from pgclinic.model.load import Script

ENCODING_VARIABLE = "PGCLIENTENCODING"
#: Before the name of one of pgbench's own scripts, where no option says that it is one.
BUILTIN = "builtin:"
WEIGHT_MAX = 2**31 - 1
#: A script has some kilobytes; what is larger is another kind of file.
_BYTES_MAX = 64 * 1024 * 1024


def parse_script(text: str, environment: Mapping[str, str] = os.environ) -> Script:
    """``file.sql@3`` or ``builtin:select-only`` -> a script with its weight, at least 1. Raises UsageError."""
    name, weight = split_weight(text)
    if weight < 1:
        raise UsageError(f"script {text!r}: a weight is at least 1")
    if name.startswith(BUILTIN):
        builtin = find_builtin(name.removeprefix(BUILTIN))
        return Script(name=builtin.name, text=builtin.text, weight=weight)
    if name == "-":
        raise UsageError(f"script {text!r}: standard input can be read only once; name a file")
    return Script(name=name, text=read_script(name, environment), weight=weight)


def split_weight(text: str) -> tuple[str, int]:
    """``file@3`` -> file and 3; without a weight 1. Raises UsageError."""
    name, at, weight = text.rpartition("@")
    if not at:
        return text, 1
    if re.fullmatch(r"[ \t\n\v\f\r]*[+-]?[0-9]+", weight) is None:
        raise UsageError(f"invalid weight specification: @{weight}")
    # The longest number in range has ten digits; Python refuses to read thousands of them.
    value = int(weight) if len(weight.strip()) < 100 else WEIGHT_MAX + 1
    if not 0 <= value <= WEIGHT_MAX:
        raise UsageError(f"weight specification out of range (0 .. {WEIGHT_MAX}): {weight.strip()[:100]}")
    return name, value


def find_builtin(prefix: str) -> BuiltinScript:
    """The only builtin whose name begins so. Raises UsageError."""
    names = [builtin.name for builtin in builtin_scripts()]
    matches = [builtin for builtin in builtin_scripts() if builtin.name.startswith(prefix)]
    if not matches:
        close = difflib.get_close_matches(prefix, names, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(names)}"
        raise UsageError(f'no builtin script found for name "{prefix}"', hint=hint)
    if len(matches) > 1:
        raise UsageError(f'ambiguous builtin name: {len(matches)} builtin scripts found for prefix "{prefix}"')
    return matches[0]


def read_script(name: str, environment: Mapping[str, str]) -> str:
    """The text of a file, of standard input for ``-``. Raises UsageError when it cannot be read or decoded."""
    data = _script_bytes(name)
    if len(data) > _BYTES_MAX:
        raise UsageError(f'script "{name}" is larger than {_BYTES_MAX // 1024**2} MB')
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


def _script_bytes(name: str) -> bytes:
    try:
        if name == "-":
            return sys.stdin.buffer.read(_BYTES_MAX + 1)
        with Path(name).open("rb") as stream:
            return stream.read(_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        # ValueError: a NUL in the name.
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        close = difflib.get_close_matches(name, [builtin.name for builtin in builtin_scripts()], n=1)
        hint = f"did you mean {BUILTIN}{close[0]} (bench: -b {close[0]})?" if close else None
        raise UsageError(f'could not open file "{name}": {reason}', hint=hint) from error


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

"""Rows that scripts deal, in files of their own: a plan has them three times and every trial once more, 8 MB each.

values/<digest>.json        the rows of one ``\\draw``, by what they are
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from pgclinic.model.load import ScriptValues

FOLDER = "values"
#: Fewer rows stay where they are, for whoever reads the file.
ROWS_MIN = 100
Rows = tuple[tuple[str | None, ...], ...]
_NAME = re.compile(r"[0-9a-f]{64}\.json")
_Value = TypeVar("_Value")


class DealtRows:
    """The rows of one run folder. ``write`` puts a new file there, ``read`` gives what a file holds."""

    def __init__(self, folder: Path, write: Callable[[Path, bytes], None], read: Callable[[Path], Rows]) -> None:
        self._folder = folder / FOLDER
        self._write, self._read = write, read
        # The rows are held as well: another object could else get the number of one that is gone.
        self._names: dict[int, tuple[str, Rows]] = {}
        self._rows: dict[str, Rows] = {}

    def taken_out(self, value: _Value) -> _Value:
        """The same value, its rows in files. Raises what ``write`` raises."""
        taken: _Value = _mapped(value, self._out)
        return taken

    def put_back(self, value: _Value) -> _Value:
        """The same value with the rows of its files; those of one file are one object. Raises what ``read`` raises."""
        whole: _Value = _mapped(value, self._back)
        return whole

    def _out(self, values: ScriptValues) -> ScriptValues:
        if len(values.rows) < ROWS_MIN:
            return values
        known = self._names.get(id(values.rows))
        if known is None:
            content = msgspec.json.encode(values.rows)
            name = f"{hashlib.sha256(content).hexdigest()}.json"
            if not (self._folder / name).is_file():
                self._folder.mkdir(exist_ok=True)
                self._write(self._folder / name, content)
            known = self._names[id(values.rows)] = (name, values.rows)
        return replace(values, rows=(), rows_in=known[0])

    def _back(self, values: ScriptValues) -> ScriptValues:
        name = values.rows_in
        if not isinstance(name, str):
            return values
        if not _NAME.fullmatch(name):
            raise msgspec.DecodeError(f"{name!r} is no name of a file with rows")
        if name not in self._rows:
            self._rows[name] = self._read(self._folder / name)
        return replace(values, rows=self._rows[name], rows_in=msgspec.UNSET)


def _mapped(value: Any, change: Callable[[ScriptValues], ScriptValues]) -> Any:
    """``value`` with ``change`` applied to all ScriptValues in it; itself where nothing changes."""
    if isinstance(value, ScriptValues):
        return change(value)
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        changed = {name: new for name, old in fields.items() if (new := _mapped(old, change)) is not old}
        return replace(value, **changed) if changed else value
    if isinstance(value, tuple):
        items = tuple(_mapped(item, change) for item in value)
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if isinstance(value, Mapping):
        entries = {key: _mapped(item, change) for key, item in value.items()}
        return entries if any(entries[key] is not item for key, item in value.items()) else value
    return value

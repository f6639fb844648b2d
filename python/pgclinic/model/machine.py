"""The machine on which something ran."""

from __future__ import annotations

from pgclinic.model.record import Record


class Machine(Record):
    """The machine a run was made on. ``memory_bytes`` is all memory; unknown values are None."""

    cpu_model: str
    cores: int
    memory_bytes: int
    kernel: str
    governor: str | None
    autogroup: bool | None
    architecture: str

"""What the clients of a trial send: one record for each kind."""

from __future__ import annotations

from pgclinic.model.load import Convention, Isolation, Script
from pgclinic.model.record import Record


class ScriptTraffic(Record, tag="scripts", tag_field="kind"):
    """pgbench's scripts, drawn by their weights."""

    scripts: tuple[Script, ...]


class TpccTraffic(Record, tag="tpcc", tag_field="kind"):
    """TPC-C's five transactions on all warehouses of a ``TpccDataset``.

    ``waits`` are the key and think times of the specification; without them a terminal never rests.
    """

    convention: Convention = Convention.BENCHBASE
    isolation: Isolation = Isolation.SERIALIZABLE
    waits: bool = False


Traffic = ScriptTraffic | TpccTraffic

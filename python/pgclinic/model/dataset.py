"""What is in the database of a trial: one record for each way of making it."""

from __future__ import annotations

from hashlib import sha256

from pgclinic.model.record import Record

#: The seed that fills TPC-C's tables where nobody asks for another: every template of one size then has equal rows.
TPCC_SEED = 42


class SqlDataset(Record, tag="sql", tag_field="kind"):
    """What ``statements`` make, each ended by a semicolon at the end of a line; empty ones leave an empty database."""

    statements: str = ""

    @property
    def key(self) -> str:
        """The same for the same data; the name of the template that holds them."""
        return f"fill-{sha256(self.statements.encode()).hexdigest()[:16]}"


class PgbenchDataset(Record, tag="pgbench", tag_field="kind"):
    """pgbench's four tables, with ``scale`` branches and 100,000 accounts for each."""

    scale: int = 1

    @property
    def key(self) -> str:
        return f"pgbench-{self.scale}"


class TpccDataset(Record, tag="tpcc", tag_field="kind"):
    """The nine tables of TPC-C, filled from a fixed seed."""

    warehouses: int

    @property
    def key(self) -> str:
        return f"tpcc-{self.warehouses}-{TPCC_SEED}"


#: How twins are built; 2: by a role that owns nothing else; 3: with pg_prewarm; 4: with rows that came together beside
#: each other. A template that was built otherwise is not used again.
TWIN_BUILD = 4


class TwinDataset(Record, tag="twin", tag_field="kind"):
    """A live database rebuilt without its data, with ``scale`` times its rows.

    ``sha256`` is the hash of the file, by which the lab keeps it; ``name`` is what people call it. ``changes`` are
    statements that are run when it is built, each ended by a semicolon at the end of a line. ``rows_sha256`` is the
    hash of all that its rows are made from: files that differ in their workload alone share what is built.
    """

    name: str
    sha256: str
    scale: float = 1.0
    changes: str = ""
    rows_sha256: str = ""

    @property
    def key(self) -> str:
        changed = f"-{sha256(self.changes.encode()).hexdigest()[:16]}" if self.changes else ""
        return f"twin{TWIN_BUILD}-{(self.rows_sha256 or self.sha256)[:16]}-{self.scale:g}{changed}"


class AttachedDataset(Record, tag="attached", tag_field="kind"):
    """The tables that an existing database has; nothing is created."""


Dataset = SqlDataset | PgbenchDataset | TpccDataset | TwinDataset | AttachedDataset

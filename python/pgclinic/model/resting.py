"""What a server of an interleaved block did while the load was on the others."""

from __future__ import annotations

from pgclinic.model.record import Record


class RestingUse(Record):
    """CPU and block I/O of one resting server in ``windows`` windows of other arms, ``elapsed_s`` in all.

    ``others_cpu_s`` and ``others_io_bytes`` are those of the servers that had the load then. ``io_bytes`` are bytes
    that storage saw, read and written, None where this user may not see them.
    """

    windows: int
    elapsed_s: float
    cores: int
    cpu_s: float
    others_cpu_s: float
    io_bytes: int | None
    others_io_bytes: int | None

    @property
    def cpu_share(self) -> float:
        """Of all cores in those windows."""
        return self.cpu_s / (self.elapsed_s * self.cores) if self.elapsed_s > 0 else 0.0

    @property
    def io_share(self) -> float:
        """Of the block I/O of all servers of the block in those windows; 0 where it is not known."""
        if self.io_bytes is None or self.others_io_bytes is None:
            return 0.0
        total = self.io_bytes + self.others_io_bytes
        return self.io_bytes / total if total else 0.0

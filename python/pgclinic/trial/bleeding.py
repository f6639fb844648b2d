"""Whether a server of an interleaved block worked in the windows of the others, where it should have rested. Pure."""

from __future__ import annotations

from pgclinic.model.doubt import Doubt, DoubtKind, RestingServerWorked
from pgclinic.model.resting import RestingUse

#: Of what the servers with the load used in their windows, and of one core: below either it is the samplers' queries
#: and the idle loop of a server.
CPU_SHARE = 0.05
CPU_CORES = 0.1
#: Of the block I/O of all servers of the block in those windows; below so many bytes a second a disk does not notice.
IO_SHARE = 0.10
IO_BYTES_PER_S = 1_000_000
#: Fewer looks than this show nothing.
WINDOWS_MIN = 3


def bled_into_window(resting: RestingUse | None) -> Doubt | None:
    """Checkpoints, autovacuum, writeback and long transactions go on when the load is on another server."""
    if resting is None or resting.windows < WINDOWS_MIN or resting.elapsed_s <= 0:
        return None
    writes = resting.io_bytes is not None and resting.io_bytes >= IO_BYTES_PER_S * resting.elapsed_s
    io_share = resting.io_share if writes else 0.0
    works = resting.cpu_s >= max(CPU_SHARE * resting.others_cpu_s, CPU_CORES * resting.elapsed_s)
    if not works and io_share < IO_SHARE:
        return None
    return Doubt(
        kind=DoubtKind.BLED_INTO_WINDOW,
        share=max(resting.cpu_share, io_share),
        facts=RestingServerWorked(cpu_share=resting.cpu_share, io_share=io_share, windows=resting.windows),
    )

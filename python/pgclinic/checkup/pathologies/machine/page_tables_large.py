"""Page tables of many processes take a good part of the memory."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.connection_places import pooler
from pgclinic.checkup.pathologies.machine.machine import administer, machine, sizes
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Cost, CostKind, Fact, Role, Severity, Unit

#: Of the memory: as much as could hold tables.
PAGE_TABLES_NOTICE, PAGE_TABLES_WARNING = 0.02, 0.05
#: On small machines every process has as much.
BYTES_MIN = 128 * 1024**2


def _detect(case: Case) -> Iterator[Seen]:
    host = case.host
    if host is None or not host.memory_bytes:
        return
    taken = host.server_page_table_bytes if host.server_page_table_bytes is not None else host.page_table_bytes
    if taken is None or taken < BYTES_MIN or taken < PAGE_TABLES_NOTICE * host.memory_bytes:
        return
    pages = int((case.number("shared_buffers") or 0) * 1.1 / (host.huge_page_bytes or 2 * 1024**2)) + 1
    huge = change_settings(
        case,
        {"huge_pages": "on"},
        title=f"put shared memory into huge pages: sysctl -w vm.nr_hugepages={pages} first "
        "(shared_memory_size_in_huge_pages says the exact number from 15 on)",
        risk="the server does not start when there are too few huge pages; they are for nothing else",
    )
    yield Seen(
        subject="page tables",
        severity=Severity.WARNING if taken >= PAGE_TABLES_WARNING * host.memory_bytes else Severity.NOTICE,
        evidence=(
            machine(
                "page tables",
                (
                    *sizes(
                        of_the_server=host.server_page_table_bytes,
                        of_all_processes=host.page_table_bytes,
                        memory=host.memory_bytes,
                    ),
                    Fact(name="processes of the server", value=len(host.processes), unit=Unit.COUNT),
                ),
            ),
            setting_evidence(case, "huge_pages", Fact(name="shared_buffers", value=case.shown("shared_buffers"))),
        ),
        cost=Cost(
            kind=CostKind.MEMORY_BYTES,
            value=taken,
            basis=(Fact(name="processes", value=len(host.processes), unit=Unit.COUNT),),
        ),
        treatments=(huge, pooler(), administer("give the machine more memory", risk="a restart of the machine")),
    )


PATHOLOGY = Pathology(
    name="page-tables-large",
    title="page tables take much of the memory",
    area=Area.MACHINE,
    role=Role.CAUSE,
    mechanism="Each process has page tables of its own for the shared memory that it has touched: 2 MB for each GB of "
    "4 kB pages. With hundreds of connections and large shared_buffers that is gigabytes; huge pages need a 500th of "
    "it.",
    threshold="128 MB and 2 % of the memory is a notice, 5 % a warning: as much memory as could hold tables.",
    references=("https://www.postgresql.org/docs/current/kernel-resources.html#LINUX-HUGE-PAGES",),
    detect=_detect,
    explains=("memory-pressure",),
    needs=("host",),
    no_proof="it needs as much memory and as many connections in the lab",
)

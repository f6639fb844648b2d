"""Large shared_buffers are mapped in pages of 4 kB by every session."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.memory_sizes import memory_limit
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import setting_evidence
from pgclinic.model.finding import (
    Applies,
    Area,
    Cost,
    CostKind,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    Treatment,
    Unit,
)

#: 8 bytes of page table for 4 kB, in each session that has touched them: 16 MB a session from here on.
LARGE_BYTES = 8 << 30
#: Of the memory: what page tables may take before it is missed elsewhere.
TABLES_SHARE = 0.02
_HUGE_PAGE = 2 << 20
#: Beside shared_buffers there are lock tables, WAL buffers and more.
_REST = 1.03


def _detect(case: Case) -> Iterator[Seen]:
    size, memory = case.number("shared_buffers"), memory_limit(case)
    host = case.host
    if size is None or host is None or memory is None or huge_pages_in_use(case):
        return
    tables = host.page_table_bytes or 0
    costs = tables >= TABLES_SHARE * memory
    if not costs and size < LARGE_BYTES:
        return
    page = host.huge_page_bytes or _HUGE_PAGE
    pages = int(case.number("shared_memory_size_in_huge_pages") or -1)
    if pages <= 0:
        pages = math.ceil(_REST * size / page)
    yield Seen(
        subject="huge_pages",
        severity=Severity.WARNING if costs else Severity.NOTICE,
        evidence=(
            setting_evidence(case, "huge_pages"),
            setting_evidence(case, "shared_buffers"),
            Evidence(
                kind=SubjectKind.MACHINE,
                name="page tables",
                facts=(
                    Fact(name="memory that they take", value=tables, unit=Unit.BYTES),
                    Fact(name="huge pages reserved", value=host.huge_pages or 0, unit=Unit.COUNT),
                    Fact(name="huge pages needed", value=pages, unit=Unit.COUNT),
                ),
            ),
        ),
        cost=Cost(kind=CostKind.MEMORY_BYTES, value=tables) if tables else None,
        treatments=(
            Treatment(
                title=f"reserve {pages} huge pages (sysctl vm.nr_hugepages={pages}), set huge_pages to try and restart "
                "the server",
                applies=Applies.MACHINE,
                risk="reserved pages are of no use to anything else on the machine",
            ),
        ),
    )


def huge_pages_in_use(case: Case) -> bool:
    """The server says so since 17; before that, reserved pages that are not free are taken for its own."""
    status = case.word("huge_pages_status")
    if status is not None or case.host is None:
        return status == "on"
    if case.word("huge_pages") == "on":
        return True
    return (case.host.huge_pages or 0) > (case.host.huge_pages_free or 0)


PATHOLOGY = Pathology(
    name="huge-pages-unused",
    title="large shared_buffers without huge pages",
    area=Area.MACHINE,
    role=Role.CAUSE,
    mechanism="Every session maps shared_buffers in pages of 4 kB and has its own page table for what it touched, 2 MB "
    "for each GB. The tables take memory, and lookups in them take CPU with every buffer access.",
    threshold="shared_buffers of 8 GB or more, where a session's page table reaches 16 MB; a warning if the page "
    "tables of the machine take 2 % of its memory.",
    references=(
        "https://www.postgresql.org/docs/current/kernel-resources.html#LINUX-HUGE-PAGES",
        "https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-HUGE-PAGES",
    ),
    detect=_detect,
    explains=("page-tables-large", "memory-pressure", "drops-with-large-shared-buffers"),
    needs=("host",),
    no_proof="huge pages are reserved by the machine, and a lab changes no setting of the kernel",
)

"""full_page_writes is off on a file system that can tear a page."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Confidence, Fact, Role, Severity
from pgclinic.model.host import HostFilesystem

#: File systems that write a page as a whole or not at all, as long as their records are not smaller.
_WHOLE_PAGES = frozenset({"zfs", "btrfs", "bcachefs"})
#: Mount options with which btrfs and bcachefs overwrite blocks in place.
_IN_PLACE = frozenset({"nodatacow", "nocow"})


def _detect(case: Case) -> Iterator[Seen]:
    if case.word("full_page_writes") != "off":
        return
    kind = _data_filesystem(case)
    options = _data_options(case)
    if kind in _WHOLE_PAGES and not options:
        return
    yield Seen(
        subject="full_page_writes",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY if kind is None else Confidence.CERTAIN,
        evidence=(
            setting_evidence(
                case,
                "full_page_writes",
                *(() if kind is None else (Fact(name="file system of the data", value=kind),)),
                *(Fact(name="mounted with", value=option) for option in options),
            ),
        ),
        treatments=(
            change_settings(
                case,
                {"full_page_writes": "on"},
                title="log whole pages after a checkpoint",
                risk="more WAL after each checkpoint",
            ),
        ),
    )


def _data_filesystem(case: Case) -> str | None:
    return next((filesystem.kind for filesystem in _of_data(case)), None)


def _data_options(case: Case) -> tuple[str, ...]:
    """The mount options that take the protection of its file system away."""
    return tuple(option for filesystem in _of_data(case) for option in filesystem.options if option in _IN_PLACE)


def _of_data(case: Case) -> Iterator[HostFilesystem]:
    known = case.host.filesystems if case.host is not None else ()
    yield from (filesystem for filesystem in known if "data" in filesystem.holds.split(", "))


PATHOLOGY = Pathology(
    name="full-page-writes-off",
    title="full_page_writes is off: a crash can leave torn pages",
    area=Area.SETTINGS,
    role=Role.CAUSE,
    mechanism="A crash of the machine in the middle of a write can leave a page half old and half new. Recovery "
    "restores such a page from its full-page image, which is missing with full_page_writes off.",
    threshold="off, unless the data are on a file system that writes pages as a whole (ZFS, btrfs without "
    "nodatacow); there it is safe.",
    references=("https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-FULL-PAGE-WRITES",),
    detect=_detect,
    no_proof="what it risks shows in a crash of the machine alone",
)

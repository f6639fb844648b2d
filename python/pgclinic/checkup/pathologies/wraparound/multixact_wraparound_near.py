"""A database comes near the end of its multixact IDs."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.wraparound.wraparound import MULTIXACTS, databases_near_the_end
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Area, Role


def _detect(case: Case) -> Iterator[Seen]:
    yield from databases_near_the_end(case, MULTIXACTS)


PATHOLOGY = Pathology(
    name="multixact-wraparound-near",
    title="a database comes near multixact ID wraparound",
    area=Area.WRAPAROUND,
    role=Role.SYMPTOM,
    mechanism="A row that several transactions lock at once has a multixact ID, and these are 32 bits wide as well. "
    "When only 3 million are left (100 on 13), the server refuses whatever would need a new one, such as "
    "foreign keys and FOR SHARE.",
    threshold="A billion multixact IDs, half of the way: forced vacuums begin at 400 million by default, so below that "
    "autovacuum may still be at work. Critical from vacuum_multixact_failsafe_age (1.6 billion) on.",
    references=(
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-MULTIXACT-WRAPAROUND",
        "https://www.postgresql.org/docs/current/runtime-config-vacuum.html#GUC-VACUUM-MULTIXACT-FAILSAFE-AGE",
    ),
    detect=_detect,
    needs=("counters.databases",),
    no_proof="no lab uses a billion multixact IDs",
)

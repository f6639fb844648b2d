"""A database comes near the end of its transaction IDs."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.wraparound.wraparound import TRANSACTIONS, databases_near_the_end
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Area, Role


def _detect(case: Case) -> Iterator[Seen]:
    yield from databases_near_the_end(case, TRANSACTIONS)


PATHOLOGY = Pathology(
    name="wraparound-near",
    title="a database comes near transaction ID wraparound",
    area=Area.WRAPAROUND,
    role=Role.SYMPTOM,
    mechanism="Transaction IDs are 32 bits wide, and rows older than half of them must have been frozen by VACUUM. "
    "When only 3 million are left (1 million on 13), the server refuses every transaction that writes "
    "until somebody has vacuumed.",
    threshold="A billion transactions, half of the way: forced vacuums begin at 200 million by default, so below that "
    "autovacuum may still be at work. Critical from vacuum_failsafe_age (1.6 billion) on, or a week before the end.",
    references=(
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND",
        "https://www.postgresql.org/docs/current/runtime-config-vacuum.html#GUC-VACUUM-FAILSAFE-AGE",
    ),
    detect=_detect,
    needs=("counters.databases",),
    no_proof="no lab uses a billion transaction IDs",
)

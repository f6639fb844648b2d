"""Applications with planted causes: what makes each ill, and which statements that slows down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Planted:
    """One cause: a finding of ``pathology`` whose subject, tables or evidence have ``object`` in their names.

    ``slowed`` are parts of the texts of the statements that it slows down, in lower case with single spaces.
    ``on_twin`` says that a twin can show the cure by plans; else there is a study of the pathology.
    """

    pathology: str
    object: str
    slowed: Sequence[str]
    on_twin: bool = True


@dataclass(frozen=True)
class Variant:
    """``ills`` are statements that are run on the healthy database; then ``held`` sessions are opened, each with the
    statements that it has run, and ``ages`` run while they are open. Clients send ``rate_tps`` all together, well below
    what the sick server can do."""

    name: str
    application: str
    planted: Sequence[Planted]
    rate_tps: float
    ills: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ages: Sequence[str] = ()


_SNAPSHOT = "begin isolation level repeatable read"


def _repeated(times: int, statement: str) -> str:
    """Each in a transaction of its own."""
    return f"do $$ begin for n in 1..{times} loop {statement}; commit; end loop; end $$"


VARIANTS = (
    Variant(
        name="shop: two indexes and an idle transaction",
        application="shop",
        rate_tps=120.0,
        ills=("drop index order_customer_id_ordered_at_idx", "drop index product_category_id_price_idx"),
        held={"nightly export": (_SNAPSHOT, "select count(*) from tenant")},
        ages=(_repeated(8000, "update tenant set orders_today = orders_today + 1 where tenant_id = 1"),),
        planted=(
            Planted(
                "missing-index",
                "order (customer_id",
                (
                    'from "order" where customer_id = $1 order by ordered_at',
                    "from order_summary where customer_id",
                    'select order_total(order_id) from "order" where customer_id',
                ),
            ),
            Planted("missing-index", "product (category_id", ("from product where category_id = $1",)),
            Planted("horizon-held-by-idle-session", "nightly export", ("update tenant set",), on_twin=False),
        ),
    ),
    Variant(
        name="tpcc: customers by name",
        application="tpcc",
        rate_tps=60.0,
        ills=("drop index idx_customer_name",),
        planted=(Planted("missing-index", "customer (", ("and c_last = $3",)),),
    ),
    Variant(
        name="tpcc: new orders without a key",
        application="tpcc",
        rate_tps=60.0,
        ills=("alter table new_order drop constraint new_order_pkey",),
        planted=(Planted("missing-index", "new_order (", ("from new_order where",)),),
    ),
    Variant(
        name="clinic: an index under a view and a join",
        application="clinic",
        rate_tps=80.0,
        ills=("drop index invoice_visit_id_idx", "drop index appointment_patient_id_starts_at_idx"),
        planted=(
            Planted("missing-index", "invoice (visit_id", ("from visit_bill where patient_id", "select open_balance(")),
            Planted("missing-index", "appointment (patient_id", ("where a.patient_id = $1 order by a.starts_at",)),
        ),
    ),
    Variant(
        name="clinic: a queue behind a held horizon",
        application="clinic",
        rate_tps=150.0,
        held={"statistics": (_SNAPSHOT, "select count(*) from job")},
        ages=(
            _repeated(
                9000,
                "update job set state = 'done', finished_at = now() where job_id = (select job_id from job "
                "where state = 'queued' order by due_at limit 1)",
            ),
            "insert into job (kind, due_at) select 'letter', now() from generate_series(1, 9000)",
        ),
        planted=(
            Planted(
                "horizon-held-by-idle-session",
                "job",
                ("from job where state = $2 and due_at", "update job set state", "delete from job where"),
                on_twin=False,
            ),
        ),
    ),
    Variant(
        name="clinic: little memory for sorts",
        application="clinic",
        # Reports are one transaction of a hundred: each kind of them has to run while the server is observed.
        rate_tps=250.0,
        settings={"work_mem": "64kB"},
        planted=(
            Planted(
                "work-mem-small",
                "work_mem",
                ("rank() over", "order by booked_at desc", "group by city, triage", "group by g.code, c.title"),
            ),
        ),
    ),
    Variant(
        name="clinic: random reads priced for a disk",
        application="clinic",
        rate_tps=80.0,
        settings={"random_page_cost": "40"},
        planted=(
            Planted(
                "random-page-cost-high",
                "random_page_cost",
                (
                    "from visit_bill where patient_id",
                    "count(g.code) as diagnoses from visit",
                    "max(value) from vital_sign where patient_id",
                    "from diagnosis as g join icd_code",
                ),
            ),
        ),
    ),
)

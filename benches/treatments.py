"""Ten treatments for each application: indexes dropped and created, settings of the planner, of memory, of commits."""

from __future__ import annotations

from treated_original import Treatment

_OF_ALL = (
    Treatment("asynchronous commits", settings={"synchronous_commit": "off"}),
    Treatment("no nested loops", settings={"enable_nestloop": "off"}),
    Treatment("random_page_cost 1000", settings={"random_page_cost": "1000"}),
    Treatment("shared_buffers 1 MB", settings={"shared_buffers": "1MB"}),
    Treatment("work_mem 64 kB", settings={"work_mem": "64kB"}),
)


def _of_all(*names: str) -> tuple[Treatment, ...]:
    return tuple(one for one in _OF_ALL if one.name in names)


def _dropped(name: str, index: str) -> Treatment:
    return Treatment(name, statements=(f"drop index {index}",))


TREATMENTS: dict[str, tuple[Treatment, ...]] = {
    "shop": (
        _dropped("no index on customers' orders", "order_customer_id_ordered_at_idx"),
        _dropped("no index on products by category", "product_category_id_price_idx"),
        _dropped("no index on normalized e-mail", "customer_email_key"),
        _dropped("no full-text index", "product_search_idx"),
        Treatment(
            "indexes on reviews and shipments by time",
            statements=(
                "create index review_product_id_created_at_idx on review (product_id, created_at desc)",
                "create index shipment_sent_at_idx on shipment (sent_at)",
            ),
        ),
        *_of_all(
            *("asynchronous commits", "no nested loops", "random_page_cost 1000", "shared_buffers 1 MB"),
            "work_mem 64 kB",
        ),
    ),
    "tpcc": (
        _dropped("no index on customers by name", "idx_customer_name"),
        Treatment(
            "no index on customers' orders",
            statements=("alter table oorder drop constraint oorder_o_w_id_o_d_id_o_c_id_o_id_key",),
        ),
        Treatment("no key of new orders", statements=("alter table new_order drop constraint new_order_pkey",)),
        Treatment("no key of items", statements=("alter table item drop constraint item_pkey cascade",)),
        Treatment(
            "three indexes more on stock",
            statements=(
                "create index stock_quantity_idx on stock (s_quantity)",
                "create index stock_ytd_idx on stock (s_ytd)",
                "create index stock_order_cnt_idx on stock (s_order_cnt)",
            ),
        ),
        Treatment("no index scans", settings={"enable_indexscan": "off"}),
        Treatment("commits wait for 10 ms", settings={"commit_delay": "10000", "commit_siblings": "0"}),
        *_of_all("asynchronous commits", "random_page_cost 1000", "shared_buffers 1 MB"),
    ),
    "clinic": (
        _dropped("no index on patients' appointments", "appointment_patient_id_starts_at_idx"),
        _dropped("no index on visits' invoices", "invoice_visit_id_idx"),
        _dropped("no index on patients' vital signs", "vital_sign_patient_id_taken_at_idx"),
        _dropped("no index on jobs that are due", "job_due_idx"),
        _dropped("no index on documents", "lab_result_document_idx"),
        Treatment(
            "an index on appointments by booking",
            statements=("create index appointment_booked_at_idx on appointment (booked_at)",),
        ),
        *_of_all("asynchronous commits", "no nested loops", "shared_buffers 1 MB", "work_mem 64 kB"),
    ),
}

"""Wait events that are one wait under several names."""

from __future__ import annotations

import pytest

from pgclinic.samples.wait_groups import group_of, grouped


@pytest.mark.parametrize(
    ("event", "group"),
    [
        ("IO:WALSync", "WAL"),
        ("IO:WalSync", "WAL"),
        ("LWLock:WALWrite", "WAL"),
        ("IO:DataFileRead", "data files"),
        ("IO:BuffileWrite", "temporary files"),
        ("IO:BufFileWrite", "temporary files"),
        ("Lock:transactionid", "locks"),
        # These only resemble a group.
        ("LWLock:LockManager", "LWLock:LockManager"),
        ("Client:WalSenderWaitForWAL", "Client:WalSenderWaitForWAL"),
        ("running", "running"),
    ],
)
def test_the_group_of_an_event(event: str, group: str) -> None:
    assert group_of(event) == group


def test_sessions_of_one_group_are_added_up() -> None:
    waits = {"LWLock:WALWrite": 1.5, "running": 2.0, "IO:WalSync": 0.5}
    assert grouped(waits) == {"WAL": 2.0, "running": 2.0}

"""What is left of killed commands is named with the command that removes it, and stays."""

from __future__ import annotations

import os
from pathlib import Path

from pgclinic.lab.account import server_account
from pgclinic.lab.home import folder
from pgclinic.lab.leftovers import leftovers, shared_memory_left
from pgclinic.lab.orphan_cleanup import clean_up_orphans
from pgclinic.model.doctor import LeftoverKind


def test_half_built_and_unregistered_files_are_named_and_kept_until_they_are_cleaned_up(fresh_home: Path) -> None:
    no_proc = fresh_home / "proc"
    no_proc.mkdir()
    assert leftovers(no_proc, no_proc) == ()
    (folder("templates") / ".new-18.6-abc").mkdir()
    server = folder("instances") / "quick-otter"
    server.mkdir()
    (server / "server.log").write_text("x" * 10_000)
    (folder("instances") / "broken.json").write_text("{")
    found = leftovers(no_proc, no_proc)
    assert {(one.kind, one.reason.partition(":")[0]) for one in found} == {
        (LeftoverKind.BUILD, "half-built"),
        (LeftoverKind.SERVER, "it was never registered"),
        (LeftoverKind.UNREADABLE_ENTRY, "it is damaged"),
    }
    assert {one.command for one in found} == {"pgclinic lab list"}
    assert next(one.bytes for one in found if one.kind is LeftoverKind.SERVER) >= 10_000
    assert server.is_dir()
    clean_up_orphans()
    assert leftovers(no_proc, no_proc) == ()


def test_shared_memory_is_left_when_nobody_uses_it(tmp_path: Path) -> None:
    account = server_account()
    owner = os.geteuid() if account is None else account.uid
    proc, memory = tmp_path / "proc", tmp_path / "shm"
    (proc / "sysvipc").mkdir(parents=True)
    (proc / "7").mkdir()
    memory.mkdir()
    for name in ("PostgreSQL.1", "PostgreSQL.2", "other"):
        (memory / name).write_bytes(b"12345678")
        os.chown(memory / name, owner, -1)
    (proc / "7" / "maps").write_text(f"7f00-7f01 rw-s 00000000 00:1a 5 {memory}/PostgreSQL.2\n")
    gone = 2**22 + 1
    lines = [
        "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid",
        f"1 11 600 56 {gone} 0 0 {owner} 0 0 0",
        f"1 12 600 56 {gone} 0 3 {owner} 0 0 0",
        f"1 13 600 56 {os.getpid()} 0 0 {owner} 0 0 0",
        f"1 14 600 4096 {gone} 0 0 {owner} 0 0 0",
        f"1 15 600 56 {gone} 0 0 {owner + 1} 0 0 0",
    ]
    (proc / "sysvipc" / "shm").write_text("\n".join(lines) + "\n")
    found = list(shared_memory_left(proc, memory))
    assert [one.command for one in found] == ["ipcrm -m 11", f"rm {memory}/PostgreSQL.1"]
    assert all(one.kind is LeftoverKind.SHARED_MEMORY for one in found)

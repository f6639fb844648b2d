"""Whether the server's own program accepts settings, without starting one: ``postgres -C``."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from pgclinic.lab.account import child_options, server_account
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.cluster import empty_cluster

_LIMIT_S = 30


def rejected_settings(binaries: Binaries, settings: Mapping[str, str]) -> str | None:
    """What ``postgres -C`` says against these settings; None where it accepts them.

    It reads and checks them as a start does, and nothing of what they ask for is made.
    """
    words = [str(binaries.program("postgres")), "-D", str(empty_cluster(binaries) / "data"), "-C", "server_version"]
    for name, value in settings.items():
        words += ["-c", f"{name}={value}"]
    try:
        done = subprocess.run(
            words,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
            **child_options(server_account()),
        )
    except subprocess.TimeoutExpired:
        return f"postgres -C did not end within {_LIMIT_S} s"
    if done.returncode == 0:
        return None
    lines = [
        line for line in done.stderr.splitlines() if "FATAL" in line or "ERROR" in line
    ] or done.stderr.splitlines()
    return lines[0] if lines else f"postgres -C ended with {done.returncode}"

"""A machine in words."""

from __future__ import annotations

from pgclinic.model.machine import Machine
from pgclinic.report.words.figures import count, size


def machine_words(machine: Machine) -> str:
    """AMD EPYC 7B13, 2 cores, 8.6 GB"""
    return f"{machine.cpu_model}, {count(machine.cores, 'core')}, {size(machine.memory_bytes)}"

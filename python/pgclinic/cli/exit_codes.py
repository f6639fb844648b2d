"""What a command that was carried out ends with; 1 and 2 are errors (`pgclinic.errors`)."""

from __future__ import annotations

#: A threshold is crossed, or a claim refuted.
CROSSED = 3
#: What was asked stays open.
UNDECIDED = 4
#: There is a finding at or above ``--fail-on``.
FOUND = 5

"""The records that are read from run folders, made known before threads read them.

msgspec learns how to decode a record when that is first wanted, and publishes what it knows before that is complete.
A second thread that decodes the same record meanwhile finds a field without a type, and the process ends with a
segmentation fault (seen with msgspec 0.22.0).
"""

from __future__ import annotations

from typing import get_args

import msgspec

from pgclinic.model.calibration import Calibration
from pgclinic.model.event import Event
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunInfo
from pgclinic.model.snapshot import Snapshot
from pgclinic.model.trial import Observed, TrialRecord
from pgclinic.model.tuning import Levels
from pgclinic.store.dealt_rows import Rows
from pgclinic.store.run_list import StoredAnswer

READ = (
    *(RunInfo, Event, TrialRecord, Observed, ExperimentPlan, Calibration, Levels, Rows, Snapshot),
    *get_args(StoredAnswer),
)


def know_records() -> None:
    """Learn all of them. To be called while there is one thread."""
    for kind in READ:
        msgspec.json.Decoder(kind)

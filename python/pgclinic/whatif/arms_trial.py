"""The difference between two arms on a twin, tried on its statements one by one before the blocks."""

from __future__ import annotations

import re
import time

from pgclinic.errors import PgclinicError
from pgclinic.experiment.twin_check import CheckedTwin
from pgclinic.lab.binaries import Binaries
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.fidelity import Fidelity
from pgclinic.model.plan import ArmSpec
from pgclinic.model.twin import Twin
from pgclinic.twin.mix import calibrated_in_order
from pgclinic.twin.values import ValueSource
from pgclinic.whatif.change_trial import ChangeTrial
from pgclinic.whatif.trial_session import trial_session
from pgclinic.whatif.tried_fidelity import with_tried
from pgclinic.whatif.twin_change import TwinChange

#: Values for statements that the workload leaves out are looked for in this time.
_VALUES_S = 3.0
_ENDED = re.compile(r";[ \t]*(?:\n|\Z)")


def fidelity_with_arms_tried(
    checked: CheckedTwin, twin: Twin, binaries: Binaries, a: ArmSpec, b: ArmSpec, limit_s: float
) -> Fidelity:
    """The twin's fidelity with what one execution of each statement shows of b in place of a. Most statements that a
    twin does not reproduce run too seldom for a block, which would leave them anything up to ten times their time.

    It is as it was where nothing can be tried: b lacks a setting or a change of the schema that a has, refuses to be
    made inside a transaction, or takes longer than ``limit_s``.
    """
    change = arms_change(a, b)
    if change is None or not isinstance(a.dataset, TwinDataset):
        return checked.fidelity
    began_s = time.monotonic()
    try:
        with trial_session(binaries, a.dataset, a.settings) as session:
            source = ValueSource(session, twin)
            known = {one.statement.counted.query_id: one for one in checked.mix.statements}
            statements = calibrated_in_order(
                session, source, twin, should_stop=lambda: time.monotonic() - began_s > _VALUES_S, known=known
            )
            trial = ChangeTrial(session, twin, tuple(statements.values()), _time_shares(checked.fidelity), source)
            tried = trial.tried(change, lambda: time.monotonic() - began_s > limit_s)
    except PgclinicError:
        return checked.fidelity
    return checked.fidelity if tried is None else with_tried(checked.fidelity, change, (tried,))


def arms_change(a: ArmSpec, b: ArmSpec) -> TwinChange | None:
    """What makes b of a, None where a transaction cannot."""
    if not isinstance(a.dataset, TwinDataset) or not isinstance(b.dataset, TwinDataset):
        return None
    have, get = _statements(a.dataset.changes), _statements(b.dataset.changes)
    # What a sets and b does not has a default that no name says.
    if a.server != b.server or get[: len(have)] != have or not a.settings.keys() <= b.settings.keys():
        return None
    settings = {name: value for name, value in b.settings.items() if a.settings.get(name) != value}
    before = {name: a.settings[name] for name in settings if name in a.settings}
    statements = get[len(have) :]
    return TwinChange(0, "b", settings, before, statements) if settings or statements else None


def _statements(changes: str) -> tuple[str, ...]:
    return tuple(text.strip() for text in _ENDED.split(changes) if text.strip())


def _time_shares(fidelity: Fidelity) -> dict[int, float]:
    shares = {one.query_id: one.time_share for one in fidelity.omitted}
    return shares | {one.query_id: one.time_share for one in fidelity.statements}

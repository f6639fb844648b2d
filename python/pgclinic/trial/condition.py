"""What else goes on while the load runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from pgclinic.errors import UsageError
from pgclinic.model.study import Condition, Holder
from pgclinic.pg.session import Access
from pgclinic.trial.checkpoints_asked import checkpoints
from pgclinic.trial.holders import (
    held_by_logical_slot,
    held_by_physical_slot,
    held_by_prepared_transaction,
    held_by_query,
    held_by_session,
)
from pgclinic.trial.idle import idle_sessions
from pgclinic.trial.replay import replayed
from pgclinic.trial.timed import Moment, at_their_moments, moments_of, steps_session

_HOLDERS = {
    Holder.QUERY: held_by_query,
    Holder.PREPARED_TRANSACTION: held_by_prepared_transaction,
    Holder.PHYSICAL_SLOT: held_by_physical_slot,
    Holder.LOGICAL_SLOT: held_by_logical_slot,
}
# These would outlive us on a server that is not ours if we were killed, and hold its horizon for ever.
_LASTING = (Holder.PREPARED_TRANSACTION, Holder.PHYSICAL_SLOT, Holder.LOGICAL_SLOT)


@contextmanager
def conditions(access: Access, condition: Condition) -> Iterator[None]:
    """Keep ``condition`` up for the time of the ``with``.

    Raises RunFailedError at the end when it did not last: what was measured is then no trial of that condition.
    Raises UsageError for a holder that would outlive us on a server that is not ours.
    """
    holder = condition.horizon_held_by
    if holder in _LASTING and access.server.source == "attached":
        raise UsageError(
            f"a {holder.value.replace('_', ' ')} is never left on an existing server",
            hint="omit --dsn: servers of the lab are removed after the trial",
        )
    with ExitStack() as stack:
        if condition.idle_sessions:
            stack.enter_context(idle_sessions(access, condition.idle_sessions))
        if condition.checkpoint_every_s is not None:
            stack.enter_context(checkpoints(access, condition.checkpoint_every_s))
        # A stack of its own, so that the hold may end before the rest does; closing it again does nothing.
        hold = stack.enter_context(ExitStack())
        if holder is Holder.SESSION:
            hold.enter_context(held_by_session(access, may_be_ended=condition.time_outs))
        elif holder is not None:
            hold.enter_context(_HOLDERS[holder](access))
        if condition.holds:
            stack.enter_context(replayed(access, condition.holds))
        if condition.steps or condition.release_at_s is not None:
            stack.enter_context(_timed(access, condition, hold.close))
        yield


@contextmanager
def _timed(access: Access, condition: Condition, release: Callable[[], None]) -> Iterator[None]:
    with steps_session(access) as session:
        moments = moments_of(session, condition.steps)
        if condition.release_at_s is not None:
            # First, so that a step of the same second finds the horizon free.
            moments = (
                Moment(condition.release_at_s, release, f"the release at {condition.release_at_s:g} s"),
                *moments,
            )
        with at_their_moments(moments, session):
            yield

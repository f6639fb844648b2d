"""A run whose server has stopped answering ends; one whose statements take long is waited for, as pgbench does."""

from __future__ import annotations

from collections.abc import Callable

from pgclinic.errors import ServerLostError
from pgclinic.load.engine import Stopper
from pgclinic.model.load_progress import LoadProgress

#: After so many seconds without an answer to any client the server is asked on a new connection.
SILENT_SECONDS = 15


class SilenceWatch:
    """Follows a load. ``answers`` asks the server on a new connection; ``stopper`` ends the load when it does not."""

    def __init__(self, answers: Callable[[], bool], stopper: Stopper) -> None:
        self._answers = answers
        self._stopper = stopper
        self._quiet = 0
        self._silent = False

    def progress(self, progress: LoadProgress) -> None:
        """A second of the load has passed."""
        answered = (
            progress.transactions + progress.rolled_back + progress.failed + progress.retries + progress.statements
        )
        if progress.phase == "connect" or answered:
            # Connecting has a limit of its own.
            self._quiet = 0
            return
        self._quiet += 1
        if self._quiet < SILENT_SECONDS or self._silent:
            return
        self._quiet = 0
        if not self._answers():
            self._silent = True
            # The second request ends the load without waiting for anything.
            self._stopper.stop()
            self._stopper.stop()

    def refuse(self) -> None:
        """Raises ServerLostError if the load was ended because the server had stopped answering."""
        if self._silent:
            raise ServerLostError(
                "the server has stopped answering: neither the run's clients nor a new session hear from it"
            )

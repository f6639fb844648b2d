"""A load on a database that is not ours, which may read it and nothing else."""

from __future__ import annotations

from pgclinic.errors import UsageError
from pgclinic.model.load import LoadResult
from pgclinic.model.load_progress import LoadProgress
from pgclinic.model.trial import ServerSpec

_READ_ONLY_SQL_TRANSACTION = "25006"


class ReadOnlyGuard:
    """Ends a load whose transactions all fail, and says which of its scripts write."""

    def __init__(self, wanted: ServerSpec) -> None:
        self._active = wanted.existing and not wanted.allow_writes
        self._useless = False

    def progress(self, progress: LoadProgress) -> None:
        """A second of the load: when all of its transactions fail, going on shows nothing more."""
        if self._active and progress.failed and not progress.transactions:
            self._useless = True

    def should_stop(self) -> bool:
        return self._useless

    def refuse(self, load: LoadResult) -> None:
        """Raise UsageError that names the script that writes."""
        if not self._active:
            return
        for failure in load.failures:
            if failure.sqlstate == _READ_ONLY_SQL_TRANSACTION:
                raise UsageError(
                    f"{failure.script} writes: {failure.message}",
                    hint="--allow-writes lets scripts change the tables of the existing database",
                )

"""The load engine, compiled from crates/load-python. Only pgclinic.load.engine imports it."""

from collections.abc import Callable
from typing import Self, final

__all__ = [
    "RunError",
    "ScriptError",
    "SpecError",
    "Stopper",
    "TpccRows",
    "TwinRows",
    "build_info",
    "builtins",
    "check_script",
    "outline_script",
    "run",
]

class SpecError(ValueError):
    """The spec is not one that can be run."""

class ScriptError(SpecError):
    """A script that cannot be parsed, and where: lines and columns count from 1."""

    file: str
    line: int
    column: int
    token: str
    problem: str

class RunError(RuntimeError):
    """The engine could not do its work."""

@final
class Stopper:
    """Ends a load from another thread."""

    def __new__(cls) -> Stopper: ...
    def stop(self) -> None:
        """The first call ends measuring and drains, the second ends at once."""
    @property
    def stopped(self) -> bool: ...

@final
class TpccRows:
    """The rows of one table of a new TPC-C database: an iterator over the blocks of a binary COPY.

    Every block is made without the GIL. The rows depend on ``seed`` alone. Raises ValueError for an unknown table.
    """

    def __new__(cls, table: str, warehouses: int, seed: int) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> bytes: ...
    @property
    def share(self) -> float:
        """How much of all rows was given, from 0 to 1."""

@final
class TwinRows:
    """The rows of a twin's tables, made from a plan: an iterator over the blocks of a COPY in text form.

    ``make`` begins a table of the plan; its parents come before it. The rows depend on the plan alone.
    Raises ValueError for a plan that cannot be read.
    """

    def __new__(cls, plan_json: str) -> Self: ...
    def make(self, table: int) -> int:
        """Make the table at this position of the plan, and return how many rows it has."""
    def __iter__(self) -> Self: ...
    def __next__(self) -> bytes: ...
    @property
    def share(self) -> float:
        """How much of the table made last was given, from 0 to 1."""

def run(
    spec_json: str,
    on_progress: Callable[[str], object] | None = None,
    stopper: Stopper | None = None,
    should_stop: Callable[[], bool] | None = None,
    is_warm: Callable[[], bool] | None = None,
    on_event: Callable[[str], object] | None = None,
) -> str:
    """Run a LoadSpec and return its LoadResult, both as JSON.

    Releases the GIL. ``on_progress`` gets a Progress as JSON once a second, in the calling thread; ``should_stop`` is
    asked at least every 100 ms and ends measuring by True. ``is_warm`` is asked after every second of the warm-up and
    ends it by True, at a whole second to come. ``on_event`` gets an event as JSON, if the spec asks for events. What
    they raise, and KeyboardInterrupt, ends the load, lets it drain, and is raised here.
    """

def build_info() -> dict[str, str | list[str]]:
    """The engine's ``version``, ``profile`` (release or debug) and ``io`` (what it can use, best first)."""

def builtins() -> list[tuple[str, str, str]]:
    """The scripts that pgbench brings along, as (name, description, text), in its order."""

def check_script(name: str, text: str, protocol: str) -> None:
    """Raise ScriptError unless ``text`` is a script that can be run with this protocol."""

def outline_script(name: str, text: str, protocol: str) -> list[tuple[int, bool, list[str] | None, int]]:
    """What a script would send and run, in its order: (line, conditional, parts, statements).

    ``parts`` is the SQL between its variables, None for a command of the shell; ``statements`` counts those that
    ``\\;`` joins. Raises ScriptError as ``check_script`` does.
    """

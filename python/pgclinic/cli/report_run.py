"""``pgclinic report``: a kept run, or two side by side, written as the suffix of the file says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from pgclinic.errors import RunFailedError, UnknownNameError
from pgclinic.model.advise import IndexAdvice
from pgclinic.model.checkup import Checkup
from pgclinic.model.grow import GrowthForecast
from pgclinic.report.kept_run import RenderedRun, judged_run, rendered_run
from pgclinic.report.markdown import text_markdown
from pgclinic.report.runs.two_runs import side_by_side, side_by_side_page, side_by_side_text
from pgclinic.store.document import refuse_existing, write_new
from pgclinic.store.private_folder import write_private_report
from pgclinic.store.run_folder import RunFolder
from pgclinic.store.run_list import FoundRun, find_run, found_run

_SUFFIXES = (".html", ".md", ".json")


def write_report(named: Path, parent: Path, output: Path | None, *, force: bool) -> Path:
    """Write the page into the run folder, or what the suffix of ``output`` says, and return its path.

    Raises UsageError: no run, one without an answer, or a file that exists. Raises RunFailedError: it is damaged.
    """
    if output is not None:
        _check_output(output, force=force)
    found = found_run(find_run(named, parent))
    rendered = rendered_run(found)
    if output is None:
        return _into_folder(found, rendered.html())
    _write(rendered, output, force=force, private=isinstance(found.answer, Checkup | IndexAdvice | GrowthForecast))
    return output


def side_by_side_of(named: tuple[Path, Path], parent: Path, output: Path | None, *, force: bool) -> str:
    """Two runs as text, or the path of what was written. Raises as ``write_report``."""
    if output is not None:
        _check_output(output, force=force)
    a, b = (judged_run(found_run(find_run(name, parent))) for name in named)
    for found in (a, b):
        if found.info is None:
            raise RunFailedError(found.problem or f"{found.path} cannot be read")
    seen = side_by_side(a, b)
    if output is None:
        return side_by_side_text(seen)
    rendered = RenderedRun(
        html=lambda: side_by_side_page(seen),
        markdown=lambda: text_markdown("Two runs side by side", side_by_side_text(seen)),
        json=lambda: seen,
    )
    _write(
        rendered,
        output,
        force=force,
        private=any(isinstance(found.answer, Checkup | IndexAdvice | GrowthForecast) for found in (a, b)),
    )
    return str(output)


def _check_output(output: Path, *, force: bool) -> None:
    if output.suffix not in _SUFFIXES:
        raise UnknownNameError("suffix", output.suffix, _SUFFIXES, where=f"-o {output}")
    refuse_existing(output, force=force)


def _into_folder(found: FoundRun, html: str) -> Path:
    if isinstance(found.answer, Checkup | GrowthForecast):
        return write_private_report(found.path, html)
    return RunFolder(found.path).write_report(html)


def _write(rendered: RenderedRun, output: Path, *, force: bool, private: bool) -> None:
    """As the suffix says. Raises UsageError."""
    texts: dict[str, Callable[[], str]] = {
        ".html": rendered.html,
        ".md": rendered.markdown,
        ".json": lambda: msgspec.json.format(msgspec.json.encode(rendered.json()), indent=1).decode() + "\n",
    }
    write_new(output, texts[output.suffix]().encode(), force=force, private=private)

"""What every page has: templates that escape all texts, its own styles and scripts, and a policy against others."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import msgspec
from markupsafe import Markup

from pgclinic import __version__
from pgclinic.report.parts.command import unbroken
from pgclinic.report.parts.links import linked
from pgclinic.report.parts.sql import highlighted, one_line
from pgclinic.report.parts.visible import visible
from pgclinic.report.section import Drawing, Section
from pgclinic.report.words.verdicts import capitalised

_PLOT_FILES = ("parts/uPlot.min.css", "parts/uPlot.iife.min.js", "parts/chart.js")
_TIME_CHARTS = (
    "parts/time_charts.css",
    "parts/chart.js",
    "parts/time_drawing.js",
    "parts/chart_files.js",
    "parts/time_charts.js",
)

if TYPE_CHECKING:
    from jinja2 import Environment
_IN_SCRIPT = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}

R = TypeVar("R")


def report_page(
    sections: Sequence[Section[R]], run: R, *, title: str, kind: str, when: str, source: str, pgclinic: str
) -> str:
    """The report of ``run``: those of its kind's sections that have something to show, in their order.

    ``title`` is that of the browser's window; ``kind`` and ``when`` stand at the page's head, ``source`` at its foot.
    """
    seen = [(section.name, section.view(run)) for section in sections]
    shown = [(name, view) for name, view in seen if view is not None]
    drawn = {
        ident: script_json(data) for _, view in shown if isinstance(view, Drawing) for ident, data in view.drawn.items()
    }
    # A section may draw with the templates of another of its kind, and then needs the styles of that.
    styles = [_own(name, "style.css") for name in dict.fromkeys(section.name for section in sections)]
    scripts = [_own(name, "script.js") for name in dict.fromkeys(name for name, _ in shown)]
    return html_page(
        "parts/report",
        kind=kind,
        when=when,
        source=source,
        pgclinic=pgclinic,
        files=[*(_TIME_CHARTS if drawn else ()), *(file for file in (*styles, *scripts) if file is not None)],
        drawn=drawn,
        title=title,
        sections=shown,
    )


def _own(section: str, file: str) -> str | None:
    path = f"sections/{section}/{file}"
    return path if (resources.files("pgclinic.report") / path).is_file() else None


def html_page(
    template: str,
    *,
    kind: str,
    when: str,
    source: str,
    pgclinic: str = __version__,
    files: Sequence[str] = (),
    served: bool = False,
    drawn: Mapping[str, Markup] = MappingProxyType({}),
    **views: object,
) -> str:
    """A page that needs no other file: its template, filled with ``views``, in the frame that all pages have.

    ``kind`` and ``when`` stand at its head, ``source`` at its foot is what it was made from. ``files`` are its
    styles and scripts. ``drawn`` is JSON for scripts by the id of its element; a page that is
    ``served`` may ask its server for what is new, and draws with uPlot what grows.
    """
    plot_files = _PLOT_FILES if drawn and served else ()
    css = assets((*_of("css", plot_files), "parts/page.css", *_of("css", files)))
    script = assets((*_of("js", (*plot_files, *files)), "parts/sort.js", "parts/page.js"))
    page = (
        environment()
        .get_template(f"{template}.html.j2")
        .render(
            **views,
            kind=kind,
            when=when,
            source=source,
            pgclinic=pgclinic,
            css=css,
            script=script,
            policy=content_policy(script, served=served),
            drawn=drawn,
        )
    )
    # Nothing of ours has a control character: the hash of the script, which the policy names, stays.
    return visible(page)


def _of(suffix: str, files: Sequence[str]) -> list[str]:
    return [file for file in files if file.endswith(f".{suffix}")]


def script_json(data: object) -> Markup:
    """JSON that may stand inside a script element: it can neither close the element nor open a comment there.

    Line and paragraph separators are legal in JSON and were line ends in older JavaScript, so they are escaped too.
    """
    return Markup(msgspec.json.encode(data).decode().translate(_IN_SCRIPT))


def content_policy(script: str, *, served: bool = False) -> Markup:
    """The page's Content-Security-Policy: nothing is loaded, and no script runs but ``script``, known by its hash.

    Inline handlers and javascript: addresses are refused by it, whatever text they came from. A page that is ``served``
    may send its forms to its own server, and ask that for what is new.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    own = "'self'" if served else "'none'"
    return Markup(
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        f"form-action {own}" + (f"; connect-src {own}" if served else "")
    )


@cache
def environment() -> Environment:
    """Templates, each compiled once, in which everything is escaped and a name that is not given is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("pgclinic.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["linked"] = linked
    made.filters["sql"] = highlighted
    made.filters["unbroken"] = unbroken
    made.filters["one_line"] = one_line
    made.filters["capitalised"] = capitalised
    return made


def assets(names: Sequence[str]) -> Markup:
    """Our own and vendored files, put into the page as they are."""
    folder = resources.files("pgclinic.report")
    return Markup("\n".join((folder / name).read_text(encoding="utf-8") for name in names))

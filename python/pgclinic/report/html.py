"""What every page has: templates that escape all texts, its own styles and scripts, and a policy against others."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from types import MappingProxyType

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pgclinic import __version__
from pgclinic.report.parts.links import linked

_CHART_STYLES = ("uPlot.min.css",)
_CHART_SCRIPTS = ("uPlot.iife.min.js", "chart_style.js", "observed.js", "report.js")


def html_page(
    template: str,
    *,
    kind: str,
    when: str,
    source: str,
    pgclinic: str = __version__,
    styles: Sequence[str] = (),
    served: Sequence[str] | None = None,
    drawn: Mapping[str, Markup] = MappingProxyType({}),
    **views: object,
) -> str:
    """A page that needs no other file: its template, filled with ``views``, in the frame that all pages have.

    ``kind`` and ``when`` stand at its head, ``source`` at its foot is what it was made from. ``drawn`` is JSON for
    charts by the id of its element; a page without it has no script but that of all pages. ``served`` are
    the scripts of a page that asks its server for what is new.
    """
    css = assets((*(_CHART_STYLES if drawn else ()), "report.css", *styles))
    own = served if served is not None else _CHART_SCRIPTS if drawn else ()
    script = assets((*own, "page.js"))
    return (
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
            policy=content_policy(script, served=served is not None),
            drawn=drawn,
        )
    )


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
    made = Environment(
        loader=PackageLoader("pgclinic.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["linked"] = linked
    return made


def assets(names: Sequence[str]) -> Markup:
    """Our own and vendored files, put into the page as they are."""
    folder = resources.files("pgclinic.report") / "assets"
    return Markup("\n".join((folder / name).read_text(encoding="utf-8") for name in names))

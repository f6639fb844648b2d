"""What every page has: templates that escape all texts, its own styles and scripts, and a policy against others."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pgclinic.report.links import linked

#: The script of a page that draws nothing.
PAGE_SCRIPT = ("page.js",)


def content_policy(script: str) -> Markup:
    """The page's Content-Security-Policy: nothing is loaded, and no script runs but ``script``, known by its hash.

    Inline handlers and javascript: addresses are refused by it, whatever text they came from.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Markup(
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def environment() -> Environment:
    """Templates in which everything is escaped and a name that is not given is an error."""
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

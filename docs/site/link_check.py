"""Links of the built pages: each leads to a file of the site and to a place within it. Needs no network."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """What a page links to, and the places that others can link to."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name in ("id", "name"):
                self.places.add(value)
            elif name in ("href", "src"):
                self.links.append(value)


@cache
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken_links(site: Path) -> list[str]:
    """A line for each link of a page that leads nowhere within ``site``."""
    found = []
    for path in sorted(site.rglob("*.html")):
        # Its links start at the root of a host that nobody knows.
        if path.name == "404.html":
            continue
        name = path.relative_to(site)
        found += [f"{name}: {link}" for link in dict.fromkeys(_read(path).links) if not _leads(link, path, site)]
    return found


def _leads(link: str, page: Path, site: Path) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if target.is_dir():
        target /= "index.html"
    if not target.is_file() or not target.is_relative_to(site.resolve()):
        return False
    if not parts.fragment or target.suffix != ".html":
        return True
    # A report's own places are made by its scripts.
    return unquote(parts.fragment) in _read(target).places or parts.fragment.startswith("__")

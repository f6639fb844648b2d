"""Links of the repository's documents, as the pages of the site need them."""

from __future__ import annotations

import os.path
import posixpath
import re
from collections.abc import Mapping

_LINK = re.compile(
    r"(?P<image>!?)\[(?P<words>[^\]]*)\]\((?!https?://|#|mailto:)(?P<target>[^)#\s]+)(?P<anchor>#[^)]*)?\)"
)
_SOURCE = re.compile(r'(?<=<img src=")(?!https?://|data:)([^"]+)')
_FENCE = re.compile(r"^(?P<fence>`{3,}).*?^(?P=fence)\s*$", re.MULTILINE | re.DOTALL)


def with_site_links(text: str, document: str, page: str, pages: Mapping[str, str]) -> str:
    """``text`` of the repository's file ``document``, as the site's ``page`` has it.

    ``pages`` are places of the site by paths of the repository; a folder's ends with a slash. A link to a file that the
    site does not have becomes its words. Code blocks stay as they are.
    """

    def link(found: re.Match[str]) -> str:
        place = _place(found["target"], document, pages)
        if place is None:
            return found["words"]
        return f"{found['image']}[{found['words']}]({_relative(place, page)}{found['anchor'] or ''})"

    def source(found: re.Match[str]) -> str:
        place = _place(found[1], document, pages)
        return _relative(place, page) if place is not None else found[1]

    parts, end = [], 0
    for code in _FENCE.finditer(text):
        parts += [_SOURCE.sub(source, _LINK.sub(link, text[end : code.start()])), code[0]]
        end = code.end()
    return "".join([*parts, _SOURCE.sub(source, _LINK.sub(link, text[end:]))])


def _place(target: str, document: str, pages: Mapping[str, str]) -> str | None:
    path = posixpath.normpath(posixpath.join(posixpath.dirname(document), target))
    return pages.get(path) or pages.get(f"{path}/")


def _relative(place: str, page: str) -> str:
    return os.path.relpath(place, posixpath.dirname(page) or ".").replace(os.sep, "/")

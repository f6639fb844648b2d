"""A section of a report, and what its page is rendered from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

R_contra = TypeVar("R_contra", contravariant=True)


@runtime_checkable
class Drawing(Protocol):
    """A view with data for the script of its section, by the id of the element that carries it."""

    @property
    def drawn(self) -> Mapping[str, object]: ...


@dataclass(frozen=True)
class Section(Generic[R_contra]):
    """``name`` is its folder below ``sections/``; ``view`` is None of a run that has nothing to show in it.

    The folder has ``page.html.j2``, which places ``view``, and where they are needed ``style.css`` and ``script.js``.
    """

    name: str
    view: Callable[[R_contra], object | None]

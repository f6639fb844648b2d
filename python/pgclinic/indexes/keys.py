"""Keys of indexes as groups of columns, within which the order does not matter: one index for several statements."""

from __future__ import annotations

from collections.abc import Iterable

#: ``(("d", "w"), ("o",))``: rows with values of d and w, in the order of o.
Groups = tuple[tuple[str, ...], ...]


def combined(one: Groups, other: Groups) -> Groups | None:
    """Keys that serve what each of both serves: its columns in front, in an order that its groups allow; or None."""
    left, right, found = list(one), list(other), list[tuple[str, ...]]()
    while left and right:
        ours, theirs = left.pop(0), right.pop(0)
        both = tuple(name for name in ours if name in theirs)
        if len(both) not in (len(ours), len(theirs)) or not both:
            return None
        found.append(both)
        if len(ours) > len(both):
            left.insert(0, _without(ours, both))
        if len(theirs) > len(both):
            right.insert(0, _without(theirs, both))
    known = {name for group in found for name in group}
    rest = [_without(group, known) for group in (*left, *right)]
    return (*found, *(group for group in rest if group))


def columns_of(groups: Groups) -> tuple[str, ...]:
    return tuple(name for group in groups for name in group)


def _without(group: tuple[str, ...], known: Iterable[str]) -> tuple[str, ...]:
    taken = set(known)
    return tuple(name for name in group if name not in taken)

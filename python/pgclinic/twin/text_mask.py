"""Texts replaced by others that sort, begin and look alike: a trie over all known values, or random codes.

A trie keeps order (byte for byte), common prefixes, the class of each character, length and punctuation. Short values
that fill their space, as country codes do, come out as themselves or as one another: they become random codes.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from random import Random

_DIGITS = "0123456789"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_HEX = "0123456789abcdef"
_BLOCK = 128
#: Values of at most this length are codes, not texts.
CODE_LENGTH_MAX = 3
_ATTEMPTS = 6
_CODE_ATTEMPTS = 200


def mask_texts(values: Collection[str], kept: Collection[str], rng: Random) -> tuple[dict[str, str], bool]:
    """A text for each of ``values``, and whether these are codes without order. Those in ``kept`` stay as they are.

    No value becomes itself or another of ``values``, as far as there are enough codes of its form.
    """
    free = sorted(set(values) - set(kept))
    fixed = sorted(set(kept))
    stay = {value: value for value in values if value in set(kept)}
    if not free:
        return stay, False
    known = set(values)
    if max(map(len, free)) > CODE_LENGTH_MAX:
        for _ in range(_ATTEMPTS):
            masked = trie_mask(free, fixed, rng)
            if known.isdisjoint(masked.values()):
                return stay | masked, False
    return stay | code_mask(free, known | set(fixed), rng), True


def mask_hexadecimal(values: Collection[str], rng: Random) -> dict[str, str]:
    """The same for uuid, bytea and addresses of hardware: digits are hexadecimal, all else is punctuation."""
    known = sorted(set(values))
    masked: dict[str, str] = {}
    for _ in range(_ATTEMPTS):
        masked = trie_mask(known, (), rng, hexadecimal=True)
        if set(known).isdisjoint(masked.values()):
            break
    return masked


def trie_mask(values: Sequence[str], fixed: Sequence[str], rng: Random, *, hexadecimal: bool = False) -> dict[str, str]:
    """Each of the sorted ``values`` with its masked form; along the paths of ``fixed`` no character changes."""
    masked: dict[str, str] = {}
    # Values lo to hi share their first characters, now ``prefix``; ``paths`` are fixed and share them too.
    waiting: list[tuple[int, int, int, str, Sequence[str]]] = [(0, len(values), 0, "", fixed)]
    while waiting:
        low, high, depth, prefix, paths = waiting.pop()
        if high - low == 1 and not paths:
            rest = values[low][depth:]
            masked[values[low]] = prefix + "".join(_another(one, rng, hexadecimal) for one in rest)
            continue
        if len(values[low]) == depth:
            masked[values[low]] = prefix
            low += 1
        children = list(_children(values, low, high, depth))
        fixed_here = {path[depth] for path in paths if len(path) > depth}
        becomes = map_characters({one for one, _, _ in children}, fixed_here, rng, hexadecimal=hexadecimal)
        for one, start, end in children:
            below = [path for path in paths if len(path) > depth and path[depth] == one]
            waiting.append((start, end, depth + 1, prefix + becomes[one], below))
    return masked


def _children(values: Sequence[str], low: int, high: int, depth: int) -> Iterator[tuple[str, int, int]]:
    for one, places in groupby(range(low, high), key=lambda place: values[place][depth]):
        found = list(places)
        yield one, found[0], found[-1] + 1


def map_characters(
    characters: Collection[str], fixed: Collection[str], rng: Random, *, hexadecimal: bool = False
) -> dict[str, str]:
    """Each character with another of its class, in the same order within the class; ``fixed`` become themselves.

    A letter and its capital become a letter and its capital, so that order without case is kept as well.
    """
    by_class: dict[str, set[str]] = {}
    for one in set(characters) | set(fixed):
        by_class.setdefault(_alphabet(one, hexadecimal), set()).add(_folded(one))
    stay = {_folded(one) for one in fixed}
    becomes: dict[str, str] = {}
    for alphabet, found in by_class.items():
        if alphabet:
            becomes |= _increasing(sorted(found), alphabet, stay & found, rng)
    return {character: _as_case(becomes.get(_folded(character), character), character) for character in characters}


def _increasing(found: Sequence[str], alphabet: str, fixed: Collection[str], rng: Random) -> dict[str, str]:
    """A random increasing map of ``found`` into ``alphabet``, by parts between the fixed ones."""
    becomes = {one: one for one in fixed}
    ends = [-1, *(alphabet.index(one) for one in sorted(fixed)), len(alphabet)]
    places = [alphabet.index(one) for one in found]
    for low, high in pairwise(ends):
        here = places[bisect_left(places, low + 1) : bisect_left(places, high)]
        if len(here) == 1 and high - low > 2:
            chosen = [rng.choice([place for place in range(low + 1, high) if place != here[0]])]
        else:
            chosen = sorted(rng.sample(range(low + 1, high), len(here)))
        becomes |= {alphabet[place]: alphabet[new] for place, new in zip(here, chosen, strict=True)}
    return becomes


def _another(one: str, rng: Random, hexadecimal: bool = False) -> str:
    """Another character of the same class."""
    alphabet = _alphabet(one, hexadecimal)
    if len(alphabet) < 2:
        return one
    while True:
        new = alphabet[int(rng.random() * len(alphabet))]
        if new != _folded(one):
            return _as_case(new, one)


def code_mask(values: Iterable[str], taken: Collection[str], rng: Random) -> dict[str, str]:
    """A random code of the same form for each value, none of ``taken`` and none twice.

    Where the form has too few codes, as single digits have, letters stand for digits; else a value stays.
    """
    used = set(taken)
    masked: dict[str, str] = {}
    for value in values:
        found = next((code for code in _codes(value, rng) if code not in used), value)
        used.add(found)
        masked[value] = found
    return masked


def _codes(value: str, rng: Random) -> Iterator[str]:
    for _ in range(_CODE_ATTEMPTS):
        yield "".join(_any_of_class(one, rng) for one in value)
    for _ in range(_CODE_ATTEMPTS):
        yield "".join(rng.choice(_LETTERS).upper() if one.isalnum() else one for one in value)


def _any_of_class(one: str, rng: Random) -> str:
    alphabet = _alphabet(one, False)
    return _as_case(rng.choice(alphabet), one) if alphabet else one


@lru_cache(maxsize=4096)
def _alphabet(one: str, hexadecimal: bool) -> str:
    """The characters of the same class in order, small letters for capitals; empty for what stays as it is."""
    if hexadecimal:
        return _HEX if one.lower() in _HEX else ""
    if one in _DIGITS:
        return _DIGITS
    if one.isascii():
        return _LETTERS if one.isalpha() else ""
    if not unicodedata.category(one).startswith(("L", "Nd")):
        return ""
    start = ord(one) // _BLOCK * _BLOCK
    category = unicodedata.category(one)
    return "".join(chr(code) for code in range(start, start + _BLOCK) if unicodedata.category(chr(code)) == category)


def _folded(one: str) -> str:
    return one.lower() if one.isascii() else one


def _as_case(new: str, like: str) -> str:
    return new.upper() if like.isascii() and like.isupper() else new

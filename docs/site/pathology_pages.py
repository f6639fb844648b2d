"""A page for each pathology, and the page that finds them by symptom, wait event and setting."""

from __future__ import annotations

import ast
import html
import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from pgclinic.checkup import pathologies
from pgclinic.checkup.pathology import Pathology, ProofOn
from pgclinic.model.finding import Area, Role

HERE = Path(__file__).parent
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_EVENT = re.compile(r"[A-Za-z]+:[A-Za-z]+")
#: Names of heavyweight locks are common words: they are meant only where locks are.
_LOCKS = "Lock"


@dataclass(frozen=True)
class Looked:
    """What a pathology looks at, as its module has it."""

    settings: tuple[str, ...]
    wait_events: tuple[str, ...]


@cache
def wait_events() -> Mapping[str, str]:
    """TYPE:NAME of PostgreSQL 18 (pg_wait_events), by itself and by NAME, in small letters: versions differ in them."""
    lines = (HERE / "wait_events.txt").read_text(encoding="utf-8").split()
    return {key: line for line in lines for key in (line.lower(), line.partition(":")[2].lower())}


@cache
def setting_names() -> frozenset[str]:
    """The settings of PostgreSQL 18."""
    return frozenset((HERE / "setting_names.txt").read_text(encoding="utf-8").split())


def looked_at(one: Pathology) -> Looked:
    """Settings and wait events that its module names: in its code, its treatments and its texts."""
    module = _module_of(one)
    constants = list(_constants(module))
    words = {word for text in constants for word in _WORD.findall(text)}
    settings = {word for word in words if word in setting_names() and ("_" in word or word in constants)}
    events = set()
    for text in constants:
        named = wait_events().get(text.lower()) if text[:1].isupper() or one.area is Area.LOCKS else None
        if named is not None and (not named.startswith(f"{_LOCKS}:") or one.area is Area.LOCKS):
            events.add(named)
        written = (event.lower() for event in _EVENT.findall(text))
        events |= {wait_events()[name] for name in written if name in wait_events()}
    return Looked(tuple(sorted(settings)), tuple(sorted(events)))


def _module_of(one: Pathology) -> ModuleType:
    return importlib.import_module(f"{pathologies.__name__}.{one.area.name.lower()}.{one.name.replace('-', '_')}")


def _constants(module: ModuleType) -> Iterator[str]:
    """The strings of its source but docstrings, and those of the constants that it imports."""
    tree = ast.parse(inspect.getsource(module))
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.value
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                yield from _texts(getattr(module, name.asname or name.name, None))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | frozenset):
        yield from (one for one in value if isinstance(one, str))


def search_page(known: Mapping[str, Pathology]) -> str:
    """All pathologies as one list that a script filters; without scripts it is the whole list."""
    entries = "\n".join(_entry(one, known) for one in known.values())
    areas = [area.value for area in Area if any(one.area is area for one in known.values())]
    options = "".join(f'<option value="{area}">{area}</option>' for area in areas)
    return f"""# Pathologies

What `pgclinic checkup` looks for: {len(known)} pathologies. Type what you see: a symptom (*disk full*, *temporary
files*), a wait event as `pg_stat_activity` names it (`LWLock:WALWrite`, `DataFileRead`), or a setting (`work_mem`). An
entry is shown if it has all words.

<form class="pathology-search" role="search">
<label>Search <input type="search" name="q" autocomplete="off" placeholder="symptom, wait event or setting"></label>
<label>Area <select name="area"><option value="">all</option>{options}</select></label>
<output></output>
</form>

<div class="pathologies">
{entries}
</div>
"""


def _entry(one: Pathology, known: Mapping[str, Pathology]) -> str:
    looked = looked_at(one)
    explained = [known[name] for name in (*one.explains, *one.explains_named) if name in known]
    symptoms = [html.escape(other.title) for other in explained if other.role is Role.SYMPTOM]
    words = " ".join((one.name, one.title, one.mechanism, *(f"{other.name} {other.title}" for other in explained)))
    rows = (
        ("seen as", "; ".join(symptoms)),
        ("waits", _codes(looked.wait_events)),
        ("settings", _codes(looked.settings)),
    )
    lines = "".join(f"<br><small>{label}: {text}</small>" for label, text in rows if text)
    return (
        f'<p data-area="{one.area.value}" data-words="{html.escape(words, quote=True)}">'
        f'<a href="{one.name}.html"><strong>{one.name}</strong></a> {html.escape(one.title)}{lines}</p>'
    )


def _codes(names: tuple[str, ...]) -> str:
    return " ".join(f"<code>{html.escape(name)}</code>" for name in names)


def pathology_page(one: Pathology, known: Mapping[str, Pathology]) -> str:
    """What is known of one pathology."""
    looked = looked_at(one)
    causes = [other.name for other in known.values() if one.name in (*other.explains, *other.explains_named)]
    rows = [
        ("Area", one.area.value),
        ("Role", one.role.value),
        ("Versions", f"{one.since} to {one.until or NEWEST}"),
        ("Needs", ", ".join(NEEDS.get(part, f"`{part}` of the snapshot") for part in one.needs) or "nothing more"),
        ("Proof", _proof(one)),
        ("Wait events", _found(looked.wait_events)),
        ("Settings", _found(looked.settings)),
        ("Explains", ", ".join(_named(name, known) for name in (*one.explains, *one.explains_named)) or "nothing"),
        ("Explained by", ", ".join(_named(name, known) for name in causes) or "nothing"),
    ]
    lines = [f"# {one.name}", "", f"{one.title[:1].upper()}{one.title[1:]}.", "", "| | |", "|---|---|"]
    lines += [f"| {label} | {content} |" for label, content in rows]
    lines += ["", "## Mechanism", "", _escaped(one.mechanism), "", "## Threshold", "", _escaped(one.threshold)]
    if one.references:
        lines += ["", "## References", "", *(f"- <{address}>" for address in one.references)]
    return "\n".join(lines) + "\n"


#: The last major version that a checkup knows.
NEWEST = 18
#: Parts of a snapshot, and what stands beside it, as people call them.
NEEDS = {"host": "the machine of the server", "log": "the log of the server", "observation": "an observation"}


def _found(names: tuple[str, ...]) -> str:
    return ", ".join(f"[`{name}`](index.md?q={name})" for name in names) or "none"


def _proof(one: Pathology) -> str:
    if one.proof is ProofOn.TWIN:
        return "on a twin of the database"
    if one.proof is ProofOn.STUDY and one.study is not None:
        return f"by the study [{one.study}](../studies/{one.study}.md)"
    return f"none: {_escaped(one.no_proof)}" if one.no_proof else "none"


def _named(name: str, known: Mapping[str, Pathology]) -> str:
    return f"[{name}]({name}.md)" if name in known else f"`{name}`"


def _escaped(text: str) -> str:
    """Text in which a table and its cells stay what they are."""
    return text.replace("|", "\\|").replace("<", "\\<").replace("_", "\\_").replace("*", "\\*")

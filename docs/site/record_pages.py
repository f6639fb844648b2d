"""The JSON that pgclinic writes and reads: a page for each schema, with the fields of its records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

#: What each schema is for: the command whose ``--json`` prints it, or the file that has it.
PRINTED = {
    "checkup-output": "checkup",
    "compare-output": "compare",
    "study-output": "study run, study judge",
    "bench-result": "bench",
    "advice-output": "advise",
    "assay-output": "assay",
    "search-output": "search",
    "bisect-output": "bisect",
    "upgrade-output": "upgrade",
    "grow-output": "grow",
    "run-output": "runs list, runs show",
    "history-output": "runs history",
    "side-by-side-output": "report RUN RUN",
}
STORED = {
    "run": "run.json",
    "plan": "plan.json",
    "event": "a line of events.jsonl",
    "trial-record": "trials/N/record.json",
    "verdict": "verdict.json",
    "comparison": "comparison.json",
    "checkup": "checkup.json",
    "snapshot": "snapshot.json",
    "advice": "advice.json",
    "assay": "assay.json",
    "search": "search.json",
    "search-levels": "levels.json",
    "bisect": "bisect.json",
    "upgrade": "upgrade.json",
    "grow": "grow.json",
}
Schema = Mapping[str, Any]


def records_page(schemas: Mapping[str, Schema]) -> str:
    """All schemas by what they are for."""
    lines = [
        "# The JSON of pgclinic",
        "",
        "Every command accepts `--json`, every run folder is JSON. Each page below lists the fields of one record, "
        "from its JSON Schema (draft 2020-12), which is linked there. Names end with their unit: `latency_us_p99`.",
    ]
    for title, named, head in (
        ("Printed by `--json`", PRINTED, "command"),
        ("Kept in run folders", STORED, "file"),
    ):
        rows = [f"| [{name}]({name}.md) | `{named[name]}` |" for name in named if name in schemas]
        lines += ["", f"## {title}", "", f"| record | {head} |", "|---|---|", *rows]
    others = [name for name in schemas if name not in PRINTED and name not in STORED]
    lines += ["", "## Others", "", *(f"- [{name}]({name}.md)" for name in others)]
    return "\n".join(lines) + "\n"


def record_page(name: str, schema: Schema) -> str:
    """The fields of ``schema`` and of all records within it."""
    definitions: Mapping[str, Schema] = schema.get("$defs", {})
    use = f"Printed by `pgclinic {PRINTED[name]} --json`. " if name in PRINTED else ""
    use += f"Kept as `{STORED[name]}` in the run folder. " if name in STORED else ""
    lines = [f"# {name}", "", f"{use}[The schema]({name}.schema.json)."]
    top = [one for one in _referred(schema) if one in definitions]
    for record in [*dict.fromkeys(top), *sorted(set(definitions) - set(top))]:
        lines += ["", f"## {record}", "", *_definition(definitions[record])]
    return "\n".join(lines) + "\n"


def _referred(schema: Schema) -> Iterator[str]:
    """Records that the schema itself is: one, or any of several."""
    if "$ref" in schema:
        yield schema["$ref"].rpartition("/")[2]
    for one in schema.get("anyOf", ()):
        yield from _referred(one)


def _definition(schema: Schema) -> Iterator[str]:
    if text := schema.get("description"):
        yield from (_prose(text), "")
    fields: Mapping[str, Schema] = schema.get("properties", {})
    if not fields:
        yield f"{_type(schema)}."
        return
    required = set(schema.get("required", ()))
    yield "| field | type | default |"
    yield "|---|---|---|"
    for name, one in fields.items():
        default = "required" if name in required else f"`{_cell(json.dumps(one.get('default')))}`"
        yield f"| `{name}` | {_type(one)} | {default} |"


def _type(schema: Schema) -> str:  # noqa: PLR0911  one case each
    """In words, with links to records of the same page."""
    if "$ref" in schema:
        record = schema["$ref"].rpartition("/")[2]
        return f"[{record}](#{record.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(one) for one in schema["anyOf"]))
    if "enum" in schema:
        return "one of " + ", ".join(f"`{_cell(str(one))}`" for one in schema["enum"])
    if "const" in schema:
        return f"`{_cell(json.dumps(schema['const']))}`"
    if "prefixItems" in schema:
        return "array of " + ", ".join(_type(one) for one in schema["prefixItems"])
    kind = schema.get("type", "any value")
    if kind == "array":
        return f"array of {_type(schema.get('items') or {})}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _prose(text: str) -> str:
    """A docstring of one paragraph or more, as Markdown."""
    return text.replace("``", "`").replace("<", "&lt;").replace("|", "\\|")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

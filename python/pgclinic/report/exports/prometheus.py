"""A checkup in Prometheus' text format, for the textfile collector of node_exporter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Cost, CostKind, Finding, Health, Severity
from pgclinic.report.parts.visible import visible

Labels = Mapping[str, str]
#: Suffix of the metric that has a cost, by its kind; the unit stands at its end, as Prometheus' conventions want it.
_COSTS = {
    CostKind.TIME_SHARE: "time_share_ratio",
    CostKind.WAIT_S_PER_S: "wait_ratio",
    CostKind.SPACE_BYTES: "space_bytes",
    CostKind.MEMORY_BYTES: "memory_bytes",
    CostKind.WAL_BYTES_PER_S: "wal_bytes_per_second",
    CostKind.IO_BYTES_PER_S: "io_bytes_per_second",
    CostKind.DAYS_LEFT: "left_seconds",
    CostKind.SECONDS_LEFT: "halves_in_seconds",
    CostKind.BUFFERS_PER_LOOKUP: "lookup_buffers",
    CostKind.FAILURES_PER_S: "failures_per_second",
    CostKind.COMMITS_LOST_S: "commits_at_risk_seconds",
    CostKind.CPU_SHARE: "cpu_ratio",
}
_DAY_S = 86_400.0


def prometheus(checkup: Checkup) -> str:
    """One family of metrics after the other; ends with a line break, as the format wants it."""
    return visible("".join(f"{line}\n" for line in _lines(checkup)))


def _lines(checkup: Checkup) -> Iterator[str]:
    of_server = {"server": checkup.server, "database": checkup.database}
    single: tuple[tuple[str, str, float | None], ...] = (
        ("health", "Verdict: 0 ok, 1 watch, 2 sick, 3 critical.", float(tuple(Health).index(checkup.health))),
        ("taken_timestamp_seconds", "When the server was read.", checkup.taken_epoch_s),
        ("duration_seconds", "How long reading the server took.", checkup.took_s),
        ("pathologies_checked", "Pathologies that were looked for.", float(checkup.pathologies)),
        ("pathologies_unchecked", "Pathologies that could not be looked for.", float(len(checkup.unchecked))),
        ("active_sessions", "Sessions that worked, on average while the server was observed.", checkup.active_sessions),
        ("explained_ratio", "Share of their time that the findings account for.", checkup.explained_share),
    )
    for name, about, value in single:
        if value is not None:
            yield from _family(name, about, [(of_server, value)])
    yield from _family(
        "findings",
        "Findings by severity.",
        [
            (of_server | {"severity": one.value}, float(sum(found.severity is one for found in checkup.findings)))
            for one in Severity
        ],
    )
    yield from _families_of_findings(checkup.findings, of_server)


def _families_of_findings(findings: Sequence[Finding], of_server: dict[str, str]) -> Iterator[str]:
    if findings:
        yield from _family(
            "finding",
            "A finding: 1 notice, 2 warning, 3 critical.",
            [
                (of_server | _labels(finding) | _about(finding), float(finding.severity.rank + 1))
                for finding in findings
            ],
        )
    shares = [
        (of_server | _labels(finding), finding.time_share) for finding in findings if finding.time_share is not None
    ]
    if shares:
        yield from _family(
            "finding_time_ratio",
            "Share of the time of all statements, or of active sessions, that it accounts for.",
            shares,
        )
    for kind, suffix in _COSTS.items():
        costs = [
            (of_server | _labels(finding), _value(finding.cost))
            for finding in findings
            if finding.cost is not None and finding.cost.kind is kind
        ]
        if costs:
            yield from _family(f"finding_{suffix}", f"Cost of a finding: {kind.value}.", costs)


def _value(cost: Cost) -> float:
    return cost.value * _DAY_S if cost.kind is CostKind.DAYS_LEFT else cost.value


def _labels(finding: Finding) -> dict[str, str]:
    return {"pathology": finding.pathology, "subject": finding.subject}


def _about(finding: Finding) -> dict[str, str]:
    explained = "true" if finding.explained_by else "false"
    return {"severity": finding.severity.value, "area": finding.area.value, "explained": explained}


def _family(name: str, about: str, values: Sequence[tuple[Labels, float]]) -> Iterator[str]:
    full = f"pgclinic_checkup_{name}"
    yield f"# HELP {full} {about}"
    yield f"# TYPE {full} gauge"
    for labels, value in values:
        inner = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        yield f"{full}{{{inner}}} {value:.10g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

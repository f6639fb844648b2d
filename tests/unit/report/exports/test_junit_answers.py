"""JUnit of checkups, studies and upgrades: a test fails where the exit code does."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from fixtures.comparison import comparison
from fixtures.planned import judge
from fixtures.records import blocks_of, global_counters
from fixtures.upgrades import NOTHING, UPGRADE
from pgclinic.cli.checkup_run import exit_code
from pgclinic.cli.study_end import worst_exit_code
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Area, Confidence, Finding, Health, Role, Severity
from pgclinic.report.exports.junit_answers import checkup_junit_xml, studies_junit_xml, upgrade_junit_xml

STUDY = global_counters()


def cases(text: str) -> list[tuple[str, list[str]]]:
    (suite,) = ElementTree.fromstring(text)
    found = [(case.attrib["name"], [child.tag for child in case]) for case in suite.findall("testcase")]
    assert int(suite.attrib["tests"]) == len(found)
    for kind, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert int(suite.attrib[attribute]) == sum(kinds.count(kind) for _, kinds in found)
    return found


def test_a_finding_fails_where_it_is_severe_enough(checkup: Checkup) -> None:
    severe = [finding.severity.rank >= Severity.WARNING.rank for finding in checkup.findings]
    assert any(severe)
    assert not all(severe)
    seen = [kinds == ["failure"] for _, kinds in cases(checkup_junit_xml(checkup, Severity.WARNING))]
    assert seen == severe
    assert exit_code(checkup, Severity.WARNING) == 5
    assert all(kinds == [] for _, kinds in cases(checkup_junit_xml(checkup, None)))
    assert cases(checkup_junit_xml(replace(checkup, findings=()), Severity.NOTICE)) == [("no finding", [])]


@pytest.mark.parametrize(
    ("ratios", "kind"),
    [
        ((0.60, 0.61, 0.59, 0.605, 0.595), []),
        ((1.0, 1.001, 0.999, 1.002, 0.998), ["failure"]),
        ((0.5, 1.6, 0.9, 1.3, 0.7), ["skipped"]),
    ],
)
def test_a_claim_fails_where_it_is_refuted(ratios: tuple[float, ...], kind: list[str]) -> None:
    verdict = judge(STUDY, blocks_of(STUDY, ratios))
    assert [kinds for _, kinds in cases(studies_junit_xml([(STUDY, verdict)]))] == [kind]
    assert worst_exit_code([verdict]) == {"failure": 3, "skipped": 4}.get("".join(kind), 0)


def test_each_study_is_a_suite() -> None:
    verdict = judge(STUDY, blocks_of(STUDY, (0.60, 0.61, 0.59, 0.605, 0.595)))
    root = ElementTree.fromstring(studies_junit_xml([(STUDY, verdict), (STUDY, verdict)]))
    assert [suite.attrib["name"] for suite in root] == [f"pgclinic study: {STUDY.name}"] * 2


def test_an_upgrade_has_the_thresholds_of_its_blocks() -> None:
    slower = replace(UPGRADE, comparison=comparison((0.72, 0.75, 0.71, 0.74, 0.73), "b<0.95a"))
    assert cases(upgrade_junit_xml(slower, strict=False)) == [("not b<0.95a", ["failure"])]
    assert cases(upgrade_junit_xml(replace(NOTHING, comparison=None), strict=False)) == [("blocks", ["skipped"])]
    unjudged = replace(NOTHING, comparison=None, unjudged=("b<0.95a",))
    assert cases(upgrade_junit_xml(unjudged, strict=False)) == [("blocks", ["skipped"]), ("not b<0.95a", ["error"])]


@pytest.fixture
def checkup() -> Checkup:
    """Of a critical finding, a warning and a notice."""
    return Checkup(
        pgclinic="0.1.0",
        observed_s=0.0,
        database="shop",
        server="db.example.org:5432",
        version="18.6",
        taken_epoch_s=1_795_258_400.0,
        took_s=1.0,
        statements=40,
        health=Health.CRITICAL,
        pathologies=151,
        findings=tuple(found(severity) for severity in Severity),
    )


def found(severity: Severity) -> Finding:
    return Finding(
        key=f"bloat:{severity.value}",
        pathology="table-bloat",
        area=Area.VACUUM,
        role=Role.CAUSE,
        title="half of the table is empty",
        subject="public.orders",
        severity=severity,
        confidence=Confidence.CERTAIN,
        mechanism="Scans read pages that hold nothing.",
        evidence=(),
    )

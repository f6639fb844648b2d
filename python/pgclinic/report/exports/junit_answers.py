"""JUnit XML of the answers of a checkup, of studies and of an upgrade: a test fails where the exit code does."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Finding, Severity
from pgclinic.model.study import Study
from pgclinic.model.upgrade import Upgrade
from pgclinic.model.verdict import ClaimVerdict, Verdict
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.exports.junit import suites_xml, threshold_cases
from pgclinic.report.words.findings import costs, headline
from pgclinic.report.words.reasons import sentences
from pgclinic.report.words.upgrade import unjudged_words
from pgclinic.report.words.verdicts import answer, claim_of, outcome

_REFUTED = frozenset(
    {VerdictWord.CONTRADICTED, VerdictWord.NOT_REPLICATED, VerdictWord.NOT_CONFIRMED, VerdictWord.NO_EFFECT}
)


def checkup_junit_xml(checkup: Checkup, fail_on: Severity | None) -> str:
    """A case for each finding, which fails where it is as severe as ``fail_on``; one that passes without findings."""
    cases = [_finding_case(finding, fail_on) for finding in checkup.findings]
    cases = cases or [_case("checkup", "no finding")]
    return suites_xml([(f"pgclinic checkup: {checkup.database}", cases)])


def _finding_case(finding: Finding, fail_on: Severity | None) -> ElementTree.Element:
    words = " ".join(headline(finding).split())
    case = _case("checkup", f"{finding.pathology}: {words}")
    if fail_on is not None and finding.severity.rank >= fail_on.rank:
        inner = ElementTree.SubElement(case, "failure", message=f"{finding.severity.value}: {words}")
        titles = [f"treat: {' '.join(treatment.title.split())}" for treatment in finding.treatments]
        inner.text = "\n".join([finding.mechanism, *costs(finding), *titles])
    return case


def studies_junit_xml(judged: Sequence[tuple[Study, Verdict]]) -> str:
    """A suite for each study with a case for each claim: refuted ones fail, open ones are skipped, invalid ones are
    errors."""
    return suites_xml(
        [
            (f"pgclinic study: {study.name}", [_claim_case(study, seen) for seen in verdict.claims])
            for study, verdict in judged
        ]
    )


def _claim_case(study: Study, seen: ClaimVerdict) -> ElementTree.Element:
    claim = claim_of(study, seen)
    case = _case(f"study.{study.name}", seen.claim)
    said = f"{seen.word.value}: {answer(claim, seen)}; {outcome(claim, seen)}"
    if seen.word in _REFUTED:
        tag = "failure"
    elif seen.word is VerdictWord.INVALID:
        tag = "error"
    elif seen.word is VerdictWord.INCONCLUSIVE:
        tag = "skipped"
    else:
        return case
    inner = ElementTree.SubElement(case, tag, message=said)
    if tag != "skipped":
        inner.text = "\n".join(sentences(seen.reasons))
    return case


def upgrade_junit_xml(found: Upgrade, *, strict: bool) -> str:
    """The cases of its blocks. Where no blocks were run, one is skipped, and every threshold is an error."""
    if found.comparison is not None:
        return suites_xml([("pgclinic upgrade", threshold_cases(found.comparison, strict))])
    case = _case("upgrade", "blocks")
    ElementTree.SubElement(case, "skipped", message="no blocks were run")
    unjudged = [_case("upgrade", f"not {text}") for text in found.unjudged]
    for one, words in zip(unjudged, unjudged_words(found), strict=True):
        ElementTree.SubElement(one, "error", message=words)
    return suites_xml([("pgclinic upgrade", [case, *unjudged])])


def _case(kind: str, name: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", classname=f"pgclinic.{kind}", name=name)

"""A comparison as JUnit XML: one test case a threshold, or the comparison itself where there is none."""

from __future__ import annotations

from xml.etree import ElementTree

from pgclinic.model.compare import Comparison
from pgclinic.model.threshold import ThresholdSeen, ThresholdState
from pgclinic.model.verdict_word import CompareWord
from pgclinic.report.compare_text import sentence, threshold_words
from pgclinic.report.words.reasons import sentences


def junit_xml(comparison: Comparison, *, elapsed_s: float, started: str, strict: bool) -> str:
    """``started`` is ISO 8601; with ``strict`` what is undecided has failed too, as the exit code says."""
    cases = [_threshold_case(comparison, seen, strict) for seen in comparison.thresholds]
    cases = cases or [_whole_case(comparison, strict)]
    kinds = [child.tag for case in cases for child in case]
    suite = ElementTree.Element(
        "testsuite",
        name=f"pgclinic compare: {comparison.name}",
        tests=str(len(cases)),
        failures=str(kinds.count("failure")),
        errors=str(kinds.count("error")),
        skipped=str(kinds.count("skipped")),
        time=f"{elapsed_s:.3f}",
        timestamp=started,
    )
    suite.extend(cases)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _threshold_case(comparison: Comparison, seen: ThresholdSeen, strict: bool) -> ElementTree.Element:
    case = _case(f"not {seen.threshold.text}")
    if comparison.word is CompareWord.INVALID:
        _add(case, "error", sentence(comparison), comparison)
    elif seen.state is ThresholdState.CROSSED:
        _add(case, "failure", threshold_words(seen), comparison)
    elif seen.state is ThresholdState.UNDECIDED:
        _add(case, "failure" if strict else "skipped", threshold_words(seen), comparison)
    return case


def _whole_case(comparison: Comparison, strict: bool) -> ElementTree.Element:
    case = _case("comparison")
    if comparison.word is CompareWord.INVALID:
        _add(case, "error", sentence(comparison), comparison)
    elif comparison.word is CompareWord.INCONCLUSIVE:
        _add(case, "failure" if strict else "skipped", sentence(comparison), comparison)
    return case


def _case(name: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", classname="pgclinic.compare", name=name)


def _add(case: ElementTree.Element, tag: str, message: str, comparison: Comparison) -> None:
    inner = ElementTree.SubElement(case, tag, message=message)
    if tag != "skipped":
        inner.text = "\n".join(sentences(comparison.reasons))

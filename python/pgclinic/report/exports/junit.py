"""JUnit XML: of a comparison one test case a threshold, or the comparison itself where there is none; of a history of
runs one a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from xml.etree import ElementTree

from pgclinic.model.compare import Comparison
from pgclinic.model.history import FigureHistory, FigureState, HistoryOutput, RunSeries
from pgclinic.model.threshold import ThresholdSeen, ThresholdState
from pgclinic.model.verdict_word import CompareWord
from pgclinic.report.parts.visible import visible
from pgclinic.report.runs.history import figure_label
from pgclinic.report.runs.history_text import change_words, difference_words, point_words
from pgclinic.report.sections.side_by_side.text import sentence, threshold_words
from pgclinic.report.words.figures import count
from pgclinic.report.words.reasons import sentences


def junit_xml(comparison: Comparison, *, elapsed_s: float, started: str, strict: bool) -> str:
    """``started`` is ISO 8601; with ``strict`` what is undecided has failed too, as the exit code says."""
    times = {"time": f"{elapsed_s:.3f}", "timestamp": started}
    return suites_xml([(f"pgclinic compare: {comparison.name}", threshold_cases(comparison, strict))], times)


def threshold_cases(comparison: Comparison, strict: bool) -> list[ElementTree.Element]:
    """One for each threshold, or for the comparison itself where it has none."""
    cases = [_threshold_case(comparison, seen, strict) for seen in comparison.thresholds]
    return cases or [_whole_case(comparison, strict)]


def history_junit_xml(history: HistoryOutput) -> str:
    """A figure has failed where its newest change is to the worse and among the newest runs; with too few runs it is
    skipped."""
    cases = [_figure_case(figure, series, history) for series in history.series for figure in series.figures]
    return suites_xml([(f"pgclinic runs history: {history.name}", cases)])


def suites_xml(
    suites: Sequence[tuple[str, Sequence[ElementTree.Element]]], times: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Each suite with its name and its test cases; ``times`` are attributes of all suites."""
    root = ElementTree.Element("testsuites")
    for name, cases in suites:
        kinds = [child.tag for case in cases for child in case]
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=name,
            tests=str(len(cases)),
            failures=str(kinds.count("failure")),
            errors=str(kinds.count("error")),
            skipped=str(kinds.count("skipped")),
        )
        suite.attrib.update(times)
        suite.extend(cases)
    ElementTree.indent(root)
    # XML has no control characters: with one of a name no reader would take the file.
    return visible(ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n")


def _figure_case(figure: FigureHistory, series: RunSeries, history: HistoryOutput) -> ElementTree.Element:
    differing = [f"{label}: {series.facts[label]}" for label in series.differs]
    case = ElementTree.Element(
        "testcase", classname="pgclinic.history", name="; ".join((figure_label(figure), *differing))
    )
    if figure.state is FigureState.WORSE:
        change = figure.changes[-1]
        inner = ElementTree.SubElement(case, "failure", message=change_words(figure, change, series.runs))
        inner.text = "\n".join((f"newest run: {point_words(figure, figure.points[-1])}", *difference_words(change)))
    elif figure.state is FigureState.TOO_FEW:
        runs = count(len(figure.points), "run")
        ElementTree.SubElement(case, "skipped", message=f"{runs}: change points need {history.method.runs_min}")
    return case


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

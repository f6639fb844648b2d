"""The last step of a verdict in words: why this word and no other."""

from __future__ import annotations

from pgclinic.model.reason import Answer, Conclusion
from pgclinic.model.verdict_word import CompareWord, VerdictWord
from pgclinic.report.words.figures import count, percent

_CONCLUSIONS = {
    VerdictWord.REPLICATED: "The whole interval lies inside the claimed region: replicated.",
    VerdictWord.CONFIRMED: "The whole interval lies where it was expected: confirmed.",
    VerdictWord.REPLICATED_IN_DIRECTION: "The whole interval lies on the claimed side of the equivalence margin, but "
    "not all of it in the claimed region: replicated in direction, ",
    VerdictWord.NO_EFFECT: "The whole interval lies inside the equivalence margin: no effect.",
    VerdictWord.NOT_REPLICATED: "The whole interval lies outside of the claimed region, and partly inside the "
    "equivalence margin: not replicated.",
    VerdictWord.NOT_CONFIRMED: "The whole interval lies outside of the expected region, and partly inside the "
    "equivalence margin: not confirmed.",
    VerdictWord.CONTRADICTED: "The whole interval lies where the claim says it cannot, beyond the equivalence margin: "
    "contradicted.",
}

#: Of a sweep the order of the levels decides as well.
_CONCLUSIONS_OF_SWEEPS = {
    VerdictWord.CONFIRMED: "The trend over the levels is the expected one and the whole interval lies where it was "
    "expected: confirmed.",
    VerdictWord.REPLICATED: "The trend over the levels is the claimed one and the whole interval lies inside the "
    "claimed region: replicated.",
    VerdictWord.REPLICATED_IN_DIRECTION: "The trend over the levels is the claimed one, but not all of the interval "
    "lies in the claimed region, or not every step that is claimed is shown: replicated in direction, ",
    VerdictWord.NOT_REPLICATED: "The whole interval lies outside of the claimed region, and the trend over the levels "
    "is not shown: not replicated.",
    VerdictWord.NOT_CONFIRMED: "The whole interval lies outside of the expected region, and the trend over the levels "
    "is not shown: not confirmed.",
    VerdictWord.CONTRADICTED: "The trend over the levels, or a step that is claimed, goes the other way: contradicted.",
}


def conclusion_words(reason: Conclusion) -> str:
    """The word of a claim, with what is open about it."""
    word = reason.word
    if word is VerdictWord.INCONCLUSIVE:
        why = "The interval still crosses an edge that matters" if reason.bounded else "There are too few blocks"
        if reason.by_order and reason.bounded:
            why = "The size is open, or the order of the levels is not shown yet"
        return f"{why}: inconclusive. {_outlook(reason.blocks_needed)}"
    if word is VerdictWord.INVALID:
        if not reason.moved:
            return "A change without its cause says nothing about the claim: invalid."
        return "The experiment cannot speak for or against the claim: invalid."
    text = _CONCLUSIONS_OF_SWEEPS.get(word, _CONCLUSIONS[word]) if reason.by_order else _CONCLUSIONS[word]
    if word is not VerdictWord.REPLICATED_IN_DIRECTION:
        return text
    return text + (f"{reason.qualifier} than claimed." if reason.qualifier else "and its size is still open.")


def _outlook(blocks_needed: int | None) -> str:
    if blocks_needed is None:
        return "More blocks alone would hardly decide it: the ratio lies too near to an edge."
    return f"{_about(blocks_needed)} would decide it."


def _about(blocks: int) -> str:
    return f"About {count(blocks, 'more block')}"


def answer_words(reason: Answer) -> str:
    """The word of a comparison, with what more blocks would do."""
    match reason.word:
        case CompareWord.FASTER | CompareWord.SLOWER:
            side = "above" if reason.word is CompareWord.FASTER else "below"
            return f"The whole interval lies {side} these: b is {reason.word.value}."
        case CompareWord.NO_DIFFERENCE:
            return f"The whole interval lies inside: a difference of {percent(reason.margin_share)} is ruled out."
        case CompareWord.INVALID:
            return "The experiment cannot answer the question: invalid."
    if not reason.bounded:
        return "There are too few blocks: inconclusive."
    seen = {1: ", though b is not slower", -1: ", though b is not faster"}.get(reason.direction, "")
    outlook = f" {_about(reason.blocks_needed)} would decide it." if reason.blocks_needed else ""
    return f"The interval lies partly inside and partly outside of these: inconclusive{seen}.{outlook}"

"""The answer of a run in one word and in one sentence, whichever command made it."""

from __future__ import annotations

from collections import Counter

from pgclinic.model.advise import AdviceWord, IndexAdvice
from pgclinic.model.bench import BenchResult
from pgclinic.model.checkup import Checkup
from pgclinic.model.compare import Comparison
from pgclinic.model.finding import Health
from pgclinic.model.grow import GrowthForecast
from pgclinic.model.tuning import Aim, Assay, AssayWord, Bisect, BisectWord, Search
from pgclinic.model.upgrade import Upgrade
from pgclinic.model.verdict import ClaimVerdict, Verdict
from pgclinic.model.verdict_word import CompareWord, VerdictWord
from pgclinic.report.sections.advice.text import advice_sentence
from pgclinic.report.sections.climb.text import search_headline
from pgclinic.report.sections.growth.text import growth_sentence, growth_word
from pgclinic.report.sections.load.figures import milliseconds
from pgclinic.report.sections.side_by_side.text import sentence
from pgclinic.report.sections.staircase.text import bisect_headlines, change_words
from pgclinic.report.sections.waterfall.text import assay_headline
from pgclinic.report.words.checkup_lines import first_line
from pgclinic.report.words.figures import count, number, times
from pgclinic.report.words.upgrade import upgrade_sentence
from pgclinic.report.words.verdicts import word_in_full
from pgclinic.store.run_list import StoredAnswer

_SLOWEST, _FASTEST, _NOTHING = "slowest found", "fastest found", "nothing found"
_MEASURED, _FAILED = "measured", "failed"
#: Every word that an answer can have.
ANSWER_WORDS = frozenset(
    (
        *(
            word.value
            for words in (VerdictWord, CompareWord, AssayWord, BisectWord, AdviceWord, Health)
            for word in words
        ),
        *(_SLOWEST, _FASTEST, _NOTHING, _MEASURED, _FAILED),
        *("grows", "unknown"),
    )
)


def answer_word(answer: StoredAnswer) -> str:
    """replicated, faster, sick, slowest found, measured: by what a list of runs is filtered."""
    match answer:
        case Verdict():
            return answer.headline.word.value
        case Checkup():
            return answer.health.value
        case Search():
            return _NOTHING if not answer.settings else _SLOWEST if answer.aim is Aim.WORST else _FASTEST
        case BenchResult():
            return _FAILED if answer.exit_code else _MEASURED
        case GrowthForecast() | Upgrade():
            return _word_on_twin(answer)
    word: str = answer.word.value
    return word


def _word_on_twin(answer: GrowthForecast | Upgrade) -> str:
    if isinstance(answer, GrowthForecast):
        return growth_word(answer)
    return answer.comparison.word.value if answer.comparison is not None else _MEASURED


def answer_sentence(answer: StoredAnswer) -> str:
    """What was found, without its word."""
    match answer:
        case Verdict():
            words = _verdict(answer)
        case Comparison():
            words = sentence(answer)
        case Checkup():
            words = first_line(answer)
        case BenchResult():
            words = _bench(answer)
        case Assay():
            words = _behind(assay_headline(answer))
        case Search():
            words = _behind(search_headline(answer))
        case Bisect():
            words = _bisect(answer)
        case IndexAdvice():
            words = advice_sentence(answer)
        case Upgrade():
            words = upgrade_sentence(answer)
        case GrowthForecast():
            words = growth_sentence(answer)
    return words


def _bisect(found: Bisect) -> str:
    if found.changes:
        return "; ".join(" ".join(change_words(change).split()) for change in found.changes)
    return "; ".join(_behind(line) for line in bisect_headlines(found))


def _behind(headline: str) -> str:
    """A headline without its word, which stands in front of three spaces."""
    return headline.partition("   ")[2]


def _verdict(verdict: Verdict) -> str:
    first = verdict.headline
    said = [f"{first.claim}{_ratio(first)}"]
    others = Counter(word_in_full(claim) for claim in verdict.claims[1:])
    if others:
        said.append(f"other claims: {', '.join(f'{amount} {word}' for word, amount in others.items())}")
    return "; ".join(said)


def _ratio(claim: ClaimVerdict) -> str:
    return f" {times(claim.interval.ratio)}" if claim.interval is not None else ""


def _bench(result: BenchResult) -> str:
    load = result.load
    parts = [f"{number(load.tps)} TPS", count(load.clients, "client")]
    if load.transactions:
        parts.append(f"latency p99 {milliseconds(load.latency.p99_us)} ms")
    if load.failed:
        parts.append(f"{load.failed:,} failed")
    return ", ".join(parts)

"""The treatment of one finding: which finding is meant, and the statements that give it and take it back."""

from __future__ import annotations

from collections import Counter

from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Finding, Treatment
from pgclinic.model.plan_proof import PlanWord
from pgclinic.model.verdict_word import CompareWord
from pgclinic.sql.quoting import identifier, literal

#: Words of verdicts that say that a treatment helps.
HELPS = frozenset((CompareWord.FASTER.value, PlanWord.CURED.value))
#: Lists whose elements ALTER SYSTEM would take for one name if they were quoted together.
_LISTS_OF_NAMES = frozenset(
    {
        "local_preload_libraries",
        "search_path",
        "session_preload_libraries",
        "shared_preload_libraries",
        "temp_tablespaces",
        "unix_socket_directories",
    }
)


def find_finding(checkup: Checkup, word: str) -> Finding:
    """The finding with this number, key, or pathology where it was seen once. Raises UsageError."""
    if not checkup.findings:
        raise UsageError("this checkup has no findings: there is nothing to treat")
    if word.isascii() and word.isdigit():
        return _numbered(checkup, int(word))
    keys = {finding.key: finding for finding in checkup.findings}
    if word in keys:
        return keys[word]
    seen = Counter(finding.pathology for finding in checkup.findings)
    if word not in seen:
        raise UnknownNameError("finding", word, [*keys, *seen])
    named = [finding for finding in checkup.findings if finding.pathology == word]
    if len(named) > 1:
        numbers = ", ".join(str(number) for number, one in enumerate(checkup.findings, start=1) if one in named)
        raise UsageError(f"{word} was found {len(named)} times", hint=f"name one by its number: {numbers}")
    return named[0]


def _numbered(checkup: Checkup, number: int) -> Finding:
    if 1 <= number <= len(checkup.findings):
        return checkup.findings[number - 1]
    raise UsageError(f"there is no finding {number}", hint=f"the checkup has {len(checkup.findings)}")


def usual_treatment(finding: Finding) -> int | None:
    """The number, from 0, of the treatment that is given where nobody names one; None where there is none.

    Of those that were shown to help the one that saves most by plans; else the first that cures, else the first that
    prevents.
    """
    helped = [proof for proof in finding.proofs if proof.word in HELPS and proof.treatment < len(finding.treatments)]
    if helped:
        return min((proof.plans.ratio if proof.plans is not None else 1.0, proof.treatment) for proof in helped)[1]
    cures = (number for number, one in enumerate(finding.treatments) if not one.prevents)
    return next(cures, 0 if finding.treatments else None)


def chosen_treatment(finding: Finding, number: int | None) -> Treatment:
    """The treatment of this number, from 1; without one that of ``usual_treatment``. Raises UsageError."""
    usual = usual_treatment(finding)
    if usual is None:
        raise UsageError(f"{finding.pathology} has no treatment that could be written")
    if number is None:
        return finding.treatments[usual]
    if not 1 <= number <= len(finding.treatments):
        raise UsageError(
            f"{finding.pathology} has no treatment {number}", hint=f"choose 1 to {len(finding.treatments)}"
        )
    return finding.treatments[number - 1]


def statements_of(treatment: Treatment) -> tuple[str, ...]:
    """What gives the treatment, each without its semicolon. A restart is not among them."""
    return (
        *(_bare(one) for one in treatment.sql),
        *(f"alter system set {_setting(name)} to {_value(name, value)}" for name, value in treatment.settings.items()),
        *(("select pg_reload_conf()",) if treatment.settings else ()),
    )


def undo_of(treatment: Treatment) -> tuple[str, ...]:
    """What takes it back, in the same form."""
    settings = treatment.undo_settings
    return (
        *(_bare(one) for one in treatment.undo),
        *(
            f"alter system reset {_setting(name)}"
            if value is None
            else f"alter system set {_setting(name)} to {_value(name, value)}"
            for name, value in settings.items()
        ),
        *(("select pg_reload_conf()",) if settings else ()),
    )


def _setting(name: str) -> str:
    """Also one of an extension: auto_explain.log_min_duration."""
    return ".".join(identifier(part) for part in name.split("."))


def _bare(statement: str) -> str:
    return statement.strip().rstrip(";").rstrip()


def _value(name: str, value: str) -> str:
    if name in _LISTS_OF_NAMES:
        return ", ".join(literal(one.strip().strip('"')) for one in value.split(","))
    return literal(value)

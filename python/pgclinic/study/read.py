"""A study file: TOML -> Study. Unknown keys are errors that name the line and the nearest known key."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
from msgspec.structs import fields

from pgclinic.errors import StudyFileError, UnknownNameError
from pgclinic.model.study import ArmFile, Claim, Condition, Counter, Study, WarmUpEnd
from pgclinic.pg.dsn import SECRETS, parse_dsn
from pgclinic.stats.page_trend_test import EXACT_LEVELS_MAX
from pgclinic.stats.warm_up import LONGEST_S, SHORTEST_S
from pgclinic.study import format_1
from pgclinic.study.blocks import OF_THE_LOAD
from pgclinic.study.claim_rules import check_question
from pgclinic.study.expand import resolve_arm
from pgclinic.study.fitted import in_profile
from pgclinic.study.toml_text import file_text, toml_of
from pgclinic.study.value_limits import check_values
from pgclinic.study.vocabulary import direction_of
from pgclinic.trial.steadiness import falls_by_design

FORMAT = 2


def shipped_studies() -> tuple[str, ...]:
    """Names of the studies that come with pgclinic, sorted."""
    folder = resources.files("pgclinic") / "studies"
    return tuple(sorted(entry.name[: -len(".toml")] for entry in folder.iterdir() if entry.name.endswith(".toml")))


def study_text(name_or_path: str) -> str:
    """The text of a shipped study, or of a file when the name ends in .toml.

    Raises:
        UnknownNameError: no shipped study has that name.
        StudyFileError: the file cannot be read.
    """
    if name_or_path.endswith(".toml"):
        return file_text(Path(name_or_path), "study file", StudyFileError)
    if name_or_path not in shipped_studies():
        raise UnknownNameError("study", name_or_path, shipped_studies())
    return (resources.files("pgclinic") / "studies" / f"{name_or_path}.toml").read_text(encoding="utf-8")


def parse_study(text: str, where: str) -> Study:
    """TOML text -> Study; ``where`` names the file in errors.

    Raises:
        UnknownNameError: a key, arm or profile that is not known.
        StudyFileError: not TOML, a wrong type, a missing key, or a contradiction between the parts.
    """
    raw = toml_of(text, where, StudyFileError)
    is_old = raw.get("format") == format_1.FORMAT
    if is_old:
        raw = format_1.from_format_1(raw)
    _refuse_unknown_keys(raw, Study, text, where, ())
    if raw.get("format") not in (FORMAT, format_1.FORMAT):
        raise StudyFileError(f"{where}: format is {raw.get('format')!r}; this pgclinic reads formats 1 and {FORMAT}")
    try:
        study = msgspec.convert(raw, Study)
    except msgspec.ValidationError as error:
        raise StudyFileError(f"{where}: {error}") from error
    check_study(study, where)
    if not is_old:
        for claim in study.claims:
            check_question(claim, f"{where}: claim {claim.name}")
    return study


def check_study(study: Study, where: str) -> None:
    """Raise StudyFileError or UnknownNameError for a study that cannot be run and judged as it is."""
    _check_references(study, where)
    check_values(study, where)


def read_study(name_or_path: str) -> tuple[Study, str]:
    """A study by shipped name or by file, and its text as read."""
    text = study_text(name_or_path)
    return parse_study(text, name_or_path), text


def _refuse_unknown_keys(raw: object, kind: Any, text: str, where: str, path: tuple[str, ...]) -> None:
    """Walk the raw document beside its types, so that the error can name the place and the nearest key."""
    kind = _without_none(kind)
    if isinstance(raw, dict) and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        known = {field.name: field.type for field in fields(kind)}
        for key, value in raw.items():
            if key not in known:
                raise UnknownNameError("key", ".".join((*path, key)), known, where=f"{where}:{_line_of(text, key)}")
            _refuse_unknown_keys(value, known[key], text, where, (*path, key))
    elif isinstance(raw, dict) and get_origin(kind) is dict:
        for key, value in raw.items():
            _refuse_unknown_keys(value, get_args(kind)[1], text, where, (*path, key))
    elif isinstance(raw, list) and get_origin(kind) is tuple:
        for value in raw:
            _refuse_unknown_keys(value, get_args(kind)[0], text, where, path)


def _without_none(kind: Any) -> Any:
    members = [member for member in get_args(kind) if member is not type(None)]
    return members[0] if len(members) == 1 and type(None) in get_args(kind) else kind


def _line_of(text: str, key: str) -> int:
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.replace("[", " ").replace("]", " ").replace("=", " = ").replace("{", " ").split()
        if key in words or any(word.split(".")[-1] == key for word in words[:1]):
            return number
    return 1


def _check_references(study: Study, where: str) -> None:
    if study.source.url is not None and study.source.link is None:
        raise StudyFileError(f"{where}: source.url {study.source.url!r} is not an http or https address")
    if len(study.arms) < 2:
        raise StudyFileError(f"{where}: a study compares at least two arms")
    if not study.claims:
        raise StudyFileError(f"{where}: a study needs at least one claim")
    for name, arm in study.arms.items():
        if arm.builds_on is not None and arm.builds_on not in study.arms:
            raise UnknownNameError("arm", arm.builds_on, study.arms, where=f"{where}: arms.{name}.builds_on")
        _refuse_circle(study, name, where)
        _check_server(arm, f"{where}: arms.{name}")
        if arm.condition is not None:
            _check_condition(arm.condition, f"{where}: arms.{name}.condition")
    for claim in study.claims:
        _check_claim(claim, study, where)
    _check_workload(study, where)
    for name in study.profiles:
        _check_profile(study, name, where)


def _check_condition(condition: Condition, where: str) -> None:
    """What belongs to a holder needs one, and a step that is repeated must let time go by."""
    needs_holder = condition.release_at_s is not None or condition.time_outs
    if needs_holder and condition.horizon_held_by is None:
        raise StudyFileError(f"{where}: release_at_s and time_outs need horizon_held_by")
    if condition.release_at_s is not None and condition.release_at_s <= 0:
        raise StudyFileError(f"{where}: release_at_s must be above 0")
    if any(step.at_s < 0 or (step.every_s is not None and step.every_s <= 0) for step in condition.steps):
        raise StudyFileError(f"{where}: a step has at_s of 0 or more, and every_s above 0")


def _check_claim(claim: Claim, study: Study, where: str) -> None:
    for arm_name in (claim.arm, claim.control, *_window_arm(claim.published_windows), *claim.levels):
        if arm_name not in study.arms:
            raise UnknownNameError("arm", arm_name, study.arms, where=f"{where}: claim {claim.name}")
    known = {*Counter, *study.workload.gauges}
    measures = known | OF_THE_LOAD
    for mechanism in claim.mechanisms:
        if mechanism.counter not in known:
            raise UnknownNameError("counter", mechanism.counter, known, where=f"{where}: claim {claim.name}")
    if claim.measure not in measures:
        raise UnknownNameError("measure", claim.measure, measures, where=f"{where}: claim {claim.name}")
    if claim.levels:
        _check_levels(claim, study, where)
    if claim.every_step and (not claim.levels or direction_of(claim) == 0):
        raise StudyFileError(f"{where}: claim {claim.name}: every_step needs levels and a claimed direction")
    ratios = [one.ratio for one in (claim.published, *claim.published_others) if one is not None]
    known_ratios = [ratio for ratio in ratios if ratio is not None]
    if min(known_ratios, default=1.0) <= 0 or (claim.tail_s is not None and claim.tail_s <= 0):
        raise StudyFileError(f"{where}: claim {claim.name}: published ratios and tail_s must be above 0")
    if claim.region is not None and not 0 <= claim.region[0] < claim.region[1]:
        raise StudyFileError(f"{where}: claim {claim.name}: region must be two ratios, the smaller one first")


def _check_levels(claim: Claim, study: Study, where: str) -> None:
    levels = [study.arms[arm].level for arm in claim.levels]
    if not 3 <= len(levels) <= EXACT_LEVELS_MAX or (claim.levels[0], claim.levels[-1]) != (claim.control, claim.arm):
        raise StudyFileError(
            f"{where}: claim {claim.name}: levels are three to {EXACT_LEVELS_MAX} arms, from the control to the arm of "
            "the claim"
        )
    known = [level for level in levels if level is not None and level > 0]
    if len(known) < len(levels) or known != sorted(set(known)):
        raise StudyFileError(f"{where}: claim {claim.name}: every arm of the sweep needs a level, each above the last")


def _check_profile(study: Study, name: str, where: str) -> None:
    profile = study.profiles[name]
    for key, by_arm in (("measure_s", profile.measure_s), ("settings", profile.settings)):
        for arm_name in by_arm:
            if arm_name not in study.arms:
                raise UnknownNameError("arm", arm_name, study.arms, where=f"{where}: profiles.{name}.{key}")
    names = [claim.name for claim in study.claims]
    for claim in profile.claims:
        if claim not in names:
            raise UnknownNameError("claim", claim, names, where=f"{where}: profiles.{name}.claims")
    _check_times(study, name, where)


def _check_workload(study: Study, where: str) -> None:
    workload = study.workload
    if workload.tpcc is None:
        if not workload.scripts:
            raise StudyFileError(f"{where}: workload needs scripts, or tpcc")
        return
    if workload.scripts or workload.fill:
        raise StudyFileError(f"{where}: workload.tpcc brings its own data and transactions: no fill, no scripts")
    for name, profile in study.profiles.items():
        if profile.warehouses is None or profile.warehouses < 1:
            raise StudyFileError(f"{where}: profiles.{name} needs warehouses, at least 1")


def _check_times(study: Study, name: str, where: str) -> None:
    profile = study.profiles[name]
    claims = in_profile(study, profile).claims
    if not claims:
        missing = sorted(set(study.arms) - set(profile.measure_s))
        raise StudyFileError(f"{where}: profiles.{name}.measure_s lacks the arm {missing[0]}, and no claim is left")
    if not 2 <= profile.blocks_min <= profile.blocks_max:
        raise StudyFileError(f"{where}: profiles.{name} needs 2 <= blocks_min <= blocks_max")
    check_steady(study, name, where)
    for claim in claims:
        if claim.tail_s is None:
            continue
        shortest = min(profile.measure_s[claim.arm], profile.measure_s[claim.control])
        if shortest < claim.tail_s:
            raise StudyFileError(
                f"{where}: profiles.{name} measures {shortest:g} s, claim {claim.name} needs {claim.tail_s:g}"
            )


def check_steady(study: Study, name: str, where: str) -> None:
    """Raise StudyFileError where a warm-up cannot end by state: two bins tell it, and what is to fall never rests."""
    profile, place = study.profiles[name], f"{where}: profiles.{name}"
    if profile.warm_up_ends is WarmUpEnd.TIME:
        return
    if not SHORTEST_S <= profile.warm_up_s <= LONGEST_S:
        raise StudyFileError(
            f'{place}: with warm_up_ends = "steady", warm_up_s is the longest one: from {SHORTEST_S} to {LONGEST_S}'
        )
    for arm in profile.measure_s:
        if falls_by_design(resolve_arm(study, profile, arm, {}).condition):
            raise StudyFileError(
                f'{place}: arm {arm} does not come to rest under its condition: warm_up_ends = "time" suits it'
            )


def _window_arm(windows: Any) -> tuple[str, ...]:
    return (windows.arm,) if windows is not None else ()


def _check_server(arm: ArmFile, where: str) -> None:
    named = [key for key in ("version", "bindir", "dsn") if getattr(arm, key) is not None]
    if len(named) > 1:
        raise StudyFileError(f"{where}: {' and '.join(named)} exclude each other")
    if arm.dsn is not None and set(parse_dsn(arm.dsn)) & SECRETS:
        raise StudyFileError(f"{where}: no password is kept in a study file", hint="use a password file (.pgpass)")


def _refuse_circle(study: Study, name: str, where: str) -> None:
    seen: list[str] = []
    current: str | None = name
    while current is not None:
        if current in seen:
            raise StudyFileError(f"{where}: arms build on each other in a circle: {' -> '.join([*seen, current])}")
        seen.append(current)
        current = study.arms[current].builds_on

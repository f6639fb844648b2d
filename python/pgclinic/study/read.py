"""A study file: TOML -> Study. Whatever is wrong with it is an error that names the line, and the nearest known key."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
from msgspec.structs import fields, replace

from pgclinic.errors import StudyFileError, UnknownNameError
from pgclinic.judge.evidence import OF_THE_LOAD
from pgclinic.judge.regions import direction_of
from pgclinic.model.decoding import converted
from pgclinic.model.study import ArmFile, Claim, Condition, Counter, Study, WarmUpEnd
from pgclinic.pg.dsn import SECRETS, parse_dsn
from pgclinic.stats.page_trend_test import EXACT_LEVELS_MAX
from pgclinic.stats.warm_up import LONGEST_S, SHORTEST_S
from pgclinic.study.claim_rules import check_question
from pgclinic.study.in_profile import in_profile
from pgclinic.study.inheritance import inherited_arm
from pgclinic.study.replay import with_replays
from pgclinic.study.toml_lines import KeyPath, TomlPlace, Where, inside
from pgclinic.study.toml_text import file_text, toml_of
from pgclinic.study.value_limits import check_values
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
    place = TomlPlace(where, text)
    _refuse_unknown_keys(raw, Study, place, ())
    if raw.get("format") != FORMAT:
        raise StudyFileError(
            f"{inside(place, 'format')}: format is {raw.get('format')!r}; this pgclinic reads format {FORMAT}"
        )
    try:
        study = converted(raw, Study)
    except msgspec.ValidationError as error:
        path, reason = _wrong_value(raw, Study) or ((), str(error))
        raise StudyFileError(f"{inside(place, *path, words=_dotted(path))}: {reason}") from error
    if study.question is not None:
        raise StudyFileError(f"{inside(place, 'question')}: a study file has claims; compare asks an open question")
    check_study(study, place)
    for number, claim in enumerate(study.claims):
        check_question(claim, _claim_place(place, number, claim))
    return replace(study, claims=tuple(_with_open_end(claim) for claim in study.claims))


def _with_open_end(claim: Claim) -> Claim:
    """JSON has no infinity, so a stored plan could not be read again: an open end is None."""
    edges = claim.region_edges
    return replace(claim, region=(edges[0], None)) if edges is not None and math.isinf(edges[1]) else claim


def check_study(study: Study, where: Where) -> None:
    """Raise StudyFileError or UnknownNameError for a study that cannot be run and judged as it is."""
    _check_references(study, where)
    check_values(study, where)


def read_study(name_or_path: str) -> tuple[Study, str]:
    """A study by shipped name or by file, and its text as read."""
    text = study_text(name_or_path)
    return with_replays(parse_study(text, name_or_path), name_or_path), text


def _refuse_unknown_keys(raw: object, kind: Any, place: TomlPlace, path: KeyPath) -> None:
    """Walk the raw document beside its types, so that the error can name the place and the nearest key."""
    for key, value, inner in _inner_values(raw, kind):
        here = (*path, key)
        if inner is None:
            known = _keys_of(kind)
            # The path around it would drown the letters that a misspelled key shares with the right one.
            close = difflib.get_close_matches(str(key), known, n=1, cutoff=0.5)
            nearest = close[0] if close else None
            raise UnknownNameError("key", _dotted(here), known, where=str(inside(place, *here)), nearest=nearest)
        _refuse_unknown_keys(value, inner, place, here)


def _wrong_value(raw: object, kind: Any) -> tuple[KeyPath, str] | None:
    """Path and reason of the first value inside ``raw`` that its type refuses; None where none is refused by itself."""
    for key, value, inner in _inner_values(raw, kind):
        try:
            converted(value, inner)
        except msgspec.ValidationError as error:
            path, reason = _wrong_value(value, inner) or ((), str(error))
            return (key, *path), reason
    return None


def _inner_values(raw: object, kind: Any) -> Iterator[tuple[str | int, object, Any]]:
    """Key, value and type of what a table or an array holds; a key that its record does not know has no type."""
    kind = _without_none(kind)
    if isinstance(raw, dict) and _is_record(kind):
        known = _keys_of(kind)
        yield from ((key, value, known.get(key)) for key, value in raw.items())
    elif isinstance(raw, dict) and get_origin(kind) is dict:
        yield from ((key, value, get_args(kind)[1]) for key, value in raw.items())
    elif isinstance(raw, list) and get_origin(kind) is tuple:
        yield from ((number, value, get_args(kind)[0]) for number, value in enumerate(raw))


def _keys_of(kind: Any) -> dict[str, Any]:
    return {field.encode_name: field.type for field in fields(_without_none(kind))}


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _without_none(kind: Any) -> Any:
    members = [member for member in get_args(kind) if member is not type(None)]
    return members[0] if len(members) == 1 and type(None) in get_args(kind) else kind


def _dotted(path: KeyPath) -> str:
    return ".".join(key for key in path if isinstance(key, str))


def _claim_place(where: Where, number: int, claim: Claim) -> Where:
    return inside(where, "claims", number, words=f"claim {claim.name}")


def _check_references(study: Study, where: Where) -> None:
    if study.source.url is not None and study.source.link is None:
        place = inside(where, "source", "url", words="source.url")
        raise StudyFileError(f"{place} {study.source.url!r} is not an http or https address")
    if len(study.arms) < 2:
        raise StudyFileError(f"{where}: a study compares at least two arms")
    if not study.questions:
        raise StudyFileError(f"{where}: a study needs at least one claim")
    for name, arm in study.arms.items():
        place = inside(where, "arms", name, words=f"arms.{name}")
        if arm.builds_on is not None and arm.builds_on not in study.arms:
            key = inside(where, "arms", name, "builds_on", words=f"arms.{name}.builds_on")
            raise UnknownNameError("arm", arm.builds_on, study.arms, where=str(key))
        _refuse_circle(study, name, inside(where, "arms", name, "builds_on"))
        _check_server(arm, place)
        if arm.condition is not None:
            _check_condition(arm.condition, inside(where, "arms", name, "condition", words=f"arms.{name}.condition"))
    for number, claim in enumerate(study.claims):
        _check_claim(claim, study, _claim_place(where, number, claim))
    _check_workload(study, where)
    for name in study.profiles:
        _check_profile(study, name, where)


def _check_condition(condition: Condition, where: Where) -> None:
    """What belongs to a holder needs one, and a step that is repeated must let time go by."""
    needs_holder = condition.release_at_s is not None or condition.time_outs
    if needs_holder and condition.horizon_held_by is None:
        raise StudyFileError(f"{where}: release_at_s and time_outs need horizon_held_by")
    if condition.release_at_s is not None and condition.release_at_s <= 0:
        raise StudyFileError(f"{where}: release_at_s must be above 0")
    needs_recording = condition.replay_s is not None or condition.replay_hold_s_max is not None
    if needs_recording and condition.replay_horizon is None:
        raise StudyFileError(f"{where}: replay_s and replay_hold_s_max need replay_horizon")
    if condition.replay_horizon is not None and condition.horizon_held_by is not None:
        raise StudyFileError(f"{where}: replay_horizon and horizon_held_by are mutually exclusive")
    if any(not 0 <= hold.at_s < hold.until_s for hold in condition.holds):
        raise StudyFileError(f"{where}: a hold has at_s of 0 or more, and until_s above it")
    if any(step.at_s < 0 or (step.every_s is not None and step.every_s <= 0) for step in condition.steps):
        raise StudyFileError(f"{where}: a step has at_s of 0 or more, and every_s above 0")


def _check_claim(claim: Claim, study: Study, where: Where) -> None:
    for arm_name in (claim.arm, claim.control, *_window_arm(claim.published_windows), *claim.levels):
        if arm_name not in study.arms:
            raise UnknownNameError("arm", arm_name, study.arms, where=str(where))
    known = {*Counter, *study.workload.custom_metrics}
    measures = known | OF_THE_LOAD
    for mechanism in claim.mechanisms:
        if mechanism.counter not in known:
            raise UnknownNameError("counter", mechanism.counter, known, where=str(where))
    if claim.measure not in measures:
        raise UnknownNameError("measure", claim.measure, measures, where=str(where))
    if claim.levels:
        _check_levels(claim, study, where)
    if claim.every_step and (not claim.levels or direction_of(claim) == 0):
        raise StudyFileError(f"{where}: every_step needs levels and a claimed direction")
    ratios = [one.ratio for one in (claim.published, *claim.published_others) if one is not None]
    known_ratios = [ratio for ratio in ratios if ratio is not None]
    if min(known_ratios, default=1.0) <= 0 or (claim.tail_s is not None and claim.tail_s <= 0):
        raise StudyFileError(f"{where}: published ratios and tail_s must be above 0")
    if claim.region_edges is not None and not 0 <= claim.region_edges[0] < claim.region_edges[1]:
        raise StudyFileError(f"{where}: region must be two ratios, the smaller one first")


def _check_levels(claim: Claim, study: Study, where: Where) -> None:
    levels = [study.arms[arm].level for arm in claim.levels]
    if not 3 <= len(levels) <= EXACT_LEVELS_MAX or (claim.levels[0], claim.levels[-1]) != (claim.control, claim.arm):
        raise StudyFileError(
            f"{where}: levels are three to {EXACT_LEVELS_MAX} arms, from the control to the arm of the claim"
        )
    known = [level for level in levels if level is not None and level > 0]
    if len(known) < len(levels) or known != sorted(set(known)):
        raise StudyFileError(f"{where}: every arm of the sweep needs a level, each higher than the previous one")


def _check_profile(study: Study, name: str, where: Where) -> None:
    profile = study.profiles[name]
    for key, by_arm in (("measure_s", profile.measure_s), ("settings", profile.settings)):
        for arm_name in by_arm:
            if arm_name not in study.arms:
                place = inside(where, "profiles", name, key, arm_name, words=f"profiles.{name}.{key}")
                raise UnknownNameError("arm", arm_name, study.arms, where=str(place))
    names = [claim.name for claim in study.claims]
    for claim in profile.claims:
        if claim not in names:
            place = inside(where, "profiles", name, "claims", words=f"profiles.{name}.claims")
            raise UnknownNameError("claim", claim, names, where=str(place))
    _check_times(study, name, where)


def _check_workload(study: Study, where: Where) -> None:
    workload, place = study.workload, inside(where, "workload")
    if workload.tpcc is None:
        if not workload.scripts:
            raise StudyFileError(f"{place}: workload needs scripts, or tpcc")
        return
    if workload.scripts or workload.fill:
        raise StudyFileError(f"{place}: workload.tpcc has its own data and transactions: no fill, no scripts")
    for name, profile in study.profiles.items():
        if profile.warehouses is None or profile.warehouses < 1:
            raise StudyFileError(f"{_profile_place(where, name)} needs warehouses, at least 1")


def _profile_place(where: Where, name: str) -> Where:
    return inside(where, "profiles", name, words=f"profiles.{name}")


def _check_times(study: Study, name: str, where: Where) -> None:
    profile, place = study.profiles[name], _profile_place(where, name)
    claims = in_profile(study, profile).questions
    if not claims:
        missing = sorted(set(study.arms) - set(profile.measure_s))
        raise StudyFileError(f"{place}.measure_s has no arm {missing[0]}, and no claim remains")
    if not 2 <= profile.blocks_min <= profile.blocks_max:
        raise StudyFileError(f"{place} needs 2 <= blocks_min <= blocks_max")
    check_steady(study, name, where)
    for claim in claims:
        if claim.tail_s is None:
            continue
        shortest = min(profile.measure_s[claim.arm], profile.measure_s[claim.control])
        if shortest < claim.tail_s:
            raise StudyFileError(f"{place} measures {shortest:g} s, claim {claim.name} needs {claim.tail_s:g}")


def check_steady(study: Study, name: str, where: Where) -> None:
    """Raise StudyFileError where a warm-up cannot end by state: two bins tell it, and what is to fall never rests."""
    profile, place = study.profiles[name], _profile_place(where, name)
    if profile.warm_up_ends is WarmUpEnd.TIME:
        return
    if not SHORTEST_S <= profile.warm_up_s <= LONGEST_S:
        raise StudyFileError(
            f'{place}: with warm_up_ends = "steady", warm_up_s is the longest one: from {SHORTEST_S} to {LONGEST_S}'
        )
    for arm in profile.measure_s:
        if falls_by_design(inherited_arm(study, profile, arm).condition):
            raise StudyFileError(
                f'{place}: arm {arm} does not come to rest under its condition: warm_up_ends = "time" suits it'
            )


def _window_arm(windows: Any) -> tuple[str, ...]:
    return (windows.arm,) if windows is not None else ()


def _check_server(arm: ArmFile, where: Where) -> None:
    named = [key for key in ("version", "bindir", "dsn") if getattr(arm, key) is not None]
    if len(named) > 1:
        raise StudyFileError(f"{where}: {' and '.join(named)} are mutually exclusive")
    if arm.dsn is not None and set(parse_dsn(arm.dsn)) & SECRETS:
        raise StudyFileError(f"{where}: a study file must not contain a password", hint="use a password file (.pgpass)")


def _refuse_circle(study: Study, name: str, where: Where) -> None:
    seen: list[str] = []
    current: str | None = name
    while current is not None:
        if current in seen:
            raise StudyFileError(f"{where}: arms build on each other in a cycle: {' -> '.join([*seen, current])}")
        seen.append(current)
        current = study.arms[current].builds_on

"""The pages of ``pgclinic serve`` that are no reports: the list, a run that is being written, the form of the token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

import msgspec
from markupsafe import Markup

from pgclinic.model.output import RunOutput, RunState
from pgclinic.model.run import RunKind
from pgclinic.report.html import environment, html_page, script_json
from pgclinic.report.live.run import POINTS_SHOWN, LiveRun
from pgclinic.report.runs.filter import RunFilter
from pgclinic.report.runs.list import shown_rows
from pgclinic.report.words.facts import time_words
from pgclinic.report.words.figures import count, percent, size
from pgclinic.report.words.machine import machine_words

_STYLES = ("live/serve.css",)
#: The parts of a live page that are filled anew as its run goes on.
PARTS = ("now", "verdict", "trials", "proofs")
#: What is answered to requests that get no page.
FOREIGN = "This server has another name. pgclinic serve --name HOST adds one.\n"
ONLY_GET = "Only GET is answered.\n"
TOO_LONG = "No token is as long as that.\n"
WRONG_TOKEN = "That is not the token."
#: How an answer is coloured; its word says the same.
_GOOD, _BAD, _OPEN, _CALM = "good", "bad", "open", "calm"
_COLOURS = {
    **dict.fromkeys(("replicated", "confirmed", "replicated in direction", "faster", "fastest found", "ok"), _GOOD),
    **dict.fromkeys(("contradicted", "not replicated", "not confirmed", "slower", "critical", "failed"), _BAD),
    **dict.fromkeys(("inconclusive", "sick", "invalid", "refused"), _OPEN),
}
_NO_ANSWER = {RunState.UNFINISHED: "no answer yet", RunState.DAMAGED: "cannot be read"}


class ServingCost(msgspec.Struct, frozen=True):
    """CPU that the server itself has used: the share of one core over the last seconds."""

    share: float
    seconds: float


def cost_words(cost: ServingCost) -> str:
    """pgclinic serve used 0.4 % of one core in the last 60 s."""
    return f"pgclinic serve used {percent(cost.share)} of one core in the last {time_words(round(cost.seconds))}."


def runs_page(
    runs: Sequence[RunOutput], chosen: RunFilter, now_epoch_us: int, *, revision: int, cost: ServingCost
) -> str:
    """The list, the newest run first. ``revision`` is its state, by which the page asks whether there is another."""
    wanted = [run for run in runs if chosen.has(run, now_epoch_us / 1e6)]
    several = len({machine_words(run.machine) for run in wanted if run.machine is not None}) > 1
    return html_page(
        "live/runs",
        kind="runs",
        when="",
        source="",
        files=(*_STYLES, "live/runs.js"),
        served=True,
        rows=[_row(run, now_epoch_us, names_machine=several) for run in wanted],
        amount=f"{len(wanted):,} of {count(len(runs), 'run')}" if len(wanted) < len(runs) else count(len(runs), "run"),
        filters=_filters(runs, chosen),
        is_filtered=chosen != RunFilter(),
        revision=revision,
        cost=cost_words(cost),
    )


def _filters(runs: Sequence[RunOutput], chosen: RunFilter) -> list[tuple[str, str, str | None, list[str]]]:
    """Parameter, label, what is chosen, and all that can be."""
    kinds = [kind.value for kind in RunKind if any(run.kind is kind for run in runs)]
    states = [run.state.value for run in runs if run.state is not RunState.FINISHED]
    filters = (
        ("kind", "Kind", chosen.kind.value if chosen.kind is not None else None, kinds),
        ("answer", "Answer", chosen.answer, [*(run.answer for run in runs if run.answer is not None), *states]),
        ("server", "Server", chosen.server, [run.server for run in runs if run.server is not None]),
        ("machine", "Machine", chosen.machine, [machine_words(run.machine) for run in runs if run.machine is not None]),
    )
    # What is chosen stays in the list when its last run is gone.
    return [
        (name, label, value, sorted({*known, *([value] if value is not None else [])}))
        for name, label, value, known in filters
    ]


def _row(run: RunOutput, now_epoch_us: int, *, names_machine: bool) -> dict[str, object]:
    facts = [run.kind.value] if run.kind is not None else []
    if run.started_epoch_us is not None:
        facts.append(f"{time_words(max(0.0, (now_epoch_us - run.started_epoch_us) / 1e6))} ago")
    facts += [run.server] if run.server is not None else []
    if names_machine and run.machine is not None:
        facts.append(machine_words(run.machine))
    # The size of a folder that is being written is that of a moment ago.
    facts += [size(run.size_bytes)] if run.state is not RunState.RUNNING else []
    name = folder_name(run)
    return {"name": name, "href": run_address(name), "facts": facts, **_answer(run)}


def _answer(run: RunOutput) -> dict[str, str]:
    """Its word, what was found, and the colour."""
    if run.state is RunState.RUNNING:
        return {"word": "running", "sentence": "", "colour": _CALM}
    if run.answer is None:
        return {"word": _NO_ANSWER[run.state], "sentence": run.problem or "", "colour": "none"}
    return {"word": run.answer, "sentence": run.sentence or "", "colour": _COLOURS.get(run.answer, _CALM)}


def folder_name(run: RunOutput) -> str:
    """The name of its folder."""
    return run.path.rpartition("/")[2]


def run_address(name: str) -> str:
    """Where the page of a run is; a name may have any letter but a slash."""
    return f"/runs/{quote(name, safe='')}"


def live_page(
    run: RunOutput, live: LiveRun, now_epoch_us: int, *, state: str, cost: ServingCost, text: str | None = None
) -> str:
    """A run that is being written, or one that has no report; ``text`` says why, or what it has instead.

    ``state`` is what the page shows, by which it asks whether the run has come to another.
    """
    name, seen = folder_name(run), len(live.points)
    left_out = max(0, seen - POINTS_SHOWN)
    follow = f"{run_address(name)}/events?{urlencode({'state': state, 'seen': seen})}"
    return html_page(
        "live/live",
        kind="run",
        when="",
        source="",
        files=(*_STYLES, "live/live.js"),
        served=True,
        drawn={"data": script_json(msgspec.to_builtins(live_data(live, left_out)) | {"follow": follow})},
        name=name,
        is_running=run.state is RunState.RUNNING,
        so_far=f"{run_address(name)}/report" if run.answer is not None else None,
        shown=live_parts(live, now_epoch_us, PARTS),
        left_out=left_out,
        facts=shown_rows(run, now_epoch_us),
        text=text,
        **{key: value for key, value in _answer(run).items() if key != "sentence"},
        cost=cost_words(cost),
    )


def live_data(live: LiveRun, seen: int) -> dict[str, object]:
    """What the chart draws: the names of the arms, and the points behind the first ``seen``."""
    return {"arms": live.arms, "points": live.points[seen:]}


def live_parts(live: LiveRun, now_epoch_us: int, names: Sequence[str]) -> Mapping[str, Markup]:
    """The named parts of a live page."""
    macros = environment().get_template("live/parts.html.j2").module
    return {name: Markup(str(getattr(macros, name)(live, now_epoch_us)).strip()) for name in names}


def token_page(problem: str | None) -> str:
    """The form that asks for the token; ``problem`` says why the last one was refused."""
    return html_page("live/token", kind="runs", when="", source="", files=_STYLES, served=True, problem=problem)


def with_way_back(page: str) -> str:
    """A report with a link to the list above it; the file in the run folder has none."""
    link = '<nav style="max-width:62rem;margin:0 auto;padding:.8rem 1.5rem 0"><a href="/">All runs</a></nav>'
    return page.replace("<body>", f"<body>\n{link}", 1)

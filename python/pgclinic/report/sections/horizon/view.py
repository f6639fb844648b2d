"""A recording of the horizon as one self-contained HTML file: over time, as a distribution, and as tables."""

from __future__ import annotations

from pgclinic.model.horizon import HorizonRecording
from pgclinic.report.html import html_page
from pgclinic.report.sections.horizon.picture import LANE_HEIGHT, horizon_picture
from pgclinic.report.sections.horizon.text import HEADS, distribution_rows, duration_words, longest_words
from pgclinic.report.words.facts import utc_words
from pgclinic.report.words.figures import count, number


def render_horizon(recording: HorizonRecording) -> str:
    """The page of one recording."""
    return html_page(
        "sections/horizon/page",
        kind="horizon",
        when=utc_words(recording.began_epoch_s),
        source="the recording",
        pgclinic=recording.pgclinic,
        files=("sections/horizon/style.css",),
        database=recording.database,
        facts=_fact_rows(recording),
        about=recording.about,
        picture=horizon_picture(recording),
        lane_height=LANE_HEIGHT,
        heads=list(HEADS),
        rows=distribution_rows(recording) if recording.holds else [],
        longest=longest_words(recording),
        shortest=duration_words(recording.every_s),
    )


def _fact_rows(recording: HorizonRecording) -> tuple[tuple[str, str], ...]:
    """What was recorded, and how."""
    rows = [
        ("Server", f"PostgreSQL {recording.server_version}"),
        ("Recorded", f"{duration_words(recording.duration_s)}, every {duration_words(recording.every_s)}"),
        ("Samples", f"{recording.samples:,}" + (f"; {recording.missed:,} had no answer" if recording.missed else "")),
    ]
    if recording.duration_s > 0:
        per_s = number(recording.transactions / recording.duration_s)
        rows.append(("Passed", f"{count(recording.transactions, 'transaction')}, {per_s} per second"))
    return tuple(rows)

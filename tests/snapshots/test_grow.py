"""What ``grow`` prints, and its page."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.growth import shop_growth
from fixtures.records import run_info
from fixtures.snapshots import Snapshots, page_sections
from pgclinic.model.grow import SizeStatus
from pgclinic.report.kinds import growth_page
from pgclinic.report.reported import ReportedGrowth
from pgclinic.report.sections.growth.text import growth_text
from pgclinic.report.sections.next.twins import growth_next

PLACES = (("run", "runs/r"), ("report", "runs/r/report.html"))


def test_a_growth(snapshots: Snapshots) -> None:
    one = ReportedGrowth(run_info(), shop_growth(), "runs/r")
    snapshots.check("grow", growth_text(one.growth, PLACES, todo=growth_next(one)))
    snapshots.check_page("grow_page", page_sections(growth_page(one)))


def test_a_growth_of_which_too_little_was_measured(snapshots: Snapshots) -> None:
    found = shop_growth()
    interrupted = replace(
        found,
        sizes=(found.sizes[0], *(replace(one, status=SizeStatus.INTERRUPTED) for one in found.sizes[1:])),
        statements=(),
        server_time=None,
        per_call=None,
        measured_share=0.0,
        relations=(),
        working_set=None,
        vacuums=(),
    )
    one = ReportedGrowth(run_info(), interrupted, "runs/r")
    snapshots.check("grow_interrupted", growth_text(interrupted, PLACES, todo=growth_next(one)))
    snapshots.check_page(
        "grow_interrupted_page", page_sections(growth_page(ReportedGrowth(run_info(), interrupted, "runs/r")))
    )

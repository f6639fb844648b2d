"""The end of an upgrade: what was found is kept, its page written, the answer printed, the exit code found."""

from __future__ import annotations

from pgclinic.cli.compare_end import exit_code
from pgclinic.cli.exit_codes import UNDECIDED
from pgclinic.cli.exports import write_exports
from pgclinic.cli.output import print_json, text_columns
from pgclinic.cli.upgrade import UpgradeRequest
from pgclinic.errors import RunFailedError
from pgclinic.model.upgrade import Upgrade
from pgclinic.report.reported import ReportedUpgrade
from pgclinic.report.sections.next.twins import upgrade_next
from pgclinic.report.sections.upgrade.text import upgrade_output, upgrade_text
from pgclinic.store.run_folder import RunFolder, read_run


def finish_upgrade(folder: RunFolder, found: Upgrade, request: UpgradeRequest) -> int:
    """Keep the answer, write its page and exports, print it, and return the exit code."""
    from pgclinic.report.exports.junit_answers import upgrade_junit_xml
    from pgclinic.report.kinds import UPGRADE, upgrade_page
    from pgclinic.report.markdown import report_markdown

    one = ReportedUpgrade(read_run(folder.path).info, found, str(folder.path))
    report: str | None = None
    problem: RunFailedError | None = None
    try:
        folder.write_upgrade(found)
        report = str(folder.write_report(upgrade_page(one)))
    except RunFailedError as error:
        problem = error
    texts = {
        "--markdown": lambda: report_markdown(UPGRADE, one),
        "--junit": lambda: upgrade_junit_xml(found, strict=request.strict),
    }
    to_stdout = write_exports(request.exports.places, texts, kept_in=folder.path)
    if to_stdout is not None:
        print(to_stdout, end="")
    elif request.as_json:
        print_json(upgrade_output(found, str(folder.path), report))
    else:
        files = [("report", report)] if report is not None else []
        print(upgrade_text(found, files, todo=upgrade_next(one), width=text_columns()))
    if problem is not None:
        raise problem
    if found.comparison is None:
        return UNDECIDED if found.unjudged else 0
    return exit_code(found.comparison, strict=request.strict)

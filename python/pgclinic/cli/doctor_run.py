"""Read this machine, judge the readings and print them."""

from __future__ import annotations

import sys

from pgclinic.cli.doctor import DoctorRequest
from pgclinic.cli.output import is_coloured, print_coloured, print_json, text_columns
from pgclinic.doctor.checks import can_run, examine_machine
from pgclinic.doctor.read import read_machine_state
from pgclinic.model.doctor import DoctorReadings
from pgclinic.model.output import DoctorCheck, DoctorOutput
from pgclinic.report.sections.doctor.text import doctor_text
from pgclinic.report.words.doctor import doctor_answer, found_words

_CANNOT_RUN = 1


def run_doctor(request: DoctorRequest) -> int:
    """Return the exit code: 1 where no server can run."""
    output = doctor_output(read_machine_state())
    if request.as_json:
        print_json(output)
    else:
        print_coloured(doctor_text(output, colour=is_coloured(), width=text_columns()))
    sys.stdout.flush()
    return 0 if output.can_run else _CANNOT_RUN


def doctor_output(readings: DoctorReadings) -> DoctorOutput:
    """The readings, judged and in words; what could not be read is left out."""
    checks = examine_machine(readings)
    worded = (
        DoctorCheck(name=check.name, state=check.state, found=found, command=check.command, cost=check.cost)
        for check in checks
        if (found := found_words(readings, check)) is not None
    )
    return DoctorOutput(
        answer=doctor_answer(readings, checks), can_run=can_run(checks), checks=tuple(worded), readings=readings
    )

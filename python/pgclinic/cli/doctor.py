"""``pgclinic doctor``: what this machine can do, and what would make its verdicts better."""

from pgclinic.cli.options.export import AsJson
from pgclinic.cli.options.record import options


@options
class DoctorRequest:
    """Show what this machine can do, and what would make its verdicts better.

    It takes two seconds, starts no server and changes nothing but a nameless file of 8 kB in PGCLINIC_HOME, whose disk
    is measured by flushing it for half a second. Exit code 1: no server of the lab can run here.
    """

    as_json: AsJson = False

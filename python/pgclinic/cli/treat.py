"""``pgclinic treat``: the treatment of one finding, or of all, as a file. Connects to nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from pgclinic.cli.options.export import Force


def treat(
    run: Annotated[Path, Argument(help="Run folder of a checkup.", metavar="RUN")],
    finding: Annotated[
        str | None,
        Argument(
            help="Number of the finding as the checkup printed it, its key, or its pathology.",
            metavar="FINDING",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            help="Write FILE: SQL, or with the suffix .conf lines for postgresql.conf.",
            metavar="FILE",
        ),
    ] = None,
    treatment: Annotated[
        int | None,
        Option("--treatment", help="Which of several treatments, from 1 [the first that cures].", metavar="N"),
    ] = None,
    everything: Annotated[
        bool, Option("--all", help="Write the treatments of all findings as one psql script, in a safe order.")
    ] = False,
    force: Force = False,
) -> None:
    """Write the treatment of a finding as a commented file with its risk, its lock and its undo.

    Nothing is run, and no server is connected to. Each statement checks first that the session, table, index or slot is
    the one that the checkup saw.
    """
    from pgclinic.errors import UsageError
    from pgclinic.report.exports.treatment_script import treatment_script
    from pgclinic.store.checkup_folder import read_checkup, read_snapshot_of
    from pgclinic.store.document import refuse_existing, write_new

    is_conf = output is not None and output.suffix == ".conf"
    if everything == (finding is not None):
        raise UsageError("--all and a finding are mutually exclusive" if everything else "name a finding, or --all")
    if everything and (treatment is not None or is_conf):
        raise UsageError("--all writes SQL, one treatment for each finding: omit --treatment, and name a .sql file")
    if output is not None:
        refuse_existing(output, force=force)
    if finding is None:
        text = treatment_script(read_checkup(run), read_snapshot_of(run))
    else:
        text = _treatment_text(run, finding, treatment, is_conf=is_conf)
    if output is None:
        print(text, end="")
        return
    write_new(output, text.encode(), force=force)
    print(output)


def _treatment_text(run: Path, finding: str, treatment: int | None, *, is_conf: bool) -> str:
    """Return the treatment of a finding, as SQL or as lines for postgresql.conf. Raises UsageError."""
    from pgclinic.checkup.treat import chosen_treatment, find_finding
    from pgclinic.errors import UsageError
    from pgclinic.report.exports.treatment import treatment_conf, treatment_sql
    from pgclinic.store.checkup_folder import read_checkup, read_snapshot_of

    checkup, snapshot = read_checkup(run), read_snapshot_of(run)
    found = find_finding(checkup, finding)
    chosen = chosen_treatment(found, treatment)
    if not is_conf:
        return treatment_sql(checkup, found, chosen, snapshot)
    if not chosen.settings:
        raise UsageError(f"{chosen.title} changes no setting", hint="name a file with the suffix .sql")
    return treatment_conf(checkup, found, chosen)

"""``pgclinic treat``: the treatment of one finding as a file. Connects to nothing."""

from __future__ import annotations

from pathlib import Path

import typer


def treat(
    run: Path = typer.Argument(..., help="Run folder of a checkup.", metavar="RUN"),
    finding: str = typer.Argument(
        ..., help="Number of the finding as the checkup printed it, its key, or its pathology.", metavar="FINDING"
    ),
    output: Path | None = typer.Option(
        None,
        "-o",
        "--output",
        help="Write FILE: SQL, or with the suffix .conf lines for postgresql.conf.",
        metavar="FILE",
    ),
    treatment: int | None = typer.Option(
        None, "--treatment", help="Which of several treatments, from 1 [the first that cures].", metavar="N"
    ),
    force: bool = typer.Option(False, "--force", help="Replace FILE if it exists."),
) -> None:
    """Write the treatment of a finding as a commented file with its risk, its lock and its undo.

    Nothing is run, and no server is connected to.
    """
    from pgclinic.checkup.treat import chosen_treatment, find_finding
    from pgclinic.errors import UsageError
    from pgclinic.report.treatment_text import treatment_conf, treatment_sql
    from pgclinic.store.checkup_folder import read_checkup
    from pgclinic.store.document import refuse_existing, write_new

    if output is not None:
        refuse_existing(output, force=force)
    checkup = read_checkup(run)
    found = find_finding(checkup, finding)
    chosen = chosen_treatment(found, treatment)
    if output is not None and output.suffix == ".conf":
        if not chosen.settings:
            raise UsageError(f"{chosen.title} changes no setting", hint="name a file with the suffix .sql")
        text = treatment_conf(checkup, found, chosen)
    else:
        text = treatment_sql(checkup, found, chosen)
    if output is None:
        print(text, end="")
        return
    write_new(output, text.encode(), force=force)
    print(output)

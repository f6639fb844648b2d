"""``pgclinic treat``: the treatment of one finding, or of all, as a file. Connects to nothing."""

from __future__ import annotations

from pathlib import Path

import typer


def treat(
    run: Path = typer.Argument(..., help="Run folder of a checkup.", metavar="RUN"),
    finding: str | None = typer.Argument(
        None,
        help="Number of the finding as the checkup printed it, its key, or its pathology.",
        metavar="FINDING",
        show_default=False,
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
    everything: bool = typer.Option(
        False, "--all", help="Write the treatments of all findings as one psql script, in a safe order."
    ),
    force: bool = typer.Option(False, "--force", help="Replace FILE if it exists."),
) -> None:
    """Write the treatment of a finding as a commented file with its risk, its lock and its undo.

    Nothing is run, and no server is connected to. Each statement checks first that the session, table, index or slot is
    the one that the checkup saw.
    """
    from pgclinic.checkup.treat import chosen_treatment, find_finding
    from pgclinic.errors import UsageError
    from pgclinic.report.treatment_script import treatment_script
    from pgclinic.report.treatment_text import treatment_conf, treatment_sql
    from pgclinic.store.checkup_folder import read_checkup, read_snapshot_of
    from pgclinic.store.document import refuse_existing

    if everything == (finding is not None):
        raise UsageError("--all and a finding are mutually exclusive" if everything else "name a finding, or --all")
    if everything and (treatment is not None or (output is not None and output.suffix == ".conf")):
        raise UsageError("--all writes SQL, one treatment for each finding: omit --treatment, and name a .sql file")
    if output is not None:
        refuse_existing(output, force=force)
    checkup, snapshot = read_checkup(run), read_snapshot_of(run)
    if finding is None:
        _write(treatment_script(checkup, snapshot), output, force=force)
        return
    found = find_finding(checkup, finding)
    chosen = chosen_treatment(found, treatment)
    if output is not None and output.suffix == ".conf":
        if not chosen.settings:
            raise UsageError(f"{chosen.title} changes no setting", hint="name a file with the suffix .sql")
        text = treatment_conf(checkup, found, chosen)
    else:
        text = treatment_sql(checkup, found, chosen, snapshot)
    _write(text, output, force=force)


def _write(text: str, output: Path | None, *, force: bool) -> None:
    from pgclinic.store.document import write_new

    if output is None:
        print(text, end="")
        return
    write_new(output, text.encode(), force=force)
    print(output)

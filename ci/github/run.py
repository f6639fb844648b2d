"""One step of the action: run a verb of pgclinic, and keep its exit code, report, Markdown and JUnit for later steps.

It reads PGCLINIC_VERB, PGCLINIC_ARGUMENTS and PGCLINIC_NAME, and needs nothing but the standard library.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

VERBS = ("compare", "study run", "upgrade", "checkup")


def main() -> int:
    verb = " ".join(os.environ["PGCLINIC_VERB"].split())
    if verb not in VERBS:
        print(f"::error::verb {verb!r} is none of {', '.join(VERBS)}")
        return 1
    try:
        arguments = shlex.split(os.environ["PGCLINIC_ARGUMENTS"])
    except ValueError as error:
        print(f"::error::arguments: {error}")
        return 1
    folder = folder_of(os.environ["PGCLINIC_NAME"])
    markdown = folder / "report.md"
    exports = ["--runs", str(folder / "runs"), "--junit", str(folder / "junit.xml"), "--markdown", str(markdown)]
    command = [sys.executable, "-m", "pgclinic", *verb.split(), *arguments, *exports, "--force"]
    code = subprocess.run(command, check=False).returncode
    append("GITHUB_OUTPUT", f"exit-code={code}\nfolder={folder}\n")
    if markdown.is_file():
        append("GITHUB_STEP_SUMMARY", markdown.read_text(encoding="utf-8"))
    # The last step fails the job, when report and comment are there.
    return 0


def folder_of(name: str) -> Path:
    """A folder for this job's files; a name that is no file's name is made one."""
    folder = Path(os.environ["RUNNER_TEMP"]) / f"pgclinic-{re.sub('[^A-Za-z0-9._-]', '-', name)}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def append(variable: str, text: str) -> None:
    """Add to the file that a later step reads."""
    with Path(os.environ[variable]).open("a", encoding="utf-8") as out:
        out.write(text)


if __name__ == "__main__":
    sys.exit(main())

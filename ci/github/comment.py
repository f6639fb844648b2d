"""One step of the action: the Markdown of the report as a comment on the pull request, replaced by later runs.

It reads PGCLINIC_NAME, PGCLINIC_FOLDER, PGCLINIC_TOKEN and GitHub's own variables, and needs nothing but the standard
library. A comment that cannot be written is a warning: the answer is in the job's summary too.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

#: GitHub refuses longer comments.
LENGTH_MAX = 65_000
_PAGE = 100
_TIMEOUT_S = 30


def main() -> int:
    markdown = Path(os.environ["PGCLINIC_FOLDER"] or ".") / "report.md"
    if not os.environ["PGCLINIC_FOLDER"] or not markdown.is_file():
        print("::warning::there is no report to comment with")
        return 0
    name = os.environ["PGCLINIC_NAME"]
    marker = f"<!-- pgclinic: {name.replace('--', '-')} -->"
    body = f"{marker}\n{shortened(markdown.read_text(encoding='utf-8'))}\n{run_link()}"
    try:
        write(marker, body)
    except (urllib.error.URLError, OSError, ValueError, KeyError) as error:
        print(f"::warning::the comment could not be written: {error}")
    return 0


def write(marker: str, body: str) -> None:
    """Replace the comment that has this marker, or add one."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    issues = f"repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    comments = f"{issues}/{event['pull_request']['number']}/comments"
    known = find(comments, marker)
    if known is None:
        request("POST", comments, {"body": body})
    else:
        request("PATCH", f"{issues}/comments/{known}", {"body": body})


def find(comments: str, marker: str) -> int | None:
    """The number of the comment that begins with the marker."""
    page = 1
    while found := request("GET", f"{comments}?per_page={_PAGE}&page={page}"):
        for one in found:
            if str(one["body"]).startswith(marker):
                return int(one["id"])
        if len(found) < _PAGE:
            break
        page += 1
    return None


def request(method: str, path: str, content: dict[str, str] | None = None) -> Any:
    """What the API answers."""
    asked = urllib.request.Request(
        f"{os.environ['GITHUB_API_URL']}/{path}",
        method=method,
        data=None if content is None else json.dumps(content).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['PGCLINIC_TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(asked, timeout=_TIMEOUT_S) as answer:
        return json.load(answer)


def shortened(text: str) -> str:
    """As much of the text as a comment may have."""
    if len(text) <= LENGTH_MAX:
        return text
    return f"{text[:LENGTH_MAX].rsplit(chr(10), 1)[0]}\n\n(The report is longer; the artifact has all of it.)\n"


def run_link() -> str:
    """Where the artifact with the whole report is."""
    repository = f"{os.environ['GITHUB_SERVER_URL']}/{os.environ['GITHUB_REPOSITORY']}"
    return f"The whole report is an [artifact of this run]({repository}/actions/runs/{os.environ['GITHUB_RUN_ID']}).\n"


if __name__ == "__main__":
    sys.exit(main())

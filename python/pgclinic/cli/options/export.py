"""Options of the output: JSON, files, and the formats that other programs read."""

from pathlib import Path
from typing import Annotated

from typer import Option

AsJson = Annotated[bool, Option("--json", help="Print JSON.")]
Force = Annotated[bool, Option("--force", help="Overwrite existing files.")]
Html = Annotated[Path | None, Option("--html", help="Write an HTML page with a chart.", metavar="FILE")]
Export = Annotated[
    tuple[str, ...],
    Option(
        "--export",
        help="Export live figures: prometheus:127.0.0.1:9187 or otlp:http://127.0.0.1:4318; repeatable.",
        metavar="RECEIVER",
    ),
]
Plain = Annotated[bool, Option("--plain", help="Show progress as plain lines, also on a terminal.")]
JsonFile = Annotated[Path | None, Option("-o", "--output", help="Write JSON to FILE.", metavar="FILE")]
Markdown = Annotated[str | None, Option("--markdown", help="Write Markdown; - is stdout.", metavar="FILE")]
Junit = Annotated[str | None, Option("--junit", help="Write JUnit XML; - is stdout.", metavar="FILE")]

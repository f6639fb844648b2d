"""Options of an answer about two arms: when it fails a build."""

from typing import Annotated

from typer import Option

FailIf = Annotated[
    tuple[str, ...],
    Option("--fail-if", help='Exit with 3 if the whole CI satisfies it: "b<0.95a", "b.p99>1.1a".', metavar="THRESHOLD"),
]
Strict = Annotated[bool, Option("--strict", help="Exit with 4 if the answer is undecided.")]

"""The terms of the project in the documents, and in every text that has a snapshot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "BENCHMARKS.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
SCREENS = sorted((ROOT / "tests" / "snapshots" / "texts").rglob("*.txt"))
UNWANTED = {
    r"\bprelude": "A/A calibration",
    r"always-valid|valid under any number of looks": "confidence sequence",
    r"null zone": "equivalence margin",
    r"\b(is|are|be|was) told\b|can tell (?!\w+ apart)|told apart": "report, detect, distinguish",
    r"^(?!# TYPE ).*\bgauges?\b(?!`)": "custom metric",
    r"\brungs?\b(?!-)": "step",
    r"mechanism moved": "mechanism confirmed",
    r"\bbegun\b|g(oes|o|one) on with|cut off\b": "started, resumed, interrupted",
    r"exclude each other": "are mutually exclusive",
    r"is no (valid )?(duration|number)\b": "is not a valid duration",
    r"neither more nor fewer": "exactly",
    r"\bforeign machine": "a different machine",
    r"95 (%|per cent) interval": "95 % CI",
    r"\d us\b": "µs",
}


@pytest.mark.parametrize("path", DOCUMENTS + SCREENS, ids=lambda path: str(path.relative_to(ROOT)))
def test_texts_use_the_terms_of_the_project(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    # What a program printed is checked where it is printed.
    text = re.sub(r"^```text\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    found = [
        f"{match[0]!r}; write {instead}: {line}"
        for line in text.splitlines()
        for pattern, instead in UNWANTED.items()
        if (match := re.search(pattern, line, re.IGNORECASE))
    ]
    assert not found

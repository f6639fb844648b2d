"""Where English may stand: verdicts, doubts and analyses are typed, and the report words them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "python" / "pgclinic"
PURE = [
    *sorted((PACKAGE / "judge").rglob("*.py")),
    *sorted((PACKAGE / "analysis").rglob("*.py")),
    *sorted((PACKAGE / "stats").rglob("*.py")),
    *(PACKAGE / "trial" / f"{name}.py" for name in ("doubts", "machine_doubts", "steadiness", "checkpoints")),
]
#: A literal with so many words is a sentence, or a good part of one.
WORDS = 4


def sentences_in(source: str) -> list[str]:
    """Literals of four words and more that are neither docstrings nor the text of an error."""
    tree = ast.parse(source)
    excused = {id(literal) for node in ast.walk(tree) if is_excused(node) for literal in ast.walk(node)}
    docstrings = set(docstrings_of(tree))
    return [
        literal.value
        for literal in ast.walk(tree)
        if isinstance(literal, ast.Constant)
        and isinstance(literal.value, str)
        and id(literal) not in excused | docstrings
        and sum(word.isalpha() for word in literal.value.split()) >= WORDS
    ]


def is_excused(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        return name.endswith("Error")
    return isinstance(node, ast.Raise | ast.Assert)


def docstrings_of(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield id(first.value)


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_sentence_stands_below_the_report(path: Path) -> None:
    assert sentences_in(path.read_text(encoding="utf-8")) == []


def test_a_sentence_is_seen_and_an_error_s_text_is_not() -> None:
    assert sentences_in('"""A text about this module."""\nx = f"{1} of the blocks can be used"')
    assert not sentences_in(
        'def f():\n    """A text about this function."""\n    raise ValueError("it is not so at all")'
    )


def test_a_condition_is_what_else_happens_beside_a_load() -> None:
    """A --fail-if expression is a Threshold, and a rule of TPC-C a ConsistencyCondition."""
    named = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and node.name == "Condition"
    ]
    assert named == ["model/study.py"]

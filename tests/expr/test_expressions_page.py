"""The page of `linkwork.expr` documents every function as the table of operations does.

`python -m pytest tests/expr/test_expressions_page.py --update-golden` writes its table anew.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np

from linkwork import expr
from linkwork.expr.scalar import functions
from linkwork.expr.scalar.operations import Operation
from linkwork.expr.scalar.symbol import Graph

PAGE = Path(__file__).parents[2] / "docs" / "expressions.md"
HEAD = "| function | | on arrays of symbols also |\n|---|---|---|\n"


def numpys(function: Any) -> str:
    """Return NumPy's functions that give the same on arrays of symbols."""
    row: Operation = function.operation
    names = []
    for name in dict.fromkeys((*row.arrays, getattr(row.value, "__name__", ""))):
        symbols = [np.array([x], dtype=object) for x in Graph().inputs("x", (row.arity,))]
        try:
            (result,) = getattr(np, name)(*symbols)
        except (AttributeError, TypeError):
            continue
        if result is function(*(x[0] for x in symbols)):
            names.append(f"`np.{name}`")
    return ", ".join(names)


def table() -> str:
    lines = []
    for function in (getattr(expr, name) for name in vars(functions) if name in expr.__all__):
        arguments = ", ".join(inspect.signature(function).parameters)
        text = " ".join(function.operation.doc.split()).rstrip(".").replace("``", "`")
        lines.append(f"| `{function.__name__}({arguments})` | {text} | {numpys(function)} |\n".replace("|  |", "| |"))
    return HEAD + "".join(lines)


def test_expressions_page_has_the_current_table_of_functions(update_golden: bool) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(HEAD)
    rows = after[: after.index("\n\n") + 1] if not after.startswith("\n") else ""
    if update_golden:
        PAGE.write_text(before + table() + after[len(rows) :], encoding="utf-8")
        return
    assert HEAD + rows == table(), "python -m pytest tests/expr/test_expressions_page.py --update-golden writes it anew"


def test_expressions_page_names_every_function() -> None:
    text = PAGE.read_text(encoding="utf-8")
    loops = (PAGE.parent / "control_flow.md").read_text(encoding="utf-8")
    assert all(
        f"`{name}(" in text or f"{name}(" in loops for name in expr.__all__ if name not in ("linalg", "optimize")
    )
    assert "docs/expressions.md" in str(expr.__doc__)

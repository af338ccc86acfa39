"""Weak mutation testing: list changes of limits, guards and logic that make no difference in a run of the tests.

``python -m tools.weak_mutation [PYTEST ARGUMENT ...]`` runs the tests once.  Each comparison of linkwork's source is
evaluated beside its mutants (see `tools.mutation`), and the values of conditions and of operands of ``and`` and ``or``
are recorded.  A mutant whose value never differs survives all tests, so the list needs no run for each mutant.
Mutants that differ may survive as well: their tests may not look at the result.  Method: W. E. Howden, "Weak mutation
testing and completeness of test sets", 1982.
"""

from __future__ import annotations

import ast
import atexit
import builtins
import json
import operator
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
SOURCE = "src/linkwork"
FOLDER = "LINKWORK_WEAK_MUTATION"  # environment variable: where each process writes what it recorded
TRUE, FALSE, SYMBOL = 1, 2, 4  # values that occurred; SYMBOL: not a truth value, such as a comparison of symbols
CHANGES: dict[int, tuple[int, float, float]] = {  # flag of a change that made a difference: operand, factor, increment
    8: (0, 10.0, 0.0), 16: (1, 10.0, 0.0), 32: (0, 1.5, 0.0), 64: (1, 1.5, 0.0), 128: (0, 1.0, 1.0), 256: (1, 1.0, 1.0),
}  # fmt: skip
EQUAL = 512  # the operands were equal, so that < differs from <=
ALL = sum(CHANGES) | EQUAL | TRUE | FALSE
EACH, SOMETIMES = 2000, 31  # evaluations of a site that are all examined; then one in 32
OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
OPPOSITE = {operator.lt: operator.le, operator.le: operator.lt, operator.gt: operator.ge, operator.ge: operator.gt}

Site = tuple[str, str, int, int]  # file, "comparison", "condition" or "operands", offsets of its text
_sites: list[Site] = []
_operators: list[Any] = []
_flags: list[int] = []
_counts: list[int] = []


def _compared(site: int, left: Any, right: Any) -> Any:
    """Return the value of a comparison, and record which changes of it have another value."""
    compare = _operators[site]
    result = compare(left, right)
    _counts[site] = count = _counts[site] + 1
    if _flags[site] & ALL != ALL and (count < EACH or not count & SOMETIMES):
        try:
            _flags[site] |= _differences(compare, left, right, result)
        except Exception:  # operands of other types, such as sets, or arithmetic that fails
            _flags[site] |= SYMBOL
    return result


def _differences(compare: Any, left: Any, right: Any, result: Any) -> int:
    values = np.asarray(result)
    if values.dtype != bool:
        return SYMBOL
    flags = (TRUE if values.any() else 0) | (0 if values.all() else FALSE)
    with np.errstate(all="ignore"):
        if np.any(OPPOSITE[compare](left, right) != values):
            flags |= EQUAL
        for flag, (operand, factor, increment) in CHANGES.items():
            changed = (left, right)[operand] * factor + increment
            if np.any(compare(*((changed, right) if operand == 0 else (left, changed))) != values):
                flags |= flag
    return flags


def _is_true(site: int, value: Any) -> Any:
    """Return a value, and record if it counts as true."""
    if _flags[site] & (TRUE | FALSE) != TRUE | FALSE:
        try:
            _flags[site] |= TRUE if value else FALSE
        except Exception:  # symbols, and arrays of several values
            _flags[site] |= SYMBOL
    return value


class _Recorded(ast.NodeTransformer):
    """Replaces comparisons, conditions and operands by calls that record their values."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file = file
        self.starts = _starts(source)

    def site(self, node: Any, kind: str, compare: Callable[..., Any] | None = None) -> ast.Constant:
        start, end = (self.starts[line - 1] for line in (node.lineno, node.end_lineno))
        _sites.append((self.file, kind, start + node.col_offset, end + node.end_col_offset))
        _operators.append(compare)
        _flags.append(0)
        _counts.append(0)
        return ast.copy_location(ast.Constant(len(_sites) - 1), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        compare = OPERATORS.get(type(node.ops[0])) if len(node.ops) == 1 else None
        site = self.site(node, "comparison", compare) if compare else None
        self.generic_visit(node)
        return _call(_compared, site, node, node.left, *node.comparators) if site else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        site = self.site(node, "operands")
        self.generic_visit(node)
        node.values[1:] = [_call(_is_true, site, value, value) for value in node.values[1:]]
        return node

    def _visit_condition(self, node: ast.If | ast.IfExp) -> ast.AST:
        site = self.site(node.test if isinstance(node, ast.If) else node, "condition")
        self.generic_visit(node)
        node.test = _call(_is_true, site, node.test, node.test)
        return node

    visit_If = visit_IfExp = _visit_condition


def _call(function: Callable[..., Any], site: ast.Constant, replaced: ast.AST, *arguments: Any) -> Any:
    name = ast.Name(_name(function), ast.Load())
    return ast.copy_location(ast.Call(name, [site, *arguments], []), replaced)


def _name(function: Callable[..., Any]) -> str:
    """Return a function's name among the built-in ones, which recorded code calls."""
    return f"__linkwork{function.__name__}__"


def _starts(source: bytes) -> list[int]:
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def recorded(file: str, source: bytes, path: str) -> Any:
    """Return the code of a file with calls that record."""
    tree = _Recorded(file, source).visit(ast.parse(source))
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def record(folder: Path) -> None:
    """Record in this process from now on, and write into a folder at its end.  linkwork must not be imported yet."""
    assert "linkwork" not in sys.modules
    vars(builtins).update({_name(function): function for function in (_compared, _is_true)})
    get_code = SourceFileLoader.get_code

    def get_recorded(self: SourceFileLoader, name: str) -> Any:
        path = Path(self.get_filename(name))
        if not path.is_relative_to(ROOT / SOURCE):
            return get_code(self, name)
        return recorded(path.relative_to(ROOT).as_posix(), path.read_bytes(), str(path))

    SourceFileLoader.get_code = get_recorded  # type: ignore[method-assign,assignment]
    process = os.getpid()

    def write() -> None:
        if os.getpid() == process:  # not in forked copies
            text = json.dumps([*zip(_sites, _flags, strict=True)])
            (folder / f"{process}.json").write_text(text, encoding="utf-8")

    atexit.register(write)


def values(folder: Path) -> dict[Site, int]:
    """Return the flags of each site, of all processes together."""
    result: Counter[Site] = Counter()
    for path in folder.glob("*.json"):
        for site, flags in json.loads(path.read_text(encoding="utf-8")):
            result[tuple(site)] |= flags
    return result


def undistinguished(file: str, source: bytes, flags: dict[Site, int]) -> Iterator[tuple[Any, str]]:
    """Generate the mutants of a file that made no difference, each with "equal" or "not run"."""
    from tools.mutation import _mutants

    text = source.decode()
    sites = {(kind, start, end): value for (name, kind, start, end), value in flags.items() if name == file}
    comparisons = [(start, end) for kind, start, end in sites if kind == "comparison"]

    def split(start: int, end: int) -> tuple[str, str]:
        node: Any = ast.parse(f"({source[start:end].decode()})", mode="eval").body
        return ast.unparse(node.left), ast.unparse(node.comparators[0])

    for mutant in _mutants(file, source):
        offsets, is_small = (mutant.start, mutant.end), mutant.kind == "tolerance"
        constant = re.match(r"(_?[A-Z]\w*)\b[^=\n]*= ", text.splitlines()[mutant.line - 1])
        if mutant.kind == "limit" and ("comparison", *offsets) in sites:
            results = [(sites["comparison", *offsets], EQUAL)]
        elif mutant.kind == "guard" and ("condition", *offsets) in sites:
            results = [(sites["condition", *offsets], TRUE)]
        elif mutant.kind == "logic" and ("operands", *offsets) in sites:
            is_or = any(isinstance(x, ast.And) for x in ast.walk(ast.parse(mutant.text, mode="eval")))
            results = [(sites["operands", *offsets], TRUE if is_or else FALSE)]
        elif mutant.kind in ("tolerance", "constant"):
            by_side = (8, 16) if is_small else (32 | 128, 64 | 256)
            if constant:
                word = re.compile(rf"\b{constant[1]}\b")
                uses = [(x, side) for x in comparisons for side, part in enumerate(split(*x)) if word.search(part)]
            else:
                within = [(start, end) for start, end in comparisons if start <= mutant.start and mutant.end <= end]
                within = sorted(within, key=lambda x: x[1] - x[0])[:1]
                uses = [(x, int(mutant.start - x[0] >= len(split(*x)[0].encode()))) for x in within]
            results = [(sites["comparison", *x], by_side[side]) for x, side in uses]
        else:
            continue
        if results and not any(value & (flag | SYMBOL) for value, flag in results):
            yield mutant, "equal" if any(value for value, _ in results) else "not run"


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="linkwork-weak-") as folder:
        path = os.pathsep.join(filter(None, (str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
        environment = os.environ | {FOLDER: folder, "PYTHONPATH": path}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.weak_mutation", *arguments]
        code = subprocess.run(command, cwd=ROOT, env=environment).returncode
        flags = values(Path(folder))
    counts: Counter[tuple[str, str]] = Counter()
    for file in sorted({site[0] for site in flags}):
        for mutant, state in undistinguished(file, (ROOT / file).read_bytes(), flags):
            counts[mutant.kind, state] += 1
            print(f"{mutant.shown()}  ({state})")
    for (kind, state), number in sorted(counts.items()):
        print(f"{kind:12} {state:8} {number}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
elif FOLDER in os.environ and "pytest" in sys.modules:
    record(Path(os.environ[FOLDER]))

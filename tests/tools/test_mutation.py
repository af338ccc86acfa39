"""Mutants of a small file: one of each kind, none in texts, and tests that notice one of them."""

import ast

import pytest

pytest.importorskip("coverage")

from tools import mutation

SOURCE = '''"""A limit."""
_TOLERANCE = 1e-6


def f(x: int, y: float = 0.25) -> float:
    """Return 1 + 1."""
    if x < 0:
        raise ValueError(f"expected {x + 1} > 0")
    return pow(x, y) - 2.0 * x if x > _TOLERANCE and y else -y


class A:
    def __repr__(self) -> str:
        return "a" * (1 + 2)
'''


def test_mutation_testing_mutates_each_kind_of_expression_but_no_strings():
    results = [*mutation._mutants("src/linkwork/a.py", SOURCE.encode())]
    shown = {(x.kind, x.shown().partition("] ")[2]) for x in results}
    assert shown >= {
        ("tolerance", f"1e-6  ->  {1e-6 * 10.0}"),
        ("constant", "0.25  ->  0.375"),
        ("limit", "x < 0  ->  (x <= 0)"),
        ("comparison", "x < 0  ->  (x > 0)"),
        ("guard", "x < 0  ->  False"),
        ("logic", "x > _TOLERANCE and y  ->  (x > _TOLERANCE or y)"),
        ("arguments", "pow(x, y)  ->  pow(y, x)"),
        ("term", "pow(x, y) - 2.0 * x  ->  pow(x, y)"),
        ("sign", "-y  ->  y"),
    }
    assert {x.line for x in results} == {2, 5, 7, 9}
    for mutant in results:
        assert ast.dump(ast.parse(mutant.program)) != ast.dump(ast.parse(SOURCE)), mutant
    (tolerance,) = (x for x in results if x.kind == "tolerance")
    assert tolerance.lines == (2, 9)  # where it is defined and used


def test_mutation_testing_skips_changes_that_leave_results_equal():
    source = "_FEW = 4\n_CLOSE = 1e-9\ny = max(a, b) if is_zero(c) else n > _FEW and x < _CLOSE and z <= 0.3\n"
    source += "w = 1.0 / max(d, 1e-300)\n"
    kinds = {(x.kind, x.text) for x in mutation._mutants("src/linkwork/a.py", source.encode())}
    assert not {kind for kind, _ in kinds} & {"limit", "arguments", "guard"}
    assert kinds >= {("tolerance", "1e-08"), ("comparison", "(n < _FEW)"), ("comparison", "(x > _CLOSE)")}
    assert ("constant", "5") not in kinds and ("tolerance", "1e-299") not in kinds


@pytest.mark.slow(every=9)
def test_mutation_testing_names_the_test_that_fails_for_a_mutant(tmp_path):
    file = "src/linkwork/spatial/vectors.py"
    mutants = mutation._mutants(file, (mutation.ROOT / file).read_bytes())
    product = next(x for x in mutants if x.kind == "term" and " * " in x.shown())
    tree = mutation.Tree(tmp_path)
    noticed = tree.outcome(product, ["tests/spatial/test_algebra.py"], is_drawn=False)
    assert noticed is not None and noticed.startswith("tests/spatial/test_algebra.py::")
    assert (tmp_path / file).read_bytes() == (mutation.ROOT / file).read_bytes()
    assert tree.failure("src/linkwork/compiler/codegen/jit.py", ["tests/tools/test_positions.py"]) is None

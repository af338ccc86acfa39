"""First to third derivatives of all functions of linear algebra at special matrices, against mpmath.

The references are textbook formulas on numbers of 110 digits, differentiated by central differences.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest

from helpers.matrices import objects, random
from linkwork.expr import linalg
from linkwork.expr.arrays.symbol_array import SymbolArray
from linkwork.expr.autodiff.graph_derivative import adjoint, tangent
from linkwork.expr.linalg import numpy_linalg
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph

Matrix = Any
Array = np.ndarray[Any, Any]
STEP = mpmath.mpf(10) ** -20  # of differences: their errors are some 1e-40


class Case(NamedTuple):
    """A function of matrices, the same on mpmath's matrices, and the matrices to try."""

    name: str
    function: Callable[..., Any]
    exact: Callable[..., list[Any]]
    points: list[tuple[Array, ...]]


def elements(matrix: Matrix) -> list[Any]:
    return [matrix[i, j] for i in range(matrix.rows) for j in range(matrix.cols)]


def symmetric(a: Matrix) -> Matrix:
    """The symmetric matrix of a lower triangle."""
    return mpmath.matrix([[a[max(i, j), min(i, j)] for j in range(a.cols)] for i in range(a.rows)])


def determinant(a: Matrix) -> Any:
    """Determinant as a polynomial, by permutations."""
    total = mpmath.mpf(0)
    for order in itertools.permutations(range(a.rows)):
        swaps = sum(order[i] > order[j] for i in range(a.rows) for j in range(i + 1, a.rows))
        total += (-1) ** swaps * mpmath.fprod(a[i, j] for i, j in enumerate(order))
    return total


def lower_upper(a: Matrix) -> tuple[Matrix, Matrix]:
    """Factors L and U without exchanges."""
    n, u, lower = a.rows, a.copy(), mpmath.eye(a.rows)
    for k in range(n):
        for i in range(k + 1, n):
            lower[i, k] = u[i, k] / u[k, k]
            for j in range(n):
                u[i, j] -= lower[i, k] * u[k, j]
    return lower, u


def ldl(a: Matrix) -> list[Any]:
    lower, u = lower_upper(symmetric(a))
    return [*elements(lower), *(u[i, i] for i in range(a.rows))]


def ltdl(a: Matrix) -> list[Any]:
    """LᵀDL factors, from LDLᵀ of the matrix in reverse order."""
    n, a = a.rows, symmetric(a)
    lower, u = lower_upper(mpmath.matrix([[a[n - 1 - i, n - 1 - j] for j in range(n)] for i in range(n)]))
    turned = [lower[n - 1 - j, n - 1 - i] for i in range(n) for j in range(n)]
    return [*turned, *(u[n - 1 - i, n - 1 - i] for i in range(n))]


def qr(a: Matrix) -> list[Any]:
    """QR by Gram and Schmidt; each column of Q has the sign of that for the unperturbed matrix."""
    rounded = np.array([[round(float(a[i, j]), 12) + 0.0 for j in range(a.cols)] for i in range(a.rows)])
    signs, k = linalg.qr(rounded).Q, min(a.rows, a.cols)
    q = mpmath.zeros(a.rows, k)
    for j in range(k):
        column = a[:, j]
        for i in range(j):
            column -= q[:, i] * (q[:, i].T * a[:, j])[0]
        column /= mpmath.norm(column)
        agreement = sum(column[i] * mpmath.mpf(signs[i, j]) for i in range(a.rows))
        q[:, j] = column * mpmath.sign(agreement)
    r = q.T * a
    return [*elements(q), *(r[i, j] if i <= j else mpmath.mpf(0) for i in range(k) for j in range(a.cols))]


def eigenvalues(a: Matrix) -> list[Any]:
    return sorted(mpmath.eigsy(symmetric(a), eigvals_only=True))


def singular_values(a: Matrix) -> list[Any]:
    values = mpmath.svd_r(a if a.rows >= a.cols else a.T, compute_uv=False)
    return sorted(values, reverse=True)


def least_squares(a: Matrix, b: Matrix) -> list[Any]:
    if a.rows >= a.cols:
        return elements(mpmath.lu_solve(a.T * a, a.T * b))
    return elements(a.T * mpmath.lu_solve(a * a.T, b))


def damped(a: Matrix, b: Matrix, damping: Matrix) -> list[Any]:
    return elements(mpmath.lu_solve(a.T * a + damping[0] ** 2 * mpmath.eye(a.cols), a.T * b))


def inverse(a: Matrix) -> list[Any]:
    return elements(a**-1)


def pseudoinverse(a: Matrix) -> list[Any]:
    tall = a if a.rows >= a.cols else a.T
    result = (tall.T * tall) ** -1 * tall.T
    return elements(result if a.rows >= a.cols else result.T)


def polar(a: Matrix) -> list[Any]:
    """The orthogonal factor U Vᵀ, A (AᵀA)^-½."""
    values, v = mpmath.eigsy(a.T * a)
    return elements(a * v * mpmath.diag([1 / mpmath.sqrt(x) for x in values]) * v.T)


def projector(a: Matrix, chosen: Callable[[Sequence[Any]], Sequence[int]]) -> list[Any]:
    """Σ v vᵀ over eigenvectors that are chosen by the ascending eigenvalues."""
    values, v = mpmath.eigsy(symmetric(a))
    order = sorted(range(a.rows), key=lambda k: values[k])
    total = mpmath.zeros(a.rows)
    for k in chosen(range(a.rows)):
        column = v[:, order[k]]
        total += column * column.T
    return elements(total)


def power_norm(ord: int) -> Callable[[Matrix], list[Any]]:
    return lambda a: [mpmath.root(mpmath.fsum(abs(x) ** ord for x in elements(a)), ord)]


TURN = np.linalg.qr(random(5, 3, 3))[0]
TURN4 = np.linalg.qr(random(6, 4, 4))[0]
SQUARE = {
    "identity": np.eye(3),
    "diagonal": np.diag([2.0, -1.0, 3.0]),
    "upper": np.array([[1.0, 2.0, 0.0], [0.0, 3.0, -1.0], [0.0, 0.0, 2.0]]),
    "lower": np.array([[1.0, 0.0, 0.0], [0.5, 3.0, 0.0], [0.0, -1.0, 2.0]]),
    "exchange": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [-3.0, 0.0, 0.0]]),
    "with zeros": np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 1.0]]),
    "random": random(1, 3, 3),
}
SINGULAR = {
    "zero": np.zeros((3, 3)),
    "unit": np.diag([1.0, 0.0, 0.0]),
    "rank one": np.outer([1.0, 2.0, 2.0], [2.0, -1.0, 0.5]),
    "rank two": np.diag([0.0, 2.0, 1.0]),
}
POSITIVE = {
    "identity": np.eye(3),
    "diagonal": np.diag([2.0, 1.0, 3.0]),
    "banded": np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]]),
    "two equal": np.array([[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]]),
}
TALL = {
    "upper": np.array([[1.0, 2.0], [0.0, 3.0], [0.0, 0.0]]),
    "orthonormal": np.eye(3)[:, :2],
    "with zeros": np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0]]),
    "random": random(2, 3, 2),
}
WIDE = {name: a.T for name, a in TALL.items()}
FOUR = [np.eye(4), np.diag([1.0, 0.0, 2.0, 3.0]), np.diag([0.0, 0.0, 2.0, 3.0]), np.diag([0.0, 4.0, 0.0, 0.0])]
FOUR += [np.zeros((4, 4)), np.eye(4, k=1), np.ones((4, 4)), random(3, 4, 4), random(4, 4, 2) @ random(5, 2, 4)]
SIDES = (np.array([1.0, 0.0, 2.0]), np.zeros(3))


def special_matrices(group: dict[str, Array], names: str) -> dict[str, Array]:
    return {name: group[name] for name in names.split(", ")}


def each(*groups: dict[str, Array]) -> list[tuple[Array, ...]]:
    return [(a,) for group in groups for a in group.values()]


def sided(matrices: dict[str, Array]) -> list[tuple[Array, ...]]:
    return [(a, b[: len(a)]) for a in matrices.values() for b in SIDES]


def sums(function: Callable[[Any], Any], *clusters: Sequence[int]) -> Callable[[Any], Any]:
    return lambda a: [sum((function(a)[k] for k in cluster), 0.0) for cluster in clusters]


SIMPLE = [np.diag([3.0, 1.0, -2.0]), np.diag([0.0, 1.0, 2.0]), POSITIVE["banded"], SQUARE["with zeros"]]
FIRST = [np.diag([1.0, 2.0, 2.0]), np.diag([-1.0, 0.0, 0.0]), TURN @ np.diag([1.0, 2.0, 2.0]) @ TURN.T]
MIDDLE = [np.diag([1.0, 2.0, 2.0, 3.0]), TURN4 @ np.diag([1.0, 2.0, 2.0, 3.0]) @ TURN4.T]

CASES = [
    Case("solve", linalg.solve, lambda a, b: elements(mpmath.lu_solve(a, b)), sided(SQUARE)),
    Case(
        "solve of a positive matrix",
        lambda a, b: linalg.solve(a, b, assume="pos"),
        lambda a, b: elements(mpmath.lu_solve(symmetric(a), b)),
        sided(POSITIVE),
    ),
    Case(
        "solve_triangular",
        lambda a, b: linalg.solve_triangular(a, b, lower=True),
        lambda a, b: elements(
            mpmath.lu_solve(mpmath.matrix([[a[i, j] if j <= i else 0 for j in range(3)] for i in range(3)]), b)
        ),
        sided(SQUARE | {"exchange": np.eye(3), "with zeros": np.eye(3)}),
    ),
    Case("inv", linalg.inv, inverse, each(SQUARE)),
    Case(
        "inv of a positive matrix",
        lambda a: linalg.inv(a, assume="pos"),
        lambda a: inverse(symmetric(a)),
        each(POSITIVE),
    ),
    Case("det", linalg.det, lambda a: [determinant(a)], [*each(SQUARE, SINGULAR), *((a,) for a in FOUR)]),
    Case(
        "det of a triangle",
        lambda a: linalg.det(a, assume="upper"),
        lambda a: [mpmath.fprod(a[i, i] for i in range(3))],
        each(SQUARE, SINGULAR),
    ),
    Case(
        "det of a positive matrix",
        lambda a: linalg.det(a, assume="pos"),
        lambda a: [determinant(symmetric(a))],
        each(POSITIVE),
    ),
    Case("slogdet", lambda a: linalg.slogdet(a)[1], lambda a: [mpmath.log(abs(determinant(a)))], each(SQUARE)),
    Case("cholesky", linalg.cholesky, lambda a: elements(mpmath.cholesky(symmetric(a))), each(POSITIVE)),
    Case("ldl", linalg.ldl, ldl, each(POSITIVE)),
    Case("ltdl", linalg.ltdl, ltdl, each(POSITIVE)),
    Case(
        "lu",
        lambda a: linalg.lu(a)[:2],
        lambda a: [x for factor in lower_upper(a) for x in elements(factor)],
        each(special_matrices(SQUARE, "identity, diagonal, upper, lower")),
    ),
    Case("qr", linalg.qr, qr, each(SQUARE, TALL, WIDE, {"last": np.diag([1.0, 2.0, 0.0])})),
    Case("lstsq", linalg.lstsq, least_squares, [*sided(SQUARE), *sided(TALL), *sided(WIDE)]),
    Case(
        "lstsq with damping",
        lambda a, b, damping: linalg.lstsq(a, b, damping=damping[0]),
        damped,
        [(a, b, np.array([0.5])) for a, b in (*sided(SQUARE), *sided(SINGULAR), *sided(TALL), *sided(WIDE))],
    ),
    Case("pinv", linalg.pinv, pseudoinverse, each(SQUARE, TALL, WIDE)),
    Case(
        "pinv of constant rank",
        lambda b, c: linalg.pinv(b @ c),
        lambda b, c: elements(c.T * (c * c.T) ** -1 * (b.T * b) ** -1 * b.T),
        [(np.array([[1.0], [0.0], [2.0]]), np.array([[0.0, 1.0, -1.0]])), (TALL["upper"], WIDE["with zeros"])],
    ),
    Case("eigvalsh", linalg.eigvalsh, eigenvalues, [(a,) for a in SIMPLE]),
    Case("first of eigvalsh", lambda a: linalg.eigvalsh(a)[0], lambda a: eigenvalues(a)[:1], [(a,) for a in FIRST]),
    Case(
        "sums of eigvalsh",
        sums(linalg.eigvalsh, [0], [1, 2], [3]),
        sums(eigenvalues, [0], [1, 2], [3]),
        [(a,) for a in MIDDLE],
    ),
    Case("trace by eigvalsh", sums(linalg.eigvalsh, range(3)), sums(eigenvalues, range(3)), each(POSITIVE, SINGULAR)),
    Case(
        "vectors of eigh",
        lambda a: [v[k] * w for v in linalg.eigh(a).eigenvectors.T for k in range(3) for w in v],
        lambda a: [x for k in range(3) for x in projector(a, lambda order, k=k: [k])],
        [(a,) for a in SIMPLE],
    ),
    Case(
        "first vector of eigh",
        lambda a: np.outer(linalg.eigh(a).eigenvectors[:, 0], linalg.eigh(a).eigenvectors[:, 0]),
        lambda a: projector(a, lambda order: [0]),
        [(a,) for a in FIRST],
    ),
    Case(
        "space of eigh",
        lambda a: linalg.eigh(a).eigenvectors[:, 1:3] @ linalg.eigh(a).eigenvectors[:, 1:3].T,
        lambda a: projector(a, lambda order: [1, 2]),
        [(a,) for a in (*FIRST, *MIDDLE)],
    ),
    Case(
        "svdvals",
        linalg.svdvals,
        singular_values,
        each(
            special_matrices(SQUARE, "diagonal, upper, exchange, with zeros, random"),
            special_matrices(TALL, "upper, with zeros, random"),
            special_matrices(WIDE, "upper, random"),
        ),
    ),
    Case(
        "largest of svdvals",
        lambda a: linalg.svdvals(a)[0],
        lambda a: singular_values(a)[:1],
        each(special_matrices(SINGULAR, "unit, rank one, rank two"), {"tall": np.outer([0.0, 1.0, 2.0], [1.0, 0.0])}),
    ),
    Case(
        "sum of svdvals",
        sums(linalg.svdvals, range(3)),
        sums(singular_values, range(3)),
        each(SQUARE, {"equal": 2.0 * TURN}),
    ),
    Case(
        "polar factor", lambda a: linalg.svd(a)[0] @ linalg.svd(a)[2], polar, each(SQUARE, TALL, {"equal": 2.0 * TURN})
    ),
    Case(
        "element of A Aᵀ A by svd",
        lambda a: (lambda u, s, vt: ((u * s**3) @ vt)[1:2, 0])(*linalg.svd(a)),
        lambda a: [(a * a.T * a)[1, 0]],
        each({"zeros": np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])}),
    ),
    Case("norm", np.linalg.norm, power_norm(2), each(SQUARE, TALL, {"unit": SINGULAR["unit"]})),
    Case(
        "norm of columns",
        lambda a: np.linalg.norm(a, axis=0),
        lambda a: [mpmath.norm(a[:, j]) for j in range(a.cols)],
        each(SQUARE, TALL),
    ),
    Case("norm of fourth powers", lambda a: np.linalg.norm(a.ravel(), 4), power_norm(4), each(SQUARE)),
    Case(
        "largest singular value",
        lambda a: np.linalg.norm(a, 2),
        lambda a: singular_values(a)[:1],
        each(
            special_matrices(SQUARE, "diagonal, upper, exchange"),
            special_matrices(SINGULAR, "unit, rank one, rank two"),
        ),
    ),
    Case(
        "nuclear norm",
        lambda a: np.linalg.norm(a, "nuc"),
        lambda a: [mpmath.fsum(singular_values(a))],
        each(SQUARE, TALL),
    ),
    Case("powers", lambda a: np.linalg.matrix_power(a, 3), lambda a: elements(a**3), each(SQUARE, SINGULAR)),
    Case("negative powers", lambda a: np.linalg.matrix_power(a, -2), lambda a: elements(a**-2), each(SQUARE)),
]


def exact_derivative(case: Case, point: Sequence[Array], directions: Sequence[Array]) -> Array:
    """A mixed directional derivative by central differences of the reference, over all signs of all steps."""
    matrices = [mpmath.matrix(np.atleast_2d(a).T if a.ndim == 1 else a) for a in point]
    total: list[Any] = []
    for signs in itertools.product((1, -1), repeat=len(directions)):
        moved, start = [], 0
        for a in matrices:
            perturbed = a.copy()
            for k, (i, j) in enumerate(itertools.product(range(a.rows), range(a.cols))):
                for s, d in zip(signs, directions, strict=True):
                    perturbed[i, j] += s * STEP * mpmath.mpf(d[start + k])
            moved.append(perturbed)
            start += a.rows * a.cols
        values = [mpmath.fprod(signs) * x for x in case.exact(*moved)]
        total = values if not total else [x + y for x, y in zip(total, values, strict=True)]
    return np.array([float(x / (2 * STEP) ** len(directions)) for x in total])


class Derived(NamedTuple):
    """Derivatives of a traced function in fixed directions."""

    inputs: list[Any]
    directions: list[Array]
    weights: Array
    by_order: list[list[Any]]  # of each order: those of the outputs, then those of the weighted sum, by reverse mode

    @staticmethod
    def of(case: Case, point: Sequence[Array]) -> Derived:
        graph = Graph()
        inputs = [graph.inputs(f"x{k}", a.shape) for k, a in enumerate(point)]
        symbols = [s for x in inputs for s in x]
        results = case.function(*(objects(x, a.shape).view(SymbolArray) for x, a in zip(inputs, point, strict=True)))
        parts = results if isinstance(results, tuple) else (results,)
        outputs = [x for part in parts for x in np.ravel(np.asarray(part, dtype=object))]
        directions, weights = [random(10 + k, len(symbols)) for k in range(3)], random(9, len(outputs))

        def along(gradient: Sequence[Any], k: int) -> Any:
            return sum((x * d for x, d in zip(gradient, directions[k], strict=True)), 0.0)

        def pushed(values: Sequence[Any], k: int) -> list[Any]:
            return tangent(values, symbols, list(directions[k]))

        first = adjoint(outputs, symbols, list(weights))
        second = adjoint([along(first, 0)], symbols, [1.0])
        third = adjoint([along(second, 1)], symbols, [1.0])
        first_output = pushed(outputs, 0)
        two = pushed(first_output, 1)
        reverse = [[along(first, 0)], [along(second, 1), along(pushed(first, 1), 0)]]
        reverse.append([along(third, 2), along(pushed(second, 2), 1), along(pushed(pushed(first, 1), 2), 0)])
        forward = [first_output, two, pushed(two, 2)]
        return Derived(symbols, directions, weights, [a + b for a, b in zip(forward, reverse, strict=True)])


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_derivatives_of_linear_algebra_at_special_matrices_are_exact(case: Case, drawn: Any) -> None:
    """Forward, reverse, and both in turn, of orders 1 to 3, in directions without zeros."""
    derived: dict[Any, Derived] = {}
    for point in drawn(case.points):
        shapes = tuple(a.shape for a in point)
        if shapes not in derived:
            derived[shapes] = Derived.of(case, point)
        inputs, directions, weights, by_order = derived[shapes]
        by_input = dict(zip(inputs, (float(x) for a in point for x in np.ravel(a)), strict=True))
        values = iter(evaluate([x for order in by_order for x in order], by_input))
        for order, expressions in enumerate(by_order, 1):
            actual = np.array([next(values) for _ in expressions], dtype=float)
            with mpmath.workdps(110):
                expected = exact_derivative(case, point, directions[:order])
            sums = np.full(order, weights @ expected)
            bound = 1e-9 * max(1.0, float(np.abs(expected).max())) * max(1.0, float(np.abs(weights).sum()))
            message = f"{case.name}, order {order}, at {[a.tolist() for a in point]}"
            np.testing.assert_allclose(actual, [*expected, *sums], rtol=0.0, atol=bound, err_msg=message)


NORMS = [
    (f"norm {ord}", lambda a, ord=ord: np.linalg.norm(a, ord)) for ord in ("fro", "nuc", 1, 2, -1, -2, np.inf, -np.inf)
]
NORMS += [
    (f"vector norm {ord}", lambda a, ord=ord: np.linalg.norm(a.ravel(), ord))
    for ord in (0, 1, 2, 3, 4, np.inf, -np.inf)
]
DEFINED = [*NORMS, ("qr", linalg.qr), ("svd", linalg.svd), ("svdvals", linalg.svdvals), ("pinv", linalg.pinv)]
DEFINED += [("eigh", linalg.eigh), ("eigvalsh", linalg.eigvalsh), ("det", linalg.det)]


@pytest.mark.slow(every=9)
@pytest.mark.parametrize(("name", "function"), DEFINED, ids=[name for name, _ in DEFINED])
def test_derivatives_of_linear_algebra_are_finite_if_values_are_finite(
    name: str, function: Callable[..., Any], drawn: Any
) -> None:
    """Kinks, such as the norm of zero, and matrices with arbitrary eigenvectors are included."""
    points = each(SQUARE, SINGULAR, POSITIVE, {} if name in ("eigh", "eigvalsh", "det") else TALL)
    case, derived = Case(name, function, lambda a: [], points), dict[Any, Derived]()
    for (a,) in drawn(points):
        if a.shape not in derived:
            derived[a.shape] = Derived.of(case, (a,))
        point = dict(zip(derived[a.shape].inputs, map(float, a.ravel()), strict=True))
        values = evaluate([x for order in derived[a.shape].by_order for x in order], point)
        assert np.isfinite(np.array(values, dtype=float)).all(), (name, a.tolist())


def test_gradients_of_linear_algebra_at_kinks_follow_the_documented_conventions() -> None:
    """The gradient of a norm of zero is zero, and that of a singular value is along its vectors."""

    def gradient(function: Callable[..., Any], a: Array) -> Array:
        x = Graph().inputs("x", a.shape)
        value = function(objects(x, a.shape).view(SymbolArray))
        return np.array(evaluate(adjoint([value], x, [1.0]), dict(zip(x, map(float, a.ravel()), strict=True))))

    for ord in (2, 3, 4, np.inf):
        np.testing.assert_array_equal(gradient(lambda a, ord=ord: np.linalg.norm(a, ord), np.zeros(3)), np.zeros(3))
    np.testing.assert_array_equal(gradient(np.linalg.norm, np.zeros((2, 2))), np.zeros(4))
    smallest = gradient(lambda a: linalg.svdvals(a)[1], np.diag([2.0, 0.0]))
    np.testing.assert_array_equal(np.abs(smallest), [0.0, 0.0, 0.0, 1.0])


def test_every_function_of_linear_algebra_has_a_special_matrix_test() -> None:
    """A new function of linear algebra needs a case."""
    tested = " ".join(case.name for case in CASES) + " svd eigh"
    missing = [name for name in (*linalg.__all__, *numpy_linalg.__all__) if name[0].islower() and name not in tested]
    assert missing == []

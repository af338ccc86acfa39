"""Linear algebra of many small matrices, compared with numpy.linalg and with LAPACK called for each matrix.

All use one thread; results are compared before anything is timed.  Times are those for one matrix in the batch,
including the call from Python and memory access.  In large batches, copying a matrix with 30 rows takes about as long
as factoring.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.measurement.paired_timing import compare
from benchmarks.tables.rows import table
from benchmarks.tables.targets import LINEAR_ALGEBRA, Target
from benchmarks.tables.verdicts import Verdict
from linkwork.cli.function_timings import Call, Effort, environment, threads
from linkwork.expr.linalg import cholesky, solve

__all__ = ["BATCH", "LinearAlgebraResult", "linear_algebra", "linear_algebra_verdicts"]

BATCH = 4096


@dataclass(frozen=True, slots=True)
class LinearAlgebraResult:
    """Measurements of a function of matrices with n rows; times in seconds for one matrix."""

    function: str
    n: int
    operations: int
    compile: float
    ours: float
    peer: float
    peer_name: str
    ratio: float
    difference: float  # relative


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cholesky": lambda A: cholesky(A),
    "solve": lambda A, b: solve(A, b),
    "solve, positive definite": lambda A, b: solve(A, b, assume="pos"),
}


def linear_algebra(
    effort: Effort, sizes: Sequence[int] = (7, 30), batch: int = BATCH, functions: Sequence[str] = tuple(FUNCTIONS)
) -> list[LinearAlgebraResult]:
    """Measure every function at every size, compared with the peer of its target."""
    return [_measured(function, n, batch, effort) for n in sizes for function in functions]


def linear_algebra_verdicts(results: Sequence[LinearAlgebraResult]) -> list[Verdict]:
    """The rows of the table of targets."""
    rows = []
    for result in results:
        bound = LINEAR_ALGEBRA.get((result.function, result.n))
        if bound is None:
            continue
        rows.append(
            Verdict(
                "-",
                f"{result.function}, {result.n} rows, batch of {BATCH}, one matrix",
                f"{1e9 * result.ours:.4g} ns",
                f"{1e9 * result.peer:.4g} ns ({result.peer_name})",
                result.ratio,
                f"{result.ratio:.1f}x",
                Target(bound, at_least=True),
                f">= {bound:g}x",
            )
        )
    return rows


def _measured(function: str, n: int, batch: int, effort: Effort) -> LinearAlgebraResult:
    a, b = _equations(function, n, batch)
    arrays = {"A": a} if function == "cholesky" else {"A": a, "b": b}
    with environment(LINKWORK_CACHE="off"):
        start = time.perf_counter()
        shapes = {name: x.shape[1:] for name, x in arrays.items()}
        kernel = lw.compile(FUNCTIONS[function], name="kernel", **shapes)
        result = kernel(**arrays)
        seconds = time.perf_counter() - start
    name, peer = _peer(function, n, a, b)
    reference = np.asarray(eval(peer.statement, dict(peer.names)))  # the statement is this file's own text
    if function == "cholesky":
        reference = np.tril(reference)
    difference = float(np.abs(result - reference.reshape(result.shape)).max() / np.abs(reference).max())
    assert difference < 1e-8, f"{function}, {n} rows: differs from {name} by {difference}"
    with threads(1):
        outputs = compare(Call(f"kernel({', '.join(arrays)})", {"kernel": kernel, **arrays}), peer, effort)
    assert outputs.peer is not None and outputs.ratio is not None
    count = sum(kernel.operations.values())
    return LinearAlgebraResult(
        function, n, count, seconds, outputs.ours / batch, outputs.peer / batch, name, outputs.ratio, difference
    )


def _equations(function: str, n: int, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Matrices that are well conditioned, so that results can be compared, and right sides."""
    rng = np.random.default_rng(n)
    a = rng.standard_normal((batch, n, n))
    b = rng.standard_normal((batch, n))
    if function == "solve":
        positions = rng.permuted(np.tile(np.arange(n), (batch, 1)), axis=1)
        return a + n * np.eye(n)[positions], b  # rows change places, in each matrix others
    return a @ a.swapaxes(-1, -2) / n + np.eye(n), b


def _peer(function: str, n: int, a: np.ndarray, b: np.ndarray) -> tuple[str, Call]:
    """numpy.linalg of the whole batch for few rows, a loop over LAPACK by SciPy for many, where that is installed."""
    if n > 10:
        try:
            from scipy.linalg import lapack
        except ImportError:
            pass
        else:
            names = {"A": a, "b": b, **{name: getattr(lapack, name) for name in ("dpotrf", "dposv", "dgesv")}}
            statement = {
                "cholesky": "[dpotrf(a.T, lower=1)[0] for a in A]",  # symmetric, and its transpose is in LAPACK's order
                "solve": "[dgesv(a.T, y)[2] for a, y in zip(A.transpose(0, 2, 1), b)]",
                "solve, positive definite": "[dposv(a.T, y)[1] for a, y in zip(A, b)]",
            }[function]
            return "a loop over LAPACK", Call(statement, names)
    statement = "cholesky(A)" if function == "cholesky" else "solve(A, b[..., None])"
    return "numpy.linalg", Call(statement, {"A": a, "b": b, "cholesky": np.linalg.cholesky, "solve": np.linalg.solve})


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m benchmarks.compiler.linear_algebra`: print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compiler.linear_algebra", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--sizes", nargs="+", type=int, default=[3, 7, 12, 30], metavar="N", help="numbers of rows")
    chosen = parser.parse_args(arguments)
    header = ["function", "rows", "operations", "compile [s]", "ns", "peer [ns]", "", "times as fast", "difference"]
    cells = [
        [
            result.function,
            str(result.n),
            str(result.operations),
            f"{result.compile:.2f}",
            f"{1e9 * result.ours:.4g}",
            f"{1e9 * result.peer:.4g}",
            result.peer_name,
            f"{result.ratio:.1f}",
            f"{result.difference:.0e}",
        ]
        for result in linear_algebra(Effort(), chosen.sizes)
    ]
    print("\n".join(table(header, cells, left=(0, 6))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

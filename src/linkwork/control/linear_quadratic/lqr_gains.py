"""Linear-quadratic regulators by Riccati equations: on symbols inline, on arrays by a kernel for each size."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.messages import short_repr
from linkwork._util.validation import integer
from linkwork.control.linear_quadratic.arguments import cost_matrix
from linkwork.control.linear_quadratic.dense_riccati import dense_regulator
from linkwork.expr.arrays.symbol_array import array, is_traced
from linkwork.expr.equations.linear_quadratic import LinearQuadratic, riccati_sweep
from linkwork.expr.equations.riccati import riccati
from linkwork.expr.scalar.functions import where
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache

__all__ = ["FiniteHorizonLQR", "LQRGain", "finite_horizon_lqr", "lqr"]

_KERNELS: LazyCache[Kernel] = LazyCache(64)
_NAMES = ("A", "B", "Q", "R", "N")
_FLOAT = np.dtype(float)
_KERNEL_STATES = 12  # systems of more states are solved in NumPy: their kernels take more than 5 s to compile
_SLACK = 1e-9  # of Q: tolerance of negative eigenvalues
_FINE = 1e-6  # largest residual, relative to X, of a solved equation
_UNCONTROLLABLE = 1e-9  # relative to A and B: smallest singular value of a controllable mode


class LQRGain(NamedTuple):
    """Solution of an infinite-horizon LQR: gains K of u = −K x, and X of the cost to go xᵀ X x.

    The cost to go is ½ xᵀ X x if the cost has a factor ½.

    ``K`` is (..., m, n), ``X`` (..., n, n), and ``residual`` (...) the residual of the Riccati equation relative to X.
    The residual is NaN or infinite where no stabilising solution exists.
    """

    K: Any
    X: Any
    residual: Any

    def __repr__(self) -> str:
        return short_repr(self)


class FiniteHorizonLQR(NamedTuple):
    """Solution of a finite-horizon LQR: gains K_t of u_t = −K_t x_t, and X_t of the cost to go xᵀ X_t x.

    ``K`` (..., T, m, n) and ``X`` (..., T + 1, n, n) are for T steps.
    """

    K: Any
    X: Any

    def __repr__(self) -> str:
        return short_repr(self)


@public
def lqr(A: Any, B: Any, Q: Any, R: Any, N: Any = None, *, discrete: bool = False) -> LQRGain:
    """Return the infinite-horizon LQR of ẋ = A x + B u, or with ``discrete`` of x⁺ = A x + B u.

    u = −K x minimises ∫ xᵀQ x + 2 xᵀN u + uᵀR u dt, or the sum over all steps.  A and Q are (..., n, n), B and N
    (..., n, m), R (..., m, m).  Q and R are symmetric (their lower triangles are read); a number is a factor of the
    identity, and a vector (n,) or (m,) a diagonal.  The cost of (x, u) is positive semidefinite.  R is positive
    definite; with ``discrete`` it suffices that R + BᵀXB is positive definite, where X is the solution of the Riccati
    equation.  Undamped oscillations need a cost; in continuous time A = 0 and Q = 0 have K = 0.  Leading axes are a
    batch and broadcast.

    On symbols the solution becomes part of the compiled function.  Its derivatives are exact, forward and reverse.  On
    arrays, a kernel of these sizes is compiled with the first call; systems of more than 12 states are solved in NumPy.
    For a single system without a regulator, ValueError gives the reason; in a batch ``residual`` reports it.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> regulator = lw.control.lqr([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], np.eye(2), [[1.0]])
    >>> regulator.K.round(6).tolist()    # of a double integrator: 1 and √3
    [[1.0, 1.732051]]

    Raises ValueError for shapes that do not fit, for values that are not finite, and for indefinite costs.

    Sources: Anderson and Moore, Optimal Control: Linear Quadratic Methods, 1990; Chu, Fan and Lin, 2005.
    """
    n, m = _plain_sizes(A, B, Q, R, N)
    if not m:
        Q, R = _costs("lqr", A, B, Q, R)
        arrays, n, m = _read("lqr", {"A": A, "B": B, "Q": Q, "R": R, "N": N})
        if any(map(is_traced, arrays.values())):
            return _solved(arrays, not discrete)
        A, B, Q, R, N = (arrays[name] for name in _NAMES)
    cross_weights = _zeros(n, m) if N is None else N
    if n > _KERNEL_STATES:
        return _dense(_check("lqr", A, B, Q, R, cross_weights, discrete), discrete)
    kernel = _KERNELS.get((n, m, discrete), lambda: _compiled(n, m, not discrete))
    with np.errstate(all="ignore"):
        K, X, residual, sound = kernel(A, B, Q, R, cross_weights)
    if sound.__class__ is not np.ndarray:
        if not (sound and residual < _FINE):
            arrays = _check("lqr", A, B, Q, R, cross_weights, discrete)
            return LQRGain(K, X, residual) if residual < _FINE else _dense(arrays, discrete)
    elif not (sound.all() and (residual < _FINE).all()):
        arrays = _check("lqr", A, B, Q, R, cross_weights, discrete)
        if not (is_accurate := residual < _FINE).all():  # a singular R, or motions that Q does not penalise
            dense = _dense(arrays, discrete)
            K, X = (np.where(is_accurate[..., None, None], a, b) for a, b in ((K, dense.K), (X, dense.X)))
            residual = np.where(is_accurate, residual, dense.residual)
    return LQRGain(K, X, residual)


def _dense(arrays: Mapping[str, np.ndarray], discrete: bool) -> LQRGain:
    """Return the regulator by LAPACK instead of a kernel: for many states, a singular R, or modes without cost.

    Raises ValueError with the reason for a single system without a regulator.
    """
    A, B, Q, R, N = (np.asarray(arrays[name], dtype=float) for name in _NAMES)
    K, X, residual = dense_regulator(A, B, _symmetric(Q), _symmetric(R), N, discrete)
    if not residual.ndim and not residual < _FINE:
        raise ValueError(f"lqr: {_reason(arrays, discrete)}")
    return LQRGain(K, X, residual if residual.ndim else float(residual))


@public
def finite_horizon_lqr(
    A: Any, B: Any, Q: Any, R: Any, N: Any = None, *, end: Any = None, num_steps: int | None = None
) -> FiniteHorizonLQR:
    """Return the LQR of x_{t+1} = A_t x_t + B_t u_t over T steps.

    A (..., n, n) and B (..., n, m) are the dynamics; R (..., m, m) and N (..., n, m), zero by default, are costs. u_t
    = −K_t x_t minimises Σ xᵀQ x + 2 xᵀN u + uᵀR u plus x_Tᵀ ``end`` x_T.  Matrices are as in `lqr`: a matrix for all
    ``num_steps``, or one per step with an axis T before the last two; T is the same for all matrices.  Further leading
    axes are a batch.  The terminal cost ``end`` (..., n, n) is symmetric and positive semidefinite (default: the last
    Q).

    Raises ValueError for shapes that do not fit, for values that are not finite, and for costs that are not
    semidefinite.
    """
    caller = "finite_horizon_lqr"
    Q, R = _costs(caller, A, B, Q, R)
    matrices = {name: _matrix(caller, name, x) for name, x in (("A", A), ("B", B), ("Q", Q), ("R", R))}
    count = _steps(caller, matrices, N, num_steps)
    last = matrices["Q"][..., -1, :, :] if matrices["Q"].ndim > 2 else matrices["Q"]
    arrays, n, m = _read(caller, {"A": A, "B": B, "Q": Q, "R": R, "N": N})
    arrays = {name: x if x.ndim > 2 else np.broadcast_to(x, (count, *x.shape)) for name, x in arrays.items()}
    arrays["end"] = last if end is None else _matrix(caller, "end", end)
    if arrays["end"].shape[-2:] != (n, n):
        raise ValueError(f"{caller}: end: expected (..., {n}, {n}), got {arrays['end'].shape}")
    if any(map(is_traced, arrays.values())):
        X, K = riccati_sweep([arrays[name] for name in _NAMES], arrays["end"])
        return FiniteHorizonLQR(array(K), array(X))
    if not _surely_costs(arrays):
        _check_costs(caller, arrays, True)
    kernel = _KERNELS.get((n, m, count, "horizon"), lambda: _compiled_sweep(n, m, count))
    return FiniteHorizonLQR(*kernel(**arrays))


def _solved(arrays: Mapping[str, Any], continuous: bool) -> LQRGain:
    result = riccati(LinearQuadratic.of(*(arrays[name] for name in _NAMES)), continuous=continuous)
    return LQRGain(array(result.K), array(result.X), result.residual)


def _compiled(n: int, m: int, continuous: bool) -> Kernel:
    """Return the kernel of gains K, cost-to-go matrix X, residual and a flag: 1 if costs are surely semidefinite.

    ``n`` and ``m`` are the numbers of states and inputs. Where the flag is 0, `_check_costs` decides.
    """

    def function(**arrays: Any) -> tuple[Any, ...]:
        problem = LinearQuadratic.of(*(arrays[name] for name in _NAMES))
        return (*_solved(arrays, continuous), where(problem.is_convex(_SLACK), 1.0, 0.0))

    return compile(function, name="lqr", **_sizes(n, m))


def _plain_sizes(A: Any, B: Any, Q: Any, R: Any, N: Any) -> tuple[int, int]:
    """Return the numbers of states and inputs of float64 arrays with fitting shapes; (0, 0) for others."""
    try:
        n, m = B.shape[-2:]
        fit = (
            A.dtype is B.dtype is Q.dtype is R.dtype is _FLOAT
            and A.shape[-2:] == Q.shape[-2:] == (n, n)
            and R.shape[-2:] == (m, m)
            and (N is None or (N.dtype is _FLOAT and N.shape[-2:] == (n, m)))
        )
    except (AttributeError, TypeError, ValueError):
        return 0, 0
    return (n, m) if fit else (0, 0)


@cache
def _zeros(n: int, m: int) -> np.ndarray:
    result = np.zeros((n, m))
    result.setflags(write=False)
    return result


def _check(
    caller: str, A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray, N: np.ndarray, discrete: bool
) -> dict[str, np.ndarray]:
    """Return the matrices by name.  Raises ValueError if they are invalid."""
    arrays, _, _ = _read(caller, {"A": A, "B": B, "Q": Q, "R": R, "N": N})
    _check_costs(caller, arrays, discrete)
    return arrays


def _compiled_sweep(n: int, m: int, count: int) -> Kernel:
    def function(*, end: Any, **arrays: Any) -> tuple[Any, Any]:
        X, K = riccati_sweep([arrays[name] for name in _NAMES], end)
        return array(K), array(X)

    sizes = {name: (count, *size) for name, size in _sizes(n, m).items()}
    return compile(function, name="finite_horizon_lqr", **sizes, end=(n, n))


def _sizes(n: int, m: int) -> dict[str, tuple[int, int]]:
    return {"A": (n, n), "B": (n, m), "Q": (n, n), "R": (m, m), "N": (n, m)}


def _matrix(caller: str, name: str, value: Any) -> np.ndarray:
    result = value if is_traced(value) else np.asarray(value)
    if not is_traced(value) and result.dtype.kind in "biu":
        result = result.astype(float)
    if not is_traced(value) and result.dtype.kind != "f":
        raise TypeError(f"{caller}: {name}: expected an array of real numbers, got {value!r}")
    if result.ndim < 2:
        raise ValueError(f"{caller}: {name}: expected a matrix (..., rows, columns), got shape {result.shape}")
    if not is_traced(result) and not np.isfinite(result).all():
        raise ValueError(f"{caller}: {name}: expected finite numbers, got {result[~np.isfinite(result)][0]}")
    return np.asarray(result) if not is_traced(result) else result


def _costs(caller: str, A: Any, B: Any, Q: Any, R: Any) -> tuple[Any, Any]:
    """Return Q and R as matrices: numbers are factors of the identity, and vectors diagonals."""
    sizes = {name: _matrix(caller, name, x).shape[-1] for name, x in (("A", A), ("B", B))}
    result = []
    for name, value, n in (("Q", Q, sizes["A"]), ("R", R, sizes["B"])):
        values = value if is_traced(value) else np.asarray(value)
        if is_traced(value) or values.ndim > 1 or values.dtype.kind not in "fiu":
            result.append(value)  # a matrix, or refused by `_matrix`
            continue
        result.append(cost_matrix(caller, name, value, n))
    return result[0], result[1]


def _read(caller: str, matrices: Mapping[str, Any]) -> tuple[dict[str, Any], int, int]:
    """Return the matrices as arrays, and the numbers of states and inputs."""
    arrays = {name: _matrix(caller, name, x) for name, x in matrices.items() if x is not None or name != "N"}
    n, m = arrays["A"].shape[-1], arrays["B"].shape[-1]
    if matrices["N"] is None:
        arrays["N"] = np.zeros((n, m))
    for name, shape in _sizes(n, m).items():
        if arrays[name].shape[-2:] != shape:
            raise ValueError(
                f"{caller}: {name}: expected (..., {shape[0]}, {shape[1]}), for A (..., {n}, {n}) and B "
                f"(..., {n}, {m}), got {arrays[name].shape}"
            )
    return arrays, n, m


def _steps(caller: str, matrices: Mapping[str, np.ndarray], N: Any, steps: int | None) -> int:
    counts = {name: x.shape[-3] for name, x in matrices.items() if x.ndim > 2}
    if N is not None and np.ndim(N) > 2:
        counts["N"] = np.shape(N)[-3]
    if steps is not None:
        counts["num_steps"] = integer(caller, "num_steps", steps, least=1)
    if not counts:
        raise ValueError(
            f"{caller}: num_steps: expected an integer, or matrices (T, ...) with one for each step, got neither"
        )
    if len(set(counts.values())) > 1:
        raise ValueError(f"{caller}: expected the same number of steps in all arguments, got {counts}")
    return int(next(iter(counts.values())))


def _surely_costs(arrays: Mapping[str, np.ndarray]) -> bool:
    """Return True if a fast test shows that R is positive definite and the other costs semidefinite.

    The test is that R, and Q − N R⁻¹ Nᵀ and ``end`` plus a small diagonal, have Cholesky factors.
    """
    try:
        root = np.linalg.cholesky(arrays["R"])  # reads the lower triangle
        Q = arrays["Q"]
        if arrays["N"].any():
            half = np.linalg.solve(root, np.swapaxes(arrays["N"], -1, -2))
            Q = Q - np.swapaxes(half, -1, -2) @ half
        for M in (Q, arrays["end"]):
            size = 0.5 * _SLACK * np.abs(M).max(axis=(-1, -2), keepdims=True)
            np.linalg.cholesky(M + (size + 1e-300) * np.eye(M.shape[-1]))
    except np.linalg.LinAlgError:
        return False
    return True


def _check_costs(caller: str, arrays: Mapping[str, np.ndarray], discrete: bool) -> None:
    """Raise ValueError for indefinite costs, and in continuous time for a singular R."""
    R, Q, N = _symmetric(arrays["R"]), _symmetric(arrays["Q"]), arrays["N"]
    values = np.linalg.eigvalsh(R)
    least = values[..., 0].min()
    if not (least >= -_SLACK * np.abs(values).max() if discrete else least > 0.0):
        kind = "positive semidefinite" if discrete else "positive definite"
        raise ValueError(f"{caller}: R: expected a {kind} matrix, got one with the eigenvalue {least:.6g}")
    sizes = np.abs(Q).max(axis=(-1, -2))
    label = "Q - N inv(R) N'"
    if least > 0.0:
        costs = Q - N @ np.linalg.solve(R, np.swapaxes(N, -1, -2))
    else:  # inputs without cost
        label = "[Q N; N' R]"
        lead = np.broadcast_shapes(Q.shape[:-2], N.shape[:-2], R.shape[:-2])
        Q, N, R = (np.broadcast_to(M, (*lead, *M.shape[-2:])) for M in (Q, N, R))
        costs = np.block([[Q, N], [np.swapaxes(N, -1, -2), R]])
        sizes = np.abs(costs).max(axis=(-1, -2))
    least = (np.linalg.eigvalsh(0.5 * (costs + costs.swapaxes(-1, -2)))[..., 0] + _SLACK * sizes).min()
    if least < 0.0:
        raise ValueError(
            f"{caller}: Q: expected a positive semidefinite cost, but {label} has the eigenvalue {least:.6g}"
        )
    if "end" in arrays:
        end = _symmetric(arrays["end"])
        least = (np.linalg.eigvalsh(end)[..., 0] + _SLACK * np.abs(end).max(axis=(-1, -2))).min()
        if least < 0.0:
            raise ValueError(
                f"{caller}: end: expected a positive semidefinite matrix, got one with the eigenvalue {least:.6g}"
            )


def _symmetric(arrays: np.ndarray) -> np.ndarray:
    """Return symmetric matrices (..., n, n) from the lower triangles of ``arrays``."""
    lower = np.tril(arrays)
    result: np.ndarray = lower + np.tril(lower, -1).swapaxes(-1, -2)
    return result


def _reason(arrays: Mapping[str, np.ndarray], discrete: bool) -> str:
    """Return the reason why there is no regulator: an uncontrollable unstable mode, or one without cost or decay."""
    A, B, Q, R, N = (np.asarray(arrays[name], dtype=float) for name in ("A", "B", "Q", "R", "N"))
    n = len(A)
    scale = max(np.abs(A).max(), np.abs(B).max(), 1e-300)
    for root in np.linalg.eigvals(A):
        decays = abs(root) < 1.0 - 1e-9 if discrete else root.real < -1e-9 * scale
        controllability = np.linalg.svd(np.hstack([root * np.eye(n) - A, B]), compute_uv=False)[-1]
        if not decays and controllability < _UNCONTROLLABLE * scale:
            return (
                f"it cannot be stabilised: the mode of the eigenvalue {_shown(root)} of A does not decay and is not "
                f"controllable by B"
            )
    inverse = np.linalg.pinv(R, rcond=1e-12, hermitian=True)
    shifted, Q_reduced = A - B @ inverse @ N.T, Q - N @ inverse @ N.T
    for root in np.linalg.eigvals(shifted):
        marginal = abs(abs(root) - 1.0) < 1e-6 if discrete else abs(root.real) < 1e-6 * scale
        observability = np.linalg.svd(np.vstack([root * np.eye(n) - shifted, Q_reduced]), compute_uv=False)[-1]
        if marginal and observability < _UNCONTROLLABLE * max(scale, np.abs(Q_reduced).max()):
            return f"Q: the mode of the eigenvalue {_shown(root)} does not decay and has no cost in Q"
    if discrete and np.linalg.matrix_rank(R, hermitian=True) < len(R):
        return "R is singular, and R + B'XB is singular: expected inputs with a cost"
    return (
        "A, B, Q and R: the Riccati equation was not solved: its matrices differ too much in size, or are nearly "
        "singular"
    )


def _shown(root: complex) -> str:
    return f"{root.real:.6g}" if abs(root.imag) < 1e-12 * abs(root) else f"{root:.6g}"

"""Linear-quadratic regulators: on symbols as they come, on numbers by a kernel for each size."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.messages import short_repr
from linkwork._util.validation import integer
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
_SLACK = 1e-9  # of Q: what eigenvalues may be below zero
_FINE = 1e-6  # beside X: an equation of which more is left has not been solved; the residual says how well it is
_MOVED = 1e-9  # beside A and B: what inputs move less than that they do not move


class LQRGain(NamedTuple):
    """u = −K x, and what it costs to come to rest from x: xᵀ X x (½ of that, where the cost has a ½).

    ``K`` (..., m, n), ``X`` (..., n, n), ``residual`` (...): how large what is left of Riccati's equation is beside X,
    which is NaN or infinite where there is no solution that stabilises.
    """

    K: Any
    X: Any
    residual: Any

    def __repr__(self) -> str:
        return short_repr(self)


class FiniteHorizonLQR(NamedTuple):
    """u_t = −K_t x_t over T steps, and what the rest costs from there: x_tᵀ X_t x_t.

    ``K`` (..., T, m, n), ``X`` (..., T + 1, n, n).
    """

    K: Any
    X: Any

    def __repr__(self) -> str:
        return short_repr(self)


@public
def lqr(A: Any, B: Any, Q: Any, R: Any, N: Any = None, *, discrete: bool = False) -> LQRGain:
    """The linear-quadratic regulator without end of ẋ = A x + B u, or with ``discrete`` of x⁺ = A x + B u.

    u = −K x makes ∫ xᵀQ x + 2 xᵀN u + uᵀR u dt, or the sum over all steps, the least.  A and Q (..., n, n), B and N
    (..., n, m), R (..., m, m); Q and R are symmetric (their lower triangles are read).  The cost of x and u is at least
    semidefinite.  R is positive definite, or with ``discrete`` at least R + BᵀXB is, for numbers and symbols alike.
    What neither ends nor grows by itself, an undamped oscillation, has to cost something.  Leading dimensions are a
    batch, and broadcast.

    On symbols it becomes part of what is compiled, and is differentiated as the solution that it is: exactly, forward
    and in reverse.  On numbers, a kernel of these sizes is compiled with the first call; systems of more than 12 states
    are solved in NumPy, without one.  Of one system ValueError says why there is no regulator; in a batch its
    ``residual`` does.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> found = lw.control.lqr([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], np.eye(2), [[1.0]])
    >>> found.K.round(6).tolist()    # of a double integrator: 1 and √3
    [[1.0, 1.732051]]

    Raises ValueError for shapes that do not fit, for numbers that are not finite, and for costs that are none.

    Sources: Anderson and Moore, Optimal Control: Linear Quadratic Methods, 1990; Chu, Fan and Lin, 2005.
    """
    n, m = _plain_sizes(A, B, Q, R, N)
    if not m:
        arrays, n, m = _read("lqr", {"A": A, "B": B, "Q": Q, "R": R, "N": N})
        if any(map(is_traced, arrays.values())):
            return _solved(arrays, not discrete)
        A, B, Q, R, N = (arrays[name] for name in _NAMES)
    none = _zeros(n, m) if N is None else N
    if n > _KERNEL_STATES:
        return _dense(_check("lqr", A, B, Q, R, none, discrete), discrete)
    kernel = _KERNELS.get((n, m, discrete), lambda: _compiled(n, m, not discrete))
    with np.errstate(all="ignore"):
        K, X, residual, sound = kernel(A, B, Q, R, none)
    if sound.__class__ is not np.ndarray:
        if not (sound and residual < _FINE):
            arrays = _check("lqr", A, B, Q, R, none, discrete)
            return LQRGain(K, X, residual) if residual < _FINE else _dense(arrays, discrete)
    elif not (sound.all() and (residual < _FINE).all()):
        arrays = _check("lqr", A, B, Q, R, none, discrete)
        if not (fine := residual < _FINE).all():  # a singular R, or a Q to which too little counts
            other = _dense(arrays, discrete)
            K, X = (np.where(fine[..., None, None], a, b) for a, b in ((K, other.K), (X, other.X)))
            residual = np.where(fine, residual, other.residual)
    return LQRGain(K, X, residual)


def _dense(arrays: Mapping[str, np.ndarray], discrete: bool) -> LQRGain:
    """The regulator by LAPACK: of many states, as a kernel of their size is long in the making, or where R is singular
    or too little costs something, which the kernel's doublings cannot begin with.  Of one system ValueError says why
    there is none.
    """
    A, B, Q, R, N = (np.asarray(arrays[name], dtype=float) for name in _NAMES)
    K, X, residual = dense_regulator(A, B, _whole(Q), _whole(R), N, discrete)
    if not residual.ndim and not residual < _FINE:
        raise ValueError(f"lqr: {_reason(arrays, discrete)}")
    return LQRGain(K, X, residual if residual.ndim else float(residual))


@public
def finite_horizon_lqr(
    A: Any, B: Any, Q: Any, R: Any, N: Any = None, *, end: Any = None, num_steps: int | None = None
) -> FiniteHorizonLQR:
    """The regulator of x_{t+1} = A_t x_t + B_t u_t over T steps.

    u_t = −K_t x_t makes Σ xᵀQ x + 2 xᵀN u + uᵀR u plus x_Tᵀ ``end`` x_T the least.  Matrices are those of `lqr`, one
    for all ``num_steps``, or with a dimension T before the last two for one a step; all that have it have the same T.
    Further leading dimensions are a batch.  ``end`` (..., n, n) is Q, or the last of it, if it is left out; it is read
    as Q is, and at least semidefinite.

    Raises ValueError for shapes that do not fit, for numbers that are not finite, and for costs that are none.
    """
    caller = "finite_horizon_lqr"
    matrices = {name: _matrix(caller, name, x) for name, x in (("A", A), ("B", B), ("Q", Q), ("R", R)) if x is not None}
    many = _steps(caller, matrices, N, num_steps)
    last = matrices["Q"][..., -1, :, :] if matrices["Q"].ndim > 2 else matrices["Q"]
    arrays, n, m = _read(caller, {"A": A, "B": B, "Q": Q, "R": R, "N": N})
    arrays = {name: x if x.ndim > 2 else np.broadcast_to(x, (many, *x.shape)) for name, x in arrays.items()}
    arrays["end"] = last if end is None else _matrix(caller, "end", end)
    if arrays["end"].shape[-2:] != (n, n):
        raise ValueError(f"{caller}: end: expected (..., {n}, {n}), got {arrays['end'].shape}")
    if any(map(is_traced, arrays.values())):
        X, K = riccati_sweep([arrays[name] for name in _NAMES], arrays["end"])
        return FiniteHorizonLQR(array(K), array(X))
    if not _surely_costs(arrays):
        _check_costs(caller, arrays, True)
    kernel = _KERNELS.get((n, m, many, "horizon"), lambda: _compiled_sweep(n, m, many))
    return FiniteHorizonLQR(*kernel(**arrays))


def _solved(arrays: Mapping[str, Any], continuous: bool) -> LQRGain:
    result = riccati(LinearQuadratic.of(*(arrays[name] for name in _NAMES)), continuous=continuous)
    return LQRGain(array(result.K), array(result.X), result.residual)


def _compiled(n: int, m: int, continuous: bool) -> Kernel:
    """K, X, the residual, and whether costs were seen to be some: if not, they may be still."""

    def function(**arrays: Any) -> tuple[Any, ...]:
        of = LinearQuadratic.of(*(arrays[name] for name in _NAMES))
        return (*_solved(arrays, continuous), where(of.costs(_SLACK), 1.0, 0.0))

    return compile(function, name="lqr", **_sizes(n, m))


def _plain_sizes(A: Any, B: Any, Q: Any, R: Any, N: Any) -> tuple[int, int]:
    """How many states and inputs arrays of float64 have that fit; zeros for anything else."""
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
    """The matrices by name, after a close look."""
    arrays, _, _ = _read(caller, {"A": A, "B": B, "Q": Q, "R": R, "N": N})
    _check_costs(caller, arrays, discrete)
    return arrays


def _compiled_sweep(n: int, m: int, many: int) -> Kernel:
    def function(*, end: Any, **arrays: Any) -> tuple[Any, Any]:
        X, K = riccati_sweep([arrays[name] for name in _NAMES], end)
        return array(K), array(X)

    sizes = {name: (many, *size) for name, size in _sizes(n, m).items()}
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
        raise ValueError(
            f"{caller}: {name}: expected a matrix, an array (..., rows, columns), got the shape {result.shape}"
        )
    if not is_traced(result) and not np.isfinite(result).all():
        raise ValueError(f"{caller}: {name}: expected finite numbers, got {result[~np.isfinite(result)][0]}")
    return np.asarray(result) if not is_traced(result) else result


def _read(caller: str, matrices: Mapping[str, Any]) -> tuple[dict[str, Any], int, int]:
    """The matrices as arrays, and how many states and inputs there are."""
    arrays = {name: _matrix(caller, name, x) for name, x in matrices.items() if x is not None}
    n, m = arrays["A"].shape[-1], arrays["B"].shape[-1]
    if matrices["N"] is None:
        arrays["N"] = np.zeros((n, m))
    for name, shape in _sizes(n, m).items():
        if arrays[name].shape[-2:] != shape:
            raise ValueError(
                f"{caller}: {name}: expected (..., {shape[0]}, {shape[1]}), for A (..., {n}, {n}) and B "
                f"(..., {n}, {m}), "
                f"got {arrays[name].shape}"
            )
    return arrays, n, m


def _steps(caller: str, matrices: Mapping[str, np.ndarray], N: Any, steps: int | None) -> int:
    told = {name: x.shape[-3] for name, x in matrices.items() if x.ndim > 2}
    if N is not None and np.ndim(N) > 2:
        told["N"] = np.shape(N)[-3]
    if steps is not None:
        told["num_steps"] = integer(caller, "num_steps", steps, least=1, what="an integer")
    if not told:
        raise ValueError(f"{caller}: num_steps: expected how many, or matrices (T, ...) with one a step")
    if len(set(told.values())) > 1:
        raise ValueError(f"{caller}: expected as many steps everywhere, got {told}")
    return int(next(iter(told.values())))


def _surely_costs(arrays: Mapping[str, np.ndarray]) -> bool:
    """Whether roots say so at once: of R, and of what Q and the end have left with a little more on the diagonal."""
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
    """Raises ValueError for costs that can be negative, and in continuous time for an R that is singular."""
    R, Q, N = _whole(arrays["R"]), _whole(arrays["Q"]), arrays["N"]
    values = np.linalg.eigvalsh(R)
    least = values[..., 0].min()
    if not (least >= -_SLACK * np.abs(values).max() if discrete else least > 0.0):
        wanted = "positive semidefinite" if discrete else "positive definite"
        raise ValueError(f"{caller}: R: expected a {wanted} matrix, got one with the eigenvalue {least:.6g}")
    sizes = np.abs(Q).max(axis=(-1, -2))
    what = "Q - N inv(R) N'"
    if least > 0.0:
        rest = Q - N @ np.linalg.solve(R, np.swapaxes(N, -1, -2))
    else:  # what inputs cost may be nothing
        what = "[Q N; N' R]"
        lead = np.broadcast_shapes(Q.shape[:-2], N.shape[:-2], R.shape[:-2])
        Q, N, R = (np.broadcast_to(M, (*lead, *M.shape[-2:])) for M in (Q, N, R))
        rest = np.block([[Q, N], [np.swapaxes(N, -1, -2), R]])
        sizes = np.abs(rest).max(axis=(-1, -2))
    least = (np.linalg.eigvalsh(0.5 * (rest + rest.swapaxes(-1, -2)))[..., 0] + _SLACK * sizes).min()
    if least < 0.0:
        raise ValueError(
            f"{caller}: Q: expected a cost that is nowhere negative, but {what} has the eigenvalue {least:.6g}"
        )
    if "end" in arrays:
        end = _whole(arrays["end"])
        least = (np.linalg.eigvalsh(end)[..., 0] + _SLACK * np.abs(end).max(axis=(-1, -2))).min()
        if least < 0.0:
            raise ValueError(
                f"{caller}: end: expected a cost that is nowhere negative, got a matrix with the eigenvalue {least:.6g}"
            )


def _whole(arrays: np.ndarray) -> np.ndarray:
    """The symmetric matrix of a lower triangle."""
    lower = np.tril(arrays)
    result: np.ndarray = lower + np.tril(lower, -1).swapaxes(-1, -2)
    return result


def _reason(arrays: Mapping[str, np.ndarray], discrete: bool) -> str:
    """Why one system has no regulator: a motion that no input moves, or that costs nothing and does not end."""
    A, B, Q, R, N = (np.asarray(arrays[name], dtype=float) for name in ("A", "B", "Q", "R", "N"))
    n = len(A)
    scale = max(np.abs(A).max(), np.abs(B).max(), 1e-300)
    for root in np.linalg.eigvals(A):
        ends = abs(root) < 1.0 - 1e-9 if discrete else root.real < -1e-9 * scale
        moved = np.linalg.svd(np.hstack([root * np.eye(n) - A, B]), compute_uv=False)[-1]
        if not ends and moved < _MOVED * scale:
            return (
                f"it cannot be stabilised: the motion of the eigenvalue {_shown(root)} of A does not end, and B has no "
                f"input that moves it"
            )
    inverse = np.linalg.pinv(R, rcond=1e-12, hermitian=True)
    shifted, rest = A - B @ inverse @ N.T, Q - N @ inverse @ N.T
    for root in np.linalg.eigvals(shifted):
        idle = abs(abs(root) - 1.0) < 1e-6 if discrete else abs(root.real) < 1e-6 * scale
        seen = np.linalg.svd(np.vstack([root * np.eye(n) - shifted, rest]), compute_uv=False)[-1]
        if idle and seen < _MOVED * max(scale, np.abs(rest).max()):
            return f"Q: no cost makes the motion of the eigenvalue {_shown(root)} end: expected a Q to which it counts"
    if discrete and np.linalg.matrix_rank(R, hermitian=True) < len(R):
        return "R is singular, and no cost makes R + B'XB regular: expected inputs that cost something"
    return (
        "A, B, Q and R: no solution of Riccati's equation was found: its matrices differ too much in size, or are "
        "nearly singular"
    )


def _shown(root: complex) -> str:
    return f"{root.real:.6g}" if abs(root.imag) < 1e-12 * abs(root) else f"{root:.6g}"

"""Linearisation of robots with many joints in NumPy: the same as `Robot.linearize`, without its kernel.

The code of that kernel grows with the square of the number of joints; for 300 joints it takes minutes to compile.  Here
a kernel whose code grows linearly differentiates inverse dynamics along each direction of q, v and a.  With
M a + h(q, v) = τ,

    ∂a/∂q = −M⁻¹ ∂τ/∂q,      ∂a/∂v = −M⁻¹ ∂τ/∂v,      ∂a/∂τ = M⁻¹,      M = ∂τ/∂a.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import bracket
from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.friction_laws import NO_FRICTION
from linkwork.motion.algorithms.curves import CurveSpace

__all__ = ["EXACT", "constant_input_step", "linearized", "passive_options"]

EXACT = "exact"  # integrator: the solution of the linear system for a constant input
_TERMS = 18  # of the exponential series, whose error is rounding for matrices of norm 1/2

_MANY_JOINTS = 40  # size of v beyond which the kernel of `Robot.linearize` takes more than some 5 s to compile
_SINGULAR = 1e-12  # smallest squared pivot of the mass matrix with unit diagonal, far above rounding errors

_BRACKETS: LazyCache[Kernel] = LazyCache(16)

Array = np.ndarray[Any, Any]


def linearized(
    robot: Any, q: Array, v: Array, tau: Array, *, dt: float | None, integrator: str, passive: bool, time: Any = None
) -> tuple[Array, Array]:
    """Return A (..., 2nv, 2nv) and B (..., 2nv, nv) of `Robot.linearize`; for large robots without its kernel.

    ``passive`` includes springs, damping and armature, but no dry friction: its slope at rest is not that of a motion.
    ``time`` (...,) [s] is the time for time-dependent constraints; with it ``dt`` is None.
    """
    if time is not None:
        return _at_time(robot, q, v, tau, passive, time)
    if integrator == EXACT:
        A, B = linearized(robot, q, v, tau, dt=None, integrator="semi_implicit_euler", passive=passive)
        return (A, B) if dt is None else constant_input_step(A, B, dt)
    known = dt is None or integrator in _STEPS
    if robot.nv > _MANY_JOINTS and known and not robot.tree.constraints and CurveSpace.of(robot.tree).is_plain:
        result = _by_directions(robot, q, v, tau, dt, integrator, passive)
        if result is not None:
            return result
    A, B = robot.linearize(q, v, tau, dt=dt, integrator=integrator, **passive_options(passive))
    return A, B


def constant_input_step(A: Array, B: Array, dt: float) -> tuple[Array, Array]:
    """Return exp(A dt) and ∫ exp(A t) dt B: the exact time step of ẋ = A x + B u with constant u.

    The method is scaling and squaring of the series.
    """
    n, m = B.shape[-2:]
    whole = np.zeros((*np.broadcast_shapes(A.shape[:-2], B.shape[:-2]), n + m, n + m))
    whole[..., :n, :n], whole[..., :n, n:] = A * dt, B * dt
    norm = np.abs(whole).sum(axis=-1).max(initial=0.0)
    halvings = max(int(np.ceil(np.log2(2.0 * norm))), 0) if norm > 0.0 else 0
    part, unit = whole / 2.0**halvings, np.eye(n + m)
    result = unit + part / _TERMS
    for k in range(_TERMS - 1, 0, -1):
        result = unit + part @ result / k
    for _ in range(halvings):
        result = result @ result
    return result[..., :n, :n], np.ascontiguousarray(result[..., :n, n:])


def passive_options(passive: bool) -> dict[str, Any]:
    """Return the options of dynamics with passive forces but no dry friction, or without passive forces."""
    return {"passive": True, "friction": NO_FRICTION} if passive else {"passive": False}


def _at_time(robot: Any, q: Array, v: Array, tau: Array, passive: bool, time: Any) -> tuple[Array, Array]:
    """Return A and B of the continuous-time linear model of a robot whose constraints depend on time.

    Deviations δ of q and ε of v satisfy δ̇ = C δ + ε, with or without constraints; C is the bracket of
    `tangent_autodiff`.
    """
    n = robot.nv
    how: dict[str, Any] = {"time": time, **passive_options(passive)}
    slopes = robot.constrained_forward_dynamics_derivatives(q, v, tau, **how)
    lead = slopes[0].shape[:-2]
    A, B = np.zeros((*lead, 2 * n, 2 * n)), np.zeros((*lead, 2 * n, n))
    A[..., :n, n:] = np.eye(n)
    A[..., n:, :n], A[..., n:, n:], B[..., n:, :] = slopes[:3]
    if not CurveSpace.of(robot.tree).is_plain:
        turning = _BRACKETS.get(robot, lambda: _bracket(robot))
        A[..., :n, :n] = turning(q, v)
    return A, B


def _bracket(robot: Any) -> Kernel:
    """Return the kernel of a matrix B(q, v) (nv, nv) with δ̇ = B δ + ε, for deviations δ of q and ε of v.

    δ is a tangent vector, in coordinates that move with q.
    """

    def turning(q: Any, v: Any) -> Any:
        return array(bracket(robot.tree, list(q), list(v)))

    return compile(turning, name="bracket", q=robot.configuration_space, v=(robot.nv,))


def _by_directions(
    robot: Any, q: Array, v: Array, tau: Array, step: float | None, integrator: str, passive: bool
) -> tuple[Array, Array] | None:
    """Return A and B of a robot with q̇ = v, from the derivatives of its acceleration.

    The result is None for a singular mass matrix; `Robot.linearize` then raises an error that explains it.
    """
    n = robot.nv
    lead = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], tau.shape[:-1])
    states = zip(*(np.broadcast_to(x, (*lead, n)).reshape(-1, n) for x in (q, v, tau)), strict=True)
    result = []
    for at, rate, forces in states:
        derivatives = _acceleration_derivatives(robot, at, rate, forces, passive)
        if derivatives is None:
            return None
        result.append(_STEPS[None if step is None else integrator](derivatives, step))
    A, B = (np.array(matrices).reshape(*lead, 2 * n, -1) for matrices in zip(*result, strict=True))
    return A, B


def _acceleration_derivatives(robot: Any, q: Array, v: Array, tau: Array, passive: bool) -> Array | None:
    """Return the derivative of a state's acceleration in q, v and τ (n, 3n); None for a singular mass matrix."""
    n = robot.nv
    along = robot.compile(("inverse_dynamics", passive_options(passive))).jvp("q", "v", "a")
    D, zeros = np.eye(3 * n), np.zeros(n)
    directions = D[:, :n], D[:, n : 2 * n], D[:, 2 * n :]
    M = along(q, v, zeros, *(x[2 * n :] for x in directions))
    M = 0.5 * (M + M.T)
    sizes = np.sqrt(np.maximum(np.diag(M), 0.0))
    if not sizes.all():
        return None
    try:
        pivots = np.diag(np.linalg.cholesky(M / np.outer(sizes, sizes)))
    except np.linalg.LinAlgError:
        return None
    if not (pivots**2).min() > _SINGULAR:
        return None
    a = np.linalg.solve(M, tau - robot.inverse_dynamics(q, v, zeros, **passive_options(passive)))
    by_state = along(q, v, a, *(x[: 2 * n] for x in directions)).T  # of τ (n, 2n)
    result: Array = np.linalg.solve(M, np.hstack([-by_state, np.eye(n)]))
    return result


def _continuous(derivatives: Array, _: Any) -> tuple[Array, Array]:
    """Return A and B of q̇ = v, v̇ = a."""
    n = len(derivatives)
    A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, n))
    A[:n, n:] = np.eye(n)
    A[n:], B[n:] = derivatives[:, : 2 * n], derivatives[:, 2 * n :]
    return A, B


def _euler(derivatives: Array, h: float) -> tuple[Array, Array]:
    """Return A and B of q⁺ = q + h v, v⁺ = v + h a."""
    A, B = _continuous(derivatives, None)
    return np.eye(len(A)) + h * A, h * B


def _semi_implicit_euler(derivatives: Array, h: float) -> tuple[Array, Array]:
    """Return A and B of v⁺ = v + h a, q⁺ = q + h v⁺."""
    A, B = _euler(derivatives, h)
    n = len(derivatives)
    A[:n], B[:n] = h * A[n:], h * B[n:]
    A[:n, :n] += np.eye(n)
    return A, B


_STEPS: dict[Any, Any] = {None: _continuous, "euler": _euler, "semi_implicit_euler": _semi_implicit_euler}

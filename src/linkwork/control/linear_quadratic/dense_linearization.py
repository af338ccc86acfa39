"""Linear systems of robots with many joints, in NumPy: what `Robot.linearize` computes in one compiled kernel.

The code of that kernel grows with the square of the number of joints: of 300 it takes minutes to compile.  Here inverse
dynamics is differentiated along each direction of q, v and a, by one kernel that grows with the number of joints, and
with M a + h(q, v) = τ

    ∂a/∂q = −M⁻¹ ∂τ/∂q,      ∂a/∂v = −M⁻¹ ∂τ/∂v,      ∂a/∂τ = M⁻¹,      M = ∂τ/∂a.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.motion.algorithms.curves import CurveSpace

__all__ = ["linearized"]

_MANY_JOINTS = 40  # size of v beyond which the kernel of the whole system takes more than some 5 s to compile
_SINGULAR = (
    1e-12  # the least square of a pivot of the mass matrix with a diagonal of 1, many times what rounding leaves
)

Array = np.ndarray[Any, Any]


def linearized(
    robot: Any, q: Array, v: Array, tau: Array, *, dt: float | None, integrator: str, passive: bool
) -> tuple[Array, Array]:
    """A (..., 2nv, 2nv) and B (..., 2nv, nv) of `Robot.linearize`, of large robots without the kernel of both."""
    known = dt is None or integrator in _STEPS
    if robot.nv > _MANY_JOINTS and known and not robot.tree.constraints and CurveSpace.of(robot.tree).is_plain:
        found = _by_directions(robot, q, v, tau, dt, integrator, passive)
        if found is not None:
            return found
    A, B = robot.linearize(q, v, tau, dt=dt, integrator=integrator, passive=passive)
    return A, B


def _by_directions(
    robot: Any, q: Array, v: Array, tau: Array, step: float | None, integrator: str, passive: bool
) -> tuple[Array, Array] | None:
    """The same of a robot whose q̇ is v; None where a mass matrix is singular, of which `Robot.linearize` says why."""
    n = robot.nv
    lead = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], tau.shape[:-1])
    states = zip(*(np.broadcast_to(x, (*lead, n)).reshape(-1, n) for x in (q, v, tau)), strict=True)
    found = []
    for at, rate, forces in states:
        solved = _accelerations_by_all(robot, at, rate, forces, passive)
        if solved is None:
            return None
        found.append(_STEPS[None if step is None else integrator](solved, step))
    A, B = (np.array(parts).reshape(*lead, 2 * n, -1) for parts in zip(*found, strict=True))
    return A, B


def _accelerations_by_all(robot: Any, q: Array, v: Array, tau: Array, passive: bool) -> Array | None:
    """How accelerations of one state vary with q, v and τ (n, 3n); None where the mass matrix is singular."""
    n = robot.nv
    along = robot.compile(("inverse_dynamics", {"passive": True}) if passive else "inverse_dynamics").jvp("q", "v", "a")
    D, rest = np.eye(3 * n), np.zeros(n)
    directions = D[:, :n], D[:, n : 2 * n], D[:, 2 * n :]
    M = along(q, v, rest, *(x[2 * n :] for x in directions))
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
    a = np.linalg.solve(M, tau - robot.inverse_dynamics(q, v, rest, passive=passive))
    by_state = along(q, v, a, *(x[: 2 * n] for x in directions)).T  # of τ (n, 2n)
    found: Array = np.linalg.solve(M, np.hstack([-by_state, np.eye(n)]))
    return found


def _continuous(solved: Array, _: Any) -> tuple[Array, Array]:
    """q̇ = v, v̇ = a."""
    n = len(solved)
    A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, n))
    A[:n, n:] = np.eye(n)
    A[n:], B[n:] = solved[:, : 2 * n], solved[:, 2 * n :]
    return A, B


def _euler(solved: Array, h: float) -> tuple[Array, Array]:
    """q⁺ = q + h v, v⁺ = v + h a."""
    A, B = _continuous(solved, None)
    return np.eye(len(A)) + h * A, h * B


def _semi_implicit_euler(solved: Array, h: float) -> tuple[Array, Array]:
    """v⁺ = v + h a, q⁺ = q + h v⁺."""
    A, B = _euler(solved, h)
    n = len(solved)
    A[:n], B[:n] = h * A[n:], h * B[n:]
    A[:n, :n] += np.eye(n)
    return A, B


_STEPS: dict[Any, Any] = {None: _continuous, "euler": _euler, "semi_implicit_euler": _semi_implicit_euler}

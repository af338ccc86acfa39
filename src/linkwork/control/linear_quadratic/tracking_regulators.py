"""LQR of robots along trajectories: time-varying gains by the Riccati recursion (TVLQR)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.messages import untimed
from linkwork._util.npz_archive import npz_path, open_archive, write_archive
from linkwork._util.result import ReturnedValue
from linkwork._util.validation import finite_array, non_negative
from linkwork.collision.fingerprints import check_same_dynamics, dynamics_fingerprint
from linkwork.control.algorithms.pid_integrator import bounded
from linkwork.control.linear_quadratic.arguments import (
    actuated_indices,
    check_missing_forces,
    cost_matrix,
    read_deviation,
    read_effort_limits,
    state_cost,
)
from linkwork.control.linear_quadratic.constrained_states import (
    assembled,
    motion_forces,
    permitted_deviations,
)
from linkwork.control.linear_quadratic.dense_linearization import EXACT, linearized
from linkwork.control.linear_quadratic.lqr_gains import finite_horizon_lqr
from linkwork.expr.arrays.symbol_array import array, is_traced
from linkwork.expr.control import take
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import floor, fmax, fmin
from linkwork.kernels.array_arguments import real_array
from linkwork.motion.trajectory.robot_changes import refuse_changes
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["TVLQRController", "lqr_about_trajectory"]

_FORMAT = "linkwork tracking regulator 3"
_ARRAYS = ("times", "K", "X", "acting", "effort_limits")
_MAX_NUMBERS = 1 << 27  # of the matrices of all steps: 1 GiB each
_FINAL_STEPS = 200  # steps at the final state, whose cost is the terminal cost by default


@public
@dataclass(frozen=True, eq=False, init=False, repr=False)
class TVLQRController(ReturnedValue):
    """Time-varying LQR along a trajectory: τ = τ_ref(t) − K(t) x with x = (q ⊖ q_ref(t), v − v_ref(t)).

    `lqr_about_trajectory` returns it.  τ_ref are the forces of inverse dynamics.  ``times`` (T + 1,) [s] are the ends
    of its steps, ``K`` (T, m, 2nv) the gains, interpolated linearly in time, and ``X`` (T + 1, 2nv, 2nv) the cost to
    go xᵀX x. ``acting`` (m,) are the indices in τ of the actuated forces, and ``effort_limits`` (nv) their largest
    values. Before the start and after the end of the trajectory the reference rests at its ends.
    """

    trajectory: Trajectory
    times: np.ndarray
    K: np.ndarray
    X: np.ndarray
    acting: np.ndarray
    effort_limits: np.ndarray
    passive: bool = True

    def __repr__(self) -> str:
        return (
            f"<TVLQRController of {self.robot.name!r}: K {self.K.shape}, {self.times[0]:g} s to {self.times[-1]:g} s>"
        )

    @property
    def robot(self) -> Any:
        """The robot of the trajectory."""
        return self.trajectory.robot

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """Return joint forces (..., nv) at times t (...) [s] in states q (..., nq), v (..., nv).

        Symbols are one state, so the object is a controller for `Robot.simulate`.
        """
        if is_traced([t, q, v]):
            return self._on_symbols(t, q, v)
        time, reference = self._at(t)
        tau = self._forces(reference)
        x = self._deviation(reference, q, v)
        tau = tau + np.zeros((*x.shape[:-1], 1))
        tau[..., self.acting] -= (self._gains(time) @ x[..., None])[..., 0]
        return np.minimum(np.maximum(tau, -self.effort_limits), self.effort_limits)  # faster than clip

    def _on_symbols(self, t: Any, q: Any, v: Any) -> Any:
        reference, m = self.trajectory(t, outside="hold"), len(self.acting)
        last = float(max(len(self.K) - 2, 0))
        position = fmin(fmax((t - self.times[0]) / (self.times[1] - self.times[0]), 0.0), len(self.K) - 1.0)
        k = fmin(floor(position), last)
        fraction, table = position - k, self.K.reshape(len(self.K), -1)
        gains = (1.0 - fraction) * take(table, k) + fraction * take(table, k + 1.0)
        x = np.concatenate([self.robot.difference(reference.q, q), array(list(v)) - reference.v])
        tau = self._reference_forces(reference)[0]
        result: list[Any] = [0.0] * self.robot.nv
        for i, row in zip(self.acting, gains.reshape(m, -1), strict=True):
            result[i] = tau[i] - dot(list(row), list(x))
        return array(bounded(result, [*self.effort_limits]))

    def feedforward(self, t: ArrayLike) -> np.ndarray:
        """Return the joint forces (..., nv) of the trajectory at times t (...) [s], without feedback and limits."""
        return self._forces(self._at(t)[1])

    def missing_forces(self, t: ArrayLike) -> np.ndarray:
        """Return the joint forces (..., nv) that the trajectory needs at times t (...) [s] without an actuator.

        Missing forces are zero if the actuators can cause the motion.  For a motion that was computed in time steps,
        this holds approximately: the missing forces are then a disturbance, which the feedback rejects.
        """
        result: np.ndarray = self._reference_forces(self._at(t)[1])[1]
        return result

    def gains(self, t: ArrayLike) -> np.ndarray:
        """Return the gains K (..., m, 2nv) at times t (...) [s]."""
        return self._gains(self._at(t)[0])

    def deviation(self, t: ArrayLike, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the deviation x (..., 2nv) of states from the trajectory at times t (...) [s].

        States are q (..., nq), v (..., nv).
        """
        return self._deviation(self._at(t)[1], q, v)

    def _at(self, t: ArrayLike) -> tuple[np.ndarray, Any]:
        time = np.asarray(real_array("TVLQRController: t: expected a time or an array of times [s]", t), dtype=float)
        return time, self.trajectory(time, outside="hold")

    def _reference_forces(self, at: Any) -> tuple[Any, Any]:
        return motion_forces("TVLQRController", self.robot, at.q, at.v, at.a, self.acting, self.passive)

    def _forces(self, reference: Any) -> np.ndarray:
        result: np.ndarray = self._reference_forces(reference)[0]
        return result

    def _gains(self, time: np.ndarray) -> np.ndarray:
        position = np.clip((time - self.times[0]) / (self.times[1] - self.times[0]), 0.0, len(self.K) - 1.0)
        k = np.minimum(position.astype(int), max(len(self.K) - 2, 0))
        fraction = (position - k)[..., None, None]
        result: np.ndarray = (1.0 - fraction) * self.K[k] + fraction * self.K[np.minimum(k + 1, len(self.K) - 1)]
        return result

    def _deviation(self, reference: Any, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        rate = finite_array("TVLQRController", "v", v, shape=("...", self.robot.nv)) - reference.v
        moved = read_deviation("TVLQRController", self.robot, reference.q, q)
        shape = np.broadcast_shapes(moved.shape, rate.shape)
        return np.concatenate([np.broadcast_to(moved, shape), np.broadcast_to(rate, shape)], axis=-1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the controller, without the robot, to an ``.npz`` file at ``path``; `load` restores it bit for bit."""
        where = npz_path("save", path)
        with tempfile.TemporaryDirectory() as folder:
            inner = Path(folder) / "trajectory.npz"
            self.trajectory.save(inner)
            trajectory = np.frombuffer(inner.read_bytes(), dtype=np.uint8)
        fields = {"format": _FORMAT, "passive": self.passive, "of": dynamics_fingerprint(self.robot)}
        write_archive(where, fields, {"trajectory": trajectory, **{name: getattr(self, name) for name in _ARRAYS}})

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, robot: Any, trusted: bool = True) -> TVLQRController:
        """Return the controller that `save` wrote to the file ``path``, for its robot.

        Raises ValueError for another kind of file, and for a robot with other joints, inertias or passive forces.
        ``trusted`` makes no difference: the file is read without other libraries, with all checks.
        """
        where = npz_path("load", path)
        with open_archive(where, _FORMAT, "TVLQRController.save") as reader:
            check_same_dynamics(reader.text("of"), robot)
            passive = reader.boolean("passive")
            trajectory_bytes = reader.array("trajectory", (None,), kind="integer", least=0, most=255).astype(np.uint8)
            reader.sizes["state"] = 2 * robot.nv
            times = reader.array("times", ("times",), ordered=True)
            acting = reader.array("acting", ("acting",), kind="integer", least=0, most=robot.nv - 1)
            limits = reader.array("effort_limits", (robot.nv,), finite=False, least=0.0)
            K = reader.array("K", ("steps", "acting", "state"))
            if len(K) + 1 != len(times) or not len(K):
                raise ValueError(f"expected one more time than steps, got {len(times)} times and {len(K)} steps")
            X = reader.array("X", ("times", "state", "state"))
            with tempfile.TemporaryDirectory() as folder:
                inner = Path(folder) / "trajectory.npz"
                inner.write_bytes(trajectory_bytes.tobytes())
                trajectory = Trajectory.load(inner, robot=robot)
            return cls._make(trajectory, times, K, X, acting, limits, passive=passive)


@public(tolerance=non_negative)
def lqr_about_trajectory(
    robot: Any,
    trajectory: Trajectory,
    *,
    Q: Any = 1.0,
    R: Any = 1.0,
    end: Any = None,
    dt: float = 0.01,
    actuators: str | Iterable[str] | None = None,
    effort_limits: ArrayLike | Mapping[str, ArrayLike] | None = None,
    passive: bool = True,
    tolerance: float = 0.1,
) -> TVLQRController:
    """Return the time-varying linear-quadratic regulator along a trajectory, with time steps of about ``dt`` [s].

    ``Q`` is the cost of deviations (q ⊖ q_ref, v − v_ref) in a step, and ``R`` the cost of the forces of
    ``actuators``, as in `lqr_about_state`.  ``end`` is the terminal cost; by default about the cost of staying at the
    last state. ``effort_limits`` and ``passive`` are as in `lqr_about_state`; with ``passive`` the forces of the
    trajectory overcome dry friction too.

    A motion of an underactuated robot that was computed in time steps, such as the solution of a
    `linkwork.TrajectoryProblem`, satisfies the dynamics approximately.  Forces that the motion needs in joints without
    actuators (`TVLQRController.missing_forces`) are a disturbance.  ``tolerance`` is their largest root mean square,
    relative to the forces of the motion in the joint.

    For a robot with constraints, the trajectory must satisfy the constraints, and the regulator is for deviations that
    they permit.  Raises ValueError for a trajectory that needs larger forces of joints without actuators.

    >>> import linkwork as lw
    >>> arm = lw.load("arm6")
    >>> trajectory = arm.spline([0.0, 1.0], [arm.neutral(), arm.random_configuration(seed=0)], boundary="clamped")
    >>> along = lw.control.lqr_about_trajectory(arm, trajectory, Q=(100.0, 1.0), R=0.01)
    >>> q, v, a = trajectory(0.5)
    >>> bool(abs(along(0.5, q, v) - arm.inverse_dynamics(q, v, a, passive=True)).max() < 1e-9), along.K.shape
    (True, (100, 6, 12))
    """
    acting = actuated_indices("lqr_about_trajectory", robot, actuators)
    if not isinstance(trajectory, Trajectory):
        remedy = "; pass its trajectory" if hasattr(trajectory, "trajectory") else ""
        raise TypeError(
            f"lqr_about_trajectory: trajectory: expected a lw.motion.Trajectory, got {trajectory!r}{remedy}"
        )
    if trajectory.robot != robot:
        raise ValueError(
            f"lqr_about_trajectory: trajectory: expected a trajectory of {robot.name!r}, got {trajectory!r}"
        )
    refuse_changes("lqr_about_trajectory", trajectory)
    if not trajectory.is_timed:
        raise ValueError(untimed("lqr_about_trajectory: trajectory", trajectory))
    if not (np.isfinite(dt) and dt > 0.0):
        raise ValueError(f"lqr_about_trajectory: dt: expected a positive time [s], got {dt!r}")
    most = _MAX_NUMBERS // (2 * robot.nv) ** 2
    if trajectory.duration > dt * most:
        raise ValueError(
            f"lqr_about_trajectory: dt: expected at most {most} time steps of a motion of {trajectory.duration:g} s, "
            f"got {dt:g} s"
        )
    cost, effort = (
        state_cost("lqr_about_trajectory", "Q", Q, robot.nv),
        cost_matrix("lqr_about_trajectory", "R", R, len(acting)),
    )
    last = None if end is None else state_cost("lqr_about_trajectory", "end", end, robot.nv)
    for name, matrix in (("Q", cost), ("R", effort), ("end", last)):
        if matrix is not None and matrix.ndim > 2:
            raise ValueError(
                f"lqr_about_trajectory: {name}: expected one matrix for all steps, got shape {matrix.shape}; "
                "finite_horizon_lqr has costs of each step"
            )
    times, (q, v, a) = trajectory.sampled(dt=dt)
    q = assembled("lqr_about_trajectory", robot, q)
    limits = read_effort_limits("lqr_about_trajectory", robot, effort_limits)
    tau, missing = motion_forces("lqr_about_trajectory", robot, q, v, a, acting, passive)
    check_missing_forces("lqr_about_trajectory", robot, (q, v, a), missing, acting, passive, tolerance)
    A, B = linearized(robot, q, v, tau, dt=float(times[1] - times[0]), integrator=EXACT, passive=passive)
    B = np.ascontiguousarray(B[..., acting])
    T = permitted_deviations("lqr_about_trajectory", robot, q, v)
    costs = cost if T is None else np.swapaxes(T, -1, -2) @ cost @ T
    if T is not None:
        after = np.swapaxes(np.concatenate([T[1:], T[-1:]]), -1, -2)
        A, B = after @ A @ T, after @ B
        last = None if last is None else T[-1].T @ last @ T[-1]
    if last is None:
        at_end = costs if T is None else costs[-1]
        last = finite_horizon_lqr(A[-1], B[-1], at_end, effort, end=at_end, num_steps=_FINAL_STEPS).X[..., 0, :, :]
    K, X = finite_horizon_lqr(A[:-1], B[:-1], costs if T is None else costs[:-1], effort, end=last)
    if T is not None:
        K, X = K @ np.swapaxes(T[:-1], -1, -2), T @ X @ np.swapaxes(T, -1, -2)
    return TVLQRController._make(trajectory, times, K, X, acting, limits, passive)

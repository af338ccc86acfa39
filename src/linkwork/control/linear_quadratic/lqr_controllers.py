"""Regulators that hold a robot at a state: linearised there, for one state or a batch of them.

Regulators along a trajectory: gains by Riccati's recursion, one a step of time, as a value.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.messages import short_repr
from linkwork._util.npz_archive import npz_path, open_archive, write_archive
from linkwork._util.result import Made
from linkwork._util.validation import optional, positive
from linkwork.control.linear_quadratic.arguments import (
    actuated_forces,
    actuated_indices,
    cost_matrix,
    read_deviation,
    read_finite,
    read_seconds,
    state_cost,
)
from linkwork.control.linear_quadratic.dense_linearization import linearized
from linkwork.control.linear_quadratic.lqr_gains import finite_horizon_lqr, lqr
from linkwork.expr.arrays.symbol_array import array, is_traced
from linkwork.expr.control import take
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import floor, fmax, fmin
from linkwork.kernels.array_arguments import real_array
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["LQRController", "TVLQRController", "lqr_about_state", "lqr_about_trajectory"]


Integrator = Literal["semi_implicit_euler", "euler", "runge_kutta_4"]


@public
@dataclass(frozen=True, eq=False, init=False, repr=False)
class LQRController(Made):
    """τ = tau − K x, x the change (q ⊖ q₀, v − v₀) of a robot's state from the one where it is held.

    ``q`` (..., nq), ``v`` and ``tau`` (..., nv) are that state and what keeps it there, ``K`` (..., m, 2nv) the gains
    of the m forces that act, ``acting`` (m,) their places in τ; ``A``, ``B`` and ``X``, ``residual`` are those of
    `lqr`.  ``step`` [s] is that of a regulator in steps of time.
    """

    robot: Any
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    K: np.ndarray
    X: np.ndarray
    residual: Any
    A: np.ndarray
    B: np.ndarray
    acting: np.ndarray
    step: float | None = None

    def __repr__(self) -> str:
        return short_repr(self)

    def __call__(self, q: Any, v: Any) -> Any:
        """The joint forces (..., nv) for a state, or for as many states as are held; of symbols those of one state."""
        if is_traced([q, v]):
            return self._on_symbols(q, v)
        x = self.deviation(q, v)
        tau = self.tau + np.zeros((*x.shape[:-1], 1))
        tau[..., self.acting] -= (self.K @ x[..., None])[..., 0]
        return tau

    def _on_symbols(self, q: Any, v: Any) -> Any:
        if self.q.ndim > 1:
            raise ValueError(f"LQRController: expected one state that is held, on symbols, got {self.q.shape[:-1]}")
        x = [*self.robot.difference(self.q, q), *(a - b for a, b in zip(v, self.v, strict=True))]
        result = [float(f) for f in self.tau]
        for place, row in zip(self.acting, self.K, strict=True):
            result[place] = result[place] - dot([float(k) for k in row], x)
        return array(result)

    def deviation(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """x (..., 2nv): how far a state is from the one that is held."""
        rate = read_finite("LQRController", "v", v, self.robot.nv, "nv") - self.v
        moved = read_deviation("LQRController", self.robot, self.q, q)
        shape = np.broadcast_shapes(moved.shape, rate.shape)
        return np.concatenate([np.broadcast_to(moved, shape), np.broadcast_to(rate, shape)], axis=-1)


@public(dt=optional(partial(positive, unit="s")))
def lqr_about_state(
    robot: Any,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    Q: Any = 1.0,
    R: Any = 1.0,
    N: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    actuators: str | Iterable[str] | None = None,
    dt: float | None = None,
    integrator: Integrator = "semi_implicit_euler",
    passive: bool = False,
) -> LQRController:
    """The linear-quadratic regulator of a robot around states q (..., nq), v (..., nv), at rest if v is left out.

    The forces there are those under which it does not accelerate, or ``tau`` (..., nv).  ``actuators`` names joints
    that exert forces; left out, all do but joints of six degrees of freedom.  Q is what deviations (q ⊖ q₀, v − v₀)
    cost, R what forces of the actuators do: a number, a diagonal or a matrix; of Q also a pair (of q, of v).  With
    ``dt`` [s] it is the regulator in steps of time of that length, with the integrator of `Robot.linearize`.

    Raises ValueError for a state where the robot can only be held by joints that are no actuators, and where there is
    no regulator, as `lqr` does; of a batch, ``residual`` tells the latter.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> pendulum = lw.load("double_pendulum")
    >>> upright = lw.control.lqr_about_state(pendulum, [np.pi, 0.0], actuators=pendulum.v_names[1])
    >>> upright.K.shape, bool(np.linalg.eigvals(upright.A - upright.B @ upright.K).real.max() < 0.0)
    ((1, 4), True)
    """
    acting = actuated_indices("hold", robot, actuators)
    nv = robot.nv
    dt = None if dt is None else read_seconds("hold", "dt", dt)
    at = read_finite("hold", "q", q, robot.nq, "nq")
    rate = np.zeros((*at.shape[:-1], nv)) if v is None else read_finite("hold", "v", v, nv, "nv")
    if tau is None:
        forces = robot.inverse_dynamics(at, rate, np.zeros(nv), passive=passive)
        forces = actuated_forces("hold", robot, forces, acting, "rest" if v is None else "going on as it does")
    else:
        forces = read_finite("hold", "tau", tau, nv, "nv")
    cost, effort = state_cost("hold", "Q", Q, nv), cost_matrix("hold", "R", R, len(acting))
    A, B = linearized(robot, at, rate, forces, dt=dt, integrator=integrator, passive=passive)
    B = np.ascontiguousarray(B[..., acting])
    try:
        K, X, residual = lqr(A, B, cost, effort, N, discrete=dt is not None)
    except ValueError as error:
        options = {"v": v, "tau": tau, "actuators": actuators, "N": N, "dt": dt}
        names = ", ".join(["q", *(name for name, value in options.items() if value is not None), "Q, R"])
        raise ValueError(f"lqr_about_state: {names}: expected what can be regulated; {error}") from None
    return LQRController._make(robot, at, rate, forces, K, X, residual, A, B, acting, dt)


_FORMAT = "linkwork tracking regulator 1"
_ARRAYS = ("times", "K", "X", "acting")
_SETTLED = 200  # steps at the end's state, whose cost is that of the end


@public
@dataclass(frozen=True, eq=False, init=False, repr=False)
class TVLQRController(Made):
    """τ(t, q, v) = τ_ref(t) − K(t) x, x = (q ⊖ q_ref(t), v − v_ref(t)), along a trajectory.

    τ_ref are the forces of inverse dynamics.  ``times`` (T + 1,) are those of its steps, ``K`` (T, m, 2nv) the gains,
    linear in time between steps, and ``X`` (T + 1, 2nv, 2nv) what is left to pay from there: xᵀX x.  ``acting`` (m,)
    are the places in τ of forces that act.  Before the trajectory's start and after its end it holds its ends.
    """

    trajectory: Trajectory
    times: np.ndarray
    K: np.ndarray
    X: np.ndarray
    acting: np.ndarray
    passive: bool = False

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def robot(self) -> Any:
        """The robot that is moved."""
        return self.trajectory.robot

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """The joint forces (..., nv) at times (...) in states q (..., nq), v (..., nv); of symbols those of one state,
        so that it is a controller of `Robot.simulate` as it is.
        """
        if is_traced([t, q, v]):
            return self._on_symbols(t, q, v)
        time, wanted = self._at(t)
        tau = self._forces(wanted)
        x = self._deviation(wanted, q, v)
        tau = tau + np.zeros((*x.shape[:-1], 1))
        tau[..., self.acting] -= (self._gains(time) @ x[..., None])[..., 0]
        return tau

    def _on_symbols(self, t: Any, q: Any, v: Any) -> Any:
        wanted, m = self.trajectory(t, outside="hold"), len(self.acting)
        last = float(max(len(self.K) - 2, 0))
        place = fmin(fmax((t - self.times[0]) / (self.times[1] - self.times[0]), 0.0), len(self.K) - 1.0)
        k = fmin(floor(place), last)
        part, table = place - k, self.K.reshape(len(self.K), -1)
        gains = (1.0 - part) * take(table, k) + part * take(table, k + 1.0)
        x = np.concatenate([self.robot.difference(wanted.q, q), array(list(v)) - wanted.v])
        tau = self.robot.inverse_dynamics(*wanted[:3], passive=self.passive)
        result: list[Any] = [0.0] * self.robot.nv
        for place_in_tau, row in zip(self.acting, gains.reshape(m, -1), strict=True):
            result[place_in_tau] = tau[place_in_tau] - dot(list(row), list(x))
        return array(result)

    def feedforward(self, t: ArrayLike) -> np.ndarray:
        """The forces (..., nv) of the trajectory alone."""
        return self._forces(self._at(t)[1])

    def gains(self, t: ArrayLike) -> np.ndarray:
        """K (..., m, 2nv) at times (...)."""
        return self._gains(self._at(t)[0])

    def deviation(self, t: ArrayLike, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """x (..., 2nv): how far states are from those of the trajectory."""
        return self._deviation(self._at(t)[1], q, v)

    def _at(self, t: ArrayLike) -> tuple[np.ndarray, Any]:
        time = np.asarray(real_array("TVLQRController: t: expected a time or an array of times [s]", t), dtype=float)
        return time, self.trajectory(time, outside="hold")

    def _forces(self, wanted: Any) -> np.ndarray:
        tau = self.robot.inverse_dynamics(*wanted, passive=self.passive)
        result: np.ndarray = np.zeros_like(tau)
        result[..., self.acting] = tau[..., self.acting]
        return result

    def _gains(self, time: np.ndarray) -> np.ndarray:
        place = np.clip((time - self.times[0]) / (self.times[1] - self.times[0]), 0.0, len(self.K) - 1.0)
        k = np.minimum(place.astype(int), max(len(self.K) - 2, 0))
        part = (place - k)[..., None, None]
        result: np.ndarray = (1.0 - part) * self.K[k] + part * self.K[np.minimum(k + 1, len(self.K) - 1)]
        return result

    def _deviation(self, wanted: Any, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        rate = read_finite("TVLQRController", "v", v, self.robot.nv, "nv") - wanted.v
        moved = read_deviation("TVLQRController", self.robot, wanted.q, q)
        shape = np.broadcast_shapes(moved.shape, rate.shape)
        return np.concatenate([np.broadcast_to(moved, shape), np.broadcast_to(rate, shape)], axis=-1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file ``.npz``, with which `load` gives the same to the bit; the robot is not in it."""
        where = npz_path("save", path)
        with tempfile.TemporaryDirectory() as folder:
            inner = Path(folder) / "trajectory.npz"
            self.trajectory.save(inner)
            way = np.frombuffer(inner.read_bytes(), dtype=np.uint8)
        said = {"format": _FORMAT, "passive": self.passive}
        write_archive(where, said, {"trajectory": way, **{name: getattr(self, name) for name in _ARRAYS}})

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, robot: Any) -> TVLQRController:
        """What `save` wrote, of this robot.  Raises ValueError for another's, and for what is no such file."""
        where = npz_path("load", path)
        with open_archive(where, _FORMAT, "TVLQRController.save") as reader:
            passive = reader.boolean("passive")
            way_bytes = reader.array("trajectory", (None,), kind="integer", least=0, most=255).astype(np.uint8)
            reader.sizes["state"] = 2 * robot.nv
            times = reader.array("times", ("times",), ordered=True)
            acting = reader.array("acting", ("acting",), kind="integer", least=0, most=robot.nv - 1)
            K = reader.array("K", ("steps", "acting", "state"))
            if len(K) + 1 != len(times) or not len(K):
                raise ValueError(f"expected a time more than steps, got {len(times)} times and {len(K)} steps")
            X = reader.array("X", ("times", "state", "state"))
            with tempfile.TemporaryDirectory() as folder:
                inner = Path(folder) / "trajectory.npz"
                inner.write_bytes(way_bytes.tobytes())
                way = Trajectory.load(inner, robot=robot)
            return cls._make(way, times, K, X, acting, passive=passive)


@public
def lqr_about_trajectory(
    robot: Any,
    trajectory: Trajectory,
    *,
    Q: Any = 1.0,
    R: Any = 1.0,
    end: Any = None,
    dt: float = 0.01,
    actuators: str | Iterable[str] | None = None,
    passive: bool = False,
) -> TVLQRController:
    """The linear-quadratic regulator along a trajectory of the robot, in steps of time of about ``dt`` [s].

    Q is what deviations (q ⊖ q_ref, v − v_ref) cost in a step and R what forces of ``actuators`` do, as in
    `lqr_about_state`; ``end`` is what deviations cost when it is over, or, left out, about what it costs to stay at
    the last state.

    Raises ValueError for a trajectory that needs forces from joints that are no actuators.

    >>> import linkwork as lw
    >>> arm = lw.load("arm6")
    >>> way = arm.spline([0.0, 1.0], [arm.neutral(), arm.random_configuration(seed=0)], boundary="clamped")
    >>> along = lw.control.lqr_about_trajectory(arm, way, Q=(100.0, 1.0), R=0.01)
    >>> q, v, a = way(0.5)
    >>> bool(abs(along(0.5, q, v) - arm.inverse_dynamics(q, v, a)).max() < 1e-9), along.K.shape
    (True, (100, 6, 12))
    """
    acting = actuated_indices("track", robot, actuators)
    if not isinstance(trajectory, Trajectory):
        raise TypeError(f"lqr_about_trajectory: trajectory: expected a lw.motion.Trajectory, got {trajectory!r}")
    if trajectory.robot != robot:
        raise ValueError(f"lqr_about_trajectory: trajectory: expected one of robot {robot.name!r}, got {trajectory!r}")
    if not (np.isfinite(dt) and dt > 0.0):
        raise ValueError(f"lqr_about_trajectory: dt: expected seconds above 0, got {dt!r}")
    cost, effort = state_cost("track", "Q", Q, robot.nv), cost_matrix("track", "R", R, len(acting))
    times, (q, v, a) = trajectory.sampled(dt=dt)
    tau = robot.inverse_dynamics(q, v, a, passive=passive)
    tau = actuated_forces("track", robot, tau, acting, "the trajectory")
    A, B = robot.linearize(q, v, tau, dt=times[1] - times[0], passive=passive)
    B = np.ascontiguousarray(B[..., acting])
    if end is None:
        last = finite_horizon_lqr(A[-1], B[-1], cost, effort, end=cost, num_steps=_SETTLED).X[..., 0, :, :]
    else:
        last = state_cost("track", "end", end, robot.nv)
    K, X = finite_horizon_lqr(A[:-1], B[:-1], cost, effort, end=last)
    return TVLQRController._make(trajectory, times, K, X, acting, passive)

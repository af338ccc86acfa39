"""Minimal coordinates: kinematics and dynamics of a mechanism in its independent coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.result import ReturnedValue
from linkwork.joints.base.plain_coordinates import is_plain
from linkwork.kinematics.algorithms.coordinates import unit_steps

__all__ = ["MinimalCoordinates"]

CLOSED = 1e-9  # [rad, characteristic lengths] largest constraint error of an expanded configuration
SINGULAR = 1e-7  # smallest margin of `closed_configuration` at which the coordinates determine the others
STRIDE = 0.25  # [rad, characteristic lengths] largest step of the coordinates without a configuration ``near``
MOST = 256  # steps

Wrenches = Mapping[str, ArrayLike]


class MinimalCoordinates(ReturnedValue):
    """Independent coordinates y and velocities u of a mechanism, and its functions in them.

    `Robot.minimal_coordinates` returns it.  ``independent`` names the coordinates, ``speeds`` the velocities; the names
    are the same, unless velocity constraints leave fewer velocities.  If a joint's configuration is a vector of
    coordinates, y has the joint's own coordinates; otherwise tangent coordinates at the configuration ``at``, and
    ``y_dot``, which is u, is the joint's velocity and not the rate of y.

    Leading axes of all arrays are batches, which broadcast.  ``near`` (..., nq) is an initial configuration on the
    desired branch; without it the coordinates are moved in steps from ``at``.  ``time`` is by default the time of
    ``at``.  Functions raise ValueError if no configuration with these coordinates is found, or if the coordinates do
    not determine the others (a dead centre).
    """

    __slots__ = (
        "_at",
        "_charted",
        "_q_index",
        "_robot",
        "_speeds",
        "_time",
        "_y",
        "dependent",
        "independent",
        "margin",
        "speeds",
    )

    def _fill(
        self,
        robot: Any,
        independent: Sequence[str],
        speeds: Sequence[str],
        at: np.ndarray,
        margin: float,
        time: ArrayLike | None = None,
    ) -> None:
        names = robot.v_names
        self._robot, self._at, self._time = robot, at, time
        self.independent, self.speeds, self.margin = tuple(independent), tuple(speeds), margin
        self.dependent: tuple[str, ...] = tuple(name for name in names if name not in self.independent)
        self._y, self._speeds = robot.v_index(self.independent), robot.v_index(self.speeds)
        tree, q_index = robot.tree, np.full(robot.nv, -1)
        for i, body in tree.stacked():
            if is_plain(body.joint):
                q_index[tree.v_slices[i]] = np.arange(robot.nq)[tree.q_slices[i]]
        self._q_index = q_index[self._y]  # indices in q of coordinates that are entries of q, else −1
        self._charted = self._q_index < 0
        at.setflags(write=False)

    @property
    def robot(self) -> Any:
        """The robot."""
        return self._robot

    @property
    def at(self) -> np.ndarray:
        """The assembled configuration (nq,) at which the coordinates were found to be independent."""
        return self._at

    @property
    def dof(self) -> int:
        """Number of independent velocities."""
        return len(self.speeds)

    def __repr__(self) -> str:
        return f"<MinimalCoordinates {', '.join(self.independent)} of {self._robot.name!r}: margin {self.margin:.3g}>"

    # -- conversion to and from q, v and a

    def coordinates_of(self, q: ArrayLike) -> np.ndarray:
        """Return the independent coordinates y of a configuration: q (..., nq) -> (..., ny) [rad, m]."""
        q = np.asarray(q, dtype=float)
        result = np.empty((*q.shape[:-1], len(self._y)))
        result[..., ~self._charted] = q[..., self._q_index[~self._charted]]
        if self._charted.any():
            result[..., self._charted] = self._robot.difference(self._at, q)[..., self._y[self._charted]]
        return result

    def speeds_of(self, v: ArrayLike) -> np.ndarray:
        """Return the independent components u of a velocity: v (..., nv) -> (..., nu) [rad/s, m/s]."""
        result: np.ndarray = np.asarray(v, dtype=float)[..., self._speeds]
        return result

    def expand(
        self,
        y: ArrayLike,
        y_dot: ArrayLike | None = None,
        y_ddot: ArrayLike | None = None,
        *,
        near: ArrayLike | None = None,
        time: ArrayLike | None = None,
    ) -> Any:
        """Return the configuration q with the coordinates y; with ``y_dot`` also v, and with ``y_ddot`` also a.

        ``near`` (..., nq) selects the branch, and ``time`` [s] the moment, as in `MinimalCoordinates`.
        v = K u + k and a = K u̇ + K̇ u + k̇, where u is ``y_dot`` and u̇ is ``y_ddot``.
        y (..., ny), y_dot, y_ddot (..., nu) -> q (..., nq), v, a (..., nv).
        """
        time = self._time if time is None else time
        timed = {} if time is None else {"time": time}
        q = self._configuration(y, near, timed)
        if y_dot is None:
            if y_ddot is not None:
                raise ValueError("expand: y_ddot: accelerations depend on velocities: pass y_dot also")
            return q
        v = self._robot.explicit_velocity(q, self._spread("y_dot", y_dot), self.speeds, **timed)
        if y_ddot is None:
            return q, v
        a = self._robot.explicit_acceleration(q, v, self._spread("y_ddot", y_ddot), self.speeds, **timed)
        return q, v, a

    def jacobian(self, y: ArrayLike, *, near: ArrayLike | None = None, time: ArrayLike | None = None) -> np.ndarray:
        """Return the matrix K that maps the independent velocities u to all velocities, v = K u + k.

        ``near`` (..., nq) selects the branch, and ``time`` [s] the moment, as in `MinimalCoordinates`. y (..., ny) ->
        (..., nv, nu) [1, m, 1/m].
        """
        time = self._time if time is None else time
        timed = {} if time is None else {"time": time}
        result: np.ndarray = self._robot.explicit_jacobian(self._configuration(y, near, timed), self.speeds, **timed)
        return result

    def jacobian_derivative(
        self, y: ArrayLike, y_dot: ArrayLike, *, near: ArrayLike | None = None, time: ArrayLike | None = None
    ) -> np.ndarray:
        """Return the time derivative K̇ of the matrix K of `jacobian`.

        ``near`` (..., nq) selects the branch, and ``time`` [s] the moment, as in `MinimalCoordinates`. y (..., ny),
        y_dot (..., nu) -> (..., nv, nu) [1/s, m/s].
        """
        time = self._time if time is None else time
        timed = {} if time is None else {"time": time}
        q, v = self.expand(y, y_dot, near=near, time=time)
        result: np.ndarray = self._robot.explicit_jacobian_derivative(q, v, self.speeds, **timed)
        return result

    # -- dynamics

    def mass_matrix(
        self,
        y: ArrayLike,
        *,
        near: ArrayLike | None = None,
        time: ArrayLike | None = None,
        passive: bool = False,
    ) -> np.ndarray:
        """Return the mass matrix H = Kᵀ M K of the independent velocities, with K of `jacobian`.

        ``near`` (..., nq) selects the branch, and ``time`` [s] the moment, as in `MinimalCoordinates`.  ``passive``
        adds the armature of joints. y (..., ny) -> (..., nu, nu) [kg·m², kg·m, kg].
        """
        time = self._time if time is None else time
        q = self.expand(y, near=near, time=time)
        result: np.ndarray = self._robot.reduced_mass_matrix(q, self.speeds, time=time, passive=passive)
        return result

    def bias_force(
        self,
        y: ArrayLike,
        y_dot: ArrayLike,
        *,
        near: ArrayLike | None = None,
        time: ArrayLike | None = None,
        **more: Any,
    ) -> np.ndarray:
        """Return the bias force c of the equation of motion H u̇ + c = Kᵀ τ, with H of `mass_matrix`.

        ``near`` (..., nq) selects the branch, and ``time`` [s] the moment, as in `MinimalCoordinates`. y (..., ny),
        y_dot (..., nu) -> (..., nu) [N·m, N].  ``more`` are the arguments ``wrenches``, ``expressed_in``, ``gravity``
        and ``passive`` of `Robot.bias_force`, as in the other functions of dynamics.
        """
        time = self._time if time is None else time
        q, v = self.expand(y, y_dot, near=near, time=time)
        result: np.ndarray = self._robot.reduced_bias_force(q, v, self.speeds, time=time, **more)
        return result

    def inverse_dynamics(
        self,
        y: ArrayLike,
        y_dot: ArrayLike,
        y_ddot: ArrayLike,
        *,
        near: ArrayLike | None = None,
        time: ArrayLike | None = None,
        **more: Any,
    ) -> np.ndarray:
        """Return the generalised forces H u̇ + c on the independent velocities u, for the acceleration u̇.

        ``near`` (..., nq) selects the branch, and ``time`` [s] the moment, as in `MinimalCoordinates`. y (..., ny),
        y_dot, y_ddot (..., nu) -> (..., nu) [N·m, N].  H is the `mass_matrix` and c the `bias_force`.
        """
        time = self._time if time is None else time
        q, v = self.expand(y, y_dot, near=near, time=time)
        a = self._spread("y_ddot", y_ddot)
        result: np.ndarray = self._robot.reduced_inverse_dynamics(q, v, a, self.speeds, time=time, **more)
        return result

    def forward_dynamics(
        self,
        y: ArrayLike,
        y_dot: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        near: ArrayLike | None = None,
        time: ArrayLike | None = None,
        **more: Any,
    ) -> np.ndarray:
        """Return the accelerations u̇ of the independent velocities under joint forces τ of all joints.

        ``near`` (..., nq) selects the branch, and ``time`` [s] the moment, as in `MinimalCoordinates`. y (..., ny),
        y_dot (..., nu), tau (..., nv), zero by default -> (..., nu) [rad/s², m/s²].
        """
        time = self._time if time is None else time
        q, v = self.expand(y, y_dot, near=near, time=time)
        tau = np.zeros(self._robot.nv) if tau is None else tau
        result: np.ndarray = self._robot.reduced_forward_dynamics(q, v, tau, self.speeds, time=time, **more)
        return result

    def forces(
        self, y: ArrayLike, tau: ArrayLike, *, near: ArrayLike | None = None, time: ArrayLike | None = None
    ) -> np.ndarray:
        """Return the generalised forces Kᵀ τ on the independent velocities, from joint forces τ of all joints.

        ``near`` (..., nq) selects the branch, and ``time`` [s] the moment, as in `MinimalCoordinates`. y (..., ny), tau
        (..., nv) -> (..., nu) [N·m, N].
        """
        K = self.jacobian(y, near=near, time=time)
        result: np.ndarray = np.einsum("...ij,...i->...j", K, self._all("tau", tau))
        return result

    def linearize(
        self,
        y: ArrayLike,
        y_dot: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        near: ArrayLike | None = None,
        time: ArrayLike | None = None,
        **more: Any,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return A and B of the linearised dynamics Δẋ = A Δx + B Δτ of the state x = (y, u).

        ``near`` (..., nq) selects the branch, and ``time`` [s] the moment, as in `MinimalCoordinates`. y are the
        independent coordinates, u the independent velocities ``y_dot``, and τ the joint forces of all joints. The first
        ny components of Δx are components of a tangent vector of q. y (..., ny), y_dot (..., nu), tau (..., nv), zero
        by default -> A (..., ny + nu, ny + nu) [1, 1/s, 1/s²], B (..., ny + nu, nv) [1/(kg·m²), 1/kg].
        """
        time = self._time if time is None else time
        q, v = self.expand(y, y_dot, near=near, time=time)
        tau = np.zeros(self._robot.nv) if tau is None else tau
        yy, yu, uy, uu, by_tau = self._robot.reduced_linearize(
            q, v, tau, self.speeds, self.independent, time=time, **more
        )
        B = np.concatenate([np.zeros((*by_tau.shape[:-2], len(self._y), self._robot.nv)), by_tau], axis=-2)
        return np.block([[yy, yu], [uy, uu]]), B

    # -- arguments and expansion

    def _all(self, name: str, x: ArrayLike) -> np.ndarray:
        array = np.asarray(x, dtype=float)
        if array.ndim == 0 or array.shape[-1] != self._robot.nv:
            raise ValueError(f"{name}: expected an array of shape (..., {self._robot.nv}), got {array.shape}")
        return array

    def _read(self, name: str, x: ArrayLike, names: tuple[str, ...]) -> np.ndarray:
        array = np.asarray(x, dtype=float)
        if array.ndim == 0 or array.shape[-1] != len(names):
            expected = f"{name}: expected an array of shape (..., {len(names)}), of {', '.join(names)}"
            raise ValueError(f"{expected}; got shape {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name}: expected finite values, got {array[~np.isfinite(array)][0]}")
        return array

    def _spread(self, name: str, u: ArrayLike) -> np.ndarray:
        """Return a vector (..., nv) with the independent velocities, and zeros for the dependent ones."""
        array = self._read(name, u, self.speeds)
        result = np.zeros((*array.shape[:-1], self._robot.nv))
        result[..., self._speeds] = array
        return result

    def _configuration(self, y: ArrayLike, near: ArrayLike | None, timed: Mapping[str, ArrayLike]) -> np.ndarray:
        target = self._read("y", y, self.independent)
        if near is not None:
            return self._closed(np.asarray(near, dtype=float), target, timed)
        start = self.coordinates_of(self._at)
        far = np.abs((target - start) / np.array(unit_steps(self._robot.tree))[self._y]).max(initial=0.0)
        count = int(min(max(np.ceil(far / STRIDE), 1), MOST))
        q: np.ndarray = self._at
        for k in range(1, count + 1):
            q = self._closed(q, start + (target - start) * (k / count), timed, target)
        return q

    def _closed(
        self, near: np.ndarray, y: np.ndarray, timed: Mapping[str, ArrayLike], to: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the assembled configuration near ``near`` with the coordinates y.

        y may be an intermediate step toward the coordinates ``to``, which error messages name.
        """
        phi = np.zeros((*y.shape[:-1], self._robot.nv))
        reference_y = np.where(self._charted, 0.0, self._at[np.where(self._charted, 0, self._q_index)])
        phi[..., self._y] = y - reference_y
        q, error, margin = self._robot.closed_configuration(near, self._at, phi, self.independent, **timed)
        bad = ~(error <= CLOSED) | ~(margin >= SINGULAR) | ~np.isfinite(q).all(axis=-1)
        if bad.any():
            self._raise_unsolved(np.asarray(bad), y, np.asarray(q), np.asarray(error), timed, y if to is None else to)
        result: np.ndarray = q
        return result

    def _text(self, y: np.ndarray) -> str:
        return ", ".join(f"{name} {x:.6g}" for name, x in zip(self.independent, y, strict=True))

    def _raise_unsolved(
        self,
        bad: np.ndarray,
        y: np.ndarray,
        q: np.ndarray,
        error: np.ndarray,
        timed: Mapping[str, ArrayLike],
        to: np.ndarray,
    ) -> None:
        """Raise ValueError for the first sample without a configuration, or with a singular one."""
        at = tuple(np.argwhere(bad)[0])
        sample = f" of sample {at}" if at else ""
        text, target = (self._text(np.broadcast_to(x, (*bad.shape, y.shape[-1]))[at]) for x in (y, to))
        text = text if text == target else f"{target} (at the intermediate step {text})"
        if error[at] <= CLOSED:
            raise ValueError(
                f"coordinates{sample} {text} do not determine the others, because the configuration is singular; use "
                f"other coordinates: robot.minimal_coordinates(q=q) chooses them"
            )
        times = {key: np.broadcast_to(x, bad.shape)[at] for key, x in timed.items()}
        left = self._robot.constraint_error(np.nan_to_num(q[at]), **times)
        rows = [name for c in self._robot.tree.constraints if c.holonomic for name in c.component_names]
        worst = int(np.argmax(np.abs(left)))
        raise ValueError(
            f"no configuration with coordinates{sample} {text} was found: error {left[worst]:.3g} of {rows[worst]!r}; "
            f"pass a configuration near the solution as near="
        )

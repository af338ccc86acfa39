"""Minimal coordinates: a mechanism in as many numbers as it has degrees of freedom, each function compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.result import Made
from linkwork.mechanisms.algorithms.dependent_coordinates import adds_up

__all__ = ["MinimalCoordinates"]

CLOSED = 1e-9  # [m, rad]: what an expanded configuration may be open by
SINGULAR = 1e-7  # how well coordinates have to tell the others, as `closed_configuration` measures it
STRIDE = 0.25  # [rad, m]: how far coordinates go at once where no configuration is given to start from
MOST = 256

Wrenches = Mapping[str, ArrayLike]


class MinimalCoordinates(Made):
    """Independent coordinates y and velocities u of a mechanism, and its functions of them: see
    `Robot.minimal_coordinates`.

    ``independent`` names the coordinates, ``speeds`` the velocities: the same names, but where constraints of
    velocities leave fewer of these.  Where a joint's configuration is a list of coordinates y are its own; else they
    are local ones around the configuration ``at``, and ``y_dot``, here as everywhere u, is not their rate but the
    joint's velocity.

    All arrays have leading batches that broadcast.  ``near`` (..., nq) is a configuration to start from, of the branch
    that is meant; without it coordinates are followed in steps from ``at``.  ``time`` is that of ``at`` where it is not
    given.  Functions raise ValueError where a configuration has no such coordinates, or where coordinates do not tell
    the others (a dead centre).
    """

    __slots__ = (
        "_at",
        "_charted",
        "_own",
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
        tree, place = robot.tree, np.full(robot.nv, -1)
        for i, body in tree.stacked():
            if adds_up(body.joint):
                place[tree.v_slices[i]] = np.arange(robot.nq)[tree.q_slices[i]]
        self._own = place[self._y]  # places in q of coordinates that stand there, else −1
        self._charted = self._own < 0
        at.setflags(write=False)

    @property
    def robot(self) -> Any:
        """The robot."""
        return self._robot

    @property
    def at(self) -> np.ndarray:
        """The assembled configuration (nq,) at which they were found to be independent."""
        return self._at

    @property
    def dof(self) -> int:
        """Degrees of freedom of velocity: how many independent velocities there are."""
        return len(self.speeds)

    def __repr__(self) -> str:
        return f"<MinimalCoordinates {', '.join(self.independent)} of {self._robot.name!r}: margin {self.margin:.3g}>"

    # -- between them and the robot's own numbers

    def coordinates_of(self, q: ArrayLike) -> np.ndarray:
        """y of a configuration: q (..., nq) -> (..., ny) [rad, m]."""
        q = np.asarray(q, dtype=float)
        result = np.empty((*q.shape[:-1], len(self._y)))
        result[..., ~self._charted] = q[..., self._own[~self._charted]]
        if self._charted.any():
            result[..., self._charted] = self._robot.difference(self._at, q)[..., self._y[self._charted]]
        return result

    def speeds_of(self, v: ArrayLike) -> np.ndarray:
        """u of a velocity: v (..., nv) -> (..., nu) [rad/s, m/s]."""
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
        """q; with ``y_dot`` q and v = K u + k; with ``y_ddot`` q, v and a = K u̇ + K̇ u + k̇.

        y (..., ny), y_dot, y_ddot (..., nu) -> q (..., nq), v, a (..., nv).
        """
        time = self._time if time is None else time
        timed = {} if time is None else {"time": time}
        q = self._configuration(y, near, timed)
        if y_dot is None:
            if y_ddot is not None:
                raise ValueError("expand: y_ddot: accelerations depend on velocities: give y_dot too")
            return q
        v = self._robot.explicit_velocity(q, self._spread("y_dot", y_dot), self.speeds, **timed)
        if y_ddot is None:
            return q, v
        a = self._robot.explicit_acceleration(q, v, self._spread("y_ddot", y_ddot), self.speeds, **timed)
        return q, v, a

    def jacobian(self, y: ArrayLike, *, near: ArrayLike | None = None, time: ArrayLike | None = None) -> np.ndarray:
        """K: v = K u + k.  y (..., ny) -> (..., nv, nu) [1, m, 1/m]."""
        time = self._time if time is None else time
        timed = {} if time is None else {"time": time}
        result: np.ndarray = self._robot.explicit_jacobian(self._configuration(y, near, timed), self.speeds, **timed)
        return result

    def jacobian_derivative(
        self, y: ArrayLike, y_dot: ArrayLike, *, near: ArrayLike | None = None, time: ArrayLike | None = None
    ) -> np.ndarray:
        """K̇.  y (..., ny), y_dot (..., nu) -> (..., nv, nu) [1/s, m/s]."""
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
        """H = Kᵀ M K.  y (..., ny) -> (..., nu, nu) [kg·m², kg·m, kg]."""
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
        """c, with H u̇ + c = Kᵀ τ.  y (..., ny), y_dot (..., nu) -> (..., nu) [N·m, N].

        Here and below ``more`` are ``wrenches``, ``expressed_in``, ``gravity`` and ``passive`` of `Robot.bias_force`.
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
        """H u̇ + c: the forces on u under which it accelerates so.  -> (..., nu) [N·m, N]."""
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
        """u̇ under joint forces τ (..., nv) of all joints, none if left out.  -> (..., nu) [rad/s², m/s²]."""
        time = self._time if time is None else time
        q, v = self.expand(y, y_dot, near=near, time=time)
        tau = np.zeros(self._robot.nv) if tau is None else tau
        result: np.ndarray = self._robot.reduced_forward_dynamics(q, v, tau, self.speeds, time=time, **more)
        return result

    def forces(
        self, y: ArrayLike, tau: ArrayLike, *, near: ArrayLike | None = None, time: ArrayLike | None = None
    ) -> np.ndarray:
        """Kᵀ τ: what joint forces are to u.  y (..., ny), tau (..., nv) -> (..., nu) [N·m, N]."""
        time = self._time if time is None else time
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
        """A and B: the state x = (y, u) changes by Δẋ = A Δx + B Δτ around a motion, exactly.

        Of Δx the first ny numbers are those of a tangent vector of q.  y (..., ny), y_dot (..., nu), tau (..., nv),
        none if left out -> A (..., ny + nu, ny + nu) [1, 1/s, 1/s²], B (..., ny + nu, nv) [1/(kg·m²), 1/kg].
        """
        time = self._time if time is None else time
        q, v = self.expand(y, y_dot, near=near, time=time)
        tau = np.zeros(self._robot.nv) if tau is None else tau
        yy, yu, uy, uu, by_tau = self._robot.reduced_linearize(
            q, v, tau, self.speeds, self.independent, time=time, **more
        )
        B = np.concatenate([np.zeros((*by_tau.shape[:-2], len(self._y), self._robot.nv)), by_tau], axis=-2)
        return np.block([[yy, yu], [uy, uu]]), B

    # -- how they are found

    def _all(self, what: str, x: ArrayLike) -> np.ndarray:
        array = np.asarray(x, dtype=float)
        if array.ndim == 0 or array.shape[-1] != self._robot.nv:
            raise ValueError(f"{what}: expected an array of shape (..., {self._robot.nv}), got {array.shape}")
        return array

    def _given(self, what: str, x: ArrayLike, names: tuple[str, ...]) -> np.ndarray:
        array = np.asarray(x, dtype=float)
        if array.ndim == 0 or array.shape[-1] != len(names):
            expected = f"{what}: expected an array of shape (..., {len(names)}), of {', '.join(names)}"
            raise ValueError(f"{expected}; got shape {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{what}: there is a number in it that is not finite")
        return array

    def _spread(self, what: str, u: ArrayLike) -> np.ndarray:
        """Independent velocities in their places of v, the others zero."""
        array = self._given(what, u, self.speeds)
        result = np.zeros((*array.shape[:-1], self._robot.nv))
        result[..., self._speeds] = array
        return result

    def _configuration(self, y: ArrayLike, near: ArrayLike | None, timed: Mapping[str, ArrayLike]) -> np.ndarray:
        wanted = self._given("y", y, self.independent)
        if near is not None:
            return self._closed(np.asarray(near, dtype=float), wanted, timed)
        start = self.coordinates_of(self._at)
        far = np.abs(wanted - start).max(initial=0.0)
        count = int(min(max(np.ceil(far / STRIDE), 1), MOST))
        q: np.ndarray = self._at
        for k in range(1, count + 1):
            q = self._closed(q, start + (wanted - start) * (k / count), timed, wanted)
        return q

    def _closed(
        self, near: np.ndarray, y: np.ndarray, timed: Mapping[str, ArrayLike], to: np.ndarray | None = None
    ) -> np.ndarray:
        """The configuration with these coordinates, on the way to others."""
        phi = np.zeros((*y.shape[:-1], self._robot.nv))
        own = np.where(self._charted, 0.0, self._at[np.where(self._charted, 0, self._own)])
        phi[..., self._y] = y - own
        q, error, margin = self._robot.closed_configuration(near, self._at, phi, self.independent, **timed)
        bad = ~(error <= CLOSED) | ~(margin >= SINGULAR) | ~np.isfinite(q).all(axis=-1)
        if bad.any():
            self._refuse(np.asarray(bad), y, np.asarray(q), np.asarray(error), timed, y if to is None else to)
        result: np.ndarray = q
        return result

    def _said(self, y: np.ndarray) -> str:
        return ", ".join(f"{name} {x:.6g}" for name, x in zip(self.independent, y, strict=True))

    def _refuse(
        self,
        bad: np.ndarray,
        y: np.ndarray,
        q: np.ndarray,
        error: np.ndarray,
        timed: Mapping[str, ArrayLike],
        to: np.ndarray,
    ) -> None:
        """Raises ValueError for the first sample that has no configuration, or not one alone."""
        at = tuple(np.argwhere(bad)[0])
        sample = f" of sample {at}" if at else ""
        said, meant = (self._said(np.broadcast_to(x, (*bad.shape, y.shape[-1]))[at]) for x in (y, to))
        said = said if said == meant else f"{meant}, on the way there with {said}"
        if error[at] <= CLOSED:
            raise ValueError(
                f"coordinates{sample} {said} do not tell the others: it is a singular configuration for them; take "
                f"others: robot.minimal_coordinates(q=q) chooses some"
            )
        times = {key: np.broadcast_to(x, bad.shape)[at] for key, x in timed.items()}
        left = self._robot.constraint_error(np.nan_to_num(q[at]), **times)
        rows = [name for c in self._robot.tree.constraints if c.holonomic for name in c.component_names]
        worst = int(np.argmax(np.abs(left)))
        raise ValueError(
            f"no configuration with coordinates{sample} {said} was found near the one to start from: {left[worst]:.3g} "
            f"is left of {rows[worst]!r}; a nearer one helps where there is one: near="
        )

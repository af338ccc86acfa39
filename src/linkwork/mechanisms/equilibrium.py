"""Static equilibrium: trust-region minimisation of the potential energy along what constraints allow.

At rest M a = F + Gᵀλ, F being the joint forces that act: weight, springs, given ones.  Along free motions δ = N x, with
G N = 0 and Nᵀ M N = 1, the energy changes by γᵀx + ½ xᵀHx, γ = −Nᵀ F and H = −Nᵀ M ∂a/∂q N, which has the curvature of
constraints in it.  Steps x = −|H|⁻¹ γ lead down where H has negative eigenvalues, too, and are followed by projection
onto the constraints.  How much the energy falls is the work of F on the way, by Gauss' quadrature: so no potential has
to be known, and given joint forces do not need to have one.  A saddle that is met on the way down is left along its
most negative eigenvector.

Newton's method on a, ∂a/∂q δ = −a along G δ = 0, finds equilibria of any kind near the start.

Sources: Nocedal and Wright, Numerical Optimization, 2nd ed. 2006, chapter 4 (trust regions); Dauphin et al.,
Identifying and attacking the saddle point problem, NeurIPS 2014 (|H|); Absil, Mahony and Sepulchre, Optimization
Algorithms on Matrix Manifolds, 2008, chapter 7.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork._util.result import Result
from linkwork.errors import Status

__all__ = ["Equilibrium", "equilibrium_near"]

_STILL = 1e-14  # part of the acceleration in free fall below which a is rounding
_OPEN = 1e-9  # error of constraints that counts as none [m, rad]
_FLAT = 1e-12  # part of the largest stiffness below which one is zero
_FIRST, _LONGEST, _SHORTEST = 0.3, 1.0, 1e-13  # trust radius: largest number of a step [rad, m]
_ASIDE = 1e-3  # step along which a saddle is left [rad, m]
_ROUNDING = 1e-11  # part of the forces that act [N·m, N], times 1 rad or 1 m, below which work is rounding
_NODES = np.array([0.5 - np.sqrt(0.15), 0.5, 0.5 + np.sqrt(0.15)])  # of Gauss' quadrature with three points
_WEIGHTS = np.array([5.0, 8.0, 5.0]) / 18.0

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, init=False)
class Equilibrium(Result):
    """A configuration in which a robot stays at rest, or how far the search for one came.

    ``status`` is "solved", "constraints_not_met", "not_found" (there is no equilibrium nearby) or "max_iterations".
    """

    q: np.ndarray  # (nq,)
    constraint_forces: np.ndarray  # (nc,) what constraints exert there
    residual: float  # the largest acceleration at rest [rad/s², m/s²]
    stiffness: np.ndarray = field(repr=False)  # eigenvalues of −∂a/∂q along free motions [1/s²], the least first
    status: Status
    iterations: int
    scale: float = field(default=0.0, repr=False)  # the largest acceleration around the start [rad/s², m/s²]

    @property
    def success(self) -> bool:
        """True if it is an equilibrium."""
        return self.status is Status.SOLVED

    @property
    def stability(self) -> str:
        """Return "stable", "neutral", "unstable", or "unknown" where no equilibrium was found.

        Stable: each small free motion is driven back, a minimum of the energy.  Neutral: some is neither driven back
        nor away.  Unstable: some is driven away.
        """
        if not self.success:
            return "unknown"
        flat = _FLAT * np.abs(self.stiffness).max(initial=self.scale)
        if np.all(self.stiffness > flat):
            return "stable"
        return "unstable" if np.any(self.stiffness < -flat) else "neutral"

    @property
    def stable(self) -> bool:
        """True if each small free motion is driven back: a minimum of the energy, where there is one."""
        return self.stability == "stable"

    def _sentence(self, place: tuple[int, ...]) -> str:
        what = f"{self.stability}, " if self.success else ""
        least = f", least stiffness {self.stiffness[0]:.3g} 1/s²" if self.stiffness.size else ""
        return f"{what}{self.iterations} steps, residual {self.residual:.2g}{least}"

    def __str__(self) -> str:
        return f"equilibrium: {self.explain()}"


def equilibrium_near(
    robot: Any, q0: Any, tau: Any, gravity: Any, time: Any, passive: bool, most: int, descend: bool
) -> Equilibrium:
    """Return the minimum of the energy that descent from q0 leads to, or q0 where it is an equilibrium already.

    Without ``descend``, and where descent finds nothing, it is the equilibrium of any kind that Newton's method finds.
    """
    statics = _Statics(robot, tau, gravity, time, passive)
    start = statics.closed(q0)
    if not descend or start.left > _OPEN or statics.rests(start):
        return _newton(statics, start, most)
    result = _descent(statics, start, most)
    return result if result.success else _newton(statics, start, most)


@dataclass(frozen=True)
class _State:
    """A robot at rest in one configuration."""

    q: Array
    left: float  # of the constraints' error [m, rad]
    a: Array
    forces: Array  # of constraints
    M: Array

    @property
    def merit(self) -> float:
        """aᵀ M a."""
        return float(self.a @ self.M @ self.a)

    @property
    def residual(self) -> float:
        return float(np.abs(self.a).max(initial=0.0))


class _Statics:
    """A robot at rest under joint forces."""

    def __init__(self, robot: Any, tau: Any, gravity: Any, time: Any, passive: bool) -> None:
        self.robot, self.passive, self.still = robot, passive, np.zeros(robot.nv)
        self.tau = self.still if tau is None else tau
        self.given = {key: value for key, value in (("gravity", gravity), ("time", time)) if value is not None}
        self.timed = {} if time is None else {"time": time}
        self.forces = 0.0  # the sum of what acts in the start [N·m, N]
        self.scale = 0.0  # the largest acceleration around the start, without constraints [rad/s², m/s²]

    def closed(self, q: Any) -> _State:
        """The state near q in which constraints hold."""
        q, error, *_ = self.robot.project_configuration(q, **self.timed)
        a, forces = self.robot.constrained_forward_dynamics(q, self.still, self.tau, passive=self.passive, **self.given)
        M = self.robot.mass_matrix(q, passive=self.passive)
        return _State(q, float(np.abs(error).max(initial=0.0)), a, forces, M)

    def rests(self, state: _State, slack: float = 1.0) -> bool:
        """True where a state is an equilibrium, to rounding."""
        if not self.scale:
            free = self.robot.without_constraints() if len(self.robot.constraints) else self.robot
            given = {key: value for key, value in self.given.items() if key == "gravity"}
            n = self.robot.nv
            around = self.robot.integrate(state.q, 0.5 * np.vstack([np.zeros(n), np.eye(n)]))  # in balance or not
            falling = free.forward_dynamics(around, self.still, self.tau, passive=self.passive and self._plain, **given)
            self.scale = max(1e-9, float(np.abs(falling).max(initial=0.0)))
        return state.left <= _OPEN and state.residual <= slack * _STILL * self.scale

    @property
    def _plain(self) -> bool:
        return not any(getattr(one, "resists", False) for one in self.robot.constraints)

    def rows(self, q: Array) -> Array:
        result: Array = self.robot.constraint_jacobian(q, **self.timed)
        return result

    def slopes(self, q: Array) -> Array:
        """∂a/∂q at rest."""
        by_q, *_ = self.robot.constrained_forward_dynamics_derivatives(
            q, self.still, self.tau, passive=self.passive, **self.given
        )
        return np.asarray(by_q)

    def work(self, q: Array, delta: Array) -> float:
        """The work of the joint forces F that act, M a − Gᵀλ, while q goes along δ [J]."""
        if not delta.any():
            return 0.0
        robot, s = self.robot, _NODES[:, None]
        at, h = robot.integrate(q, s * delta), 0.1  # along one-parameter subgroups rates are δ, whatever h is
        rates = robot.difference(robot.integrate(q, (s - h) * delta), robot.integrate(q, (s + h) * delta)) / (2.0 * h)
        return float(_WEIGHTS @ np.einsum("ki,ki->k", rates, self.force(at)))

    def force(self, q: Array) -> Array:
        """F (n, nv) of configurations (n, nq)."""
        a, forces = self.robot.constrained_forward_dynamics(q, self.still, self.tau, passive=self.passive, **self.given)
        F: Array = np.einsum("kij,kj->ki", self.robot.mass_matrix(q, passive=self.passive), a)
        F -= np.einsum("kij,ki->kj", self.rows(q), forces)
        return F

    def ended(self, state: _State, status: Status, taken: int) -> Equilibrium:
        N = _free_motions(self.rows(state.q), state.M)
        values = np.sort(np.linalg.eigvals(-N.T @ state.M @ self.slopes(state.q) @ N).real)
        return Equilibrium._make(state.q, state.forces, state.residual, values, status, taken, self.scale)


def _descent(statics: _Statics, state: _State, most: int) -> Equilibrium:
    """Go down by trust regions, until the robot rests where no free motion leads further down."""
    robot, radius, taken = statics.robot, _FIRST, 0
    statics.forces = float(np.abs(statics.force(state.q[None])).sum())
    while taken < most:
        N = _free_motions(statics.rows(state.q), state.M)
        H = -N.T @ state.M @ statics.slopes(state.q) @ N
        values, vectors = np.linalg.eigh(0.5 * (H + H.T))
        gradient = -vectors.T @ N.T @ state.M @ state.a
        flat = _FLAT * np.abs(values).max(initial=statics.scale)
        if statics.rests(state):
            if not len(values) or values[0] >= -flat:
                return statics.ended(state, Status.SOLVED, taken)
            aside = N @ vectors[:, 0]  # a saddle: to either side it goes down
            there = statics.closed(robot.integrate(state.q, _ASIDE / np.abs(aside).max() * aside))
            if there.left > _OPEN:
                return statics.ended(state, Status.SOLVED, taken)
            state, radius, taken = there, _FIRST, taken + 1
            continue
        sizes = np.maximum(np.abs(values), max(flat, 1e-300))
        idle = (np.abs(values) <= flat) & (np.abs(gradient) <= _STILL * np.abs(gradient).max())
        x = np.where(idle, 0.0, -gradient / sizes)
        while True:
            delta = N @ (vectors @ x)
            share = min(1.0, radius / max(float(np.abs(delta).max(initial=0.0)), 1e-300))
            expected = share * gradient @ x + 0.5 * share * share * (values * x) @ x  # change of the energy
            along = share * delta
            there = robot.integrate(state.q, along)
            closed = statics.closed(there)
            if closed.left <= _OPEN:
                gained = statics.work(state.q, along) + statics.work(there, robot.difference(there, closed.q))
                small = -expected <= _ROUNDING * statics.forces  # then accelerations tell more
                if closed.merit < state.merit if small else gained >= 1e-4 * -expected:
                    radius = min(_LONGEST, 2.0 * radius) if gained > 0.5 * -expected and share < 1.0 else radius
                    radius = 0.5 * radius if gained < 0.25 * -expected else radius
                    break
            radius = 0.25 * min(radius, float(np.abs(along).max(initial=0.0)))
            if radius < _SHORTEST:
                status = Status.SOLVED if statics.rests(state, 1e3) else Status.NOT_FOUND
                return statics.ended(state, status, taken)
        state, taken = closed, taken + 1
    return statics.ended(state, Status.SOLVED if statics.rests(state) else Status.MAX_ITERATIONS, taken)


def _newton(statics: _Statics, state: _State, most: int) -> Equilibrium:
    """Go by steps δ with ∂a/∂q δ = −a along G δ = 0, shortened until the norm of a by kinetic energy falls."""
    robot, taken, status = statics.robot, 0, Status.MAX_ITERATIONS
    while True:
        if state.left > _OPEN:
            status = Status.CONSTRAINTS_NOT_MET
            break
        if statics.rests(state):
            status = Status.SOLVED
            break
        if taken == most:
            break
        N = _free_motions(statics.rows(state.q), state.M)
        slopes = N.T @ state.M @ statics.slopes(state.q) @ N
        step = N @ np.linalg.lstsq(slopes, -(N.T @ state.M @ state.a), rcond=1e-12)[0]
        step *= min(1.0, 0.5 / max(1e-300, float(np.abs(step).max(initial=0.0))))
        for _ in range(30):
            there = statics.closed(robot.integrate(state.q, step))
            if there.left <= _OPEN and there.merit < state.merit:
                break
            step *= 0.5
        else:
            status = Status.SOLVED if statics.rests(state, 1e3) else Status.NOT_FOUND
            break
        state, taken = there, taken + 1
    return statics.ended(state, status, taken)


def _free_motions(rows: Array, M: Array) -> Array:
    """A basis N of G δ = 0 with Nᵀ M N = 1, a motion each column."""
    root = np.linalg.inv(np.linalg.cholesky(M)).T  # M⁻¹ = root rootᵀ
    if not len(rows):
        return np.asarray(root)
    _, values, motions = np.linalg.svd(rows @ root)
    return np.asarray(root @ motions[int(np.sum(values > 1e-9 * max(values[0], 1e-300))) :].T)

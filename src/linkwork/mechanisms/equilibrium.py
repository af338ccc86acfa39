"""Static equilibrium: trust-region minimisation of the potential energy on the constraint manifold.

At rest M a = F + Gᵀλ, with the joint forces F of gravity, springs and actuators.  Along free motions δ = N x, with
G N = 0 and Nᵀ M N = 1, the energy changes by γᵀx + ½ xᵀHx, where γ = −Nᵀ F, and H = −Nᵀ M ∂a/∂q N includes the
curvature of the constraints.  Steps x = −|H|⁻¹ γ descend also where H has negative eigenvalues, and are followed by
projection onto the constraints.  The decrease of the energy is the work of F along the step, by Gaussian quadrature, so
no potential is needed, and actuator forces need not have one.  A saddle point is left along its most
negative eigenvector.

Newton's method on a, ∂a/∂q δ = −a with G δ = 0, finds equilibria of any kind near the start.

Sources: Nocedal and Wright, Numerical Optimization, 2nd ed. 2006, chapter 4 (trust regions); Dauphin et al.,
Identifying and attacking the saddle point problem, NeurIPS 2014 (|H|); Absil, Mahony and Sepulchre, Optimization
Algorithms on Matrix Manifolds, 2008, chapter 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork._util.result import Result
from linkwork._util.status import WORDS
from linkwork._util.validation import floats, shown
from linkwork.errors import Status
from linkwork.kernels.array_arguments import stacked
from linkwork.kinematics.algorithms.coordinates import unit_steps
from linkwork.mechanisms.algorithms.constraint_rows import error_scales
from linkwork.mechanisms.assembly.state_inputs import varied
from linkwork.model.function_spec import QUANTITIES

__all__ = ["Equilibrium", "equilibria_near"]

_REST_TOL = 1e-14  # acceleration at rest, relative to that in free fall
_CLOSED_TOL = 1e-9  # [rad, characteristic lengths] largest constraint error
_FLAT_TOL = 1e-12  # stiffness that counts as zero, relative to the largest
_FIRST_RADIUS, _MAX_RADIUS, _MIN_RADIUS = 0.3, 1.0, 1e-13  # [rad, characteristic lengths] largest part of a step
_SADDLE_STEP = 1e-3  # [rad, characteristic lengths] step by which a saddle point is left
_ROUNDING = 1e-11  # work that is rounding, relative to the acting forces times the units of coordinates
_NODES = np.array([0.5 - np.sqrt(0.15), 0.5, 0.5 + np.sqrt(0.15)])  # of Gaussian quadrature with three points
_WEIGHTS = np.array([5.0, 8.0, 5.0]) / 18.0

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, init=False)
class Equilibrium(Result):
    """A configuration in which a robot stays at rest, or the last one of a failed search; for a batch, arrays of them.

    ``status`` is "solved", "constraints_not_met", "not_found" (no equilibrium nearby) or "max_iterations".
    """

    q: np.ndarray  # (..., nq)
    constraint_forces: np.ndarray  # (..., nc) [N, N·m]
    residual: Any  # (...): largest acceleration for v = 0 [rad/s², m/s²]
    stiffness: np.ndarray = field(repr=False)  # (..., n): eigenvalues of −∂a/∂q along free motions [1/s²], increasing
    status: Any  # (...)
    iterations: Any  # (...)
    scale: Any = field(default=0.0, repr=False)  # (...): largest acceleration near the start, in coordinates' units

    @property
    def success(self) -> Any:
        """True if the configuration is an equilibrium, (...)."""
        solved = np.asarray(self.status) == Status.SOLVED
        return solved if solved.ndim else bool(solved)

    @property
    def stability(self) -> Any:
        """The kind of equilibrium, (...): "stable", "neutral", "unstable", or "unknown" if none was found.

        Stable: all stiffnesses along free motions are positive, so the energy has a minimum.  Neutral: some are zero.
        Unstable: some are negative.
        """
        size = np.fmax.reduce(np.abs(self.stiffness), axis=-1, initial=0.0)
        flat = _FLAT_TOL * np.maximum(size, self.scale)[..., np.newaxis]
        unstable, flexible = (self.stiffness < -flat).any(axis=-1), (self.stiffness <= flat).any(axis=-1)
        kind = np.where(unstable, "unstable", np.where(flexible, "neutral", "stable"))
        kind = np.where(self.success, kind, "unknown")
        return kind if kind.ndim else str(kind)

    @property
    def stable(self) -> Any:
        """True if the equilibrium is stable, (...)."""
        return self.stability == "stable"

    def _sentence(self, index: tuple[int, ...]) -> str:
        kind = f"{np.asarray(self.stability)[index]}, " if np.asarray(self.success)[index] else ""
        smallest = f", smallest stiffness {self.stiffness[index][0]:.3g} 1/s²" if self.stiffness[index].size else ""
        steps, residual = np.asarray(self.iterations)[index], np.asarray(self.residual)[index]
        return f"{kind}{steps} steps, residual {residual:.2g}{smallest}"

    def __str__(self) -> str:
        return f"equilibrium: {self.explain()}"


def equilibria_near(
    robot: Any, q0: Any, loads: Any, time: Any, parameters: Any, passive: bool, max_iterations: int, descend: bool
) -> Equilibrium:
    """Return the equilibria near q0 (..., nq) under loads: tau, wrenches, their axes, and gravity.

    Raises the errors of `Robot.equilibrium`.
    """
    caller = "equilibrium"
    varied_robot, inputs = varied(robot, caller, time, parameters)
    tau, wrenches, axes, gravity = loads
    if wrenches is not None and not isinstance(wrenches, Mapping):
        raise TypeError(f'{caller}: wrenches: expected a dict by frame, as in {{"hand": w}}, got {wrenches!r}')
    for frame in wrenches or {}:
        robot.tree.frame(frame)
    if isinstance(tau, Mapping):
        tau = stacked(robot._subject, QUANTITIES["tau"], tau)
    acting: dict[str, tuple[Any, ...]] = {} if tau is None else {"tau": (tau, robot.nv, robot.v_names)}
    acting |= {frame: (w, 6, ()) for frame, w in (wrenches or {}).items()}
    rows = {name: _rows(f"{caller}: {name}", *x) for name, x in acting.items()}
    try:
        shape = np.broadcast_shapes(q0.shape[:-1], inputs.shape, *(x.shape[:-1] for x in rows.values()))
    except ValueError as error:
        raise ValueError(f"{caller}: q_init, tau, wrenches and parameters do not broadcast together: {error}") from None
    at = inputs.flat(shape)
    q0, *whole = (np.broadcast_to(x, (*shape, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q0, *rows.values()))
    results = []
    for k, start in enumerate(q0):
        own = dict(zip(rows, (x[k] for x in whole), strict=True))
        options = at[k].options | ({} if gravity is None else {"gravity": gravity})
        force = own.pop("tau", None)
        options |= {"wrenches": own, "expressed_in": axes} if own else {}
        results.append(equilibrium_near(varied_robot, start, force, options, passive, max_iterations, descend))
    if not shape:
        return results[0]
    most = max((len(one.stiffness) for one in results), default=0)
    stiffness = np.full((len(results), most), np.nan)
    for row, one in zip(stiffness, results, strict=True):
        row[: len(one.stiffness)] = one.stiffness
    counts = sum(len(one.component_names) for one in robot.constraints)
    return Equilibrium._make(
        q=np.array([one.q for one in results]).reshape(*shape, robot.nq),
        constraint_forces=np.array([one.constraint_forces for one in results]).reshape(*shape, counts),
        residual=np.array([one.residual for one in results], dtype=float).reshape(shape),
        stiffness=stiffness.reshape(*shape, most),
        status=np.array([one.status for one in results], dtype=WORDS).reshape(shape),
        iterations=np.array([one.iterations for one in results], dtype=int).reshape(shape),
        scale=np.array([one.scale for one in results], dtype=float).reshape(shape),
    )


def _rows(expected: str, values: Any, count: int, names: Sequence[str] = ()) -> Array:
    """Return values (..., count) as an array.  Raises ValueError for another shape and values that are not finite."""
    where = ""
    try:
        result = floats(values)
        if result.shape[-1:] != (count,):
            raise ValueError(values)
        if not np.isfinite(result).all():
            index = tuple(map(int, np.argwhere(~np.isfinite(result))[0]))
            where = f", with {result[index]} at {list(index)}" + (f" ({names[index[-1]]!r})" if names else "")
            raise ValueError(values)
    except (TypeError, ValueError):
        raise ValueError(f"{expected}: expected finite numbers (..., {count}), got {shown(values)}{where}") from None
    return result


def equilibrium_near(
    robot: Any, q0: Any, tau: Any, options: dict[str, Any], passive: bool, max_iterations: int, descend: bool
) -> Equilibrium:
    """Return an equilibrium near q0: the energy minimum that descent from q0 leads to, or q0 if it is one itself.

    ``options`` are those of `constrained_forward_dynamics`.  Without ``descend``, and if descent fails, Newton's method
    searches for an equilibrium of any kind.
    """
    statics = _Statics(robot, tau, options, passive)
    start = statics.projected(q0)
    if not descend or start.error > _CLOSED_TOL or statics.rests(start):
        return _newton(statics, start, max_iterations)
    result = _descent(statics, start, max_iterations)
    return result if result.success else _newton(statics, start, max_iterations)


@dataclass(frozen=True)
class _State:
    """Robot at rest in one configuration, with its accelerations, constraint forces and mass matrix."""

    q: Array
    error: float  # largest constraint error [rad, characteristic lengths]
    a: Array
    forces: Array  # constraint forces λ
    M: Array

    @property
    def merit(self) -> float:
        """Merit function aᵀ M a of the accelerations, which is 0 in an equilibrium."""
        return float(self.a @ self.M @ self.a)

    @property
    def residual(self) -> float:
        return float(np.abs(self.a).max(initial=0.0))


class _Statics:
    """Statics of a robot: accelerations, forces and work at rest under constant joint forces."""

    def __init__(self, robot: Any, tau: Any, options: dict[str, Any], passive: bool) -> None:
        self.robot, self.passive, self.zero_v = robot, passive, np.zeros(robot.nv)
        self.units, self.error_scales = np.array(unit_steps(robot.tree)), np.array(error_scales(robot.tree))
        self.tau = self.zero_v if tau is None else tau
        self.options = options
        self.varied = {key: value for key, value in options.items() if key == "parameters"}
        self.timed = self.varied | {key: value for key, value in options.items() if key == "time"}
        self.forces = 0.0  # sum of the acting forces at the start, times the units of coordinates [J]
        self.scale = 0.0  # largest acceleration near the start without constraints [1/s²], in units of coordinates

    def projected(self, q: Any) -> _State:
        """Return the state at rest in the configuration that is q projected onto the constraints."""
        q, error, *_ = self.robot.project_configuration(q, **self.timed)
        a, forces = self.robot.constrained_forward_dynamics(
            q, self.zero_v, self.tau, passive=self.passive, **self.options
        )
        M = self.robot.mass_matrix(q, passive=self.passive, **self.varied)
        return _State(q, float(np.abs(error * self.error_scales).max(initial=0.0)), a, forces, M)

    def largest(self, step: Array) -> float:
        """Return the largest component of a step or an acceleration (..., nv), in units of coordinates."""
        return float(np.abs(step / self.units).max(initial=0.0))

    def rests(self, state: _State, slack: float = 1.0) -> bool:
        """Return True if a state is an equilibrium, up to rounding."""
        if not self.scale:
            free = self.robot.without_constraints() if len(self.robot.constraints) else self.robot
            options = {key: value for key, value in self.options.items() if key not in ("time", "parameters")}
            n = self.robot.nv
            steps = 0.5 * np.vstack([np.zeros(n), np.diag(self.units)])
            around = self.robot.integrate(state.q, steps)  # in equilibrium or not
            falling = free.forward_dynamics(
                around, self.zero_v, self.tau, passive=self.passive and self._plain, **options
            )
            self.scale = max(1e-300, self.largest(falling))
        return state.error <= _CLOSED_TOL and self.largest(state.a) <= slack * _REST_TOL * self.scale

    @property
    def _plain(self) -> bool:
        return not any(getattr(one, "resists", False) for one in self.robot.constraints)

    def rows(self, q: Array) -> Array:
        result: Array = self.robot.constraint_jacobian(q, **self.timed)
        return result

    def acceleration_by_q(self, q: Array) -> Array:
        """Return ∂a/∂q for v = 0."""
        by_q, *_ = self.robot.constrained_forward_dynamics_derivatives(
            q, self.zero_v, self.tau, passive=self.passive, **self.options
        )
        return np.asarray(by_q)

    def work(self, q: Array, delta: Array) -> float:
        """Return the work [J] of the acting joint forces F = M a − Gᵀλ along the step δ."""
        if not delta.any():
            return 0.0
        robot, s = self.robot, _NODES[:, None]
        at, h = robot.integrate(q, s * delta), 0.1  # on one-parameter subgroups the rate is δ for any h
        rates = robot.difference(robot.integrate(q, (s - h) * delta), robot.integrate(q, (s + h) * delta)) / (2.0 * h)
        return float(_WEIGHTS @ np.einsum("ki,ki->k", rates, self.force(at)))

    def force(self, q: Array) -> Array:
        """Return the acting joint forces F = M a − Gᵀλ (n, nv) at rest in configurations q (n, nq)."""
        a, forces = self.robot.constrained_forward_dynamics(
            q, self.zero_v, self.tau, passive=self.passive, **self.options
        )
        F: Array = np.einsum("kij,kj->ki", self.robot.mass_matrix(q, passive=self.passive, **self.varied), a)
        F -= np.einsum("kij,ki->kj", self.rows(q), forces)
        return F

    def result_at(self, state: _State, status: Status, iterations: int) -> Equilibrium:
        N = _free_motions(self.rows(state.q), state.M)
        values = np.sort(np.linalg.eigvals(-N.T @ state.M @ self.acceleration_by_q(state.q) @ N).real)
        return Equilibrium._make(state.q, state.forces, state.residual, values, status, iterations, self.scale)


def _descent(statics: _Statics, state: _State, max_iterations: int) -> Equilibrium:
    """Return the equilibrium that a trust-region descent of the energy leads to: one without a descent direction.

    If the search fails, the result is its last state.
    """
    robot, radius, iterations = statics.robot, _FIRST_RADIUS, 0
    statics.forces = float(np.abs(statics.force(state.q[None]) * statics.units).sum())
    while iterations < max_iterations:
        N = _free_motions(statics.rows(state.q), state.M)
        H = -N.T @ state.M @ statics.acceleration_by_q(state.q) @ N
        values, vectors = np.linalg.eigh(0.5 * (H + H.T))
        gradient = -vectors.T @ N.T @ state.M @ state.a
        flat = _FLAT_TOL * np.abs(values).max(initial=statics.scale)
        if statics.rests(state):
            if not len(values) or values[0] >= -flat:
                return statics.result_at(state, Status.SOLVED, iterations)
            direction = N @ vectors[:, 0]  # a saddle point: both directions descend
            trial = statics.projected(robot.integrate(state.q, _SADDLE_STEP / statics.largest(direction) * direction))
            if trial.error > _CLOSED_TOL:
                return statics.result_at(state, Status.SOLVED, iterations)
            state, radius, iterations = trial, _FIRST_RADIUS, iterations + 1
            continue
        sizes = np.maximum(np.abs(values), max(flat, 1e-300))
        idle = (np.abs(values) <= flat) & (np.abs(gradient) <= _REST_TOL * np.abs(gradient).max())
        x = np.where(idle, 0.0, -gradient / sizes)
        while True:
            delta = N @ (vectors @ x)
            share = min(1.0, radius / max(statics.largest(delta), 1e-300))
            expected = share * gradient @ x + 0.5 * share * share * (values * x) @ x  # change of the model energy
            along = share * delta
            trial = robot.integrate(state.q, along)
            projected = statics.projected(trial)
            if projected.error <= _CLOSED_TOL:
                gained = statics.work(state.q, along) + statics.work(trial, robot.difference(trial, projected.q))
                small = -expected <= _ROUNDING * statics.forces  # then the residual is more accurate than the work
                if projected.merit < state.merit if small else gained >= 1e-4 * -expected:
                    radius = min(_MAX_RADIUS, 2.0 * radius) if gained > 0.5 * -expected and share < 1.0 else radius
                    radius = 0.5 * radius if gained < 0.25 * -expected else radius
                    break
            radius = 0.25 * min(radius, statics.largest(along))
            if radius < _MIN_RADIUS:
                status = Status.SOLVED if statics.rests(state, 1e3) else Status.NOT_FOUND
                return statics.result_at(state, status, iterations)
        state, iterations = projected, iterations + 1
    return statics.result_at(state, Status.SOLVED if statics.rests(state) else Status.MAX_ITERATIONS, iterations)


def _newton(statics: _Statics, state: _State, max_iterations: int) -> Equilibrium:
    """Return the equilibrium that Newton steps lead to: ∂a/∂q δ = −a with G δ = 0.

    Steps are shortened until aᵀ M a decreases.
    """
    robot, iterations, status = statics.robot, 0, Status.MAX_ITERATIONS
    while True:
        if state.error > _CLOSED_TOL:
            status = Status.CONSTRAINTS_NOT_MET
            break
        if statics.rests(state):
            status = Status.SOLVED
            break
        if iterations == max_iterations:
            break
        N = _free_motions(statics.rows(state.q), state.M)
        acceleration_by_q = N.T @ state.M @ statics.acceleration_by_q(state.q) @ N
        step = N @ np.linalg.lstsq(acceleration_by_q, -(N.T @ state.M @ state.a), rcond=1e-12)[0]
        step *= min(1.0, 0.5 / max(1e-300, statics.largest(step)))
        for _ in range(30):
            trial = statics.projected(robot.integrate(state.q, step))
            if trial.error <= _CLOSED_TOL and trial.merit < state.merit:
                break
            step *= 0.5
        else:
            status = Status.SOLVED if statics.rests(state, 1e3) else Status.NOT_FOUND
            break
        state, iterations = trial, iterations + 1
    return statics.result_at(state, status, iterations)


def _free_motions(rows: Array, M: Array) -> Array:
    """Return a basis N of the free motions as columns: G N = 0 and Nᵀ M N = 1."""
    root = np.linalg.inv(np.linalg.cholesky(M)).T  # M⁻¹ = root rootᵀ
    if not len(rows):
        return np.asarray(root)
    _, values, motions = np.linalg.svd(rows @ root)
    return np.asarray(root @ motions[int(np.sum(values > 1e-9 * max(values[0], 1e-300))) :].T)

"""Static equilibrium: trust-region minimisation of the potential energy on the constraint manifold.

At rest M a = F + Gᵀλ, with the joint forces F of gravity, springs and actuators.  Along free motions δ = N x, with
G N = 0 and Nᵀ M N = 1, the energy changes by γᵀx + ½ xᵀHx, where γ = −Nᵀ F, and H = −Nᵀ M ∂a/∂q N includes the
curvature of the constraints.  Steps x = −(|H| + λ)⁻¹ γ descend also where H has negative eigenvalues, and are followed
by projection onto the constraints.  The decrease of the energy is the work of F along the step, by Gaussian quadrature,
so no potential is needed, and actuator forces need not have one.  A saddle point is left along its most negative
eigenvector, and a singular configuration along the further motions that begin there.

Newton's method on a, ∂a/∂q δ = −a with G δ = 0, finds equilibria of any kind near the start.

All states of a batch take their steps together.  Finished states leave the batch.

Sources: Nocedal and Wright, Numerical Optimization, 2nd ed. 2006, chapter 4 (trust regions); Dauphin et al.,
Identifying and attacking the saddle point problem, NeurIPS 2014 (|H|); Absil, Mahony and Sepulchre, Optimization
Algorithms on Matrix Manifolds, 2008, chapter 7.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork._util.result import Result
from linkwork._util.status import WORDS, status_of
from linkwork._util.validation import floats, integer, shown
from linkwork.errors import Status
from linkwork.kernels.array_arguments import stacked
from linkwork.mechanisms.assembly.state_inputs import varied
from linkwork.mechanisms.rest_states import REST_TOL, RestStates, Statics
from linkwork.model.function_spec import QUANTITIES

__all__ = ["Equilibrium", "equilibria_near"]

_FLAT_TOL = 1e-12  # stiffness that counts as zero, relative to the largest
_FIRST_RADIUS, _MAX_RADIUS, _MIN_RADIUS = 0.3, 1.0, 1e-13  # [rad, characteristic lengths] largest part of a step
_SADDLE_STEP = 1e-3  # [rad, characteristic lengths] step by which a saddle point is left
_SHIFTS, _BISECTIONS = 60.0, 16  # range of the logarithm of λ, and the number of its halvings
_SHORT = 1e-7  # [rad, characteristic lengths] radius below which a saddle point or a singular configuration is near
_SINGULAR = 1e-4  # relative singular value of the constraint Jacobian near a singular configuration
_ROUNDING = 1e-11  # work that is rounding, relative to the acting forces times the units of coordinates
_BLOCK = 4096  # states that are solved together, which bounds the memory

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, init=False)
class Equilibrium(Result):
    """A configuration in which a robot stays at rest, or the last one of a failed search; for a batch, arrays of them.

    ``status`` is "solved", "constraints_not_met", "not_found" (no equilibrium nearby), "singular" (the descent ended in
    a singular configuration without equilibrium) or "max_iterations".
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
    max_iterations = integer(caller, "max_iterations", max_iterations, least=1)
    varied_robot, inputs = varied(robot, caller, time, parameters)
    tau, wrenches, axes, gravity = loads
    if wrenches is not None and not isinstance(wrenches, Mapping):
        raise TypeError(f'{caller}: wrenches: expected a dict by frame, as in {{"hand": w}}, got {wrenches!r}')
    for frame in wrenches or {}:
        robot.tree.frame(frame)
    if isinstance(tau, Mapping):
        tau = stacked(robot._subject, QUANTITIES["tau"], tau)
    acting: dict[str, tuple[Any, ...]] = {"tau": (np.zeros(robot.nv) if tau is None else tau, robot.nv, robot.v_names)}
    acting |= {} if gravity is None else {"gravity": (gravity, 3)}
    pushes = {frame: _rows(f"{caller}: {frame}", w, 6) for frame, w in (wrenches or {}).items()}
    forces = {name: _rows(f"{caller}: {name}", *x) for name, x in acting.items()}
    try:
        each = (x.shape[:-1] for x in (*forces.values(), *pushes.values()))
        shape = np.broadcast_shapes(q0.shape[:-1], inputs.shape, *each)
    except ValueError as error:
        names = "q_init, tau, wrenches, gravity and parameters"
        raise ValueError(f"{caller}: {names} do not broadcast together: {error}") from None
    q0, forces, pushes = _flat(q0, shape), _each(forces, _flat, shape), _each(pushes, _flat, shape)
    statics = Statics.of(varied_robot, passive, forces, pushes, axes, inputs.flat(shape))
    blocks = [np.arange(k, min(k + _BLOCK, len(q0))) for k in range(0, max(1, len(q0)), _BLOCK)]
    solved = [_solve(statics.some(block), q0[block], max_iterations, descend) for block in blocks]
    most = max(part["stiffness"].shape[-1] for part in solved)
    for part in solved:
        padding = np.full((len(part["q"]), most - part["stiffness"].shape[-1]), np.nan)
        part["stiffness"] = np.hstack([part["stiffness"], padding])
    values = {name: np.concatenate([part[name] for part in solved]) for name in solved[0]}
    values = {name: x.reshape((*shape, *x.shape[1:])) for name, x in values.items()}
    status = status_of(values.pop("status"))
    return Equilibrium._make(**{name: x if x.ndim else x.item() for name, x in values.items()}, status=status)


def _flat(x: Array, shape: tuple[int, ...]) -> Array:
    """Return vectors (*shape, n), or vectors that broadcast to these, with one axis for all states."""
    return np.broadcast_to(x, (*shape, x.shape[-1])).reshape(math.prod(shape), x.shape[-1])


def _each(values: dict[str, Array], change: Callable[..., Array], *arguments: Any) -> dict[str, Array]:
    return {name: change(x, *arguments) for name, x in values.items()}


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


def _solve(statics: Statics, q0: Array, max_iterations: int, descend: bool) -> dict[str, Array]:
    """Return the fields of `Equilibrium` for a batch of starts (n, nq).

    An equilibrium is the energy minimum that descent from the start leads to, or the start if it is one itself.
    Without ``descend``, and if descent fails, Newton's method searches for an equilibrium of any kind.
    """
    start = statics.projected(q0)
    statics = statics.scaled(start)
    states, status, iterations = start.copy(), np.full(len(q0), "", WORDS), np.zeros(len(q0), int)

    def search(step: Callable[..., Array], index: Array) -> None:
        group_states, radius, status[index] = start.copy(index), np.full(len(index), _FIRST_RADIUS), ""
        for count in range(max_iterations):
            active = np.flatnonzero(status[index] == "")
            if not len(active):
                break
            iterations[index[active]] = count
            for group, N in statics.some(index[active]).free_motions(group_states.some(active)):
                members = active[group]
                trial, size = group_states.some(members), radius[members]
                status[index[members]] = step(statics.some(index[members]), trial, N, size)
                group_states.put(members, trial)
                radius[members] = size
        left = np.flatnonzero(status[index] == "")
        iterations[index[left]] = max_iterations
        rests, closed = statics.some(index).rests(group_states), group_states.closed
        ends = np.where(closed, np.where(rests, Status.SOLVED, Status.MAX_ITERATIONS), Status.CONSTRAINTS_NOT_MET)
        status[index[left]] = ends[left]
        states.put(index, group_states)

    if descend:
        search(_descent_step, np.flatnonzero(start.closed & ~statics.rests(start)))
    failed = np.flatnonzero(status != Status.SOLVED)
    ends = states.copy(failed), status[failed], iterations[failed]
    search(_newton_step, failed)
    worse = (status[failed] != Status.SOLVED) & np.isin(ends[1], (Status.SINGULAR, Status.NOT_FOUND))
    worse = np.flatnonzero(worse & start.closed[failed])
    if descend and len(worse):  # the end of the descent tells more
        states.put(failed[worse], ends[0].some(worse))
        status[failed[worse]], iterations[failed[worse]] = ends[1][worse], ends[2][worse]
    groups = [
        (group, statics.some(group).stiffness(states.some(group), N)) for group, N in statics.free_motions(states)
    ]
    stiffness = np.full((len(q0), max((H.shape[-1] for _, H in groups), default=0)), np.nan)
    for group, H in groups:
        stiffness[group, : H.shape[-1]] = np.sort(np.linalg.eigvals(H).real)
    return {
        "q": states.q,
        "constraint_forces": states.forces,
        "residual": np.abs(states.a).max(axis=-1, initial=0.0),
        "stiffness": stiffness,
        "status": status,
        "iterations": iterations,
        "scale": statics.scale,
    }


def _descent_step(statics: Statics, states: RestStates, N: Array, radius: Array) -> Array:
    """Take one step of a trust-region descent of the energy.  States and radii (n) change in place.

    Returns the status of each search that ends, "" for the others.  It ends without a direction of descent.
    """
    robot, status, transposed = statics.robot, np.full(len(N), "", WORDS), np.swapaxes(N, -1, -2)
    H = statics.stiffness(states, N)
    values, vectors = np.linalg.eigh(0.5 * (H + np.swapaxes(H, -1, -2)))
    gradient = -_times(np.swapaxes(vectors, -1, -2), _times(transposed, _times(states.M, states.a)))
    flat = _FLAT_TOL * np.maximum(np.abs(values).max(axis=-1, initial=0.0), statics.scale)
    rests, lowest = statics.rests(states), values.min(axis=-1, initial=0.0)
    status[rests & (lowest >= -flat)] = Status.SOLVED
    saddles = np.flatnonzero(rests & (lowest < -flat))
    if len(saddles):  # both directions descend
        direction = _times(N[saddles], vectors[saddles, :, 0])
        local = statics.some(saddles)
        step = _SADDLE_STEP / local.largest(direction)[:, np.newaxis] * direction
        trial = local.projected(robot.integrate(states.q[saddles], step))
        status[saddles[~trial.closed]] = Status.SOLVED
        closed = np.flatnonzero(trial.closed)
        states.put(saddles[closed], trial.some(closed))
        radius[saddles[closed]] = _FIRST_RADIUS
    sizes = np.maximum(np.abs(values), np.maximum(flat, 1e-300)[:, np.newaxis])
    largest = np.abs(gradient).max(axis=-1, initial=0.0, keepdims=True)
    idle = (np.abs(values) <= flat[:, np.newaxis]) & (np.abs(gradient) <= REST_TOL * largest)
    gradient, basis = np.where(idle, 0.0, gradient), N @ vectors
    pending = np.flatnonzero(~rests)
    while len(pending):
        local, before, size = statics.some(pending), states.some(pending), radius[pending]
        slopes, curvatures = gradient[pending], values[pending]
        x, is_bounded = _bounded_step(slopes, sizes[pending], basis[pending] / statics.units[:, np.newaxis], size)
        along = _times(basis[pending], x)
        expected = (slopes * x + 0.5 * curvatures * x * x).sum(axis=-1)  # change of the model energy
        moved = robot.integrate(before.q, along)
        trial = local.projected(moved)
        paths = np.stack([along, robot.difference(moved, trial.q)])
        gained = local.work(np.stack([before.q, moved]), paths).sum(axis=0)
        small = -expected <= _ROUNDING * local.size  # then the residual is more accurate than the work
        better = np.where(small, trial.merit < before.merit, gained >= 1e-4 * -expected) & trial.closed
        grown = np.where((gained > 0.5 * -expected) & is_bounded, np.minimum(_MAX_RADIUS, 2.0 * size), size)
        grown = np.where(gained < 0.25 * -expected, 0.5 * grown, grown)
        shrunk = 0.25 * np.minimum(size, local.largest(along))
        radius[pending] = np.where(better, grown, shrunk)
        accepted = np.flatnonzero(better)
        states.put(pending[accepted], trial.some(accepted))
        short, ended = np.maximum(size, _MIN_RADIUS), ~better & (shrunk < _MIN_RADIUS)
        for k in np.flatnonzero(~better & (shrunk < _SHORT) & ((short >= _SHORT) | ended)):
            state = pending[k : k + 1]
            status[state], lower = _left(statics.some(state), states.copy(state))
            if lower is not None:
                states.put(state, lower)
                radius[state], better[k] = _FIRST_RADIUS, True
        status[pending[~ended | better]] = ""
        pending = pending[~better & ~ended]
    return status


def _bounded_step(gradient: Array, sizes: Array, basis: Array, radius: Array) -> tuple[Array, Array]:
    """Return the steps x = −g/(|h| + λ) (n, m) in a trust region, and True where the region shortens them.

    g is the ``gradient`` and |h| (``sizes``) the absolute stiffness along each direction. λ ≥ 0 is the smallest number
    for which no component of ``basis`` x exceeds the radius. Nearly flat directions therefore do not shorten the step
    along other directions.
    """

    def outside(shift: Array) -> tuple[Array, Array]:
        x = -gradient / (sizes + shift[:, np.newaxis])
        return x, np.abs(_times(basis, x)).max(axis=-1, initial=0.0) > radius

    is_bounded = outside(np.zeros(len(radius)))[1]
    high = _times(np.abs(basis), np.abs(gradient)).max(axis=-1, initial=0.0) / np.maximum(radius, 1e-300)
    low = np.log(np.maximum(high, 1e-300)) - _SHIFTS
    high = low + _SHIFTS
    for _ in range(_BISECTIONS if is_bounded.any() else 0):
        middle = 0.5 * (low + high)
        is_outside = outside(np.exp(middle))[1]
        low, high = np.where(is_outside, middle, low), np.where(is_outside, high, middle)
    return outside(np.where(is_bounded, np.exp(high), 0.0))[0], is_bounded


def _left(statics: Statics, state: RestStates) -> tuple[Status, RestStates | None]:
    """Return the status of a state that no descent step improves, and a lower state from which to continue, or None.

    Such states are near a saddle point, or in a singular configuration, from which further motions begin.
    """
    [(_, N)], [(_, more)] = statics.free_motions(state), statics.free_motions(state, _SINGULAR)
    is_singular = more.shape[-1] > N.shape[-1]
    if statics.rests(state, 1e3).all():
        return Status.SOLVED, None
    values, vectors = np.linalg.eigh(statics.stiffness(state, N)[0])
    directions = [N[0] @ vectors[:, k] for k in range(len(values)) if k == 0 and values[0] < 0.0]
    if is_singular:
        directions += [more[0] @ (more[0].T @ statics.force(state.q)[0]), *more[0].T]
    lowest, result = -_ROUNDING * statics.size[0], None
    for direction, length in itertools.product(directions, (k * _SADDLE_STEP for k in (1, -1, 10, -10, 100, -100))):
        along = length / max(1e-300, float(statics.largest(direction))) * direction[np.newaxis]
        moved = statics.robot.integrate(state.q, along)
        trial = statics.projected(moved)
        paths = np.stack([along, statics.robot.difference(moved, trial.q)])
        change = -float(statics.work(np.stack([state.q, moved]), paths).sum())
        if trial.closed.all() and change < lowest:
            lowest, result = change, trial
    return Status.SINGULAR if is_singular else Status.NOT_FOUND, result


def _newton_step(statics: Statics, states: RestStates, N: Array, radius: Array) -> Array:
    """Take one Newton step ∂a/∂q δ = −a with G δ = 0, shortened until aᵀ M a decreases.  States change in place.

    Returns the status of each search that ends, "" for the others.
    """
    status = np.where(states.closed, "", Status.CONSTRAINTS_NOT_MET).astype(WORDS)
    status[statics.rests(states)] = Status.SOLVED
    pending = np.flatnonzero(status == "")
    if not len(pending):
        return status
    local, before, basis = statics.some(pending), states.some(pending), N[pending]
    u, s, v = np.linalg.svd(local.stiffness(before, basis))
    factors = np.where(s > 1e-12 * s[:, :1], 1.0 / np.maximum(s, 1e-300), 0.0)
    forces = _times(np.swapaxes(basis, -1, -2), _times(before.M, before.a))
    x = _times(np.swapaxes(v, -1, -2), factors * _times(np.swapaxes(u, -1, -2), forces))
    step = _times(basis, x)
    step *= np.minimum(1.0, 0.5 / np.maximum(1e-300, local.largest(step)))[:, np.newaxis]
    for _ in range(30):
        if not len(pending):
            break
        trial = local.projected(statics.robot.integrate(before.q, step))
        better = trial.closed & (trial.merit < before.merit)
        accepted, left = np.flatnonzero(better), np.flatnonzero(~better)
        states.put(pending[accepted], trial.some(accepted))
        pending, local, before, step = pending[left], local.some(left), before.some(left), 0.5 * step[left]
    status[pending] = _end(local, before)
    return status


def _end(statics: Statics, states: RestStates) -> Array:
    """Return the status of searches that find no better state."""
    return np.where(statics.rests(states, 1e3), Status.SOLVED, Status.NOT_FOUND)


def _times(A: Array, x: Array) -> Array:
    """Return products of matrices (n, m, k) and vectors (n, k)."""
    return np.asarray((A @ x[..., np.newaxis])[..., 0])

"""Problems of optimal motion by forward dynamics: iterative LQR, and multiple shooting.

What is unknown are the forces of motors; a motion is what they make of the start.  Features are asked of each step and
of the state that it reaches, squares and costs are those of the path, and constraints enter by multipliers.  Limits of
motors hold exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..._text import nearest
from ...algorithms.optimal.augmented import STOPPED
from ...algorithms.optimal.program import PathProgram
from ...algorithms.shooting.robot import INTEGRATORS, RobotDynamics
from ...algorithms.shooting.solver import KEPT, RollOut, Shooting, begun
from ...algorithms.shooting.wanted import WantedRows, row_kinds, split_entries
from ...bridge.machine import Kernel, compile
from ...bridge.once import Once
from ...expr.arrays import array
from ...expr.control.loops import scan
from ..assembly.wanted import read_configuration
from .asked import read_guess
from .derivatives import PathDerivative
from .guesses import guesses
from .result import OptimalResult
from .running import PENALTY, PreparedProblem, _past, _tolerances, prepared
from .shooting_pieces import Watching, in_pieces, picked, stopped
from .solving import TOLD, target_sizes

__all__ = ["SHOOTING", "ShootingResult", "motor_places", "shot"]

Array = np.ndarray[Any, Any]

SHOOTING = ("ilqr", "shooting")

AT_MOST = 200
TOLERANCE = 1e-9  # of constraints
STEP_TOLERANCE = 1e-6  # the root of how much cost may be left, beside the cost
_FAR = 1e8  # a penalty
_kernels: Once[Kernel] = Once(64)


@dataclass(frozen=True)
class _Recipe:
    """What a kernel is made of."""

    program: PathProgram
    actuated: tuple[int, ...]
    integrator: str
    passive: bool
    limited: bool
    gaps: bool
    second_order: bool

    def dynamics(self, h: Any) -> RobotDynamics:
        return RobotDynamics(self.program.tree, h, self.actuated, self.integrator, self.passive)


class ShootingResult(OptimalResult):
    """A motion by forward dynamics: a path, and besides what moves it and how to stay near it.

    ``controls`` (..., T, m), the forces of motors from each step to the next, ``velocities`` (..., T, nv) at the steps,
    and ``gains`` (..., T, m, 2 nv): u + K (q ⊖ q̄; v − v̄) is the best to do near the state from which a step begins.
    """

    controls: Array
    velocities: Array
    gains: Array
    gap: Array  # (...): how far steps do not lead to the next ones, which is rounding where it is solved
    _values: Array

    @property
    def _looked(self) -> tuple[Array, Array]:
        program = self.prepared.program
        every, alone = [], []
        for k, entry in enumerate(program.entries):
            own = self._values[..., program.rows_of[k]]
            if entry.at is None:
                every.append(own)
            else:
                alone.append(own[..., entry.at, :])
        none = np.zeros((*self._values.shape[:-1], 0))
        return np.concatenate([none, *every], axis=-1), np.concatenate([none[..., 0, :], *alone], axis=-1)

    def derivative(self, by: str) -> PathDerivative:
        """None: it is of paths by inverse dynamics.  Raises ValueError."""
        raise ValueError(
            "ShootingResult.derivative: motions by forward dynamics have none here: solve(..., guess=result.q) with "
            'solver="augmented" gives a path that has'
        )


def shot(
    problem: Any,
    start: Any,
    solver: str,
    *,
    velocity: Any = None,
    targets: Any = None,
    guess: Any = None,
    controls: Any = None,
    control_limits: Any = None,
    actuated: Any = None,
    integrator: str = "semi_implicit_euler",
    passive: bool = False,
    second_order: bool | None = None,
    tolerance: Any = TOLERANCE,
    step_tolerance: float = STEP_TOLERANCE,
    at_most: int = AT_MOST,
    seeds: int = 1,
    seed: int = 0,
    every_seed: bool = False,
    deadline: float | None = None,
    progress: bool = False,
    callback: Any = None,
) -> ShootingResult:
    """The best motion from a start, by forward dynamics.

    ``solver`` "ilqr" begins with the motion of the first ``controls`` (..., T, m), by default what holds the robot at
    the start; "shooting" with the ``guess`` (..., T, nq), whose gaps it closes.  ``actuated`` names the joints that
    have motors (all but a free base), ``control_limits`` bound their forces: a number, one a motor, a pair of such
    (least, most), or False for none; by default those of the robot.  ``integrator`` is "semi_implicit_euler" or
    "runge_kutta_4"; ``passive`` adds what joints do by themselves.  ``second_order`` takes the dynamics' second
    derivatives, too: slower steps, and fewer; by default where there are fewer motors than velocities.  Of several
    ``seeds`` the first begins so, and others with paths to configurations drawn by ``seed``, or with the forces of
    such.

    Raises ValueError for what forward dynamics does not answer: features of more than a step, free durations,
    variables of steps; and for arguments that are none.
    """
    who = f"Problem.solve: solver={solver!r}"
    watching = Watching("Problem.solve", seeds, every_seed, deadline, progress, callback)
    if start is None:
        raise ValueError(f"{who}: start: a motion by forward dynamics begins somewhere: give the configuration")
    own = prepared(problem, True)
    robot, program = problem.robot, own.program
    if robot.tree.constraints:
        raise ValueError(f'{who}: it knows robots without constraints alone; solver="augmented" keeps them')
    if program.variables or program.parameters or not program.uniform:
        raise ValueError(
            f"{who}: it knows no variables of steps, no parameters and no free durations, but the problem has "
            f"{', '.join([*problem.variables, *problem.parameters]) or 'steps that differ'}"
        )
    if integrator not in INTEGRATORS:
        raise ValueError(f"{who}: integrator: no {integrator!r}; {nearest(integrator, INTEGRATORS)}")
    places = motor_places(who, robot, actuated)
    low, high = _limits(who, robot, places, control_limits)
    limited = bool(np.isfinite(low).any() or np.isfinite(high).any())
    second = len(places) < robot.nv if second_order is None else bool(second_order)
    recipe = _Recipe(program, places, integrator, bool(passive), limited, solver == "shooting", second)
    tau = float(np.ravel(own.constants["step"])[0])
    split = split_entries(recipe.dynamics(1.0), program.entries)
    q0 = read_configuration(robot, "Problem.solve", "start", start)
    v0 = np.zeros(robot.nv) if velocity is None else _finite(who, "velocity", velocity, (robot.nv,))
    lead = np.broadcast_shapes(q0.shape[:-1], v0.shape[:-1])
    x0 = np.concatenate([np.broadcast_to(q0, (*lead, robot.nq)), np.broadcast_to(v0, (*lead, robot.nv))], axis=-1)
    path, u = _first(who, robot, recipe, x0, tau, guess, controls, (low, high))
    if watching.seeds > 1:
        ends = own.ends(watching.seeds - 1, seed)
        first = guesses(problem, np.broadcast_to(path[..., : robot.nq], (*path.shape[:-1], robot.nq)), ends, True)
        x0 = x0[..., None, :]
        paths, forces = _first(who, robot, recipe, x0, tau, first, None, (low, high))
        path, u = (_put(x, own_x) for x, own_x in ((paths, path), (forces, u)))
    inputs = {"x0": x0, "u": u, "x": path, "step": np.array(tau)}
    inputs |= _data(own, program, split, own.given_targets(targets))
    inputs |= {"low": low, "high": high} if limited else {}
    tolerances = _tolerances(problem, program, tolerance, step_tolerance)
    if isinstance(at_most, bool) or not isinstance(at_most, (int, np.integer)) or at_most < 1:
        raise ValueError(f"Problem.solve: at_most: expected a whole number from 1, got {at_most!r}")
    inputs |= {"ends": np.array([step_tolerance, tolerances[1:].min(initial=1.0), float(at_most)])}
    kernel = _kernels.get(recipe, lambda: _compiled(recipe, split))
    inputs["kept"] = np.array(begun(float(step_tolerance), PENALTY, bool(program.hard)))
    for port in kernel.inputs:
        inputs.setdefault(port.name, np.zeros(port.shape))  # of multipliers
        x = inputs[port.name]
        if watching.seeds > 1 and port.name not in ("x0", "u", "x") and x.ndim > len(port.shape):
            inputs[port.name] = np.expand_dims(x, x.ndim - len(port.shape))
    if watching.seeds > 1 and np.ndim(velocity) > 1:
        velocity = np.expand_dims(velocity, -2)

    def result(found: Any) -> ShootingResult:
        every = _result(own, split, x0, velocity, SimpleNamespace(**found), tolerances)
        every.state["told"][..., 1] = np.where(stopped(found), STOPPED, every.state["told"][..., 1])
        return every

    def shown(found: Any) -> ShootingResult:
        return _best(result(found)) if watching.seeds > 1 else result(found)

    found, late = in_pieces(kernel, inputs, int(at_most), watching, result, shown)
    last = shown(found)
    last._late = late
    return last


def _put(x: Array, first: Array) -> Array:
    """Of seeds (..., seeds, T, n), with the first as it is said (..., T, n)."""
    lead = np.broadcast_shapes((*x.shape[:-3], *x.shape[-2:]), first.shape)
    found = np.array(np.broadcast_to(x, (*lead[:-2], *x.shape[-3:])))
    found[..., 0, :, :] = first
    return found


def _best(every: ShootingResult) -> ShootingResult:
    """Of seeds the best of each problem, with all as its ``attempts``."""
    place = every._best()
    state = {name: picked(x, place) for name, x in every.state.items()}
    past = every.numbers["past"]
    numbers = every.numbers | {"past": past.squeeze(past.ndim - 3) if past.ndim > 2 else past}
    found = ShootingResult(every.prepared, state, numbers, every.tolerances, place.shape)
    found.attempts, found.seed = every, int(place) if not place.shape else place
    for name in ("controls", "velocities", "gains", "gap", "_values"):
        setattr(found, name, picked(getattr(every, name), place))
    return found


def motor_places(who: str, robot: Any, actuated: Any) -> tuple[int, ...]:
    """The velocities that have motors."""
    tree = robot.tree
    if actuated is None:
        free = {i for i, body in tree.stacked() if body.parent < 0 and body.joint.nv == 6}
        chosen = [i for i, _ in tree.stacked() if i not in free]
    else:
        names = [actuated] if isinstance(actuated, str) else list(actuated)
        chosen = sorted({tree.joint_index(name) for name in names})
    found = tuple(k for i in chosen for k in range(tree.nv)[tree.v_slices[i]])
    if not found:
        raise ValueError(f"{who}: actuated: no joint has a motor")
    return found


def _limits(who: str, robot: Any, places: tuple[int, ...], given: Any) -> tuple[Array, Array]:
    """Least and most (m,) of the motors' forces."""
    if given is False:
        bounds: Any = (-math.inf, math.inf)
    elif given is None or given is True:
        effort = np.asarray(robot.effort_limits, dtype=float)[list(places)]
        bounds = (-effort, effort)
    else:
        bounds = given if isinstance(given, tuple) and len(given) == 2 else None
    try:
        if bounds is None:
            most = np.array(given, dtype=float)
            bounds = (-most, most)
        low, high = (np.broadcast_to(np.array(x, dtype=float), (len(places),)).copy() for x in bounds)
    except (TypeError, ValueError):
        low = high = np.array(math.nan)
    if not ((low <= high) & (low < math.inf) & (high > -math.inf)).all():
        raise ValueError(
            f"{who}: control_limits: expected a number, one for each of {len(places)} motors, or (least, most), "
            f"got {given!r}"
        )
    return low, high


def _finite(who: str, what: str, given: Any, shape: tuple[int, ...]) -> Array:
    try:
        found = np.array(given, dtype=float)
    except (TypeError, ValueError):
        found = np.array(math.nan)
    if found.shape[found.ndim - len(shape) :] != shape or found.ndim < len(shape) or not np.isfinite(found).all():
        raise ValueError(f"{who}: {what}: expected finite numbers (..., {', '.join(map(str, shape))}), got {given!r}")
    return found


def _first(
    who: str, robot: Any, recipe: _Recipe, x0: Array, tau: float, guess: Any, controls: Any, limits: tuple[Array, Array]
) -> tuple[Array, Array]:
    """States that steps lead to (..., T, nx) and controls (..., T, m) to begin with."""
    T, motors, nq = recipe.program.steps, list(recipe.actuated), robot.nq
    lead = x0.shape[:-1]
    q = np.repeat(x0[..., None, :nq], T, axis=-2)
    v, a = np.zeros((*lead, T, robot.nv)), np.zeros((*lead, T, robot.nv))
    before, slow = q, v
    if guess is not None:
        q = read_guess(robot, T, guess)
        lead = np.broadcast_shapes(lead, q.shape[:-2])
        first = np.broadcast_to(x0[..., None, :], (*lead, 1, x0.shape[-1]))
        before = np.concatenate([first[..., :nq], np.broadcast_to(q, (*lead, T, nq))[..., :-1, :]], axis=-2)
        v = robot.difference(before, q) / tau
        slow = np.concatenate([first[..., nq:], v[..., :-1, :]], axis=-2)
        a = (v - slow) / tau
    if controls is None:
        u = robot.inverse_dynamics(before, slow, a, passive=recipe.passive)[..., motors]
    else:
        u = _finite(who, "controls", controls, (T, len(motors)))
    path = np.concatenate([np.broadcast_to(q, (*v.shape[:-1], nq)), v], axis=-1)
    return path, np.clip(u, *limits)


def _data(
    own: PreparedProblem, program: PathProgram, split: tuple[list[int], list[int]], targets: dict[str, Array]
) -> dict[str, Array]:
    """Weights of rows by step, times and targets that move, bounds and other targets, by the kernel's names."""
    T, constants = program.steps, own.constants
    found: dict[str, Array] = {}
    for name, some in zip(("moving", "reached"), split, strict=True):
        columns = [np.zeros((T, 0))]
        for k in some:
            entry, rows = program.entries[k], program.rows_of[k]
            weights = constants["weights"][:, k, None] * own.even["scales"][rows]
            if entry.bounded and entry.hard:
                high, low = (np.isfinite(constants[side][rows]) for side in ("upper", "lower"))
                weights = np.concatenate([weights * high, weights * low], axis=-1)
            columns.append(weights)
        found[f"{name}_weights"] = np.concatenate(columns, axis=-1)
    times = (np.arange(T) + 1.0)[:, None] * float(np.ravel(constants["step"])[0])
    moving = [targets[f"target{k}"] for k, entry in enumerate(program.entries) if entry.moving]
    lead = np.broadcast_shapes(*(x.shape[:-2] for x in moving))
    found["given"] = np.concatenate([np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (times, *moving)], axis=-1)
    found |= {name: x for name, x in targets.items() if not program.entries[int(name[6:])].moving}
    if any(entry.bounded for entry in program.entries):
        found |= {"lower": constants["lower"], "upper": constants["upper"]}
    return found


def _compiled(recipe: _Recipe, split: tuple[list[int], list[int]]) -> Kernel:
    program, m = recipe.program, len(recipe.actuated)
    tree, T, entries = program.tree, program.steps, program.entries
    sizes = target_sizes(program)
    nx = tree.nq + tree.nv
    kinds = [[kind for k in some for kind in row_kinds(entries[k])] for some in split]
    moved = sum(sizes[k] for k, entry in enumerate(entries) if entry.moving)
    shapes: dict[str, tuple[int, ...]] = {
        "x0": (nx,), "u": (T, m), "x": (T, nx), "step": (),
        "moving_weights": (T, len(kinds[0])), "reached_weights": (T, len(kinds[1])), "given": (T, 1 + moved),
    }  # fmt: skip
    shapes |= {f"target{k}": (size,) for k, size in sizes.items() if not entries[k].moving}
    if any(entry.bounded for entry in entries):
        shapes |= {"lower": (program.rows,), "upper": (program.rows,)}
    if recipe.limited:
        shapes |= {"low": (m,), "high": (m,)}
    shapes |= {f"{name}_forces": (T, len(some)) for name, some in zip(("moving", "reached"), kinds, strict=True)}
    shapes |= {"kept": (len(KEPT),), "ends": (3,)}
    shapes = {name: shape for name, shape in shapes.items() if 0 not in shape}

    def solved(**given: Any) -> Any:
        dynamics = recipe.dynamics(given["step"])
        targets = {k: list(given[f"target{k}"]) for k, entry in enumerate(entries) if k in sizes and not entry.moving}
        bounds = {
            k: (list(given["lower"][rows]), list(given["upper"][rows]))
            for k, (entry, rows) in enumerate(zip(entries, program.rows_of, strict=True))
            if entry.bounded
        }
        wanted = WantedRows(dynamics, entries, *split, targets, bounds)
        weights = tuple(given.get(f"{name}_weights", np.zeros((T, 0))) for name in ("moving", "reached"))
        limits = (list(given["low"]), list(given["high"])) if recipe.limited else None
        tolerance, feasibility, most = given["ends"]
        problem = Shooting(
            dynamics, wanted, list(given["x0"]), given["given"], weights, limits,
            recipe.gaps, recipe.second_order, tolerance, feasibility, iterations=most,
        )  # fmt: skip
        forces = tuple(given.get(f"{name}_forces", np.zeros((T, 0))) for name in ("moving", "reached"))
        found = problem.solve(RollOut(given["x"], given["u"]), forces, list(given["kept"]))
        x, u = found.motion

        def looked(_: Any, row: Any) -> tuple[Any, Any]:
            return (), array(wanted.values(*(list(part) for part in row)))

        _, values = scan(looked, (), (problem.before(x), u, x, given["given"]))
        told = [found.status, found.iterations, found.cost, found.violation, found.gap, found.decrement]
        every = {
            "x": x,
            "u": u,
            "K": found.gains,
            "values": values,
            "told": array([*told, found.penalty, found.roll_outs]),
            "kept": array(list(found.kept)),
        }
        new = dict(zip(("moving", "reached"), found.multipliers, strict=True))
        return every | {f"{name}_forces": k for name, k in new.items() if k.shape[-1]}

    return compile(solved, name="shooting", **shapes)


def _result(
    own: PreparedProblem, split: tuple[list[int], list[int]], x0: Array, velocity: Any, found: Any, tolerances: Array
) -> ShootingResult:
    program, robot = own.program, own.problem.robot
    status, iterations, cost, _, gap, decrement, penalty, _ = np.moveaxis(found.told, -1, 0)
    lead, nq = status.shape, robot.nq
    forces = _by_entry(program, split, found)
    violated = _violations(own, found.values)
    ended = np.choose(np.nan_to_num(status).astype(int).clip(0, 3), [1.0, 3.0, 0.0, 3.0])
    bad = (violated > tolerances[1:]).any(axis=-1) & (penalty > _FAR)
    ended = np.where((ended != 1.0) & bad, 2.0, ended)
    cost = np.where(status == 3.0, np.nan, cost)
    told = np.zeros((*lead, len(TOLD) + 2 * len(program.hard)))
    by_name = {
        "status": ended,
        "iterations": iterations,
        "cost": cost,
        "merit": cost,
        "length": np.sqrt(abs(decrement)),
    }
    for name, x in by_name.items():
        told[..., TOLD.index(name)] = x
    told[..., len(TOLD) :] = np.concatenate([violated, violated], axis=-1)
    state = {"q": found.x[..., :nq], "told": told}
    places = program.forces_of(program.everywhere)
    state["everywhere"] = np.zeros((*lead, program.steps, program.force_count(program.everywhere)))
    for k, place in places.items():
        state["everywhere"][..., place] = forces[k]
    state["alone"] = np.zeros((*lead, program.force_count(program.alone)))
    for k, place in program.forces_of(program.alone).items():
        state["alone"][..., place] = forces[k][..., program.entries[k].at, :]
    numbers = own.even | {"past": _past(own, x0[..., :nq], velocity)}
    result = ShootingResult(own, state, numbers, tolerances, lead)
    result.controls, result.velocities, result.gains = found.u, found.x[..., nq:], found.K
    result._values, result.gap = found.values, gap
    return result


def _by_entry(program: PathProgram, split: tuple[list[int], list[int]], found: Any) -> dict[int, Array]:
    """Multipliers of constraints by their numbers, (..., T, rows)."""
    forces: dict[int, Array] = {}
    for name, some in zip(("moving", "reached"), split, strict=True):
        start = 0
        for k in some:
            entry = program.entries[k]
            size = len(row_kinds(entry))
            if entry.hard:
                own = getattr(found, f"{name}_forces")[..., start : start + size]
                forces[k] = own[..., : entry.count] - own[..., entry.count :] if entry.bounded else own
            start += size
    return forces


def _violations(own: PreparedProblem, values: Array) -> Array:
    """By constraint: how much is violated at most, (..., constraints)."""
    program, columns = own.program, []
    for k in program.hard:
        entry, rows = program.entries[k], program.rows_of[k]
        x = values[..., rows]
        if entry.bounded:
            beyond = np.maximum(x - own.constants["upper"][rows], own.constants["lower"][rows] - x).clip(0.0)
        else:
            beyond = np.abs(x) if entry.kind == "equality" else x.clip(0.0)
        on = (own.constants["weights"][:, k, None] != 0.0) & (own.constants["scales"][rows] != 0.0)
        columns.append(np.where(on, beyond, 0.0).max(axis=(-1, -2)))
    return np.stack(columns, axis=-1) if columns else np.zeros((*values.shape[:-2], 0))

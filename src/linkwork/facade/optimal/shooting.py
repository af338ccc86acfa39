"""Problems of optimal motion by forward dynamics: iterative LQR, and multiple shooting.

What is unknown are the forces of motors; a motion is what they make of the start.  Features are asked of each step and
of the state that it reaches, squares and costs are those of the path, and constraints enter by multipliers.  Limits of
motors hold exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from inspect import signature
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..._text import nearest
from ...algorithms.optimal.augmented import STOPPED
from ...algorithms.optimal.program import PathProgram
from ...algorithms.shooting.held import HeldDynamics, Holding
from ...algorithms.shooting.robot import INTEGRATORS, RobotDynamics
from ...algorithms.shooting.search import KEPT, RollOut, begun
from ...algorithms.shooting.solver import Shooting
from ...algorithms.shooting.wanted import WantedRows, row_kinds, split_entries
from ...bridge.machine import Kernel, compile
from ...bridge.once import Once
from ...expr.arrays import array
from ...expr.control.loops import scan
from ..assembly.wanted import read_configuration
from .asked import read_count, read_guess, read_seed, read_switch, read_tolerances
from .guesses import guesses
from .holding import HoldingPhases, holding_controls, phases_of
from .prepared import PENALTY, PreparedProblem, prepared
from .shooting_pieces import Watching, in_pieces, stopped
from .shooting_result import ShootingResult, best_of_seeds, shooting_result
from .solving import target_sizes

__all__ = ["SHOOTING", "SHOOTING_OPTIONS", "ShootingResult", "motor_places", "shot"]

Array = np.ndarray[Any, Any]

SHOOTING = ("ilqr", "shooting")

AT_MOST = 200
TOLERANCE = 1e-9  # of constraints
STEP_TOLERANCE = 1e-6  # the root of how much cost may be left, beside the cost
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
    holdings: tuple[Holding, ...] = ()

    def dynamics(self, h: Any) -> RobotDynamics:
        own = self.program.tree, h, self.actuated, self.integrator, self.passive
        return HeldDynamics(*own, self.holdings) if self.holdings else RobotDynamics(*own)


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
    derivatives, too: slower steps, and fewer; by default where there are fewer motors than velocities, and neither
    contacts nor constraints hold the robot.  Of several ``seeds`` the first begins so, and others with paths to
    configurations drawn by ``seed``, or with the forces of such.

    Raises ValueError for what forward dynamics does not answer: features of more than a step, free durations,
    variables of steps but forces of contacts, and contacts that may slide; and for arguments that are none.
    """
    who = f"Problem.solve: solver={solver!r}"
    passive, seed = read_switch("passive", passive), read_seed(seed)
    second_order = None if second_order is None else read_switch("second_order", second_order)
    watching = Watching("Problem.solve", seeds, every_seed, deadline, progress, callback)
    if start is None:
        raise ValueError(f"{who}: start: a motion by forward dynamics begins somewhere: give the configuration")
    if solver == "ilqr" and controls is not None and guess is not None:
        raise ValueError(f"{who}: it begins with controls= or with the forces of a guess=: expected one of them")
    own = prepared(problem, True)
    robot, program = problem.robot, own.program
    phases = phases_of(who, problem)
    if not program.uniform:
        raise ValueError(f"{who}: it knows steps that take equally long alone")
    if integrator not in INTEGRATORS:
        raise ValueError(f"{who}: integrator: no {integrator!r}; {nearest(integrator, INTEGRATORS)}")
    if phases.holdings and integrator != INTEGRATORS[0]:
        raise ValueError(f"{who}: integrator: where contacts or constraints hold a robot it is {INTEGRATORS[0]!r}")
    if phases.holdings and second_order:
        raise ValueError(f"{who}: second_order: where contacts or constraints hold a robot it knows none")
    places = motor_places(who, robot, actuated)
    low, high = _limits(who, robot, places, control_limits)
    limited = bool(np.isfinite(low).any() or np.isfinite(high).any())
    second = len(places) < robot.nv and not phases.holdings if second_order is None else second_order
    gaps = solver == "shooting"
    recipe = _Recipe(program, places, integrator, passive, limited, gaps, second, phases.holdings)
    tau = float(np.ravel(own.constants["step"])[0])
    split = split_entries(recipe.dynamics(1.0), program.entries, phases.kept)
    q0 = read_configuration(robot, "Problem.solve", "start", start)
    v0 = np.zeros(robot.nv) if velocity is None else _finite(who, "velocity", velocity, (robot.nv,))
    lead = np.broadcast_shapes(q0.shape[:-1], v0.shape[:-1])
    x0 = np.concatenate([np.broadcast_to(q0, (*lead, robot.nq)), np.broadcast_to(v0, (*lead, robot.nv))], axis=-1)
    path, u = _first(who, robot, recipe, phases, x0, tau, guess, controls, (low, high))
    if watching.seeds > 1:
        ends = own.ends(watching.seeds - 1, seed)
        first = guesses(problem, np.broadcast_to(path[..., : robot.nq], (*path.shape[:-1], robot.nq)), ends, True)
        x0 = x0[..., None, :]
        paths, forces = _first(who, robot, recipe, phases, x0, tau, first, None, (low, high))
        path, u = (_put(x, own_x) for x, own_x in ((paths, path), (forces, u)))
    inputs = {"x0": x0, "u": u, "x": path, "step": np.array(tau)}
    inputs |= _data(own, program, split, phases, own.given_targets(targets))
    inputs |= {"low": low, "high": high} if limited else {}
    tolerances = read_tolerances(program.hard_names, tolerance, step_tolerance, TOLERANCE)
    at_most = read_count("Problem.solve", "at_most", at_most)
    inputs |= {"ends": np.array([step_tolerance, _least(own, program, tolerances[1:]), float(at_most)])}
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
        every = shooting_result(own, split, phases, x0, velocity, SimpleNamespace(**found), tolerances)
        every.state["told"][..., 1] = np.where(stopped(found), STOPPED, every.state["told"][..., 1])
        return every

    def shown(found: Any) -> ShootingResult:
        return best_of_seeds(result(found)) if watching.seeds > 1 else result(found)

    found, late = in_pieces(kernel, inputs, at_most, watching, result, shown)
    last = shown(found)
    last._late = late
    return last


SHOOTING_OPTIONS = tuple(signature(shot).parameters)[3:]
"""What `shot` is asked with besides the problem, its start and the solver."""


def _put(x: Array, first: Array) -> Array:
    """Of seeds (..., seeds, T, n), with the first as it is said (..., T, n)."""
    lead = np.broadcast_shapes((*x.shape[:-3], *x.shape[-2:]), first.shape)
    found = np.array(np.broadcast_to(x, (*lead[:-2], *x.shape[-3:])))
    found[..., 0, :, :] = first
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
    who: str,
    robot: Any,
    recipe: _Recipe,
    phases: HoldingPhases,
    x0: Array,
    tau: float,
    guess: Any,
    controls: Any,
    limits: tuple[Array, Array],
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
        free = robot.without_constraints() if robot.tree.constraints else robot
        u = free.inverse_dynamics(before, slow, a, passive=recipe.passive)
        u = holding_controls(robot, phases, u, before, motors) if phases.holdings else u[..., motors]
    else:
        u = _finite(who, "controls", controls, (T, len(motors)))
    path = np.concatenate([np.broadcast_to(q, (*v.shape[:-1], nq)), v], axis=-1)
    return path, np.clip(u, *limits)


def _least(own: PreparedProblem, program: Any, tolerances: np.ndarray) -> float:
    """The least tolerance of constraints as the search measures them, by scales that are not those asked for."""
    found = [1.0]
    for k, tolerance in zip(program.hard, tolerances, strict=True):
        rows = program.rows_of[k]
        asked, even = (np.asarray(x["scales"])[rows] for x in (own.constants, own.even))
        found.append(float(tolerance * np.min(even / np.where(asked > 0.0, asked, 1.0), initial=1.0)))
    return min(found)


def _data(
    own: PreparedProblem,
    program: PathProgram,
    split: tuple[list[int], list[int]],
    phases: HoldingPhases,
    targets: dict[str, Array],
) -> dict[str, Array]:
    """Weights of rows by step; times, targets that move and what holds; bounds and other targets: by the kernel's
    names."""
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
    given = (times, *moving, phases.active(T))
    found["given"] = np.concatenate([np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in given], axis=-1)
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
        "moving_weights": (T, len(kinds[0])), "reached_weights": (T, len(kinds[1])),
        "given": (T, 1 + moved + len(recipe.holdings)),
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
            x, u, y, given = (list(part) for part in row)
            more = dynamics.at(given).led(x, u)[dynamics.numbers :] if dynamics.more else []
            return (), (array(wanted.values(x, u, [*y, *more], given)), array(more))

        _, (values, more) = scan(looked, (), (problem.before(x), u, x, given["given"]))
        told = [found.status, found.iterations, found.cost, found.violation, found.gap, found.decrement]
        every = {
            "x": x,
            "u": u,
            "K": found.gains,
            "values": values,
            "told": array([*told, found.penalty, found.roll_outs]),
            "kept": array(list(found.kept)),
        }
        every |= {"more": more} if dynamics.more else {}
        new = dict(zip(("moving", "reached"), found.multipliers, strict=True))
        return every | {f"{name}_forces": k for name, k in new.items() if k.shape[-1]}

    return compile(solved, name="shooting", **shapes)

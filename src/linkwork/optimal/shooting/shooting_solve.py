"""Problems of optimal motion by forward dynamics: iterative LQR, and multiple shooting.

What is unknown are the forces of motors; a motion is what they make of the start.  Features are asked of each step and
of the state that it reaches, squares and costs are those of the path, and constraints enter by multipliers.  Limits of
motors hold exactly.  By inverse dynamics accelerations are unknown, and forces of motors follow from the motion.

Problems by inverse dynamics: motors as constraints on what a motion takes.
"""

from __future__ import annotations

from copy import copy
from inspect import signature
from types import SimpleNamespace
from typing import Any

import numpy as np

from linkwork.kernels.robot_arguments import read_configuration
from linkwork.model.kernel_parameters import Parameter
from linkwork.optimal.algorithms.path_augmented_lagrangian import STOPPED
from linkwork.optimal.algorithms.shooting.cost_terms import split_entries
from linkwork.optimal.algorithms.shooting.forward_dynamics_steps import INTEGRATORS
from linkwork.optimal.algorithms.shooting.inverse_dynamics_steps import INVERSE_INTEGRATORS
from linkwork.optimal.algorithms.shooting.search_state import begun
from linkwork.optimal.arguments import (
    read_count,
    read_guess,
    read_seed,
    read_switch,
    read_tolerances,
    together,
)
from linkwork.optimal.contact_schedule import weight_of
from linkwork.optimal.features import TorqueFeature
from linkwork.optimal.features.arguments import one_of
from linkwork.optimal.initial_guesses import guesses
from linkwork.optimal.problem_arrays import PENALTY, prepared
from linkwork.optimal.robot_parameters import (
    along,
    axes_of,
    forces_of_motion,
    motor_limits,
    motor_places,
    read_finite,
    read_robot_numbers,
    robot_inputs,
)
from linkwork.optimal.schedule import Schedule
from linkwork.optimal.shooting.contact_phases import HoldingPhases, holding_controls, phases_of
from linkwork.optimal.shooting.shooting_calls import Watching, gone_on, in_pieces, searched, stopped
from linkwork.optimal.shooting.shooting_kernel import ShootingRecipe, row_data, row_tolerances, shooting_kernel
from linkwork.optimal.shooting.shooting_result import ShootingResult, best_of_seeds, search_of, shooting_result

__all__ = ["SHOOTING", "SHOOTING_OPTIONS", "ShootingResult", "shot"]


Array = np.ndarray[Any, Any]
SHOOTING = ("ilqr", "shooting")
AT_MOST = 200
TOLERANCE = 1e-9  # of constraints
STEP_TOLERANCE = 1e-6  # the root of how much cost may be left, beside the cost


def shot(
    problem: Any,
    start: Any,
    solver: str,
    *,
    velocity: Any = None,
    targets: Any = None,
    parameters: Any = None,
    guess: Any = None,
    warm: Any = None,
    controls: Any = None,
    control_limits: Any = None,
    actuated: Any = None,
    dynamics: str = "forward",
    integrator: str = "semi_implicit_euler",
    passive: bool = False,
    second_order: bool | None = None,
    tolerance: Any = TOLERANCE,
    step_tolerance: float = STEP_TOLERANCE,
    max_iterations: int = AT_MOST,
    seeds: int = 1,
    seed: int = 0,
    every_seed: bool = False,
    deadline: float | None = None,
    progress: bool = False,
    callback: Any = None,
    schedule: Schedule | None = None,
) -> ShootingResult:
    """The best motion from a start, by forward dynamics.

    ``solver`` "ilqr" begins with the motion of the first ``controls`` (..., T, m), by default what holds the robot
    at the start; "shooting" with the ``guess`` (..., T, nq), whose gaps it closes. ``actuated`` names the joints
    that have motors (all but a free base), ``control_limits`` bound their forces: a number, one a motor, a pair of
    such (least, most), or False for none; by default those of the robot. ``dynamics`` "inverse" has accelerations
    for controls, and variables of steps. ``integrator`` is "semi_implicit_euler", by forward dynamics
    "runge_kutta_4", and by inverse dynamics "stormer_verlet"; ``passive`` adds what joints do by themselves.
    ``second_order`` takes the dynamics' second derivatives, too: slower steps, and fewer; by default where there
    are fewer motors than velocities, and neither contacts nor constraints hold the robot, and by inverse dynamics.
    ``parameters`` are numbers of the robot by the names of `Robot.parameters`, (..., *shape) each, in the place of its
    own; others take the same kernel.  ``warm`` is a result by forward dynamics of the same problem and motors, from
    whose motion, multipliers and penalties it goes on; of "ilqr" the motion is that of its controls.
    Of several ``seeds`` the first begins so, and others with paths to configurations drawn by ``seed``, or with the
    forces of such.

    Raises ValueError for what forward dynamics does not answer: features of more than a step, free durations,
    variables of steps but forces of contacts, and contacts that may slide; and for arguments that are none.
    """
    caller = f"Problem.solve: solver={solver!r}"
    passive, seed = read_switch("passive", passive), read_seed(seed)
    second_order = None if second_order is None else read_switch("second_order", second_order)
    watching = Watching("Problem.solve", seeds, every_seed, deadline, progress, callback)
    if start is None:
        raise ValueError(f"{caller}: start: a motion by forward dynamics begins somewhere: give the configuration")
    if solver == "ilqr" and controls is not None and guess is not None:
        raise ValueError(f"{caller}: it begins with controls= or with the forces of a guess=: expected one of them")
    inverse, robot = one_of(caller, "dynamics", dynamics, DYNAMICS) == "inverse", problem.robot
    one_of(caller, "integrator", integrator, INVERSE_INTEGRATORS if inverse else INTEGRATORS)
    places = motor_places(caller, robot, actuated)
    low, high = motor_limits(caller, robot, places, control_limits)
    if inverse:
        if controls is not None:
            raise ValueError(f"{caller}: dynamics='inverse': controls: it begins with a guess=: expected none")
        problem = with_motors(caller, problem, places, (low, high), passive)
    numbers = read_robot_numbers(caller, problem, parameters)
    own = prepared(problem, True, False, tuple(numbers))
    program = own.program
    phases = HoldingPhases((), (), frozenset()) if inverse else phases_of(caller, problem)
    if not program.uniform:
        raise ValueError(f"{caller}: it knows steps that take equally long alone")
    if phases.holdings and integrator != INTEGRATORS[0]:
        raise ValueError(f"{caller}: integrator: where contacts or constraints hold a robot it is {INTEGRATORS[0]!r}")
    if phases.holdings and second_order:
        raise ValueError(f"{caller}: second_order: where contacts or constraints hold a robot it knows none")
    limited = not inverse and bool(np.isfinite(low).any() or np.isfinite(high).any())
    second = inverse or (len(places) < robot.nv and not phases.holdings) if second_order is None else second_order
    gaps = solver == "shooting"
    recipe = ShootingRecipe(program, places, integrator, passive, limited, gaps, second, phases.holdings, inverse)
    tau = float(np.ravel(own.constants["step"])[0])
    split = split_entries(recipe.dynamics(1.0), program.entries, phases.kept)
    q0 = read_configuration(robot, "Problem.solve", "start", start)
    v0 = np.zeros(robot.nv) if velocity is None else read_finite(caller, "velocity", velocity, (robot.nv,))
    lead = together({"start": q0.shape[:-1], "velocity": v0.shape[:-1]})
    x0 = np.concatenate([np.broadcast_to(q0, (*lead, robot.nq)), np.broadcast_to(v0, (*lead, robot.nv))], axis=-1)
    known = numbers, (low, high), own.begin.get("u")
    before = None if warm is None else search_of(caller, warm, recipe)
    if before is None or guess is not None or controls is not None:
        path, u = _first(caller, robot, recipe, phases, x0, tau, guess, controls, *known)
    else:
        path, u = before["x"], before["u"] if inverse else np.clip(before["u"], low, high)
    if watching.seeds > 1:
        ends = own.ends(watching.seeds - 1, seed)
        first = guesses(problem, np.broadcast_to(path[..., : robot.nq], (*path.shape[:-1], robot.nq)), ends, True)
        x0 = x0[..., None, :]
        paths, forces = _first(
            caller, robot, recipe, phases, x0, tau, first, None, along(robot.tree, numbers), *known[1:]
        )
        path, u = (_put(x, own_x) for x, own_x in ((paths, path), (forces, u)))
    inputs = {"x0": x0, "u": u, "x": path, "step": np.array(tau)}
    aims = own.given_targets(targets) | robot_inputs(robot.tree, numbers)
    axes = {
        f"targets: {name!r}": aims[p].shape[: aims[p].ndim - len(own.shapes[p])]
        for name, (p, *_) in own.targets.items()
    }
    together({"start": lead, **axes, **axes_of(robot.tree, numbers)})
    schedule = schedule or Schedule(own.constants["weights"], phases.active(program.steps))
    inputs |= row_data(own, program, split, schedule, aims)
    inputs |= {"low": low, "high": high} if limited else {}
    tolerances = read_tolerances(program.hard_names, tolerance, step_tolerance, TOLERANCE)
    inputs |= row_tolerances(program, split, tolerances[1:])
    max_iterations = read_count("Problem.solve", "max_iterations", max_iterations)
    inputs |= {"ends": np.array([step_tolerance, tolerances[1:].min(initial=1.0), float(max_iterations)])}
    kernel = shooting_kernel(recipe, split)
    inputs["kept"] = np.array(begun(float(step_tolerance), PENALTY, bool(program.hard)))
    inputs |= {} if before is None else gone_on(before, inputs["kept"])
    for port in kernel.inputs:
        inputs.setdefault(port.name, np.zeros(port.shape))  # of multipliers
        x = inputs[port.name]
        if watching.seeds > 1 and port.name not in ("x0", "u", "x") and x.ndim > len(port.shape):
            inputs[port.name] = np.expand_dims(x, x.ndim - len(port.shape))
    if watching.seeds > 1:
        velocity = np.expand_dims(velocity, -2) if np.ndim(velocity) > 1 else velocity
        own_axes = {name: len(shape) for name, shape in own.shapes.items()}
        aims = {
            name: np.expand_dims(x, x.ndim - own_axes[name]) if x.ndim > own_axes[name] else x
            for name, x in aims.items()
        }

    def result(found: Any) -> ShootingResult:
        told = SimpleNamespace(**found)
        every = shooting_result(own, split, phases, x0, velocity, told, tolerances, aims, schedule)
        every.state["told"][..., 1] = np.where(stopped(found), STOPPED, every.state["told"][..., 1])
        every._recipe, every._search = recipe, searched(found)
        every._limits = (low, high) if limited else None
        every._kernel, every._inputs, every._split = kernel, inputs, split
        return every

    def shown(found: Any, running: bool) -> ShootingResult:
        told = best_of_seeds(result(found)) if watching.seeds > 1 else result(found)
        told._running = running
        if told.attempts is not None:
            told.attempts._running = running
        return told

    found, late = in_pieces(kernel, inputs, max_iterations, watching, result, shown)
    last = shown(found, False)
    last._late = late
    return last


SHOOTING_OPTIONS = tuple(signature(shot).parameters)[3:-1]


"""What `shot` is asked with besides the problem, its start, the solver and a controller's schedule."""


def _put(x: Array, first: Array) -> Array:
    """Of seeds (..., seeds, T, n), with the first as it is said (..., T, n)."""
    lead = np.broadcast_shapes((*x.shape[:-3], *x.shape[-2:]), first.shape)
    found = np.array(np.broadcast_to(x, (*lead[:-2], *x.shape[-3:])))
    found[..., 0, :, :] = first
    return found


def _first(
    caller: str,
    robot: Any,
    recipe: ShootingRecipe,
    phases: HoldingPhases,
    x0: Array,
    tau: float,
    guess: Any,
    controls: Any,
    numbers: dict[Parameter, Array],
    limits: tuple[Array, Array],
    variables: Any,
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
    path = np.concatenate([np.broadcast_to(q, (*v.shape[:-1], nq)), v], axis=-1)
    if recipe.inverse:
        return path, a if variables is None else _joined(a, variables)
    if controls is None:
        u = forces_of_motion(robot, numbers, before, slow, a, passive=recipe.passive)
        u = (
            holding_controls(robot, phases, u, before, motors, along(robot.tree, numbers))
            if phases.holdings
            else u[..., motors]
        )
    else:
        u = read_finite(caller, "controls", controls, (T, len(motors)))
    return path, np.clip(u, *limits)


def _joined(a: Array, b: Array) -> Array:
    """Side by side."""
    return np.concatenate([a, np.broadcast_to(b, (*a.shape[:-1], b.shape[-1]))], axis=-1)


DYNAMICS = ("forward", "inverse")


def with_motors(caller: str, problem: Any, places: tuple[int, ...], limits: tuple[Array, Array], passive: bool) -> Any:
    """The problem, and what motors are: no torque where there is none ("no motor"), and their limits ("motors").

    What the problem says of all steps by itself is not said again.  Raises ValueError for what inverse dynamics does
    not answer.
    """
    if problem.parameters:
        raise ValueError(
            f"{caller}: it knows no parameters and no free durations, but the problem has "
            f"{', '.join(problem.parameters)}"
        )
    low, high = limits
    key = ("inverse", places, low.tobytes(), high.tobytes(), passive)
    found = problem.prepared.get(key)
    if found is None:
        found = problem.prepared[key] = _posed(problem, places, low, high, passive)
    return found


def _posed(problem: Any, places: tuple[int, ...], low: Array, high: Array, passive: bool) -> Any:
    found = copy(problem)
    found.entries, found.variables = list(problem.entries), dict(problem.variables)
    found._changed()
    tree = problem.robot.tree
    owned = {body.joint_name: range(tree.nv)[tree.v_slices[i]] for i, body in tree.stacked() if body.joint.nv}
    known = {
        k
        for entry in problem.entries
        if isinstance(entry.feature, TorqueFeature) and entry.kind == "equality" and entry.target is None
        and len(entry.steps) == problem.steps and entry.lower is None and (entry.scale > 0.0).all()
        for k in entry.feature.places
    }  # fmt: skip
    idle = [name for name, own in owned.items() if not known.issuperset(own) and not set(own) & set(places)]
    if idle:
        feature = TorqueFeature(idle, passive=passive)
        found.add(feature, "equality", scale=1.0 / weight_of(problem), name=_fresh(found, "no motor"))
    bounds = dict(zip(places, zip(low, high, strict=True), strict=True))
    limited = [
        name for name, own in owned.items()
        if own and set(own) <= set(places) and any(np.isfinite(bounds[k]).any() for k in own)
    ]  # fmt: skip
    if limited:
        below, above = (np.array([bounds[k][side] for name in limited for k in owned[name]]) for side in (0, 1))
        feature = TorqueFeature(limited, passive=passive)
        found.add(feature, "inequality", lower=below, upper=above, name=_fresh(found, "motors"))
    return found


def _fresh(problem: Any, name: str) -> str:
    """A name that no feature of the problem has."""
    taken = {entry.name for entry in problem.entries}
    return next(x for x in (name, *(f"{name} {k}" for k in range(2, 1000))) if x not in taken)

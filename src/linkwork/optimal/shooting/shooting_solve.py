"""Solving trajectory problems by iterative LQR (iLQR) or multiple shooting.

With forward dynamics the unknowns are motor forces; these and the start determine the motion.  Features apply to each
step and to the state that it reaches; constraints enter by multipliers.  Motor limits hold exactly.  With inverse
dynamics the unknowns are accelerations; motor forces follow from the motion, and motor limits are constraints.
"""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np

from linkwork._util.user_frames import levels_up
from linkwork.errors import LimitWarning
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.model.kernel_parameters import Parameter
from linkwork.optimal.algorithms.path_augmented_lagrangian import STOPPED
from linkwork.optimal.algorithms.path_nlp import gap_shares
from linkwork.optimal.algorithms.shooting.cost_terms import split_terms
from linkwork.optimal.algorithms.shooting.forward_dynamics_steps import INTEGRATORS
from linkwork.optimal.algorithms.shooting.inverse_dynamics_steps import INVERSE_INTEGRATORS
from linkwork.optimal.algorithms.shooting.resisted_velocities import friction_velocities
from linkwork.optimal.algorithms.shooting.search_state import initial_scalars
from linkwork.optimal.arguments import (
    SOLVE,
    broadcast_axes,
    read_count,
    read_guess,
    read_seed,
    read_switch,
)
from linkwork.optimal.features import TorqueFeature
from linkwork.optimal.features.arguments import one_of
from linkwork.optimal.features.contact_features import robot_weight
from linkwork.optimal.initial_guesses import guesses, resting_guess
from linkwork.optimal.problem_arrays import PENALTY, prepared
from linkwork.optimal.robot_parameters import (
    forces_of_motion,
    motor_indices,
    motor_limits,
    parameter_axes,
    per_step_parameters,
    read_finite,
    read_robot_parameters,
    refuse_idle_motors,
    robot_inputs,
)
from linkwork.optimal.schedule import Schedule
from linkwork.optimal.shooting.contact_phases import ContactPhases, checked_contact_phases, distribute_controls
from linkwork.optimal.shooting.shooting_calls import (
    SearchOptions,
    continued_search,
    final_search,
    run_iterations,
    stopped,
)
from linkwork.optimal.shooting.shooting_kernel import (
    ShootingRecipe,
    row_data,
    row_tolerances,
    shooting_kernel,
)
from linkwork.optimal.shooting.shooting_result import ShootingResult, best_of_guesses, search_of, shooting_result

__all__ = ["SHOOTING", "ShootingResult", "solve_by_shooting"]


Array = np.ndarray[Any, Any]
SHOOTING = ("ilqr", "shooting")
MAX_ITERATIONS = 200
TOLERANCE = 1e-9  # of constraints, and of gaps between steps in units of coordinates
STEP_TOLERANCE = 1e-6  # root of the remaining decrease of the cost, relative to the cost


def solve_by_shooting(
    problem: Any,
    start: Any,
    solver: str,
    *,
    velocity: Any = None,
    targets: Any = None,
    parameters: Any = None,
    initial_guess: Any = None,
    warm_start: Any = None,
    controls: Any = None,
    control_limits: Any = None,
    actuated: Any = None,
    dynamics: str = "forward",
    integrator: str = "semi_implicit_euler",
    passive: bool | None = None,
    second_order: bool | None = None,
    tolerance: Any = None,
    step_tolerance: float | None = None,
    max_iterations: int | None = None,
    num_guesses: int = 1,
    seed: Any = 0,
    continue_all: bool = False,
    time_limit: float | None = None,
    progress: Any = False,
    callback: Any = None,
    schedule: Schedule | None = None,
) -> ShootingResult:
    """Return the result of "ilqr" or "shooting" from a start; see `TrajectoryProblem.solve` for the options.

    "ilqr" begins with the motion of the initial ``controls``, by default the controls of static equilibrium at the
    start. "shooting" begins with the ``initial_guess`` and closes the defects between its steps. ``warm_start`` is a
    result of the same problem and motors; the search continues from its motion, multipliers and penalties ("ilqr" uses
    only the controls of the motion). Further guesses begin with paths to random configurations, or with the forces of
    such paths. A ``schedule`` moves phases of the problem to other steps.

    Raises ValueError for problems that shooting does not support: features of more than one step, free durations,
    variables of steps other than contact forces, and contacts that may slide; and for invalid arguments.
    """
    caller = f"{SOLVE}: solver={solver!r}"
    seed = read_seed(seed)
    second_order = None if second_order is None else read_switch("second_order", second_order)
    search_options = SearchOptions(SOLVE, num_guesses, continue_all, time_limit, progress, callback)
    step_tolerance = STEP_TOLERANCE if step_tolerance is None else step_tolerance
    max_iterations = MAX_ITERATIONS if max_iterations is None else max_iterations
    if start is None:
        raise ValueError(f"{caller}: start: expected the initial configuration, got None")
    if solver == "ilqr" and controls is not None and initial_guess is not None:
        raise ValueError(f"{caller}: expected controls= or initial_guess=, not both: each defines the initial forces")
    inverse, robot = one_of(caller, "dynamics", dynamics, DYNAMICS) == "inverse", problem.robot
    if passive is None:  # the explicit stages of Runge and Kutta diverge beside the slope of dry friction at rest
        passive = integrator == INTEGRATORS[0] or inverse or not friction_velocities(robot.tree)
        if not passive:
            warnings.warn(
                f"{caller}: passive: steps of {integrator!r} leave out armature, springs, damping and friction of all "
                "joints, since explicit steps diverge beside dry friction; pass passive=False to confirm it, or "
                f"integrator={INTEGRATORS[0]!r}, which has them",
                LimitWarning,
                stacklevel=levels_up(),
            )
    passive = read_switch("passive", passive)
    one_of(caller, "integrator", integrator, INVERSE_INTEGRATORS if inverse else INTEGRATORS)
    motors = motor_indices(caller, robot, actuated, idle=problem._unactuated)
    refuse_idle_motors(f"{caller}: actuated", robot, motors, problem._unactuated)
    low, high = motor_limits(caller, robot, motors, control_limits)
    if inverse:
        if controls is not None:
            raise ValueError(f"{caller}: dynamics='inverse': controls: expected None: pass initial_guess= instead")
        problem = with_motors(caller, problem, motors, (low, high), passive)
    values = read_robot_parameters(caller, problem, parameters)
    setup = prepared(problem, True, False, tuple(values))
    program = setup.program
    phases = ContactPhases((), (), frozenset()) if inverse else checked_contact_phases(caller, problem)
    if not program.uniform:
        raise ValueError(
            f"{caller}: duration: expected one time [s], since shooting needs equal steps, got durations by phase"
        )
    if phases.contact_models and integrator != INTEGRATORS[0]:
        raise ValueError(
            f"{caller}: integrator: expected {INTEGRATORS[0]!r} with contacts or constraints, got {integrator!r}"
        )
    if phases.contact_models and second_order:
        raise ValueError(f"{caller}: second_order: expected False with contacts or constraints, got True")
    limited = not inverse and bool(np.isfinite(low).any() or np.isfinite(high).any())
    rubs = passive and integrator == INTEGRATORS[0] and bool(friction_velocities(robot.tree))
    bent = inverse or ((rubs or len(motors) < robot.nv) and not phases.contact_models)
    second = bent if second_order is None else second_order
    gaps = solver == "shooting"
    recipe = ShootingRecipe(program, motors, integrator, passive, limited, gaps, second, phases.contact_models, inverse)
    tau = float(np.ravel(setup.constants["step"])[0])
    split = split_terms(recipe.dynamics(1.0), program.terms, phases.enforced)
    q0 = read_configuration(robot, SOLVE, "start", start)
    v0 = np.zeros(robot.nv) if velocity is None else read_finite(caller, "velocity", velocity, (robot.nv,))
    lead = broadcast_axes({"start": q0.shape[:-1], "velocity": v0.shape[:-1]})
    staggers = recipe.dynamics(1.0).staggers
    first = robot.integrate(q0, 0.5 * tau * v0) if staggers else np.broadcast_to(q0, (*lead, robot.nq))
    x0 = np.concatenate([first, np.broadcast_to(v0, (*lead, robot.nv))], axis=-1)
    known = values, (low, high), setup.begin.get("u")
    before = None if warm_start is None else search_of(caller, warm_start, recipe)
    if before is None or initial_guess is not None or controls is not None:
        path, u = _initial_motion(caller, robot, recipe, phases, x0, tau, initial_guess, controls, *known)
    else:
        path, u = before["x"], before["u"] if inverse else np.clip(before["u"], low, high)
    if search_options.num_guesses > 1:
        ends = setup.ends(search_options.num_guesses - 1, seed)
        first = guesses(problem, np.broadcast_to(path[..., : robot.nq], (*path.shape[:-1], robot.nq)), ends, True)
        x0 = x0[..., None, :]
        paths, forces = _initial_motion(
            caller, robot, recipe, phases, x0, tau, first, None, per_step_parameters(robot.tree, values), *known[1:]
        )
        path, u = (_with_first(x, own_x) for x, own_x in ((paths, path), (forces, u)))
    inputs = {"x0": x0, "u": u, "x": path, "step": np.array(tau)}
    aims = setup.read_targets(targets) | robot_inputs(robot.tree, values)
    axes = {
        f"targets: {name!r}": aims[p].shape[: aims[p].ndim - len(setup.shapes[p])]
        for name, (p, *_) in setup.targets.items()
    }
    broadcast_axes({"start": lead, **axes, **parameter_axes(robot.tree, values)})
    schedule = schedule or Schedule(setup.constants["weights"], phases.active(program.steps))
    inputs |= row_data(setup, program, split, schedule, aims, staggers)
    inputs |= {"low": low, "high": high} if limited else {}
    tolerances = setup.read_tolerances(tolerance, step_tolerance, TOLERANCE)
    inputs |= row_tolerances(program, split, tolerances[1:])
    max_iterations = read_count(SOLVE, "max_iterations", max_iterations)
    inputs |= {"ends": np.array([step_tolerance, TOLERANCE, float(max_iterations)])}
    kernel = shooting_kernel(recipe, split)
    inputs["scalars"] = np.array(initial_scalars(float(step_tolerance), PENALTY, bool(program.hard)))
    inputs |= {} if before is None else continued_search(before, inputs["scalars"])
    for port in kernel.inputs:
        inputs.setdefault(port.name, np.zeros(port.shape))  # multipliers
        x = inputs[port.name]
        if search_options.num_guesses > 1 and port.name not in ("x0", "u", "x") and x.ndim > len(port.shape):
            inputs[port.name] = np.expand_dims(x, x.ndim - len(port.shape))
    begin = {"start": q0, "rate": v0}
    if search_options.num_guesses > 1:
        begin = {name: np.expand_dims(x, -2) if x.ndim > 1 else x for name, x in begin.items()}
        axes_of = {name: len(shape) for name, shape in setup.shapes.items()}
        aims = {
            name: np.expand_dims(x, x.ndim - axes_of[name]) if x.ndim > axes_of[name] else x for name, x in aims.items()
        }

    def result(outputs: Any) -> ShootingResult:
        named = SimpleNamespace(**outputs)
        every = shooting_result(setup, split, phases, x0, begin, named, tolerances, aims, schedule)
        every._state["scalars"][..., 1] = np.where(stopped(outputs), STOPPED, every._state["scalars"][..., 1])
        every._recipe, every._search = recipe, final_search(outputs)
        every._limits = (low, high) if limited else None
        every._kernel, every._kernel_inputs, every._split = kernel, inputs, split
        return every

    def shown(outputs: Any, running: bool) -> ShootingResult:
        named = best_of_guesses(result(outputs)) if search_options.num_guesses > 1 else result(outputs)
        named._running = running
        if named.attempts is not None:
            named.attempts._running = running
        return named

    outputs, late = run_iterations(kernel, inputs, max_iterations, search_options, result, shown)
    last = shown(outputs, False)
    last._late = late
    return last


def _with_first(x: Array, first: Array) -> Array:
    """Return the values ``x`` (..., guesses, T, n) with the first guess replaced by ``first`` (..., T, n)."""
    lead = np.broadcast_shapes((*x.shape[:-3], *x.shape[-2:]), first.shape)
    whole = np.array(np.broadcast_to(x, (*lead[:-2], *x.shape[-3:])))
    whole[..., 0, :, :] = first
    return whole


def _initial_motion(
    caller: str,
    robot: Any,
    recipe: ShootingRecipe,
    phases: ContactPhases,
    x0: Array,
    tau: float,
    guess: Any,
    controls: Any,
    values: dict[Parameter, Array],
    limits: tuple[Array, Array],
    variables: Any,
) -> tuple[Array, Array]:
    """Return the initial guess of a search: the states (..., T, nx) after each step, and the controls (..., T, m)."""
    T, motors, nq = recipe.program.steps, list(recipe.actuated), robot.nq
    lead = x0.shape[:-1]
    guess = resting_guess(robot, x0[..., :nq], T) if guess is None and controls is None else guess
    q = np.repeat(x0[..., None, :nq], T, axis=-2)
    v, a = np.zeros((*lead, T, robot.nv)), np.zeros((*lead, T, robot.nv))
    before, v_before = q, v
    if guess is not None:
        q = read_guess(robot, T, guess)
        lead = np.broadcast_shapes(lead, q.shape[:-2])
        first = np.broadcast_to(x0[..., None, :], (*lead, 1, x0.shape[-1]))
        before = np.concatenate([first[..., :nq], np.broadcast_to(q, (*lead, T, nq))[..., :-1, :]], axis=-2)
        shares = gap_shares(T) if recipe.dynamics(1.0).staggers else np.ones(T)
        v = robot.difference(before, q) / (tau * shares[:, None])
        v_before = np.concatenate([first[..., nq:], v[..., :-1, :]], axis=-2)
        a = (v - v_before) / tau
    path = np.concatenate([np.broadcast_to(q, (*v.shape[:-1], nq)), v], axis=-1)
    if recipe.inverse:
        return path, a if variables is None else _concatenated(a, variables)
    if controls is None:
        after = v if recipe.dynamics(1.0).is_resisted else None
        u = forces_of_motion(robot, values, before, v_before, a, after, recipe.passive)
        u = (
            distribute_controls(robot, phases, u, before, motors, per_step_parameters(robot.tree, values))
            if phases.contact_models
            else u[..., motors]
        )
    else:
        u = read_finite(caller, "controls", controls, (T, len(motors)))
    return path, np.clip(u, *limits)


def _concatenated(a: Array, b: Array) -> Array:
    """Return the arrays a and b, joined along the last axis after b is broadcast to the other axes of a."""
    return np.concatenate([a, np.broadcast_to(b, (*a.shape[:-1], b.shape[-1]))], axis=-1)


DYNAMICS = ("forward", "inverse")


def with_motors(caller: str, problem: Any, motors: tuple[int, ...], limits: tuple[Array, Array], passive: bool) -> Any:
    """Return the problem for inverse dynamics, with constraints on joint forces that represent the motors.

    Joint forces are zero at joints without motors (term "no motor"), and within limits at joints with motors (term
    "motors"). Constraints that the problem already has in all steps are not repeated. Raises ValueError for parameters
    and free durations, which inverse dynamics does not support.
    """
    if problem.parameters:
        raise ValueError(
            f"{caller}: not supported: {', '.join(problem.parameters)}; expected no parameters and no free durations"
        )
    low, high = limits
    key = ("inverse", motors, low.tobytes(), high.tobytes(), passive)
    constrained = problem._prepared.get(key)
    if constrained is None:
        constrained = problem._prepared[key] = _with_motor_constraints(problem, motors, low, high, passive)
    return constrained


def _with_motor_constraints(problem: Any, motors: tuple[int, ...], low: Array, high: Array, passive: bool) -> Any:
    tree = problem.robot.tree
    owned = {body.joint_name: range(tree.nv)[tree.v_slices[i]] for i, body in tree.stacked() if body.joint.nv}
    known = {
        k
        for term in problem.terms
        if isinstance(term.feature, TorqueFeature) and term.kind == "equality" and term.target is None
        and len(term.steps) == problem.num_steps and term.lower is None and (term.scale > 0.0).all()
        for k in term.feature.indices
    }  # fmt: skip
    idle = [name for name, dofs in owned.items() if not known.issuperset(dofs) and not set(dofs) & set(motors)]
    if idle:
        feature = TorqueFeature(idle, passive=passive)
        name = _unused_name(problem, "no motor")
        problem = problem.add(feature, "equality", scale=1.0 / robot_weight(tree), name=name)
    bounds = dict(zip(motors, zip(low, high, strict=True), strict=True))
    limited = [
        name for name, dofs in owned.items()
        if dofs and set(dofs) <= set(motors) and any(np.isfinite(bounds[k]).any() for k in dofs)
    ]  # fmt: skip
    if limited:
        below, above = (np.array([bounds[k][side] for name in limited for k in owned[name]]) for side in (0, 1))
        feature = TorqueFeature(limited, passive=passive)
        name = _unused_name(problem, "motors")
        problem = problem.add(feature, "inequality", lower=below, upper=above, name=name)
    return problem


def _unused_name(problem: Any, name: str) -> str:
    """Return a name that no feature of the problem has."""
    taken = {term.name for term in problem.terms}
    return next(x for x in (name, *(f"{name} {k}" for k in range(2, 1000))) if x not in taken)

"""Assembly from an initial guess, with restarts if that fails, and projection onto constraints.

Restarts are a deterministic low-discrepancy sequence, the same as in inverse kinematics.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork._util.status import WORDS, status_of
from linkwork._util.validation import integer, number
from linkwork.errors import AssemblyError, Status
from linkwork.kernels.robot_arguments import read_configuration, stacked_by_joint
from linkwork.kinematics.algorithms.coordinates import characteristic_length, unit_steps
from linkwork.kinematics.algorithms.low_discrepancy import kronecker_rates
from linkwork.mechanisms.algorithms.constraint_rows import error_scales
from linkwork.mechanisms.assembly.loop_lengths import LongBar, long_bars
from linkwork.mechanisms.assembly.result import Assembly
from linkwork.mechanisms.assembly.state_inputs import StateInputs, robot_with, varied
from linkwork.mechanisms.assembly.targets import (
    ClosedMechanism,
    FixedJoints,
    check_limits,
    read_joints,
    read_weights,
)
from linkwork.mechanisms.mobility.length_scaling import Scales

__all__ = ["assemble", "check_tolerance", "project", "run_kernel", "spread_starts"]


_FLAT_SLOPE = 1e-6  # ‖Gᵀφ‖²/(‖G‖²‖φ‖²) below which the error is at a local minimum
_EXTRA_RUNS = 4  # further kernel runs to converge to a local minimum


def run_kernel(
    mechanism: ClosedMechanism,
    start: np.ndarray,
    goal: np.ndarray,
    weights: Any,
    fixed: FixedJoints,
    position_limits: bool,
    at: StateInputs,
) -> Any:
    """Call the assembly kernel, with joints fixed at their values in ``start``, and return its result."""
    return mechanism.robot.assemble_configuration(
        start, goal, weights, hold=fixed.names, position_limits=position_limits, **at.options
    )


def assemble(
    robot: Any,
    guess: Any,
    hold: Any,
    prefer: Any,
    weights: Any,
    position_limits: bool,
    tolerance: float,
    max_starts: int,
    time: Any,
    check: bool,
    parameters: Any = None,
    caller: str = "assemble",
    needed: tuple[str, ...] = ("assemble_configuration",),
) -> Assembly:
    """Return configurations that satisfy all constraints; arguments and errors are those of `Robot.assemble`."""
    robot, inputs = varied(robot, caller, time, parameters, needed)
    mechanism = ClosedMechanism(robot, caller)
    tolerance = check_tolerance(caller, tolerance)
    max_starts = integer(caller, "max_starts", max_starts, least=1, description="how many starts to try, an integer")
    fixed, preferred = read_joints(robot, caller, "hold", hold), read_joints(robot, caller, "prefer", prefer)
    for name in preferred.names:
        if name in fixed.names:
            raise ValueError(f"{caller}: prefer: joint {name!r} is fixed by hold: name it in one of the two")
    if position_limits:
        check_limits(mechanism, fixed)
    start = robot.neutral() if guess is None else read_configuration(robot, caller, "q_init", guess)
    weight = read_weights(robot, caller, weights, preferred)
    try:
        start = fixed.put_into(robot.tree, start)
        goal = preferred.put_into(robot.tree, start)
        shape = np.broadcast_shapes(goal.shape[:-1], inputs.shape)
    except ValueError as error:
        names = "q_init, hold, prefer, time and parameters"
        raise ValueError(f"{caller}: {names} do not broadcast together: {error}") from None
    start, goal = (np.broadcast_to(x, (*shape, robot.nq)).reshape(-1, robot.nq) for x in (start, goal))
    at = inputs.flat(shape)
    best = _search(mechanism, start, goal, weight, fixed, bool(position_limits), tolerance, int(max_starts), at)
    result = _build_result(mechanism, best, start, goal, weight, fixed, bool(position_limits), tolerance, shape, at)
    if check and not shape and not result.success:
        raise AssemblyError(f"{caller}: {result.explain()}", result)
    return result


def _search(
    mechanism: ClosedMechanism,
    start: np.ndarray,
    goal: np.ndarray,
    weights: np.ndarray,
    fixed: FixedJoints,
    position_limits: bool,
    tolerance: float,
    max_starts: int,
    at: StateInputs,
) -> dict[str, np.ndarray]:
    """Return the best result of the assembly kernel for each state: from its start, and from restarts around it."""
    robot = mechanism.robot
    first = run_kernel(mechanism, start, goal, weights, fixed, position_limits, at)
    result = {key: np.array(getattr(first, key)) for key in ("q", "error", "status", "slope")}
    result["iterations"] = np.array(first.iterations).astype(int)
    result["starts"] = np.ones(len(start), dtype=int)

    def open_by(q: np.ndarray, error: np.ndarray, inputs: StateInputs) -> np.ndarray:
        size = mechanism.open_by(error)
        return np.where(mechanism.beyond(q, inputs).any(axis=-1), np.inf, size) if position_limits else size

    for k in range(1, max_starts):
        size = open_by(result["q"], result["error"], at)
        left = np.flatnonzero(~(size <= tolerance) & (result["status"] != 2.0))
        if not len(left):
            break
        moved = restart_near(robot, start[left], k)
        for name in fixed.names:
            part = robot.tree.q_slices[robot.tree.joint_index(name)]
            moved[:, part] = start[left][:, part]
        again = run_kernel(mechanism, moved, goal[left], weights, fixed, position_limits, at[left])
        better = open_by(again.q, again.error, at[left]) < size[left]
        for key in ("q", "error", "status", "slope"):
            result[key][left[better]] = getattr(again, key)[better]
        result["iterations"][left] += again.iterations.astype(int)
        result["starts"][left] += 1
    for _ in range(_EXTRA_RUNS):
        left = np.flatnonzero(~(mechanism.open_by(result["error"]) <= tolerance) & (result["status"] != 2.0))
        if not len(left):
            break
        unassembled = result["q"][left]  # without the goal, which may keep the errors from vanishing
        again = run_kernel(mechanism, unassembled, unassembled, weights, fixed, position_limits, at[left])
        for key in ("q", "error", "status", "slope"):
            result[key][left] = getattr(again, key)
        result["iterations"][left] += again.iterations.astype(int)
    return result


def _build_result(
    mechanism: ClosedMechanism,
    result: dict[str, np.ndarray],
    start: np.ndarray,
    goal: np.ndarray,
    weights: np.ndarray,
    fixed: FixedJoints,
    position_limits: bool,
    tolerance: float,
    shape: tuple[int, ...],
    at: StateInputs,
) -> Assembly:
    """Return the `Assembly` of the results of a search, with the status of each state."""
    q = mechanism.nearest_revolutions(result["q"], goal, fixed.names, position_limits)
    is_assembled = mechanism.open_by(result["error"]) <= tolerance
    each = mechanism.beyond(q, at) if position_limits else np.zeros((len(q), len(mechanism.limited)), dtype=bool)
    beyond, in_loops = each.any(axis=-1), [limit.loop is not None for limit in mechanism.limited]
    status = np.where(result["slope"] < _FLAT_SLOPE, Status.LOCAL_MINIMUM, Status.NOT_CONVERGED).astype(WORDS)
    status[result["status"] == 2.0] = Status.NOT_FINITE
    left = np.flatnonzero(~is_assembled | beyond)
    dependent: tuple[str, ...] = ()
    over = np.zeros(q.shape, dtype=bool)
    if len(left):
        inputs = at[left]
        if position_limits and (np.isfinite(mechanism.limits[0]).any() or np.isfinite(mechanism.limits[1]).any()):
            without = run_kernel(mechanism, start[left], goal[left], weights, fixed, False, inputs)
            would = mechanism.open_by(without.error) <= tolerance
            status[left[would]] = Status.AT_LIMITS
            turned = mechanism.nearest_revolutions(without.q, _middle(*mechanism.limits), fixed.names, False)
            over[left[would]] = (turned[would] < mechanism.limits[0]) | (turned[would] > mechanism.limits[1])
            within = would & ~over[left].any(axis=-1)  # within the limits of all joints, if not of loops
            q[left[within]], result["error"][left[within]] = turned[within], without.error[within]
            each[left[within]] = mechanism.beyond(turned[within], inputs[within])
            is_assembled, beyond = mechanism.open_by(result["error"]) <= tolerance, each.any(axis=-1)
        if fixed.names:
            dependent = _dependent(mechanism, start[left[0]], fixed, tolerance, inputs[0])
            if dependent:
                status[left] = Status.DEPENDENT_JOINTS
        proofs = _proofs(mechanism, q[left], fixed, inputs)  # dependent joints say more than a bar between them
        proved = [proof is not None and not (dependent and proof.fixed) for proof in proofs]
        status[left[proved]] = Status.INFEASIBLE
    status[is_assembled & each[:, in_loops].any(axis=-1)] = Status.LOOP_AT_LIMITS
    status[is_assembled & ~beyond] = Status.SOLVED
    success, iterations, starts = is_assembled & ~beyond, result["iterations"], result["starts"]
    return Assembly._make(
        q=q.reshape(*shape, q.shape[-1]),
        success=success.reshape(shape) if shape else bool(success[0]),
        status=status_of(status.reshape(shape)),
        residual=result["error"].reshape(*shape, result["error"].shape[-1]),
        iterations=iterations.reshape(shape) if shape else int(iterations[0]),
        starts=starts.reshape(shape) if shape else int(starts[0]),
        tolerance=tolerance,
        _fixed=fixed,
        _mechanism=mechanism,
        _inputs=at.reshaped(shape),
        dependent=dependent,
        _over=over.reshape(*shape, q.shape[-1]),
    )


def _proofs(mechanism: ClosedMechanism, q: np.ndarray, fixed: FixedJoints, at: StateInputs) -> list[LongBar | None]:
    """Return a bar that is too long for its loop in each of the states q (n, nq), or None without a proof."""
    robot = mechanism.robot
    poses = np.asarray(robot.forward_kinematics(q, **at.parameters))
    trees = (robot_with(robot, at[k]).tree for k in range(len(q)))
    return [next(long_bars(tree, X, fixed.names), None) for tree, X in zip(trees, poses, strict=True)]


def _middle(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the midpoints of limits; the finite limit if the other one is infinite, and 0 if both are."""
    low, high = np.where(np.isfinite(lower), lower, upper), np.where(np.isfinite(upper), upper, lower)
    return 0.5 * (np.where(np.isfinite(low), low, 0.0) + np.where(np.isfinite(high), high, 0.0))


def _dependent(
    mechanism: ClosedMechanism, q: np.ndarray, fixed: FixedJoints, tolerance: float, at: StateInputs
) -> tuple[str, ...]:
    """Return the names of the fixed joints whose values the constraints do not allow to be chosen freely.

    For such joints, a combination of rows of the constraint Jacobian involves no other joints, in several assembled
    configurations.
    """
    free, tree = mechanism.free(fixed.names), mechanism.tree
    nobody = FixedJoints((), {})
    tied: set[str] | None = None
    for k in range(1, 7):
        start = restart_near(mechanism.robot, q, k)
        result = run_kernel(mechanism, start, start, read_weights(mechanism.robot, "assemble"), nobody, False, at)
        if mechanism.open_by(result.error) > tolerance:
            continue
        G = mechanism.jacobian(result.q, at)
        u, s, _ = np.linalg.svd(G[:, free])
        left_null = u[:, int((s > 1e-7 * max(1.0, s.max(initial=0.0))).sum()) :].T
        tied_here = {
            name
            for name in fixed.names
            if np.abs(left_null @ G[:, tree.v_slices[tree.joint_index(name)]]).max(initial=0.0) > 1e-6
        }
        tied = tied_here if tied is None else tied & tied_here
    return tuple(name for name in fixed.names if tied and name in tied)


def project(robot: Any, q: Any, v: Any, weights: str, tolerance: float, time: Any, check: bool) -> Any:
    """Project q, and v, onto the constraints; arguments and errors are those of `Robot.project`."""
    if weights not in ("mass", "plain"):
        raise ValueError(f'project: weights: expected "mass" or "plain", got {weights!r}')
    tolerance = check_tolerance("project", tolerance)
    result = robot.project_configuration(q, metric=weights, **_timed(time))
    if check and not isinstance(result.q, np.ndarray):
        check = False
    if check and result.q.dtype != object and result.error.shape[-1]:
        mechanism = ClosedMechanism(robot, "project")
        wrong = ~(mechanism.open_by(result.error) <= tolerance)
        if wrong.any():
            index = tuple(int(k) for k in np.argwhere(wrong)[0])
            errors = np.nan_to_num(np.abs(result.error[index]), nan=np.inf)
            worst = int(np.argmax(errors * error_scales(robot.tree)))
            name, unit = mechanism.error_names[worst]
            state = f"state {list(index)} of {wrong.size}, and {wrong.sum() - 1} more" if index else "the configuration"
            raise AssemblyError(
                f"project: {state} cannot be projected onto the constraints: {errors[worst]:.3g} {unit} of {name!r} "
                f"remain; use `assemble`, which searches further, or check=False for the last iterate",
                result,
            )
    if v is None:
        return result.q
    v = stacked_by_joint(robot, "project", "v", v, "v")
    velocity = robot.project_velocity(result.q, v, metric=weights, **_timed(time))
    if check and velocity.dtype != object:
        _refuse_contradictions(robot, result.q, np.asarray(v), velocity, time)
    return result.q, velocity


def _refuse_contradictions(robot: Any, q: np.ndarray, before: np.ndarray, v: np.ndarray, time: Any) -> None:
    """Raise AssemblyError if projected velocities violate constraints, i.e. the constraints contradict each other.

    ``before`` are the velocities before the projection to v, all (..., nv).
    """
    G, drift = robot.constraint_jacobian(q, **_timed(time)), robot.constraint_drift(q, **_timed(time))
    left = np.abs(np.einsum("...ij,...j->...i", G, v) + drift)
    size = np.einsum("...ij,...j->...i", np.abs(G), np.maximum(np.abs(v), np.abs(before))) + np.abs(drift)
    units = Scales.of(robot.tree, characteristic_length(robot.tree)).rows
    wrong = left * units > 1e-6 * (size * units).max(axis=-1, initial=0.0, keepdims=True)
    if wrong.any():
        index = tuple(int(k) for k in np.argwhere(wrong)[0])
        names = [name for constraint in robot.constraints for name in constraint.component_names]
        state = f" in state {list(index[:-1])}" if index[:-1] else ""
        raise AssemblyError(
            f"project: no velocity satisfies all constraints{state}: {left[index]:.3g} of {names[index[-1]]!r} remain; "
            f"the constraints contradict each other there; check=False returns the closest velocity",
            None,
        )


def _timed(time: Any) -> dict[str, Any]:
    return {} if time is None else {"time": time}


def check_tolerance(caller: str, tolerance: Any) -> float:
    """Return the tolerance of constraint errors.  Raises ValueError if it is not a positive number."""
    try:
        result = number(tolerance)
    except (TypeError, ValueError):
        result = float("nan")
    if not 0.0 < result < float("inf"):
        raise ValueError(f"{caller}: tolerance: expected a positive number, got {tolerance!r}")
    return result


def _points(count: int, dimensions: int, first: int = 1) -> np.ndarray:
    """Return low-discrepancy points in the cube [−1, 1], (count, dimensions)."""
    steps = np.array(kronecker_rates(dimensions))
    result: np.ndarray = 2.0 * np.mod(0.5 + np.arange(first, first + count)[:, np.newaxis] * steps, 1.0) - 1.0
    return result


def restart_near(robot: Any, q: np.ndarray, k: int) -> np.ndarray:
    """Return configurations for the k-th restart, k = 1, 2, ..., near configurations q.

    They are within π/8 of q at first, then anywhere.
    """
    tree = robot.tree
    (point,) = _points(1, tree.nv, k)
    moved: np.ndarray = robot.integrate(
        q, min(1.0, 0.125 * 2.0 ** ((k - 1) // 2)) * np.array(unit_steps(tree, math.pi, 2.0)) * point
    )
    return moved


def spread_starts(robot: Any, count: int, position_limits: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return low-discrepancy configurations (count, nq), within those limits that are finite."""
    tree = robot.tree
    points = _points(count, tree.nv)
    result: np.ndarray = robot.integrate(robot.neutral(), np.array(unit_steps(tree, math.pi, 2.0)) * points)
    lower, upper = position_limits
    for i, body in tree.stacked():
        if body.joint.nq == body.joint.nv:
            pairs = zip(range(tree.nq)[tree.q_slices[i]], range(tree.nv)[tree.v_slices[i]], strict=True)
            for coordinate, k in pairs:
                low, high = lower[coordinate], upper[coordinate]
                if math.isfinite(low) and math.isfinite(high):
                    result[:, coordinate] = low + (high - low) * 0.5 * (points[:, k] + 1.0)
    return result

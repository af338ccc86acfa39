"""Derivatives of optimal paths with respect to inputs of the problem, by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.messages import quoted, short_repr
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array, scalars
from linkwork.ik.traced_ik import moved_target, tangent_size
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.model.kernel_parameters import Parameter, inputs_of, read_parameters
from linkwork.model.parametrized_tree import parametrized
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.gauss_newton_system import PathSweeps
from linkwork.optimal.algorithms.path_kkt import PathConditions
from linkwork.optimal.algorithms.path_nlp import PathProgram
from linkwork.optimal.kernels import (
    duals_of,
    path_inputs,
    point_of,
    shapes_of,
    state_shapes,
    sweeps_of,
)

__all__ = [
    "ACTIVE_MULTIPLIER",
    "VELOCITY",
    "PathDerivative",
    "by_all_steps",
    "durations_of",
    "input_size",
    "named_parameter",
    "optima",
    "path_derivative",
    "value_of_call",
]

_kernels: LazyCache[Kernel] = LazyCache(64)
ACTIVE_MULTIPLIER = 1e-9  # relative to the largest: multipliers above belong to active inequalities
VELOCITY = "start velocity"
_EQUILIBRATIONS = 20
_USED_STATE = ("q", "u", "p", "everywhere", "alone", "penalties")


class PathDerivative(NamedTuple):
    """Derivatives of an optimal path, its variables and its parameters, in the n values of an input.

    Derivatives of the path are tangent vectors (..., T, nv, n). Motions by "ilqr" and "shooting" also have derivatives
    of velocities (..., T, nv, n) and of motor forces (..., T, m, n).
    """

    q: np.ndarray
    variables: dict[str, np.ndarray]
    parameters: dict[str, np.ndarray]
    velocities: np.ndarray | None = None
    controls: np.ndarray | None = None

    def __repr__(self) -> str:
        return short_repr(self)


def path_derivative(result: Any, by: str) -> PathDerivative:
    """Return the derivative of a path with respect to an input: see `OptimalResult.derivative`."""
    prepared = result._prepared
    program: PathProgram = prepared.program
    state, arrays = result._state, result._inputs
    solved = optima(result)
    if program.moves_at_start:
        raise ValueError(
            "OptimalResult.derivative: not supported for a path with an initial velocity and free durations"
        )
    parameter = named_parameter(prepared, by)
    bends = _kernels.get((program, ""), lambda: _bends(program))
    shares = prepared.shares_of(durations_of(prepared)[by]) if by in durations_of(prepared) else np.zeros(0)
    slopes = _kernels.get((program, by, *shares.tolist()), lambda: _slopes(prepared, by, parameter))
    inputs = [state[name] for name in state_shapes(program) if name in _USED_STATE]
    inputs += [arrays[name] for name in shapes_of(program)]
    moving = by in prepared.targets and prepared.problem.terms[prepared.targets[by][1]].has_target_per_step
    steps = prepared.problem.terms[prepared.targets[by][1]].steps if moving else ()
    direction = np.zeros(input_size(prepared, by, parameter))
    if parameter is not None:
        direction = value_of_call(program, arrays, parameter)
    second, first = bends(*inputs), slopes(*inputs, direction)
    second = {name: np.asarray(getattr(second, name)) for name in second._fields}
    first = {name[2:].partition("_d_")[0]: np.asarray(getattr(first, name)) for name in first._fields}
    lead = state["scalars"].shape[:-1]
    columns = []
    for index in np.ndindex(lead):
        at, bent, sloped = ({name: x[index] for name, x in values.items()} for values in (state, second, first))
        if not solved[index]:
            columns.append(np.full((program.steps * program.width + program.many, _columns(sloped, steps)), np.nan))
            continue
        columns.append(_solution_derivative(program, prepared, at, bent, sloped, steps))
    step = np.array(columns).reshape(*lead, *columns[0].shape)
    T, width, nv = program.steps, program.width, program.tree.nv
    path = step[..., : T * width, :].reshape(*lead, T, width, -1)
    variables, start = {}, nv
    for name, size in program.variables:
        variables[name] = path[..., start : start + size, :]
        start += size
    parameters, start = {}, T * width
    for name, size in program.parameters:
        parameters[name] = step[..., start : start + size, :]
        start += size
    return PathDerivative(path[..., :nv, :], variables, parameters)


def optima(result: Any) -> np.ndarray:
    """Return a mask (...) of the solved problems.  Raises ValueError if none is solved."""
    solved = np.asarray(result.success)
    if not solved.any():
        raise ValueError(
            f"OptimalResult.derivative: expected a solved path, got {result.explain((0,) * solved.ndim)}"
            if solved.size
            else "OptimalResult.derivative: expected at least one problem, got an empty batch"
        )
    return solved


def value_of_call(program: PathProgram, inputs: Mapping[str, np.ndarray], parameter: Parameter) -> np.ndarray:
    """Return the value of a robot's parameter in a call, flattened to (..., size).

    It is the value that the call passes in ``inputs``, or else the robot's own.
    """
    ports = inputs_of(program.robot_parameters)
    if parameter in ports:
        return inputs[ports[parameter]]
    return np.array(parameter.nominal(program.tree), dtype=float)


def named_parameter(prepared: Any, by: str) -> Parameter | None:
    """Return the robot's parameter that ``by`` names, else None.  Raises ValueError for an unknown input."""
    durations = durations_of(prepared)
    without_term = [*(["start", VELOCITY] if prepared.started else []), *durations]
    names = [*prepared.targets, *without_term]
    if by in prepared.targets and by in without_term:
        raise ValueError(
            f"OptimalResult.derivative: {by!r} is the name of a feature and of another input: rename the feature with "
            f"name="
        )
    if by in names:
        return None
    if by in prepared.problem.parameters:
        raise ValueError(f"OptimalResult.derivative: {by!r} is an unknown of the problem, not an input")
    expected = (
        f"OptimalResult.derivative: by: expected one of {', '.join(map(quoted, names))}, or a parameter of the robot "
        f"as in 'placement:elbow' or 'gravity', got {by!r}"
    )
    if not isinstance(by, str):
        raise ValueError(expected)
    try:
        parameters = read_parameters(prepared.problem.robot.tree, "OptimalResult.derivative", by)
    except UnknownNameError:
        if ":" in by:
            raise
        raise ValueError(expected) from None
    if len(parameters) != 1:
        raise ValueError(f"{expected}, which are {len(parameters)}: {', '.join(map(repr, map(str, parameters)))}")
    return parameter_of_call(prepared.problem.robot.tree, prepared.program.robot_parameters, parameters[0])


def parameter_of_call(tree: Tree, value: tuple[Parameter, ...], parameter: Parameter) -> Parameter:
    """Return that parameter of the call (``value``) that has the same name, or else ``parameter`` itself.

    Raises ValueError if ``parameter`` is only a part of a parameter of the call.
    """
    known = {str(p): p for p in value}
    if str(parameter) in known:
        return known[str(parameter)]
    try:
        read_parameters(tree, "OptimalResult.derivative", [*known, str(parameter)])
    except ValueError as error:
        raise ValueError(
            f"{error}, which the problem was solved with: expected one of {', '.join(map(quoted, known))}"
        ) from None
    return parameter


def durations_of(prepared: Any) -> dict[str, str]:
    """Return a dict from the name of each fixed duration, such as "duration of swing", to its phase.

    The duration of the whole path is "duration", with the phase "".
    """
    known = prepared.problem.durations
    return {f"duration of {x}" if x else "duration": x for x, y in known.items() if not isinstance(y, tuple)}


def input_size(prepared: Any, by: str, parameter: Parameter | None) -> int:
    """Return the number n of columns of the derivative by an input: the dimension of the input's tangent space."""
    features = {}
    if by in durations_of(prepared) and by not in prepared.targets:
        return 1
    if by in prepared.targets:
        features[by] = prepared.problem.terms[prepared.targets[by][1]].feature
    return tangent_size(prepared.problem.robot.tree, by, parameter, features)


def _inputs(program: PathProgram) -> dict[str, Any]:
    state = {name: shape for name, shape in state_shapes(program).items() if name in _USED_STATE}
    return {**state, **shapes_of(program)}


def _bends(program: PathProgram) -> Kernel:
    def bent(**inputs: Any) -> Any:
        conditions = PathConditions(sweeps_of(program, inputs))
        return conditions.hessians(point_of(program, inputs), duals_of(program, inputs))

    return compile(bent, name="optimal_bends", **_inputs(program))


def _slopes(prepared: Any, by: str, parameter: Parameter | None) -> Kernel:
    program: PathProgram = prepared.program
    size = input_size(prepared, by, parameter)

    def sloped(**inputs: Any) -> Any:
        direction = inputs.pop("direction")
        if parameter is not None:
            parameters = {p: [*inputs[name]] for p, name in inputs_of(program.robot_parameters).items()}
            tree = parametrized(program.tree, parameters | {parameter: scalars(direction).ravel().tolist()})
            sweeps = PathSweeps(program.on(tree), path_inputs(program, inputs))
            return PathConditions(sweeps).gradients(point_of(program, inputs), duals_of(program, inputs))
        if by in prepared.targets:
            port, k, _ = prepared.targets[by]
            feature = program.terms[k].feature
            rows = (
                inputs[port] if program.terms[k].has_target_per_step else [inputs[port]]
            )  # all steps move by the same tangent vector
            moved = [moved_target(program.tree, feature, [*row], [*direction]) for row in rows]
            inputs[port] = array(moved if program.terms[k].has_target_per_step else moved[0])
        elif by == "start":
            if program.depth:
                inputs["start"] = array(integrate(program.tree, [*inputs["start"]], [*direction]))
        elif by == VELOCITY:
            if program.depth:
                inputs["rate"] = array([x + y for x, y in zip(inputs["rate"], direction, strict=True)])
        else:
            rates = prepared.shares_of(durations_of(prepared)[by])
            inputs["step"] = inputs["step"] + (rates[0] * direction[0] if program.uniform else rates * direction[0])
        conditions = PathConditions(sweeps_of(program, inputs))
        return conditions.gradients(point_of(program, inputs), duals_of(program, inputs))

    return compile(sloped, name="optimal_slopes", **_inputs(program), direction=(size,)).jacobian("direction")


def by_all_steps(x: np.ndarray, of_steps: Sequence[int], steps: tuple[int, ...]) -> np.ndarray:
    """Return derivatives with respect to the targets of all ``steps``, from those in each step's own target.

    ``x`` (k, ..., n) has the derivative for each of the k steps ``of_steps``. The result (k, ..., len(steps) · n) has
    zeros for the targets of other steps.
    """
    if not steps:
        return x
    result = np.zeros((*x.shape[:-1], len(steps), x.shape[-1]))
    for k, t in enumerate(of_steps):
        if t in steps:
            result[k, ..., steps.index(t), :] = x[k]
    return result.reshape(*x.shape[:-1], -1)


def _columns(slopes: dict[str, Any], steps: tuple[int, ...]) -> int:
    """Return the number of columns of the derivative: n values of an input, or n for each of ``steps``.

    n is the last dimension of the arrays in ``slopes``.
    """
    each: int = next(iter(slopes.values())).shape[-1]
    return each * (len(steps) or 1)


def _solution_derivative(
    program: PathProgram,
    prepared: Any,
    state: dict[str, np.ndarray],
    bends: dict[str, Any],
    slopes: dict[str, Any],
    steps: tuple[int, ...] = (),
) -> np.ndarray:
    """Return the derivative dx/dθ (unknowns, n) of the optimum of one problem, by dense linear algebra.

    The unknowns are those of all steps, then the parameters. For a target per step, θ are the values of all ``steps``,
    step by step, and ``slopes`` are the derivatives with respect to each step's own values.
    """
    T, m, width, many = program.steps, program.depth, program.width, program.many
    count, size = T * width + many, (m + 1) * width + many
    n = _columns(slopes, steps)
    H, g = np.zeros((count, count)), np.zeros((count, n))
    rows, sides = [], []
    lower = np.tril_indices(size)
    weights = prepared.constants["weights"]

    def put(t: int, triangle: Any, slope: Any) -> tuple[np.ndarray, np.ndarray]:
        columns = np.concatenate(
            [np.arange(width) + (t - back) * width for back in range(m + 1)] + [T * width + np.arange(many)]
        ).astype(int)
        used = np.flatnonzero(columns >= 0)
        local = np.zeros((size, size))
        local[lower] = triangle
        local = local + local.T - np.diag(np.diag(local))
        H[np.ix_(columns[used], columns[used])] += local[np.ix_(used, used)]
        g[columns[used]] += slope[used]
        return columns, used

    def add_active(t: int, k: int, J: np.ndarray, c: np.ndarray, forces: np.ndarray, where: Any) -> None:
        """Append the Jacobian rows of a constraint's active components, with the derivatives in θ."""
        term = program.terms[k]
        columns, used = where
        equal = term.kind == "equality" and not term.bounded
        largest = np.abs(forces).max(initial=0.0)
        bounds = prepared.problem.terms[k]
        for row in range(program.counted(k, t)):
            same = equal or (term.bounded and bounds.lower[row] == bounds.upper[row])
            if same or abs(forces[row]) > ACTIVE_MULTIPLIER * max(1.0, largest):
                line = np.zeros(count)
                line[columns[used]] = J[row, used]
                rows.append(line)
                sides.append(c[row])

    if program.everywhere:
        columns_of = program.forces_of(program.everywhere)
        first, second = (by_all_steps(slopes[name], range(T), steps) for name in ("first", "second"))
        for t in range(T):
            where_added = put(t, bends["first"][t], first[t])
            start = 0
            for k in program.everywhere:
                term = program.terms[k]
                rows_of = slice(start, start + term.count)
                start += term.count
                if term.hard and weights[t, k]:
                    J = bends["second"][t].reshape(-1, size)[rows_of]
                    add_active(t, k, J, second[t][rows_of], state["everywhere"][t, columns_of[k]], where_added)
    single = program.forces_of(program.alone)
    for number, k in enumerate(program.alone):
        own_step = program.terms[k].at
        assert own_step is not None
        first, second = (by_all_steps(slopes[f"{x}{number}"][None], (own_step,), steps)[0] for x in ("first", "second"))
        where_added = put(own_step, bends[f"first{number}"], first)
        if program.terms[k].hard:
            J = bends[f"second{number}"].reshape(-1, size)
            add_active(own_step, k, J, second, state["alone"][single[k]], where_added)
    # parameters at their bounds are fixed
    constants = prepared.constants
    for j in range(many):
        p, low, high = state["p"][j], constants["floor"][j], constants["ceiling"][j]
        if min(p - low, high - p) <= 1e-9 * max(1.0, abs(p)):
            rows.append(np.eye(1, count, T * width + j)[0])
            sides.append(np.zeros(n))
    active = len(rows)
    K = np.zeros((count + active, count + active))
    K[:count, :count] = H
    right = np.concatenate([g, np.array(sides).reshape(active, n)])
    if active:
        K[count:, :count] = rows
        K[:count, count:] = np.array(rows).T
    try:
        solution = np.linalg.solve(K, -right)
        is_accurate = np.isfinite(solution).all() and np.abs(K @ solution + right).max() <= 1e-8 * (
            1.0 + np.abs(right).max()
        )
    except np.linalg.LinAlgError:
        is_accurate = False
    if not is_accurate:
        solution = _least_norm_solution(K, -right)
    return np.asarray(solution[:count])


def _least_norm_solution(K: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the solution of least norm of symmetric equations with undetermined directions.

    The rank is determined after scaling the rows to maximum 1, because units of forces and lengths differ.
    """
    d = np.ones(len(K))
    for _ in range(_EQUILIBRATIONS):
        largest = np.sqrt(np.abs(K * np.multiply.outer(d, d)).max(axis=1))
        d /= np.where(largest > 0.0, largest, 1.0)
    U, s, V = np.linalg.svd(K * np.multiply.outer(d, d))
    rank = int((s > 1e-12 * s[0]).sum())
    solution = d[:, None] * (V[:rank].T @ ((U[:, :rank].T @ (d[:, None] * right)) / s[:rank, None]))
    free = d[:, None] * V[rank:].T
    return np.asarray(solution - free @ np.linalg.lstsq(free, solution, rcond=None)[0])

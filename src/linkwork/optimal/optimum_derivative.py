"""How an optimal path moves where its problem changes: by the implicit function theorem, exactly."""

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
from linkwork.kinematics.algorithms.configuration_manifold import difference, integrate
from linkwork.model.kernel_parameters import Parameter, inputs_of, read_parameters
from linkwork.model.parametrized_tree import parametrized
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.gauss_newton_system import PathSweeps
from linkwork.optimal.algorithms.path_kkt import PathConditions
from linkwork.optimal.algorithms.path_nlp import PathProgram
from linkwork.optimal.kernels import (
    duals_of,
    numbers_of,
    point_of,
    shapes_of,
    state_shapes,
    sweeps_of,
)

__all__ = [
    "HELD",
    "VELOCITY",
    "PathDerivative",
    "asked_parameter",
    "durations_of",
    "moved_numbers",
    "optima",
    "own_numbers",
    "path_derivative",
    "spread",
]

_kernels: LazyCache[Kernel] = LazyCache(64)
HELD = 1e-9  # multipliers above this share of the largest hold a motion at an inequality
VELOCITY = "start velocity"
_ASKED = ("q", "u", "p", "everywhere", "alone", "penalties")


class PathDerivative(NamedTuple):
    """By n numbers of what changes: the path in tangent vectors (..., T, nv, n), variables of steps, parameters.

    Of motions by forward dynamics also velocities (..., T, nv, n), and forces of motors (..., T, m, n).
    """

    q: np.ndarray
    variables: dict[str, np.ndarray]
    parameters: dict[str, np.ndarray]
    velocities: np.ndarray | None = None
    controls: np.ndarray | None = None

    def __repr__(self) -> str:
        return short_repr(self)


def path_derivative(result: Any, by: str) -> PathDerivative:
    """See `OptimalResult.derivative`."""
    prepared = result._prepared
    program: PathProgram = prepared.program
    state, numbers = result._state, result._inputs
    solved = optima(result)
    if program.moves_at_start:
        raise ValueError("OptimalResult.derivative: with a velocity at the start and free durations it is not told")
    parameter = asked_parameter(prepared, by)
    bends = _kernels.get((program, ""), lambda: _bends(program))
    shares = prepared.shares_of(durations_of(prepared)[by]) if by in durations_of(prepared) else np.zeros(0)
    slopes = _kernels.get((program, by, *shares.tolist()), lambda: _slopes(prepared, by, parameter))
    inputs = [state[name] for name in state_shapes(program) if name in _ASKED]
    inputs += [numbers[name] for name in shapes_of(program)]
    moving = by in prepared.targets and prepared.problem.terms[prepared.targets[by][1]].has_target_per_step
    steps = prepared.problem.terms[prepared.targets[by][1]].steps if moving else ()
    own = np.zeros(moved_numbers(prepared, by, parameter))
    if parameter is not None:
        own = own_numbers(program, numbers, parameter)
    second, first = bends(*inputs), slopes(*inputs, own)
    second = {name: np.asarray(getattr(second, name)) for name in second._fields}
    first = {name[2:].partition("_d_")[0]: np.asarray(getattr(first, name)) for name in first._fields}
    lead = state["scalars"].shape[:-1]
    columns = []
    for place in np.ndindex(lead):
        at, bent, sloped = ({name: x[place] for name, x in some.items()} for some in (state, second, first))
        if not solved[place]:
            columns.append(np.full((program.steps * program.width + program.many, _columns(sloped, steps)), np.nan))
            continue
        columns.append(_moved(program, prepared, at, bent, sloped, steps))
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
    """Which problems are solved (...).  Raises ValueError where none is."""
    solved = np.asarray(result.success)
    if not solved.any():
        raise ValueError(
            f"OptimalResult.derivative: it is of optima, and this is none: {result.explain((0,) * solved.ndim)}"
            if solved.size
            else "OptimalResult.derivative: there is no problem"
        )
    return solved


def own_numbers(program: PathProgram, numbers: Mapping[str, np.ndarray], parameter: Parameter) -> np.ndarray:
    """What a robot's parameter is in a call, row by row (..., numbers)."""
    given = inputs_of(program.robot_parameters)
    if parameter in given:
        return numbers[given[parameter]]
    return np.array(parameter.nominal(program.tree), dtype=float)


def asked_parameter(prepared: Any, by: str) -> Parameter | None:
    """The robot's parameter that is meant, if it is one.  Raises ValueError for what no path depends on."""
    durations = durations_of(prepared)
    others = [*(["start", VELOCITY] if prepared.started else []), *durations]
    names = [*prepared.targets, *others]
    if by in prepared.targets and by in others:
        raise ValueError(
            f"OptimalResult.derivative: {by!r} is a feature with a target here, and what the path is given, too: give "
            f"the feature another name="
        )
    if by in names:
        return None
    if by in prepared.problem.parameters:
        raise ValueError(f"OptimalResult.derivative: {by!r} is free: the problem finds it, and does not depend on it")
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
        raise ValueError(
            f"{expected}: these are {len(parameters)}, {', '.join(map(repr, map(str, parameters)))}: name one"
        )
    return of_a_call(prepared.problem.robot.tree, prepared.program.robot_parameters, parameters[0])


def of_a_call(tree: Tree, value: tuple[Parameter, ...], parameter: Parameter) -> Parameter:
    """The parameter as a call has it.  Raises ValueError for one that is a part of another that was given."""
    known = {str(p): p for p in value}
    if str(parameter) in known:
        return known[str(parameter)]
    try:
        read_parameters(tree, "OptimalResult.derivative", [*known, str(parameter)])
    except ValueError as error:
        raise ValueError(
            f"{error}, as the problem was solved: expected one of {', '.join(map(quoted, known))}"
        ) from None
    return parameter


def durations_of(prepared: Any) -> dict[str, str]:
    """Durations that are given, by what they are called here: their phases."""
    known = prepared.problem.durations
    return {f"duration of {x}" if x else "duration": x for x, y in known.items() if not isinstance(y, tuple)}


def moved_numbers(prepared: Any, by: str, parameter: Parameter | None) -> int:
    asked = {}
    if by in durations_of(prepared) and by not in prepared.targets:
        return 1
    if by in prepared.targets:
        asked[by] = prepared.problem.terms[prepared.targets[by][1]].feature
    return tangent_size(prepared.problem.robot.tree, by, parameter, asked)


def _inputs(program: PathProgram) -> dict[str, Any]:
    state = {name: shape for name, shape in state_shapes(program).items() if name in _ASKED}
    return {**state, **shapes_of(program)}


def _bends(program: PathProgram) -> Kernel:
    def bent(**inputs: Any) -> Any:
        conditions = PathConditions(sweeps_of(program, inputs))
        return conditions.bends(point_of(program, inputs), duals_of(program, inputs))

    return compile(bent, name="optimal_bends", **_inputs(program))


def _slopes(prepared: Any, by: str, parameter: Parameter | None) -> Kernel:
    program: PathProgram = prepared.program
    size = moved_numbers(prepared, by, parameter)

    def sloped(**inputs: Any) -> Any:
        direction = inputs.pop("direction")
        if parameter is not None:
            own = {p: [*inputs[name]] for p, name in inputs_of(program.robot_parameters).items()}
            tree = parametrized(program.tree, own | {parameter: scalars(direction).ravel().tolist()})
            sweeps = PathSweeps(program.on(tree), numbers_of(program, inputs))
            return PathConditions(sweeps).slopes(point_of(program, inputs), duals_of(program, inputs))
        if by in prepared.targets:
            port, k, _ = prepared.targets[by]
            feature = program.terms[k].feature
            rows = (
                inputs[port] if program.terms[k].has_target_per_step else [inputs[port]]
            )  # in all steps by the same way
            moved = [moved_target(program.tree, feature, [*row], [*direction]) for row in rows]
            inputs[port] = array(moved if program.terms[k].has_target_per_step else moved[0])
        elif by == "start":
            inputs["past"] = _elsewhere(program, inputs["past"], direction)
        elif by == VELOCITY:
            inputs["past"] = _faster(program, inputs, direction)
        else:
            rates = prepared.shares_of(durations_of(prepared)[by])
            if prepared.started:
                inputs["past"] = _longer(program, inputs, rates[0] * direction[0])
            inputs["step"] = inputs["step"] + (rates[0] * direction[0] if program.uniform else rates * direction[0])
        conditions = PathConditions(sweeps_of(program, inputs))
        return conditions.slopes(point_of(program, inputs), duals_of(program, inputs))

    return compile(sloped, name="optimal_slopes", **_inputs(program), direction=(size,)).jacobian("direction")


def _elsewhere(program: PathProgram, inputs: Any, direction: Any) -> Any:
    """What was before a start that is moved so, at the same velocity in its own axes.

    Configurations before it do not move alike: where axes turn, (q ⊕ way) ⊖ τ v is not (q ⊖ τ v) ⊕ way.
    """
    past, tree = [[*q] for q in inputs], program.tree
    if not past:
        return inputs
    start = integrate(tree, past[-1], [*direction])
    back = difference(tree, past[-1], past[-2]) if len(past) > 1 else []
    ages = range(len(past) - 1, 0, -1)
    return array([*(integrate(tree, start, [age * x for x in back]) for age in ages), start])


def _faster(program: PathProgram, inputs: dict[str, Any], direction: Any) -> Any:
    """What was before the start, at a velocity that is so much more."""
    past, tree = [[*q] for q in inputs.get("past", ())], program.tree
    if len(past) < 2:
        return array(past) if past else np.zeros((0, tree.nq))
    step = inputs["step"] if program.uniform else inputs["step"][0]
    back = [
        x + step * more for x, more in zip(difference(tree, past[-1], past[-2]), [-x for x in direction], strict=True)
    ]
    ages = range(len(past) - 1, 0, -1)
    return array([*(integrate(tree, past[-1], [age * x for x in back]) for age in ages), past[-1]])


def _longer(program: PathProgram, inputs: dict[str, Any], more: Any) -> Any:
    """What was before the start, at the same velocity, where steps are so much longer."""
    past, tree = [[*q] for q in inputs["past"]], program.tree
    if len(past) < 2:
        return inputs["past"]
    step = inputs["step"] if program.uniform else inputs["step"][0]
    way = [x * more / step for x in difference(tree, past[-2], past[-1])]
    ages = range(len(past) - 1, -1, -1)
    return array([integrate(tree, q, [-age * x for x in way]) for q, age in zip(past, ages, strict=True)])


def spread(x: np.ndarray, own: Sequence[int], steps: tuple[int, ...]) -> np.ndarray:
    """Derivatives of the steps ``own`` (steps, ..., n), where each of ``steps`` has n numbers: by all of these."""
    if not steps:
        return x
    result = np.zeros((*x.shape[:-1], len(steps), x.shape[-1]))
    for k, t in enumerate(own):
        if t in steps:
            result[k, ..., steps.index(t), :] = x[k]
    return result.reshape(*x.shape[:-1], -1)


def _columns(slopes: dict[str, Any], steps: tuple[int, ...]) -> int:
    """By how many numbers paths move."""
    each: int = next(iter(slopes.values())).shape[-1]
    return each * (len(steps) or 1)


def _moved(
    program: PathProgram,
    prepared: Any,
    state: dict[str, np.ndarray],
    bends: dict[str, Any],
    slopes: dict[str, Any],
    steps: tuple[int, ...] = (),
) -> np.ndarray:
    """dx/dθ of one problem, the columns of all steps and then the parameters', by dense algebra.

    Of what moves in some ``steps`` by itself, θ are the numbers of all of them, step by step, and what slopes say of a
    step is of its own.
    """
    T, m, width, many = program.steps, program.depth, program.width, program.many
    count, size = T * width + many, (m + 1) * width + many
    n = _columns(slopes, steps)
    H, g = np.zeros((count, count)), np.zeros((count, n))
    rows, sides = [], []
    lower = np.tril_indices(size)
    weights = prepared.constants["weights"]

    def put(t: int, triangle: Any, slope: Any) -> tuple[np.ndarray, np.ndarray]:
        places = np.concatenate(
            [np.arange(width) + (t - back) * width for back in range(m + 1)] + [T * width + np.arange(many)]
        ).astype(int)
        there = np.flatnonzero(places >= 0)
        local = np.zeros((size, size))
        local[lower] = triangle
        local = local + local.T - np.diag(np.diag(local))
        H[np.ix_(places[there], places[there])] += local[np.ix_(there, there)]
        g[places[there]] += slope[there]
        return places, there

    def hold(t: int, k: int, J: np.ndarray, c: np.ndarray, forces: np.ndarray, where: Any) -> None:
        """Rows of a constraint that hold the path."""
        term = program.terms[k]
        places, there = where
        equal = term.kind == "equality" and not term.bounded
        largest = np.abs(forces).max(initial=0.0)
        bounds = prepared.problem.terms[k]
        for row in range(program.counted(k, t)):
            same = equal or (term.bounded and bounds.lower[row] == bounds.upper[row])
            if same or abs(forces[row]) > HELD * max(1.0, largest):
                line = np.zeros(count)
                line[places[there]] = J[row, there]
                rows.append(line)
                sides.append(c[row])

    if program.everywhere:
        places = program.forces_of(program.everywhere)
        first, second = (spread(slopes[name], range(T), steps) for name in ("first", "second"))
        for t in range(T):
            there = put(t, bends["first"][t], first[t])
            start = 0
            for k in program.everywhere:
                term = program.terms[k]
                rows_of = slice(start, start + term.count)
                start += term.count
                if term.hard and weights[t, k]:
                    J = bends["second"][t].reshape(-1, size)[rows_of]
                    hold(t, k, J, second[t][rows_of], state["everywhere"][t, places[k]], there)
    single = program.forces_of(program.alone)
    for number, k in enumerate(program.alone):
        own_step = program.terms[k].at
        assert own_step is not None
        first, second = (spread(slopes[f"{x}{number}"][None], (own_step,), steps)[0] for x in ("first", "second"))
        there = put(own_step, bends[f"first{number}"], first)
        if program.terms[k].hard:
            J = bends[f"second{number}"].reshape(-1, size)
            hold(own_step, k, J, second, state["alone"][single[k]], there)
    # parameters at their bounds stay there
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
        fine = np.isfinite(solution).all() and np.abs(K @ solution + right).max() <= 1e-8 * (1.0 + np.abs(right).max())
    except np.linalg.LinAlgError:
        fine = False
    if not fine:  # what nothing determines moves least
        solution = np.linalg.lstsq(K, -right, rcond=1e-12)[0]
    return np.asarray(solution[:count])

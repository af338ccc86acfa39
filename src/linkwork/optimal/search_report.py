"""Reports on searches: statuses and messages of results, features that are not finite, and diverged paths.

A cost without a lower bound is recognised by its values along directions, at lengths up to `LONGEST`.  A term of kind
"cost" that is linear in accelerations has no lower bound.  A term that is quadratic in velocities, such as a torque,
has neither a lower bound nor a direction along which it always falls.  So the lowest value of several directions is
taken at each length.  The lengths grow by factors of ten.  A cost is reported as unbounded if it falls by an equal
amount from each length to the next, like −log x.  This is no proof: there may be a minimum beyond these lengths.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.messages import label
from linkwork._util.status import WORDS, status_of
from linkwork.errors import Status
from linkwork.optimal.algorithms.path_augmented_lagrangian import SOLVED, VIOLATED
from linkwork.optimal.kernels import SEARCH_SCALARS, shapes_of, slope_kernel, state_shapes, value_kernel

__all__ = [
    "DIVERGED_STEP",
    "FARTHEST",
    "LONGEST",
    "UNKNOWN",
    "conflict_names",
    "falls_without_bound",
    "nonfinite_features",
    "resolution",
    "resolved",
    "search_status",
    "violations_of",
]

DIVERGED_STEP = 1e14  # [rad, m] longer steps mean that Newton's equations had no solution
_INDEX = {name: k for k, name in enumerate(SEARCH_SCALARS)}
UNKNOWN = 1e299  # violations before the first step are larger
_ENDS = {1: Status.SOLVED, 2: Status.NOT_CONVERGED, 3: Status.STALLED, 4: Status.SUPERSEDED, 5: Status.UNBOUNDED}
_STUCK = 3.0
_MAYBE_INFEASIBLE = (Status.NOT_CONVERGED, Status.STALLED, Status.MAX_ITERATIONS)


def search_status(result: Any) -> Any:
    """Return the status of a result, or the statuses (...) of a batch: see `OptimalResult.status`."""
    scalars = result._state["scalars"]
    unfinished = Status.TIME_LIMIT if result._late else Status.MAX_ITERATIONS
    unfinished = Status.RUNNING if result._running else unfinished
    statuses = []
    for k, row in enumerate(scalars.reshape(-1, scalars.shape[-1])):
        status = _ENDS.get(int(np.nan_to_num(row[_INDEX["status"]])), unfinished)
        if status is Status.UNBOUNDED and not result._falls(k):
            status = unfinished
        elif status is Status.STALLED and _linear_costs(result) and result._falls(k):
            status = Status.UNBOUNDED
        if status is not Status.SOLVED and result._nonfinite(k):
            status = Status.NOT_FINITE
        elif status in _MAYBE_INFEASIBLE and result._proof(k) is not None:
            status = Status.INFEASIBLE
        elif status in (Status.STALLED, unfinished) and not np.abs(_path_of(result, k)).max(initial=0.0) < FARTHEST:
            status = Status.UNBOUNDED if _linear_costs(result) and result._falls(k) else Status.NOT_FINITE
        statuses.append(status)
    return status_of(np.array(statuses, dtype=WORDS).reshape(scalars.shape[:-1]))


def _path_of(result: Any, index: int) -> np.ndarray:
    path: np.ndarray = result.q.reshape(-1, *result.q.shape[-2:])[index]
    return path


def _linear_costs(result: Any) -> list[str]:
    return [term.name for term in result.problem.terms if term.kind == "cost"]


def conflict_names(result: Any) -> Any:
    """Return the names of violated constraints, for a batch a list of them: see `OptimalResult.conflicts`."""
    program, violations = result._prepared.program, result._violated
    rows = violations.reshape(int(np.prod(violations.shape[:-1])), violations.shape[-1])
    names: list[tuple[str, ...]] = []
    for k, (row, status) in enumerate(zip(rows, np.ravel(result.status), strict=True)):
        proof = result._proof(k) if status == "infeasible" else None
        worst = row / result._tolerances[1:]
        order = [n for n in np.argsort(-worst, kind="stable") if worst[n] > 1.0]
        violated = tuple(program.terms[program.hard[n]].name for n in order)
        names.append(violated if proof is None else (*proof.violations, *proof.pressing))
    return names[0] if violations.ndim == 1 else names


def nonfinite_features(result: Any, index: int) -> list[str]:
    """Return a text for each feature that is not finite, or whose derivative is not, in one entry of a batch."""
    row = result._state["scalars"].reshape(-1, result._state["scalars"].shape[-1])[index]
    diverged = not row[_INDEX["length"]] < DIVERGED_STEP
    if not diverged and np.isfinite(row[: len(SEARCH_SCALARS)]).all() and row[_INDEX["status"]] != _STUCK:
        return []
    return nonfinite_values(result, index) or (nonfinite_derivatives(result, index) if diverged else [])


def nonfinite_values(result: Any, index: int) -> list[str]:
    """Return a text for each feature that is not finite, with its value, step and component.

    ``index`` is the flat index of the problem in a batch.
    """
    return [f"{name!r} is {x} in {where}" for name, x, where in _nonfinite_entries(result, result.residuals, index)]


def nonfinite_derivatives(result: Any, index: int) -> list[str]:
    """Return a text for each feature whose derivative is not finite, with its step and component."""
    program = result._prepared.program
    names = [name for name in ("q", "u", "p") if name in state_shapes(program)]
    inputs = [*(result._state[name] for name in names), *(result._inputs[name] for name in shapes_of(program))]
    slopes = slope_kernel(program)(*inputs)
    values = result._by_feature(slopes.everywhere, slopes.alone)
    return [f"the derivative of {name!r} in {where}" for name, _, where in _nonfinite_entries(result, values, index)]


def _nonfinite_entries(result: Any, values: dict[str, np.ndarray], index: int) -> list[tuple[str, float, str]]:
    """Return name, value and location of the first non-finite component of each feature."""
    entries = []
    for name, x in values.items():
        k = next(k for k, term in enumerate(result.problem.terms) if term.name == name)
        entry = x.reshape(-1, *x.shape[-2:])[index]
        bad = np.argwhere(~np.isfinite(entry))
        if len(bad):
            t, row = result._steps_of(k)[bad[0][0]], bad[0][1]
            label = result.problem.terms[k].feature.component_names[row]
            entries.append((name, entry[tuple(bad[0])], f"step {t}, component {label!r}"))
    return entries


def resolution(q: np.ndarray) -> np.ndarray:
    """Return the distance between a path's largest coordinate and the next floating-point number [rad, m].

    ``q`` is (..., T, nq), the result (...).
    """
    return np.asarray(np.spacing(np.abs(q).max(axis=(-1, -2), initial=0.0)))


def resolved(q: np.ndarray, scalars: np.ndarray, step: float) -> np.ndarray:
    """Return the states ``scalars`` of searches; paths that float rounding cannot resolve to ``step`` are not "solved".

    Their status becomes that of a violated constraint. The resolution of a path is the distance between floating-point
    numbers of the size of its largest coordinate [rad, m].
    """
    status = SEARCH_SCALARS.index("status")
    lost = (scalars[..., status] == SOLVED) & (resolution(q) > step)
    if lost.any():
        scalars = scalars.copy()
        scalars[..., status][lost] = VIOLATED
    return scalars


def violations_of(result: Any) -> np.ndarray:
    """Return the largest violation of each constraint, (..., constraints), from the values of its feature."""
    prepared, values, columns = result._prepared, result._by_feature(*result._term_values), []
    for k in prepared.program.hard:
        beyond = np.abs(prepared.beyond(k, values[prepared.program.terms[k].name]))
        beyond = np.where(result._inputs["scales"][prepared.program.rows_of[k]] != 0.0, beyond, 0.0)
        columns.append(beyond.max(axis=(-1, -2), initial=0.0))
    return np.stack(columns, axis=-1)


def result_message(result: Any, index: tuple[int, ...]) -> str:
    """Return the message of one entry of a result: the reason for its status."""
    scalars = result._state["scalars"]
    k = int(np.ravel_multi_index(index, scalars.shape[:-1])) if index else 0
    status = Status(np.ravel(result.status)[k])
    row = scalars.reshape(-1, scalars.shape[-1])[k]
    names = result.conflicts if scalars.ndim == 1 else result.conflicts[k]
    done = f"after {int(row[_INDEX['iterations']])} iterations"
    if status is Status.SOLVED:
        return f"{int(row[_INDEX['iterations']])} iterations, cost {np.ravel(result.cost)[k]:.6g}"
    if status is Status.NOT_FINITE:
        return "; ".join(result._nonfinite(k)) or f"the path diverged {done}"
    if names:
        violated, program = result._violated.reshape(-1, result._violated.shape[-1])[k], result._prepared.program
        at = {program.terms[m].name: violated[n] for n, m in enumerate(program.hard)}
        proof = result._proof(k) if status is Status.INFEASIBLE else None
        at |= proof.violations if proof is not None else {}
        shown = ", ".join(f"{name!r} (by {at[name]:.3g})" if name in at else name for name in names)
        if status is not Status.INFEASIBLE:
            return f"violated: {shown}, {done}"
        hint = (
            "from each of these initial paths"
            if result.attempts is not None
            else "near this initial path; num_guesses= tries others"
        )
        return f"these constraints cannot hold together: {shown}, {hint}"
    if status is Status.NOT_CONVERGED:
        coarse = resolution(_path_of(result, k))
        if coarse <= result._tolerances[0]:
            return f"all constraints are satisfied, but their multipliers have not converged, {done}"
        return f"the path diverged until floating-point numbers are {coarse:.2g} apart, {done}"
    if status is Status.UNBOUNDED:
        far = np.abs(_path_of(result, k)).max(initial=0.0)
        names = ", ".join(map(repr, _linear_costs(result)))
        reason = f"the cost of {names} has no minimum within {LONGEST:.0e} rad or units of length of the path {done}"
        return f"{reason}; the largest coordinate is {far:.3g}"
    return f"all constraints are satisfied {done}; the last step was {row[_INDEX['length']]:.2g} long"


def result_table(result: Any) -> str:
    """Return a table of features with largest value, violation and multiplier; for a batch its message."""
    if np.ndim(result.cost) != 0:
        return str(result.message)
    term_of = {term.name: term for term in result.problem.terms}
    width = max(map(len, ("feature", *map(label, result.residuals))))
    head = f"{'feature':<{width}} {'kind':<13} {'largest':>10} {'violated':>10} {'multiplier':>10}"
    lines = [result.explain(), head]
    for name, values in result.residuals.items():
        term = term_of[name]
        is_margin = term.kind == "inequality" and term.lower is None and values.size
        largest = values.max() if is_margin else np.abs(values).max(initial=0.0)
        line = f"{label(name):<{width}} {term.kind:<13} {largest:>10.3g}"
        if name in result.violations:
            line += f" {result.violations[name]:>10.2e} {np.abs(result.multipliers[name]).max(initial=0.0):>10.3g}"
        lines.append(line)
    lengths = {unit for unit in result._prepared.program.units if unit != 1.0}
    units = [f"costs in {result._prepared.cost_unit:.3g}", *(f"lengths in {unit:g}" for unit in lengths)]
    lines.append(f"units of the search: {', '.join(units)}")
    if left := result.problem._limits_left_out():
        options = ", ".join(f"{argument}=True" for argument in left)
        lines.append(f"limits of the robot that the problem leaves out: {', '.join(left)}; add_limits({options})")
    return "\n".join(lines)


Array = np.ndarray

LONGEST = 1e8  # in units of coordinates: length of the longest moves of a path
FARTHEST = 1e10  # [rad, m] paths with larger coordinates have diverged
_LENGTHS = np.geomspace(10.0, LONGEST, 8)
_DIRECTIONS = 32
_LASTING = 0.9  # smallest ratio of successive decreases of the cost, 1 for a logarithm


def falls_without_bound(result: Any, flat_index: int) -> bool:
    """Return True if the cost of one problem of a batch seems to have no lower bound within its constraints.

    The cost is evaluated along directions at growing lengths. The result is True if the lowest cost decreases from each
    length to the next by no less than before, without a violated constraint. The directions begin at the problem's
    path, or if this path has diverged, at a path that rests at the start.
    """
    prepared, program, robot = result._prepared, result._prepared.program, result.problem.robot
    if not any(term.kind == "cost" for term in program.terms):
        return False
    lead = result._state["scalars"].shape[:-1]
    index = np.unravel_index(flat_index, lead) if lead else ()
    arrays, shapes = {**result._state, **result._inputs}, {**state_shapes(program), **shapes_of(program)}
    entry = {
        name: np.broadcast_to(arrays[name], (*lead, *shape))[index] for name, shape in shapes.items() if name in arrays
    }
    q, names = entry["q"], [name for name in ("q", "u", "p") if name in state_shapes(program)]

    def evaluated(paths: Array) -> tuple[Array, Array]:
        """Return costs (...), and True where a constraint is violated, of paths (..., T, nq)."""
        inputs = (paths if name == "q" else entry[name] for name in (*names, *shapes_of(program)))
        values = value_kernel(program)(*inputs)
        total, beyond = np.zeros(paths.shape[:-2]), np.zeros(paths.shape[:-2], dtype=bool)
        for k, (term, tolerance) in enumerate(zip(program.terms, _by_term(result), strict=True)):
            c = result._by_feature(values.everywhere, values.alone)[term.name] * (
                entry["scales"][program.rows_of[k]] != 0
            )
            if term.hard:
                beyond |= (np.abs(prepared.beyond(k, c)) > tolerance).any(axis=(-1, -2))
            else:
                c = c * prepared.constants["scales"][program.rows_of[k]]
                total += (c if term.kind == "cost" else 0.5 * c * c).sum(axis=(-1, -2))
        return total, beyond

    if not np.abs(q).max(initial=0.0) < FARTHEST:
        q = np.broadcast_to(entry.get("start", robot.neutral()), q.shape)
    rng = np.random.default_rng(0)
    shapes_in_time = np.linspace(0.0, 1.0, len(q))[:, None] ** rng.uniform(0.3, 3.0, (_DIRECTIONS, 1, 1))
    d = shapes_in_time * rng.normal(size=(_DIRECTIONS, 1, robot.nv)) * np.array(program.units)
    d = d / np.abs(d / program.units).max(axis=(-1, -2), keepdims=True)
    paths = robot.integrate(
        np.broadcast_to(q, (len(_LENGTHS), *d.shape[:2], q.shape[-1])), _LENGTHS[:, None, None, None] * d
    )
    with np.errstate(all="ignore"):
        (at_path, _), (costs, beyond) = evaluated(q), evaluated(paths)
    lowest = np.min(costs, axis=-1, where=~beyond & np.isfinite(costs), initial=np.inf)
    if not np.isfinite([at_path, *lowest]).all():
        return False
    falls = np.diff(lowest, prepend=at_path)
    return bool(falls[0] < 0.0 and (falls[1:] < _LASTING * falls[:-1]).all())


def _by_term(result: Any) -> list[float]:
    program = result._prepared.program
    tolerances = dict(zip(program.hard, result._tolerances[1:], strict=True))
    return [tolerances.get(k, np.inf) for k in range(len(program.terms))]

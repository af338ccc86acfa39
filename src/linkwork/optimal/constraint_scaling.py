"""Scaling of terms, which makes a search independent of the units of constraints and costs.

Let H be the Hessian of the costs and J the Jacobian of a constraint.  Multipliers λ change the constraint's value by
C λ with the compliance C = J H⁻¹ Jᵀ, and a penalty ρ reduces a violation by the factor 1/(1 + ρ C).  Scaling makes ρ C
the same for all constraints.  C is computed for paths of uniform motion, with the same rows in all steps.

Costs are divided by a unit c, a power of four near their largest curvature.  So the regularisation of a search is
relative to the costs, and equal problems with costs in other units have the same solution.

Source: Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, section 17.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from linkwork.errors import UnknownNameError
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.optimal.algorithms.path_nlp import PathInputs, PathProgram, first_step
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.algorithms.stage_terms import TermRequest, columns_of, second_derivatives

__all__ = ["cost_unit", "has_curvature", "scale_factors"]

INITIAL_STIFFNESS = 300.0  # ρ C with the initial penalty
_CURVATURE = 1e5  # largest curvature of a cost by an unknown, in its unit
_MIN_COST = 1e-7  # regularisation of H, relative to its largest diagonal element
_COUPLING = 10.0  # largest compliance of equalities over several steps, relative to that of their own step
_HELD_FLOOR = 1e-5  # of the regularisation, while equalities are satisfied
_STIFFER = 10.0  # factor of the regularisation, to detect constraints that costs leave free
_FREE = 0.9  # of that factor: compliances that are smaller by more are of free constraints
_BORNE = 2.0  # of that factor: compliances that are smaller by less are of components that costs determine
_HELD_STIFFNESS = 1e6  # ρ C of equalities that count as satisfied
_ROUNDS = 10  # of penalties of equalities that count as satisfied
_ROUNDING = 1e-9  # smallest difference of 1 and a penalty's share of the stiffness
_TRAVEL = 0.6  # of the uniform motion over the whole path, in the units of coordinates

Array = np.ndarray


def scale_factors(
    program: PathProgram, inputs: PathInputs, configurations: Array, u: Array, p: Array, penalty: float
) -> Array:
    """Return an array (2, components of all terms): factors of the components' scales, and components' sizes.

    With the factors, a search is independent of units. The factor of a constraint follows from its compliance J H⁻¹ Jᵀ,
    the smallest over the ``configurations`` (n, nq), with variables ``u`` of a step and parameters ``p``. It is 1 for
    constraints of unknown compliance. The factor of costs follows from their unit; `cost_unit` reads it.

    The size of a constraint's component is its largest change if each coordinate changes by its unit; 0 if unknown.
    """
    (factors, sizes), largest = np.stack([np.ones(program.rows), np.zeros(program.rows)]), 0.0
    weights = np.asarray(inputs.weights, dtype=float)
    costs_of = [k for k, term in enumerate(program.terms) if not term.hard and weights[:, k].any()]
    smallest = dict.fromkeys(program.hard, np.inf)
    with np.errstate(all="ignore"):

        @cache
        def window_of(n: int) -> PathWindow:
            return _uniform_motion_window(program, inputs, list(configurations[n]), u, p)

        together = _uniform_motion_window(program, inputs, list(configurations.T), u, p)
        jacobians = {
            k: _jacobians(program, together, window_of, len(configurations), _term_request(program, inputs, k))
            for k in (*costs_of, *program.hard)
        }
        for k in program.hard:
            changes = np.abs([J[:, : (program.depth + 1) * program.width] for J in jacobians[k]]).sum(axis=-1)
            largest_change = np.max(changes, axis=0, where=np.isfinite(changes), initial=0.0)
            scales = np.asarray(inputs.scales)[program.rows_of[k]]
            sizes[program.rows_of[k]] = np.where(scales > 0.0, largest_change / scales, 0.0)
        for n in range(len(configurations)):
            window = partial(window_of, n)
            costs = [_curvature(program, window, _term_request(program, inputs, k), jacobians[k][n]) for k in costs_of]
            if not all(np.isfinite(H).all() for H in costs):
                continue
            least_cost = sum((_parameter_cost(program, window, inputs, p, k) for k in costs_of), 0.0)
            parts = [(weights[:, k], H) for k, H in zip(costs_of, costs, strict=True)]
            hard = {k: jacobians[k][n][:, : (program.depth + 1) * program.width] for k in program.hard}
            curvature = _largest_curvature(parts)
            largest = max(largest, curvature or least_cost)
            for k, compliance in _compliances(program, weights, parts, hard, curvature, least_cost or 1.0).items():
                if np.isfinite(hard[k]).all() and 0.0 < compliance < smallest[k]:
                    smallest[k] = compliance
    for k, compliance in smallest.items():
        if np.isfinite(compliance):
            factors[program.rows_of[k]] = np.sqrt(INITIAL_STIFFNESS / (penalty * compliance))
    root = 2.0 ** np.round(0.5 * np.log2(largest / _CURVATURE)) if largest else 1.0  # of the unit of costs
    for k, term in enumerate(program.terms):
        factors[program.rows_of[k]] /= root * root if term.kind == "cost" else root
    return np.stack([factors, sizes])


def cost_unit(program: PathProgram, factors: Array) -> float:
    """Return the unit by which costs are divided in a search, from the factors of `scale_factors`; 1 without costs."""
    for term, rows in zip(program.terms, program.rows_of, strict=True):
        if not term.hard and rows.stop > rows.start:
            return float(1.0 / factors[rows.start] ** (1 if term.kind == "cost" else 2))
    return 1.0


def _largest_curvature(costs: list[tuple[Array, Array]]) -> float:
    return max((float(np.abs(np.diag(H)).max(initial=0.0)) for _, H in costs), default=0.0)


def has_curvature(program: PathProgram, inputs: PathInputs, configuration: Array, u: Array, p: Array) -> bool:
    """Return True if a term of all steps, other than a cost, has a second derivative that is not zero.

    Second derivatives are computed for uniform motion to a ``configuration`` (nq), with variables ``u`` of a step and
    parameters ``p``.  Undefined values count as nonzero.
    """
    window = _uniform_motion_window(program, inputs, list(configuration), u, p)
    for k in program.everywhere:
        term = program.terms[k]
        if term.kind != "cost" and term.feature.has_curvature:
            try:
                if second_derivatives(program, window, _term_request(program, inputs, k), [1.0] * term.count):
                    return True
            except (ArithmeticError, ValueError):
                return True
    return False


def _compliances(
    program: PathProgram,
    weights: Array,
    costs: list[tuple[Array, Array]],
    hard: dict[int, Array],
    largest: float,
    otherwise: float,
) -> dict[int, float]:
    """Return the compliance J H⁻¹ Jᵀ of each constraint, a number by its index, with the Hessian H of the costs.

    ``hard`` are the scaled Jacobians J. ``largest`` is the largest curvature of the costs. If it is 0, ``otherwise`` is
    the regularisation.

    A constraint's compliance is the mean over its components. If costs do not determine some components, the
    regularisation dominates this mean; then it is taken over the components that costs determine. If there are none,
    penalties of the equalities are added to the costs, and raised until compliances no longer fall.
    """
    floor = _MIN_COST * largest if largest else otherwise
    steps = {k: np.flatnonzero(weights[:, k]).tolist() for k in hard}
    two = {k: sorted({active[len(active) // 2], active[-1]}) for k, active in steps.items() if active}

    def values(stiffness: _Stiffness, k: int) -> Array:
        return np.array([stiffness.compliance(t, hard[k]) for t in two[k]])

    soft, stiffer = _Stiffness(program, costs, floor), _Stiffness(program, costs, _STIFFER * floor)
    result, free = {}, []
    for k in two:
        rows, less = values(soft, k), values(stiffer, k)
        result[k] = float(rows.mean())
        if result[k] > _FREE * _STIFFER * float(less.mean()):
            borne = rows < _BORNE * less
            result[k] = float(rows[borne].mean()) if borne.any() else result[k]
            free += [] if borne.any() else [k]
    for k in two:
        if len(steps[k]) > 1 and program.terms[k].kind == "equality":
            mean = float(np.mean([soft.step_compliance(t, hard[k]) for t in two[k]]))
            result[k] = min(result[k], _COUPLING * mean)
    equalities = [k for k in two if program.terms[k].kind == "equality" and 0.0 < result[k] < np.inf]
    first = dict(result)
    for _ in range(_ROUNDS if free and equalities and largest else 0):
        penalties = {k: _HELD_STIFFNESS / result[k] for k in equalities}
        parts = [(weights[:, k], rho * hard[k].T @ hard[k]) for k, rho in penalties.items()]
        try:
            stiff, falling = _Stiffness(program, [*costs, *parts], _HELD_FLOOR * floor), False
        except np.linalg.LinAlgError:  # penalties exceed the regularisation by more than rounding allows
            return first
        for k in free:
            rows = values(stiff, k)
            rows /= np.maximum(1.0 - penalties.get(k, 0.0) * rows, _ROUNDING)  # without the row's own penalty
            compliance = float(rows.mean())
            falling = falling or compliance < 0.5 * result[k]
            result[k] = min(result[k], compliance) or result[k]
        if not falling:
            return result
    return first  # redundant equalities have no compliance while the others are satisfied


def _uniform_motion_window(
    program: PathProgram, inputs: PathInputs, q: Sequence[Any], u: Array, p: Array
) -> PathWindow:
    """Return the window (successive steps of a path) of a uniform motion that ends at a configuration q (nq).

    The values of q may be arrays over several configurations.
    """
    m, tree, T = program.depth, program.tree, program.steps
    clock = program.clocks(inputs)[max(program.steps // 2, min(first_step(T, program.started), T - 1))]
    travel = _TRAVEL * np.cos(1.0 + np.arange(tree.nv)) * program.units  # components without rational ratios
    path = [[x if np.ndim(x) else float(x) for x in q]]
    window = program.window(path * (m + 1), [u.tolist()] * (m + 1), p.tolist(), [float(x) for x in clock])
    for back in range(m):
        share = window.step_of(back) / (program.steps * window.step) if window.step else 0.0
        path.append(integrate(tree, path[-1], [float(-share * x) for x in travel]))
    return program.window(path, [u.tolist()] * (m + 1), p.tolist(), [float(x) for x in clock])


def _units(program: PathProgram) -> Array:
    """Return the units of a window's unknowns, step by step, then those of the path's parameters, as one array."""
    return np.array([*(*program.units, *program.variable_units) * (program.depth + 1), *[1.0] * program.many])


def _term_request(program: PathProgram, inputs: PathInputs, k: int) -> TermRequest:
    term, rows = program.terms[k], program.rows_of[k]
    target = np.asarray(inputs.targets[k], dtype=float)
    if term.has_target_per_step:
        target = target[program.steps // 2]
    scales, lower, upper = (
        [float(x) for x in np.asarray(part)[rows]] for part in (inputs.scales, inputs.lower, inputs.upper)
    )
    return TermRequest(term, 1.0, scales, target.tolist(), lower, upper)


def _jacobians(
    program: PathProgram, together: PathWindow, window_of: Callable[[int], PathWindow], count: int, request: TermRequest
) -> list[Array]:
    """Return the scaled Jacobian of a term for each of ``count`` windows.

    ``together`` is one window whose configurations are arrays over all windows. A feature that cannot be computed for
    arrays is computed for one window after the other.
    """
    try:
        return list(_jacobian(program, together, request, (count,)))
    except UnknownNameError:
        raise
    except (ArithmeticError, ValueError, TypeError):
        return [_defined_jacobian(program, window_of(n), request) for n in range(count)]


def _defined_jacobian(program: PathProgram, w: PathWindow, request: TermRequest) -> Array:
    """Return the scaled Jacobian of a term; NaN where the feature is undefined."""
    try:
        return _jacobian(program, w, request)
    except UnknownNameError:
        raise
    except (ArithmeticError, ValueError):
        return np.full((request.term.count, (program.depth + 1) * program.width + program.many), np.nan)


def _jacobian(program: PathProgram, w: PathWindow, request: TermRequest, lead: tuple[int, ...] = ()) -> Array:
    """Return the scaled Jacobian of a term with respect to the unknowns of the steps that it reads, and to parameters.

    The unknowns are in `PathProgram.units`. The Jacobian's shape is (*lead, rows, (depth + 1) width + parameters),
    where ``lead`` is the shape of the window's values.
    """
    J, units = np.zeros((*lead, request.term.count, len(_units(program)))), _units(program)
    jacobian = request.term.feature.exact_jacobian(w, request.target)
    for k, scale in enumerate(request.scales):
        for i, x in columns_of(program, w, jacobian, k).items():
            J[..., k, i] = scale * x * units[i]
    return J


def _curvature(program: PathProgram, window: Callable[[], PathWindow], request: TermRequest, jacobian: Array) -> Array:
    """Return a positive semidefinite approximation of a cost term's Hessian in the unknowns of the steps that it reads.

    ``jacobian`` is the scaled Jacobian of the term.
    """
    J = jacobian[:, : (program.depth + 1) * program.width]
    H = J.T @ J
    if request.term.kind == "cost" and np.isfinite(J).all():
        H, units = np.diag(np.abs(J).sum(axis=0)), _units(program)  # a first-order estimate per unit
        for (i, j), x in second_derivatives(program, window(), request, request.scales).items():
            if i < len(H):
                H[i, j] = H[j, i] = H[i, j] + float(x) * units[i] * units[j]
        if np.isfinite(H).all():
            values, vectors = np.linalg.eigh(H)
            H = (vectors * np.abs(values)) @ vectors.T
    return np.asarray(H)


def _parameter_cost(
    program: PathProgram, window: Callable[[], PathWindow], inputs: PathInputs, p: Array, k: int
) -> float:
    """Return a first-order estimate of term k's cost due to the path's parameters; 0 unless it is a "cost"."""
    if program.terms[k].kind != "cost":
        return 0.0
    J = _defined_jacobian(program, window(), _term_request(program, inputs, k))[
        :, (program.depth + 1) * program.width :
    ]
    return float((np.abs(J) @ np.abs(p)).sum())


class _Stiffness:
    """Hessian H of the costs of all steps, a block-tridiagonal matrix, as Cholesky factors.

    Each block has the unknowns of m successive steps, where m is the depth of windows.
    """

    def __init__(self, program: PathProgram, costs: list[tuple[Array, Array]], floor: float) -> None:
        self._m, self._width, T = max(program.depth, 1), program.width, program.steps
        m, n, deep = self._m, self._width, program.depth + 1
        self._blocks = -(-T // m)
        size, count = m * n, self._blocks
        diagonal, below = (
            np.zeros((count, size, size)),
            np.zeros((count, size, size)),
        )  # below: coupling to the previous block
        for weights, H in costs:
            for t in np.flatnonzero(weights).tolist():
                for a in range(min(deep, t + 1)):
                    for b in range(a, min(deep, t + 1)):
                        part = H[a * n : (a + 1) * n, b * n : (b + 1) * n]
                        (i, x), (j, y) = divmod(t - a, m), divmod(t - b, m)
                        block = (slice(x * n, (x + 1) * n), slice(y * n, (y + 1) * n))
                        if i == j:
                            diagonal[i][block] += part
                            if a != b:
                                diagonal[i][block[::-1]] += part.T
                        else:
                            below[i][block] += part
        diagonal += floor * np.eye(size)  # regularisation of steps without cost
        self._diagonal = np.diagonal(diagonal, axis1=1, axis2=2).reshape(count * m, n)
        self._roots: list[Array] = []
        self._couplings: list[Array] = []
        for D, E in zip(diagonal, below, strict=True):  # the first block has no predecessor
            coupling = np.linalg.solve(self._roots[-1], E.T).T if self._roots else E
            self._roots.append(np.linalg.cholesky(D - coupling @ coupling.T))
            self._couplings.append(coupling)

    def step_compliance(self, t: int, J: Array) -> Array:
        """Return an estimate of the diagonal of J H⁻¹ Jᵀ, in which H is replaced by its diagonal.

        J is a Jacobian in the window of step t, and H the Hessian of the costs.
        """
        n = self._width
        backs = range(min(J.shape[1] // n, t + 1))
        parts = [J[:, back * n : (back + 1) * n] ** 2 / self._diagonal[t - back] for back in backs]
        return np.asarray(sum(part.sum(axis=1) for part in parts))

    def compliance(self, t: int, J: Array) -> Array:
        """Return the diagonal of J H⁻¹ Jᵀ, with the Hessian H of the costs.

        J is the Jacobian of a constraint in the unknowns of step t and of the earlier steps that it reads.
        """
        m, n = self._m, self._width
        right = np.zeros((self._blocks, m * n, len(J)))
        for back in range(min(J.shape[1] // n, t + 1)):
            i, x = divmod(t - back, m)
            right[i, x * n : (x + 1) * n] = J[:, back * n : (back + 1) * n].T
        total = np.zeros(len(J))
        before: Array | None = None
        for b, L, E in zip(right, self._roots, self._couplings, strict=True):
            y = np.linalg.solve(L, b if before is None else b - E @ before)
            total += (y * y).sum(axis=0)
            before = y
        return total

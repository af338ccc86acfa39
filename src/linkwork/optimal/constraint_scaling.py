"""What constraints are multiplied by before anything is searched, so that what they are measured in does not matter.

With costs whose second derivatives are H, a constraint with rows J moves by C λ, C = J H⁻¹Jᵀ, as multipliers λ pull,
and a penalty ρ leaves 1/(1 + ρ C) of a violation.  With the same ρ C for all constraints, problems in other units, and
those whose costs are of another size, are one.  How large C is is found for paths in even motion, the same rows in all
steps.

Source: Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, section 17.3.
"""

from __future__ import annotations

import numpy as np

from linkwork.errors import UnknownNameError
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.optimal.algorithms.path_nlp import OptimalNumbers, PathProgram
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.algorithms.stage_terms import EntryRequest, columns_of, second_derivatives

__all__ = ["even_scales"]

STIFF = 300.0  # ρ C of a first penalty
_LEAST = 1e-7  # of H's largest element: what everything costs at least
_FARTHEST = 10.0  # of how equations of many steps, as of dynamics, give way in their own: what others may add
_SPEED = 0.3  # [rad/s, m/s]

Array = np.ndarray


def even_scales(
    program: PathProgram, numbers: OptimalNumbers, places: Array, u: Array, p: Array, penalty: float
) -> Array:
    """By row (rows,): what to multiply scales by; 1 of costs, and of constraints of which nothing is known.

    As constraints give way least at some configurations ``places`` (n, nq), where a robot may be near to falling over;
    with variables ``u`` of a step and parameters ``p``.
    """
    found = np.ones(program.rows)
    if not program.hard:
        return found
    weights = np.asarray(numbers.weights, dtype=float)
    some = [k for k, entry in enumerate(program.entries) if not entry.hard and weights[:, k].any()]
    least = dict.fromkeys(program.hard, np.inf)
    with np.errstate(all="ignore"):
        for q in places:
            window = _even_window(program, numbers, q, u, p)
            costs = [_curvature(program, window, _asked(program, numbers, k)) for k in some]
            if not all(np.isfinite(H).all() for H in costs):
                continue
            least_cost = sum((_of_parameters(program, window, numbers, p, k) for k in some), 0.0)
            parts = [(weights[:, k], H) for k, H in zip(some, costs, strict=True)]
            stiffness = _Stiffness(program, parts, least_cost or 1.0)
            for k in program.hard:
                steps = np.flatnonzero(weights[:, k])
                two = sorted({int(steps[len(steps) // 2]), int(steps[-1])}) if len(steps) else []
                J = _jacobian(program, window, _asked(program, numbers, k))[:, : (program.depth + 1) * program.width]
                much = float(np.mean([stiffness.yielding(t, J) for t in two])) if two else np.nan
                if len(steps) > 1 and program.entries[k].kind == "equality":
                    much = min(much, _FARTHEST * float(np.mean([stiffness.alone(t, J) for t in two])))
                if np.isfinite(J).all() and 0.0 < much < least[k]:
                    least[k] = much
    for k, much in least.items():
        if np.isfinite(much):
            found[program.rows_of[k]] = np.sqrt(STIFF / (penalty * much))
    return found


def _even_window(program: PathProgram, numbers: OptimalNumbers, q: Array, u: Array, p: Array) -> PathWindow:
    m, tree = program.depth, program.tree
    clock = program.clocks(numbers)[program.steps // 2]
    way = _SPEED * np.cos(1.0 + np.arange(tree.nv))  # none of which is another's multiple
    path = [[float(x) for x in q]]
    window = program.window(path * (m + 1), [u.tolist()] * (m + 1), p.tolist(), [float(x) for x in clock])
    for back in range(m):
        path.append(integrate(tree, path[-1], [float(-window.step_of(back) * x) for x in way]))
    return program.window(path, [u.tolist()] * (m + 1), p.tolist(), [float(x) for x in clock])


def _asked(program: PathProgram, numbers: OptimalNumbers, k: int) -> EntryRequest:
    entry, rows = program.entries[k], program.rows_of[k]
    target = np.asarray(numbers.targets[k], dtype=float)
    if entry.moving:
        target = target[program.steps // 2]
    scales, lower, upper = (
        [float(x) for x in np.asarray(part)[rows]] for part in (numbers.scales, numbers.lower, numbers.upper)
    )
    return EntryRequest(entry, 1.0, scales, target.tolist(), lower, upper)


def _jacobian(program: PathProgram, w: PathWindow, asked: EntryRequest) -> Array:
    """Scaled rows by columns of windows (rows, (depth + 1) width + parameters)."""
    J = np.zeros((asked.entry.count, (program.depth + 1) * program.width + program.many))
    try:
        found = asked.entry.feature.exact_jacobian(w, asked.target)
    except UnknownNameError:
        raise
    except (ArithmeticError, ValueError):  # what is asked for does not exist there
        return np.full(J.shape, np.nan)
    for k, scale in enumerate(asked.scales):
        for i, x in columns_of(program, w, found, k).items():
            J[k, i] = scale * float(x)
    return J


def _curvature(program: PathProgram, w: PathWindow, asked: EntryRequest) -> Array:
    """What an entry adds to H in a window: positive, also where its own second derivatives are not."""
    J = _jacobian(program, w, asked)[:, : (program.depth + 1) * program.width]
    H = J.T @ J
    if asked.entry.kind == "cost" and np.isfinite(J).all():
        H = np.diag(np.abs(J).sum(axis=0))  # of so much in a radian
        for (i, j), x in second_derivatives(program, w, asked, asked.scales).items():
            if i < len(H):
                H[i, j] = H[j, i] = H[i, j] + float(x)
        if np.isfinite(H).all():
            values, vectors = np.linalg.eigh(H)
            H = (vectors * np.abs(values)) @ vectors.T
    return np.asarray(H)


def _of_parameters(program: PathProgram, w: PathWindow, numbers: OptimalNumbers, p: Array, k: int) -> float:
    """What the path's parameters cost, roughly: by so much more as they are, to first order."""
    J = _jacobian(program, w, _asked(program, numbers, k))[:, (program.depth + 1) * program.width :]
    return float((np.abs(J) @ np.abs(p)).sum()) if program.entries[k].kind == "cost" else 0.0


class _Stiffness:
    """H of all steps with the same rows in each, as blocks: m steps are one, next to which there is another."""

    def __init__(self, program: PathProgram, costs: list[tuple[Array, Array]], otherwise: float) -> None:
        self._m, self._width, T = max(program.depth, 1), program.width, program.steps
        m, n, deep = self._m, self._width, program.depth + 1
        self._blocks = -(-T // m)
        size, count = m * n, self._blocks
        own, below = np.zeros((count, size, size)), np.zeros((count, size, size))  # below: by the block before
        largest = 0.0
        for weights, H in costs:
            largest = max(largest, float(np.abs(np.diag(H)).max(initial=0.0)))
            for t in np.flatnonzero(weights).tolist():
                for a in range(min(deep, t + 1)):
                    for b in range(a, min(deep, t + 1)):
                        part = H[a * n : (a + 1) * n, b * n : (b + 1) * n]
                        (i, x), (j, y) = divmod(t - a, m), divmod(t - b, m)
                        there = (slice(x * n, (x + 1) * n), slice(y * n, (y + 1) * n))
                        if i == j:
                            own[i][there] += part
                            if a != b:
                                own[i][there[::-1]] += part.T
                        else:
                            below[i][there] += part
        own += (_LEAST * largest if largest else otherwise) * np.eye(size)  # where steps cost nothing, all alike
        self._diagonal = np.diagonal(own, axis1=1, axis2=2).reshape(count * m, n)
        self._roots: list[Array] = []
        self._ways: list[Array] = []
        for D, E in zip(own, below, strict=True):  # the first has none before it
            way = np.linalg.solve(self._roots[-1], E.T).T if self._roots else E
            self._roots.append(np.linalg.cholesky(D - way @ way.T))
            self._ways.append(way)

    def alone(self, t: int, J: Array) -> Array:
        """The diagonal of J D⁻¹ Jᵀ, with H's diagonal D."""
        n = self._width
        backs = range(min(J.shape[1] // n, t + 1))
        parts = [J[:, back * n : (back + 1) * n] ** 2 / self._diagonal[t - back] for back in backs]
        return np.asarray(sum(part.sum(axis=1) for part in parts))

    def yielding(self, t: int, J: Array) -> Array:
        """The diagonal of J H⁻¹ Jᵀ of rows in the window of a step."""
        m, n = self._m, self._width
        right = np.zeros((self._blocks, m * n, len(J)))
        for back in range(min(J.shape[1] // n, t + 1)):
            i, x = divmod(t - back, m)
            right[i, x * n : (x + 1) * n] = J[:, back * n : (back + 1) * n].T
        total = np.zeros(len(J))
        before: Array | None = None
        for b, L, E in zip(right, self._roots, self._ways, strict=True):
            y = np.linalg.solve(L, b if before is None else b - E @ before)
            total += (y * y).sum(axis=0)
            before = y
        return total

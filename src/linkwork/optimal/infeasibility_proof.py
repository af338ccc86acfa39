"""Proofs of infeasibility: the constraints of a problem cannot hold together near a path (Farkas certificates).

Let r be the scaled violations at a path: positive above an upper bound, negative below a lower bound, zero elsewhere.
Let J be the Jacobian of r.  Every step d that satisfies all constraints, linearised at the path, has

    rᵀ (r + J d) ≤ 0,    hence    max |d| ≥ rᵀ r / Σ |Jᵀ r|,

so r are Farkas multipliers, and each such step is at least as long as this bound, the *reach*.  If the reach is large
relative to the path, and violations no longer decrease, the path is a stationary point of the violations.  For linear
constraints this proves that they cannot hold within the reach.  The Levenberg-Marquardt method minimises ½ rᵀ r from
the end of a search, without costs.  If a path satisfies all constraints, even the initial path of the search, there is
no proof.

Source: Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, sections 10.3 and 12.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.optimal.algorithms.gauss_newton_system import SMALL
from linkwork.optimal.algorithms.path_kkt import PathConditions
from linkwork.optimal.algorithms.path_nlp import PathProgram
from linkwork.optimal.kernels import point_of, shapes_of, state_shapes, sweeps_of

__all__ = ["ConflictProof", "conflict_of", "conflict_proof"]

MIN_REACH, _AMPLE_REACH = 20.0, 1e7  # relative to the range of the path: of a proof, and to end the search early
_MIN_VIOLATION = 10.0  # tolerances: smaller violations are no conflict
_MAX_ITERATIONS = 200
_SETTLED = 10, 0.99  # iterations in which violations decrease to no less than this fraction
_ROUNDING = 1e-14  # of the objective
_MIN_GRADIENT = 1e-3  # relative to the largest gradient of a constraint: smaller ones take no part in a conflict
_AT_BOUND = 1e-9  # relative distance of a parameter from its bound
_kernels: LazyCache[Kernel] = LazyCache(64)

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ConflictProof:
    """Proof by Farkas multipliers that constraints cannot hold together near a path.

    Every step that satisfies all linearised constraints is longer than ``reach``. ``everywhere`` (T, components) and
    ``alone`` (components,) are the multipliers of terms of all steps and of single steps.
    """

    reach: float  # no step shorter than this meets all constraints, linearised
    everywhere: Array  # multipliers, scaled to the maximum 1: of terms of all steps (T, rows)
    alone: Array  # and of terms of single steps (rows,)
    violations: dict[str, float]  # of the constraints that take part, by name, the most violated first
    pressing: tuple[str, ...] = ()  # active limits that are no constraints of the path: motor limits


def conflict_of(
    reach: float, everywhere: Array, alone: Array, violations: dict[str, float], pressing: tuple[str, ...] = ()
) -> ConflictProof | None:
    """Return the proof that constraints conflict; None if all multipliers are zero, or some are not finite.

    ``everywhere`` (T, components) and ``alone`` (components,) are the Farkas multipliers of terms of all steps and of
    single steps; the proof has them scaled to the maximum 1. ``reach`` is the length of step below which no step
    satisfies all linearised constraints. ``violations`` are the violations of the constraints by name.
    """
    largest = float(np.abs(np.concatenate([np.ravel(everywhere), alone])).max(initial=0.0))
    if not (0.0 < largest < np.inf and violations):
        return None
    return ConflictProof(reach, everywhere / largest, alone / largest, violations, pressing)


@dataclass(frozen=True)
class _Rows:
    """Violated components of the constraints on a path, with their residuals and Jacobian."""

    residual: Array  # scaled
    natural: Array  # in the units of features
    scale: Array
    J: Array  # scaled rows by scaled columns
    term: Array  # index of the term, by row
    position: Array  # (step, column) for terms of all steps, (−1, column) for those of single steps

    @property
    def value(self) -> float:
        return 0.5 * float(self.residual @ self.residual)


def conflict_proof(result: Any, index: int) -> ConflictProof | None:
    """Return the proof that a problem is infeasible near the end of its search, or None.

    ``index`` is the flat index of the problem in a batch.
    """
    search = _Search(result, index)
    first = search.first
    if first is not None and search.satisfied(search.rows(first)):
        return None
    return search.proof()


class _Search:
    """Levenberg–Marquardt search that minimises the violations of one problem of a batch."""

    def __init__(self, result: Any, flat_index: int) -> None:
        self.prepared, self.program = result._prepared, result._prepared.program
        lead = result._state["scalars"].shape[:-1]
        index = np.unravel_index(flat_index, lead) if lead else ()

        def own(arrays: Mapping[str, Array], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
            shaped = {name: np.asarray(arrays[name], dtype=float) for name in shapes}
            return {name: np.broadcast_to(x, (*lead, *shapes[name]))[index] for name, x in shaped.items()}

        shapes = {name: x for name, x in state_shapes(self.program).items() if name in ("q", "u", "p")}
        self.point = own(result._state, shapes)
        self.first = own(result._first_state, shapes) if result._first_state is not None else None
        self.inputs = own(
            result._inputs | {"scales": self.prepared.scaled_constants["scales"]}, shapes_of(self.program)
        )
        self.tolerances = dict(zip(self.program.hard, result._tolerances[1:], strict=True))
        program = self.program
        T, m, width = program.steps, program.depth, program.width
        columns = np.arange(T)[:, None, None] - np.arange(m + 1)[:, None]  # step of each column of a window
        steps = (columns * width + np.arange(width)).reshape(T, -1)
        border = np.broadcast_to(T * width + np.arange(program.many), (T, program.many))
        self.columns = np.concatenate([steps, border], axis=1)  # (T, columns of a window), < 0 before the first step

    def proof(self) -> ConflictProof | None:
        """Return the proof that constraints conflict near the path; None if all hold or violations can decrease."""
        point, rows = self.point, self.rows(self.point)
        damping, growth, extent = 1e-3, 2.0, 1.0 + self._range(point)
        values: list[float] = []
        reach, stationary = 0.0, False
        for _ in range(_MAX_ITERATIONS):
            if not np.isfinite(rows.J).all() or self.satisfied(rows, _MIN_VIOLATION):
                return None
            values.append(rows.value)
            gradient = rows.J.T @ rows.residual
            free = self._free(point, gradient)
            J = rows.J[:, free]
            level = damping * float((J * J).sum(axis=1).max(initial=0.0))
            d = np.zeros(len(free))
            if level > 0.0:
                d[free] = -J.T @ np.linalg.solve(J @ J.T + level * np.eye(len(J)), rows.residual)
            promised = -0.5 * float(gradient @ d) + 0.5 * level * float(d @ d)
            reach = 2.0 * rows.value / max(float(np.abs(gradient[free]).sum()), 1e-300)
            stationary = promised <= _ROUNDING * rows.value
            if stationary or (_settled(values) and reach >= _AMPLE_REACH * extent):
                break
            moved = self._moved(point, d)
            new = self.rows(moved)
            gain = (rows.value - new.value) / promised if np.isfinite(new.value) else -1.0
            if gain > 0.0:
                point, rows = moved, new
                extent = max(extent, 1.0 + self._range(point))
                damping, growth = max(damping * max(1.0 / 3.0, 1.0 - (2.0 * gain - 1.0) ** 3), 1e-15), 2.0
            else:
                damping, growth = damping * growth, 2.0 * growth
                if damping > 1e15:
                    break
        return (
            self._certificate(rows, reach) if reach >= MIN_REACH * extent and (stationary or _settled(values)) else None
        )

    def _range(self, point: Mapping[str, Array]) -> float:
        """Return the largest distance of a coordinate from its value in the path's first configuration, in its unit.

        The maximum is taken over the steps of the original path and of ``point``.
        """
        robot, q = self.prepared.problem.robot, point["q"]
        away = robot.difference(self.point["q"][:1], np.concatenate([self.point["q"], q])) / self.program.units
        return float(np.abs(away).max(initial=0.0))

    def satisfied(self, rows: _Rows, times: float = 1.0) -> bool:
        """Return True if each violation is at most ``times`` the tolerance of its constraint."""
        return all(abs(x) <= times * self.tolerances[k] for x, k in zip(rows.natural, rows.term, strict=True))

    def rows(self, point: Mapping[str, Array]) -> _Rows:
        """Return the violated components at a path."""
        program = self.program
        kernel = _kernels.get(program, lambda: _compiled(program))
        outputs = kernel(*point.values(), *self.inputs.values())
        weights, size, T = self.inputs["weights"], self.columns.shape[1], program.steps
        residuals, naturals, some_scales, lines, terms, positions = [], [], [], [], [], []
        column = {True: 0, False: 0}
        unit = self._unit(point)
        forces_of = {"": program.forces_of(program.everywhere), "_alone": program.forces_of(program.alone)}
        for k in program.hard:
            term, rows_of = program.terms[k], program.rows_of[k]
            single = term.at is not None
            steps = [term.at] if single else range(T)
            kind = "_alone" if single else ""
            c, J = (
                np.asarray(getattr(outputs, name + kind)).reshape(len(steps), -1) for name in ("values", "jacobian")
            )
            columns = forces_of[kind][k]
            c, J = c[:, columns], J.reshape(len(steps), -1, size)[:, columns]
            scale = self.inputs["scales"][rows_of]
            beyond = self.prepared.beyond(k, c).copy()
            for i, t in enumerate(steps):
                beyond[i, program.counted(k, t) :] = 0.0
                beyond[i] *= (weights[t, k] != 0.0) & (scale != 0.0)
            for i, row in np.argwhere(beyond != 0.0):
                t = steps[i]
                line = np.zeros(T * program.width + program.many)
                used = self.columns[t] >= 0
                line[self.columns[t][used]] = scale[row] * J[i, row, used]
                residuals.append(scale[row] * beyond[i, row])
                naturals.append(beyond[i, row])
                some_scales.append(scale[row])
                lines.append(line * unit)
                terms.append(k)
                positions.append((-1 if single else t, column[single] + row))
            column[single] += term.count
        lines_of = np.array(lines).reshape(len(lines), T * program.width + program.many)
        arrays = [np.array(x) for x in (residuals, naturals, some_scales)]
        return _Rows(arrays[0], arrays[1], arrays[2], lines_of, np.array(terms), np.array(positions))

    def _unit(self, point: Mapping[str, Array]) -> Array:
        """Return the unit of each unknown; variables and parameters have units of about their magnitude."""
        program = self.program
        unit = np.broadcast_to([*program.units, *program.variable_units], (program.steps, program.width)).copy()
        if "u" in point:
            unit[:, program.tree.nv :] = np.abs(point["u"]) + SMALL * unit[:, program.tree.nv :]
        p = np.abs(point["p"]) + SMALL if "p" in point else np.zeros(0)
        return np.concatenate([unit.ravel(), p])

    def _free(self, point: Mapping[str, Array], gradient: Array) -> Array:
        """Return a mask of the free unknowns: all except parameters at a bound that blocks a decrease."""
        free = np.ones(len(gradient), dtype=bool)
        if "p" in point:
            p, last = point["p"], gradient[len(gradient) - self.program.many :]
            near = _AT_BOUND * (np.abs(p) + SMALL)
            low, high = p - self.inputs["floor"] <= near, self.inputs["ceiling"] - p <= near
            free[len(gradient) - self.program.many :] = ~((low & (last > 0.0)) | (high & (last < 0.0)))
        return free

    def _moved(self, point: Mapping[str, Array], d: Array) -> dict[str, Array]:
        program, step = self.program, d * self._unit(point)
        T, nv = program.steps, program.tree.nv
        path = step[: T * program.width].reshape(T, program.width)
        moved = {"q": self.prepared.problem.robot.integrate(point["q"], path[:, :nv])}
        if "u" in point:
            moved["u"] = point["u"] + path[:, nv:]
        if "p" in point:
            p = point["p"] + step[T * program.width :]
            moved["p"] = np.clip(p, self.inputs["floor"], self.inputs["ceiling"])
        return moved

    def _certificate(self, rows: _Rows, reach: float) -> ConflictProof | None:
        program = self.program
        everywhere = np.zeros((program.steps, program.force_count(program.everywhere)))
        alone = np.zeros(program.force_count(program.alone))
        for x, (t, column) in zip(rows.residual * rows.scale, rows.position, strict=True):
            if t < 0:
                alone[column] = x
            else:
                everywhere[t, column] = x
        gradients, worst = {}, {}
        for k in program.hard:
            of_term = rows.term == k
            gradients[k] = float(np.linalg.norm(rows.J[of_term].T @ rows.residual[of_term]))
            worst[k] = float(np.abs(rows.natural[of_term]).max(initial=0.0))
        strongest = max(gradients.values())  # constraints without a gradient count by their violation
        involved = [
            k for k in program.hard if worst[k] > self.tolerances[k] or gradients[k] > _MIN_GRADIENT * strongest
        ]
        involved.sort(key=lambda k: -worst[k])
        return conflict_of(reach, everywhere, alone, {program.terms[k].name: worst[k] for k in involved})


def _settled(values: list[float]) -> bool:
    count, share = _SETTLED
    return len(values) > count and values[-1] >= share * values[-1 - count]


def _compiled(program: PathProgram) -> Kernel:
    def rows(**inputs: Any) -> Any:
        return PathConditions(sweeps_of(program, inputs)).rows(point_of(program, inputs))

    state = {name: shape for name, shape in state_shapes(program).items() if name in ("q", "u", "p")}
    return compile(rows, name="optimal_rows", **state, **shapes_of(program))

"""The steps of a path as inputs of scans: the values, the window and the terms of each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.scalar.functions import fmax
from linkwork.optimal.algorithms.path_nlp import PathInputs, PathPoint, PathProgram
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.algorithms.stage_terms import TermRequest

__all__ = ["Duals", "PathSteps"]


class Duals(NamedTuple):
    """Multipliers and penalties of the constraints in an augmented Lagrangian.

    ``everywhere`` (T, components) belongs to constraints of all steps, and ``alone`` (components,) to those of single
    steps. ``penalties`` has an entry for each constraint.
    """

    everywhere: Any  # (T, rows) of constraints of all steps
    alone: Any  # (rows,) of constraints of single steps
    penalties: Any  # (constraints,)


@dataclass(frozen=True)
class PathSteps:
    """Trajectory problem with the numerical inputs of one call: the terms of each step and their arguments.

    A term is evaluated in a window: a step with the earlier steps that features read.
    """

    program: PathProgram
    inputs: PathInputs

    @cached_property
    def hard_scales(self) -> list[Any]:
        """For each constraint, the largest of the scales of its components."""
        scales = self.inputs.scales
        return [reduce(fmax, list(scales[self.program.rows_of[k]]), 0.0) for k in self.program.hard]

    @cached_property
    def _clocks(self) -> list[list[Any]]:
        return self.program.clocks(self.inputs)

    def _backed(self, rows: Any) -> list[Any]:
        """Return a list of depth + 1 arrays (T, ...); array k has, for each step t, the entry of step t − k.

        ``rows`` (T + depth, ...) begin with the entries before the first step.
        """
        T, m = self.program.steps, self.program.depth
        return [rows[m - back : m - back + T] for back in range(m + 1)]

    def _extended(self, point: PathPoint) -> tuple[list[Any], list[Any]]:
        """Return the configurations and the variables of each step and of the earlier steps that features read.

        Each is a list of arrays (T, ...); array k has, for each step t, the entry of step t − k.
        """
        program = self.program
        m, q = program.depth, point.q
        if m and not program.started:
            q = np.concatenate([*[point.q[:1]] * m, point.q])
        elif m:
            step: Any = self.inputs.step if program.uniform else self.inputs.step[0]
            for k, rate in enumerate(self._first_rates):
                step = step + rate * point.p[k]
            past = program.past(list(self.inputs.start), list(self.inputs.rate), step)
            q = np.concatenate([array(past), point.q])
        u = np.concatenate([np.zeros((m, program.extra)), point.u]) if program.extra else None
        return self._backed(q), self._backed(u) if u is not None else []

    @property
    def _first_rates(self) -> list[Any]:
        """Derivatives of the first time step τ with respect to the free durations.

        Time steps before the path's start have the same derivatives.
        """
        rates = self.inputs.step_rates
        return list(rates if self.program.uniform else rates[0])

    @cached_property
    def _retreat(self) -> list[list[Any]]:
        return [[rate * x for x in list(self.inputs.rate)] for rate in self._first_rates]

    def _later(self, k: int, t: int) -> float:
        return float(self.program.counted(k, t) == self.program.terms[k].count)

    def _ages(self, t: int) -> list[float]:
        """Return, for each configuration of step t's window, how many time steps it lies before the path's start.

        The number is 0 for configurations of the path, which are unknowns of the problem.
        """
        return [back - t - 1.5 if back > t else 0.0 for back in range(self.program.depth + 1)]

    def _term_request(
        self, k: int, weight: Any, target: Sequence[Any], forces: Any, duals: Duals | None, later: Any = 1.0
    ) -> TermRequest:
        term, rows = self.program.terms[k], self.program.rows_of[k]
        penalty: Any = 1.0
        if term.hard and duals is not None:
            penalty = duals.penalties[self.program.hard.index(k)]
        scales, lower, upper = (list(x[rows]) for x in (self.inputs.scales, self.inputs.lower, self.inputs.upper))
        multipliers = list(forces) if term.hard and duals is not None else [0.0] * term.count
        return TermRequest(term, weight, scales, target, lower, upper, multipliers, penalty, later)

    def rows(self, point: PathPoint, duals: Duals | None) -> Any:
        """Return the data that a loop over the steps of the path reads: a dict of arrays with an entry for each step.

        The data are configurations, variables, times, weights and targets of each step, as far as the problem has
        them.  With ``duals``, the data include multipliers.
        """
        program = self.program
        q, u = self._extended(point)
        moving = [self.inputs.targets[k] for k in program.everywhere if program.terms[k].has_target_per_step]
        inputs: dict[str, Any] = {"q": tuple(q)}
        if u:
            inputs["u"] = tuple(u)
        if not program.uniform:
            inputs["clock"] = np.array(self._clocks, dtype=object)
        else:
            inputs["clock"] = np.array([self._varying(row) for row in self._clocks], dtype=object)
        if program.everywhere:
            inputs["weights"] = np.array(
                [[row[k] for k in program.everywhere] for row in self.inputs.weights], dtype=object
            )
        if partial := [k for k in program.everywhere if k in program.partial_at_start]:
            inputs["later"] = np.array([[self._later(k, t) for k in partial] for t in range(program.steps)])
        if moving:
            inputs["moving"] = tuple(moving)
        if program.moves_at_start and program.depth:
            inputs["ages"] = np.array([self._ages(t) for t in range(program.steps)])
        if duals is not None and program.force_count(program.everywhere):
            inputs["forces"] = duals.everywhere
        return inputs

    def _clock(self, inputs: Mapping[str, Any]) -> list[Any]:
        if not self.program.uniform:
            return list(inputs["clock"])
        many, free = 2 * self.program.depth + 1, self.program.durations
        varying = list(inputs["clock"])
        rates = [x for _ in range(many) for x in self.inputs.step_rates]
        return [
            varying[0],
            *[self.inputs.step] * many,
            varying[1],
            *varying[2 : 2 + free],
            *rates,
            *varying[2 + free :],
        ]

    def _varying(self, clock: list[Any]) -> list[Any]:
        """Return those times of a step that vary even if all time steps are equal, with their derivatives.

        They are the time from q_{t−1} to q_t and the time of q_t; ``clock`` is the step's entry of
        `PathProgram.clocks`.
        """
        many, free = 2 * self.program.depth + 3, self.program.durations
        rates = clock[many : many + free] + clock[len(clock) - free :]
        return [clock[0], clock[many - 1], *rates]

    def window(self, inputs: Mapping[str, Any], p: Sequence[Any]) -> PathWindow:
        program = self.program
        u = [list(x) for x in inputs["u"]] if "u" in inputs else [[]] * (program.depth + 1)
        w = program.window([list(x) for x in inputs["q"]], u, list(p), self._clock(inputs))
        if "ages" in inputs:
            w.ages, w.retreat = [0.0, *list(inputs["ages"])[1:]], self._retreat
        return w

    def each(self, inputs: Mapping[str, Any], duals: Duals | None) -> list[TermRequest]:
        """Return the terms that apply to every step, each with the data to evaluate it at one step.

        ``inputs`` are the step's entries of the arrays that `rows` returns. Weights, multipliers, and targets that
        differ by step are read from ``inputs``. ``duals`` has the penalties of hard constraints; without ``duals``
        multipliers are 0 and penalties 1.
        """
        program = self.program
        moving, later = iter(inputs.get("moving", ())), iter(inputs.get("later", ()))
        columns = program.forces_of(program.everywhere)
        forces = list(inputs["forces"]) if "forces" in inputs else []
        requests = []
        for n, k in enumerate(program.everywhere):
            target = next(moving) if program.terms[k].has_target_per_step else self.inputs.targets[k]
            multipliers = forces[columns[k]] if k in columns else []
            share = next(later) if k in program.partial_at_start else 1.0
            requests.append(self._term_request(k, inputs["weights"][n], list(target), multipliers, duals, share))
        return requests

    def alone(self, point: PathPoint, duals: Duals | None) -> list[tuple[int, PathWindow, TermRequest]]:
        """Return, for each term of a single step, the step's index, the window of its evaluation, and the term.

        The window is the step with the earlier steps that the term reads.
        """
        program = self.program
        q, u = self._extended(point)
        columns = program.forces_of(program.alone)
        requests = []
        for k in program.alone:
            t = program.terms[k].at
            assert t is not None
            own_u = [list(x[t]) for x in u] or [[]] * (program.depth + 1)
            w = program.window([list(x[t]) for x in q], own_u, list(point.p), self._clocks[t])
            if program.moves_at_start:
                w.ages, w.retreat = self._ages(t), self._retreat
            forces = list(duals.alone[columns[k]]) if k in columns and duals is not None else []
            target = self.inputs.targets[k]
            target = list(target[t] if program.terms[k].has_target_per_step else target)
            requests.append((t, w, self._term_request(k, 1.0, target, forces, duals, self._later(k, t))))
        return requests

"""A trajectory problem as a solver reads it: the program that kernels are made of, and the numbers of a call.

The unknowns are, of each of T steps, a configuration and variables (the columns of a step: a tangent vector, then the
variables), and parameters of the whole path, of which the first are free durations.  Steps before the first, the
*past*, are given, oldest first: where a path has a start, these are where the robot was, else they are not looked at.

Terms are features with what is asked of them.  Where one counts is a number of each call, a *weight* by step that is
0 where it does not; a term with a step of its own is evaluated there alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from linkwork.model.kernel_parameters import Parameter
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.features.contact_features import ConstraintForce, PathContact
from linkwork.optimal.features.feature import Feature

__all__ = ["KINDS", "OptimalNumbers", "PathPoint", "PathProgram", "PathTerm"]

WIDE = 40  # columns of a window
KINDS = ("cost", "least_squares", "equality", "inequality")


@dataclass(frozen=True)
class PathTerm:
    """A feature, and the kind of its values c with scales s.

    "cost": Σ s c is minimised; "least_squares": ½ Σ (s c)²; "equality": c = 0; "inequality": c ≤ 0.  A ``bounded`` one
    has bounds by row instead: constraints stay within them, and squares are of what is beyond.
    """

    feature: Feature
    kind: str
    name: str
    at: int | None = None  # the one step at which it is looked at; else all are
    bounded: bool = False
    has_target_per_step: bool = False  # whether its target differs from step to step

    @cached_property
    def count(self) -> int:
        """Number of rows."""
        return len(self.feature.component_names)

    @property
    def hard(self) -> bool:
        """Whether it is a constraint."""
        return self.kind in ("equality", "inequality")


class OptimalNumbers(NamedTuple):
    """The numbers of a call: T steps, E terms with R rows in all, of which Rₜ are evaluated in all steps."""

    past: Any  # (depth, nq): configurations before the first step, oldest first
    step: Any  # τ: a number, or (T,) where steps differ; less what free durations make of it
    step_rates: Any  # (durations,) or (T, durations): what these make of τ
    weights: Any  # (T, E): where terms count
    scales: Any  # (R,)
    targets: Sequence[Any]  # by term: numbers, or (T, numbers) of a moving one; nothing of what aims at nothing
    lower: Any  # (R,): of bounded terms
    upper: Any
    floor: Any  # (parameters,): bounds
    ceiling: Any
    rate: Any = ()  # (nv,): the velocity before the first step, of a path that is moves_at_start


class PathPoint(NamedTuple):
    """The unknowns: a path, its variables by step and its parameters."""

    q: Any  # (T, nq)
    u: Any  # (T, variables)
    p: Any  # (parameters,)


@dataclass(frozen=True)
class PathProgram:
    """What a kernel is made of: all of a problem but numbers."""

    tree: Tree
    steps: int
    terms: tuple[PathTerm, ...]
    started: bool = True  # whether there is a past
    variables: tuple[tuple[str, int], ...] = ()  # by step: names and how many numbers
    parameters: tuple[tuple[str, int], ...] = ()  # of the whole path; durations first
    durations: int = 0  # how many parameters are durations
    uniform: bool = True  # whether all steps take equally long
    contacts: tuple[PathContact | ConstraintForce, ...] = ()  # what acts on the robot, by variables of steps
    moves_at_start: bool = False  # whether it starts with a velocity, and free durations say where it was before
    robot_parameters: tuple[Parameter, ...] = ()  # of the robot, that come with each call in the place of its own

    def on(self, tree: Tree) -> PathProgram:
        """Return the program of a robot with other numbers."""
        return replace(self, tree=tree)

    @cached_property
    def depth(self) -> int:
        """How many earlier steps any feature looks at: the bandwidth."""
        return max((term.feature.depth for term in self.terms), default=0)

    @cached_property
    def extra(self) -> int:
        """Number of variables of a step."""
        return sum(size for _, size in self.variables)

    @property
    def width(self) -> int:
        """Number of columns of a step."""
        return self.tree.nv + self.extra

    @property
    def wide(self) -> bool:
        """Whether a window has so many unknowns that its equations are solved in loops."""
        return (self.depth + 1) * self.width >= WIDE

    @cached_property
    def many(self) -> int:
        """Number of parameters."""
        return sum(size for _, size in self.parameters)

    @cached_property
    def everywhere(self) -> tuple[int, ...]:
        """Terms that are evaluated in every step, by number."""
        return tuple(k for k, term in enumerate(self.terms) if term.at is None)

    @cached_property
    def alone(self) -> tuple[int, ...]:
        """Terms that are evaluated in one step, by number."""
        return tuple(k for k, term in enumerate(self.terms) if term.at is not None)

    @cached_property
    def rows_of(self) -> tuple[slice, ...]:
        """By term: its slice of all rows."""
        slices, start = [], 0
        for term in self.terms:
            slices.append(slice(start, start + term.count))
            start += term.count
        return tuple(slices)

    @property
    def rows(self) -> int:
        """Number of rows of all terms."""
        return self.rows_of[-1].stop if self.terms else 0

    @cached_property
    def hard(self) -> tuple[int, ...]:
        """Terms that are constraints, by number."""
        return tuple(k for k, term in enumerate(self.terms) if term.hard)

    @property
    def hard_names(self) -> tuple[str, ...]:
        """Names of constraints."""
        return tuple(self.terms[k].name for k in self.hard)

    @cached_property
    def parted(self) -> tuple[int, ...]:
        """Terms of which some rows alone count in steps before which there is no other: see `counted`."""
        if self.started:
            return ()
        return tuple(k for k, term in enumerate(self.terms) if 0 < term.feature.rows_without_past < term.count)

    def counted(self, k: int, t: int) -> int:
        """Return how many of a term's first rows count in a step."""
        term = self.terms[k]
        return term.feature.rows_without_past if k in self.parted and t < term.feature.depth else term.count

    def forces_of(self, terms: Sequence[int]) -> dict[int, slice]:
        """Return by constraint among some terms the slice of its multipliers."""
        slices, start = {}, 0
        for k in terms:
            if self.terms[k].hard:
                slices[k] = slice(start, start + self.terms[k].count)
                start += self.terms[k].count
        return slices

    def force_count(self, terms: Sequence[int]) -> int:
        """Return the number of multipliers of some terms, in a step."""
        return sum(self.terms[k].count for k in terms if self.terms[k].hard)

    def window(
        self, q: Sequence[Sequence[Any]], u: Sequence[Sequence[Any]], p: Sequence[Any], clock: Sequence[Any]
    ) -> PathWindow:
        """Return the window of a step: configurations and variables, newest first; ``clock`` is one of `clocks`."""
        variables = []
        for numbers in u:
            result, start = {}, 0
            for name, size in self.variables:
                result[name] = numbers[start : start + size]
                start += size
            variables.append(result)
        parameters, start = {}, 0
        for name, size in self.parameters:
            parameters[name] = p[start : start + size]
            start += size
        many, free = len(q), self.durations
        rates = [dict(enumerate(clock[many + 1 + k * free : many + 1 + (k + 1) * free])) for k in range(many + 1)]
        steps = [
            _moved(base, rate, p) for base, rate in zip(clock[: many + 1], rates, strict=True)
        ]  # of the last the time
        return PathWindow(self.tree, q, steps[:-1], steps[-1], variables, parameters, rates, self.contacts)

    def clocks(self, numbers: OptimalNumbers) -> list[list[Any]]:
        """By step t: τ of it and of the steps before it, then the time, less what free durations make of them; then
        what these make of each of them.
        """
        T, m, free = self.steps, self.depth, self.durations
        first = 1 if self.started else 0
        clocks = []
        total: Any = 0.0
        sums: list[Any] = [0.0] * free
        for t in range(T):
            if self.uniform:
                base, rates = numbers.step, list(numbers.step_rates)
                own = [base] * (m + 1)
                turning = [rates] * (m + 1)
                time, spent = (t + first) * base, [(t + first) * x for x in rates]
            else:
                own = [numbers.step[max(t - back, 0)] for back in range(m + 1)]
                turning = [list(numbers.step_rates[max(t - back, 0)]) for back in range(m + 1)]
                if t or first:
                    total = total + own[0]
                    sums = [x + y for x, y in zip(sums, turning[0], strict=True)]
                time, spent = total, sums
            clocks.append([*own, time, *(x for row in turning for x in row), *spent])
        return clocks


def _moved(base: Any, rates: dict[int, Any], p: Sequence[Any]) -> Any:
    for k, rate in rates.items():
        base = base + rate * p[k]
    return base

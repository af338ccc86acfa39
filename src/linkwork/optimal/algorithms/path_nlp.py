"""A problem of optimal motion as a solver sees it: what its code is made of, and what comes with each call.

The unknowns are, of each of T steps, a configuration and variables (the columns of a step: a tangent vector, then the
variables), and parameters of the whole path, of which the first are free durations.  Steps before the first, the
*past*, are given, oldest first: where a path has a start, these are where the robot was, else they are not looked at.

Entries are features with what is asked of them.  Where one counts is a number of each call, a *weight* by step that is
0 where it does not; an entry with a step of its own is evaluated there alone.
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

__all__ = ["KINDS", "OptimalNumbers", "PathEntry", "PathPoint", "PathProgram"]

WIDE = 40  # columns of a window
KINDS = ("cost", "squares", "equality", "inequality")


@dataclass(frozen=True)
class PathEntry:
    """A feature, and what is asked of its values c, times a scale s.

    "cost": Σ s c is minimised; "squares": ½ Σ (s c)²; "equality": c = 0; "inequality": c ≤ 0.  A ``bounded`` one has
    bounds by row instead: within them for constraints, and squares are of what is beyond.
    """

    feature: Feature
    kind: str
    name: str
    at: int | None = None  # the one step at which it is looked at; else all are
    bounded: bool = False
    moving: bool = False  # whether its target differs from step to step

    @property
    def count(self) -> int:
        """How many rows it has."""
        return len(self.feature.component_names)

    @property
    def hard(self) -> bool:
        """Whether it is a constraint."""
        return self.kind in ("equality", "inequality")


class OptimalNumbers(NamedTuple):
    """What comes with each call: T steps, E entries with R rows in all, of which Rₜ are looked at in all steps."""

    past: Any  # (depth, nq): configurations before the first step, oldest first
    step: Any  # τ: a number, or (T,) where steps differ; less what free durations make of it
    step_rates: Any  # (durations,) or (T, durations): what these make of τ
    weights: Any  # (T, E): where entries count
    scales: Any  # (R,)
    targets: Sequence[Any]  # by entry: numbers, or (T, numbers) of a moving one; nothing of what aims at nothing
    lower: Any  # (R,): of bounded entries
    upper: Any
    floor: Any  # (parameters,): bounds
    ceiling: Any
    rate: Any = ()  # (nv,): the velocity before the first step, of a path that is launched


class PathPoint(NamedTuple):
    """Where a search stands: a path, its variables by step and its parameters."""

    q: Any  # (T, nq)
    u: Any  # (T, variables)
    p: Any  # (parameters,)


@dataclass(frozen=True)
class PathProgram:
    """What a kernel is made of: everything but numbers."""

    tree: Tree
    steps: int
    entries: tuple[PathEntry, ...]
    started: bool = True  # whether there is a past
    variables: tuple[tuple[str, int], ...] = ()  # by step: names and how many numbers
    parameters: tuple[tuple[str, int], ...] = ()  # of the whole path; durations first
    durations: int = 0  # how many parameters are durations
    uniform: bool = True  # whether all steps take equally long
    contacts: tuple[PathContact | ConstraintForce, ...] = ()  # what acts on the robot, by variables of steps
    launched: bool = False  # whether it starts with a velocity, and free durations say where it was before
    robot_numbers: tuple[Parameter, ...] = ()  # of the robot, that come with each call in the place of its own

    def on(self, tree: Tree) -> PathProgram:
        """The same of a robot with other numbers."""
        return replace(self, tree=tree)

    @cached_property
    def depth(self) -> int:
        """How many earlier steps any feature looks at: the bandwidth."""
        return max((entry.feature.depth for entry in self.entries), default=0)

    @cached_property
    def extra(self) -> int:
        """Variables of a step."""
        return sum(size for _, size in self.variables)

    @property
    def width(self) -> int:
        """Columns of a step."""
        return self.tree.nv + self.extra

    @property
    def wide(self) -> bool:
        """Whether a window has so many unknowns that its equations are worked on in loops."""
        return (self.depth + 1) * self.width >= WIDE

    @cached_property
    def many(self) -> int:
        """Parameters."""
        return sum(size for _, size in self.parameters)

    @cached_property
    def everywhere(self) -> tuple[int, ...]:
        """Entries that are looked at in every step."""
        return tuple(k for k, entry in enumerate(self.entries) if entry.at is None)

    @cached_property
    def alone(self) -> tuple[int, ...]:
        """Entries with a step of their own."""
        return tuple(k for k, entry in enumerate(self.entries) if entry.at is not None)

    @cached_property
    def rows_of(self) -> tuple[slice, ...]:
        """By entry: its places among all rows."""
        found, start = [], 0
        for entry in self.entries:
            found.append(slice(start, start + entry.count))
            start += entry.count
        return tuple(found)

    @property
    def rows(self) -> int:
        """Rows of all entries."""
        return self.rows_of[-1].stop if self.entries else 0

    @cached_property
    def hard(self) -> tuple[int, ...]:
        """Entries that are constraints."""
        return tuple(k for k, entry in enumerate(self.entries) if entry.hard)

    @property
    def hard_names(self) -> tuple[str, ...]:
        """Of those."""
        return tuple(self.entries[k].name for k in self.hard)

    @cached_property
    def parted(self) -> tuple[int, ...]:
        """Entries of which some rows alone count in steps before which there is no other: see `counted`."""
        if self.started:
            return ()
        return tuple(k for k, entry in enumerate(self.entries) if 0 < entry.feature.early < entry.count)

    def counted(self, k: int, t: int) -> int:
        """How many of an entry's first rows count in a step where it does."""
        entry = self.entries[k]
        return entry.feature.early if k in self.parted and t < entry.feature.depth else entry.count

    def forces_of(self, entries: Sequence[int]) -> dict[int, slice]:
        """By constraint among some entries: where its multipliers stand, one after the other."""
        found, start = {}, 0
        for k in entries:
            if self.entries[k].hard:
                found[k] = slice(start, start + self.entries[k].count)
                start += self.entries[k].count
        return found

    def force_count(self, entries: Sequence[int]) -> int:
        """How many multipliers some entries have, in a step."""
        return sum(self.entries[k].count for k in entries if self.entries[k].hard)

    def window(
        self, q: Sequence[Sequence[Any]], u: Sequence[Sequence[Any]], p: Sequence[Any], clock: Sequence[Any]
    ) -> PathWindow:
        """The window of a step: configurations and variables, newest first; ``clock`` is as of `clocks`."""
        variables = []
        for numbers in u:
            found, start = {}, 0
            for name, size in self.variables:
                found[name] = numbers[start : start + size]
                start += size
            variables.append(found)
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
        what these make of each of them."""
        T, m, free = self.steps, self.depth, self.durations
        first = 1 if self.started else 0
        found = []
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
            found.append([*own, time, *(x for row in turning for x in row), *spent])
        return found


def _moved(base: Any, rates: dict[int, Any], p: Sequence[Any]) -> Any:
    for k, rate in rates.items():
        base = base + rate * p[k]
    return base

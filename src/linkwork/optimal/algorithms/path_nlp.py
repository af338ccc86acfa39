"""The nonlinear program of a trajectory problem: its structure for kernels, and the inputs of a call.

The unknowns are a configuration and variables at each of T steps, and parameters of the whole path; free durations are
the first parameters.  The columns of a step are a tangent vector, then the variables.

*The curve.*  The motion has a constant acceleration a_t in each step t, from T_t to T_{t+1} = T_t + τ_t: a quadratic
B-spline, whose breaks are the ends of steps, and whose control points are

    the start at time 0,   q_{−1} = start ⊕ ½ τ_0 v_start at ½ τ_0,   q_t at T_{t+1} + ½ τ_{t+1},   q_{T−1} at the end.

So q_{t−1} belongs to the middle of step t.  The gaps between control points are g_t = ½ (τ_t + τ_{t+1}), and ½ τ_t for
the last step.  With these gaps,

    v_t = (q_t ⊖ q_{t−1})/g_t   is the velocity at the end of step t,      a_t = (v_t − v_{t−1})/τ_t,

and start, initial velocity, end and final velocity of the curve are exact.  Velocities are linear in time within a
step, so limits of v_t and a_t hold everywhere.  Positions of joints with vectors as coordinates are in the convex hull
of control points.  A path without a start begins with its first control point q_0, and steps 0 and 1 have no duration.

Source: de Boor, A Practical Guide to Splines, revised edition, Springer 2001, chapters IX to XI.

Terms are features with a kind, scales and bounds.  A term has a *weight* for each step, an input of each call, which is
0 where the term does not apply.  A term of a single step is evaluated only at this step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.model.kernel_parameters import Parameter
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.features.contact_features import ConstraintForce, PathContact, robot_weight
from linkwork.optimal.features.feature import Feature

__all__ = [
    "KINDS",
    "PathInputs",
    "PathPoint",
    "PathProgram",
    "PathTerm",
    "control_times",
    "coordinate_units",
    "first_step",
    "force_units",
    "gap_shares",
    "length_unit",
]

WIDE = 40  # columns of a window from which equations are solved in loops
KINDS = ("cost", "least_squares", "equality", "inequality")


@dataclass(frozen=True)
class PathTerm:
    """A feature of a path that is minimised or constrained.

    With the feature's values c and scales s, the ``kind`` means:

    - "cost": Σ s c is minimised;
    - "least_squares": ½ Σ (s c)² is minimised;
    - "equality": c = 0;
    - "inequality": c ≤ 0.

    A ``bounded`` term has a lower and an upper bound for each component: a constraint keeps c within the bounds, and
    least squares minimise the excess over the bounds.
    """

    feature: Feature
    kind: str
    name: str
    at: int | None = None  # index of its single step; None for all steps
    bounded: bool = False
    has_target_per_step: bool = False  # True for a target with a value for each step

    @cached_property
    def count(self) -> int:
        """Number of components of the feature's values."""
        return len(self.feature.component_names)

    @property
    def hard(self) -> bool:
        """True for a constraint."""
        return self.kind in ("equality", "inequality")


class PathInputs(NamedTuple):
    """Numerical inputs of one call of a kernel, for T steps and E terms with R components in total."""

    start: Any  # (nq,): of a program that is `started`
    rate: Any  # (nv,): initial velocity
    step: Any  # τ without free durations: a number, or (T,) for unequal steps
    step_rates: Any  # (durations,) or (T, durations): derivatives of τ by free durations
    weights: Any  # (T, E): 0 where a term does not apply
    scales: Any  # (R,)
    targets: Sequence[Any]  # by term: (size,), or (T, size) for a target per step; empty without a target
    lower: Any  # (R,): of bounded terms
    upper: Any
    floor: Any  # (parameters,): bounds
    ceiling: Any


class PathPoint(NamedTuple):
    """Values of the unknowns: configurations, variables of each step, and parameters of the whole path."""

    q: Any  # (T, nq)
    u: Any  # (T, variables)
    p: Any  # (parameters,)


@dataclass(frozen=True)
class PathProgram:
    """Structure of a trajectory problem: the data that determine the code of its kernels, without numerical inputs."""

    tree: Tree
    steps: int
    terms: tuple[PathTerm, ...]
    started: bool = True  # with a start
    variables: tuple[tuple[str, int], ...] = ()  # of each step: names and sizes
    parameters: tuple[tuple[str, int], ...] = ()  # of the whole path; durations first
    durations: int = 0  # number of parameters that are free durations
    uniform: bool = True  # equal time steps
    contacts: tuple[PathContact | ConstraintForce, ...] = ()  # contacts whose forces are variables of steps
    moves_at_start: bool = False  # initial velocity and free durations, on which configurations before q_0 depend
    robot_parameters: tuple[Parameter, ...] = ()  # inputs of each call that replace the robot's values
    second_order: bool = False  # equations have second derivatives of the terms of all steps

    def on(self, tree: Tree) -> PathProgram:
        """Return the same program, in the same units, for ``tree``: the same robot with other parameter values."""
        program = replace(self, tree=tree)
        vars(program).update(units=self.units, variable_units=self.variable_units)
        return program

    @cached_property
    def depth(self) -> int:
        """Largest number of earlier steps on which a feature depends; it determines the bandwidth of the equations."""
        return max((term.feature.depth for term in self.terms), default=0)

    @cached_property
    def extra(self) -> int:
        """Number of variables of a step."""
        return sum(size for _, size in self.variables)

    @property
    def width(self) -> int:
        """Number of unknowns of a step: nv for its tangent vector, then its variables."""
        return self.tree.nv + self.extra

    @cached_property
    def units(self) -> tuple[float, ...]:
        """Units in which a search measures changes of a step's coordinates."""
        return coordinate_units(self.tree)

    @cached_property
    def variable_units(self) -> tuple[float, ...]:
        """Units of a step's variables: the robot's weight for forces, 1 for variables of unknown unit."""
        forces = {contact.name: force_units(self.tree, contact.units) for contact in self.contacts}
        return tuple(x for name, size in self.variables for x in forces.get(name, [1.0] * size))

    @property
    def wide(self) -> bool:
        """True if a step and the earlier steps that features read have so many unknowns that loops are used."""
        return (self.depth + 1) * self.width >= WIDE

    @cached_property
    def many(self) -> int:
        """Number of scalar parameters of the whole path."""
        return sum(size for _, size in self.parameters)

    @cached_property
    def everywhere(self) -> tuple[int, ...]:
        """Indices of the terms that are evaluated in every step."""
        return tuple(k for k, term in enumerate(self.terms) if term.at is None)

    @cached_property
    def alone(self) -> tuple[int, ...]:
        """Indices of the terms that are evaluated in a single step."""
        return tuple(k for k, term in enumerate(self.terms) if term.at is not None)

    @cached_property
    def rows_of(self) -> tuple[slice, ...]:
        """Slice of each term's components in the vector of the components of all terms."""
        slices, start = [], 0
        for term in self.terms:
            slices.append(slice(start, start + term.count))
            start += term.count
        return tuple(slices)

    @property
    def rows(self) -> int:
        """Number of components of all terms."""
        return self.rows_of[-1].stop if self.terms else 0

    @cached_property
    def hard(self) -> tuple[int, ...]:
        """Indices of the terms that are constraints, not costs."""
        return tuple(k for k, term in enumerate(self.terms) if term.hard)

    @property
    def hard_names(self) -> tuple[str, ...]:
        """Names of the terms that are constraints."""
        return tuple(self.terms[k].name for k in self.hard)

    @cached_property
    def partial_at_start(self) -> tuple[int, ...]:
        """Indices of terms of which only the first components can be evaluated at the first steps of a path.

        The other components need earlier steps. Empty for a path with a given start.
        """
        if self.started:
            return ()
        return tuple(k for k, term in enumerate(self.terms) if 0 < term.feature.rows_without_past < term.count)

    def counted(self, k: int, t: int) -> int:
        """Return the number of components of term k that can be evaluated at step t: always the first components."""
        term = self.terms[k]
        return term.feature.rows_without_past if k in self.partial_at_start and t < term.feature.depth else term.count

    def forces_of(self, terms: Sequence[int]) -> dict[int, slice]:
        """Return a dict from index of a constraint to its slice in the vector of multipliers of all ``terms``.

        ``terms`` are indices; terms that are not constraints have no multipliers.
        """
        slices, start = {}, 0
        for k in terms:
            if self.terms[k].hard:
                slices[k] = slice(start, start + self.terms[k].count)
                start += self.terms[k].count
        return slices

    def force_count(self, terms: Sequence[int]) -> int:
        """Return the number of multipliers of ``terms`` at one step: the number of components of their constraints."""
        return sum(self.terms[k].count for k in terms if self.terms[k].hard)

    def window(
        self, q: Sequence[Sequence[Any]], u: Sequence[Sequence[Any]], p: Sequence[Any], clock: Sequence[Any]
    ) -> PathWindow:
        """Return the window of a step: the step with the earlier steps that features read.

        ``q`` and ``u`` are configurations and variables of these steps, newest first. ``p`` are the parameters of the
        path, and ``clock`` is the entry of `clocks` for the step.
        """
        variables = []
        for values in u:
            result, start = {}, 0
            for name, size in self.variables:
                result[name] = values[start : start + size]
                start += size
            variables.append(result)
        parameters, start = {}, 0
        for name, size in self.parameters:
            parameters[name] = p[start : start + size]
            start += size
        many, free = len(q), self.durations
        count = (2 if self.started else 3) * many + 1
        rates = [dict(enumerate(clock[count + k * free : count + (k + 1) * free])) for k in range(count)]
        indices = [*range(count)]
        if self.uniform:  # equal steps are one object
            indices[1 : 2 * many] = [many] * (2 * many - 1)
            indices[0] = many if clock[0] is clock[many] else 0
        rates = [rates[k] for k in indices]
        known = {k: _time(clock[k], rates[k], p) for k in {*indices}}
        values = [known[k] for k in indices]
        gaps, steps, time = values[:many], values[many : 2 * many], values[-1]
        further = [*rates[many : 2 * many], rates[-1]], self.contacts, gaps, rates[:many]
        durations = () if self.started else (values[2 * many : -1], rates[2 * many : -1])
        return PathWindow(self.tree, q, steps, time, variables, parameters, *further, *durations)

    @property
    def clock_size(self) -> int:
        """Number of values for one step in the result of `clocks`: times of its window, and their derivatives."""
        return ((2 if self.started else 3) * (self.depth + 1) + 1) * (1 + self.durations)

    def clocks(self, inputs: PathInputs) -> list[list[Any]]:
        """Return, for each step t, a list of times of its window, with derivatives with respect to free durations.

        The list begins with the gaps g_t, g_{t−1}, ..., which are times between configurations, and the time steps τ_t,
        τ_{t−1}, ... of the window. For a path without a start, the durations of the steps follow, which are zero at the
        beginning. The next value is the time of q_t. All these are the values for free durations of zero. The
        derivatives of each of these values with respect to the free durations follow, in the same order.
        """
        T, first, zero = self.steps, first_step(self.steps, self.started), [0.0] * (1 + self.durations)
        if self.uniform:
            steps = [[inputs.step, *inputs.step_rates]] * T
        else:
            steps = [[x, *rates] for x, rates in zip(inputs.step, inputs.step_rates, strict=True)]
        durations = [*[zero] * min(first, T), *steps[first:], zero]
        halves = [[0.5 * x for x in row] for row in durations]
        gaps, times, total = [], [], zero
        for t in range(T):
            total = durations[t] if total is zero else _added(total, durations[t])
            if T == 2 and not self.started:  # a straight line
                gaps.append(steps[1])
                times.append(durations[t])
                continue
            if t + 1 < first or T == 1 > first:
                gaps.append(steps[t])
            else:
                gaps.append(steps[t] if self.uniform and t + 1 < T else _added(halves[t], halves[t + 1]))
            times.append(_added(total, halves[t + 1]))
        if self.uniform:
            times = [[(t + 1.5 if t + 1 < T else T) * x for x in steps[0]] for t in range(T)]
        clocks = []
        for t in range(T):
            window = range(t, t - self.depth - 1, -1)
            rows = [gaps[k] if k >= 0 else steps[0] for k in window]
            rows += [steps[max(k, 0)] for k in window]
            rows += [] if self.started else [durations[max(k, 0)] for k in window]
            rows.append(times[t])
            clocks.append([*(row[0] for row in rows), *(x for row in rows for x in row[1:])])
        return clocks

    def past(self, start: Sequence[Any], rate: Sequence[Any], step: Any) -> list[list[Any]]:
        """Return the configurations (depth, nq) before the first, oldest first, of a motion with constant velocity.

        q_{−k} = start ⊕ (3/2 − k) τ v with the ``start``, the initial velocity v = ``rate`` and the first time ``step``
        τ.
        """
        ages = [k - 1.5 for k in range(self.depth, 0, -1)]
        return [integrate(self.tree, start, [-age * step * x for x in rate]) for age in ages]


def coordinate_units(tree: Tree) -> tuple[float, ...]:
    """Return the unit of each component of a tangent vector: 1 rad, or `length_unit`."""
    length = length_unit(tree)
    units = [unit for _, body in tree.stacked() for unit in body.joint.v_units]
    return tuple(1.0 if unit.startswith("rad") else length for unit in units)


def length_unit(tree: Tree) -> float:
    """Return the power of 1000 that is nearest to the size of the links: 1 for robots in m, 1000 for robots in mm.

    The size is the largest distance between joints, or the largest radius of gyration about a joint.  The result is 1
    for an unknown size.
    """
    sizes = [0.0]
    for body in tree.bodies:
        scalars = [*body.placement.translation, body.inertia.mass, *body.inertia.about.elements()]
        if all(isinstance(x, float) for x in scalars):
            sizes.append(math.hypot(*scalars[:3]))
            about, mass = body.inertia.about, body.inertia.mass
            sizes.append(math.sqrt(max(0.5 * (about.xx + about.yy + about.zz) / mass, 0.0)) if mass > 0.0 else 0.0)
    size = max(sizes)
    return float(1000.0 ** round(math.log10(size) / 3.0)) if size > 0.0 else 1.0


def force_units(tree: Tree, units: Sequence[str]) -> list[float]:
    """Return the unit of each force: the robot's weight for forces, and weight times unit of length for moments."""
    weight = robot_weight(tree)
    sizes = {"N": weight, "N·m": weight * length_unit(tree)}
    return [sizes.get(unit, 1.0) for unit in units]


def first_step(steps: int, started: bool) -> int:
    """Return the index of the first step with a duration; a path without a start begins with two control points."""
    return 0 if started else min(2, max(steps - 1, 1))


def gap_shares(count: int) -> np.ndarray:
    """Return the times g_t (count,) between successive configurations, divided by the equal time step."""
    shares = np.ones(count)
    shares[-1] = 0.5
    return shares


def control_times(steps: np.ndarray, started: bool) -> np.ndarray:
    """Return the times (..., T) [s] of the control points q_t, for durations of steps (..., T)."""
    total = np.cumsum(steps, axis=-1)
    if started or steps.shape[-1] > 2:
        total[..., :-1] += 0.5 * steps[..., 1:]
    return total


def _added(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _time(base: Any, rates: dict[int, Any], p: Sequence[Any]) -> Any:
    for k, rate in rates.items():
        base = base + rate * p[k]
    return base

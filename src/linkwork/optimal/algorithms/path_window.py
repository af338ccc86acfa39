"""Successive steps of a path: the window in which features are evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import tangent_rates
from linkwork.errors import UnknownNameError
from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.expr.linalg.sparse_dot import is_zero, product, transposed
from linkwork.ik.algorithms.task_stack import TaskState
from linkwork.kinematics.algorithms.configuration_manifold import (
    configuration_derivative_to_velocity,
    difference,
    integrate,
)
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.window_dynamics import WindowDynamics
from linkwork.optimal.features.contact_features import ConstraintForce, PathContact
from linkwork.optimal.features.feature import FeatureJacobian, MidpointState, Window

__all__ = ["PathWindow"]

Scalars = Sequence[Any]


class PathWindow(WindowDynamics):
    """Window of successive steps t, t − 1, ... of a path, in which features are evaluated.

    The window has the configurations q_t, q_{t−1}, ... of a robot, each with its variables, and the path's parameters.
    ``steps`` are the time steps τ_t, τ_{t−1}, .... ``gaps`` are the times between successive configurations, by default
    equal to the time steps. ``durations`` are the time steps, but zero where a path without a start begins. Equal
    intervals are the same object.

    ``rates`` are the derivatives of each step's τ, and last of the time, with respect to the path's parameters. They
    are dicts from column to derivative, empty for fixed durations, and the same object for equal steps. ``gap_rates``
    and ``duration_rates`` are the derivatives of gaps and durations.

    The last two are for a path with an initial velocity and free durations. ``ages`` are the numbers of steps by which
    configurations precede the start. ``retreat`` are the derivatives of such a configuration, per step, with respect to
    each of the first parameters.
    """

    ages: Sequence[Any] = ()
    retreat: Sequence[Scalars] = ()

    def __init__(
        self,
        tree: Tree,
        configurations: Sequence[Scalars],
        steps: Sequence[Any],
        time: Any = 0.0,
        variables: Sequence[Mapping[str, Scalars]] = (),
        parameters: Mapping[str, Scalars] | None = None,
        rates: Sequence[Mapping[int, Any]] = (),
        contacts: Sequence[PathContact | ConstraintForce] = (),
        gaps: Sequence[Any] | None = None,
        gap_rates: Sequence[Mapping[int, Any]] | None = None,
        durations: Sequence[Any] | None = None,
        duration_rates: Sequence[Mapping[int, Any]] | None = None,
    ) -> None:
        self.tree, self.time, self.contacts = tree, time, tuple(contacts)
        self._q, self._steps = [list(q) for q in configurations], list(steps)
        self._gaps = self._steps if gaps is None else list(gaps)
        self._variables = [dict(values) for values in variables] or [{} for _ in self._q]
        self._parameters = {name: list(x) for name, x in (parameters or {}).items()}
        self._rates = list(rates) or [{}] * (len(self._steps) + 1)
        self._gap_rates = self._rates[:-1] if gap_rates is None else list(gap_rates)
        self._durations = self._steps if durations is None else list(durations)
        self._duration_rates = self._rates[:-1] if duration_rates is None else list(duration_rates)
        self._states: dict[int, TaskState] = {}
        self._velocities: dict[int, list[Any]] = {}

    @property
    def nv(self) -> int:
        return self.tree.nv

    @property
    def width(self) -> int:
        return self.tree.nv + sum(map(len, self._variables[0].values()))

    @property
    def parameter_count(self) -> int:
        return sum(map(len, self._parameters.values()))

    @property
    def depth(self) -> int:
        """Number of earlier configurations q_{t−1}, q_{t−2}, ... that the window has besides the current one, q_t."""
        return len(self._q) - 1

    @property
    def step(self) -> Any:
        return self._gaps[0]

    def step_of(self, back: int, order: int = 1) -> Any:
        return (self._gaps[back], self._steps[back], self._gaps[min(back + 1, self.depth)])[order - 1]

    def step_rates(self, back: int, order: int = 1) -> Mapping[int, Any]:
        return (self._gap_rates[back], self._rates[back], self._gap_rates[min(back + 1, self.depth)])[order - 1]

    def earlier(self, back: int, depth: int) -> PathWindow:
        time, rate = self.time, dict(self._rates[-1])
        for gap, known in zip(self._gaps[:back], self._gap_rates, strict=False):
            time = time - gap
            rate = {k: rate.get(k, 0.0) - known.get(k, 0.0) for k in {**rate, **known}}
        further = self._steps[back:], time, self._variables[back:], self._parameters, [*self._rates[back:-1], rate]
        intervals = self._gaps, self._gap_rates, self._durations, self._duration_rates
        return PathWindow(self.tree, self._q[back:], *further, self.contacts, *(x[back:] for x in intervals))

    @property
    def end_gap(self) -> Any:
        return 0.5 * self._durations[0]

    def state(self, back: int = 0) -> TaskState:
        if back not in self._states:
            time = self.time
            for k in range(back):
                time = time - self._gaps[k]
            self._states[back] = TaskState(self.tree, self._q[back], time)
        return self._states[back]

    def configuration(self, back: int = 0) -> list[Any]:
        return list(self._q[back])

    def with_equal_steps(self, depth: int) -> PathWindow:
        step, count = self._steps[0], depth + 1
        ends = self._durations[0] is step  # q_{t−1} is half a step before the end of step t
        if ends and all(gap is step for gap in self._gaps[:depth]):
            return self
        tree, q = self.tree, [self.configuration(back) for back in range(count)]
        changes = [self.velocity(back) for back in range(min(depth, 2))]
        if depth > 2:
            a, jerk = self.acceleration(), self.jerk()
            changes.append([v - step * (x - step * y) for v, x, y in zip(changes[1], a, jerk, strict=True)])
        time = self.time - self._gaps[0] + step
        shares = [(self._rates[-1], 1.0), (self._gap_rates[0], -1.0), (self._rates[0], 1.0)]
        if not ends:
            shares += [(self._duration_rates[0], 0.5), (self._rates[0], -0.5)]
            shift = self.end_gap - 0.5 * step
            q[1], time = integrate(tree, q[1], [shift * x for x in changes[0]]), time + shift
        for back, sign in ((0, 1.0), *((k, -1.0) for k in range(1, depth))):
            if self._gaps[back] is not step or not ends:
                to, begin = (0, 1) if back == 0 else (back + 1, back)
                q[to] = integrate(tree, q[begin], [sign * step * x for x in changes[back]])
        rate = {k: sum(share * row.get(k, 0.0) for row, share in shares) for row, _ in shares for k in row}
        further = self._variables[:count], self._parameters, [*[self._rates[0]] * count, rate], self.contacts
        return PathWindow(tree, q, [step] * count, time, *further)

    def chained(self, jacobian: FeatureJacobian, depth: int) -> FeatureJacobian:
        if self.with_equal_steps(depth) is self:
            return jacobian
        tree, n, count, width = self.tree, self.tree.nv, depth + 1, self.width
        moved = self.derived(
            lambda w: [x for back in range(count) for x in w.with_equal_steps(depth).configuration(back)], depth
        )
        columns = [
            *(list(column) for block in moved.rows for column in zip(*block, strict=True)),
            *map(list, zip(*moved.parameters, strict=True)),
        ]
        total = [
            [*(0.0 if k < n else x for block in jacobian.rows for k, x in enumerate(block[i])), *jacobian.parameters[i]]
            for i in range(len(jacobian.values))
        ]
        for back, block in enumerate(jacobian.rows):
            span = slice(back * tree.nq, (back + 1) * tree.nq)
            q = moved.values[span]
            changes = [
                [0.0] * n if all(map(is_zero, x[span])) else configuration_derivative_to_velocity(tree, q, x[span])
                for x in columns
            ]
            shares = product([row[:n] for row in block], transposed(changes))
            total = [
                [x if is_zero(y) else x + y for x, y in zip(*rows, strict=True)]
                for rows in zip(total, shares, strict=True)
            ]
        rows = [[row[back * width : (back + 1) * width] for row in total] for back in range(count)]
        return FeatureJacobian(jacobian.values, rows, [row[count * width :] for row in total])

    def interpolated_state(self, share: float) -> MidpointState:
        tree, n = self.tree, self.tree.nv
        begin, end = self.configuration(1), self.configuration(0)
        rates = [
            SparseTangent({back * n + k: rate for k, rate in row.items()})
            for back, q in enumerate((end, begin))
            for row in tangent_rates(tree, q)
        ]
        moving = seeded([*end, *begin], rates)
        q_end, q_begin = moving[: tree.nq], moving[tree.nq :]
        q_end = integrate(tree, q_begin, [x * share for x in difference(tree, q_begin, q_end)])
        ends = [parts(x, moving[0].level) for x in q_end]
        q = [value for value, _ in ends]
        changes = [tangent.row if isinstance(tangent, SparseTangent) else {} for _, tangent in ends]
        columns = []
        for k in range(2 * n):
            column: list[Any] = []
            for i, body in tree.stacked():
                span = tree.q_slices[i]
                rates = [change.get(k, 0.0) for change in changes[span]]
                column += body.call_joint("velocity_from_rate", q[span], rates)
            columns.append(column)
        by_end, by_begin = (transposed(rows) for rows in (columns[:n], columns[n:]))
        return MidpointState(TaskState(tree, q, self.time - self.step * (1.0 - share)), by_end, by_begin)

    def velocity(self, back: int = 0) -> list[Any]:
        if back not in self._velocities:
            inverse, change = 1.0 / self._gaps[back], difference(self.tree, self._q[back + 1], self._q[back])
            self._velocities[back] = [x * inverse for x in change]
        return list(self._velocities[back])

    def acceleration(self, back: int = 0) -> list[Any]:
        inverse = 1.0 / self.step_of(back, 2)
        return [(x - y) * inverse for x, y in zip(self.velocity(back), self.velocity(back + 1), strict=True)]

    def jerk(self) -> list[Any]:
        inverse = 1.0 / self.step_of(0, 3)
        return [(x - y) * inverse for x, y in zip(self.acceleration(0), self.acceleration(1), strict=True)]

    def variables(self, name: str, back: int = 0) -> list[Any]:
        return list(_known(self._variables[back], name, "variable of steps"))

    def columns(self, name: str) -> slice:
        _known(self._variables[0], name, "variable of steps")
        start = self.tree.nv
        for variable, values in self._variables[0].items():
            if variable == name:
                break
            start += len(values)
        return slice(start, start + len(self._variables[0][name]))

    def parameter(self, name: str) -> list[Any]:
        return list(_known(self._parameters, name, "parameter of the path"))

    def derived(self, values: Callable[[Window], Scalars], depth: int) -> FeatureJacobian:
        """Return the values of a function of this window, and its Jacobian by dual numbers.

        The Jacobian has columns for the tangent vectors and variables of ``depth`` + 1 steps, and for the path's
        parameters.
        """
        width, after = self.width, (depth + 1) * self.width
        inputs: list[Any] = []
        rates: list[SparseTangent] = []

        def put(outputs: Scalars, rows: Sequence[Mapping[Any, Any]]) -> slice:
            inputs.extend(outputs)
            rates.extend(map(SparseTangent, rows))
            return slice(len(inputs) - len(outputs), len(inputs))

        slices, variables = [], []
        for back in range(depth + 1):
            start, q = back * width, self._q[back]
            shifted = [{start + k: rate for k, rate in row.items()} for row in tangent_rates(self.tree, q)]
            slices.append(put(q, shifted))
            named, column = {}, start + self.tree.nv
            for name, x in self._variables[back].items():
                named[name] = put(x, [{column + k: 1.0} for k in range(len(x))])
                column += len(x)
            variables.append(named)
        shared, column = {}, after
        for name, x in self._parameters.items():
            shared[name] = put(x, [{column + k: 1.0} for k in range(len(x))])
            column += len(x)
        every_rate = [*self._gap_rates, *self._rates[:-1], *self._duration_rates]
        intervals = list(zip([*self._gaps, *self._steps, *self._durations], every_rate, strict=True))
        keys = [(id(x), id(row)) for x, row in intervals]
        unique = dict(zip(keys, intervals, strict=True))  # equal intervals are one object
        known = [*unique.values(), (self.time, self._rates[-1])]
        timed = put([x for x, _ in known], [{after + k: x for k, x in row.items()} for _, row in known])
        moving = seeded(inputs, rates)
        level = moving[0].level
        plain = [dual if dual.tangent else number for dual, number in zip(moving, inputs, strict=True)]
        *own_intervals, time = plain[timed]
        dual_of = dict(zip(unique, own_intervals, strict=True))
        count = len(self._gaps)
        gaps, steps, durations = ([dual_of[key] for key in keys[k * count : (k + 1) * count]] for k in range(3))
        # configurations beyond the feature's depth stay constant
        window = PathWindow(
            self.tree,
            [*(plain[part] for part in slices), *self._q[depth + 1 :]],
            steps,
            time,
            [*({name: plain[p] for name, p in named.items()} for named in variables), *self._variables[depth + 1 :]],
            {name: plain[part] for name, part in shared.items()},
            self._rates,
            self.contacts,
            gaps,
            self._gap_rates,
            durations,
            self._duration_rates,
        )
        outputs = [parts(x, level) for x in values(window)]
        tangents = [tangent if isinstance(tangent, SparseTangent) else SparseTangent({}) for _, tangent in outputs]
        return FeatureJacobian(
            [value for value, _ in outputs],
            [[[t.get(back * width + k) for k in range(width)] for t in tangents] for back in range(depth + 1)],
            [[t.get(after + k) for k in range(self.parameter_count)] for t in tangents],
        )


def _known(names: Mapping[str, Scalars], name: str, kind: str) -> Scalars:
    if name not in names:
        raise UnknownNameError(kind, name, names)
    return names[name]

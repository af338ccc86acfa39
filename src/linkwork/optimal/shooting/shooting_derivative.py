"""How an optimal motion moves where its problem changes: motions by forward dynamics, and by accelerations as controls.

The conditions of an optimum, in every step and in all of them together, hold for every problem nearby: their
derivative, a band of stages, is solved for how states, controls and multipliers move.  Multipliers are those that leave
least of the gradient.

Kernels of the conditions of an optimal motion in one step, of which a motion's steps are samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import array, scalars
from linkwork.ik.traced_ik import moved_target
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.kernel_parameters import Parameter, inputs_of
from linkwork.model.parametrized_tree import parametrized
from linkwork.optimal.algorithms.shooting.cost_terms import row_kinds
from linkwork.optimal.algorithms.shooting.shooting_kkt import StepConditions, decided, led_by
from linkwork.optimal.kernels import target_sizes
from linkwork.optimal.optimum_derivative import (
    HELD,
    VELOCITY,
    PathDerivative,
    asked_parameter,
    durations_of,
    moved_numbers,
    optima,
    own_numbers,
    spread,
)
from linkwork.optimal.shooting.shooting_kernel import ShootingRecipe, cost_terms, row_data, same_shapes
from linkwork.optimal.shooting.stagewise_kkt import StageRows, stages_solved

__all__ = ["motion_derivative"]


Array = np.ndarray[Any, Any]


def motion_derivative(result: Any, by: str) -> PathDerivative:
    """See `ShootingResult.derivative`."""
    own, recipe, solved = result._prepared, result._recipe, optima(result)
    parameter = asked_parameter(own, by)
    inputs = motion_given(result)
    steps = _moving_steps(own, by)
    bent_of = bends_kernel(recipe, result._split)
    parts = _Parts.of(result, recipe)
    first = _called(bent_of, inputs | {"pulls": np.zeros(len(parts.kinds))})
    lead = result.q.shape[:-2]
    pulls, active = np.zeros((*lead, parts.T, len(parts.kinds))), {}
    for place in np.ndindex(lead):
        if solved[place]:
            pulls[place], active[place] = parts.multipliers(place, first["J"][place], first["rows"][place])
    second = _called(bent_of, inputs | {"pulls": pulls})
    size = moved_numbers(own, by, parameter)
    sloped: dict[str, Array] = {}
    if by not in ("start", VELOCITY) or by in own.targets:
        slopes_of = slopes_kernel(own, recipe, result._split, by, parameter)
        direction = np.zeros(size)
        if parameter is not None:
            direction = own_numbers(recipe.program, result._inputs, parameter)
            direction = np.expand_dims(direction, -2) if direction.ndim > 1 else direction
        sloped = _called(slopes_of, inputs | {"pulls": pulls, "direction": direction})
    columns = []
    for place in np.ndindex(lead):
        H, J = second["H"][place], second["J"][place]
        n = size * (len(steps) or 1)
        if not solved[place]:
            columns.append(np.full((parts.T, parts.moved, n), np.nan))
            continue
        change = _by_start(parts, by, H, J)
        if sloped:
            gradient, rows = (spread(sloped[name][place], range(parts.T), steps) for name in ("gradient", "rows"))
            change = gradient, rows
        columns.append(parts.moving(H, J, active[place], *change))
    return parts.told(np.array(columns).reshape(*lead, parts.T, parts.moved, -1))


def _called(kernel: Kernel, inputs: dict[str, Array]) -> dict[str, Array]:
    outputs = kernel(**{port.name: inputs[port.name] for port in kernel.inputs})
    return {name.removeprefix("d_").partition("_d_")[0]: np.asarray(getattr(outputs, name)) for name in outputs._fields}


def _moving_steps(own: Any, by: str) -> tuple[int, ...]:
    """The steps of a target that has one for each."""
    term = own.problem.terms[own.targets[by][1]] if by in own.targets else None
    return tuple(term.steps) if term is not None and term.has_target_per_step else ()


def _by_start(parts: _Parts, by: str, H: Array, J: Array) -> tuple[Array, Array]:
    """Changes of gradients and rows where the first state moves: those of the first step by it."""
    n, nv = parts.n, parts.n // 2
    own = slice(0, nv) if by == "start" else slice(nv, n)
    gradient, rows = np.zeros((parts.T, H.shape[-1], nv)), np.zeros((parts.T, J.shape[-2], nv))
    gradient[0], rows[0] = H[0][:, own], J[0][:, own]
    return gradient, rows


@dataclass(frozen=True)
class _Parts:
    """Which columns and rows of a step mean what: columns are of (x, z, y)."""

    result: Any
    recipe: ShootingRecipe
    kinds: tuple[str, ...]
    counts: Array  # (..., T, rows): whether a row of what is wanted counts
    n: int  # of a state
    z: int  # of what is decided
    T: int

    @staticmethod
    def of(result: Any, recipe: ShootingRecipe) -> _Parts:
        dynamics, terms = recipe.dynamics(1.0), recipe.program.terms
        every = [kind for some in result._split for k in some for kind in row_kinds(terms[k])]
        kinds = (*every, *("equality",) * led_by(dynamics), *("output",) * len(recipe.actuated))
        inputs = motion_given(result)
        T = recipe.program.steps
        counts = np.concatenate([inputs.get(f"{name}_weights", np.zeros((T, 0))) for name in ("moving", "reached")], -1)
        return _Parts(result, recipe, kinds, counts != 0.0, dynamics.size, decided(dynamics), T)

    @property
    def moved(self) -> int:
        """How many numbers of a step are told to move: what is decided, the state, motors."""
        return self.z + self.n + len(self.recipe.actuated)

    # ---- what holds the motion

    def _held(self, place: tuple[int, ...]) -> tuple[Array, Array]:
        """By step and row whether it is an equality (T, rows), and of limits of motors which way they press."""
        result, count = self.result, self.counts.shape[-1]
        is_active, signs = np.zeros((self.T, len(self.kinds)), dtype=bool), np.zeros((self.T, len(self.kinds)))
        equal = np.array([kind == "equality" for kind in self.kinds])
        counts = np.broadcast_to(self.counts, (*result.q.shape[:-2], self.T, count))[place]
        forces = [result._search[f"{name}_forces"][place] for name in ("moving", "reached")
                  if f"{name}_forces" in result._search]  # fmt: skip
        force = np.concatenate([np.zeros((self.T, 0)), *forces], axis=-1)
        pressed = np.array([kind == "inequality" for kind in self.kinds[:count]], dtype=bool)
        pressed = pressed & (force > HELD * max(1.0, np.abs(force).max(initial=0.0)))
        same, again = self._pinned()
        is_active[:, :count] = counts & (equal[:count] | pressed | same) & ~again
        is_active[:, count:] = equal[count:]
        if self.result._limits is not None:
            low, high = self.result._limits
            u = result.controls[place]
            motors = slice(len(self.kinds) - u.shape[-1], None)
            signs[:, motors] = np.where(u >= high, 1.0, np.where(u <= low, -1.0, 0.0))
            is_active[:, motors] = signs[:, motors] != 0.0
            signs[:, motors][:, low == high] = 0.0  # it is held, whichever way it presses
        return is_active, signs

    def _pinned(self) -> tuple[Array, Array]:
        """Rows of bounds that leave nothing between them: the first is an equality, the second says the same."""
        first, second = [], []
        program, constants = self.recipe.program, self.result._prepared.constants
        for some in self.result._split:
            for k in some:
                term, rows = program.terms[k], program.rows_of[k]
                alike = np.zeros(term.count, dtype=bool)
                if term.bounded and term.hard:
                    alike = constants["lower"][rows] == constants["upper"][rows]
                    second.append(np.concatenate([0 * alike, alike]))
                    first.append(np.concatenate([alike, 0 * alike]))
                else:
                    first.append(alike)
                    second.append(alike)
        none = np.zeros(0, dtype=bool)
        return np.concatenate([none, *first]).astype(bool), np.concatenate([none, *second]).astype(bool)

    def multipliers(self, place: tuple[int, ...], J: Array, values: Array) -> tuple[Array, Array]:
        """Of all rows (T, rows), with which least is left of the gradient, and which rows hold the motion."""
        active, signs = self._held(place)
        active &= J.any(axis=-1)  # what nothing moves holds nothing: torques of joints without motors are 0
        forces = self._fitted(J, values, active)
        largest = max(1.0, float(np.abs(forces).max(initial=0.0)))
        idle = (signs != 0.0) & (signs * forces <= HELD * largest)
        if idle.any():
            active = active & ~idle
            forces = self._fitted(J, values, active)
        return forces, active

    def _fitted(self, J: Array, values: Array, active: Array) -> Array:
        n, z, T = self.n, self.z, self.T
        pulls = np.array([[1.0 if kind == "cost" else x if kind == "least_squares" else 0.0
                           for kind, x in zip(self.kinds, row, strict=True)] for row in values])  # fmt: skip
        slopes = np.einsum("tri,tr->ti", J, pulls)  # of costs and squares
        rows = []
        for t in range(T):
            own = slopes[t, n:].copy()
            A = J[t][active[t], n:].T
            if t + 1 < T:
                own[z:] += slopes[t + 1, :n]
                later = J[t + 1][active[t + 1], :n].T
                A = np.hstack([A, np.vstack([np.zeros((z, later.shape[1])), later])])
            rows.append(StageRows(t, A, -own[:, None]))
        solved = stages_solved([int(x.sum()) for x in active], rows)
        forces = np.zeros(active.shape)
        for t, x in enumerate(solved):
            forces[t, active[t]] = x[:, 0]
        return forces

    # ---- how it moves

    def moving(self, H: Array, J: Array, active: Array, gradient: Array, rows: Array) -> Array:
        """What is decided, states and motors (T, moved, n), by changes of gradients (T, columns, n) and of rows."""
        n, z, T = self.n, self.z, self.T
        sizes = [z + n + int(own.sum()) for own in active]
        equations = []
        for t in range(T):
            own = J[t][active[t]]
            count, some = z + n, sizes[t]
            D, right = np.zeros((some, some)), np.zeros((some, gradient.shape[-1]))
            D[:count, :count] = H[t][n:, n:]
            D[count:, :count], D[:count, count:] = own[:, n:], own[:, n:].T
            right[:count], right[count:] = gradient[t][n:], rows[t][active[t]]
            parts = [D]
            if t + 1 < T:
                D[z:count, z:count] += H[t + 1][:n, :n]
                right[z:count] += gradient[t + 1][:n]
                after = np.zeros((some, sizes[t + 1]))
                after[z:count] = self._coupling(H[t + 1], J[t + 1][active[t + 1]]).T
                parts.append(after)
            if t:
                before = np.zeros((some, sizes[t - 1]))
                before[:, z:count] = self._coupling(H[t], own)
                parts.insert(0, before)
            equations.append(StageRows(max(t - 1, 0), np.hstack(parts), -right))
        solved = stages_solved(sizes, equations)
        moved = np.stack([x[: z + n] for x in solved])
        motors = J[:, J.shape[1] - len(self.recipe.actuated) :]
        before_y = np.concatenate([np.zeros((1, n, moved.shape[-1])), moved[:-1, z:]])
        change = rows[:, J.shape[1] - len(self.recipe.actuated) :].copy()
        change += motors @ np.concatenate([before_y, moved], axis=1)
        return np.concatenate([moved, change], axis=1)

    def _coupling(self, H: Array, own: Array) -> Array:
        """How the equations of a stage go along with the state before it."""
        return np.vstack([H[self.n :, : self.n], own[:, : self.n]])

    def told(self, moved: Array) -> PathDerivative:
        """By what it means."""
        recipe, z, n = self.recipe, self.z, self.n
        nv, names = n // 2, {}
        forces = [(one.force.name, one.force.size) for one in recipe.contact_models]
        start = nv if recipe.inverse else len(recipe.actuated)
        for name, size in recipe.program.variables if recipe.inverse else forces:
            names[name] = moved[..., start : start + size, :]
            start += size
        asked = {name for name, _ in recipe.program.variables}
        variables = {name: x for name, x in names.items() if name in asked}
        v, controls = moved[..., z + nv : z + n, :], moved[..., z + n :, :]
        return PathDerivative(moved[..., z : z + nv, :], variables, {}, v, controls)


_KERNELS: LazyCache[Kernel] = LazyCache(64)


def motion_given(result: Any) -> dict[str, Array]:
    """Steps of a motion, and what comes with each of them, by the kernels' names (..., T, numbers)."""
    own, program = result._prepared, result._recipe.program
    ports = [port for port, *_ in own.targets.values()] + [*inputs_of(program.robot_parameters).values()]
    numbers = {port: result._inputs[port] for port in ports}
    arrays = row_data(own, program, result._split, result._schedule, numbers)
    shapes = own.shapes
    for port in ports:
        if port in arrays and arrays[port].ndim > len(shapes[port]):
            arrays[port] = np.expand_dims(arrays[port], -2)
    y = np.concatenate([result.q, result.velocities], axis=-1)
    x = np.concatenate([result._start[..., None, :], y[..., :-1, :]], axis=-2)
    return arrays | {"x": x, "z": result._decided, "y": y, "step": own.constants["step"]}


def _shapes(recipe: ShootingRecipe, split: tuple[list[int], list[int]]) -> dict[str, tuple[int, ...]]:
    program, dynamics = recipe.program, recipe.dynamics(1.0)
    sizes, terms = target_sizes(program), program.terms
    kinds = [[kind for k in some for kind in row_kinds(terms[k])] for some in split]
    moved = sum(sizes[k] for k, term in enumerate(terms) if term.has_target_per_step)
    shapes: dict[str, tuple[int, ...]] = {
        "x": (dynamics.numbers,), "z": (decided(dynamics),), "y": (dynamics.numbers,), "step": (),
        "given": (1 + moved + len(recipe.contact_models),),
        "moving_weights": (len(kinds[0]),), "reached_weights": (len(kinds[1]),),
        "pulls": (len(kinds[0]) + len(kinds[1]) + led_by(dynamics) + len(recipe.actuated),),
    }  # fmt: skip
    shapes |= same_shapes(recipe)
    return {name: shape for name, shape in shapes.items() if 0 not in shape}


def _conditions(
    recipe: ShootingRecipe,
    split: tuple[list[int], list[int]],
    inputs: dict[str, Any],
    more: dict[Parameter, Any] | None = None,
) -> StepConditions:
    """Of a step, with ``more`` numbers of the robot."""
    program = recipe.program
    own = {p: [*inputs[name]] for p, name in inputs_of(recipe.parameters).items()} | (more or {})
    dynamics = recipe.dynamics(inputs["step"], parametrized(program.tree, own) if own else program.tree)
    weights = [x for name in ("moving", "reached") for x in inputs.get(f"{name}_weights", ())]
    return StepConditions(cost_terms(program, dynamics, split, inputs), weights, list(inputs["given"]))


def _state(inputs: dict[str, Any]) -> tuple[list[Any], ...]:
    return tuple(list(inputs.get(name, ())) for name in ("x", "z", "y", "pulls"))


def bends_kernel(recipe: ShootingRecipe, split: tuple[list[int], list[int]]) -> Kernel:
    """Second derivatives of a step, derivatives of its rows, and rows."""
    return _KERNELS.get((recipe, ""), lambda: _bends(recipe, split))


def slopes_kernel(
    own: Any, recipe: ShootingRecipe, split: tuple[list[int], list[int]], by: str, parameter: Parameter | None
) -> Kernel:
    """How the gradient of a step, and its rows, go along with what is meant."""
    return _KERNELS.get((recipe, by), lambda: _slopes(own, recipe, split, by, parameter))


def _bends(recipe: ShootingRecipe, split: tuple[list[int], list[int]]) -> Kernel:

    def bent(**inputs: Any) -> Any:
        conditions = _conditions(recipe, split, inputs)
        x, z, y, pulls = _state(inputs)
        H, J = conditions.bends(x, z, y, pulls)
        return {"H": array(H), "J": array(J), "rows": array(conditions.rows(x, z, y))}

    return compile(bent, name="motion_bends", **_shapes(recipe, split))


def _slopes(
    own: Any, recipe: ShootingRecipe, split: tuple[list[int], list[int]], by: str, parameter: Parameter | None
) -> Kernel:
    size, T = moved_numbers(own, by, parameter), recipe.program.steps

    def sloped(**inputs: Any) -> Any:
        direction = inputs.pop("direction")
        more = None
        if parameter is not None:
            more = {parameter: scalars(direction).ravel().tolist()}
        elif by in own.targets:
            _aimed_elsewhere(own, recipe, by, inputs, direction)
        else:
            assert by in durations_of(own)
            step = inputs["step"] + direction[0] / float(T)
            inputs["given"] = array([inputs["given"][0] * (step / inputs["step"]), *inputs["given"][1:]])
            inputs["step"] = step
        x, z, y, pulls = _state(inputs)
        gradient, rows = _conditions(recipe, split, inputs, more).slopes(x, z, y, pulls)
        return {"gradient": array(gradient), "rows": array(rows)}

    return compile(sloped, name="motion_slopes", **_shapes(recipe, split), direction=(size,)).jacobian("direction")


def _aimed_elsewhere(own: Any, recipe: ShootingRecipe, by: str, inputs: dict[str, Any], direction: Any) -> None:
    """A target moved by a tangent vector: that of the problem, or that of the step."""
    port, k, _ = own.targets[by]
    program, sizes = recipe.program, target_sizes(recipe.program)
    term = program.terms[k]
    if not term.has_target_per_step:
        inputs[port] = array(moved_target(program.tree, term.feature, [*inputs[port]], [*direction]))
        return
    start = 1 + sum(sizes[j] for j, other in enumerate(program.terms[:k]) if other.has_target_per_step)
    row = list(inputs["given"])
    aim = moved_target(program.tree, term.feature, row[start : start + sizes[k]], [*direction])
    inputs["given"] = array([*row[:start], *aim, *row[start + sizes[k] :]])

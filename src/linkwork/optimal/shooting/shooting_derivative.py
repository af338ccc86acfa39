"""Derivatives of optimal motions of "ilqr" and "shooting" in their inputs, by the implicit function theorem.

The KKT conditions hold for every problem nearby.  Their derivative, a banded system of stages, is solved for the
derivatives of states, controls and multipliers.  Multipliers are the least-squares solution of the stationarity
conditions.  Kernels evaluate the conditions of one step; the steps of a motion are a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import integrate_derivatives
from linkwork.expr.arrays.symbol_array import array, scalars
from linkwork.ik.traced_ik import moved_target
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.kernel_parameters import Parameter, inputs_of
from linkwork.model.parametrized_tree import parametrized
from linkwork.optimal.algorithms.shooting.cost_terms import row_kinds
from linkwork.optimal.algorithms.shooting.shooting_kkt import (
    StageRows,
    StepConditions,
    decision_count,
    solve_stages,
    step_equation_count,
)
from linkwork.optimal.kernels import target_sizes
from linkwork.optimal.optimum_derivative import (
    ACTIVE_MULTIPLIER,
    VELOCITY,
    PathDerivative,
    by_all_steps,
    durations_of,
    input_size,
    named_parameter,
    optima,
    value_of_call,
)
from linkwork.optimal.shooting.shooting_kernel import ShootingRecipe, cost_terms, row_data, same_shapes

__all__ = ["motion_derivative"]


Array = np.ndarray[Any, Any]


def motion_derivative(result: Any, by: str) -> PathDerivative:
    """Return the derivative of an optimal motion in the input named ``by``; see `ShootingResult.derivative`."""
    prepared, recipe, solved = result._prepared, result._recipe, optima(result)
    parameter = named_parameter(prepared, by)
    inputs = motion_inputs(result)
    steps = _moving_steps(prepared, by)
    bent_of = bends_kernel(recipe, result._split)
    conditions = _MotionConditions.of(result, recipe)
    first = _called(bent_of, inputs | {"pulls": np.zeros(len(conditions.kinds))})
    lead = result.q.shape[:-2]
    pulls, active = np.zeros((*lead, conditions.T, len(conditions.kinds))), {}
    for index in np.ndindex(lead):
        if solved[index]:
            pulls[index], active[index] = conditions.multipliers(index, first["J"][index], first["rows"][index])
    second = _called(bent_of, inputs | {"pulls": pulls})
    size = input_size(prepared, by, parameter)
    sloped: dict[str, Array] = {}
    if by not in ("start", VELOCITY) or by in prepared.targets:
        slopes_of = slopes_kernel(prepared, recipe, result._split, by, parameter)
        direction = np.zeros(size)
        if parameter is not None:
            direction = value_of_call(recipe.program, result._inputs, parameter)
            direction = np.expand_dims(direction, -2) if direction.ndim > 1 else direction
        sloped = _called(slopes_of, inputs | {"pulls": pulls, "direction": direction})
    columns = []
    for index in np.ndindex(lead):
        H, J = second["H"][index], second["J"][index]
        n = size * (len(steps) or 1)
        if not solved[index]:
            columns.append(np.full((conditions.T, conditions.moved, n), np.nan))
            continue
        change = _by_start(conditions, _start_derivative(result, index, by, n), H, J)
        if sloped:
            change = tuple(
                x + by_all_steps(sloped[name][index], range(conditions.T), steps)
                for x, name in zip(change, ("gradient", "rows"), strict=True)
            )
        columns.append(conditions.moving(H, J, active[index], *change))
    return conditions.derivative(np.array(columns).reshape(*lead, conditions.T, conditions.moved, -1))


def _called(kernel: Kernel, inputs: dict[str, Array]) -> dict[str, Array]:
    outputs = kernel(**{port.name: inputs[port.name] for port in kernel.inputs})
    return {name.removeprefix("d_").partition("_d_")[0]: np.asarray(getattr(outputs, name)) for name in outputs._fields}


def _moving_steps(prepared: Any, by: str) -> tuple[int, ...]:
    """Return the steps of a feature's target if it has one for each step; empty for other inputs."""
    term = prepared.problem.terms[prepared.targets[by][1]] if by in prepared.targets else None
    return tuple(term.steps) if term is not None and term.has_target_per_step else ()


def _by_start(conditions: _MotionConditions, moved: Array, H: Array, J: Array) -> tuple[Array, Array]:
    """Return derivatives of the Lagrangian's gradient and of the components of all steps with respect to an input.

    The input changes only the initial state, with the derivatives ``moved``. So the results are zero except in the
    first step. H and J are the Hessians and Jacobians of the steps.
    """
    n, count = conditions.n, moved.shape[-1]
    gradient, rows = np.zeros((conditions.T, H.shape[-1], count)), np.zeros((conditions.T, J.shape[-2], count))
    gradient[0], rows[0] = H[0][:, :n] @ moved, J[0][:, :n] @ moved
    return gradient, rows


def _start_derivative(result: Any, index: tuple[int, ...], by: str, count: int) -> Array:
    """Return the derivative (2nv, count) of the search's initial state with respect to the input ``by``."""
    prepared, robot = result._prepared, result.problem.robot
    nv, tau = robot.nv, float(prepared.constants["step"])
    moved = np.zeros((2 * nv, count))
    if by in prepared.targets or by not in ("start", VELOCITY, *durations_of(prepared)):
        return moved
    q, v = (np.broadcast_to(result._inputs[x], (*result.q.shape[:-2], n))[index] for x, n in _sizes_of_start(robot))
    half = 0.5 * tau if result._recipe.dynamics(1.0).staggers else 0.0
    by_q, by_step = (np.array(x, dtype=float) for x in integrate_derivatives(robot.tree, [*q], [*(half * v)]))
    if by == "start":
        moved[:nv] = by_q
    elif by == VELOCITY:
        moved[:nv], moved[nv:] = half * by_step, np.eye(nv)
    else:
        moved[:nv, 0] = by_step @ v * (half / (tau * result._recipe.program.steps))
    return moved


def _sizes_of_start(robot: Any) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("start", robot.nq), ("rate", robot.nv)


@dataclass(frozen=True)
class _MotionConditions:
    """KKT conditions of all steps of a motion: their active components, multipliers, and derivatives.

    A step has the unknowns (x, z, y): its state, its decision variables, and the next state.
    """

    result: Any
    recipe: ShootingRecipe
    kinds: tuple[str, ...]
    counts: Array  # (..., T, rows): True where a row of the cost terms applies
    n: int  # size of a state
    z: int  # size of the decision variables
    T: int

    @staticmethod
    def of(result: Any, recipe: ShootingRecipe) -> _MotionConditions:
        dynamics, terms = recipe.dynamics(1.0), recipe.program.terms
        every = [kind for indices in result._split for k in indices for kind in row_kinds(terms[k])]
        kinds = (*every, *("equality",) * step_equation_count(dynamics), *("output",) * len(recipe.actuated))
        inputs = motion_inputs(result)
        T = recipe.program.steps
        counts = np.concatenate([inputs.get(f"{name}_weights", np.zeros((T, 0))) for name in ("moving", "reached")], -1)
        return _MotionConditions(result, recipe, kinds, counts != 0.0, dynamics.size, decision_count(dynamics), T)

    @property
    def moved(self) -> int:
        """Number of quantities of a step whose derivatives are returned: decisions, next state, motor forces."""
        return self.z + self.n + len(self.recipe.actuated)

    # ---- active constraints and multipliers

    def _active(self, index: tuple[int, ...]) -> tuple[Array, Array]:
        """Return a mask (T, rows) of the active components, and the sides (T, rows) of active motor limits.

        A side is 1 for an upper limit, −1 for a lower limit, and 0 for all other components.
        """
        result, count = self.result, self.counts.shape[-1]
        is_active, signs = np.zeros((self.T, len(self.kinds)), dtype=bool), np.zeros((self.T, len(self.kinds)))
        equal = np.array([kind == "equality" for kind in self.kinds])
        counts = np.broadcast_to(self.counts, (*result.q.shape[:-2], self.T, count))[index]
        forces = [result._search[f"{name}_forces"][index] for name in ("moving", "reached")
                  if f"{name}_forces" in result._search]  # fmt: skip
        force = np.concatenate([np.zeros((self.T, 0)), *forces], axis=-1)
        pressed = np.array([kind == "inequality" for kind in self.kinds[:count]], dtype=bool)
        pressed = pressed & (force > ACTIVE_MULTIPLIER * max(1.0, np.abs(force).max(initial=0.0)))
        same, again = self._equal_bounds()
        is_active[:, :count] = counts & (equal[:count] | pressed | same) & ~again
        is_active[:, count:] = equal[count:]
        if self.result._limits is not None:
            low, high = self.result._limits
            u = result.controls[index]
            motors = slice(len(self.kinds) - u.shape[-1], None)
            signs[:, motors] = np.where(u >= high, 1.0, np.where(u <= low, -1.0, 0.0))
            is_active[:, motors] = signs[:, motors] != 0.0
            signs[:, motors][:, low == high] = 0.0  # fixed, for either sign of the multiplier
        return is_active, signs

    def _equal_bounds(self) -> tuple[Array, Array]:
        """Return two masks of components of constraints whose lower and upper bounds are equal.

        Such a constraint has two components in the search. The first mask marks those that become equalities, the
        second their repetitions.
        """
        first, second = [], []
        program, constants = self.recipe.program, self.result._prepared.constants
        for indices in self.result._split:
            for k in indices:
                term, rows = program.terms[k], program.rows_of[k]
                alike = np.zeros(term.count, dtype=bool)
                if term.bounded and term.hard:
                    alike = constants["lower"][rows] == constants["upper"][rows]
                    second.append(np.concatenate([0 * alike, alike]))
                    first.append(np.concatenate([alike, 0 * alike]))
                else:
                    first.append(alike)
                    second.append(alike)
        no_components = np.zeros(0, dtype=bool)
        return np.concatenate([no_components, *first]).astype(bool), np.concatenate([no_components, *second]).astype(
            bool
        )

    def multipliers(self, index: tuple[int, ...], J: Array, values: Array) -> tuple[Array, Array]:
        """Return the least-squares multipliers (T, rows) of the stationarity conditions, and a mask (T, rows).

        The mask is True for active components.
        """
        active, signs = self._active(index)
        active &= J.any(axis=-1)  # rows with zero Jacobian, such as forces of joints without motors
        forces = self._fitted(J, values, active)
        largest = max(1.0, float(np.abs(forces).max(initial=0.0)))
        idle = (signs != 0.0) & (signs * forces <= ACTIVE_MULTIPLIER * largest)
        if idle.any():
            active = active & ~idle
            forces = self._fitted(J, values, active)
        return forces, active

    def _fitted(self, J: Array, values: Array, active: Array) -> Array:
        n, z, T = self.n, self.z, self.T
        pulls = np.array([[1.0 if kind == "cost" else x if kind == "least_squares" else 0.0
                           for kind, x in zip(self.kinds, row, strict=True)] for row in values])  # fmt: skip
        slopes = np.einsum("tri,tr->ti", J, pulls)  # gradient of costs and squares
        rows = []
        for t in range(T):
            slope = slopes[t, n:].copy()
            A = J[t][active[t], n:].T
            if t + 1 < T:
                slope[z:] += slopes[t + 1, :n]
                later = J[t + 1][active[t + 1], :n].T
                A = np.hstack([A, np.vstack([np.zeros((z, later.shape[1])), later])])
            rows.append(StageRows(t, A, -slope[:, None]))
        solved = solve_stages([int(x.sum()) for x in active], rows)
        forces = np.zeros(active.shape)
        for t, x in enumerate(solved):
            forces[t, active[t]] = x[:, 0]
        return forces

    # ---- derivatives

    def moving(self, H: Array, J: Array, active: Array, gradient: Array, rows: Array) -> Array:
        """Return derivatives in n values of an input: of each step's variables, next state and motor forces.

        H and J are the Hessians and Jacobians of the steps, and ``active`` is the mask of active components.
        ``gradient`` and ``rows`` are the derivatives of each step's Lagrangian gradient and components with respect to
        the input.
        """
        n, z, T = self.n, self.z, self.T
        sizes = [z + n + int(mask.sum()) for mask in active]
        equations = []
        for t in range(T):
            J_active = J[t][active[t]]
            count, size = z + n, sizes[t]
            D, right = np.zeros((size, size)), np.zeros((size, gradient.shape[-1]))
            D[:count, :count] = H[t][n:, n:]
            D[count:, :count], D[:count, count:] = J_active[:, n:], J_active[:, n:].T
            right[:count], right[count:] = gradient[t][n:], rows[t][active[t]]
            blocks = [D]
            if t + 1 < T:
                D[z:count, z:count] += H[t + 1][:n, :n]
                right[z:count] += gradient[t + 1][:n]
                after = np.zeros((size, sizes[t + 1]))
                after[z:count] = self._coupling(H[t + 1], J[t + 1][active[t + 1]]).T
                blocks.append(after)
            if t:
                before = np.zeros((size, sizes[t - 1]))
                before[:, z:count] = self._coupling(H[t], J_active)
                blocks.insert(0, before)
            equations.append(StageRows(max(t - 1, 0), np.hstack(blocks), -right))
        solved = solve_stages(sizes, equations)
        moved = np.stack([x[: z + n] for x in solved])
        motors = J[:, J.shape[1] - len(self.recipe.actuated) :]
        before_y = np.concatenate([np.zeros((1, n, moved.shape[-1])), moved[:-1, z:]])
        change = rows[:, J.shape[1] - len(self.recipe.actuated) :].copy()
        change += motors @ np.concatenate([before_y, moved], axis=1)
        return np.concatenate([moved, change], axis=1)

    def _coupling(self, H: Array, J_active: Array) -> Array:
        """Return the derivative of a step's KKT equations with respect to the state at its beginning.

        The equations are stationarity with respect to the decision variables and the next state, then the active
        components.
        """
        return np.vstack([H[self.n :, : self.n], J_active[:, : self.n]])

    def derivative(self, moved: Array) -> PathDerivative:
        """Return the result of `moving` as derivatives of the path, its variables, velocities and motor forces."""
        recipe, z, n = self.recipe, self.z, self.n
        nv, names = n // 2, {}
        forces = [(model.force.name, model.force.size) for model in recipe.contact_models]
        start = nv if recipe.inverse else len(recipe.actuated)
        for name, size in recipe.program.variables if recipe.inverse else forces:
            names[name] = moved[..., start : start + size, :]
            start += size
        own_names = {name for name, _ in recipe.program.variables}
        variables = {name: x for name, x in names.items() if name in own_names}
        v, controls = moved[..., z + nv : z + n, :], moved[..., z + n :, :]
        return PathDerivative(moved[..., z : z + nv, :], variables, {}, v, controls)


_KERNELS: LazyCache[Kernel] = LazyCache(64)


def motion_inputs(result: Any) -> dict[str, Array]:
    """Return the inputs of the derivative kernels for all steps of a motion, (..., T, size) by name.

    The inputs are x, z, y, weights, targets, bounds and robot parameters; some are the same in all steps.
    """
    prepared, program = result._prepared, result._recipe.program
    ports = [port for port, *_ in prepared.targets.values()] + [*inputs_of(program.robot_parameters).values()]
    values = {port: result._inputs[port] for port in ports}
    staggers = result._recipe.dynamics(1.0).staggers
    arrays = row_data(prepared, program, result._split, result._schedule, values, staggers)
    shapes = prepared.shapes
    for port in ports:
        if port in arrays and arrays[port].ndim > len(shapes[port]):
            arrays[port] = np.expand_dims(arrays[port], -2)
    y = np.concatenate([result.q, result.velocities], axis=-1)
    x = np.concatenate([result._start[..., None, :], y[..., :-1, :]], axis=-2)
    return arrays | {"x": x, "z": result._decided, "y": y, "step": prepared.constants["step"]}


def _shapes(recipe: ShootingRecipe, split: tuple[list[int], list[int]]) -> dict[str, tuple[int, ...]]:
    program, dynamics = recipe.program, recipe.dynamics(1.0)
    sizes, terms = target_sizes(program), program.terms
    kinds = [[kind for k in indices for kind in row_kinds(terms[k])] for indices in split]
    moved = sum(sizes[k] for k, term in enumerate(terms) if term.has_target_per_step)
    shapes: dict[str, tuple[int, ...]] = {
        "x": (dynamics.state_size,), "z": (decision_count(dynamics),), "y": (dynamics.state_size,), "step": (),
        "data": (2 + moved + len(recipe.contact_models),),
        "moving_weights": (len(kinds[0]),), "reached_weights": (len(kinds[1]),),
        "pulls": (len(kinds[0]) + len(kinds[1]) + step_equation_count(dynamics) + len(recipe.actuated),),
    }  # fmt: skip
    shapes |= same_shapes(recipe)
    return {name: shape for name, shape in shapes.items() if 0 not in shape}


def _conditions(
    recipe: ShootingRecipe,
    split: tuple[list[int], list[int]],
    inputs: dict[str, Any],
    more: dict[Parameter, Any] | None = None,
) -> StepConditions:
    """Return the KKT conditions of a step from a kernel's inputs; ``more`` are further robot parameters."""
    program = recipe.program
    values = {p: [*inputs[name]] for p, name in inputs_of(recipe.parameters).items()} | (more or {})
    dynamics = recipe.dynamics(inputs["step"], parametrized(program.tree, values) if values else program.tree)
    weights = [x for name in ("moving", "reached") for x in inputs.get(f"{name}_weights", ())]
    return StepConditions(cost_terms(program, dynamics, split, inputs), weights, list(inputs["data"]))


def _state(inputs: dict[str, Any]) -> tuple[list[Any], ...]:
    return tuple(list(inputs.get(name, ())) for name in ("x", "z", "y", "pulls"))


def bends_kernel(recipe: ShootingRecipe, split: tuple[list[int], list[int]]) -> Kernel:
    """Return the kernel for the Hessian H of a step's Lagrangian, the step's components, and their Jacobian J."""
    return _KERNELS.get((recipe, ""), lambda: _bends(recipe, split))


def slopes_kernel(
    prepared: Any, recipe: ShootingRecipe, split: tuple[list[int], list[int]], by: str, parameter: Parameter | None
) -> Kernel:
    """Return the kernel for derivatives, in the input ``by``, of a step's Lagrangian gradient and of its components."""
    return _KERNELS.get((recipe, by), lambda: _slopes(prepared, recipe, split, by, parameter))


def _bends(recipe: ShootingRecipe, split: tuple[list[int], list[int]]) -> Kernel:

    def bent(**inputs: Any) -> Any:
        conditions = _conditions(recipe, split, inputs)
        x, z, y, pulls = _state(inputs)
        H, J = conditions.hessian(x, z, y, pulls)
        return {"H": array(H), "J": array(J), "rows": array(conditions.rows(x, z, y))}

    return compile(bent, name="motion_bends", **_shapes(recipe, split))


def _slopes(
    prepared: Any, recipe: ShootingRecipe, split: tuple[list[int], list[int]], by: str, parameter: Parameter | None
) -> Kernel:
    size, T = input_size(prepared, by, parameter), recipe.program.steps

    def sloped(**inputs: Any) -> Any:
        direction = inputs.pop("direction")
        more = None
        if parameter is not None:
            more = {parameter: scalars(direction).ravel().tolist()}
        elif by in prepared.targets:
            _move_target(prepared, recipe, by, inputs, direction)
        else:
            assert by in durations_of(prepared)
            step = inputs["step"] + direction[0] / float(T)
            inputs["data"] = array([inputs["data"][0] * (step / inputs["step"]), *inputs["data"][1:]])
            inputs["step"] = step
        x, z, y, pulls = _state(inputs)
        gradient, rows = _conditions(recipe, split, inputs, more).gradient(x, z, y, pulls)
        return {"gradient": array(gradient), "rows": array(rows)}

    return compile(sloped, name="motion_slopes", **_shapes(recipe, split), direction=(size,)).jacobian("direction")


def _move_target(prepared: Any, recipe: ShootingRecipe, by: str, inputs: dict[str, Any], direction: Any) -> None:
    """Replace the target ``by`` in a kernel's inputs by the target moved along a tangent vector.

    A target that differs by step is stored in ``data`` of the step.
    """
    port, k, _ = prepared.targets[by]
    program, sizes = recipe.program, target_sizes(recipe.program)
    term = program.terms[k]
    if not term.has_target_per_step:
        inputs[port] = array(moved_target(program.tree, term.feature, [*inputs[port]], [*direction]))
        return
    start = 2 + sum(sizes[j] for j, earlier in enumerate(program.terms[:k]) if earlier.has_target_per_step)
    row = list(inputs["data"])
    moved = moved_target(program.tree, term.feature, row[start : start + sizes[k]], [*direction])
    inputs["data"] = array([*row[:start], *moved, *row[start + sizes[k] :]])

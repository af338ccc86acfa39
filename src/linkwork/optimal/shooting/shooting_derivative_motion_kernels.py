"""Kernels of the conditions of an optimal motion in one step, of which a motion's steps are samples."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import array, scalars
from linkwork.ik.traced_ik import moved_target
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import Once
from linkwork.model.kernel_parameters import Parameter, inputs_of
from linkwork.model.parametrized_tree import parametrised
from linkwork.optimal.algorithms.shooting.cost_terms import WantedRows, row_kinds
from linkwork.optimal.algorithms.shooting.shooting_kkt import StepConditions, decided, led_by
from linkwork.optimal.kernels import target_sizes
from linkwork.optimal.optimum_derivative import durations_of, moved_numbers
from linkwork.optimal.shooting.shooting_kernel import ShootingRecipe, row_data

__all__ = ["bends_kernel", "motion_given", "slopes_kernel"]

Array = np.ndarray[Any, Any]

_KERNELS: Once[Kernel] = Once(64)


def motion_given(result: Any) -> dict[str, Array]:
    """Steps of a motion, and what comes with each of them, by the kernels' names (..., T, numbers)."""
    own, program = result.prepared, result._recipe.program
    ports = [port for port, *_ in own.targets.values()] + [*inputs_of(program.robot_numbers).values()]
    numbers = {port: result.numbers[port] for port in ports}
    found = row_data(own, program, result._split, result._schedule, numbers)
    shapes = own.shapes
    for port in ports:
        if port in found and found[port].ndim > len(shapes[port]):
            found[port] = np.expand_dims(found[port], -2)
    y = np.concatenate([result.q, result.velocities], axis=-1)
    x = np.concatenate([result._start[..., None, :], y[..., :-1, :]], axis=-2)
    return found | {"x": x, "z": result._decided, "y": y, "step": own.constants["step"]}


def _shapes(recipe: ShootingRecipe, split: tuple[list[int], list[int]]) -> dict[str, tuple[int, ...]]:
    program, dynamics = recipe.program, recipe.dynamics(1.0)
    sizes, entries = target_sizes(program), program.entries
    kinds = [[kind for k in some for kind in row_kinds(entries[k])] for some in split]
    moved = sum(sizes[k] for k, entry in enumerate(entries) if entry.moving)
    found: dict[str, tuple[int, ...]] = {
        "x": (dynamics.numbers,), "z": (decided(dynamics),), "y": (dynamics.numbers,), "step": (),
        "given": (1 + moved + len(recipe.holdings),),
        "moving_weights": (len(kinds[0]),), "reached_weights": (len(kinds[1]),),
        "pulls": (len(kinds[0]) + len(kinds[1]) + led_by(dynamics) + len(recipe.actuated),),
    }  # fmt: skip
    found |= {f"target{k}": (size,) for k, size in sizes.items() if not entries[k].moving}
    if any(entry.bounded for entry in entries):
        found |= {"lower": (program.rows,), "upper": (program.rows,)}
    found |= {name: (prod(p.shape(program.tree)),) for p, name in inputs_of(recipe.parameters).items()}
    return {name: shape for name, shape in found.items() if 0 not in shape}


def _conditions(
    recipe: ShootingRecipe,
    split: tuple[list[int], list[int]],
    given: dict[str, Any],
    more: dict[Parameter, Any] | None = None,
) -> StepConditions:
    """Of a step, with ``more`` numbers of the robot."""
    program, entries = recipe.program, recipe.program.entries
    own = {p: [*given[name]] for p, name in inputs_of(recipe.parameters).items()} | (more or {})
    dynamics = recipe.dynamics(given["step"], parametrised(program.tree, own) if own else program.tree)
    sizes = target_sizes(program)
    targets = {k: list(given[f"target{k}"]) for k, entry in enumerate(entries) if k in sizes and not entry.moving}
    bounds = {
        k: (list(given["lower"][rows]), list(given["upper"][rows]))
        for k, (entry, rows) in enumerate(zip(entries, program.rows_of, strict=True))
        if entry.bounded
    }
    weights = [x for name in ("moving", "reached") for x in given.get(f"{name}_weights", ())]
    return StepConditions(WantedRows(dynamics, entries, *split, targets, bounds), weights, list(given["given"]))


def _state(given: dict[str, Any]) -> tuple[list[Any], ...]:
    return tuple(list(given.get(name, ())) for name in ("x", "z", "y", "pulls"))


def bends_kernel(recipe: ShootingRecipe, split: tuple[list[int], list[int]]) -> Kernel:
    """Second derivatives of a step, derivatives of its rows, and rows."""
    return _KERNELS.get((recipe, ""), lambda: _bends(recipe, split))


def slopes_kernel(
    own: Any, recipe: ShootingRecipe, split: tuple[list[int], list[int]], by: str, parameter: Parameter | None
) -> Kernel:
    """How the gradient of a step, and its rows, go along with what is meant."""
    return _KERNELS.get((recipe, by), lambda: _slopes(own, recipe, split, by, parameter))


def _bends(recipe: ShootingRecipe, split: tuple[list[int], list[int]]) -> Kernel:

    def bent(**given: Any) -> Any:
        conditions = _conditions(recipe, split, given)
        x, z, y, pulls = _state(given)
        H, J = conditions.bends(x, z, y, pulls)
        return {"H": array(H), "J": array(J), "rows": array(conditions.rows(x, z, y))}

    return compile(bent, name="motion_bends", **_shapes(recipe, split))


def _slopes(
    own: Any, recipe: ShootingRecipe, split: tuple[list[int], list[int]], by: str, parameter: Parameter | None
) -> Kernel:
    size, T = moved_numbers(own, by, parameter), recipe.program.steps

    def sloped(**given: Any) -> Any:
        way = given.pop("way")
        more = None
        if parameter is not None:
            more = {parameter: scalars(way).ravel().tolist()}
        elif by in own.targets:
            _aimed_elsewhere(own, recipe, by, given, way)
        else:
            assert by in durations_of(own)
            step = given["step"] + way[0] / float(T)
            given["given"] = array([given["given"][0] * (step / given["step"]), *given["given"][1:]])
            given["step"] = step
        x, z, y, pulls = _state(given)
        gradient, rows = _conditions(recipe, split, given, more).slopes(x, z, y, pulls)
        return {"gradient": array(gradient), "rows": array(rows)}

    return compile(sloped, name="motion_slopes", **_shapes(recipe, split), way=(size,)).jacobian("way")


def _aimed_elsewhere(own: Any, recipe: ShootingRecipe, by: str, given: dict[str, Any], way: Any) -> None:
    """A target moved by a tangent vector: that of the problem, or that of the step."""
    port, k, _ = own.targets[by]
    program, sizes = recipe.program, target_sizes(recipe.program)
    entry = program.entries[k]
    if not entry.moving:
        given[port] = array(moved_target(program.tree, entry.feature, [*given[port]], [*way]))
        return
    start = 1 + sum(sizes[j] for j, other in enumerate(program.entries[:k]) if other.moving)
    row = list(given["given"])
    aim = moved_target(program.tree, entry.feature, row[start : start + sizes[k]], [*way])
    given["given"] = array([*row[:start], *aim, *row[start + sizes[k] :]])

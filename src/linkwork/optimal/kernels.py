"""Kernels of the path search: some iterations of the augmented Lagrangian method, and values of features."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.kernel_parameters import inputs_of
from linkwork.optimal.algorithms.gauss_newton_system import PathSweeps
from linkwork.optimal.algorithms.path_augmented_lagrangian import PathSearch, Tolerances, search
from linkwork.optimal.algorithms.path_nlp import PathInputs, PathPoint, PathProgram
from linkwork.optimal.algorithms.path_steps import Duals
from linkwork.optimal.robot_parameters import with_inputs

__all__ = ["SEARCH_SCALARS", "path_inputs", "search_kernel", "shapes_of", "sweeps_of"]

SEARCH_SCALARS = (
    "damping", "status", "iterations", "cost", "merit", "length", "stale", "bent", "usable", "straight", "share",
    "former",
)  # fmt: skip
"""The scalars of a search's state; the violations of each constraint follow, now and of the iteration before."""

MAX_ITERATIONS = 1 << 20  # of one call

_kernels: LazyCache[Kernel] = LazyCache(256)


def target_sizes(program: PathProgram) -> dict[int, int]:
    """Return the size of each term's target, by index of the term."""
    sizes = {"nq": program.tree.nq, "nv": program.tree.nv}
    sizes_of = {}
    for k, term in enumerate(program.terms):
        if term.feature.target_of is not None:
            shape = term.feature.target_of.shape
            sizes_of[k] = int(np.prod([sizes[n] if isinstance(n, str) else n for n in shape], dtype=int))
    return sizes_of


def shapes_of(program: PathProgram) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the kernel's inputs by name, in their order, except the state of the search."""
    T, free = program.steps, program.durations
    shapes: dict[str, tuple[int, ...]] = {}
    if program.started and program.depth:
        shapes = {"start": (program.tree.nq,), "rate": (program.tree.nv,)}
    shapes["step"] = () if program.uniform else (T,)
    shapes["step_rates"] = (free,) if program.uniform else (T, free)
    shapes["weights"] = (T, len(program.terms))
    shapes["scales"] = (program.rows,)
    if any(term.bounded for term in program.terms):
        shapes |= {"lower": (program.rows,), "upper": (program.rows,)}
    shapes |= {"floor": (program.many,), "ceiling": (program.many,)}
    for k, size in target_sizes(program).items():
        shapes[f"target{k}"] = (T, size) if program.terms[k].has_target_per_step else (size,)
    shapes |= {name: (prod(p.shape(program.tree)),) for p, name in inputs_of(program.robot_parameters).items()}
    return {name: shape for name, shape in shapes.items() if 0 not in shape}


def state_shapes(program: PathProgram) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of the state of a search, in order."""
    T, hard = program.steps, len(program.hard)
    shapes: dict[str, tuple[int, ...]] = {
        "q": (T, program.tree.nq),
        "u": (T, program.extra),
        "p": (program.many,),
        "everywhere": (T, program.force_count(program.everywhere)),
        "alone": (program.force_count(program.alone),),
        "penalties": (hard,),
        "scalars": (len(SEARCH_SCALARS) + 2 * hard,),
    }
    return {name: shape for name, shape in shapes.items() if 0 not in shape}


def path_inputs(program: PathProgram, arrays: dict[str, Any]) -> PathInputs:
    """Return the inputs of a call as a tuple, from arrays by name; missing inputs are zero or empty."""
    T, free = program.steps, program.durations
    empty = np.zeros(0)
    rates = np.zeros((free,) if program.uniform else (T, free))
    sizes = target_sizes(program)
    return PathInputs(
        arrays.get("start", np.zeros(program.tree.nq)),
        arrays.get("rate", np.zeros(program.tree.nv)),
        arrays["step"],
        arrays.get("step_rates", rates),
        arrays.get("weights", np.zeros((T, 0))),
        arrays.get("scales", empty),
        [arrays[f"target{k}"] if k in sizes else [] for k in range(len(program.terms))],
        arrays.get("lower", np.zeros(program.rows)),
        arrays.get("upper", np.zeros(program.rows)),
        arrays.get("floor", empty),
        arrays.get("ceiling", empty),
    )


def sweeps_of(program: PathProgram, arrays: dict[str, Any]) -> PathSweeps:
    """Return the evaluation of a problem along a path, for the inputs of a call.

    ``arrays`` are the inputs by name, including the values of the robot's parameters.
    """
    changed = program.on(with_inputs(program.tree, program.robot_parameters, arrays))
    return PathSweeps(changed, path_inputs(program, arrays))


def point_of(program: PathProgram, arrays: dict[str, Any]) -> PathPoint:
    """Return the unknowns of a search (configurations, variables, parameters), from its state by name."""
    return PathPoint(arrays["q"], arrays.get("u", np.zeros((program.steps, 0))), arrays.get("p", np.zeros(0)))


def duals_of(program: PathProgram, arrays: dict[str, Any]) -> Duals:
    """Return the multipliers and penalties of a search, from its state by name."""
    return Duals(
        arrays.get("everywhere", np.zeros((program.steps, 0))),
        arrays.get("alone", np.zeros(0)),
        arrays.get("penalties", np.zeros(0)),
    )


def search_kernel(program: PathProgram) -> Kernel:
    """Return the kernel that continues a search for a number of iterations.

    The kernel's inputs are the state of the search, the inputs of a call, tolerances (1 + constraints,) and ``budget``
    (), the maximum number of iterations.
    """
    return _kernels.get(program, lambda: _compiled(program))


def _compiled(program: PathProgram) -> Kernel:
    hard, first = len(program.hard), len(SEARCH_SCALARS)

    def run_search(**inputs: Any) -> Any:
        scalars = inputs["scalars"]
        sweeps = sweeps_of(program, inputs)
        start = PathSearch(
            point_of(program, inputs),
            duals_of(program, inputs),
            scalars[first : first + hard],
            scalars[first + hard :],
            *scalars[:first],
        )
        tolerances = Tolerances(inputs["tolerances"][0], list(inputs["tolerances"][1:]))
        end = search(sweeps, start, tolerances, inputs["budget"], MAX_ITERATIONS)
        scalars = [getattr(end, name) for name in SEARCH_SCALARS]
        state = {
            "q": end.point.q,
            "u": end.point.u,
            "p": end.point.p,
            "everywhere": end.duals.everywhere,
            "alone": end.duals.alone,
            "penalties": end.duals.penalties,
            "scalars": array([*scalars, *end.violations, *end.before]),
        }
        return {name: state[name] for name in state_shapes(program)}

    return compile(
        run_search,
        name="optimal_path",
        **state_shapes(program),
        **shapes_of(program),
        tolerances=(1 + hard,),
        budget=(),
    )


def value_kernel(program: PathProgram) -> Kernel:
    """Return the kernel of feature values: of terms of all steps (T, rows), and of terms of single steps (rows,)."""
    return _value_kernels.get((program, "values"), lambda: _compiled_values(program, "values"))


def slope_kernel(program: PathProgram) -> Kernel:
    """Return the kernel of Σ |∂c/∂unknown| for each feature value c, in the shapes of `value_kernel`.

    The sum is finite if and only if all derivatives are finite.
    """
    return _value_kernels.get((program, "derivative_sizes"), lambda: _compiled_values(program, "derivative_sizes"))


_value_kernels: LazyCache[Kernel] = LazyCache(256)


def _compiled_values(program: PathProgram, quantity: str) -> Kernel:
    def evaluated(**inputs: Any) -> Any:
        everywhere, alone = getattr(sweeps_of(program, inputs), quantity)(point_of(program, inputs))
        return {"everywhere": everywhere, "alone": array(alone)}

    state = {name: shape for name, shape in state_shapes(program).items() if name in ("q", "u", "p")}
    return compile(evaluated, name=f"optimal_{quantity}", **state, **shapes_of(program))

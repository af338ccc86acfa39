"""The kernel of a problem's solver: a state of the search in, and out again after some iterations."""

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
from linkwork.optimal.algorithms.path_nlp import OptimalNumbers, PathPoint, PathProgram
from linkwork.optimal.algorithms.path_steps import Duals
from linkwork.optimal.robot_parameters import with_inputs

__all__ = ["TOLD", "numbers_of", "search_kernel", "shapes_of", "sweeps_of"]

TOLD = ("damping", "status", "iterations", "cost", "merit", "length", "stale", "bent", "straight", "share", "former")
"""What a search tells of itself first; then what is violated by each constraint, now and before."""

AT_MOST = 1 << 20  # iterations in one call

_kernels: LazyCache[Kernel] = LazyCache(256)


def target_sizes(program: PathProgram) -> dict[int, int]:
    """By term that aims at something: how many numbers that is."""
    sizes = {"nq": program.tree.nq, "nv": program.tree.nv}
    found = {}
    for k, term in enumerate(program.terms):
        if term.feature.target_of is not None:
            shape = term.feature.target_of.shape
            found[k] = int(np.prod([sizes[n] if isinstance(n, str) else n for n in shape], dtype=int))
    return found


def shapes_of(program: PathProgram) -> dict[str, tuple[int, ...]]:
    """Names and shapes of what comes with each call besides the state, in order."""
    T, free = program.steps, program.durations
    found: dict[str, tuple[int, ...]] = {"past": (program.depth, program.tree.nq)} if program.started else {}
    found |= {"rate": (program.tree.nv,)} if program.launched else {}
    found["step"] = () if program.uniform else (T,)
    found["step_rates"] = (free,) if program.uniform else (T, free)
    found["weights"] = (T, len(program.terms))
    found["scales"] = (program.rows,)
    if any(term.bounded for term in program.terms):
        found |= {"lower": (program.rows,), "upper": (program.rows,)}
    found |= {"floor": (program.many,), "ceiling": (program.many,)}
    for k, size in target_sizes(program).items():
        found[f"target{k}"] = (T, size) if program.terms[k].has_target_per_step else (size,)
    found |= {name: (prod(p.shape(program.tree)),) for p, name in inputs_of(program.robot_numbers).items()}
    return {name: shape for name, shape in found.items() if 0 not in shape}


def state_shapes(program: PathProgram) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a search's state, in order."""
    T, hard = program.steps, len(program.hard)
    found: dict[str, tuple[int, ...]] = {
        "q": (T, program.tree.nq),
        "u": (T, program.extra),
        "p": (program.many,),
        "everywhere": (T, program.force_count(program.everywhere)),
        "alone": (program.force_count(program.alone),),
        "penalties": (hard,),
        "told": (len(TOLD) + 2 * hard,),
    }
    return {name: shape for name, shape in found.items() if 0 not in shape}


def numbers_of(program: PathProgram, given: dict[str, Any]) -> OptimalNumbers:
    """What comes with a call, of arrays by name."""
    T, free, m = program.steps, program.durations, program.depth
    nothing = np.zeros(0)
    rates = np.zeros((free,) if program.uniform else (T, free))
    sizes = target_sizes(program)
    return OptimalNumbers(
        given.get("past", np.zeros((m, program.tree.nq))),
        given["step"],
        given.get("step_rates", rates),
        given.get("weights", np.zeros((T, 0))),
        given.get("scales", nothing),
        [given[f"target{k}"] if k in sizes else [] for k in range(len(program.terms))],
        given.get("lower", np.zeros(program.rows)),
        given.get("upper", np.zeros(program.rows)),
        given.get("floor", nothing),
        given.get("ceiling", nothing),
        given.get("rate", np.zeros(program.tree.nv)),
    )


def sweeps_of(program: PathProgram, given: dict[str, Any]) -> PathSweeps:
    """The program with what comes with a call, the robot's numbers among it, of arrays by name."""
    changed = program.on(with_inputs(program.tree, program.robot_numbers, given))
    return PathSweeps(changed, numbers_of(program, given))


def point_of(program: PathProgram, given: dict[str, Any]) -> PathPoint:
    """Where a search stands, of arrays by name."""
    return PathPoint(given["q"], given.get("u", np.zeros((program.steps, 0))), given.get("p", np.zeros(0)))


def duals_of(program: PathProgram, given: dict[str, Any]) -> Duals:
    """Multipliers and penalties, of arrays by name."""
    return Duals(
        given.get("everywhere", np.zeros((program.steps, 0))),
        given.get("alone", np.zeros(0)),
        given.get("penalties", np.zeros(0)),
    )


def search_kernel(program: PathProgram) -> Kernel:
    """The kernel: the state's arrays, the numbers of the call, tolerances (1 + constraints) and a budget ()."""
    return _kernels.get(program, lambda: _compiled(program))


def _compiled(program: PathProgram) -> Kernel:
    hard, first = len(program.hard), len(TOLD)

    def searched(**given: Any) -> Any:
        told = given["told"]
        sweeps = sweeps_of(program, given)
        start = PathSearch(
            point_of(program, given),
            duals_of(program, given),
            told[first : first + hard],
            told[first + hard :],
            *told[:first],
        )
        tolerances = Tolerances(given["tolerances"][0], list(given["tolerances"][1:]))
        found = search(sweeps, start, tolerances, given["budget"], AT_MOST)
        told = [getattr(found, name) for name in TOLD]
        every = {
            "q": found.point.q,
            "u": found.point.u,
            "p": found.point.p,
            "everywhere": found.duals.everywhere,
            "alone": found.duals.alone,
            "penalties": found.duals.penalties,
            "told": array([*told, *found.violations, *found.before]),
        }
        return {name: every[name] for name in state_shapes(program)}

    return compile(
        searched,
        name="optimal_path",
        **state_shapes(program),
        **shapes_of(program),
        tolerances=(1 + hard,),
        budget=(),
    )


def looking_kernel(program: PathProgram) -> Kernel:
    """Values of all terms: those looked at in all steps (T, rows), and those alone (rows,)."""
    return _looking.get((program, "values"), lambda: _looked(program, "values"))


def sloping_kernel(program: PathProgram) -> Kernel:
    """Sizes of the derivatives of the same values: numbers where all of these are."""
    return _looking.get((program, "slopes"), lambda: _looked(program, "slopes"))


_looking: LazyCache[Kernel] = LazyCache(256)


def _looked(program: PathProgram, what: str) -> Kernel:
    def looked(**given: Any) -> Any:
        everywhere, alone = getattr(sweeps_of(program, given), what)(point_of(program, given))
        return {"everywhere": everywhere, "alone": array(alone)}

    state = {name: shape for name, shape in state_shapes(program).items() if name in ("q", "u", "p")}
    return compile(looked, name=f"optimal_{what}", **state, **shapes_of(program))

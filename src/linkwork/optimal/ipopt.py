"""IPOPT on a problem of optimal motion, through CasADi: what other solvers are held against.

It takes the place of the kernel that searches: a state of a search in, and out again when IPOPT has ended.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.kernels.kernel_cache import Once
from linkwork.model.kernel_parameters import inputs_of
from linkwork.model.parametrized_tree import parametrised
from linkwork.optimal.algorithms.path_augmented_lagrangian import SOLVED, STUCK, VIOLATED
from linkwork.optimal.algorithms.path_nlp import OptimalNumbers, PathPoint, PathProgram
from linkwork.optimal.ipopt_nonlinear import NonlinearPath, NonlinearResult, weights_of
from linkwork.optimal.kernels import TOLD, numbers_of, point_of, shapes_of, state_shapes

__all__ = ["refereed", "solve_by_casadi"]

Array = np.ndarray[Any, Any]
_made: Once[NonlinearPath] = Once(32)


def refereed(
    program: PathProgram, state: Mapping[str, Array], inputs: Mapping[str, Array], tolerances: Array, at_most: int
) -> dict[str, Array]:
    """The state of a search after IPOPT has ended, one sample after the other where there are several.

    Raises ImportError where CasADi is not installed, and ValueError for a feature that CasADi has no counterpart of.
    """
    shapes = state_shapes(program)
    needed = shapes | shapes_of(program)
    given = {name: np.asarray(x, float) for name, x in (*state.items(), *inputs.items()) if name in needed}
    lead = np.broadcast_shapes(*(x.shape[: x.ndim - len(needed[name])] for name, x in given.items()))
    found = {name: np.empty((*lead, *shape)) for name, shape in shapes.items()}
    wide = {name: np.broadcast_to(x, (*lead, *needed[name])) for name, x in given.items()}
    for place in np.ndindex(lead):
        own = {name: x[place] for name, x in wide.items()}
        result = solve_by_casadi(
            _on_numbers(program, own), numbers_of(program, own), point_of(program, own), at_most=at_most
        )
        for name, x in _state(program, result, tolerances[1:]).items():
            if name in found:
                found[name][place] = x
    found["penalties"] = np.array(wide["penalties"]) if "penalties" in wide else np.empty((*lead, 0))
    return {name: found[name] for name in shapes}


def _on_numbers(program: PathProgram, given: Mapping[str, Array]) -> PathProgram:
    """The program of a robot of these numbers, which is made anew for each."""
    if not program.robot_numbers:
        return program
    own = {p: given[name].tolist() for p, name in inputs_of(program.robot_numbers).items()}
    return replace(program, tree=parametrised(program.tree, own), robot_numbers=())


def _state(program: PathProgram, result: NonlinearResult, tolerances: Array) -> dict[str, Any]:
    violations = np.array([result.violations[k] for k in program.hard])
    kept = bool((violations <= tolerances).all())
    told = dict.fromkeys(TOLD, 0.0)
    told |= {"status": (SOLVED if result.success else STUCK) if kept else VIOLATED, "cost": result.cost}
    told |= {"iterations": float(result.iterations), "merit": result.cost}
    rows = [result.multipliers[k] for k in program.everywhere if program.entries[k].hard]
    alone = [result.multipliers[k][program.entries[k].at] for k in program.alone if program.entries[k].hard]
    return {
        "q": result.point.q,
        "u": result.point.u,
        "p": result.point.p,
        "everywhere": np.hstack([np.empty((program.steps, 0)), *rows]),
        "alone": np.concatenate([np.empty(0), *alone]),
        "told": np.concatenate([[told[name] for name in TOLD], violations, violations]),
    }


def solve_by_casadi(
    program: PathProgram, numbers: OptimalNumbers, guess: PathPoint, *, at_most: int = 3000, method: str = "ipopt"
) -> NonlinearResult:
    """From a guess on, with exact sparse first and second derivatives.  Made once for features and their schedule.

    Raises ImportError where CasADi is not installed, and ValueError for a feature that CasADi has no counterpart of.
    """
    try:
        casadi = importlib.import_module("casadi")
    except ImportError as error:
        raise ImportError(f'solver {method!r} takes CasADi: pip install "linkwork[casadi]"') from error
    counts = weights_of(program, numbers) != 0.0
    own = {"print_level": 0, "sb": "yes", "tol": 1e-9, "bound_relax_factor": 0.0, "max_iter": at_most}
    key = program, counts.tobytes(), method, at_most
    made = _made.get(key, lambda: NonlinearPath(casadi, program, counts, method, {"print_time": False, method: own}))
    return made.solve(numbers, guess)

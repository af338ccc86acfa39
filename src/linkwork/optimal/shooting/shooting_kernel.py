"""Kernels of iterative LQR and multiple shooting, by forward or inverse dynamics, and their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control.loops import scan
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.kernel_parameters import Parameter, inputs_of
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.path_nlp import PathProgram, control_times, gap_shares
from linkwork.optimal.algorithms.shooting.contact_dynamics import ContactDynamics, ContactModel
from linkwork.optimal.algorithms.shooting.cost_terms import CostTerms, row_kinds
from linkwork.optimal.algorithms.shooting.forward_dynamics_steps import RobotDynamics
from linkwork.optimal.algorithms.shooting.ilqr import Shooting
from linkwork.optimal.algorithms.shooting.inverse_dynamics_steps import InverseDynamics
from linkwork.optimal.algorithms.shooting.search_state import SHOOTING_SCALARS, RollOut
from linkwork.optimal.kernels import target_sizes
from linkwork.optimal.problem_arrays import PreparedProblem
from linkwork.optimal.robot_parameters import with_inputs
from linkwork.optimal.schedule import Schedule

__all__ = [
    "ShootingRecipe", "cost_terms", "row_data", "row_tolerances", "same_shapes", "shooting_kernel",
]  # fmt: skip

PROXIMAL = 1e-9  # of the diagonal: unknowns that nothing determines, such as a force without cost, do not change

Array = np.ndarray[Any, Any]

_kernels: LazyCache[Kernel] = LazyCache(64)


@dataclass(frozen=True)
class ShootingRecipe:
    """Structure of a shooting kernel, without numerical inputs: program, motors, dynamics and options."""

    program: PathProgram
    actuated: tuple[int, ...]
    integrator: str
    passive: bool
    limited: bool
    gaps: bool
    second_order: bool
    contact_models: tuple[ContactModel, ...] = ()
    inverse: bool = False

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters of the robot that are inputs of each call."""
        return self.program.robot_parameters

    @property
    def controls(self) -> int:
        """Number of controls of a step: motors, or with inverse dynamics accelerations and variables."""
        return self.dynamics(1.0).controls

    def dynamics(self, h: Any, tree: Tree | None = None) -> RobotDynamics:
        """Return the dynamics of a step of ``h`` seconds: forward, inverse, or with contacts.

        ``tree`` is the robot with other values of its parameters, by default that of the program.
        """
        options = tree or self.program.tree, h, self.actuated, self.integrator, self.passive
        if self.inverse:
            return InverseDynamics(*options, self.program.variables, self.program.contacts)
        return ContactDynamics(*options, self.contact_models) if self.contact_models else RobotDynamics(*options)


def shooting_kernel(recipe: ShootingRecipe, split: tuple[list[int], list[int]]) -> Kernel:
    """Return the kernel that searches for an optimal motion.

    ``split`` are two lists of indices of terms: terms that depend on a step itself, and terms that depend only on the
    state that the step reaches.
    """
    return _kernels.get(recipe, lambda: _compiled(recipe, split))


def same_shapes(recipe: ShootingRecipe) -> dict[str, tuple[int, ...]]:
    """Return the shapes, by name, of kernel inputs that are equal in all steps: targets, bounds, robot parameters."""
    program = recipe.program
    result: dict[str, tuple[int, ...]] = {
        f"target{k}": (size,) for k, size in target_sizes(program).items() if not program.terms[k].has_target_per_step
    }
    if any(term.bounded for term in program.terms):
        result |= {"lower": (program.rows,), "upper": (program.rows,)}
    return result | {name: (prod(p.shape(program.tree)),) for p, name in inputs_of(recipe.parameters).items()}


def cost_terms(
    program: PathProgram, dynamics: RobotDynamics, split: tuple[list[int], list[int]], arrays: Mapping[str, Any]
) -> CostTerms:
    """Return the terms of a shooting step, with targets and bounds from a kernel's inputs by name."""
    terms, sizes = program.terms, target_sizes(program)
    targets = {k: list(arrays[f"target{k}"]) for k in sizes if not terms[k].has_target_per_step}
    bounds = {
        k: (list(arrays["lower"][rows]), list(arrays["upper"][rows]))
        for k, (term, rows) in enumerate(zip(terms, program.rows_of, strict=True))
        if term.bounded
    }
    return CostTerms(dynamics, terms, *split, targets, bounds)


def _compiled(recipe: ShootingRecipe, split: tuple[list[int], list[int]]) -> Kernel:
    program, m = recipe.program, recipe.controls
    tree, T, terms = program.tree, program.steps, program.terms
    sizes = target_sizes(program)
    nx = tree.nq + tree.nv
    kinds = [[kind for k in indices for kind in row_kinds(terms[k])] for indices in split]
    moved = sum(sizes[k] for k, term in enumerate(terms) if term.has_target_per_step)
    shapes: dict[str, tuple[int, ...]] = {
        "x0": (nx,), "u": (T, m), "x": (T, nx), "step": (),
        "moving_weights": (T, len(kinds[0])), "reached_weights": (T, len(kinds[1])),
        "data": (T, 2 + moved + len(recipe.contact_models)),
    }  # fmt: skip
    shapes |= same_shapes(recipe)
    if recipe.limited:
        shapes |= {"low": (m,), "high": (m,)}
    shapes |= {f"{name}_tolerances": (len(rows),) for name, rows in zip(("moving", "reached"), kinds, strict=True)}
    shapes |= {f"{name}_forces": (T, len(rows)) for name, rows in zip(("moving", "reached"), kinds, strict=True)}
    shapes |= {"scalars": (len(SHOOTING_SCALARS),), "ends": (3,)}
    shapes = {name: shape for name, shape in shapes.items() if 0 not in shape}

    def solved(**inputs: Any) -> Any:
        dynamics = recipe.dynamics(inputs["step"], with_inputs(tree, recipe.parameters, inputs))
        rows_of = cost_terms(program, dynamics, split, inputs)
        weights = tuple(inputs.get(f"{name}_weights", np.zeros((T, 0))) for name in ("moving", "reached"))
        most_of = (list(inputs.get(f"{name}_tolerances", ())) for name in ("moving", "reached"))
        limits = (list(inputs["low"]), list(inputs["high"])) if recipe.limited else None
        tolerance, feasibility, most = inputs["ends"]
        problem = Shooting(
            dynamics, rows_of, list(inputs["x0"]), inputs["data"], weights, limits,
            recipe.gaps, recipe.second_order and not recipe.inverse, tolerance, feasibility,
            iterations=most, tolerances=(next(most_of), next(most_of)), proximal=PROXIMAL if recipe.inverse else 0.0,
            bent_rows=recipe.second_order and recipe.inverse,
        )  # fmt: skip
        forces = tuple(inputs.get(f"{name}_forces", np.zeros((T, 0))) for name in ("moving", "reached"))
        end = problem.solve(RollOut(inputs["x"], inputs["u"]), forces, list(inputs["scalars"]))
        x, u = end.motion

        def evaluate(_: Any, row: Any) -> tuple[Any, Any]:
            x, u, y, data = (list(part) for part in row[:4])
            step_dynamics: Any = dynamics.at(data)
            more = step_dynamics.outputs_of_step(x, u)[dynamics.state_size :] if dynamics.more else []
            values, gains = array(rows_of.values(x, u, [*y, *more], data)), [list(line) for line in row[4]]
            if isinstance(step_dynamics, InverseDynamics):
                more, gains = step_dynamics.motors(x, u, gains, data[0])
            return (), (values, array(more), array(step_dynamics.by_begin(x, gains)))

        rows = (problem.before(x), u, x, inputs["data"], end.gains)
        _, (values, more, gains) = scan(evaluate, (), rows)
        scalars = [end.status, end.iterations, end.cost, end.violation, end.gap, end.decrement]
        every = {
            "x": x,
            "u": u,
            "K": gains,
            "values": values,
            "diagnostics": array([*scalars, end.penalty, end.roll_outs]),
            "scalars": array(list(end.scalars)),
        }
        every |= {"more": more} if dynamics.more else {}
        every |= {"tau": more} if recipe.inverse else {}
        new = dict(zip(("moving", "reached"), end.multipliers, strict=True))
        return every | {f"{name}_forces": k for name, k in new.items() if k.shape[-1]}

    return compile(solved, name="shooting", **shapes)


def row_tolerances(program: PathProgram, split: tuple[list[int], list[int]], tolerances: Array) -> dict[str, Array]:
    """Return the tolerance of each component in a shooting step, as kernel inputs by name; 1 for costs and squares.

    ``tolerances`` has a number for each constraint.
    """
    by_term = dict(zip(program.hard, tolerances, strict=True))
    rows = [[by_term.get(k, 1.0) for k in indices for _ in row_kinds(program.terms[k])] for indices in split]
    return {f"{name}_tolerances": np.array(x) for name, x in zip(("moving", "reached"), rows, strict=True)}


def row_data(
    prepared: PreparedProblem,
    program: PathProgram,
    split: tuple[list[int], list[int]],
    schedule: Schedule,
    arguments: Mapping[str, Array],
    staggers: bool,
) -> dict[str, Array]:
    """Return the inputs of the kernel by name, except states and options of the search.

    They are weights of components by step, "data" of each step, bounds, and ``arguments``: constant targets and robot
    parameters. The "data" are the time of the step's configuration, the time to it divided by the time step, targets
    that differ by step, and flags of contacts.
    """
    T, constants = program.steps, prepared.constants
    arrays: dict[str, Array] = {}
    for name, indices in zip(("moving", "reached"), split, strict=True):
        columns = [np.zeros((*schedule.weights.shape[:-2], T, 0))]
        for k in indices:
            term, rows = program.terms[k], program.rows_of[k]
            weights = schedule.weights[..., k, None] * prepared.scaled_constants["scales"][rows]
            if term.bounded and term.hard:
                high, low = (np.isfinite(constants[side][rows]) for side in ("upper", "lower"))
                weights = np.concatenate([weights * high, weights * low], axis=-1)
            columns.append(weights)
        arrays[f"{name}_weights"] = np.concatenate(columns, axis=-1)
    shares = gap_shares(T) if staggers else np.ones(T)
    tau = float(constants["step"])
    times = control_times(np.full(T, tau), True) if staggers else tau * (np.arange(T) + 1.0)
    moving = [f"target{k}" for k, term in enumerate(program.terms) if term.has_target_per_step]
    columns_of_steps = (times[:, None], shares[:, None], *(arguments[name] for name in moving), schedule.active)
    lead = np.broadcast_shapes(*(x.shape[:-2] for x in columns_of_steps))
    arrays["data"] = np.concatenate([np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in columns_of_steps], axis=-1)
    arrays |= {name: x for name, x in arguments.items() if name not in moving}
    if any(term.bounded for term in program.terms):
        arrays |= {"lower": constants["lower"], "upper": constants["upper"]}
    return arrays

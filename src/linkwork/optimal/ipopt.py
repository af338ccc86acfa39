"""IPOPT for trajectory problems, through CasADi: the reference for the other solvers.

`solve_by_ipopt` has the interface of the kernel of the built-in path solver: it takes the state of a search and
returns the final state.  The path is a nonlinear program of CasADi with exact sparse derivatives.  Each feature is
traced once, in a window of symbols, as a `casadi.Function` that is called at its steps.  Configurations are q̄_t ⊕ x_t
with the initial guess q̄ and unknowns x_t, so they stay on the joints' manifolds.  Values that vary by call (the
kernel's inputs) are parameters of the CasADi program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.lazy_imports import optional_module
from linkwork.kernels.compiler_api import compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.model.kernel_parameters import inputs_of
from linkwork.model.parametrized_tree import parametrized
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.path_augmented_lagrangian import SOLVED, STUCK, VIOLATED
from linkwork.optimal.algorithms.path_nlp import PathInputs, PathPoint, PathProgram, PathTerm
from linkwork.optimal.arguments import SOLVE
from linkwork.optimal.kernels import SEARCH_SCALARS, path_inputs, point_of, shapes_of, state_shapes

__all__ = ["solve_by_ipopt"]


Array = np.ndarray[Any, Any]
_programs: LazyCache[NonlinearPath] = LazyCache(32)


def solve_by_ipopt(
    program: PathProgram,
    state: Mapping[str, Array],
    inputs: Mapping[str, Array],
    tolerances: Array,
    max_iterations: int,
) -> dict[str, Array]:
    """Return the final state of a search by IPOPT; the entries of a batch are solved one by one.

    Raises ImportError if CasADi is not installed, and ValueError for a feature without a counterpart in CasADi.
    """
    shapes = state_shapes(program)
    needed = shapes | shapes_of(program)
    arrays = {name: np.asarray(x, float) for name, x in (*state.items(), *inputs.items()) if name in needed}
    lead = np.broadcast_shapes(*(x.shape[: x.ndim - len(needed[name])] for name, x in arrays.items()))
    states = {name: np.empty((*lead, *shape)) for name, shape in shapes.items()}
    wide = {name: np.broadcast_to(x, (*lead, *needed[name])) for name, x in arrays.items()}
    for index in np.ndindex(lead):
        entry = {name: x[index] for name, x in wide.items()}
        entry_program = _with_parameter_values(program, entry)
        result = _solve(entry_program, path_inputs(program, entry), point_of(program, entry), max_iterations)
        for name, x in _state(program, result, tolerances[1:]).items():
            if name in states:
                states[name][index] = x
    states["penalties"] = np.array(wide["penalties"]) if "penalties" in wide else np.empty((*lead, 0))
    return {name: states[name] for name in shapes}


def _with_parameter_values(program: PathProgram, arrays: Mapping[str, Array]) -> PathProgram:
    """Return the program with the robot's parameters fixed at the values that the call passes in ``arrays``."""
    if not program.robot_parameters:
        return program
    values = {p: arrays[name].tolist() for p, name in inputs_of(program.robot_parameters).items()}
    return replace(program, tree=parametrized(program.tree, values), robot_parameters=())


def _state(program: PathProgram, result: NonlinearResult, tolerances: Array) -> dict[str, Any]:
    violations = np.array([result.violations[k] for k in program.hard])
    feasible = bool((violations <= tolerances).all())
    scalars = dict.fromkeys(SEARCH_SCALARS, 0.0)
    scalars |= {"status": (SOLVED if result.success else STUCK) if feasible else VIOLATED, "cost": result.cost}
    scalars |= {"iterations": float(result.iterations), "merit": result.cost}
    rows = [result.multipliers[k] for k in program.everywhere if program.terms[k].hard]
    alone = [result.multipliers[k][program.terms[k].at] for k in program.alone if program.terms[k].hard]
    return {
        "q": result.point.q,
        "u": result.point.u,
        "p": result.point.p,
        "everywhere": np.hstack([np.empty((program.steps, 0)), *rows]),
        "alone": np.concatenate([np.empty(0), *alone]),
        "scalars": np.concatenate([[scalars[name] for name in SEARCH_SCALARS], violations, violations]),
    }


def _solve(program: PathProgram, inputs: PathInputs, guess: PathPoint, max_iterations: int) -> NonlinearResult:
    """Return the solution of a trajectory problem by IPOPT in CasADi, from an initial guess.

    Derivatives are exact and sparse.  CasADi programs are cached; the key is the features and the steps of each
    feature.

    Raises ImportError if CasADi is not installed, and ValueError for a feature without a counterpart in CasADi.
    """
    casadi = optional_module("casadi", "solver 'ipopt' needs CasADi", "casadi")
    counts = weights_of(program, inputs) != 0.0
    stated = {"print_level": 0, "sb": "yes", "tol": 1e-9, "bound_relax_factor": 0.0, "max_iter": max_iterations}
    options = {"print_time": False, "ipopt": stated}
    key = program, counts.tobytes(), max_iterations
    nlp = _programs.get(key, lambda: NonlinearPath(casadi, program, counts, options))
    return nlp.solve(inputs, guess)


class NonlinearResult(NamedTuple):
    """Result of IPOPT: the path, its cost, multipliers, violations and status.

    ``multipliers`` (T, components) belong to the scaled components, and ``violations`` are the largest violations;
    both are dicts by index of the constraint.
    """

    point: PathPoint
    cost: float
    multipliers: dict[int, Array]
    violations: dict[int, float]
    status: str
    success: bool
    iterations: int


class NonlinearPath:
    """Nonlinear program of a trajectory problem, for IPOPT."""

    def __init__(self, casadi: Any, program: PathProgram, counts: Array, options: Mapping[str, Any]) -> None:
        """Build the nonlinear program; ``counts`` (T, terms) is True for the steps at which a term applies."""
        self.program, self.counts = program, counts
        tree, T = program.tree, program.steps
        functions = [_function(program, term) for term in program.terms]
        self._integrate = _integration(tree)
        symbols = casadi.SX if all(f.is_a("SXFunction") for f in functions) else casadi.MX
        x, u = symbols.sym("x", tree.nv, T), symbols.sym("u", program.extra, T)
        p = symbols.sym("p", program.many)
        about, past = symbols.sym("about", tree.nq, T), symbols.sym("past", tree.nq, program.depth)
        clocks = symbols.sym("clocks", program.clock_size, T)
        sizes = [_size(tree, term) for term in program.terms]
        weights = symbols.sym("weights", len(program.terms), T)
        scales, lower, upper = (symbols.sym(name, program.rows) for name in ("scales", "lower", "upper"))
        targets = [symbols.sym(f"target{k}", size, T) for k, size in enumerate(sizes)]
        steps = [self._integrate(about[:, t], x[:, t]) for t in range(T)]
        configurations = [past[:, k] for k in range(program.depth)] + steps
        before = [symbols(program.extra, 1)] * program.depth  # of steps before the first: zeros
        variables = before + [u[:, t] for t in range(T)]
        cost, rows = symbols(0), []
        self._groups: list[tuple[int, int]] = []  # term and step of each group of rows
        for k, (term, function) in enumerate(zip(program.terms, functions, strict=True)):
            for t in np.flatnonzero(counts[:, k]).tolist():
                window, count = slice(t, t + program.depth + 1), program.counted(k, t)
                span = slice(program.rows_of[k].start, program.rows_of[k].start + count)
                c = function(
                    casadi.horzcat(*configurations[window][::-1]).T,
                    casadi.horzcat(*variables[window][::-1]).T,
                    p,
                    clocks[:, t],
                    targets[k][:, t],
                )[:count]
                s = weights[k, t] * scales[span]
                if term.kind == "cost":
                    cost += casadi.dot(s, c)
                elif term.kind == "least_squares":
                    r = s * c
                    if term.bounded:
                        r = r - casadi.fmin(casadi.fmax(r, s * lower[span]), s * upper[span])
                    cost += 0.5 * casadi.sumsqr(r)
                else:
                    rows.append(s * c)
                    self._groups.append((k, t))
        unknowns = casadi.vertcat(casadi.vec(casadi.vertcat(x, u)), p)
        arguments = (about, past, clocks, weights, scales, lower, upper, *targets)
        nlp = {
            "x": unknowns,
            "f": cost,
            "g": casadi.vertcat(*rows) if rows else symbols(0, 1),
            "p": casadi.vertcat(*map(casadi.vec, arguments)),
        }
        self._solver = casadi.nlpsol("path", "ipopt", nlp, dict(options))

    def solve(self, inputs: PathInputs, guess: PathPoint) -> NonlinearResult:
        """Return the solver's result from an initial guess."""
        program, T = self.program, self.program.steps
        weights, scales = weights_of(program, inputs), np.asarray(inputs.scales, float)
        about = np.asarray(guess.q, float)
        past = np.repeat(about[:1], program.depth, axis=0)
        if program.started and program.depth:
            step = float(np.ravel(inputs.step)[0])
            past = np.array(program.past(list(inputs.start), list(inputs.rate), step), float)
        columns = [
            about, past, np.array(program.clocks(inputs), float), weights, scales, _finite(inputs.lower),
            _finite(inputs.upper),
        ]  # fmt: skip
        for k, term in enumerate(program.terms):
            target = np.asarray(inputs.targets[k], float)
            columns.append(target if term.has_target_per_step else np.broadcast_to(target.ravel(), (T, target.size)))
        low, high, sizes = [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]
        for k, t in self._groups:
            term, count = program.terms[k], program.counted(k, t)
            span = slice(program.rows_of[k].start, program.rows_of[k].start + count)
            s = weights[t, k] * scales[span]
            bounds = (np.zeros(count), np.zeros(count))
            if term.bounded:
                bounds = np.asarray(inputs.lower, float)[span], np.asarray(inputs.upper, float)[span]
            elif term.kind == "inequality":
                bounds = np.full(count, -np.inf), np.zeros(count)
            low.append(s * bounds[0])
            high.append(s * bounds[1])
            sizes.append(s)
        free = np.full(T * program.width, np.inf)
        start = np.hstack([np.zeros((T, program.tree.nv)), np.reshape(guess.u, (T, program.extra))])
        solution = self._solver(
            x0=np.concatenate([start.ravel(), np.ravel(guess.p)]),
            p=np.concatenate([np.ravel(x) for x in columns]),
            lbx=np.concatenate([-free, np.ravel(inputs.floor)]),
            ubx=np.concatenate([free, np.ravel(inputs.ceiling)]),
            lbg=np.concatenate(low),
            ubg=np.concatenate(high),
        )
        g = np.array(solution["g"]).ravel()
        violation = np.maximum(np.maximum(np.concatenate(low) - g, g - np.concatenate(high)), 0.0)
        return self._read(solution, about, violation / np.concatenate(sizes))

    def _read(self, solution: Mapping[str, Any], about: Array, violation: Array) -> NonlinearResult:
        program, T = self.program, self.program.steps
        unknowns, forces = (np.array(solution[name]).ravel() for name in ("x", "lam_g"))
        steps = unknowns[: T * program.width].reshape(T, program.width)
        q = np.array(
            [np.array(self._integrate(a, x)).ravel() for a, x in zip(about, steps[:, : program.tree.nv], strict=True)]
        )
        multipliers = {k: np.zeros((T, program.terms[k].count)) for k in program.hard}
        violations = dict.fromkeys(program.hard, 0.0)
        start = 0
        for k, t in self._groups:
            count = program.counted(k, t)
            multipliers[k][t, :count] = forces[start : start + count]
            violations[k] = max(violations[k], float(violation[start : start + count].max()))
            start += count
        stats = self._solver.stats()
        point = PathPoint(q, steps[:, program.tree.nv :], unknowns[T * program.width :])
        status, success, cost = str(stats.get("return_status", "")), bool(stats["success"]), float(solution["f"])
        return NonlinearResult(point, cost, multipliers, violations, status, success, int(stats["iter_count"]))


def weights_of(program: PathProgram, inputs: PathInputs) -> Array:
    """Return the weights (T, E) of E terms in T steps; a term of a single step has weight 1 only at this step."""
    weights = np.zeros((program.steps, len(program.terms)))
    for k, term in enumerate(program.terms):
        if term.at is None:
            weights[:, k] = np.asarray(inputs.weights, float)[:, k]
        else:
            weights[term.at, k] = 1.0
    return weights


def _finite(x: Any) -> Array:
    """Return bounds with infinities replaced by ±1e20, for use in expressions."""
    clipped: Array = np.clip(np.asarray(x, float), -1e20, 1e20)
    return clipped


def _function(program: PathProgram, term: PathTerm) -> Any:
    """Return a term's values as a CasADi function of (configurations, variables, parameters, times, target).

    The times are the entry of `PathProgram.clocks` for the step.
    """
    deep = program.depth + 1

    def values(Q: Any, U: Any, P: Any, clock: Any, target: Any) -> Any:
        window = program.window([list(q) for q in Q], [list(u) for u in U], list(P), list(clock))
        return np.array(term.feature.values(window, list(target)))

    shapes = {
        "Q": (deep, program.tree.nq),
        "U": (deep, program.extra),
        "P": (program.many,),
        "clock": (program.clock_size,),
        "target": (_size(program.tree, term),),
    }
    try:
        return compile(values, name="feature", **shapes).to_casadi()
    except ValueError as error:
        reason = str(error).removeprefix("feature: ")
        raise ValueError(
            f"{SOLVE}: solver: expected a solver for the feature {term.name!r}, got 'ipopt', which cannot compute it: "
            f'{reason}; or use solver="augmented"'
        ) from None


def _size(tree: Tree, term: PathTerm) -> int:
    """Return the size of a term's target."""
    target = term.feature.target_of
    sizes = {"nq": tree.nq, "nv": tree.nv}
    return 0 if target is None else math.prod(sizes[n] if isinstance(n, str) else n for n in target.shape)


def _integration(tree: Tree) -> Any:
    """Return the CasADi function q ⊕ v."""

    def integrated(q: Sequence[Any], v: Sequence[Any]) -> Any:
        return np.array(integrate(tree, list(q), list(v)))

    return compile(integrated, name="integrated", q=(tree.nq,), v=(tree.nv,)).to_casadi()

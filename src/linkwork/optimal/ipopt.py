"""IPOPT on a problem of optimal motion, through CasADi: what other solvers are held against.

It takes the place of the kernel that searches: a state of a search in, and out again when IPOPT has ended.

A path as a nonlinear program of CasADi's: variables, features as functions, exact sparse derivatives.

Each feature is traced once, as it is in a window on symbols, and is a `casadi.Function` from then on, called at the
steps where it counts.  Configurations are q̄_t ⊕ x_t with q̄ the first guess, and x_t the variables, so that nothing
leaves the joints' manifolds.  Numbers of a call are parameters of the program.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linkwork.kernels.compiler_api import compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.model.kernel_parameters import inputs_of
from linkwork.model.parametrized_tree import parametrized
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.path_augmented_lagrangian import SOLVED, STUCK, VIOLATED
from linkwork.optimal.algorithms.path_nlp import OptimalNumbers, PathPoint, PathProgram, PathTerm
from linkwork.optimal.kernels import SEARCH_SCALARS, numbers_of, point_of, shapes_of, state_shapes

__all__ = ["solve_by_casadi", "solve_by_ipopt"]


Array = np.ndarray[Any, Any]
_made: LazyCache[NonlinearPath] = LazyCache(32)


def solve_by_ipopt(
    program: PathProgram,
    state: Mapping[str, Array],
    inputs: Mapping[str, Array],
    tolerances: Array,
    max_iterations: int,
) -> dict[str, Array]:
    """The state of a search after IPOPT has ended, one sample after the other where there are several.

    Raises ImportError where CasADi is not installed, and ValueError for a feature that CasADi has no counterpart of.
    """
    shapes = state_shapes(program)
    needed = shapes | shapes_of(program)
    arrays = {name: np.asarray(x, float) for name, x in (*state.items(), *inputs.items()) if name in needed}
    lead = np.broadcast_shapes(*(x.shape[: x.ndim - len(needed[name])] for name, x in arrays.items()))
    states = {name: np.empty((*lead, *shape)) for name, shape in shapes.items()}
    wide = {name: np.broadcast_to(x, (*lead, *needed[name])) for name, x in arrays.items()}
    for place in np.ndindex(lead):
        own = {name: x[place] for name, x in wide.items()}
        result = solve_by_casadi(
            _on_numbers(program, own), numbers_of(program, own), point_of(program, own), max_iterations=max_iterations
        )
        for name, x in _state(program, result, tolerances[1:]).items():
            if name in states:
                states[name][place] = x
    states["penalties"] = np.array(wide["penalties"]) if "penalties" in wide else np.empty((*lead, 0))
    return {name: states[name] for name in shapes}


def _on_numbers(program: PathProgram, arrays: Mapping[str, Array]) -> PathProgram:
    """The program of a robot of these numbers, which is made anew for each."""
    if not program.robot_parameters:
        return program
    own = {p: arrays[name].tolist() for p, name in inputs_of(program.robot_parameters).items()}
    return replace(program, tree=parametrized(program.tree, own), robot_parameters=())


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


def solve_by_casadi(
    program: PathProgram,
    numbers: OptimalNumbers,
    guess: PathPoint,
    *,
    max_iterations: int = 3000,
    method: str = "ipopt",
) -> NonlinearResult:
    """From a guess on, with exact sparse first and second derivatives.  Made once for features and their schedule.

    Raises ImportError where CasADi is not installed, and ValueError for a feature that CasADi has no counterpart of.
    """
    try:
        casadi = importlib.import_module("casadi")
    except ImportError as error:
        raise ImportError(f'solver {method!r} takes CasADi: pip install "linkwork[casadi]"') from error
    counts = weights_of(program, numbers) != 0.0
    own = {"print_level": 0, "sb": "yes", "tol": 1e-9, "bound_relax_factor": 0.0, "max_iter": max_iterations}
    key = program, counts.tobytes(), method, max_iterations
    made = _made.get(key, lambda: NonlinearPath(casadi, program, counts, method, {"print_time": False, method: own}))
    return made.solve(numbers, guess)


class NonlinearResult(NamedTuple):
    """What was found.  By constraint: multipliers (T, rows) of its scaled rows, and its largest violation."""

    point: PathPoint
    cost: float
    multipliers: dict[int, Array]
    violations: dict[int, float]
    status: str
    success: bool
    iterations: int


class NonlinearPath:
    """A problem whose terms count at certain steps, for one of CasADi's solvers of nonlinear programs."""

    def __init__(
        self, casadi: Any, program: PathProgram, counts: Array, method: str, options: Mapping[str, Any]
    ) -> None:
        """``counts`` (T, E) says where terms count."""
        self.program, self.counts = program, counts
        tree, T = program.tree, program.steps
        functions = [_function(program, term) for term in program.terms]
        self._moved = _moved(tree)
        symbols = casadi.SX if all(f.is_a("SXFunction") for f in functions) else casadi.MX
        x, u = symbols.sym("x", tree.nv, T), symbols.sym("u", program.extra, T)
        p = symbols.sym("p", program.many)
        about, past = symbols.sym("about", tree.nq, T), symbols.sym("past", tree.nq, program.depth)
        clocks = symbols.sym("clocks", _clock(program), T)
        sizes = [_size(tree, term) for term in program.terms]
        weights = symbols.sym("weights", len(program.terms), T)
        scales, lower, upper = (symbols.sym(name, program.rows) for name in ("scales", "lower", "upper"))
        targets = [symbols.sym(f"target{k}", size, T) for k, size in enumerate(sizes)]
        steps = [self._moved(about[:, t], x[:, t]) for t in range(T)]
        configurations = [past[:, k] for k in range(program.depth)] + steps
        before = [symbols(program.extra, 1)] * program.depth  # of steps before the first: zeros
        variables = before + [u[:, t] for t in range(T)]
        cost, rows = symbols(0), []
        self._places: list[tuple[int, int]] = []  # term and step of each group of rows
        for k, (term, function) in enumerate(zip(program.terms, functions, strict=True)):
            for t in np.flatnonzero(counts[:, k]).tolist():
                window, count = slice(t, t + program.depth + 1), program.counted(k, t)
                own = slice(program.rows_of[k].start, program.rows_of[k].start + count)
                c = function(
                    casadi.horzcat(*configurations[window][::-1]).T,
                    casadi.horzcat(*variables[window][::-1]).T,
                    p,
                    clocks[:, t],
                    targets[k][:, t],
                )[:count]
                s = weights[k, t] * scales[own]
                if term.kind == "cost":
                    cost += casadi.dot(s, c)
                elif term.kind == "least_squares":
                    r = s * c
                    if term.bounded:
                        r = r - casadi.fmin(casadi.fmax(r, s * lower[own]), s * upper[own])
                    cost += 0.5 * casadi.sumsqr(r)
                else:
                    rows.append(s * c)
                    self._places.append((k, t))
        unknowns = casadi.vertcat(casadi.vec(casadi.vertcat(x, u)), p)
        given = (about, past, clocks, weights, scales, lower, upper, *targets)
        nlp = {
            "x": unknowns,
            "f": cost,
            "g": casadi.vertcat(*rows) if rows else symbols(0, 1),
            "p": casadi.vertcat(*map(casadi.vec, given)),
        }
        self._solver = casadi.nlpsol("path", method, nlp, dict(options))

    def solve(self, numbers: OptimalNumbers, guess: PathPoint) -> NonlinearResult:
        """From a first guess on."""
        program, T = self.program, self.program.steps
        weights, scales = weights_of(program, numbers), np.asarray(numbers.scales, float)
        about, past = np.asarray(guess.q, float), np.asarray(numbers.past, float)
        if not program.started:
            past = np.repeat(about[:1], program.depth, axis=0)
        columns = [
            about, past, np.array(program.clocks(numbers), float), weights, scales, _finite(numbers.lower),
            _finite(numbers.upper),
        ]  # fmt: skip
        for k, term in enumerate(program.terms):
            target = np.asarray(numbers.targets[k], float)
            columns.append(target if term.has_target_per_step else np.broadcast_to(target.ravel(), (T, target.size)))
        low, high, sizes = [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]
        for k, t in self._places:
            term, count = program.terms[k], program.counted(k, t)
            own = slice(program.rows_of[k].start, program.rows_of[k].start + count)
            s = weights[t, k] * scales[own]
            bounds = (np.zeros(count), np.zeros(count))
            if term.bounded:
                bounds = np.asarray(numbers.lower, float)[own], np.asarray(numbers.upper, float)[own]
            elif term.kind == "inequality":
                bounds = np.full(count, -np.inf), np.zeros(count)
            low.append(s * bounds[0])
            high.append(s * bounds[1])
            sizes.append(s)
        free = np.full(T * program.width, np.inf)
        start = np.hstack([np.zeros((T, program.tree.nv)), np.reshape(guess.u, (T, program.extra))])
        answer = self._solver(
            x0=np.concatenate([start.ravel(), np.ravel(guess.p)]),
            p=np.concatenate([np.ravel(x) for x in columns]),
            lbx=np.concatenate([-free, np.ravel(numbers.floor)]),
            ubx=np.concatenate([free, np.ravel(numbers.ceiling)]),
            lbg=np.concatenate(low),
            ubg=np.concatenate(high),
        )
        g = np.array(answer["g"]).ravel()
        missed = np.maximum(np.maximum(np.concatenate(low) - g, g - np.concatenate(high)), 0.0)
        return self._read(answer, about, missed / np.concatenate(sizes))

    def _read(self, answer: Mapping[str, Any], about: Array, missed: Array) -> NonlinearResult:
        program, T = self.program, self.program.steps
        unknowns, forces = (np.array(answer[name]).ravel() for name in ("x", "lam_g"))
        steps = unknowns[: T * program.width].reshape(T, program.width)
        q = np.array(
            [np.array(self._moved(a, x)).ravel() for a, x in zip(about, steps[:, : program.tree.nv], strict=True)]
        )
        multipliers = {k: np.zeros((T, program.terms[k].count)) for k in program.hard}
        violations = dict.fromkeys(program.hard, 0.0)
        start = 0
        for k, t in self._places:
            count = program.counted(k, t)
            multipliers[k][t, :count] = forces[start : start + count]
            violations[k] = max(violations[k], float(missed[start : start + count].max()))
            start += count
        stats = self._solver.stats()
        point = PathPoint(q, steps[:, program.tree.nv :], unknowns[T * program.width :])
        status, success, cost = str(stats.get("return_status", "")), bool(stats["success"]), float(answer["f"])
        return NonlinearResult(point, cost, multipliers, violations, status, success, int(stats["iter_count"]))


def weights_of(program: PathProgram, numbers: OptimalNumbers) -> Array:
    """By step and term (T, E): how much it counts; terms with a step of their own count there."""
    weights = np.zeros((program.steps, len(program.terms)))
    for k, term in enumerate(program.terms):
        if term.at is None:
            weights[:, k] = np.asarray(numbers.weights, float)[:, k]
        else:
            weights[term.at, k] = 1.0
    return weights


def _finite(x: Any) -> Array:
    """Bounds that an expression may have in it: where there is none, a number beyond all."""
    clipped: Array = np.clip(np.asarray(x, float), -1e20, 1e20)
    return clipped


def _function(program: PathProgram, term: PathTerm) -> Any:
    """A term's values in a window: by configurations, variables, parameters, clock and target."""
    deep = program.depth + 1

    def values(Q: Any, U: Any, P: Any, clock: Any, target: Any) -> Any:
        window = program.window([list(q) for q in Q], [list(u) for u in U], list(P), list(clock))
        return np.array(term.feature.values(window, list(target)))

    shapes = {
        "Q": (deep, program.tree.nq),
        "U": (deep, program.extra),
        "P": (program.many,),
        "clock": (_clock(program),),
        "target": (_size(program.tree, term),),
    }
    return compile(values, name="feature", **shapes).to_casadi()


def _clock(program: PathProgram) -> int:
    """How many numbers `PathProgram.clocks` has for a step."""
    return (program.depth + 2) * (1 + program.durations)


def _size(tree: Tree, term: PathTerm) -> int:
    """How many numbers a term aims at."""
    aim = term.feature.target_of
    sizes = {"nq": tree.nq, "nv": tree.nv}
    return 0 if aim is None else math.prod(sizes[n] if isinstance(n, str) else n for n in aim.shape)


def _moved(tree: Tree) -> Any:
    """q ⊕ v."""

    def moved(q: Sequence[Any], v: Sequence[Any]) -> Any:
        return np.array(integrate(tree, list(q), list(v)))

    return compile(moved, name="moved", q=(tree.nq,), v=(tree.nv,)).to_casadi()

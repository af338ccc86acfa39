"""A path as a nonlinear program of CasADi's: variables, features as functions, exact sparse derivatives.

Each feature is traced once, as it is in a window on symbols, and is a `casadi.Function` from then on, called at the
steps where it counts.  Configurations are q̄_t ⊕ x_t, and x_t the variables, so that joints' manifolds make no
difference; q̄ is the first guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...algorithms.configuration.manifold import integrate
from ...algorithms.optimal.window import PathWindow
from ...bridge.machine import compile
from ...features.contract import DEEPEST, Feature
from ...model.tree import Tree

__all__ = ["NonlinearPath", "Term"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Term:
    """A feature where it counts: its type, steps, and by step what its rows are multiplied by and aim at."""

    feature: Feature
    type: str  # "cost", "squares", "equality" or "inequality"
    steps: tuple[int, ...]
    scales: Array  # (steps, rows)
    targets: Array  # (steps, numbers)


class NonlinearPath:
    """The program of a problem: ``solver`` is CasADi's, made for it; the rest is what comes with a call."""

    def __init__(
        self,
        casadi: Any,
        tree: Tree,
        count: int,
        terms: Sequence[Term],
        variables: Mapping[str, int],
        parameters: Mapping[str, int],
        times: Any,
        *,
        method: str = "ipopt",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """``times(parameters)`` gives τ of each step, for lists of CasADi's numbers by name."""
        self.tree, self.count, self.terms = tree, count, tuple(terms)
        own = [_function(tree, term.feature, variables, parameters) for term in self.terms]
        kind = casadi.SX if all(f.is_a("SXFunction") for f in own) else casadi.MX
        many, wide = sum(variables.values()), sum(parameters.values())
        x, u, p = kind.sym("x", tree.nv, count), kind.sym("u", many, count), kind.sym("p", wide)
        about, before = kind.sym("about", tree.nq, count), kind.sym("before", tree.nq, DEEPEST)
        aims = [kind.sym(f"aim{k}", term.targets.shape[1], len(term.steps)) for k, term in enumerate(self.terms)]
        weights = [kind.sym(f"scale{k}", term.scales.shape[1], len(term.steps)) for k, term in enumerate(self.terms)]
        moved = _moved(tree)
        q = [before[:, k] for k in range(DEEPEST)] + [moved(about[:, t], x[:, t]) for t in range(count)]
        taus, clock = times(p), kind.sym("clock")
        ends = [clock]
        for tau in taus:
            ends.append(ends[-1] + tau)
        cost, rows = kind(0), []
        self.rows: list[tuple[int, int, bool]] = []  # term, step, whether an inequality: in the order of g
        for term, f, aim, weight in zip(self.terms, own, aims, weights, strict=True):
            depth = term.feature.depth
            for k, t in enumerate(term.steps):
                window = [q[DEEPEST + t - back] for back in range(depth + 1)]
                beside = [u[:, max(t - back, 0)] for back in range(depth + 1)]
                tau = [taus[max(t - back, 0)] for back in range(depth + 1)]
                found = f(
                    casadi.horzcat(*window).T, casadi.horzcat(*beside).T, casadi.vertcat(*tau), ends[t + 1], aim[:, k], p
                )
                found = weight[:, k] * found
                if term.type == "cost":
                    cost += casadi.sum1(found)
                elif term.type == "squares":
                    cost += 0.5 * casadi.sumsqr(found)
                else:
                    rows.append(found)
                    self.rows.append((self.terms.index(term), t, term.type == "inequality"))
        g = casadi.vertcat(*rows) if rows else kind(0, 1)
        self.low = np.concatenate([np.zeros(0)] + [
            np.full(self.terms[k].scales.shape[1], -np.inf if upper else 0.0) for k, _, upper in self.rows
        ])  # fmt: skip
        z = casadi.vertcat(casadi.vec(casadi.vertcat(x, u)), p)
        given = [clock, casadi.vec(about), casadi.vec(before), *map(casadi.vec, (*aims, *weights))]
        self.width = tree.nv + many
        self.solver = casadi.nlpsol(
            "path", method, {"x": z, "f": cost, "g": g, "p": casadi.vertcat(*given)}, dict(options or {})
        )


def _function(tree: Tree, feature: Feature, variables: Mapping[str, int], parameters: Mapping[str, int]) -> Any:
    """A feature's values by the window's configurations, variables, times between steps, time, target and parameters."""
    deep = feature.depth + 1

    def values(Q: Any, U: Any, tau: Any, time: Any, target: Any, P: Any) -> Any:
        window = PathWindow(
            tree,
            [list(Q[k]) for k in range(deep)],
            list(tau),
            time,
            [_named(variables, list(U[k])) for k in range(deep)],
            _named(parameters, list(P)),
        )
        return np.array(feature.values(window, list(target)))

    shapes = {
        "Q": (deep, tree.nq),
        "U": (deep, sum(variables.values())),
        "tau": (deep,),
        "time": (),
        "target": (_size(tree, feature),),
        "P": (sum(parameters.values()),),
    }
    return compile(values, name="feature", **shapes).to_casadi()


def _size(tree: Tree, feature: Feature) -> int:
    aim = feature.target_of
    if aim is None:
        return 0
    sizes = {"nq": tree.nq, "nv": tree.nv}
    return int(np.prod([n if isinstance(n, int) else sizes[n] for n in aim.shape]))


def _named(sizes: Mapping[str, int], numbers: Sequence[Any]) -> dict[str, list[Any]]:
    found, start = {}, 0
    for name, size in sizes.items():
        found[name] = list(numbers[start : start + size])
        start += size
    return found


def _moved(tree: Tree) -> Any:
    def moved(q: Any, v: Any) -> Any:
        return np.array(integrate(tree, list(q), list(v)))

    return compile(moved, name="moved", q=(tree.nq,), v=(tree.nv,)).to_casadi()

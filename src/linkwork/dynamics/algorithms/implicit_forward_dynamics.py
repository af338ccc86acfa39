"""Derivatives of accelerations by the equation that they solve, ID(q, v, a) = τ, instead of through its solution.

Forward, ȧ = M⁻¹ (τ̇ − dID), where dID is the rate of the joint forces while a stays.  In reverse, with M λ = w, the
gradient of w·a is λ by τ, and that of −λ·ID(q, v, a) by q and v.  What a took of M is used again, as a trace finds it.

Source: Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms, 2018, section IV.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.dynamics.algorithms.forward_dynamics import articulated_bodies, forward_dynamics
from linkwork.dynamics.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.expr.autodiff.custom_derivative import CustomDerivative
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.graph_derivative import adjoint, is_zero
from linkwork.expr.autodiff.implicit_derivative import ImplicitDerivative, Solution
from linkwork.expr.scalar.symbol import Graph, Symbol
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3

__all__ = ["RULES", "ImplicitDynamics"]

Scalars = Sequence[Any]
Watched = Callable[[Tree, Graph], Tree]


@dataclass(frozen=True, eq=False, slots=True)
class ImplicitDynamics(ImplicitDerivative):
    """a = FD(q, v, τ) of a tree whose own numbers are no symbols."""

    tree: Tree
    watched: Watched  # the tree, watched for the trace that it is walked in

    def compute(self, inputs: Scalars) -> tuple[Scalars, Scalars]:
        return articulated_bodies(self._walked(inputs), *self._apart(inputs)), ()

    @property
    def size(self) -> int:
        return self.tree.nv

    def pushed(self, at: Solution, direction: Scalars) -> Scalars:
        q, v, _ = self._apart(at.inputs)
        q_rate, v_rate, tau_rate = self._apart(direction)
        rates = [*q_rate, *v_rate, *[0.0] * len(at.results)]
        if all(map(is_zero, rates)):
            return tau_rate
        moving = seeded([*q, *v, *at.results], rates)
        tau = inverse_dynamics(self._walked(at.inputs), *self._apart(moving))
        rest = [parts(x, moving[0].level)[1] for x in tau]
        return [x - y for x, y in zip(tau_rate, rest, strict=True)]

    def pulled(self, at: Solution, multipliers: Scalars) -> Scalars:
        q, v, _ = self._apart(at.inputs)
        tau = inverse_dynamics(self._walked(at.inputs), q, v, at.results)
        moved = [x for x in (*q, *v, *at.results) if isinstance(x, Symbol)]
        found = dict(zip(moved, adjoint(tau, moved, [-x for x in multipliers]), strict=True))
        return [*(found.get(x, 0.0) if isinstance(x, Symbol) else 0.0 for x in (*q, *v)), *multipliers]

    def solved(self, at: Solution, right: Scalars, transpose: bool) -> list[Any]:
        """M(q)⁻¹ x, which is the acceleration at rest without gravity."""
        q, _, _ = self._apart(at.inputs)
        tree = self._walked([*q, *right]).under(Vec3.zero())
        return articulated_bodies(tree, q, [0.0] * self.tree.nv, right)

    def _walked(self, inputs: Scalars) -> Tree:
        symbol = next((x for x in inputs if isinstance(x, Symbol)), None)
        return self.tree if symbol is None else self.watched(self.tree, symbol.graph)

    def _apart(self, numbers: Scalars) -> tuple[Scalars, Scalars, Scalars]:
        nq, nv = self.tree.nq, self.tree.nv
        return numbers[:nq], numbers[nq : nq + nv], numbers[nq + nv :]


RULES: Mapping[Callable[..., Any], Callable[[Tree, Watched], CustomDerivative]] = {forward_dynamics: ImplicitDynamics}
"""How functions are differentiated, as they stand by default, where their operations are not followed."""

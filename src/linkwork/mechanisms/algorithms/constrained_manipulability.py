"""Manipulability of robots with constraints, from the motor forces that balance wrenches.

Motors move by S v, the velocities v satisfy G v = 0, and a frame moves by V = J v.  For each twist V there is a v of
least |S v|, and Vᵀ (J P Jᵀ)⁻¹ V = |S v|² is an ellipsoid.  Here y = P r solves

    SᵀS y + Gᵀ λ = r,      G y = 0.

These are the equations of the motor forces S y of least norm that balance the joint forces r, so

    J P Jᵀ = F Fᵀ,      w = √det(F Fᵀ),

where row i of F are the motor forces for the unit wrench i, joint forces J_i.

The velocities that the constraints permit in the joints between two frames have dimension d.  The motors S of these
joints have a projector S P Sᵀ, whose trace is d.  For d below the number of rows, w is the product of the d largest
singular values of F.

With V Vᵀ = Σ u uᵀ/σ² over the d largest singular values σ of F, and the multipliers y_i and constraint forces λ_i of
wrench i, the derivative of log w is

    Σ_i ∂J_i·z_i − λ_iᵀ ∂G z_i,      z = V Vᵀ y:

J and G are differentiated, but not the equations.

Source: Yoshikawa, Manipulability of robotic mechanisms, Int. Journal of Robotics Research 4 (2), 1985 (w, and its
duality with forces).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from math import inf
from typing import Any, ClassVar

from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import tangent_rates
from linkwork.expr.autodiff.custom_derivative import CustomDerivative, apply_rule, stop_gradient
from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.expr.control.loops import map_rows
from linkwork.expr.linalg.singular_values import Singular
from linkwork.expr.linalg.sparse_dot import (
    Matrix,
    add_matrices,
    dot,
    flat,
    identity,
    negated,
    product,
    reciprocal_or_zero,
    rows_of,
    transposed,
)
from linkwork.expr.scalar.functions import eq, log, lt, or_, where
from linkwork.kinematics.algorithms.forward_kinematics import fork
from linkwork.kinematics.algorithms.jacobians import jacobian
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import Actuation, Names
from linkwork.mechanisms.algorithms.constraint_rows import rates_of
from linkwork.model.tree import Tree

__all__ = ["constrained_manipulability", "constrained_manipulability_gradient", "log_manipulability"]

_MOVED = 1e-12  # squared share of a unit wrench that no motor balances, from which on the frame moves freely
_ROUNDING = 1e-12  # singular value, relative to the largest, below which it is 0
_LONG = 1000  # of joints squared times constraint rows, from which on wrenches are balanced in a loop


def constrained_manipulability(
    tree: Tree,
    q: Sequence[Any],
    frame: str,
    relative_to: str = "world",
    part: str = "all",
    actuators: Names = None,
) -> Any:
    """Return the manipulability w of a robot with constraints; infinity if the frame moves without motors.

    w is the product of the d largest singular values of F. Row i of F has the motor forces that balance the unit
    wrench i on the frame; d is the number of velocities that the constraints permit.
    """
    split = _Split.at(tree, q, frame, relative_to, part, actuators, 0.0)
    return where(split.free, inf, split.size)


def constrained_manipulability_gradient(
    tree: Tree,
    q: Sequence[Any],
    frame: str,
    relative_to: str = "world",
    part: str = "all",
    actuators: Names = None,
) -> list[Any]:
    """Return the derivative of the manipulability w along each velocity (nv), for a robot with constraints.

    It holds for velocities that satisfy the constraints. It is 0 where w is 0, and where the frame moves without
    motors.
    """
    split = _Split.at(tree, q, frame, relative_to, part, actuators, 0.0)
    moving = seeded([*q, 0.0], [*map(SparseTangent, tangent_rates(tree, q)), SparseTangent({})])
    change = _change(tree, moving, (frame, relative_to, part), *split.pulls(0.0))
    size = where(split.free, 0.0, split.size)
    return [where(eq(size, 0.0), 0.0, size * x) for x in _elements(change, moving[0].level, tree.nv)]


def log_manipulability(
    tree: Tree, q: Sequence[Any], frame: str, relative_to: str, part: str, time: Any, floor: Any
) -> tuple[Any, Any]:
    """Return log w of the manipulability w, and True if the frame moves without motors.

    ``floor`` is added to the squared singular values whose product is w².
    """
    value, free = apply_rule(_Logarithm(tree, (frame, relative_to, part), floor), [*q, time])
    return value, lt(0.5, free)


@dataclass(frozen=True, eq=False)
class _Logarithm(CustomDerivative):
    """Derivative rule of log w of the manipulability w, as a function of q and time.

    The second result is 1 if the frame moves without motors, else 0. The robot is not a field: it may contain
    functions of users, and the results and intermediate values have its code.
    """

    robot: InitVar[Tree]
    of: tuple[str, str, str]  # frame, relative_to and part
    floor: Any

    separable: ClassVar[bool] = False

    def __post_init__(self, robot: Tree) -> None:
        object.__setattr__(self, "tree", robot)

    tree: ClassVar[Tree]  # of the instance

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        split = _Split.at(self.tree, inputs[:-1], *self.of, None, inputs[-1])
        return [split.logarithm(self.floor), where(split.free, 1.0, 0.0)], flat(*split.pulls(self.floor))

    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        moving = seeded(inputs, direction)
        return [parts(self._change(moving, extra), moving[0].level)[1], 0.0]

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        count = len(inputs)
        moving = seeded(inputs, [SparseTangent({k: 1.0}) for k in range(count)])
        return [weights[0] * x for x in _elements(self._change(moving, extra), moving[0].level, count)]

    def _change(self, moving: Sequence[Any], extra: Sequence[Any]) -> Any:
        n = self.tree.nv
        count = 6 if self.of[2] == "all" else 3
        z, forces = rows_of(extra, n, count), extra[count * n :]
        return _change(self.tree, moving, self.of, z, rows_of(forces, len(forces) // count, count))


def _change(
    tree: Tree, at: Sequence[Any], of: tuple[str, str, str], z: Sequence[Sequence[Any]], forces: Sequence[Sequence[Any]]
) -> Any:
    """Return Σ_i J_i·z_i − λ_iᵀ G z_i at (q, time) = ``at``; its derivative is that of log w, w the manipulability.

    J_i are rows of the frame's Jacobian, and G is the constraint Jacobian. The multipliers z_i (nv) and constraint
    forces λ_i of the unit wrench i are constant.
    """
    J, G = _selected(tree, at[:-1], *of), rates_of(tree, at[:-1], [0.0] * tree.nv, at[-1]).rows
    return sum(
        (
            dot(row, z_i) - dot(pulls, [dot(G_row, z_i) for G_row in G])
            for row, z_i, pulls in zip(J, z, forces, strict=True)
        ),
        0.0,
    )


def _elements(x: Any, level: int, count: int) -> list[Any]:
    tangent = parts(x, level)[1]
    return [tangent.get(k) if tangent.__class__ is SparseTangent else 0.0 for k in range(count)]


def _selected(tree: Tree, q: Sequence[Any], frame: str, relative_to: str, part: str) -> list[list[Any]]:
    J = jacobian(tree, q, frame, relative_to, relative_to)
    return {"all": J, "position": J[3:], "angular": J[:3]}[part]


@dataclass(frozen=True, slots=True)
class _RangeInverse(CustomDerivative):
    """Derivative rule of the inverses P of A = F Fᵀ + f and Q of F Fᵀ, both restricted to the range of F.

    P and Q are 0 in the complement of the range, and f is a small multiple of the identity. The inputs are P and Q,
    which are not differentiated, and A. With N = 1 − P A, at constant rank:

        dP = −P dA P + P Q dA N + N dA Q P,      dQ = −Q dA Q + Q² dA N + N dA Q².
    """

    m: int
    separable: ClassVar[bool] = False

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        return inputs[: -(self.m**2)], ()

    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        dA = direction[-(self.m**2) :]
        return flat(*(self._rates(inputs, results, k, dA) for k in range(2)))

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        each = (self._rates(inputs, results, k, weights[k * self.m**2 : (k + 1) * self.m**2]) for k in range(2))
        return [*[0.0] * len(results), *flat(add_matrices(*each))]

    def _rates(self, inputs: Sequence[Any], results: Sequence[Any], which: int, change: Sequence[Any]) -> Matrix:
        """Return the derivative of P or Q for a change of A.  This map is its own adjoint."""
        m = self.m
        A, dA = rows_of(inputs[-(m**2) :], m), rows_of(change, m)
        P, Q = rows_of(results[: m**2], m), rows_of(results[m**2 :], m)
        projection = (P, Q)[which]
        N, both = add_matrices(identity(m), negated(product(P, A))), product(projection, Q)
        inner = negated(product(product(projection, dA), projection))
        return add_matrices(inner, product(product(both, dA), N), product(product(N, dA), both))


@dataclass(frozen=True)
class _Split:
    """Motor forces that balance unit wrenches on a frame."""

    acting: Actuation
    forces: list[tuple[list[Any], list[Any], list[Any]]]  # motor forces, constraint forces, missing forces by wrench
    values: Sequence[Any]  # singular values of F
    left: list[list[Any]]  # its left singular vectors as columns
    d: Any
    free: Any  # True if the frame moves without motors

    @property
    def size(self) -> Any:
        """The manipulability w."""
        result: Any = where(lt(self.d, 0.5), 0.0, 1.0)
        for k, value in enumerate(self.values):
            counted = where(lt(value, _ROUNDING * self.values[0]), 0.0, value)
            result = result * where(lt(self.d, k + 0.5), 1.0, counted)
        return result

    def logarithm(self, floor: Any) -> Any:
        """Return log w of the manipulability w, with ``floor`` added to squared singular values."""
        logs = [where(lt(self.d, k + 0.5), 0.0, log(x * x + floor)) for k, x in enumerate(self.values)]
        return 0.5 * sum(logs, where(lt(self.d, 0.5), log(floor), 0.0))

    def pulls(self, floor: Any) -> tuple[list[list[Any]], list[list[Any]]]:
        """Return the multipliers z (nv) and the constraint forces λ of each unit wrench, for the derivative of log w.

        w is the manipulability; ``floor`` is added to squared singular values. The derivative of z holds at constant
        rank, also for equal singular values.
        """
        u = stop_gradient([*flat(self.left), *self.values, self.d])
        m, count = len(self.left), len(self.values)
        left, values, d = rows_of(u, count, m), u[m * count : -1], u[-1]
        counts = [where(lt(d, k + 0.5), 0.0, 1.0) for k in range(count)]

        def inverse(floor: Any) -> Matrix:
            squares = [x * x + floor for x in values]
            shares = [c * reciprocal_or_zero(x, eq(x, 0.0)) for c, x in zip(counts, squares, strict=True)]
            return [[dot([s * x for s, x in zip(shares, row, strict=True)], column) for column in left] for row in left]

        tau = [[force[k] for k in self.acting.actuated] for force, *_ in self.forces]
        F = [[dot(a, b) for b in tau] for a in tau]
        for k, row in enumerate(F):
            row[k] = row[k] + floor
        known = inverse(floor), inverse(0.0)
        P = rows_of(apply_rule(_RangeInverse(m), flat(*known, F)), m)
        y = [self.acting.multipliers(force) for force, *_ in self.forces]
        return [[dot(row, column) for column in transposed(y)] for row in P], [force for _, force, _ in self.forces]

    @staticmethod
    def at(
        tree: Tree, q: Sequence[Any], frame: str, relative_to: str, part: str, actuators: Names, time: Any
    ) -> _Split:
        J, n = _selected(tree, q, frame, relative_to, part), tree.nv
        rates = rates_of(tree, q, [0.0] * n, time)
        in_loops = n**2 * len(rates.rows) > _LONG
        acting = Actuation.at(tree, q, rates, actuators, None, in_loops)

        def balanced(row: Sequence[Any]) -> list[Any]:
            tau, forces, missing = acting.split(row)
            return [*tau, *missing, *forces]

        rows = map_rows(balanced, J, in_loops=in_loops, alike=True)
        forces = [(row[:n], row[2 * n :], row[n : 2 * n]) for row in rows]
        _, to_frame, to_other = fork(tree, tree.frame(frame).body, tree.frame(relative_to).body)
        between = [tree.bodies[i].joint_name for i in (*to_other, *to_frame)]
        path = Actuation.at(tree, q, rates, between, None, in_loops)
        pushes = [[path.inertia[k] if k == j else 0.0 for j in range(n)] for k in path.actuated]
        transmitted = map_rows(lambda push: path.split(push)[0], pushes, in_loops=in_loops, alike=True)
        d = sum((row[k] / path.inertia[k] for k, row in zip(path.actuated, transmitted, strict=True)), 0.0)
        free: Any = False
        for row, (_, _, missing) in zip(J, forces, strict=True):
            free = or_(free, lt(_MOVED * dot(row, row), dot(missing, missing)))
        F = [[tau[k] for k in acting.actuated] for tau, _, _ in forces]
        if not acting.actuated:
            return _Split(acting, forces, (), [[] for _ in F], d, free)
        wide = len(F) < len(acting.actuated)
        tall = transposed(F) if wide else F
        m, count = len(tall), len(tall[0])
        factors = apply_rule(Singular(m, count, True), flat(tall))
        values, u, vt = factors[:count], factors[count : count * (1 + m)], factors[count * (1 + m) :]
        left = transposed(rows_of(vt, count, count)) if wide else rows_of(u, count, m)
        return _Split(acting, forces, values, left, d, free)

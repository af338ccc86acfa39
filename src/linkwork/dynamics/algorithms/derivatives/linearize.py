"""Linearisation of the dynamics about a state, in continuous time or for a step of an integrator.

The state is x = (q, v), and its change (δ, ε): δ is a tangent vector of q, so q changes to q ⊕ δ.  In continuous time

    δ̇ = B δ + ε,      ε̇ = ∂a/∂q δ + ∂a/∂v ε + M⁻¹ Δτ,

with the bracket B of `tangent_autodiff`, zero where q̇ = v.  For a step h it is the derivative of the integrator's step:

    euler                  q⁺ = q ⊕ h v,       v⁺ = v + h a(q, v, τ)
    semi_implicit_euler    v⁺ = v + h a(q, v, τ),       q⁺ = q ⊕ h v⁺
    runge_kutta_4          the classical four stages, of local coordinates φ around q and of v

Sources: Hairer, Lubich and Wanner, Geometric Numerical Integration, 2nd ed., 2006, chapters I and IV.8; Carpentier and
Mansard, Analytical derivatives of rigid body dynamics algorithms, RSS 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.dynamics.algorithms.derivatives.forward_dynamics_derivatives import forward_dynamics_derivatives
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import (
    bracket,
    integrate_derivatives,
    rate_derivatives,
)
from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force
from linkwork.dynamics.algorithms.mass_matrix_inverse import inverse_mass_matrix
from linkwork.expr.autodiff.dual_numbers import SparseTangent
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.model.friction_laws import DEFAULT, FrictionLaw
from linkwork.model.function_spec import PASSIVE_BY_DEFAULT, SMOOTH_FRICTION, FunctionSpec, Option, Output
from linkwork.model.tree import Tree

__all__ = ["ROWS", "System", "free_accelerations", "linear_system", "linearize"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]

INTEGRATOR = Option("integrator", "semi_implicit_euler", ("semi_implicit_euler", "euler", "runge_kutta_4"))


def linearize(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches = (),
    dt: Scalars | None = None,
    integrator: str = "semi_implicit_euler",
    passive: bool = True,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[Matrix, Matrix]:
    """Return A (2 nv × 2 nv) and B (2 nv × nv) of the linearized dynamics Δẋ = A Δx + B Δτ of the state x = (q, v).

    Changes of q are tangent vectors. With ``dt`` [s] the dynamics describe a step of the ``integrator``, Δx⁺ = A Δx + B
    Δτ for the next state x⁺. Raises ValueError for an integrator other than the default without ``dt``.
    """
    system = System(tree, list(tau), wrenches, passive, free_accelerations, friction)
    return linear_system(system, q, v, dt, integrator)


def linear_system(system: System, q: Scalars, v: Scalars, dt: Scalars | None, integrator: str) -> tuple[Matrix, Matrix]:
    """Return the matrices A and B of `linearize` for a system with its own function of accelerations."""
    tree, n = system.tree, system.tree.nv
    start = [_VariedValues.of(values, k * n, n) for k, values in enumerate((q, v))]
    if dt is None:
        if integrator != INTEGRATOR.default:
            raise ValueError(f"linearize: dt: expected a time step [s] for integrator={integrator!r}, got None")
        turned = [x + y for x, y in zip(_times(bracket(tree, q, v), start[0].changes), start[1].changes, strict=True)]
        rows = [*turned, *system.acceleration(*start).changes]
    else:
        rows = [row for part in _STEPS[integrator](system, *start, dt[0]) for row in part.changes]
    columns = [[row.get(k) for k in range(3 * n)] for row in rows]
    return [row[: 2 * n] for row in columns], [row[2 * n :] for row in columns]


@dataclass(frozen=True, slots=True)
class _VariedValues:
    """Values and their derivatives with respect to (q, v, τ).

    The derivatives of a configuration are derivatives of its tangent vector.
    """

    values: list[Any]
    changes: list[SparseTangent]

    @staticmethod
    def of(values: Scalars, first: int, count: int) -> _VariedValues:
        """Return values as independent variables; the index of the first one is ``first``."""
        return _VariedValues(list(values), [SparseTangent({first + k: 1.0}) for k in range(count)])

    def __add__(self, other: _VariedValues) -> _VariedValues:
        pairs = zip((self.values, self.changes), (other.values, other.changes), strict=True)
        return _VariedValues(*([x + y for x, y in zip(first, second, strict=True)] for first, second in pairs))

    def __mul__(self, k: Any) -> _VariedValues:
        return _VariedValues([x * k for x in self.values], [x * k for x in self.changes])


Accelerations = Callable[..., tuple[list[Any], Sequence[Matrix]]]
"""(tree, q, v, τ, wrenches, passive, friction) -> a, and its derivatives by q, v and τ."""


@dataclass(frozen=True, slots=True)
class System:
    """Dynamics of a robot as the functions that an integrator's step needs.

    They take and return values that carry their derivatives with respect to (q, v, τ).
    """

    tree: Tree
    tau: list[Any]
    wrenches: Wrenches
    passive: bool
    accelerations: Accelerations
    friction: str | FrictionLaw = DEFAULT.name

    def acceleration(self, q: _VariedValues, v: _VariedValues) -> _VariedValues:
        """Return the accelerations a(q, v, τ) with their derivatives."""
        how = self.wrenches, self.passive, self.friction
        a, (by_q, by_v, by_tau, *_) = self.accelerations(self.tree, q.values, v.values, self.tau, *how)
        forces = _VariedValues.of(self.tau, 2 * self.tree.nv, self.tree.nv)
        return _VariedValues(a, _sum(_times(by_q, q.changes), _times(by_v, v.changes), _times(by_tau, forces.changes)))

    def moved(self, q: _VariedValues, phi: _VariedValues) -> _VariedValues:
        """Return the configuration q ⊕ φ with its derivatives."""
        by_q, by_phi = integrate_derivatives(self.tree, q.values, phi.values)
        q_moved = integrate(self.tree, q.values, phi.values)
        return _VariedValues(q_moved, _sum(_times(by_q, q.changes), _times(by_phi, phi.changes)))

    def rate(self, q: _VariedValues, phi: _VariedValues, v: _VariedValues) -> _VariedValues:
        """Return φ̇, the rate of the local coordinates φ around q, while q ⊕ φ moves with velocity v."""
        rate, blocks = rate_derivatives(self.tree, q.values, phi.values, v.values)
        return _VariedValues(
            rate, _sum(*(_times(block, x.changes) for block, x in zip(blocks, (q, phi, v), strict=True)))
        )


def free_accelerations(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches,
    passive: bool,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[list[Any], Sequence[Matrix]]:
    """Return a (nv) of a robot without constraints, and its derivatives with respect to q, v and τ."""
    h = bias_force(tree, q, v, wrenches, passive, friction)
    a = inverse_mass_matrix(tree, q, passive).applied([x - y for x, y in zip(tau, h, strict=True)])
    return a, forward_dynamics_derivatives(tree, q, v, tau, wrenches, passive, friction)


def _euler(system: System, q: _VariedValues, v: _VariedValues, h: Any) -> tuple[_VariedValues, _VariedValues]:
    return system.moved(q, v * h), v + system.acceleration(q, v) * h


def _semi_implicit_euler(
    system: System, q: _VariedValues, v: _VariedValues, h: Any
) -> tuple[_VariedValues, _VariedValues]:
    faster = v + system.acceleration(q, v) * h
    return system.moved(q, faster * h), faster


def _runge_kutta_4(system: System, q: _VariedValues, v: _VariedValues, h: Any) -> tuple[_VariedValues, _VariedValues]:
    rates, accelerations = [v], [system.acceleration(q, v)]
    for share in (0.5, 0.5, 1.0):
        phi, w = rates[-1] * (h * share), v + accelerations[-1] * (h * share)
        rates.append(system.rate(q, phi, w))
        accelerations.append(system.acceleration(system.moved(q, phi), w))
    phi, change = (k[0] + (k[1] + k[2]) * 2.0 + k[3] for k in (rates, accelerations))
    return system.moved(q, phi * (h * (1.0 / 6.0))), v + change * (h * (1.0 / 6.0))


_STEPS: dict[str, Callable[..., tuple[_VariedValues, _VariedValues]]] = {
    "euler": _euler,
    "semi_implicit_euler": _semi_implicit_euler,
    "runge_kutta_4": _runge_kutta_4,
}


def _times(matrix: Sequence[Scalars], changes: Sequence[SparseTangent]) -> list[Any]:
    return [sum((x * k for k, x in zip(row, changes, strict=True)), SparseTangent({})) for row in matrix]


def _sum(*changes: Sequence[Any]) -> list[Any]:
    return [sum(terms, SparseTangent({})) for terms in zip(*changes, strict=True)]


ROWS = (
    FunctionSpec.of(
        linearize,
        "q v tau",
        (Output(("2nv", "2nv"), "1, s, 1/s, 1/s²", "A"), Output(("2nv", "nv"), "1/(kg·m²), 1/kg", "B")),
        "Linear system of small changes of state and joint forces, in time or for a step.",
        optional=("gravity", "dt"),
        options=(INTEGRATOR, PASSIVE_BY_DEFAULT, SMOOTH_FRICTION),
        takes_wrenches=True,
        joint_space=True,
        requires_regular_coordinates=True,
    ),
)

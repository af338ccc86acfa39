"""The conditions of an optimal motion in one step, and how they vary: for what moves where a problem changes.

A step has a state x, what is decided in it, z, and the state y that it leads to.  What leads there is stated without
being solved for, e(x, z, y) = 0, by forward dynamics of z = (u; f) as

    S u − (M(q) a + c(q, v) − Gᵀ f) = 0,      a = (v⁺ − v)/h,      q⁺ = q ⊕ h v⁺,      r(q⁺, q) = 0,

with what holds the robot, f and r; so accelerations are not differentiated through M⁻¹.  With the rows r of what is
wanted, their multipliers μ and those of the step, p, an optimal motion has in all of its steps together

    ∂/∂(x, z, y) Σ (costs and half the squares + μᵀ r + pᵀ e) = 0,

and as in `optimal.conditions` what changes by θ moves it by the second derivatives of the same sums.

Source: Fiacco, Introduction to Sensitivity and Stability Analysis in Nonlinear Programming, 1983.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.sparse_tangent import SparseTangent
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import where
from linkwork.kinematics.algorithms.configuration_manifold import difference, integrate
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.algorithms.shooting.augmented_cost import CONSTRAINTS, counts
from linkwork.optimal.algorithms.shooting.contact_dynamics import ContactDynamics
from linkwork.optimal.algorithms.shooting.cost_terms import CostTerms
from linkwork.optimal.algorithms.shooting.forward_dynamics_steps import RobotDynamics
from linkwork.optimal.algorithms.shooting.inverse_dynamics_steps import InverseDynamics, taken
from linkwork.optimal.algorithms.window_dynamics import JointForces

__all__ = ["StepConditions", "decided", "led_by"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]


def implied(dynamics: RobotDynamics) -> bool:
    """Whether a step is stated by inverse dynamics, and not solved for."""
    return not isinstance(dynamics, InverseDynamics) and dynamics.integrator != "runge_kutta_4"


def decided(dynamics: RobotDynamics) -> int:
    """How many numbers are decided in a step: controls, and forces of what holds."""
    return dynamics.controls + dynamics.more


def led_by(dynamics: RobotDynamics) -> int:
    """How many rows e has."""
    return dynamics.size + dynamics.more


@dataclass(frozen=True)
class StepConditions:
    """Of rows with weights w: ``pulls`` are multipliers of all rows of `rows`, of which costs and squares have none."""

    wanted: CostTerms
    weights: Scalars  # of moving and of reached rows
    data: Scalars

    @property
    def _dynamics(self) -> RobotDynamics:
        dynamics = self.wanted.dynamics.at(list(self.data))
        assert isinstance(dynamics, RobotDynamics)
        return dynamics

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of all rows: of what is wanted, of the step, and of its motors, which are told alone."""
        wanted = self.wanted
        step = ("equality",) * led_by(wanted.dynamics)
        return (*wanted.moving_kinds, *wanted.reached_kinds, *step, *("output",) * len(wanted.dynamics.actuated))

    def rows(self, x: Scalars, z: Scalars, y: Scalars, needed: bool = True) -> list[Any]:
        """What is wanted, times its weight and 0 where it does not count; e; forces of motors.

        Without what is ``needed``, what the motion and contacts take of joint forces is left out of e.
        """
        dynamics, data = self._dynamics, list(self.data)
        u, more = z[: dynamics.controls], z[dynamics.controls :]
        values = [*self.wanted.moving(x, u, [*y, *more], data), *self.wanted.reached(y, data)]
        values = [w * where(counts(w), r, 0.0) for r, w in zip(values, self.weights, strict=True)]
        return [*values, *self._step(dynamics, x, u, more, y, needed), *self._motors(dynamics, x, u)]

    def _motors(self, dynamics: RobotDynamics, x: Scalars, u: Scalars) -> list[Any]:
        if not isinstance(dynamics, InverseDynamics):
            return list(u)
        tau = dynamics.torque(x, u, dynamics.passive, self.data[0])
        return [tau[k] for k in dynamics.actuated]

    def _step(
        self, dynamics: RobotDynamics, x: Scalars, u: Scalars, more: Scalars, y: Scalars, needed: bool
    ) -> list[Any]:
        if not implied(dynamics):
            return dynamics.apart(y, dynamics.step(x, u))
        tree, h = dynamics.tree, dynamics.h
        (q, v), (p, w) = dynamics.parted(x), dynamics.parted(y)
        contact_models = dynamics.contact_models if isinstance(dynamics, ContactDynamics) else ()
        forces = self._forces(dynamics)
        if needed:
            tau = taken(forces, [*q, *v, *self._accelerations(dynamics, x, y), *more])
        else:
            tau = forces.keeping(q, dynamics.forces_by_name(more))
        residual = [b if is_zero(c) else b - c for b, c in zip(dynamics.forces(u), tau, strict=True)]
        residual += difference(tree, p, integrate(tree, q, [b * h for b in w]))
        start = 0
        window = PathWindow(tree, [p, q], [h, h], self.data[0])
        for one, on in zip(
            contact_models, dynamics.active if isinstance(dynamics, ContactDynamics) else (), strict=True
        ):
            own = more[start : start + one.force.size]
            residual += [on * r + (1.0 - on) * f for r, f in zip(one.feature.values(window, ()), own, strict=True)]
            start += one.force.size
        return residual

    def _accelerations(self, dynamics: RobotDynamics, x: Scalars, y: Scalars) -> list[Any]:
        return [(c - b) / dynamics.h for b, c in zip(dynamics.parted(x)[1], dynamics.parted(y)[1], strict=True)]

    def _forces(self, dynamics: RobotDynamics) -> JointForces:
        contact_models = dynamics.contact_models if isinstance(dynamics, ContactDynamics) else ()
        acting = tuple(one.force for one in contact_models)
        return JointForces(dynamics.tree, acting, dynamics.passive, self.data[0] - dynamics.h)

    # ---- how they vary

    @property
    def size(self) -> int:
        """Columns of (x, z, y)."""
        return 2 * self.wanted.dynamics.size + decided(self.wanted.dynamics)

    def _varied(self, of: Any, x: Scalars, z: Scalars, y: Scalars) -> tuple[list[Any], Matrix]:
        """Numbers of a function of (x, z, y), and how each changes by column."""
        dynamics = self.wanted.dynamics
        n, m = dynamics.size, len(z)
        rates: list[dict[Any, Any]] = [*dynamics.rates(x), *({n + k: 1.0} for k in range(m))]
        rates += [{n + m + k: rate for k, rate in row.items()} for row in dynamics.rates(y)]
        moving = seeded([*x, *z, *y], [SparseTangent(row) for row in rates])
        first, second = len(x), len(x) + m
        values = of(moving[:first], moving[first:second], moving[second:])
        split = [parts(value, moving[0].level) for value in values]
        tangents = [t if isinstance(t, SparseTangent) else SparseTangent({}) for _, t in split]
        return [value for value, _ in split], [[t.get(k) for k in range(self.size)] for t in tangents]

    def slopes(self, x: Scalars, z: Scalars, y: Scalars, pulls: Scalars) -> tuple[list[Any], list[Any]]:
        """The gradient by (x, z, y), and all rows."""
        values, J = self._varied(self.rows, x, z, y)
        return self._pulled(values, J, pulls), values

    def bends(self, x: Scalars, z: Scalars, y: Scalars, pulls: Scalars) -> tuple[Matrix, Matrix]:
        """Second derivatives of the same sum by (x, z, y), and derivatives of all rows."""
        dynamics = self._dynamics
        closed = implied(dynamics)

        def gradient(x: Scalars, z: Scalars, y: Scalars) -> list[Any]:
            values, J = self._varied(lambda x, z, y: self.rows(x, z, y, not closed), x, z, y)
            return self._pulled(values, J, pulls)

        _, bent = self._varied(gradient, x, z, y)
        _, J = self._varied(self.rows, x, z, y)
        H = [[0.5 * (bent[i][j] + bent[j][i]) for j in range(self.size)] for i in range(self.size)]
        if closed:
            start = len(self.weights)
            more = self._bent_forces(dynamics, x, z, y, [-p for p in pulls[start : start + dynamics.tree.nv]])
            H = [
                [a if is_zero(b) else a + b for a, b in zip(*lines, strict=True)] for lines in zip(H, more, strict=True)
            ]
        return H, J

    def _bent_forces(self, dynamics: RobotDynamics, x: Scalars, z: Scalars, y: Scalars, weights: Scalars) -> Matrix:
        """Second derivatives of Σ wᵢ τᵢ, what the motion and contacts take of joint forces, in closed form."""
        n, m = dynamics.tree.nv, len(z)
        q, v = dynamics.parted(x)
        forces, named = self._forces(dynamics), dynamics.forces_by_name(z[dynamics.controls :])
        by_qq, by_qv, by_vv, by_qa = forces.curvature(q, v, self._accelerations(dynamics, x, y), named, weights)
        rate = 1.0 / dynamics.h  # of accelerations, by velocities
        H: Matrix = [[0.0] * self.size for _ in range(self.size)]
        last = 3 * n + m  # of v⁺
        for i in range(n):
            for j in range(n):
                H[i][j] = by_qq[i][j]
                H[n + i][n + j] = by_vv[i][j]
                H[i][n + j] = H[n + j][i] = by_qv[i][j] - by_qa[i][j] * rate
                H[i][last + j] = H[last + j][i] = by_qa[i][j] * rate
        bent, start = forces.force_curvature(q, weights), 2 * n + dynamics.controls
        for name, numbers in named.items():
            for k, row in enumerate(bent.get(name, [])):
                for i, b in enumerate(row):
                    H[start + k][i] = H[i][start + k] = b
            start += len(numbers)
        return H

    def _pulled(self, values: Scalars, J: Matrix, pulls: Scalars) -> list[Any]:
        total: list[Any] = [0.0] * self.size
        for kind, value, row, pull in zip(self.kinds, values, J, pulls, strict=True):
            if kind == "output":
                continue
            force = pull if kind in CONSTRAINTS else 1.0 if kind == "cost" else value
            total = [a if is_zero(b) else a + force * b for a, b in zip(total, row, strict=True)]
        return total

"""Steps with accelerations as controls: x = (q, v), u are accelerations and variables, τ is the inverse dynamics.

    v⁺ = v + h a,       q⁺ = q ⊕ g v⁺,       τ = M(q) a + h(q, w) − Σ Jᵀ f

A step is purely kinematic, and torques are features of the step: motor limits are inequalities, and τ = 0 for joints
without motors, such as the six coordinates of a floating base.  With "semi_implicit_euler" w is v, and v⁺ for damping
and dry friction; the motion equals that of forward dynamics with τ, step by step.  With "stormer_verlet" w is the mean
of v and v⁺, with an error of O(h²), as for paths.  Derivatives of τ in every function of (x, u) are computed by the
derivatives of inverse dynamics.

Sources: Mastalli et al., Inverse-dynamics MPC via nullspace resolution, IEEE Trans. Robotics 39, 2023; Hairer, Lubich
and Wanner, Geometric numerical integration illustrated by the Störmer-Verlet method, Acta Numerica 12, 2003.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import integrate_derivatives
from linkwork.expr.autodiff.dual_numbers import Dual
from linkwork.expr.linalg.sparse_dot import dot, identity, is_zero
from linkwork.expr.scalar.multi_result import SparseRow
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.shooting.forward_dynamics_steps import RobotDynamics
from linkwork.optimal.algorithms.shooting.resisted_velocities import added_resistance, second_slopes
from linkwork.optimal.algorithms.shooting.step_dynamics import Dynamics, LinearStep, value_and_jacobian
from linkwork.optimal.algorithms.window_dynamics import JointForces
from linkwork.optimal.features.contact_features import ConstraintForce, PathContact

__all__ = ["INVERSE_INTEGRATORS", "InverseDynamics", "joint_forces"]

Scalars = Sequence[Any]

INVERSE_INTEGRATORS = ("semi_implicit_euler", "stormer_verlet")


@dataclass(frozen=True)
class InverseDynamics(RobotDynamics):
    """Step whose controls u are accelerations, then variables; joint forces τ follow by inverse dynamics.

    ``variables`` are their names and sizes. ``acting`` are the contacts and constraints whose forces are variables.
    """

    variables: tuple[tuple[str, int], ...] = ()
    acting: tuple[PathContact | ConstraintForce, ...] = field(default=())

    @property
    def controls(self) -> int:  # type: ignore[override]
        return self.tree.nv + sum(size for _, size in self.variables)

    def accelerations(self, x: Scalars, u: Scalars) -> list[Any]:
        return list(u[: self.tree.nv])

    def named(self, u: Scalars) -> dict[str, list[Any]]:
        """Return the variables of the step by name."""
        values, start = {}, self.tree.nv
        for name, size in self.variables:
            values[name] = list(u[start : start + size])
            start += size
        return values

    def force_arguments(self, x: Scalars, u: Scalars) -> tuple[list[Any], list[Any], list[Any]]:
        """Return (q, w, a), at which the joint forces of a step are evaluated by inverse dynamics.

        The velocity w is v, or (v + v⁺)/2 with "stormer_verlet", where v⁺ is the velocity after the step.
        """
        (q, v), a = self.split_state(x), self.accelerations(x, u)
        if self.integrator == "stormer_verlet":
            v = [w + b * (0.5 * self.h) for w, b in zip(v, a, strict=True)]
        return q, v, a

    def torque(self, x: Scalars, u: Scalars, passive: bool, time: Any) -> list[Any]:
        """Return the joint forces τ (nv) of a step [N·m, N]; ``time`` is the time [s] of the next configuration."""
        q, w, a = self.force_arguments(x, u)
        named = self.named(u)
        forces = [f for force in self.acting for f in named[force.name]]
        tau = joint_forces(JointForces(self.tree, self.acting, passive, time - self.gap), [*q, *w, *a, *forces])
        if not (passive and self.is_resisted):
            return tau
        after = [b + c * self.h for b, c in zip(w, a, strict=True)]
        return [b + c for b, c in zip(tau, added_resistance(self.tree, w, after), strict=True)]

    def torque_curvature(self, x: Scalars, u: Scalars, weights: Scalars, passive: bool, time: Any) -> list[list[Any]]:
        """Return the second derivatives of Σ wᵢ τᵢ with respect to (x, u), for the joint forces τ of a step.

        ``weights`` are w. τ does not include constraint forces.
        """
        tree, n, half = self.tree, self.tree.nv, 0.5 * self.h if self.integrator == "stormer_verlet" else 0.0
        named, columns, start = self.named(u), {}, 3 * n
        for name, size in self.variables:
            columns[name] = start
            start += size
        motion = self.force_arguments(x, u)
        dynamics = JointForces(tree, self.acting, passive, time - self.gap)
        by_qq, by_qw, by_ww, by_qa = dynamics.curvature(*motion, named, weights)
        H: list[list[Any]] = [[0.0] * start for _ in range(start)]
        for i in range(n):
            for j in range(n):
                H[i][j] = by_qq[i][j]
                H[n + i][n + j] = by_ww[i][j]
                H[i][n + j] = H[n + j][i] = by_qw[i][j]
                H[i][2 * n + j] = H[2 * n + j][i] = by_qa[i][j]
                if not is_zero(half):
                    H[i][2 * n + j] = H[2 * n + j][i] = by_qa[i][j] + half * by_qw[i][j]
                    H[n + i][2 * n + j] = H[2 * n + j][n + i] = half * by_ww[i][j]
                    H[2 * n + i][2 * n + j] = half * half * by_ww[i][j]
        if passive and self.is_resisted:
            _, v, a = motion
            after = [b + c * self.h for b, c in zip(v, a, strict=True)]
            bent, bent_v = ([b * w for b, w in zip(second_slopes(tree, at), weights, strict=True)] for at in (after, v))
            for i in range(n):
                H[n + i][n + i] = H[n + i][n + i] + bent[i] - bent_v[i]
                H[n + i][2 * n + i] = H[2 * n + i][n + i] = H[n + i][2 * n + i] + self.h * bent[i]
                H[2 * n + i][2 * n + i] = H[2 * n + i][2 * n + i] + self.h * self.h * bent[i]
        for name, rows in dynamics.force_curvature(motion[0], weights).items():
            for k, row in enumerate(rows):
                for i, b in enumerate(row):
                    H[columns[name] + k][i] = H[i][columns[name] + k] = b
        return H

    def motors(self, x: Scalars, u: Scalars, gains: Sequence[Scalars], time: Any) -> tuple[list[Any], list[list[Any]]]:
        """Return the motor forces of a step, and their derivative with respect to x under feedback.

        The control changes by du = K dx with the feedback gains K = ``gains``.
        """
        n = self.size
        tau, rows = value_and_jacobian(lambda x, u: self.torque(x, u, self.passive, time), x, u, self.rates(x))
        columns = [[row[j] for row in gains] for j in range(n)]
        slopes = [
            [rows[k].get(j, 0.0) + dot([rows[k].get(n + i, 0.0) for i in range(len(u))], columns[j]) for j in range(n)]
            for k in self.actuated
        ]
        return [tau[k] for k in self.actuated], slopes

    def step(self, x: Scalars, u: Scalars) -> list[Any]:
        q, v = self.split_state(x)
        v = [b + c * self.h for b, c in zip(v, self.accelerations(x, u), strict=True)]
        return [*integrate(self.tree, q, [b * self.gap for b in v]), *v]

    def linear(self, x: Scalars, u: Scalars) -> tuple[list[Any], LinearStep]:
        n, m, h, gap = self.tree.nv, self.controls, self.h, self.gap
        y = self.step(x, u)
        q, _ = self.split_state(x)
        by_configuration, by_step = integrate_derivatives(self.tree, q, [b * gap for b in y[self.tree.nq :]])
        unit, zeros = identity(n), [0.0] * n
        velocity_rows = [[*zeros, *row, *(b if is_zero(b) else h for b in row), *([0.0] * (m - n))] for row in unit]
        rows = [[*row, *zeros, *([0.0] * m)] for row in unit]
        position_rows = [[*by_configuration[i], *(b if is_zero(b) else b * gap for b in by_step[i])] for i in range(n)]
        identity_rows = [[*zeros, *row] for row in unit]
        return y, LinearStep(([*position_rows, *identity_rows], [*rows, *velocity_rows]))

    def curvature(self, x: Scalars, u: Scalars, gradients: Sequence[Scalars]) -> list[list[list[Any]]]:
        return Dynamics.curvature(self, x, u, gradients)


def joint_forces(of: JointForces, arguments: Scalars) -> list[Any]:
    """Return the joint forces τ by inverse dynamics at a configuration q, velocity w and acceleration a.

    ``arguments`` are the values of q, w, a and the contact and constraint forces, in one list. If they are dual
    numbers, the result's derivatives are computed by the derivatives of inverse dynamics.
    """
    return list(_JointForceFunction(of)(arguments))


@dataclass(frozen=True)
class _JointForceFunction:
    """The joint forces τ as a function of one list (q, w, a, forces), with closed-form derivatives for dual numbers.

    w is the velocity; the derivatives are those of inverse dynamics.
    """

    of: JointForces

    def __call__(self, arguments: Sequence[Any]) -> Sequence[Any]:
        dual = next((x for x in arguments if x.__class__ is Dual), None)
        return self.of.torque(*self._parted(arguments)) if dual is None else dual._bundled(self, arguments)

    def push_forward(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[SparseRow]
    ) -> Sequence[SparseRow]:
        q, w, a, forces = self._parted(arguments)
        slopes = self.of.torque_derivatives(q, w, a, forces)
        blocks = [slopes.by_q, slopes.by_v, slopes.by_a, *(slopes.by_forces[force.name] for force in self.of.acting)]
        whole = [[x for block in blocks for x in block[i]] for i in range(len(results))]
        pushed: list[dict[Any, Any]] = [{} for _ in results]
        tree = self.of.tree
        for key in dict.fromkeys(key for row in rows for key in row):
            rates = [row.get(key, 0.0) for row in rows]
            change = [*_tangent(tree, q, rates[: tree.nq]), *rates[tree.nq :]]
            for i, row in enumerate(whole):
                x = dot(row, change)
                if not is_zero(x):
                    pushed[i][key] = x
        return pushed

    def _parted(self, x: Scalars) -> tuple[list[Any], list[Any], list[Any], Mapping[str, list[Any]]]:
        tree = self.of.tree
        start, n = tree.nq + 2 * tree.nv, tree.nv
        forces = {}
        q, w, a = x[: tree.nq], x[tree.nq : tree.nq + n], x[tree.nq + n : start]
        for force in self.of.acting:
            forces[force.name] = list(x[start : start + force.size])
            start += force.size
        return list(q), list(w), list(a), forces


def _tangent(tree: Tree, q: Scalars, rates: Scalars) -> list[Any]:
    """Return the tangent vector along which the elements of q change at these ``rates``."""
    columns: list[Any] = []
    for i, body in tree.stacked():
        span = tree.q_slices[i]
        columns += body.call_joint("velocity_from_rate", q[span], list(rates[span]))
    return columns

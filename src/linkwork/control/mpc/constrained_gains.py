"""Motor forces and feedback gains along a path of a robot with contacts or constraints.

The joint forces of a motion are those of motors and of contacts, τ = S u + Gᵀ f, with the contact forces f of the plan.
Without planned contact forces, or with a rest in joints without motors, the rest is distributed over u and f with the
minimum norm.  Gains are those of the dynamics in which contacts and constraints stay satisfied.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork.control.mpc.mpc_plan import MPCPlan, frictionless
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control.loops import scan
from linkwork.expr.equations.linear_quadratic import riccati_step_of_hessian
from linkwork.expr.linalg.sparse_dot import lower_of, mirrored_of
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.kernel_parameters import Parameter, inputs_of
from linkwork.model.parametrized_tree import parametrized
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.path_nlp import control_times, gap_shares
from linkwork.optimal.algorithms.shooting.contact_dynamics import ContactDynamics, ContactModel
from linkwork.optimal.robot_parameters import forces_of_states, per_step_parameters, robot_inputs, with_inputs
from linkwork.optimal.shooting.contact_phases import ContactPhases, distribute_forces

__all__ = ["ConstrainedPlans"]

ParameterValues = Mapping[Parameter, np.ndarray]

_KERNELS: LazyCache[Kernel] = LazyCache(32)


class ConstrainedPlans:
    """Planner of joint forces and gains along paths, for a robot with contacts or constraints.

    A path has ``steps`` time steps; ``acting`` are the indices of motors in v.
    """

    def __init__(
        self,
        robot: Any,
        phases: ContactPhases,
        steps: int,
        acting: tuple[int, ...],
        passive: bool,
        parameters: tuple[Parameter, ...] = (),
    ) -> None:
        self.robot, self.phases, self.steps, self.acting, self.passive = robot, phases, steps, acting, passive
        self.parameters = parameters  # of the robot, inputs of each call
        self._free = robot.without_constraints() if robot.tree.constraints else robot

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.robot, self.phases, self.steps, self.acting, self.passive, self.parameters)

    @cached_property
    def gains(self) -> Kernel:
        """Kernel that computes the gains K (steps, m, 2nv) of the time-varying LQR along a path.

        Its inputs are q (steps, nq) in the middles and v (steps, nv) at the beginnings of steps, forces u (steps, m),
        the data of each step (`ContactDynamics.at`), the time step, and the cost matrices Q (2nv, 2nv) and R (m, m).
        """
        key = (self.robot.tree, self.steps, self.acting, self.passive, self.phases.contact_models, self.parameters)
        return _KERNELS.get(key, lambda: _compiled(*key))

    def planned(
        self,
        q: np.ndarray,
        v: np.ndarray,
        path: np.ndarray,
        active: np.ndarray,
        known: tuple[np.ndarray | None, Mapping[str, np.ndarray]],
        step: float,
        Q: np.ndarray,
        R: np.ndarray,
        values: ParameterValues,
    ) -> MPCPlan:
        """Return the plans along paths (n, steps, nq) from states (n, nq), (n, nv).

        ``active`` (..., steps, contacts) is 1 where a contact or constraint acts.  ``known`` are the planned forces:
        joint forces of motors (n, steps, nv), or None and those of contacts by name.  ``values`` are the robot's
        parameters, (n, *shape) or (*shape,).
        """
        robot, indices = self.robot, list(self.acting)
        middles = np.concatenate([robot.integrate(q, (0.5 * step) * v)[:, None], path[:, :-1]], axis=1)
        later = robot.difference(middles, path) / (step * gap_shares(self.steps)[:, None])
        states = np.concatenate([q[:, None], robot.integrate(middles, (0.5 * step) * later)], axis=1)
        rates = np.concatenate([v[:, None], later], axis=1)
        active = np.broadcast_to(active, (len(q), *active.shape[-2:]))
        if known[0] is None:
            a = (rates[:, 1:] - rates[:, :-1]) / step
            each = per_step_parameters(self.robot.tree, values)
            mean = 0.5 * (rates[:, 1:] + rates[:, :-1])
            u = self._forces(middles, mean, a, active, self._known_forces(active, known[1]), each)
        else:
            u = known[0][..., indices]
        tau = np.zeros((*u.shape[:-1], self.robot.nv))
        tau[..., indices] = u
        times, shares = control_times(np.full(self.steps, step), True), gap_shares(self.steps)
        instants = np.broadcast_to(np.stack([times, shares], axis=-1), (*active.shape[:-1], 2))
        times_and_phases = np.concatenate([instants, active], axis=-1)
        inputs = robot_inputs(self.robot.tree, values)
        K = self.gains(middles, rates[:, :-1], u, times_and_phases, np.array(step), Q, R, **inputs)
        return MPCPlan(states, rates, tau, K)

    def braking(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, active: np.ndarray, values: ParameterValues
    ) -> np.ndarray:
        """Return joint forces of motors (n, nv) whose accelerations are closest to ``a``, with contacts ``active``."""
        active = np.broadcast_to(active, (len(q), active.shape[-1]))
        result = np.zeros_like(v)
        result[:, list(self.acting)] = self._forces(q, v, a, active, self._known_forces(active, {}), values)
        return result

    def _known_forces(self, active: np.ndarray, known: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the planned contact forces, concatenated (..., force components); 0 for unknown or inactive ones."""
        result = []
        for k, model in enumerate(self.phases.contact_models):
            none = np.zeros((*active.shape[:-1], model.force.size))
            result.append(known.get(model.force.name, none) * active[..., k, None])
        return np.concatenate(result, axis=-1)

    def _forces(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        active: np.ndarray,
        planned: np.ndarray,
        values: ParameterValues,
    ) -> np.ndarray:
        tau = forces_of_states(self._free, values, q, v, a, passive=self.passive)
        return distribute_forces(self.robot, self.phases, tau, q, list(self.acting), active, planned, values)


def _compiled(
    bare: Tree,
    steps: int,
    acting: tuple[int, ...],
    passive: bool,
    contact_models: tuple[ContactModel, ...],
    parameters: tuple[Parameter, ...],
) -> Kernel:
    n, m = 2 * bare.nv, len(acting)

    def planned(
        whole_path: Any, rates: Any, u: Any, times_and_phases: Any, step: Any, Q: Any, R: Any, **inputs: Any
    ) -> Any:
        tree = with_inputs(bare, parameters, inputs)
        tree = parametrized(tree, frictionless(tree)) if passive else tree
        dynamics = ContactDynamics(tree, step, acting, "semi_implicit_euler", passive, contact_models)

        def back(lower: Any, row: Any) -> Any:
            q, v, u, times_and_phases = (list(part) for part in row)
            _, linear = dynamics.at(times_and_phases).linear([*q, *v], u)
            X, K = riccati_step_of_hessian(linear.hessian(mirrored_of(list(lower), n)), Q, R)
            return array(lower_of(X)), array(dynamics.by_begin([*q, *v], K))

        return scan(back, array(lower_of(Q)), (whole_path, rates, u, times_and_phases), reverse=True)[1]

    sizes = {
        "whole_path": (steps, bare.nq),
        "rates": (steps, bare.nv),
        "u": (steps, m),
        "times_and_phases": (steps, 2 + len(contact_models)),
    }
    more = {name: (prod(p.shape(bare)),) for p, name in inputs_of(parameters).items()}
    return compile(planned, name="constrained_plan", **sizes, step=(), Q=(n, n), R=(m, m), **more)

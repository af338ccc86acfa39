"""Joint forces and gains of a model-predictive controller: from new plans, from earlier plans, and for braking.

With contacts or constraints, the joint forces of a motion are those of motors and of contacts, τ = S u + Gᵀ f, with the
contact forces f of the plan.  The plan may have no contact forces, or may leave joint forces at joints without motors.
Then the remaining joint forces are distributed over u and f with the minimum norm.  Gains are those of the dynamics in
which contacts and constraints stay satisfied.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork.control.mpc.mpc_plan import (
    BRAKING,
    EXCESS,
    ROUNDING,
    SATURATED,
    MPCPlan,
    Planner,
    Search,
    delayed_actuation,
    frictionless,
    plan_kernel,
)
from linkwork.errors import Status
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control.loops import scan
from linkwork.expr.equations.linear_quadratic import riccati_step_of_hessian
from linkwork.expr.linalg.sparse_dot import lower_of, mirrored_of
from linkwork.kernels.compiler_api import FEW, Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.kernel_parameters import Parameter, inputs_of
from linkwork.model.parametrized_tree import parametrized
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.path_nlp import control_times, gap_shares
from linkwork.optimal.algorithms.shooting.contact_dynamics import ContactDynamics, ContactModel
from linkwork.optimal.robot_parameters import (
    forces_of_states,
    own_robot_parameters,
    per_step_parameters,
    robot_inputs,
    with_inputs,
)
from linkwork.optimal.shooting.contact_phases import ContactPhases, contact_phases, distribute_forces

__all__ = ["ParameterValues", "PlanActuation", "by_environment_mask"]

ParameterValues = Mapping[Parameter, np.ndarray]
_KERNELS: LazyCache[Kernel] = LazyCache(32)


class PlanActuation:
    """Computation of plans from a planner's paths, and of joint forces from plans, within effort limits.

    ``acting`` (m,) are the indices in τ of the joints with motors, and ``effort_limits`` (nv,) their largest forces.
    ``Q`` (2nv, 2nv) and ``R`` (m, m) are the weights of deviations from a plan, of the state and of forces.
    ``parameters`` are the robot's parameters that come with each step.
    """

    def __init__(
        self,
        caller: str,
        problem: Any,
        planner: Planner,
        acting: np.ndarray,
        effort_limits: np.ndarray,
        passive: bool,
        parameters: tuple[Parameter, ...],
        Q: np.ndarray,
        R: np.ndarray,
    ) -> None:
        self._planner, self._robot, self._acting, self._passive = planner, planner.robot, acting, passive
        self._problem, self._parameters, self._Q, self._R = problem, parameters, Q, R
        self._step = np.array(planner.step)
        self._max_effort = np.zeros(self._robot.nv)  # 0 for joints without a motor
        self._max_effort[acting] = effort_limits[acting]
        self.constrained = self._constrained_plans(caller)

    @cached_property
    def _plan_kernel(self) -> Kernel:
        arguments = self._robot, self._planner.steps, tuple(self._acting.tolist()), self._passive
        return plan_kernel(*arguments, self._parameters)

    def _constrained_plans(self, caller: str) -> ConstrainedPlans | None:
        """Return the object that plans with contacts or constraints; None for a robot without them."""
        if getattr(self._problem, "robot", None) is not self._robot:
            return None
        phases = contact_phases(caller, self._problem)
        if not phases.contact_models:
            return None
        arguments = self._robot, phases, self._planner.steps, tuple(self._acting.tolist()), self._passive
        return ConstrainedPlans(*arguments, self._parameters)

    def __getstate__(self) -> dict[str, Any]:
        return {name: x for name, x in self.__dict__.items() if name != "_plan_kernel"}

    @property
    def kernel(self) -> Kernel:
        """The kernel that each step runs."""
        return self._plan_kernel if self.constrained is None else self.constrained.gains

    def prepare(self, braking_time: float, num_environments: int = 1) -> None:
        """Compile the code besides `kernel` that `plan_along` and `forces` run for this number of environments."""
        robot, steps = self._robot, self._planner.steps
        n = min(num_environments, FEW)
        q, v = np.repeat(np.asarray(robot.neutral())[None], n, axis=0), np.zeros((n, robot.nv))
        for count in (1, steps):  # of configurations of an environment
            configurations, rates = np.repeat(q, count, axis=0), np.repeat(v, count, axis=0)
            robot.difference(configurations, robot.integrate(configurations, rates))
        active = np.zeros((steps, 0)) if self.constrained is None else self.constrained.phases.active(steps)
        values = own_robot_parameters("controller", self._problem, [*map(str, self._parameters)])
        with np.errstate(all="ignore"):
            self._braking(q, v, active, values, braking_time)
            if self.constrained is not None:
                path = np.repeat(q[:, None], steps, axis=1)
                self.plan_along(q, v, path, self._planner.initial_search(q), active, values)

    def plan_along(
        self,
        q: np.ndarray,
        v: np.ndarray,
        path: np.ndarray,
        search: Search,
        active: np.ndarray,
        values: ParameterValues,
    ) -> MPCPlan:
        """Return the plans along paths (n, steps, nq) from states (n, nq), (n, nv), with forces and gains.

        ``active`` (..., steps, contacts) is 1 where a contact or constraint acts.
        """
        if self.constrained is not None:
            is_finite = np.isfinite(path).all(axis=(1, 2))
            path = np.where(by_environment_mask(is_finite, path), path, q[:, None])
            known = self._planner.known_forces(search)
            return self.constrained.planned(q, v, path, active, known, self._planner.step, self._Q, self._R, values)
        inputs = robot_inputs(self._robot.tree, values)
        planned = self._plan_kernel(q, v, path, self._step, self._Q, self._R, **inputs)
        forces, _ = self._planner.known_forces(search)
        return MPCPlan(planned.q, planned.v, planned.tau if forces is None else forces, planned.K)

    def _braking(
        self, q: np.ndarray, v: np.ndarray, active: np.ndarray, values: ParameterValues, braking_time: float
    ) -> np.ndarray:
        """Return the joint forces (n, nv) of the accelerations −v/braking_time, with the contacts of the first step."""
        a = -v / braking_time
        if self.constrained is not None:
            return self.constrained.braking(q, v, a, active[..., 0, :], values)
        return forces_of_states(self._robot, values, q, v, a, passive=self._passive)

    def forces(
        self,
        q: np.ndarray,
        v: np.ndarray,
        plan: MPCPlan | None,
        age: np.ndarray,
        is_new: np.ndarray,
        new_status: Status,
        old_status: Status,
        active: np.ndarray,
        values: ParameterValues,
        braking_time: float,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return joint forces (n, nv) within limits, gains (n, m, 2nv) and statuses (n,) of n environments.

        ``age`` (n,) [s] is the time since an environment's plan began. ``is_new`` (n,) is True where the plan was
        computed in this step. The status is ``new_status`` for a new plan, ``old_status`` for an earlier one, and
        `BRAKING` where the plan is over, so that the environment is braked. It is `SATURATED` where forces of a new
        plan are cut to the limits.
        """
        if is_new.all() and plan is not None:
            torque, K, status = plan.tau[:, 0], plan.K[:, 0], np.full(len(q), new_status)
        else:
            robot, step = self._robot, self._planner.step
            end = (self._planner.steps - ROUNDING) * step
            torque = self._braking(q, v, active, values, braking_time)
            K = np.zeros((len(q), len(self._acting), 2 * robot.nv))
            ongoing = np.flatnonzero(age < end)
            if len(ongoing) and plan is not None:
                ongoing_plans = MPCPlan(*(x[ongoing] for x in plan))
                state = q[ongoing], v[ongoing]
                now = age[ongoing] / step, step
                torque[ongoing], K[ongoing] = delayed_actuation(robot, ongoing_plans, *now, *state, self._acting)
            status = np.where(is_new, new_status, np.where(age < end, old_status, BRAKING))
        limited = np.minimum(np.maximum(torque, -self._max_effort), self._max_effort)
        if np.count_nonzero(limited != torque):
            # how much a search may exceed limits; of joints without a motor, rounding relative to the largest force
            scale = np.where(self._max_effort > 0.0, self._max_effort, np.abs(torque).max(axis=1, keepdims=True))
            is_cut = (np.abs(torque - limited) > EXCESS * scale).any(axis=1) & is_new
            status = np.where(is_cut, SATURATED, status) if is_cut.any() else status
        return limited, K, status


def by_environment_mask(mask: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return a mask (n,) with as many axes as ``x`` (n, ...)."""
    return mask.reshape(-1, *(1,) * (x.ndim - 1))


class ConstrainedPlans:
    """Computation of joint forces and gains along paths, for a robot with contacts or constraints.

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
        """Return the planned forces of all contacts and constraints in one array (..., force components).

        ``known`` are the forces by name; forces of unknown or inactive contacts are 0.
        """
        result = []
        for k, model in enumerate(self.phases.contact_models):
            no_forces = np.zeros((*active.shape[:-1], model.force.size))
            result.append(known.get(model.force.name, no_forces) * active[..., k, None])
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

"""Joint forces and gains of a model-predictive controller: from new plans, from earlier ones, and for braking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork.control.mpc.constrained_gains import ConstrainedPlans
from linkwork.control.mpc.mpc_plan import BRAKING, ROUNDING, SATURATED, MPCPlan, delayed_actuation, plan_kernel
from linkwork.control.mpc.mpc_solvers import EXCESS, Planner, Search
from linkwork.errors import Status
from linkwork.kernels.compiler_api import FEW, Kernel
from linkwork.model.kernel_parameters import Parameter
from linkwork.optimal.robot_parameters import forces_of_states, own_robot_parameters, robot_inputs
from linkwork.optimal.shooting.contact_phases import contact_phases

__all__ = ["ParameterValues", "PlanActuation", "by_environment_mask"]

ParameterValues = Mapping[Parameter, np.ndarray]


class PlanActuation:
    """Plans along paths of a planner, and joint forces of plans within effort limits.

    ``acting`` (m,) are the indices in τ of the joints with motors, ``effort_limits`` (nv,) their largest forces, ``Q``
    (2nv, 2nv) and ``R`` (m, m) the weights of deviations from a plan, of the state and of forces.  ``parameters`` are
    the robot's parameters that come with each step.
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
        """Return the plans of a robot with contacts or constraints, or None for a robot without them."""
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
        """Compile the other code that `plan_along` and `forces` run for this number of environments."""
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

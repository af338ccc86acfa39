"""What holds a robot along a motion by forward dynamics: contacts by phases, and its own constraints.

They are those of `contacts`, by the same statements; here the dynamics keep them, so that they are no constraints of
the search, and their forces follow from states and controls.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.kernel_parameters import Parameter, inputs_of
from linkwork.optimal.algorithms.shooting.contact_dynamics import Holding
from linkwork.optimal.features import (
    ConstraintForce,
    ContactForce,
    HolonomicFeature,
    PathContact,
    StickingContact,
    VelocityConstraint,
)
from linkwork.optimal.robot_parameters import robot_inputs, robot_of_inputs

__all__ = ["HoldingPhases", "holding_controls", "holding_forces", "holding_rows", "holdings_of", "phases_of"]

Array = np.ndarray[Any, Any]

_KERNELS: LazyCache[Kernel] = LazyCache(32)
_DEPENDENT = 1e-9  # of the largest singular value: what says the same as other rows


@dataclass(frozen=True)
class HoldingPhases:
    """By what holds the robot: at which steps; and terms of the problem that hold by themselves, by number."""

    holdings: tuple[Holding, ...]
    steps: tuple[tuple[int, ...], ...]
    kept: frozenset[int]

    def active(self, T: int) -> Array:
        """(T, holdings): 1 where each acts, 0 elsewhere."""
        flags = np.zeros((T, len(self.holdings)))
        for k, steps in enumerate(self.steps):
            flags[list(steps), k] = 1.0
        return flags


def phases_of(caller: str, problem: Any) -> HoldingPhases:
    """Raises ValueError for variables of steps that are no such forces, and contacts that may slide."""
    known = {one.name for one in problem.contacts}
    other = [name for name in problem.variables if name not in known]
    if other or problem.parameters:
        raise ValueError(
            f"{caller}: it knows no variables of steps but forces of contacts, no parameters and no free "
            f"durations, but "
            f"the problem has {', '.join([*other, *problem.parameters])}"
        )
    return holdings_of(caller, problem)


def holdings_of(caller: str, problem: Any) -> HoldingPhases:
    """Contacts, and the robot's constraints, whatever else the problem has.  Raises ValueError for contacts that may
    slide.
    """
    own = {constraint.name: k for k, constraint in enumerate(problem.robot.tree.constraints)}
    forces = [one for one in problem.contacts if isinstance(one, PathContact)]
    by_dynamics: set[int] = set()
    holdings: list[Holding] = []
    steps: list[tuple[int, ...]] = []
    for force in forces:
        stays = [k for k, x in enumerate(problem.terms) if x.feature == StickingContact(force) and x.kind == "equality"]
        if not stays:
            raise ValueError(
                f"{caller}: contact {force.name!r}: stays: it knows contacts alone that stay where they are"
            )
        holdings.append(Holding(force, problem.terms[stays[0]].feature))
        steps.append(problem.variables[force.name].steps)
        by_dynamics |= set(stays)
    for k, term in enumerate(problem.terms):
        feature = term.feature
        if isinstance(feature, ContactForce) and term.kind == "equality":
            by_dynamics.add(k)  # where there is no contact
        if isinstance(feature, (HolonomicFeature, VelocityConstraint)) and feature.constraint.name in own:
            holdings.append(
                Holding(ConstraintForce(f"force of {feature.constraint.name}", feature.constraint), feature)
            )
            steps.append(tuple(range(problem.num_steps)))
            by_dynamics.add(k)
    return HoldingPhases(tuple(holdings), tuple(steps), frozenset(by_dynamics))


def holding_rows(
    robot: Any, phases: HoldingPhases, q: Array, active: Array, numbers: Mapping[Parameter, Array] | None = None
) -> Array:
    """G (..., rows, nv) of what holds the robot at configurations (..., nq), zeros of what does not act (..., holdings)
    there: it exerts Gᵀ f on the joints.  ``numbers`` of the robot are each (..., *shape).
    """
    if not numbers:
        return np.asarray(_rows(robot, phases, q, active))
    parameters = tuple(numbers)

    def rows(q: Any, active: Any, **inputs: Any) -> Any:
        return _rows(robot_of_inputs(robot, parameters, inputs), phases, q, active)

    def made() -> Kernel:
        sizes = {name: (math.prod(p.shape(robot.tree)),) for p, name in inputs_of(parameters).items()}
        return compile(rows, name="holding_rows", q=(robot.nq,), active=(len(phases.holdings),), **sizes)

    kernel = _KERNELS.get((robot, phases.holdings, parameters), made)
    return np.asarray(kernel(q, active, **robot_inputs(robot.tree, numbers)))


def _rows(robot: Any, phases: HoldingPhases, q: Any, active: Any) -> Any:
    rows = []
    for k, one in enumerate(phases.holdings):
        if isinstance(one.force, PathContact):
            axes = one.force.frame if one.force.surface else "world"
            J = robot.jacobian(q, one.force.frame, expressed_in=axes)[..., 6 - one.force.size :, :]
        else:
            names = [constraint.name for constraint in robot.tree.constraints]
            sizes = [len(constraint.component_names) for constraint in robot.tree.constraints]
            start = sum(sizes[: names.index(one.force.constraint.name)])
            J = robot.constraint_jacobian(q)[..., start : start + one.force.size, :]
        rows.append(J * active[..., k, None, None])
    return np.concatenate(rows, axis=-2)


def holding_controls(
    robot: Any,
    phases: HoldingPhases,
    tau: Array,
    q: Array,
    motors: list[int],
    numbers: Mapping[Parameter, Array] | None = None,
) -> Array:
    """Forces of motors (..., T, m) that with those of what holds come nearest to joint forces (..., T, nv), and are
    least.
    """
    G = holding_rows(robot, phases, q, phases.active(tau.shape[-2]), numbers)
    return _nearest(G, tau, motors, 1e-15)[..., : len(motors)]


def holding_forces(
    robot: Any,
    phases: HoldingPhases,
    tau: Array,
    q: Array,
    motors: list[int],
    active: Array,
    near: Array,
    numbers: Mapping[Parameter, Array] | None = None,
) -> Array:
    """The same (..., m) where what holds the robot exerts about ``near`` (..., rows), and what that leaves is least."""
    G = holding_rows(robot, phases, q, active, numbers)
    left = tau - (np.swapaxes(G, -1, -2) @ near[..., None])[..., 0]
    u = left[..., motors].copy()
    left[..., motors] = 0.0
    return np.asarray(u + _nearest(G, left, motors, _DEPENDENT)[..., : len(motors)])


def _nearest(G: Array, tau: Array, motors: list[int], least: float) -> Array:
    """Forces of motors and of what holds that are nearest to joint forces, and least."""
    S = np.broadcast_to(np.eye(tau.shape[-1])[:, motors], (*G.shape[:-2], tau.shape[-1], len(motors)))
    both = np.concatenate([S, np.swapaxes(G, -1, -2)], axis=-1)
    return np.asarray((np.linalg.pinv(both, rcond=least) @ tau[..., None])[..., 0])

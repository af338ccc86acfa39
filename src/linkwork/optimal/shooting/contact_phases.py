"""Contacts by phase, and the robot's constraints, in trajectory optimisation by forward dynamics.

Contacts are added by `TrajectoryProblem.add_contact`.  With forward dynamics, the steps satisfy contacts and
constraints.  So they are not constraints of the search, and their forces follow from states and controls.
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
from linkwork.optimal.algorithms.shooting.contact_dynamics import ContactModel
from linkwork.optimal.features import (
    ConstraintForce,
    ContactForce,
    HolonomicFeature,
    PathContact,
    StickingContact,
    VelocityConstraint,
)
from linkwork.optimal.robot_parameters import robot_inputs, robot_of_inputs

__all__ = [
    "ContactPhases",
    "checked_contact_phases",
    "contact_jacobian",
    "contact_phases",
    "distribute_controls",
    "distribute_forces",
]

Array = np.ndarray[Any, Any]

_KERNELS: LazyCache[Kernel] = LazyCache(32)
_DEPENDENT = 1e-9  # of the largest singular value: cutoff of dependent rows


@dataclass(frozen=True)
class ContactPhases:
    """Contacts and constraints of a problem, with the steps at which each acts.

    ``enforced`` are the indices of the problem's terms that these contacts and constraints imply, because the dynamics
    satisfy them.
    """

    contact_models: tuple[ContactModel, ...]
    steps: tuple[tuple[int, ...], ...]
    enforced: frozenset[int]

    def active(self, T: int) -> Array:
        """Return flags (T, contacts): 1 where a contact or constraint acts, 0 elsewhere."""
        flags = np.zeros((T, len(self.contact_models)))
        for k, steps in enumerate(self.steps):
            flags[list(steps), k] = 1.0
        return flags


def checked_contact_phases(caller: str, problem: Any) -> ContactPhases:
    """Return the contacts and constraints of a problem that shooting supports.

    Raises ValueError for variables of steps other than contact forces, for parameters, and for contacts that may
    slide.
    """
    known = {contact.name for contact in problem.contacts}
    extra = [name for name in problem.variables if name not in known]
    if extra or problem.parameters:
        raise ValueError(
            f"{caller}: not supported: {', '.join([*extra, *problem.parameters])}; expected no variables of steps "
            f"other than contact forces, no parameters and no free durations"
        )
    return contact_phases(caller, problem)


def contact_phases(caller: str, problem: Any) -> ContactPhases:
    """Return the contacts and constraints of a problem, with the steps at which each acts.

    Raises ValueError for contacts that may slide.
    """
    constraints = {constraint.name: k for k, constraint in enumerate(problem.robot.tree.constraints)}
    forces = [contact for contact in problem.contacts if isinstance(contact, PathContact)]
    by_dynamics: set[int] = set()
    contact_models: list[ContactModel] = []
    steps: list[tuple[int, ...]] = []
    for force in forces:
        sticking = [
            k for k, x in enumerate(problem.terms) if x.feature == StickingContact(force) and x.kind == "equality"
        ]
        if not sticking:
            raise ValueError(
                f"{caller}: contact {force.name!r}: stays: expected True: contacts that may slide are not supported"
            )
        contact_models.append(ContactModel(force, problem.terms[sticking[0]].feature))
        steps.append(problem.variables[force.name].steps)
        by_dynamics |= set(sticking)
    for k, term in enumerate(problem.terms):
        feature = term.feature
        if isinstance(feature, ContactForce) and term.kind == "equality":
            by_dynamics.add(k)  # zero force while the contact is open
        if isinstance(feature, (HolonomicFeature, VelocityConstraint)) and feature.constraint.name in constraints:
            contact_models.append(
                ContactModel(ConstraintForce(f"force of {feature.constraint.name}", feature.constraint), feature)
            )
            steps.append(tuple(range(problem.num_steps)))
            by_dynamics.add(k)
    return ContactPhases(tuple(contact_models), tuple(steps), frozenset(by_dynamics))


def contact_jacobian(
    robot: Any, phases: ContactPhases, q: Array, active: Array, values: Mapping[Parameter, Array] | None = None
) -> Array:
    """Return the contact Jacobian G (..., rows, nv) at configurations q (..., nq).

    Contact forces f (rows) exert Gᵀ f on the joints. Rows of contacts that are not ``active`` (..., contacts) are zero.
    ``values`` of the robot's parameters are (..., *shape) each.
    """
    values = values or {}
    parameters = tuple(values)

    def stacked(q: Any, active: Any, **inputs: Any) -> Any:
        return _stacked_jacobian(robot_of_inputs(robot, parameters, inputs), phases, q, active)

    def build() -> Kernel:
        sizes = {name: (math.prod(p.shape(robot.tree)),) for p, name in inputs_of(parameters).items()}
        return compile(stacked, name="contact_jacobian", q=(robot.nq,), active=(len(phases.contact_models),), **sizes)

    kernel = _KERNELS.get((robot, phases.contact_models, parameters), build)
    return np.asarray(kernel(q, active, **robot_inputs(robot.tree, values)))


def _stacked_jacobian(robot: Any, phases: ContactPhases, q: Any, active: Any) -> Any:
    rows = []
    for k, model in enumerate(phases.contact_models):
        if isinstance(model.force, PathContact):
            axes = model.force.frame if model.force.surface else "world"
            J = robot.jacobian(q, model.force.frame, expressed_in=axes)[..., 6 - model.force.size :, :]
        else:
            names = [constraint.name for constraint in robot.tree.constraints]
            sizes = [len(constraint.component_names) for constraint in robot.tree.constraints]
            start = sum(sizes[: names.index(model.force.constraint.name)])
            J = robot.constraint_jacobian(q)[..., start : start + model.force.size, :]
        rows.append(J * active[..., k, None, None])
    return np.concatenate(rows, axis=-2)


def distribute_controls(
    robot: Any,
    phases: ContactPhases,
    tau: Array,
    q: Array,
    motors: list[int],
    values: Mapping[Parameter, Array] | None = None,
) -> Array:
    """Return motor forces (..., T, m) that best produce joint forces ``tau`` (..., T, nv) together with contact forces.

    The motor forces have the least norm among all motor forces with the least error. ``motors`` are indices in v.
    """
    G = contact_jacobian(robot, phases, q, phases.active(tau.shape[-2]), values)
    return _distributed(G, tau, motors, 1e-15)[..., : len(motors)]


def distribute_forces(
    robot: Any,
    phases: ContactPhases,
    tau: Array,
    q: Array,
    motors: list[int],
    active: Array,
    planned: Array,
    values: Mapping[Parameter, Array] | None = None,
) -> Array:
    """Return motor forces (..., m) that best produce joint forces (..., nv), with contact forces near planned ones.

    ``planned`` (..., rows) are the planned contact forces. Joint forces that they do not produce are distributed over
    motor forces and changes of contact forces, with the least norm.
    """
    G = contact_jacobian(robot, phases, q, active, values)
    remaining = tau - (np.swapaxes(G, -1, -2) @ planned[..., None])[..., 0]
    u = remaining[..., motors].copy()
    remaining[..., motors] = 0.0
    return np.asarray(u + _distributed(G, remaining, motors, _DEPENDENT)[..., : len(motors)])


def _distributed(G: Array, tau: Array, motors: list[int], cutoff: float) -> Array:
    """Return motor and contact forces that best produce joint forces ``tau``, of least norm, by a pseudoinverse.

    Singular values below ``cutoff``, relative to the largest, count as zero.
    """
    S = np.broadcast_to(np.eye(tau.shape[-1])[:, motors], (*G.shape[:-2], tau.shape[-1], len(motors)))
    both = np.concatenate([S, np.swapaxes(G, -1, -2)], axis=-1)
    return np.asarray((np.linalg.pinv(both, rcond=cutoff) @ tau[..., None])[..., 0])

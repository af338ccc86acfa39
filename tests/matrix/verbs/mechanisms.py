"""Assembly, motion on an assembly branch, mobility, equilibria and minimal coordinates."""

from __future__ import annotations

import numpy as np

from matrix.cell import close, holds, verb
from matrix.kinds import Kind, opened


def _is_mechanism(kind: Kind) -> bool:
    return bool(kind.robot.constraints)


def _driver(kind: Kind) -> tuple[str, int]:
    """Return the first joint of one coordinate that moves by itself along the mechanism, and its place in q."""
    for joint in kind.robot.joints:
        is_single = joint.name in kind.robot.v_names and joint.name in kind.robot.q_names
        if is_single and abs(kind.direction[kind.robot.v_names.index(joint.name)]) > 1e-3:
            return joint.name, kind.robot.q_names.index(joint.name)
    return "", 0


def _has_driver(kind: Kind) -> bool:
    holonomic = all(constraint.holonomic for constraint in kind.robot.constraints)
    return _is_mechanism(kind) and holonomic and _driver(kind)[0] != ""


@verb("assemble", needs=_is_mechanism)
def assemble(kind: Kind) -> None:
    """Assembly from a violation of the constraints satisfies them; it does not change an assembled configuration."""
    start = kind.robot.integrate(kind.q, 0.02 * np.random.default_rng(0).normal(size=kind.robot.nv))
    assembled = kind.robot.assemble(start)
    assert assembled.success
    holds(kind, assembled.q)
    close(kind.robot.difference(kind.q, kind.robot.assemble(kind.q).q), np.zeros(kind.robot.nv), 1e-7, "stays")


@verb("assemble", needs=_is_mechanism)
def assemble_a_batch(kind: Kind) -> None:
    """Assembly of a batch equals assembly of each state."""
    starts = np.stack([kind.q, kind.moved()])
    assembled = kind.robot.assemble(starts)
    close(assembled.q[1], kind.robot.assemble(starts[1]).q, 1e-9, "second state")


@verb("project", needs=_is_mechanism)
def project(kind: Kind) -> None:
    """A projected velocity satisfies the constraints, and a second projection does not change it."""
    start = kind.robot.integrate(kind.q, 0.01 * np.random.default_rng(0).normal(size=kind.robot.nv))
    q, v = kind.robot.project(start, np.random.default_rng(1).normal(size=kind.robot.nv))
    holds(kind, q)
    G = kind.robot.constraint_jacobian(q, **kind.timed)
    drift = kind.robot.constraint_drift(q, **kind.timed) if kind.timed else 0.0
    close(G @ v + drift, np.zeros(len(G)), 1e-8, "velocity")
    close(kind.robot.project(q, v)[1], v, 1e-8, "twice")


@verb("mobility")
def mobility(kind: Kind) -> None:
    """The number of degrees of freedom is the dimension of the constraint Jacobian's null space."""
    assert kind.robot.mobility(kind.q, **kind.timed).dof == kind.dof


@verb("integrability", needs=_is_mechanism)
def integrability(kind: Kind) -> None:
    """The configurations have at least as many degrees of freedom as the velocities."""
    report = kind.robot.integrability(kind.q)
    assert str(report)


@verb("branches", needs=lambda kind: _has_driver(kind) and kind.dof == 1)
def branches(kind: Kind) -> None:
    """All branches satisfy the constraints, and the configuration with the driver's value is one of them."""
    name, at = _driver(kind)
    result = kind.robot.branches({name: float(kind.q[at])}, num_starts=16)
    holds(kind, result.q)
    errors = [np.abs(kind.robot.difference(kind.q, q)).max() for q in result.q]
    assert min(errors) < 1e-6 or len(result.q) == 0, "the configuration is not one of the branches"


@verb("drive_mechanism", needs=lambda kind: _has_driver(kind) and kind.dof == 1 and not kind.timed)
def drive_mechanism(kind: Kind) -> None:
    """A driven motion starts at q, satisfies the constraints, and has the driver's values and consistent velocities."""
    name, at = _driver(kind)
    step = 1e-3
    values = kind.q[at] + np.arange(-3, 4) * step
    driven = kind.robot.drive_mechanism({name: values}, q_init=kind.q, velocity={name: 1.0})
    holds(kind, driven.q)
    close(driven.q[:, at], values, 1e-9, "driver")
    close(kind.robot.difference(driven.q[3], kind.q), np.zeros(kind.robot.nv), 1e-5, "branch")
    rate = kind.robot.difference(driven.q[2], driven.q[4]) / (2 * step)
    middle = driven.v[3] * step
    close(rate * step, middle, 1e-4, "velocity")


@verb("minimal_coordinates", needs=lambda kind: _is_mechanism(kind) and kind.dof > 0)
def minimal_coordinates(kind: Kind) -> None:
    """Accelerations in minimal coordinates, expanded to all joints, equal constrained forward dynamics."""
    small = kind.robot.minimal_coordinates(q=kind.q)
    assert small.dof == kind.dof
    y, u = small.coordinates_of(kind.q), small.speeds_of(kind.v)
    a = small.forward_dynamics(y, u, near=kind.q)
    _, v, full = small.expand(y, u, a, near=kind.q)
    close(v, kind.v, 1e-7, "velocity")
    expected, _ = kind.robot.constrained_forward_dynamics(kind.q, kind.v, np.zeros(kind.robot.nv), **kind.timed)
    close(full, expected, 1e-6, "acceleration")


@verb("equilibrium", needs=lambda kind: bool(kind.robot.nv))
def equilibrium(kind: Kind) -> None:
    """At an equilibrium the generalised forces along the free motions are zero."""
    equilibrium_result = kind.robot.equilibrium(kind.q)
    if not equilibrium_result.success:
        return  # a body in free fall has none
    robot = kind.robot
    tree = opened(robot)  # passive forces of loop joints are added below
    tau = tree.gravity_force(equilibrium_result.q) - tree.passive_force(equilibrium_result.q, np.zeros(robot.nv))
    tau = tau + _spring_force(kind, equilibrium_result.q)
    if robot.constraints:
        G = robot.constraint_jacobian(equilibrium_result.q, **kind.timed)
        tau = tau - G.T @ np.linalg.lstsq(G.T, tau, rcond=1e-9)[0]
    scale = 1.0 + np.abs(robot.gravity_force(kind.q)).max(initial=0.0)
    assert np.abs(tau).max(initial=0.0) < 1e-6 * scale, "forces are not in balance"


def _spring_force(kind: Kind, q: np.ndarray) -> np.ndarray:
    """Return the generalised forces that the springs of joints that close loops need, (nv,)."""
    if not any(
        getattr(constraint, "stiffness", None) is not None and np.any(constraint.stiffness)
        for constraint in kind.robot.constraints
    ):
        return np.zeros(kind.robot.nv)
    force = -kind.robot.loop_passive_force(q, np.zeros(kind.robot.nv))
    return np.asarray(kind.robot.loop_velocity(q, np.eye(kind.robot.nv)) @ force)


@verb("determinate_joint_wrenches", "determinate_constraint_forces", needs=_is_mechanism)
def determinate_forces(kind: Kind) -> None:
    """Constraint forces are determinate exactly if their indeterminacy is zero up to rounding."""
    result = np.asarray(kind.robot.determinate_constraint_forces(kind.q, **kind.timed))
    free = np.asarray(kind.robot.constraint_force_indeterminacy(kind.q, **kind.timed))
    assert np.array_equal(result.astype(bool), free < 1e-6 * (1.0 + free.max(initial=0.0)))
    kind.robot.determinate_joint_wrenches(kind.q, **kind.timed)

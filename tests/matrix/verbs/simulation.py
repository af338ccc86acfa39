"""Simulation with each method, contact, friction, limits, sensors, records and events."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork import simulation
from matrix.cell import close, holds, verb
from matrix.kinds import Kind

METHODS = (
    "semi_implicit_euler",
    "rk4",
    "mujoco_euler",
    "mujoco_implicitfast",
    "implicit_midpoint",
    "implicit_euler",
    "variational",
    "dormand_prince",
)


def _has_joints(kind: Kind) -> bool:
    return bool(kind.robot.nv)


def _accelerated(kind: Kind, tau: np.ndarray | float = 0.0) -> np.ndarray:
    """Return the acceleration at q and v with passive forces and joint forces."""
    robot, tau = kind.robot, np.zeros(kind.robot.nv) + tau
    if robot.constraints:
        return np.asarray(robot.constrained_forward_dynamics(kind.q, kind.v, tau, passive=True, **kind.timed)[0])
    return np.asarray(robot.forward_dynamics(kind.q, kind.v, tau, passive=True))


def _runs(kind: Kind, dt: float = 1e-8, count: int = 4, bound: float = 0.05, **options: Any) -> Any:
    """Simulate a few short steps; their velocity changes by the acceleration, and constraints hold."""
    run = kind.robot.simulate(kind.q, kind.v, dt=dt, duration=count * dt, **options)
    assert run.success, str(run.status)
    assert np.isfinite(run.q).all()
    holds(kind, run.q[-1], 1e-6, time=float(run.t[-1]))
    a = _accelerated(kind)
    change = (np.asarray(run.v[-1]) - kind.v) / (count * dt)
    error = np.abs(change - a).max(initial=0.0)
    assert error <= bound * (1.0 + np.abs(a).max(initial=0.0)), f"acceleration {error:.2g} off"
    return run


for _method in METHODS:

    def _check(kind: Kind, method: str = _method) -> None:
        """A few short steps change the velocity by the acceleration of forward dynamics; constraints hold."""
        _runs(kind, method=method)

    verb("simulate", needs=_has_joints, name=f"simulate with {_method}")(_check)


@verb("simulate", needs=_has_joints)
def simulate_a_batch(kind: Kind) -> None:
    """Each environment of a batch has the same motion as in a simulation without the others."""
    both = np.stack([kind.q, kind.q]), np.stack([kind.v, 0.5 * kind.v])
    if kind.timed:
        both = np.stack([kind.q, kind.q]), np.stack([kind.v, kind.v])
    run = kind.robot.simulate(*both, duration=0.005)
    alone = kind.robot.simulate(both[0][1], both[1][1], duration=0.005)
    close(run.q[1, -1], alone.q[-1], 1e-12, "second")


@verb("simulate", needs=_has_joints)
def simulate_with_coulomb_friction(kind: Kind) -> None:
    """The mode `"coulomb"`, which solves a convex program, does not change the motion of a robot without friction."""
    _runs(kind, friction="coulomb", bound=np.inf if np.any(_friction(kind)) else 0.05)


def _friction(kind: Kind) -> np.ndarray:
    return np.asarray(kind.robot.friction)


for _mode in ("soft", "held"):

    def _check_limits(kind: Kind, mode: str = _mode) -> None:
        """Away from its limits, a robot has the same motion as without limits."""
        _runs(kind, joint_limit_mode=mode)

    verb("simulate", needs=_has_joints, name=f"simulate with {_mode} limits")(_check_limits)


@verb("simulate", "simulation.ContactGround", "simulation.ContactPoint", needs=_has_joints)
def simulate_beside_ground(kind: Kind) -> None:
    """A ground far below the robot does not change the motion."""
    point = simulation.ContactPoint(kind.frame)
    low = float(kind.robot.pose(kind.q, kind.frame)[2, 3]) - 10.0 * kind.size
    _runs(kind, contacts=simulation.ContactGround((point,), height=low))


@verb("simulate", "simulation.ContactGround", needs=_has_joints)
def simulate_on_ground(kind: Kind) -> None:
    """A point that rests on the ground does not fall through it."""
    point = simulation.ContactPoint(kind.frame)
    low = float(kind.robot.pose(kind.q, kind.frame)[2, 3])
    run = kind.robot.simulate(kind.q, kind.rest, duration=0.02, contacts=simulation.ContactGround((point,), height=low))
    assert run.success, str(run.status)
    if kind.timed:
        return
    end = float(kind.robot.pose(run.q[-1], kind.frame)[2, 3])
    assert end >= low - 1e-3 * kind.size, f"{low - end:.2g} below the ground"
    holds(kind, run.q[-1], 1e-5, time=0.02)


@verb("simulate", "simulation.ContactScene", needs=_has_joints)
def simulate_beside_a_scene(kind: Kind) -> None:
    """An obstacle far away does not change the motion."""
    scene = lw.Scene().with_sphere("far", 0.1, (900.0, 900.0, 900.0))
    robot = kind.shaped
    run = robot.simulate(kind.q, kind.v, duration=0.002, contacts=simulation.ContactScene(scene))
    alone = kind.robot.simulate(kind.q, kind.v, duration=0.002)
    close(run.q[-1], alone.q[-1], 1e-8, "q")


@verb("simulate", needs=_has_joints)
def simulate_with_wrenches(kind: Kind) -> None:
    """A wrench on a frame changes the velocity by its generalised force."""
    robot, wrench = kind.robot, np.array([0.3, -0.2, 0.4, 1.0, 2.0, -1.5]) * max(kind.robot.mass, 1e-9)
    plain = robot.simulate(kind.q, kind.v, dt=1e-8, duration=2e-8)
    pushed = robot.simulate(kind.q, kind.v, dt=1e-8, duration=2e-8, wrenches={kind.frame: wrench})
    force = robot.jacobian(kind.q, kind.frame).T @ wrench
    expected = _accelerated(kind, force) - _accelerated(kind)
    close((pushed.v[-1] - plain.v[-1]) / 2e-8, expected, 0.02, "acceleration")


@verb("simulate", "with_parameters", "parameters", needs=_has_joints)
def simulate_with_parameters(kind: Kind) -> None:
    """A simulation with a parameter equals a simulation of the robot that `with_parameters` returns."""
    moving = [link.name for link in kind.robot.links if link.mass > 0.0 and link.name != "world"]
    if any(isinstance(constraint, lw.constraints.CenterOfMass) for constraint in kind.robot.constraints):
        moving = []  # other masses would violate the constraint
    name = f"inertia:{moving[-1]}" if moving else "gravity"
    value = 1.1 * np.asarray(next(iter(kind.robot.parameters(name).values())))
    with_option = kind.robot.simulate(kind.q, kind.v, duration=0.003, parameters={name: value})
    edited = kind.robot.with_parameters({name: value}).simulate(kind.q, kind.v, duration=0.003)
    close(with_option.q[-1], edited.q[-1], 1e-8, name)


@verb("simulate", needs=_has_joints)
def records(kind: Kind) -> None:
    """The recorded energy equals the energy of the recorded states."""
    run = kind.robot.simulate(kind.q, kind.v, duration=0.003, record=("kinetic_energy", "potential_energy"))
    close(run.records["kinetic_energy"], kind.robot.kinetic_energy(run.q, run.v, passive=True), 1e-9, "energy")


@verb("simulate", needs=_has_joints)
def recorded_reactions(kind: Kind) -> None:
    """Recorded joint wrenches equal the wrenches at the acceleration and constraint forces of forward dynamics."""
    robot, tau = kind.robot, np.zeros(kind.robot.nv)
    run = robot.simulate(kind.q, kind.v, duration=0.003, record=("joint_wrenches",)).records["joint_wrenches"]
    assert np.isfinite(run).all()
    a, forces = _accelerated(kind), {}
    if robot.constraints:
        forces = {
            "constraint_forces": robot.constrained_forward_dynamics(
                kind.q, kind.v, tau, passive=True, **kind.timed
            ).constraint_forces
        }
    close(run[0], robot.joint_wrenches(kind.q, kind.v, a, **forces, **kind.timed), 1e-9, "wrenches")


@verb("simulation.IMU", needs=_has_joints)
def inertial_unit(kind: Kind) -> None:
    """An inertial unit reads the angular velocity of its link in the link's axes, and finite forces."""
    run = kind.robot.simulate(kind.q, kind.v, duration=0.003, sensors={"imu": simulation.IMU(kind.frame)})
    read, v = run.records["imu"], run.v
    assert np.isfinite(read).all()
    twist = np.array([kind.robot.jacobian(q, kind.frame) @ x for q, x in zip(run.q, v, strict=True)])
    axes = kind.robot.pose(run.q, kind.frame)[:, :3, :3]
    close(read[:, :3], np.einsum("nji,nj->ni", axes, twist[:, :3]), 1e-9, "angular velocity")


def _read_by_encoders(kind: Kind) -> list[lw.Joint]:
    return [joint for joint in kind.robot.joints if joint.nq == joint.nv == 1]


def _position(joint: lw.Joint, q: np.ndarray) -> np.ndarray:
    master, follows = q[:, joint.q_slice], joint.coupling
    return master if follows is None else follows.ratio * master + follows.offset


@verb("simulation.Encoder", needs=lambda kind: bool(_read_by_encoders(kind)))
def encoder(kind: Kind) -> None:
    """Encoders read the positions of their joints."""
    joints = _read_by_encoders(kind)
    read = simulation.Encoder([joint.name for joint in joints])
    run = kind.robot.simulate(kind.q, kind.v, duration=0.003, sensors={"encoder": read})
    q = np.concatenate([_position(joint, run.q) for joint in joints], axis=-1)
    close(run.records["encoder"], q, 1e-12, "positions")


@verb("simulation.ForceTorqueSensor")
def force_torque_sensor(kind: Kind) -> None:
    """For short steps, the sensor of the first joint reads the wrench of that joint."""
    joint = kind.robot.joints[0].name if kind.robot.joints else kind.robot.fixed_joints[0].name
    sensor = {"ft": simulation.ForceTorqueSensor(joint)}
    run = kind.robot.simulate(
        kind.q, kind.v, dt=1e-6, duration=4e-6, sensors=sensor, record=("joint_wrenches",)
    ).records
    assert np.isfinite(run["ft"]).all()
    if kind.robot.joints:
        close(run["ft"][-1], run["joint_wrenches"][-1, 0], 1e-2, "wrench")


@verb("simulation.Event", needs=_has_joints)
def events(kind: Kind) -> None:
    """An event at a given time ends the simulation at that time."""
    event = simulation.Event("late", lambda t, q, v: t - 0.0025, stop=True)
    run = kind.robot.simulate(kind.q, kind.v, duration=0.01, events=event)
    assert abs(run.events[0].time - 0.0025) < 1e-9


@verb("Simulator", needs=_has_joints)
def simulator(kind: Kind) -> None:
    """Steps of a `Simulator` equal the steps of `simulate`."""
    stepped = lw.Simulator(kind.robot)
    stepped.reset(kind.q, kind.v)
    for _ in range(5):
        stepped.step()
    close(stepped.state.q, kind.robot.simulate(kind.q, kind.v, duration=0.005).q[-1], 1e-12, "q")


@verb("simulation.Simulation.save", "simulation.Simulation.load", needs=_has_joints)
def files_of_a_simulation(kind: Kind) -> None:
    """A simulation that is saved and loaded has the same states."""
    run = kind.robot.simulate(kind.q, kind.v, duration=0.003)
    with tempfile.TemporaryDirectory() as folder:
        run.save(Path(folder) / "run.npz")
        again = simulation.Simulation.load(Path(folder) / "run.npz", robot=kind.robot)
        assert np.array_equal(again.q, run.q)
        run.to_csv(Path(folder) / "run.csv")
    trajectory = run.trajectory()
    close(kind.robot.difference(trajectory(float(run.t[-1])).q, run.q[-1]), np.zeros(kind.robot.nv), 1e-9, "end")


@verb("simulate", needs=_has_joints)
def derivative_through_steps(kind: Kind) -> None:
    """The matrices of `linearize` equal finite differences of forward dynamics."""
    robot, n = kind.robot, kind.robot.nv
    if robot.constraints:
        return _constrained_linearization(kind)
    A, B = robot.linearize(kind.q, kind.v, np.zeros(n))
    step = 1e-6
    direction = kind.direction
    f = functools.partial(robot.forward_dynamics, tau=np.zeros(n))
    difference = (
        f(robot.integrate(kind.q, step * direction), kind.v) - f(robot.integrate(kind.q, -step * direction), kind.v)
    ) / (2 * step)
    if np.any(robot.passive_force(kind.q, kind.v)):
        return None
    close(A[n:, :n] @ direction, difference, 1e-4, "∂a/∂q")
    close(B[n:], robot.mass_matrix_inverse(kind.q), 1e-9, "∂a/∂τ")
    return None


def _constrained_linearization(kind: Kind) -> None:
    dynamics_result = kind.robot.constrained_forward_dynamics_derivatives(
        kind.q, kind.v, np.zeros(kind.robot.nv), **kind.timed
    )
    assert all(np.isfinite(x).all() for x in dynamics_result)

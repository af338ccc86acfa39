"""Robots made from robots, reports, pictures, collision, identification and workspace maps."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork import identify
from linkwork.model import WORLD
from matrix.cell import close, holds, verb
from matrix.kinds import Kind, opened

FAR = lw.Scene().with_sphere("far", 0.1, (90.0, 90.0, 90.0))


def _has_joints(kind: Kind) -> bool:
    return bool(kind.robot.nv)


def _is_fixed(kind: Kind) -> bool:
    return not any(body.joint.is_floating for body in kind.robot.tree.bodies if body.parent == WORLD)


@verb("report", "joints", "links", "frames", "limits")
def report(kind: Kind) -> None:
    """The printed robot names every joint, and the report is text."""
    text = str(kind.robot)
    assert all(joint.name in text for joint in kind.robot.joints), "a joint is missing"
    assert isinstance(str(kind.robot.report), str)


@verb("check_model", "physical_consistency")
def check_model(kind: Kind) -> None:
    """The check of the model and the check of its inertias return a report."""
    kind.robot.check_model()
    assert str(kind.robot.physical_consistency())


@verb("neutral", "random_configuration", "normalize", "configuration_space")
def random_configurations(kind: Kind) -> None:
    """Random configurations are within limits and normalised."""
    q = kind.robot.random_configuration(seed=1, size=4)
    assert q.shape == (4, kind.robot.nq)
    close(kind.robot.normalize(q), q, 1e-12, "normalised")
    assert np.all(q >= np.asarray(kind.robot.lower) - 1e-9)
    assert np.all(q <= np.asarray(kind.robot.upper) + 1e-9)


@verb("configuration")
def configuration(kind: Kind) -> None:
    """A configuration from a dict by joint has the coordinates in the dict, and all other coordinates of `base`."""
    q, names = kind.robot.neutral(), [joint.name for joint in kind.robot.joints if joint.coupling is None]
    by_joint = {name: kind.q[kind.robot.joint(name).q_slice] for name in names}
    close(kind.robot.configuration({k: x[0] if x.size == 1 else x for k, x in by_joint.items()}), kind.q, 1e-9, "all")
    for name in names[:2]:
        expected = q.copy()
        expected[kind.robot.q_index([name])] = by_joint[name]
        value = by_joint[name][0] if by_joint[name].size == 1 else by_joint[name]
        close(kind.robot.configuration({name: value}), expected, 1e-9, name)


@verb("compare")
def compare(kind: Kind) -> None:
    """A comparison reports a robot as equal to itself, and as different from a robot with another mass."""
    assert kind.robot.compare(kind.robot).same
    heavy = [link for link in kind.robot.links if link.mass > 0.0 and link.name != "world"]
    if heavy and kind.robot.nv:
        heavier = kind.robot.with_inertia(heavy[-1].name, mass=1.5 * heavy[-1].mass)
        assert not kind.robot.compare(heavier).same or not _moves_link(kind, heavy[-1].name)


def _moves_link(kind: Kind, link: str) -> bool:
    return bool(np.abs(kind.robot.jacobian(kind.q, link)).max(initial=0.0) > 0.0)


@verb("with_gravity", "gravity")
def with_gravity(kind: Kind) -> None:
    """Gravity forces are linear in gravity."""
    double = kind.robot.with_gravity(2.0 * np.asarray(kind.robot.gravity))
    close(double.gravity_force(kind.q), 2.0 * kind.robot.gravity_force(kind.q), 1e-12, "force")


@verb("with_locked_joints", needs=_has_joints)
def with_locked_joints(kind: Kind) -> None:
    """The mass matrix of a robot with one locked joint is the submatrix of the other joints."""
    joint = kind.robot.joints[0]
    locked = kind.robot.with_locked_joints({joint.name: kind.q[joint.q_slice]})
    assert locked.nv == kind.robot.nv - (joint.v_slice.stop - joint.v_slice.start)
    columns = [k for k in range(kind.robot.nv) if not joint.v_slice.start <= k < joint.v_slice.stop]
    q = np.delete(kind.q, np.r_[joint.q_slice])
    close(locked.mass_matrix(q), kind.robot.mass_matrix(kind.q)[np.ix_(columns, columns)], 1e-9, "M")


@verb("with_root")
def with_root(kind: Kind) -> None:
    """A robot with another root has the same mass, number of coordinates, and poses relative to that root."""
    rerooted = kind.robot.with_named_configuration("here", kind.q).with_root(kind.frame)
    q = rerooted.named_configurations["here"].q
    for frame in set(kind.robot.frames) - {"world"}:
        X = kind.robot.pose(kind.q, frame, relative_to=kind.frame)
        close(rerooted.pose(q, frame, relative_to=kind.frame), X, 1e-9, frame)
    assert abs(rerooted.mass - kind.robot.mass) <= 1e-9 * (1.0 + kind.robot.mass)
    assert (rerooted.nq, rerooted.nv) == (kind.robot.nq, kind.robot.nv)


@verb("with_attached", "without_attached")
def with_attached(kind: Kind) -> None:
    """Distances include an attached object; detaching it restores the original robot."""
    attached = kind.shaped.with_attached("held", kind.frame, lw.shapes.Sphere(0.05 * kind.size))
    distances = attached.distances(kind.q, FAR)
    assert any("held" in str(pair) for pair in distances.pairs)
    assert attached.without_attached("held").compare(kind.shaped).same


@verb("with_payload", "with_inertia", "mass")
def with_payload(kind: Kind) -> None:
    """A payload adds its mass, and the gravity forces of its weight at its position."""
    mass = 2.0 * max(kind.robot.mass, 1e-9)
    loaded = kind.robot.with_payload("cargo", kind.frame, mass)
    assert abs(loaded.mass - kind.robot.mass - mass) < 1e-9 * mass
    J = kind.robot.jacobian(kind.q, kind.frame)
    expected = kind.robot.gravity_force(kind.q) - J[3:].T @ (mass * np.asarray(kind.robot.gravity))
    close(loaded.gravity_force(kind.q), expected, 1e-9, "weight")


@verb("with_mounted")
def with_mounted(kind: Kind) -> None:
    """A mounted slide moves with the frame on which it is mounted, and its coordinate is the last in q."""
    slide = lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="slide", parent="rail", child="rider")
    rail = lw.Robot.build("rail", lw.Link("rail", mass=0.1), lw.Link("rider", mass=0.1), slide)
    X = lw.pose((0.1, 0.2, 0.3), rpy=(0.1, 0.2, 0.3))
    robot = kind.robot.with_mounted(rail.with_gravity(kind.robot.gravity), kind.frame, X, prefix="mounted_")
    expected = kind.robot.pose(kind.q, kind.frame) @ X @ lw.pose((0, 0, 0.5))
    close(robot.pose([*kind.q, 0.5], "mounted_rider"), expected, 1e-12, "pose")


@verb("with_base", needs=_is_fixed)
def with_base(kind: Kind) -> None:
    """A robot on another base has the same relative poses, and its constraints hold at the same configurations."""
    robot = kind.robot.with_base(lw.pose((0.1, 0.2, 0.3), rpy=(0.1, 0.2, 0.3)))
    root = next(frame.name for frame in robot.tree.links if frame.body == WORLD and frame.name != "world")
    close(robot.pose(kind.q, root), lw.pose((0.1, 0.2, 0.3), rpy=(0.1, 0.2, 0.3)), 1e-15, "base")
    expected = kind.robot.pose(kind.q, kind.frame, relative_to=root if root in kind.robot.frames else "world")
    close(robot.pose(kind.q, kind.frame, relative_to=root), expected, 1e-12, "pose")
    if kind.robot.constraints:
        error = kind.robot.constraint_error(kind.q, **kind.timed)
        close(robot.constraint_error(kind.q, **kind.timed), error, 1e-12, "constraints")


@verb("with_joint_dynamics", "armature", "damping", needs=_has_joints)
def with_joint_dynamics(kind: Kind) -> None:
    """Damping of all joints is a passive force that dissipates energy."""
    damped = kind.robot.with_joint_dynamics(damping=2.0)
    after, before = (opened(robot).passive_force(kind.q, kind.v) for robot in (damped, kind.robot))
    assert np.sum((after - before) * kind.v) < 0.0


@verb("with_frame", "with_point", "with_direction", "points", "directions")
def with_names(kind: Kind) -> None:
    """A frame, a point and a direction that are added move with their link."""
    X = lw.pose((0.1, 0.2, 0.3), rpy=(0.1, 0.2, 0.3))
    robot = kind.robot.with_frame("extra", kind.frame, X).with_point("spot", kind.frame, (0.1, 0.2, 0.3))
    robot = robot.with_direction("way", kind.frame, (0.6, 0.0, 0.8))
    expected = kind.robot.pose(kind.q, kind.frame) @ X
    close(robot.pose(kind.q, "extra"), expected, 1e-12, "frame")
    close(robot.point_position(kind.q, "spot"), expected[:3, 3], 1e-12, "point")


@verb("inertial_parameters", "base_parameters")
def inertial_parameters(kind: Kind) -> None:
    """The regressor times the inertial parameters equals inverse dynamics."""
    robot = kind.robot
    a = kind.direction
    values = np.asarray(robot.inertial_parameters(), dtype=float).ravel()
    dynamics_result = robot.inverse_dynamics_regressor(kind.q, kind.v, a)
    close(dynamics_result @ values, robot.inverse_dynamics(kind.q, kind.v, a), 1e-9, "forces")
    robot.base_parameters()


@verb("precompile", "compile", "sparsity")
def compiled(kind: Kind) -> None:
    """A compiled function returns the values of the method, with zeros at the positions that its sparsity states."""
    kernel = kind.robot.compile(["mass_matrix", "gravity_force"])
    M, _ = kernel(kind.q)
    close(M, kind.robot.mass_matrix(kind.q), 1e-12, "M")
    pattern = kind.robot.sparsity("mass_matrix")
    assert str(pattern)


@verb("distances", "nearest_pair", "minimum_distance", "in_collision", "collision_pairs", "collision_shapes")
def distances(kind: Kind) -> None:
    """The least distance is the distance of the nearest pair; an obstacle far away is not in collision."""
    robot = kind.shaped.with_collision_pairs(())
    result = robot.distances(kind.q, FAR)
    least = float(robot.minimum_distance(kind.q, FAR))
    assert abs(least - float(np.min(result.distance))) < 1e-9 * (1.0 + abs(least))
    assert not robot.in_collision(kind.q, FAR)


@verb(
    "distance_derivatives",
    "distance_hessian",
    "smooth_minimum_distance",
    "smooth_minimum_distance_gradient",
    needs=_has_joints,
)
def distance_derivatives(kind: Kind) -> None:
    """Derivatives of distances equal finite differences along a motion."""
    robot = kind.shaped.with_collision_pairs(())
    step = 1e-5
    moved = (robot.integrate(kind.q, s * kind.direction) for s in (step, -step))
    ahead, back = (np.asarray(robot.distances(q, FAR).distance) for q in moved)
    result = robot.distance_derivatives(kind.q, FAR)
    close(np.asarray(result.gradient) @ kind.direction, (ahead - back) / (2 * step), 1e-5, "derivative")
    robot.smooth_minimum_distance(kind.q, FAR, sharpness=10.0)
    robot.smooth_minimum_distance_gradient(kind.q, FAR, sharpness=10.0)
    robot.distance_hessian(kind.q, FAR)


@verb("is_motion_free", needs=_has_joints)
def is_motion_free(kind: Kind) -> None:
    """A motion far from obstacles is reported as collision-free."""
    assert kind.shaped.with_collision_pairs(()).is_motion_free(kind.q, kind.moved(0.05), FAR).free


@verb("find_collision_pairs")
def find_collision_pairs(kind: Kind) -> None:
    """All pairs of links are classified."""
    assert str(kind.shaped.find_collision_pairs(num_samples=20, prove=False))


@verb("plot", "plot_tree")
def pictures(kind: Kind) -> None:
    """Matplotlib draws the robot and its tree."""
    kind.robot.plot(kind.q)
    kind.robot.plot_tree()


@verb("show", "viewer.scene_document")
def pages(kind: Kind) -> None:
    """A page is written, and contains the robot's name."""
    with tempfile.TemporaryDirectory() as folder:
        kind.robot.show(kind.q, html=Path(folder) / "page.html")
        assert kind.robot.name in (Path(folder) / "page.html").read_text(encoding="utf-8")


@verb("identify.base_parameters", needs=_has_joints)
def identify_base_parameters(kind: Kind) -> None:
    """Base parameters that are fitted to exact forces predict these forces."""
    robot, rng = kind.robot, np.random.default_rng(7)
    q = robot.random_configuration(rng, size=60)
    v, a = rng.normal(size=(2, 60, robot.nv))
    tau = robot.inverse_dynamics(q, v, a)
    estimate = identify.base_parameters(robot, q, v, a, tau, passive=False)
    assert estimate.success, str(estimate.status)


@verb("identify.excitation", needs=_has_joints)
def identify_excitation(kind: Kind) -> None:
    """The excitation of random states is finite."""
    robot, rng = kind.robot, np.random.default_rng(7)
    q = robot.random_configuration(rng, size=30)
    v, a = rng.normal(size=(2, 30, robot.nv))
    assert str(identify.excitation(robot, q, v, a))


@verb("identify.inertias", needs=_has_joints)
def identify_inertias(kind: Kind) -> None:
    """Inertias that are fitted to exact forces predict these forces."""
    robot, rng = kind.robot, np.random.default_rng(7)
    q = robot.random_configuration(rng, size=60)
    v, a = rng.normal(size=(2, 60, robot.nv))
    estimate = identify.inertias(robot, q, v, a, robot.inverse_dynamics(q, v, a), passive=False)
    assert estimate.success, str(estimate.status)


@verb("identify.differentiate", needs=_has_joints)
def identify_differentiate(kind: Kind) -> None:
    """Velocities computed from sampled configurations equal the velocities of the motion."""
    t = np.linspace(0.0, 2.0, 201)
    v = 0.1 * kind.direction
    q = np.stack([kind.robot.integrate(kind.q, x * v) for x in t])
    estimate = identify.differentiate(kind.robot, t, q, cutoff=5.0)
    close(np.asarray(estimate.v)[100], kind.robot.difference(q[99], q[101]) / (t[101] - t[99]), 1e-3, "velocity")


@verb("identify.placements", needs=_has_joints)
def identify_placements(kind: Kind) -> None:
    """Placements that are fitted to exact poses have zero residual."""
    robot = kind.robot
    q = np.stack([kind.moved(0.1, seed) for seed in range(12)])
    estimate = identify.placements(robot, q, robot.pose(q, kind.frame), kind.frame)
    assert str(estimate.status)


@verb("workspace_map", "workspace.WorkspaceMap", needs=_has_joints)
def workspace_map(kind: Kind) -> None:
    """The map of a frame has voxels that are reached."""
    result = kind.robot.workspace_map(
        kind.frame, samples=200, voxel_size=0.5 * kind.size, workers=1, position_limits=kind.box
    )
    assert np.any(result.reached)


@verb("environments.VectorEnvironment", "environments.SingleEnvironment", "environments.ControlTask", needs=_has_joints)
def environments(kind: Kind) -> None:
    """An environment of the robot steps, and its state satisfies the constraints."""
    from linkwork.environments import ControlTask, SingleEnvironment, VectorEnvironment

    joints = [joint.name for joint in kind.robot.joints if joint.v_slice.stop - joint.v_slice.start == 1][:1]
    free: dict[str, Any] = {"controller": lambda t, q, v, action: 0.0 * v, "action_size": 1}
    task = ControlTask(
        kind.robot,
        start=lambda rng: (kind.q, kind.v),
        observe=lambda q, v, goal: np.concatenate([q, v]),
        reward=lambda q, v, action, goal: 0.0,
        dt=1e-4,
        steps_per_action=2,
        **({"joints": joints, "efforts": [1.0]} if joints else free),
    )
    environment = VectorEnvironment(task, 2)
    environment.reset(seed=0)
    environment.step(np.zeros((2, 1)))
    holds(kind, np.asarray(environment.state[0])[0], 1e-5, time=2e-4)
    single = SingleEnvironment(task)
    single.reset(seed=0)
    single.step(np.zeros(1))
    assert np.array_equal(single.state[0], environment.state[0][0])
